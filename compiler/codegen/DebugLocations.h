// SPDX-License-Identifier: Apache-2.0
/// \file
/// Source lines in PTX: `.file` and `.loc` of the program's own lines, which profilers and the emulator
/// report.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace tlc {

/// The first place in a source file that `location` names, looking through names, fusions and calls; or
/// nothing.
mlir::FileLineColLoc findSourceLocation(mlir::Location location);

/// Makes every function of the LLVM dialect that has a source location a subprogram, with its operations in
/// it.
void attachDebugScopes(mlir::ModuleOp module);

} // namespace tlc
