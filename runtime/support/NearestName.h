// SPDX-License-Identifier: Apache-2.0
/// \file
/// The name that a misspelt one was meant to be.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tlc {

/// Insertions, deletions, substitutions and swaps of neighbours from one text to the other.
inline size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> edits(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        edits[i][j] = i + j;
        continue;
      }
      edits[i][j] = std::min(
          {edits[i - 1][j] + 1, edits[i][j - 1] + 1, edits[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
    }
  return edits[a.size()][b.size()];
}

/// "; the nearest name is 'tile'" if one of the names differs from `wanted` in at most a third of its
/// letters, whatever their case, and nothing otherwise.
template <class Names> std::string nearestText(std::string_view wanted, const Names &names) {
  constexpr size_t longest = 64; // of a name; it bounds the time for what a user passes
  const auto lower = [](std::string_view text) {
    std::string result(text);
    for (char &letter : result)
      if (letter >= 'A' && letter <= 'Z')
        letter = char(letter - 'A' + 'a');
    return result;
  };
  size_t least = std::max<size_t>(wanted.size() / 3, 1) + 1;
  std::string_view nearest;
  for (const auto &each : names) {
    const std::string_view name = each;
    if (wanted.size() > longest || name.size() > longest)
      continue;
    if (const size_t distance = editDistance(lower(wanted), lower(name));
        distance < least && distance < name.size()) {
      least = distance;
      nearest = name;
    }
  }
  return nearest.empty() ? "" : "; the nearest name is '" + std::string(nearest) + "'";
}

} // namespace tlc
