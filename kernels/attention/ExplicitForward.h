// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward with roles written by hand.
#pragma once

#include "kernels/attention/ForwardProblem.h"
#include "kernels/attention/PackedOrder.h"

namespace tlc::kernels {

/// `packed` has the tiles of packed sequences.
void explicitForward(dsl::Scope &k, const ForwardConfig &config, const ForwardProblem &problem, RowOrder rows,
                     const PackedOrder *packed);

} // namespace tlc::kernels
