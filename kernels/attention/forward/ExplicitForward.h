// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward with roles written by hand.
#pragma once

#include "kernels/attention/forward/ForwardProblem.h"
#include "kernels/attention/forward/TransposedValues.h"
#include "kernels/attention/schedule/PackedOrder.h"

namespace tlc::kernels {

/// `packed` has the tiles of packed sequences, `values` V of 8-bit elements.
void explicitForward(dsl::Scope &k, const ForwardConfig &config, const ForwardProblem &problem,
                     const PackedOrder *packed, const TransposedValues *values);

} // namespace tlc::kernels
