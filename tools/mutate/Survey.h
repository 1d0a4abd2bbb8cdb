// SPDX-License-Identifier: Apache-2.0
/// \file
/// All mutants of one program tried, and held against the list of equivalent ones.
#pragma once

#include "tools/mutate/Equivalents.h"
#include "tools/mutate/Trial.h"

#include <array>

namespace tlc::mutate {

class Survey {
public:
  /// An error if the program itself fails its trial. `ofListed` tries those that the list calls equivalent,
  /// to which only the list can be held; left out, `trial` does.
  static Result<Survey> make(Origin origin, std::string_view ptx, const Trial &trial,
                             std::span<const Equivalent> equivalents, const Sources &sources = {},
                             unsigned threads = 0, const OnTried &onTried = {}, const Trial &ofListed = {});

  struct Entry {
    Mutant mutant;
    Outcome outcome;
    const Equivalent *equivalent = nullptr; ///< of `equivalents`
  };

  const Origin &origin() const { return from; }
  std::span<const Entry> entries() const { return all; }
  size_t equivalentCount() const;
  /// By what, `none` being the missed ones that are not equivalent.
  std::array<size_t, detectionCount> counts() const;
  /// Neither found nor equivalent, or both.
  std::vector<const Entry *> wrong() const;

  /// "gemm bm=64 variant=aligned: 98 mutants: 48 checker, ... 3 equivalent, 0 missed"
  std::string summary() const;
  /// What is wrong with an entry of `wrong()`.
  std::string complaint(const Entry &entry) const;

private:
  Origin from;
  std::vector<Entry> all;
};

} // namespace tlc::mutate
