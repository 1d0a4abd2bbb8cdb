// SPDX-License-Identifier: Apache-2.0
/// \file
/// The simt dialect: what a thread, a warp or a warpgroup does.
#pragma once

#include "dialects/program/Interfaces.h"
#include "dialects/program/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/simt/Dialect.h.inc"

#define GET_OP_CLASSES
#include "dialects/simt/Ops.h.inc"
