// SPDX-License-Identifier: Apache-2.0
/// \file
/// Why an analysis refuses a program, and where.
#pragma once

#include "mlir/IR/Operation.h"

#include <string>

namespace tlc::tile {

/// What keeps a program from a better form.
struct Obstacle {
  mlir::Operation *culprit = nullptr;
  std::string reason; ///< for a message at the culprit

  /// The reason for a message elsewhere: with the culprit's place.
  std::string reasonWithPlace() const;
};

} // namespace tlc::tile
