// SPDX-License-Identifier: Apache-2.0
/// \file
/// A grid of places as a drawing: a box for each cell, coloured by warp or banks.
#include "runtime/support/Svg.h"
#include "tools/tlc/LayoutGrid.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::driver;

namespace {

constexpr double margin = 16, labelWidth = 40, cellWidth = 58, cellHeight = 26, lineHeight = 15;
constexpr double leastWidth = 480; ///< what the heading needs
/// Pale, so that text can be read on them; the second eight are darker.
constexpr std::array<std::string_view, 16> fills = {
    "#cfe2f3", "#fce5cd", "#d9ead3", "#f4cccc", "#d9d2e9", "#fff2cc", "#d0e0e3", "#ead1dc",
    "#9fc5e8", "#f9cb9c", "#b6d7a8", "#ea9999", "#b4a7d6", "#ffe599", "#a2c4c9", "#d5a6bd"};

constexpr std::string_view style =
    R"css(text { font-family: "DejaVu Sans", Verdana, Arial, sans-serif; font-size: 10px; fill: #222222; }
.title { font-size: 14px; font-weight: bold; }
.note { font-size: 11px; fill: #555555; }
.axis { fill: #777777; }
text { pointer-events: none; }
rect { stroke: #888888; stroke-width: 0.5; }
)css";

} // namespace

std::string driver::toSvg(const PlacedTile &tile, const LayoutGrid &grid) {
  SvgDrawing drawing;
  double y = margin + 10;
  drawing.text(margin, y,
               fmt::format("{}: {} {}", tile.name.empty() ? tile.place : tile.name, tile.kind(), tile.type()),
               "title");
  std::vector<std::string> notes;
  if (const std::string text = tile.layoutText(); !text.empty())
    notes.push_back(text);
  notes.emplace_back(grid.legend);
  if (const std::string left = grid.omitted(tile.shape); !left.empty())
    notes.push_back(left.substr(0, left.find(';')));
  size_t longest = 0;
  for (const std::string &note : notes) {
    drawing.text(margin, y += lineHeight, note, "note");
    longest = std::max(longest, note.size());
  }
  y += 2 * lineHeight;

  const double unitX = cellWidth / double(grid.cellColumns), unitY = cellHeight / double(grid.cellRows);
  const double left = margin + labelWidth;
  for (int64_t column = grid.columns.begin; column < grid.columns.end; column += grid.cellColumns)
    drawing.text(left + double(column - grid.columns.begin) * unitX + 2, y - 4, fmt::format("{}", column),
                 "axis");
  for (int64_t row = grid.rows.begin; row < grid.rows.end; row += grid.cellRows)
    drawing.text(left - 5, y + double(row - grid.rows.begin) * unitY + 16, fmt::format("{}", row), "axis",
                 "end");
  for (const LayoutCell &cell : grid.cells) {
    const double x = left + double(cell.column - grid.columns.begin) * unitX,
                 top = y + double(cell.row - grid.rows.begin) * unitY, width = double(cell.columns) * unitX;
    drawing.box(x, top, width, double(cell.rows) * unitY, fills[size_t(cell.colour) % fills.size()],
                cell.title);
    drawing.text(x + width / 2, top + 11, cell.upper, "", "middle");
    drawing.text(x + width / 2, top + 22, cell.lower, "", "middle");
  }
  const double characterWidth = 6.3;
  const double width = std::max({leastWidth, left + double(grid.columns.size()) * unitX + margin,
                                 2 * margin + characterWidth * double(longest)});
  return drawing.page(std::ceil(width), y + double(grid.rows.size()) * unitY + margin, style);
}
