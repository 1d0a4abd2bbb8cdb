// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rows that together have every pair of values of every two options, or every value of each.
#pragma once

#include "kernels/harness/HostTensor.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace tlc::kernels::test {

/// What the rows of a covering array have, at least once.
enum class Cover : uint8_t { values, pairs };

namespace detail {
struct DrawnArray {
  std::vector<std::vector<size_t>> rows = {};
  size_t pairsLeftOut = 0;

  bool isBetterThan(const DrawnArray &other) const {
    return std::pair(pairsLeftOut, rows.size()) < std::pair(other.pairsLeftOut, other.rows.size());
  }
};

template <class F>
DrawnArray drawCoveringArray(const std::vector<size_t> &extents, Cover cover, std::mt19937_64 &random,
                             F &&isAllowed) {
  struct Pair {
    size_t option, value, otherOption, otherValue;
    bool isIn(const std::vector<size_t> &row) const {
      return row[option] == value && row[otherOption] == otherValue;
    }
  };
  std::vector<Pair> missing;
  for (size_t a = 0; a < extents.size(); ++a)
    for (size_t x = 0; x < extents[a]; ++x) {
      if (cover == Cover::values || extents.size() == 1) // with itself
        missing.push_back({a, x, a, x});
      for (size_t b = a + 1; cover == Cover::pairs && b < extents.size(); ++b)
        for (size_t y = 0; y < extents[b]; ++y)
          missing.push_back({a, x, b, y});
    }
  DrawnArray drawn;
  auto missingIn = [&](const std::vector<size_t> &row) {
    return std::ranges::count_if(missing, [&](const Pair &pair) { return pair.isIn(row); });
  };
  while (!missing.empty()) {
    // Of some random rows with the first missing pair the one that has the most others, then changed in one
    // option after the other for as long as it gets more.
    std::vector<size_t> best;
    long most = 0;
    for (int attempt = 0; attempt != 40; ++attempt) {
      std::vector<size_t> row;
      for (size_t extent : extents)
        row.push_back(random() % extent);
      row[missing[0].option] = missing[0].value;
      row[missing[0].otherOption] = missing[0].otherValue;
      if (!isAllowed(row))
        continue;
      if (long found = missingIn(row); found > most) {
        most = found;
        best = row;
      }
    }
    if (best.empty()) {
      missing.erase(missing.begin());
      ++drawn.pairsLeftOut;
      continue;
    }
    for (bool improves = true; improves;) {
      improves = false;
      for (size_t option = 0; option < extents.size(); ++option)
        for (size_t value = 0; value < extents[option]; ++value) {
          std::vector<size_t> row = best;
          row[option] = value;
          if (long found = missingIn(row); found > most && isAllowed(row)) {
            most = found;
            best = row;
            improves = true;
          }
        }
    }
    std::erase_if(missing, [&](const Pair &pair) { return pair.isIn(best); });
    drawn.rows.push_back(std::move(best));
  }
  return drawn;
}
} // namespace detail

/// `extents` has the number of values of each option; a row has one value of each, counted from 0. Rows that
/// `isAllowed` refuses do not appear: what only they have is left out.
template <class F>
std::vector<std::vector<size_t>> coveringArray(const std::vector<size_t> &extents, Cover cover,
                                               std::mt19937_64 &random, F &&isAllowed) {
  detail::DrawnArray best = detail::drawCoveringArray(extents, cover, random, isAllowed);
  for (int attempt = 1; attempt != 8; ++attempt)
    if (detail::DrawnArray drawn = detail::drawCoveringArray(extents, cover, random, isAllowed);
        drawn.isBetterThan(best))
      best = std::move(drawn);
  return std::move(best.rows);
}

/// Every combination of the options' values.
inline std::vector<std::vector<size_t>> allOf(const std::vector<size_t> &extents) {
  std::vector<std::vector<size_t>> rows = {{}};
  for (size_t extent : extents) {
    std::vector<std::vector<size_t>> longer;
    for (const std::vector<size_t> &row : rows)
      for (size_t value = 0; value < extent; ++value) {
        longer.push_back(row);
        longer.back().push_back(value);
      }
    rows = std::move(longer);
  }
  return rows;
}

/// Every two of the values of each option, all of which go together.
inline std::vector<std::vector<size_t>> pairsOf(const std::vector<size_t> &extents, std::mt19937_64 &random) {
  return coveringArray(extents, Cover::pairs, random, [](const std::vector<size_t> &) { return true; });
}

} // namespace tlc::kernels::test
