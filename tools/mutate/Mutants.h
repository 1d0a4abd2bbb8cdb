// SPDX-License-Identifier: Apache-2.0
/// \file
/// Mutants of a PTX module: each has one synchronisation taken away or
/// weakened. A test of a kernel that is worth its name finds them all.
#pragma once

#include "runtime/support/Result.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::mutate {

enum class Change : uint8_t {
  removed,
  notAwaited,    ///< the test of a phase always succeeds
  otherParity,   ///< the phase before is waited for
  moreArrivals,  ///< an mbarrier or a barrier expects one arrival (one warp) more
  fewerArrivals, ///< or less
  moreBytes,     ///< an expectation of bytes
  fewerBytes,    ///
  noBytes,       ///< arrives and expects none
  morePending,   ///< wait_group N + 1
  readOnly,      ///< waits only until the sources have been read
  narrowed,      ///< to a smaller scope, or another space
  relaxed,       ///< without release or acquire
  arrivesOnly,   ///< and does not wait
  otherBarrier,  ///< the barrier's number
  allLanes,      ///< instead of the elected one
  accessAfter,   ///< the access before it comes after it
  accessBefore,  ///< the access after it comes before it
};
std::string_view toString(Change change);

/// Text in place of [begin, end) of the module.
struct Edit {
  size_t begin = 0, end = 0;
  std::string text;
};

/// The files that kernels were written in, below a folder; those that cannot be read have no lines.
class Sources {
public:
  Sources() = default;
  explicit Sources(std::filesystem::path root) : root(std::move(root)) {}
  /// Without the space around it; empty if it cannot be read.
  std::string_view line(const std::string &file, unsigned number) const;

private:
  std::filesystem::path root;
  mutable std::map<std::string, std::vector<std::string>, std::less<>> files;
};

struct Mutant {
  std::string entry;       ///< the function
  std::string location;    ///< "file.cpp:12:3" in the source that the kernel was written in; "?" if unknown
  std::string place;       ///< "file.cpp `text of the line`", which stays when lines move; else the location
  std::string instruction; ///< "bar.sync"
  unsigned occurrence = 1; ///< among those of the function with that place
  Change change = Change::removed;
  unsigned line = 0;       ///< of the PTX
  std::vector<Edit> edits; ///< in order

  /// "gemm file.cpp `text` bar.sync#2".
  std::string where() const;
  /// As if it were all occurrences: "gemm file.cpp `text` bar.sync#*".
  std::string everywhere() const;
  /// "gemm file.cpp `text` bar.sync#2 removed"
  std::string key() const;
  /// The module with the edits.
  std::string applyTo(std::string_view ptx) const;
};

/// All of them, in the order of the text. An error if the text is no PTX.
Result<std::vector<Mutant>> mutantsOf(std::string_view ptx, const Sources &sources = {});

} // namespace tlc::mutate
