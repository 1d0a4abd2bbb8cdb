// SPDX-License-Identifier: Apache-2.0
/// \file
/// Vector clocks. A column is a thing that makes accesses or completes them: a
/// warp, a lane that acts alone, the copies of a warp, the products of a
/// warpgroup, an mbarrier. What
/// an access is stamped with, its column and the column's number at that time,
/// is known to whoever's clock has reached that number there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace tlc::emulator {

using Column = uint32_t;

/// Columns beyond the end are at 0.
class Clock {
public:
  bool empty() const { return numbers.empty(); }
  uint32_t at(Column column) const { return column < numbers.size() ? numbers[column] : 0; }
  void raise(Column column, uint32_t number) {
    if (column >= numbers.size())
      numbers.resize(column + 1);
    numbers[column] = std::max(numbers[column], number);
  }
  /// Knows what either knows.
  void join(const Clock &other) {
    if (numbers.size() < other.numbers.size())
      numbers.resize(other.numbers.size());
    for (size_t i = 0; i < other.numbers.size(); ++i)
      numbers[i] = std::max(numbers[i], other.numbers[i]);
  }
  /// Knows what both know.
  void meet(const Clock &other) {
    numbers.resize(std::min(numbers.size(), other.numbers.size()));
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = std::min(numbers[i], other.numbers[i]);
  }

private:
  std::vector<uint32_t> numbers;
};

/// What is known of another cluster, in its columns.
struct ForeignClocks {
  Clock seen, fenced;
};
/// By cluster. Shared, as whole blocks know the same, and mostly there is none.
using Foreign = std::map<uint32_t, ForeignClocks>;
inline void joinForeign(std::shared_ptr<const Foreign> &into, const std::shared_ptr<const Foreign> &from) {
  if (!from || from == into)
    return;
  if (!into) {
    into = from;
    return;
  }
  auto both = std::make_shared<Foreign>(*into);
  for (const auto &[cluster, clocks] : *from) {
    (*both)[cluster].seen.join(clocks.seen);
    (*both)[cluster].fenced.join(clocks.fenced);
  }
  into = std::move(both);
}

/// What comes before a point of a program.
struct Knowledge {
  Clock seen;                             ///< all of it in the own cluster
  Clock fenced;                           ///< of that, what a proxy fence follows on the way here
  std::shared_ptr<const Foreign> foreign; ///< of other clusters
  std::shared_ptr<const Foreign> narrow;  ///< what would be known of them if scopes were wide enough

  void join(const Knowledge &other) {
    seen.join(other.seen);
    fenced.join(other.fenced);
    joinForeign(foreign, other.foreign);
    joinForeign(narrow, other.narrow);
  }
  /// Of the own cluster.
  void meet(const Knowledge &other) {
    seen.meet(other.seen);
    fenced.meet(other.fenced);
  }
  /// A proxy fence.
  void fence() {
    fenced.join(seen);
    if (!foreign)
      return;
    auto all = std::make_shared<Foreign>(*foreign);
    for (auto &[cluster, clocks] : *all)
      clocks.fenced = clocks.seen;
    foreign = std::move(all);
  }
};

} // namespace tlc::emulator
