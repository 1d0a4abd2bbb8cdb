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

/// What comes before a point of a program.
struct Knowledge {
  Clock seen;   ///< all of it
  Clock fenced; ///< of that, what a proxy fence follows on the way here

  void join(const Knowledge &other) {
    seen.join(other.seen);
    fenced.join(other.fenced);
  }
  void meet(const Knowledge &other) {
    seen.meet(other.seen);
    fenced.meet(other.fenced);
  }
};

} // namespace tlc::emulator
