// SPDX-License-Identifier: Apache-2.0
/// \file
/// The layout of a tile as a grid: which place each element has, for texts and drawings.
#pragma once

#include "dialects/layout/Layout.h"
#include "dialects/layout/SharedLayout.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tlc::driver {

/// Rows of tensor memory fill lanes, elements of a row fill columns of 32 bits.
struct TensorMemoryLayout {
  int64_t columns = 0; ///< elements of a row
  int elementBits = 32;
};

/// Where the elements of a tile are.
struct PlacedTile {
  std::string kernel;
  std::string name;    ///< in the source; empty if it has none
  std::string place;   ///< "Gemm.cpp:41:9"
  std::string element; ///< "bf16"
  Shape shape;         ///< of a buffer with slots: of one slot
  int elementBits = 32;
  std::variant<FragmentLayout, SharedLayout, TensorMemoryLayout> layout;
  int64_t slots = 1;
  std::optional<int64_t> offset; ///< of a buffer: bytes in shared memory, or a TensorPlace

  const FragmentLayout *fragment() const { return std::get_if<FragmentLayout>(&layout); }
  const SharedLayout *shared() const { return std::get_if<SharedLayout>(&layout); }
  /// The last two axes, of which a tile of fewer axes has 1.
  int64_t rows() const;
  int64_t columns() const;
  /// The coordinates of an element of them, at 0 of the axes before.
  Coordinates elementAt(int64_t row, int64_t column) const;
  /// "fragment", "shared tile", "tensor memory"
  std::string_view kind() const;
  /// "128x64xbf16"
  std::string type() const;
  /// As modules print it; empty for tensor memory, which has one layout.
  std::string layoutText() const;
  /// Sentences about the whole tile.
  std::vector<std::string> facts() const;
};

/// Positions [begin, end).
struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const Range &) const = default;
};

/// An element's place, as numbers with names: warp, lane, register; offset, bank; lane, column, bit.
struct ElementPlace {
  std::vector<std::pair<std::string_view, int64_t>> numbers;
};
/// That of the element at these coordinates of the tile: for a fragment that of its owner, in shared memory
/// the byte from the tile's start.
ElementPlace placeOf(const PlacedTile &tile, const Coordinates &coordinates);

/// Elements side by side in one place: adjacent registers of a thread, bytes of a chunk, columns.
struct LayoutCell {
  int64_t row = 0, column = 0, rows = 1, columns = 1;
  std::string text;   ///< on one line
  std::string upper;  ///< the same on two
  std::string lower;  ///< ...
  std::string title;  ///< in full
  int64_t colour = 0; ///< equal for what belongs together: a warp, a chunk of banks
};

/// The last two axes of a tile, at 0 of the axes before them.
struct LayoutGrid {
  int64_t numRows = 1, numColumns = 1;   ///< of the tile
  Range rows, columns;                   ///< that are in the grid
  int64_t cellRows = 1, cellColumns = 1; ///< elements of most cells
  std::string_view legend;               ///< what a cell's text says
  std::vector<LayoutCell> cells;

  /// What is not in the grid; empty if everything is.
  std::string omitted(const Shape &shape) const;
};

/// Which elements are in a grid.
struct GridPart {
  std::optional<Range> rows, columns;         ///< that the user wants
  int64_t mostRows = 16, mostCellColumns = 8; ///< otherwise
};
LayoutGrid makeGrid(const PlacedTile &tile, const GridPart &part);

/// The grid as a drawing.
std::string toSvg(const PlacedTile &tile, const LayoutGrid &grid);

} // namespace tlc::driver
