// SPDX-License-Identifier: Apache-2.0
/// \file
/// Printing, parsing and drawing of fragment layouts. The parser accepts any text
/// and answers with a layout or a message that names the column.
#include "dialects/layout/LayoutText.h"

#include "dialects/layout/TextCursor.h"

#include <algorithm>
#include <fmt/format.h>

using namespace tlc;

namespace {

constexpr std::array<const char *, 3> hardwareNames = {"reg", "lane", "warp"};
constexpr int64_t maxRank = 16;

std::string printModes(const FragmentLayout::Modes &modes) {
  std::string text;
  for (const LayoutMode &mode : modes) {
    text += text.empty() ? "" : ", ";
    text += mode.isReplicated() ? fmt::format("{}@*", mode.extent)
                                : fmt::format("{}@{}:{}", mode.extent, mode.axis, mode.step);
  }
  return text;
}

int namedRank(const std::array<FragmentLayout::Modes, 3> &all) {
  int rank = 0;
  for (const auto &modes : all)
    for (const LayoutMode &mode : modes)
      rank = std::max(rank, mode.axis + 1);
  return rank;
}

Result<LayoutMode> parseMode(TextCursor &cursor) {
  LayoutMode mode;
  if (!cursor.number(mode.extent))
    return cursor.expected("an extent");
  if (!cursor.take('@'))
    return cursor.expected("'@'");
  if (cursor.take('*'))
    return mode;
  int64_t axis = 0;
  if (!cursor.number(axis) || axis >= maxRank)
    return cursor.expected("'*' or an axis below 16");
  mode.axis = int(axis);
  if (!cursor.take(':'))
    return cursor.expected("':'");
  if (!cursor.number(mode.step))
    return cursor.expected("a step");
  return mode;
}

Result<FragmentLayout::Modes> parseModes(TextCursor &cursor, const char *name) {
  FragmentLayout::Modes modes;
  if (!cursor.word(name) || !cursor.take('('))
    return cursor.expected(fmt::format("'{}('", name));
  if (cursor.take(')'))
    return modes;
  do {
    Result<LayoutMode> mode = parseMode(cursor);
    if (!mode)
      return mode.error();
    modes.push_back(*mode);
  } while (cursor.take(','));
  if (!cursor.take(')'))
    return cursor.expected("',' or ')'");
  return modes;
}

} // namespace

std::string tlc::printLayout(const FragmentLayout &layout) {
  std::array<FragmentLayout::Modes, 3> all;
  for (HardwareAxis hardware : hardwareAxes)
    all[size_t(hardware)] = layout.modes(hardware);
  std::string text = namedRank(all) == layout.rank() ? "" : fmt::format("rank {} ", layout.rank());
  for (size_t i = 0; i < all.size(); ++i)
    text += fmt::format("{}{}({})", i ? " " : "", hardwareNames[i], printModes(all[i]));
  return text;
}

Result<FragmentLayout> tlc::parseLayout(std::string_view text) {
  TextCursor cursor(text);
  int64_t rank = -1;
  if (cursor.word("rank") && (!cursor.number(rank) || rank > maxRank))
    return cursor.expected("a rank of at most 16");
  std::array<FragmentLayout::Modes, 3> all;
  for (size_t i = 0; i < all.size(); ++i) {
    Result<FragmentLayout::Modes> modes = parseModes(cursor, hardwareNames[i]);
    if (!modes)
      return modes.error();
    all[i] = *modes;
  }
  if (!cursor.atEnd())
    return cursor.expected("the end of the layout");
  if (rank < 0)
    rank = namedRank(all);
  return FragmentLayout::create(int(rank), all[0], all[1], all[2]);
}

std::string tlc::printShape(const Shape &shape) { return fmt::format("{}", fmt::join(shape, "x")); }
