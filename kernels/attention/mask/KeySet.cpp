// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arithmetic of ranges of keys, and their tiles.
#include "kernels/attention/mask/KeySet.h"

#include <functional>

namespace tlc::kernels {

using namespace dsl;

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

KeyRange intersection(const KeyRange &a, const KeyRange &b) {
  return {both(a.begin, b.begin, larger), both(a.end, b.end, smaller)};
}

/// The range where the condition holds, else nothing.
KeyRange onlyIf(const Predicate &condition, const KeyRange &range) {
  if (std::optional<bool> known = condition.constant(); known && *known)
    return range;
  constexpr int64_t beyondAll = int64_t(1) << 30; // no tensor has so many rows of keys
  Index end = range.end ? *range.end : Index(beyondAll);
  return {range.begin, where(condition, end, Index(0))};
}
} // namespace

KeySet operator&&(const KeySet &a, const KeySet &b) {
  KeySet result;
  for (const KeyPart &x : a.parts)
    for (const KeyPart &y : b.parts)
      result.parts.push_back({intersection(x.some, y.some), intersection(x.all, y.all)});
  return result;
}

KeySet operator||(const KeySet &a, const KeySet &b) {
  KeySet result = a;
  result.parts.insert(result.parts.end(), b.parts.begin(), b.parts.end());
  return result;
}

QueryCondition operator&&(const QueryCondition &a, const QueryCondition &b) {
  return {a.some && b.some, a.all && b.all};
}

QueryCondition operator||(const QueryCondition &a, const QueryCondition &b) {
  return {a.some || b.some, a.all || b.all};
}

KeySet operator&&(const QueryCondition &a, const KeySet &b) {
  KeySet result;
  for (const KeyPart &part : b.parts)
    result.parts.push_back({onlyIf(a.some, part.some), onlyIf(a.all, part.all)});
  return result;
}

KeySet operator&&(const KeySet &a, const QueryCondition &b) { return b && a; }

QueryRange operator+(const QueryRange &a, const Index &b) { return {a.first + b, a.last + b}; }
QueryRange operator-(const QueryRange &a, const Index &b) { return {a.first - b, a.last - b}; }
QueryRange operator/(const QueryRange &a, const Index &b) { return {a.first / b, a.last / b}; }

QueryRange where(const QueryCondition &condition, const QueryRange &a, const QueryRange &b) {
  auto choose = [&](const Index &x, const Index &y, const Index &either) {
    return where(condition.all, x, where(condition.some, either, y));
  };
  return {choose(a.first, b.first, min(a.first, b.first)), choose(a.last, b.last, max(a.last, b.last))};
}

KeyTerm operator+(const KeyTerm &a, const Index &b) {
  return a.divisor.constant() == 1 ? KeyTerm{a.shift + b, a.divisor, a.offset}
                                   : KeyTerm{a.shift, a.divisor, a.offset + b};
}
KeyTerm operator-(const KeyTerm &a, const Index &b) { return a + (0 - b); }
KeyTerm operator/(const KeyTerm &a, const Index &b) { return {a.shift, b, a.offset}; }

KeySet operator<=(const KeyTerm &key, const QueryRange &bound) {
  auto end = [&](const Index &value) { return (value - key.offset + 1) * key.divisor - key.shift; };
  KeySet set;
  set.parts.push_back({.some = {.end = end(bound.last)}, .all = {.end = end(bound.first)}});
  return set;
}

KeySet operator>=(const KeyTerm &key, const QueryRange &bound) {
  auto begin = [&](const Index &value) { return (value - key.offset) * key.divisor - key.shift; };
  KeySet set;
  set.parts.push_back({.some = {.begin = begin(bound.first)}, .all = {.begin = begin(bound.last)}});
  return set;
}

KeySet operator==(const KeyTerm &key, const QueryRange &value) { return key <= value && key >= value; }

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

KeyTiles::Part KeyTiles::partOf(const KeyPart &part, const Index &keys, int64_t keysOfTile) {
  auto within = [&](const Bound &bound, const Index &otherwise) {
    return bound ? max(min(*bound, keys), 0) : otherwise;
  };
  Part tiles;
  Index end = within(part.some.end, keys), begin = min(within(part.some.begin, 0), end);
  tiles.visited = {begin / keysOfTile, ceilDiv(end, keysOfTile)};
  // Where nothing is seen, the rounded ends of an empty range may still span a tile.
  tiles.visited.end = where(begin < end, tiles.visited.end, tiles.visited.begin);
  Index first = ceilDiv(within(part.all.begin, 0), keysOfTile),
        last = within(part.all.end, keys) / keysOfTile;
  first = min(max(first, tiles.visited.begin), tiles.visited.end);
  tiles.whole = {first, max(min(last, tiles.visited.end), first)};
  return tiles;
}

void KeyTiles::makeDisjoint(std::vector<Part> &parts) {
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

KeyTiles::KeyTiles(const KeySet &seen, const Index &keys, int64_t keysOfTile) : count(0), edges(0) {
  std::vector<Part> parts;
  for (const KeyPart &part : seen.parts)
    parts.push_back(partOf(part, keys, keysOfTile));
  if (parts.empty())
    parts.push_back({.visited = {0, 0}, .whole = {0, 0}});
  makeDisjoint(parts);
  bool beginsWithFirstKey = seen.parts.size() == 1 && !seen.parts[0].some.begin && !seen.parts[0].all.begin;
  std::vector<Run> whole;
  for (const Part &part : parts) {
    runs.push_back({part.whole.end, part.visited.end});
    if (!beginsWithFirstKey)
      runs.push_back({part.visited.begin, part.whole.begin});
    whole.push_back(part.whole);
  }
  for (const Run &run : runs)
    edges = edges + (run.end - run.begin);
  runs.insert(runs.end(), whole.begin(), whole.end());
  for (const Run &run : runs)
    count = count + (run.end - run.begin);
  if (beginsWithFirstKey) // what is whole goes on where the edge ends
    runs = {parts[0].visited};
}

KeyTiles KeyTiles::orOne() const {
  KeyTiles tiles = *this;
  Index more = where(count == 0, Index(1), Index(0));
  tiles.runs[0].end = tiles.runs[0].end + more;
  tiles.count = tiles.count + more;
  tiles.edges = tiles.edges + more;
  return tiles;
}

Index KeyTiles::at(const Index &i) const {
  Index tile = 0, start = 0;
  for (const Run &run : runs) {
    Index own = run.end - 1 - (i - start);
    tile = &run == runs.data() ? own : where(i < start, tile, own);
    start = start + (run.end - run.begin);
  }
  return tile;
}

} // namespace tlc::kernels
