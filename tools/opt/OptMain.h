// SPDX-License-Identifier: Apache-2.0
/// \file
/// What tlc-opt, tile-opt and simt-opt have in common.
#pragma once

#include "mlir/IR/DialectRegistry.h"

namespace tlc {

/// Like `mlir-opt`, over the dialects of `registry`; refuses text that MLIR's parser would not survive. What
/// main returns.
int optMain(int argc, char **argv, llvm::StringRef title, mlir::DialectRegistry &registry);

} // namespace tlc
