// SPDX-License-Identifier: Apache-2.0
/// \file
/// Source lines in PTX: `.file` and `.loc` of the program's own lines, which profilers and the emulator
/// report.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace tlc {

/// Makes every function of the LLVM dialect that has a source location a subprogram, with its operations in
/// it.
void attachDebugScopes(mlir::ModuleOp module);

} // namespace tlc
