// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elements to places, and neighbours in one place to cells.
#include "tools/tlc/LayoutGrid.h"

#include "dialects/layout/InstructionLayouts.h"
#include "dialects/layout/LayoutText.h"
#include "runtime/support/Math.h"
#include "runtime/target/TensorColumns.h"

#include <fmt/format.h>

using namespace tlc;
using namespace tlc::driver;

namespace {

/// Most elements of a cell.
constexpr int64_t mostOfCell = 8;

std::string range(int64_t first, int64_t last) {
  return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
}

/// "row 3", "rows 3 to 5"
std::string positions(std::string_view axis, int64_t first, int64_t count) {
  return count == 1 ? fmt::format("{} {}", axis, first)
                    : fmt::format("{}s {} to {}", axis, first, first + count - 1);
}

/// "registers 2 to 3"
std::string span(std::string_view name, int64_t first, int64_t last) {
  return first == last ? fmt::format("{} {}", name, first) : fmt::format("{}s {} to {}", name, first, last);
}

/// What of an element's place decides about cells.
struct Spot {
  std::array<int64_t, 3> owner{}; ///< equal for all elements of a cell
  int64_t at = 0;                 ///< goes on by `step` inside it
};

int64_t stepOf(const PlacedTile &tile) { return tile.fragment() ? 1 : tile.elementBits; }

Spot spotOf(const PlacedTile &tile, const Coordinates &coordinates) {
  if (const FragmentLayout *fragment = tile.fragment()) {
    const HardwareLocation owner = fragment->ownerOf(coordinates);
    return {{owner.warp, owner.lane}, owner.reg};
  }
  if (const SharedLayout *shared = tile.shared()) {
    const int64_t bit = shared->map()(coordinates).front();
    return {{bit / (swizzleChunkBytes * 8)}, bit};
  }
  const auto &memory = std::get<TensorMemoryLayout>(tile.layout);
  const std::array<int64_t, 2> position = {coordinates[0], coordinates[1]};
  const std::vector<int64_t> place =
      tensorMemoryRows(tile.shape.front(), memory.columns, memory.elementBits)(position);
  return {{place[0]}, place[1]};
}

int64_t bankOf(int64_t byte) { return byte / sharedBankBytes % sharedBanks; }

LayoutCell describe(const PlacedTile &tile, const Spot &first, const Spot &last) {
  LayoutCell cell;
  if (tile.fragment()) {
    const auto [warp, lane, unused] = first.owner;
    cell.upper = fmt::format("lane {}", lane);
    cell.lower = fmt::format("r{}", range(first.at, last.at));
    cell.text = fmt::format("w{} l{} {}", warp, lane, cell.lower);
    cell.title = fmt::format("warp {}, lane {}, {}", warp, lane, span("register", first.at, last.at));
    cell.colour = warp;
  } else if (tile.shared()) {
    const int64_t from = first.at / 8, to = (last.at + tile.elementBits - 1) / 8;
    cell.upper = fmt::format("{}", from);
    cell.lower = fmt::format("b{}", range(bankOf(from), bankOf(to)));
    cell.text = fmt::format("{} {}", cell.upper, cell.lower);
    cell.title = fmt::format("{}, {}", span("byte", from, to), span("bank", bankOf(from), bankOf(to)));
    cell.colour = bankOf(from) * sharedBankBytes / swizzleChunkBytes;
  } else {
    const int64_t from = first.at / registerBits, to = last.at / registerBits;
    cell.upper = fmt::format("lane {}", first.owner[0]);
    cell.lower = fmt::format("c{}", range(from, to));
    cell.text = fmt::format("l{} {}", first.owner[0], cell.lower);
    cell.title = fmt::format("lane {}, {}", first.owner[0], span("column", from, to));
    cell.colour = first.owner[0] / lanesPerWarp;
  }
  return cell;
}

/// How many elements from `at` on along `axis`, `most` at most, are in one place.
int64_t runAlong(const PlacedTile &tile, Coordinates at, size_t axis, int64_t most) {
  Spot last = spotOf(tile, at);
  int64_t count = 1;
  for (; count < most; ++count) {
    ++at[axis];
    const Spot next = spotOf(tile, at);
    if (next.owner != last.owner || next.at != last.at + stepOf(tile))
      break;
    last = next;
  }
  return count;
}

/// The cells of a grid whose parts and cell sizes are known; false where the elements of a cell are not in
/// one place.
bool addCells(const PlacedTile &tile, LayoutGrid &grid) {
  const bool isVertical = grid.cellRows > 1;
  for (int64_t row = grid.rows.begin, rows = 0; row < grid.rows.end; row += rows) {
    rows = std::min(grid.cellRows - row % grid.cellRows, grid.rows.end - row);
    for (int64_t column = grid.columns.begin, columns = 0; column < grid.columns.end; column += columns) {
      columns = std::min(grid.cellColumns - column % grid.cellColumns, grid.columns.end - column);
      const Coordinates first = tile.elementAt(row, column),
                        last = tile.elementAt(row + rows - 1, column + columns - 1);
      if (rows * columns > 1 &&
          runAlong(tile, first, tile.shape.size() - (isVertical ? 2 : 1), rows * columns) != rows * columns)
        return false;
      LayoutCell cell = describe(tile, spotOf(tile, first), spotOf(tile, last));
      cell.row = row, cell.column = column, cell.rows = rows, cell.columns = columns;
      cell.title = fmt::format("{}, {}\n{}", positions("row", row, rows),
                               positions("column", column, columns), cell.title);
      grid.cells.push_back(std::move(cell));
    }
  }
  return true;
}

} // namespace

std::string_view PlacedTile::kind() const {
  return fragment() ? "fragment" : shared() ? "shared tile" : "tensor memory";
}

std::string PlacedTile::type() const {
  return shape.empty() ? element : fmt::format("{}x{}", printShape(shape), element);
}

std::string PlacedTile::layoutText() const {
  return fragment() ? printLayout(*fragment()) : shared() ? printSharedLayout(*shared()) : "";
}

int64_t PlacedTile::rows() const { return shape.size() < 2 ? 1 : shape[shape.size() - 2]; }
int64_t PlacedTile::columns() const { return shape.empty() ? 1 : shape.back(); }

Coordinates PlacedTile::elementAt(int64_t row, int64_t column) const {
  Coordinates at(shape.size(), 0);
  if (!shape.empty())
    at.back() = column;
  if (shape.size() > 1)
    at[shape.size() - 2] = row;
  return at;
}

std::vector<std::string> PlacedTile::facts() const {
  std::vector<std::string> lines;
  if (const FragmentLayout *held = fragment()) {
    lines.push_back(fmt::format("{} warp{}, {} element{} per thread", held->numWarps(),
                                held->numWarps() == 1 ? "" : "s", held->registersPerThread(),
                                held->registersPerThread() == 1 ? "" : "s"));
    if (elementBits < registerBits)
      lines.push_back(fmt::format("register r is a thread's element r: {} of {} bits lie in a register of 32",
                                  registerBits / elementBits, elementBits));
    int64_t copies = 1;
    for (HardwareAxis axis : hardwareAxes)
      copies *= held->replication(axis);
    if (copies > 1)
      lines.push_back(fmt::format("{} places hold each element; the first is shown", copies));
    if (!held->coveredShape().empty() && held->coveredShape() != shape)
      lines.push_back(
          fmt::format("the layout covers {}: what is outside is padding", printShape(held->coveredShape())));
  } else if (const SharedLayout *lies = shared()) {
    lines.push_back(fmt::format("{} bytes, aligned to {}", lies->totalBytes(), lies->alignment()));
    if (slots > 1)
      lines.push_back(fmt::format("{} slots, {} bytes from one to the next", slots,
                                  alignTo(lies->totalBytes(), lies->alignment())));
    if (offset)
      lines.push_back(
          fmt::format("at byte {} of the block's shared memory; offsets are from there", *offset));
  } else {
    const auto &memory = std::get<TensorMemoryLayout>(layout);
    lines.push_back(fmt::format("{} lanes, {} columns of 32 bits", shape.front(),
                                memory.columns * memory.elementBits / registerBits));
    if (slots > 1)
      lines.push_back(fmt::format("{} slots, one after the other", slots));
    if (offset) {
      const TensorPlace begin = TensorPlace::decode(*offset);
      lines.push_back(
          begin.lane == 0
              ? fmt::format("at column {} of the block's tensor memory; columns are from there", begin.column)
              : fmt::format("at column {} of the block's tensor memory and lane {} of each warp; "
                            "columns and lanes are from there",
                            begin.column, begin.lane));
    }
  }
  return lines;
}

ElementPlace driver::placeOf(const PlacedTile &tile, const Coordinates &coordinates) {
  const Spot spot = spotOf(tile, coordinates);
  if (tile.fragment())
    return {{{"warp", spot.owner[0]}, {"lane", spot.owner[1]}, {"register", spot.at}}};
  if (tile.shared())
    return {{{"offset", spot.at / 8}, {"bank", bankOf(spot.at / 8)}}};
  return {{{"lane", spot.owner[0]}, {"column", spot.at / registerBits}, {"bit", spot.at % registerBits}}};
}

std::string LayoutGrid::omitted(const Shape &shape) const {
  std::string text;
  if (shape.size() > 2)
    text = "the first " + printShape({shape.end() - 2, shape.end()}) + " of " + printShape(shape);
  if (rows.size() == numRows && columns.size() == numColumns)
    return text;
  return fmt::format("{}{}rows {} to {} of {}, columns {} to {} of {}; --rows and --columns show others",
                     text, text.empty() ? "" : ", ", rows.begin, rows.end - 1, numRows, columns.begin,
                     columns.end - 1, numColumns);
}

LayoutGrid driver::makeGrid(const PlacedTile &tile, const GridPart &part) {
  const size_t rank = tile.shape.size();
  LayoutGrid grid;
  grid.numRows = tile.rows(), grid.numColumns = tile.columns();
  grid.legend = tile.fragment() ? "w: warp, l: lane, r: register"
                : tile.shared() ? "byte offset from the tile's start, b: bank of 4 bytes"
                                : "l: lane, c: column of 32 bits";
  // Along which axis elements lie side by side.
  if (rank > 0)
    grid.cellColumns = runAlong(tile, Coordinates(rank, 0), rank - 1, std::min(mostOfCell, grid.numColumns));
  if (rank > 1 && grid.cellColumns == 1)
    grid.cellRows = runAlong(tile, Coordinates(rank, 0), rank - 2, std::min(mostOfCell, grid.numRows));

  grid.rows = part.rows.value_or(Range{0, std::min(grid.numRows, std::max(part.mostRows, grid.cellRows))});
  grid.columns =
      part.columns.value_or(Range{0, std::min(grid.numColumns, part.mostCellColumns * grid.cellColumns)});
  if (!addCells(tile, grid)) {
    grid.cells.clear();
    grid.cellRows = grid.cellColumns = 1;
    addCells(tile, grid);
  }
  return grid;
}
