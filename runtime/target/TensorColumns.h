// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shares columns of tensor memory out among the tiles of a block.
#pragma once

#include "runtime/target/Hardware.h"

#include <cstddef>
#include <vector>

namespace tlc {

/// Where a tile begins: its first column, and the first of its lanes among those that a warp reaches.
struct TensorPlace {
  int64_t column = 0, lane = 0;

  /// As in an address.
  int64_t encode() const { return (lane << tensorMemoryColumnBits) + column; }
  static TensorPlace decode(int64_t offset) {
    return {offset & ((int64_t(1) << tensorMemoryColumnBits) - 1), offset >> tensorMemoryColumnBits};
  }
};

/// Tiles of 128 rows have all lanes of their columns. Tiles of 64 have half of each warp's lanes (PTX ISA,
/// "tcgen05 Memory Layout", layout F), so that two share columns: they are put into the halves so that these
/// take as few columns as can be.
class TensorColumns {
public:
  /// Returns the tile's number: 0, 1, ...
  size_t add(int64_t rows, int64_t columns);
  void resize(size_t tile, int64_t columns) { tiles[tile].columns = columns; }
  /// Puts two tiles into the same lanes, as a left factor and the sum of its product must be.
  void joinLanes(size_t tile, size_t other);

  /// Columns of all tiles together.
  int64_t used() const;
  /// Of each tile.
  std::vector<TensorPlace> places() const;

private:
  struct Tile {
    int64_t rows, columns;
    size_t group; ///< tiles of one group have the same lanes
  };
  /// Which groups lie in the upper lanes.
  std::vector<bool> findUpper() const;

  std::vector<Tile> tiles;
};

} // namespace tlc
