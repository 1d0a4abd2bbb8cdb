// SPDX-License-Identifier: Apache-2.0
/// \file
/// The last proof about products in flight: on the PTX itself, after everything that could have moved an
/// instruction.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace tlc {

/// A register that a product in flight uses, and an instruction that touches it.
struct ProductHazard {
  /// In the program, by `.loc`.
  struct Place {
    std::string file; ///< empty if unknown
    unsigned line = 0, column = 0;
  };

  std::string message;
  std::string function;
  Place place;   ///< of the instruction that touches the register
  Place product; ///< of the product in flight
};

/// The first hazard of the text, or nothing. From a `wgmma.mma_async` to a `wgmma.wait_group` that covers it,
/// on no path may anything touch one of its registers but a product that has the same shape and adds to the
/// same accumulators, or one that reads the same left factor (PTX ISA, wgmma.mma_async). Groups are counted
/// so that no path has fewer.
std::optional<ProductHazard> findProductHazard(llvm::StringRef ptx);

} // namespace tlc
