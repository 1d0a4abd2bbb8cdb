// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arithmetic of sets of positions, and their tiles.
#include "kernels/attention/intervals/PositionSet.h"

namespace tlc::kernels {

using namespace dsl;

TileSpan TileSpan::of(const Index &first, int64_t positions, const Index &end) {
  return {first, min(first + positions, end) - 1, /*shift=*/0};
}

namespace {
using Bound = std::optional<Index>;
using Choice = std::function<Index(const Index &, const Index &)>;

Index smaller(const Index &a, const Index &b) { return min(a, b); }
Index larger(const Index &a, const Index &b) { return max(a, b); }

Bound both(const Bound &a, const Bound &b, const Choice &choice) {
  if (!a || !b)
    return a ? a : b;
  return choice(*a, *b);
}

PositionRange intersection(const PositionRange &a, const PositionRange &b) {
  return {both(a.begin, b.begin, larger), both(a.end, b.end, smaller)};
}

/// Of two dilations one is known enough.
Distances intersection(const Distances &a, const Distances &b) {
  return {both(a.least, b.least, larger), both(a.most, b.most, smaller),
          a.dilation ? a.dilation : b.dilation};
}

PositionPart intersection(const PositionPart &a, const PositionPart &b) {
  return {intersection(a.some, b.some), intersection(a.all, b.all), intersection(a.distances, b.distances)};
}

/// The range where the condition holds, else nothing.
PositionRange onlyIf(const Predicate &condition, const PositionRange &range) {
  if (std::optional<bool> known = condition.constant(); known && *known)
    return range;
  constexpr int64_t beyondAll = int64_t(1) << 30; // no axis has so many positions
  Index end = range.end ? *range.end : Index(beyondAll);
  return {range.begin, where(condition, end, Index(0))};
}
} // namespace

PositionSet operator&&(const PositionSet &a, const PositionSet &b) {
  PositionSet result;
  for (const PositionPart &x : a.parts)
    for (const PositionPart &y : b.parts)
      result.parts.push_back(intersection(x, y));
  return result;
}

PositionSet operator||(const PositionSet &a, const PositionSet &b) {
  PositionSet result = a;
  result.parts.insert(result.parts.end(), b.parts.begin(), b.parts.end());
  return result;
}

TileCondition operator&&(const TileCondition &a, const TileCondition &b) {
  return {a.some && b.some, a.all && b.all};
}

TileCondition operator||(const TileCondition &a, const TileCondition &b) {
  return {a.some || b.some, a.all || b.all};
}

TileCondition operator!(const TileCondition &a) { return {!a.all, !a.some}; }

PositionSet operator&&(const TileCondition &a, const PositionSet &b) {
  PositionSet result;
  for (const PositionPart &part : b.parts)
    result.parts.push_back({onlyIf(a.some, part.some), onlyIf(a.all, part.all), part.distances});
  return result;
}

PositionSet operator&&(const PositionSet &a, const TileCondition &b) { return b && a; }

PositionSet::PositionSet(const TileCondition &condition) : PositionSet(condition && everything()) {}

PositionSet operator!(const PositionSet &a) {
  PositionSet result = PositionSet::everything();
  for (const auto &[some, all, distances] : a.parts) {
    // What not all pair with is before or after `all`; what nobody pairs with is before or after `some`.
    PositionSet outside;
    if (all.begin)
      outside.parts.push_back(
          {.some = {.end = all.begin},
           .all = some.begin ? PositionRange{.end = some.begin} : PositionRange::nothing()});
    if (all.end)
      outside.parts.push_back(
          {.some = {.begin = all.end},
           .all = some.end ? PositionRange{.begin = some.end} : PositionRange::nothing()});
    result = result && outside;
  }
  return result;
}

TileSpan operator+(const TileSpan &a, const Index &b) {
  return {a.first + b, a.last + b, a.shift ? Bound(*a.shift + b) : Bound()};
}
TileSpan operator-(const TileSpan &a, const Index &b) {
  return {a.first - b, a.last - b, a.shift ? Bound(*a.shift - b) : Bound()};
}
TileSpan operator/(const TileSpan &a, const Index &b) { return {a.first / b, a.last / b}; }

TileSpan where(const TileCondition &condition, const TileSpan &a, const TileSpan &b) {
  auto choose = [&](const Index &x, const Index &y, const Index &either) {
    return where(condition.all, x, where(condition.some, either, y));
  };
  return {choose(a.first, b.first, min(a.first, b.first)), choose(a.last, b.last, max(a.last, b.last))};
}

UnknownPosition operator+(const UnknownPosition &a, const Index &b) {
  return a.divisor.constant() == 1 ? UnknownPosition{a.shift + b, a.divisor, a.offset}
                                   : UnknownPosition{a.shift, a.divisor, a.offset + b};
}
UnknownPosition operator/(const UnknownPosition &a, const Index &b) { return {a.shift, b, a.offset}; }

namespace {
/// By how much the unknown is after a row where both values are equal, if distances decide that.
Bound distanceOf(const UnknownPosition &position, const TileSpan &rows) {
  bool isDivided = position.divisor.constant() != 1;
  return isDivided || !rows.shift ? Bound() : Bound(*rows.shift - position.shift);
}
} // namespace

PositionSet UnknownPosition::atMost(const TileSpan &bound) const {
  auto end = [&](const Index &value) { return (value - offset + 1) * divisor - shift; };
  PositionSet set;
  set.parts.push_back({.some = {.end = end(bound.last)},
                       .all = {.end = end(bound.first)},
                       .distances = {.most = distanceOf(*this, bound)}});
  return set;
}

PositionSet UnknownPosition::atLeast(const TileSpan &bound) const {
  auto begin = [&](const Index &value) { return (value - offset) * divisor - shift; };
  PositionSet set;
  set.parts.push_back({.some = {.begin = begin(bound.first)},
                       .all = {.begin = begin(bound.last)},
                       .distances = {.least = distanceOf(*this, bound)}});
  return set;
}

PositionSet UnknownDistance::atMost(const Index &bound) const {
  return isFromRow ? position.atMost(rows + bound) : position.atLeast(rows - bound);
}

PositionSet UnknownDistance::atLeast(const Index &bound) const {
  return isFromRow ? position.atLeast(rows + bound) : position.atMost(rows - bound);
}

PositionSet operator==(const UnknownRemainder &a, const Index &b) {
  const auto &[position, rows, isFromRow] = a.distance;
  if (a.divisor.constant() == 1) // nothing is left
    return TileCondition{b == 0, b == 0};
  PositionSet set = PositionSet::unknown();
  if (Bound distance = distanceOf(position, isFromRow ? rows + b : rows - b)) // where b is left
    set.parts[0].distances.dilation = {.rows = rows - *rows.shift, .step = a.divisor, .remainder = *distance};
  return set;
}

PositionSet UnknownElement::atMost(const TileSpan &bound) const {
  if (!countUpTo)
    return PositionSet::unknown();
  return position < TileSpan{countUpTo(bound.first), countUpTo(bound.last)};
}

PositionSet UnknownElement::atLeast(const TileSpan &bound) const {
  if (!countUpTo)
    return PositionSet::unknown();
  return position >= TileSpan{countUpTo(bound.first - 1), countUpTo(bound.last - 1)};
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

namespace {
using Value = std::variant<UnknownPosition, Index>;

UnknownChoice changed(UnknownChoice choice, const std::function<Value(const Value &)> &change) {
  for (UnknownChoice::Case &one : choice.cases)
    one.value = change(one.value);
  return choice;
}

/// The union over cases of where they hold and their value compares.
PositionSet unionOf(const UnknownChoice &choice,
                    const std::function<PositionSet(const UnknownPosition &)> &ofPosition,
                    const std::function<PositionSet(const Index &)> &ofNumber) {
  PositionSet result;
  for (const auto &[holds, value] : choice.cases) {
    const auto *position = std::get_if<UnknownPosition>(&value);
    result = result || (holds && (position ? ofPosition(*position) : ofNumber(std::get<Index>(value))));
  }
  return result;
}
} // namespace

UnknownChoice operator+(const UnknownChoice &a, const Index &b) {
  return changed(a, [&](const Value &value) {
    return std::visit([&](const auto &one) { return Value(one + b); }, value);
  });
}

UnknownChoice operator/(const UnknownChoice &a, const Index &b) {
  return changed(a, [&](const Value &value) {
    return std::visit([&](const auto &one) { return Value(one / b); }, value);
  });
}

PositionSet UnknownChoice::atMost(const TileSpan &bound) const {
  return unionOf(
      *this, [&](const UnknownPosition &position) { return position.atMost(bound); },
      [&](const Index &number) { return PositionSet(bound >= number); });
}

PositionSet UnknownChoice::atLeast(const TileSpan &bound) const {
  return unionOf(
      *this, [&](const UnknownPosition &position) { return position.atLeast(bound); },
      [&](const Index &number) { return PositionSet(bound <= number); });
}

UnknownChoice detail::choose(const PositionSet &condition, const UnknownChoice &a, const UnknownChoice &b) {
  UnknownChoice result;
  for (const auto &[holds, value] : a.cases)
    result.cases.push_back({condition && holds, value});
  PositionSet otherwise = !condition;
  for (const auto &[holds, value] : b.cases)
    result.cases.push_back({otherwise && holds, value});
  return result;
}

UnknownChoice detail::asChoice(Value value) { return {{{PositionSet::everything(), std::move(value)}}}; }

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

namespace {
/// The remainder that is not negative.
Index remainderOf(const Index &a, const Index &b) { return (a % b + b) % b; }

/// The range without what is before the first and after the last position that pairs with some row: if it is
/// as long as a step, every `step` positions in it have one.
void narrow(Index &begin, Index &end, const Distances &distances) {
  const auto &[rows, step, remainder] = *distances.dilation;
  Bound least, most; // of distances that leave the remainder
  if (distances.least) {
    least = *distances.least + remainderOf(remainder - *distances.least, step);
    begin = max(begin, rows.first + *least);
  }
  if (distances.most) {
    most = *distances.most - remainderOf(*distances.most - remainder, step);
    end = min(end, rows.last + *most + 1);
  }
  // For each such distance there is a run of positions, one for each row, and a run begins every `step`.
  Index rowCount = rows.last - rows.first + 1;
  Index afterFirst = remainderOf(begin - (rows.first + remainder), step),
        beforeLast = remainderOf(rows.last + remainder - (end - 1), step);
  begin = where(afterFirst < rowCount, begin, begin + (step - afterFirst));
  end = where(beforeLast < rowCount, end, end - (step - beforeLast));
  if (least && most)
    end = where(*least <= *most, end, Index(0));
  end = max(end, 0);
  begin = min(begin, end);
}
} // namespace

VisitedTiles::Part VisitedTiles::partOf(const PositionPart &part, const Index &positions,
                                        int64_t positionsOfTile) {
  auto within = [&](const Bound &bound, const Index &otherwise) {
    return bound ? max(min(*bound, positions), 0) : otherwise;
  };
  Part tiles;
  Index end = within(part.some.end, positions), begin = min(within(part.some.begin, 0), end);
  if (part.distances.dilation)
    narrow(begin, end, part.distances);
  tiles.visited = {begin / positionsOfTile, ceilDiv(end, positionsOfTile)};
  // Where nothing is seen, the rounded ends of an empty range may still span a tile.
  tiles.visited.end = where(begin < end, tiles.visited.end, tiles.visited.begin);
  Index first = ceilDiv(within(part.all.begin, 0), positionsOfTile),
        last = within(part.all.end, positions) / positionsOfTile;
  first = min(max(first, tiles.visited.begin), tiles.visited.end);
  tiles.whole = {first, max(min(last, tiles.visited.end), first)};
  return tiles;
}

void VisitedTiles::makeDisjoint(std::vector<Part> &parts) {
  // By their beginnings, then each without what those before it have.
  auto exchange = [](const Predicate &condition, Index &a, Index &b) {
    Index first = where(condition, b, a), second = where(condition, a, b);
    a = first;
    b = second;
  };
  for (size_t round = 0; round + 1 < parts.size(); ++round)
    for (size_t i = 0; i + 1 < parts.size() - round; ++i) {
      Part &a = parts[i], &b = parts[i + 1];
      Predicate isLater = a.visited.begin > b.visited.begin;
      exchange(isLater, a.visited.begin, b.visited.begin);
      exchange(isLater, a.visited.end, b.visited.end);
      exchange(isLater, a.whole.begin, b.whole.begin);
      exchange(isLater, a.whole.end, b.whole.end);
    }
  Index covered = parts[0].visited.end;
  for (size_t i = 1; i < parts.size(); ++i) {
    for (Run *run : {&parts[i].visited, &parts[i].whole}) {
      run->begin = max(run->begin, covered);
      run->end = max(run->end, covered);
    }
    covered = parts[i].visited.end;
  }
}

VisitedTiles::VisitedTiles(const PositionSet &seen, const Index &positions, int64_t positionsOfTile)
    : count(0), partial(0) {
  for (const PositionPart &part : seen.parts)
    parts.push_back(partOf(part, positions, positionsOfTile));
  if (parts.empty())
    parts.push_back({.visited = {0, 0}, .whole = {0, 0}});
  makeDisjoint(parts);
  bool beginsAtFirst = seen.parts.size() == 1 && !seen.parts[0].some.begin && !seen.parts[0].all.begin;
  std::vector<Run> whole;
  for (const Part &part : parts) {
    runs.push_back({part.whole.end, part.visited.end});
    if (!beginsAtFirst)
      runs.push_back({part.visited.begin, part.whole.begin});
    whole.push_back(part.whole);
  }
  for (const Run &run : runs)
    partial = partial + (run.end - run.begin);
  runs.insert(runs.end(), whole.begin(), whole.end());
  for (const Run &run : runs)
    count = count + (run.end - run.begin);
  if (beginsAtFirst) // the full ones go on where the partial ones end
    runs = {parts[0].visited};
}

VisitedTiles VisitedTiles::atLeastOne() const {
  VisitedTiles tiles = *this;
  Index more = where(count == 0, Index(1), Index(0));
  tiles.runs[0].end = tiles.runs[0].end + more;
  tiles.count = tiles.count + more;
  tiles.partial = tiles.partial + more;
  return tiles;
}

VisitedTiles VisitedTiles::ascending() const {
  VisitedTiles tiles = *this;
  tiles.ascends = true;
  tiles.partial = 0;
  tiles.runs.clear();
  for (const Part &part : parts) {
    tiles.runs.push_back({part.visited.begin, part.whole.begin});
    tiles.runs.push_back({part.whole.begin, part.whole.end, true});
    tiles.runs.push_back({part.whole.end, part.visited.end});
  }
  return tiles;
}

Index VisitedTiles::at(const Index &i) const {
  Index tile = 0, start = 0;
  for (const Run &run : runs) {
    Index own = ascends ? run.begin + (i - start) : run.end - 1 - (i - start);
    tile = &run == runs.data() ? own : where(i < start, tile, own);
    start = start + (run.end - run.begin);
  }
  return tile;
}

Predicate VisitedTiles::isPartial(const Index &i) const {
  Predicate is = i < partial;
  if (!ascends)
    return is;
  Index start = 0;
  for (const Run &run : runs) {
    Index end = start + (run.end - run.begin);
    if (!run.isWhole)
      is = is || (i >= start && i < end);
    start = end;
  }
  return is;
}

Predicate VisitedTiles::contains(const Index &tile) const {
  Predicate is = false;
  for (const Part &part : parts)
    is = is || (tile >= part.visited.begin && tile < part.visited.end);
  return is;
}

} // namespace tlc::kernels
