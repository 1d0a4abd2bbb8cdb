// SPDX-License-Identifier: Apache-2.0
/// \file
/// What changed between two texts of a module, line by line.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tlc::driver {

/// Pairs of equal elements, increasing in both, of which there can be no more (Myers, "An O(ND) Difference
/// Algorithm and Its Variations", 1986, in linear space).
std::vector<std::pair<size_t, size_t>> longestCommon(llvm::ArrayRef<unsigned> before,
                                                     llvm::ArrayRef<unsigned> after);

struct DiffLine {
  enum class Kind : uint8_t { context, removed, added };
  Kind kind = Kind::context;
  llvm::StringRef text; ///< of a context line as it is after
};

/// Changes that lie close to each other, with the lines around them; lines count from 1.
struct DiffHunk {
  size_t before = 1, numBefore = 0, after = 1, numAfter = 0;
  std::vector<DiffLine> lines;
};

struct ModuleDiff {
  std::vector<DiffHunk> hunks;
  size_t removed = 0, added = 0; ///< lines
};

/// Lines that differ only in the numbers of values and aliases are equal if the same values and aliases are
/// meant: those that are defined by equal lines. Refers to the texts.
ModuleDiff diffModules(llvm::StringRef before, llvm::StringRef after);

} // namespace tlc::driver
