// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a program that uses the whole compiler registers first.
#pragma once

namespace mlir {
class DialectRegistry;
}

namespace tlc {

/// Every dialect that a module may contain in any phase, and its translation to LLVM IR.
void registerDialects(mlir::DialectRegistry &registry);

/// Every pass, for drivers that take passes from their command line.
void registerPasses();

} // namespace tlc
