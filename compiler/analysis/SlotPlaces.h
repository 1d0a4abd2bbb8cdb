// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which buffer memory lies in, and which slot of it: a slot is known by a cursor and how far it has advanced
/// since.
#pragma once

#include "dialects/tile/Tile.h"

namespace tlc::tile {

/// So many advances from where `root` stands, modulo the number of slots.
struct Position {
  mlir::Value root;
  int64_t offset = 0;

  bool operator==(const Position &) const = default;
};

int64_t slotsOf(mlir::Value cursor);
/// Not negative.
int64_t modulo(int64_t number, int64_t slots);
Position positionOf(mlir::Value cursor);

/// A buffer, or a slot of it: all names of its position; none for the whole buffer.
struct Place {
  AllocationOpInterface buffer;
  bool isSlot = false;
  llvm::SmallVector<Position, 2> positions;

  bool operator==(const Place &other) const {
    return buffer == other.buffer && isSlot == other.isSlot && positions.size() == other.positions.size() &&
           llvm::all_of(positions, [&](const Position &p) { return llvm::is_contained(other.positions, p); });
  }
};

/// Null buffer for memory that does not come from one in sight.
Place placeOf(mlir::Value memory);

enum class Relation { same, different, unknown };

Relation relationOf(llvm::ArrayRef<Position> a, llvm::ArrayRef<Position> b);
/// Buffers that share planned memory are the same place.
Relation relationOf(const Place &a, const Place &b);

} // namespace tlc::tile
