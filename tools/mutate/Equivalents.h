// SPDX-License-Identifier: Apache-2.0
/// \file
/// The list of mutants that nothing can find because they are as good as the
/// program, each with the reason.
#pragma once

#include "tools/mutate/Mutants.h"

#include <span>

namespace tlc::mutate {

/// Where a mutant comes from: name=value words such as `bm=64`, `variant=general`, `disable=tma`.
struct Origin {
  std::string kernel;
  std::vector<std::string> words;

  std::string text() const; ///< "gemm bm=64 variant=general"
};

struct Equivalent {
  Origin of; ///< holds for programs with all of these words, without those after a `!`; `kernel*` is all
             ///< kernels whose names begin so
  std::string place; ///< all of `Mutant::key()` but the change; the occurrence may be *
  std::vector<std::string> changes;
  std::string reason;
  unsigned line = 0; ///< of the list

  /// Whether it may say something of that program.
  bool isOf(const Origin &origin) const;
  bool covers(const Origin &origin, const Mutant &mutant) const;
};

/// Lines `kernel name=value... | entry file.cpp `text of the line` instruction#occurrence | change, change...
/// | reason`; # at the start of a line begins a comment.
Result<std::vector<Equivalent>> parseEquivalents(std::string_view text);

} // namespace tlc::mutate
