// SPDX-License-Identifier: Apache-2.0
/// \file
/// The arrivals that complete a phase of a ring's barriers.
#pragma once

#include "dialects/tile/Tile.h"

namespace tlc::tile {

enum class RingSide : uint8_t { producers, consumers };

/// The arrivals of one block that complete a phase of a slot's `full` (producers) or `empty` (consumers)
/// barrier, at least 1:
/// - The roles of a `tile.roles` add up: each of them that arrives does so for every position.
/// - What one role does at one position, which the same cursor means, adds up.
/// - Of the branches of a condition the one with more arrivals counts, and of positions the one with most.
int64_t arrivalsOf(AllocRingOp ring, RingSide side);

/// Fails with an error if a role arrives at some positions more often than at others, since a phase of one of
/// them would then never complete.
mlir::LogicalResult verifyArrivals(AllocRingOp ring);

} // namespace tlc::tile
