// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs of a kernel of attention with every pair of its options.
#pragma once

#include "test/kernels/KernelRuns.h"
#include "tools/attention_matrix/AttentionCases.h"

namespace tlc::kernels::test {

/// Programs with every pair of the options, at so many sizes at least, whose lengths are those of a list or,
/// with `longest`, any up to there. `alignment` is that of rows, in elements.
void checkPairs(std::string_view name, int64_t alignment,
                const std::vector<attention_matrix::Option> &options, size_t wanted, int longest = 0);

} // namespace tlc::kernels::test
