// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tile dialect itself: what a block of threads does, in tiles.
#pragma once

#include "dialects/program/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "dialects/tile/Dialect.h.inc"
