// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs of a kernel of attention with its options.
#pragma once

#include "test/kernels/KernelRuns.h"
#include "tools/attention_matrix/AttentionCases.h"

namespace tlc::kernels::test {

/// The sizes at which a program runs.
struct RunSizes {
  int64_t alignment = 8; ///< of rows, in elements
  size_t wanted = 1;     ///< of all programs together, at least
  int longest = 0;       ///< lengths up to there instead of those of a list
};

/// Programs with every value of the options, or every pair of values.
void checkOptions(std::string_view name, const std::vector<attention_matrix::Option> &options, Cover cover,
                  const RunSizes &sizes);

/// The same options, each with its first and its last value alone.
std::vector<attention_matrix::Option> atTheirEnds(std::vector<attention_matrix::Option> options);

} // namespace tlc::kernels::test
