// SPDX-License-Identifier: Apache-2.0
/// \file
/// The product with a reduce-scatter whose terms copy engines move.
#pragma once

#include "kernels/collectives/RankGemm.h"

namespace tlc::kernels {

BlockBudget copiedReduceScatterBudget(const RankGemmConfig &config, const Target &target);

/// `gemmReduceScatterProgram` with `Carrier::copyEngine`.
dsl::Program copiedReduceScatterProgram(const RankGemmConfig &config, const dsl::TraceOptions &options);

} // namespace tlc::kernels
