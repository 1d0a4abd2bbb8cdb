// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether a kernel can have a role that loads ahead, as far as its operations tell.
#pragma once

#include "dialects/tile/Tile.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"

#include <optional>
#include <string>

namespace tlc::tile {

constexpr int64_t warpsPerLoadRole = warpsPerWarpgroup; ///< setmaxnreg moves registers of whole warpgroups

/// What keeps a kernel from having a role that loads.
struct Obstacle {
  mlir::Operation *culprit = nullptr;
  std::string reason; ///< for a message at the culprit

  /// The reason for a message elsewhere: with the culprit's place.
  std::string reasonWithPlace() const;
};

/// The first obstacle of a kernel without roles whose products have their instructions, or nothing. The role
/// runs ahead of wgmma in pipelined loops.
std::optional<Obstacle> findLoadRoleObstacle(KernelOp kernel, const Target &target);

} // namespace tlc::tile
