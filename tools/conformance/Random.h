// SPDX-License-Identifier: Apache-2.0
/// \file
/// Random numbers that are the same everywhere: recordings depend on them, so
/// nothing of <random> is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace tlc::conformance {

/// SplitMix64.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  /// A stream of its own for each name.
  Random(uint64_t seed, std::string_view name) : state(seed) {
    for (char c : name)
      state = (state ^ uint8_t(c)) * 0x100000001B3;
    next();
  }

  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }
  /// 0 to `count` - 1.
  uint64_t below(uint64_t count) { return next() % count; }
  int64_t between(int64_t least, int64_t most) {
    return least + int64_t(below(uint64_t(most) - uint64_t(least) + 1));
  }
  bool oneIn(unsigned n) { return below(n) == 0; }
  template <class Range> auto &pick(Range &&range) { return range[below(std::size(range))]; }
  template <class T> void shuffle(std::span<T> values) {
    for (size_t i = values.size(); i > 1; --i)
      std::swap(values[i - 1], values[below(i)]);
  }

private:
  uint64_t state;
};

} // namespace tlc::conformance
