// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks that are processes of their own: the test's program starts itself once for each of them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::test {

/// A folder in which ranks leave bytes for each other.
struct Exchange {
  std::filesystem::path folder;
  size_t rank = 0, ranks = 1;

  std::filesystem::path path(std::string_view name, size_t of) const;
  /// All ranks' bytes, when all have come.
  std::vector<std::string> of(std::string_view name, const std::string &bytes) const;
};

/// What the process of a rank is started with.
struct RankProcess {
  /// Of this process.
  static RankProcess current();
  /// Leaves the outcome, and ends the process without waiting for a stream that waits for ever.
  [[noreturn]] void end(std::string_view outcome) const;
  bool isLast() const { return exchange.rank + 1 == exchange.ranks; }
  int gpu() const { return int(exchange.rank); }

  std::string mode;
  Exchange exchange;
};

/// What each rank's process, which runs the test of that name, leaves as its outcome; "" where it leaves
/// none.
std::vector<std::string> outcomesOf(const std::string &test, const std::string &mode, size_t ranks);

/// Whether there are less than two GPUs, which is told.
bool lacksGpus();

} // namespace tlc::test
