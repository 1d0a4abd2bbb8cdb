// SPDX-License-Identifier: Apache-2.0
/// \file
/// MLIR's canonicalizer with locations of bounded size.
#pragma once

#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tlc::tile {

/// A pattern that replaces several operations fuses their locations: a chain of n additions of constants
/// would get locations of 1, 2, ... n parts. Operations keep the first few parts.
std::unique_ptr<mlir::Pass> createCanonicalizer(mlir::GreedyRewriteConfig config = {});

} // namespace tlc::tile
