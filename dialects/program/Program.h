// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program dialect: attributes that tell the launcher about a program.
#pragma once

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "runtime/support/Swizzle.h"

namespace tlc {
struct HostExpr;
struct Target;
struct TensorWindow;
} // namespace tlc

#include "dialects/program/Dialect.h.inc"
#include "dialects/program/Enums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/program/Attrs.h.inc"

namespace tlc::program {

TLC_ENUM_CONVERSION(swizzleOf, Swizzle, tlc::Swizzle, TLC_SWIZZLES)
TLC_ENUM_CONVERSION(swizzleOf, tlc::Swizzle, Swizzle, TLC_SWIZZLES)

/// The target of the module that `op` is in, or null: no target was chosen yet.
const Target *findTarget(mlir::Operation *op);

/// Checks the launch facts of a kernel against its target, if one was chosen: launch_c1 to launch_c4.
llvm::LogicalResult verifyLaunch(mlir::Operation *kernel, LaunchAttr launch);
/// The target in messages.
llvm::StringRef displayName(const Target &target);
/// The most warps of a block if `residents` blocks run on an SM.
int64_t maxWarps(const Target &target, int64_t residents = 1);

/// The user's name in a DimensionAttr, TensorAttr or ScalarAttr; empty for anything else.
llvm::StringRef nameOf(mlir::Attribute argument);

} // namespace tlc::program
