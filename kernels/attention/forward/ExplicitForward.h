// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward with roles written by hand.
#pragma once

#include "kernels/attention/forward/ForwardArguments.h"
#include "kernels/attention/forward/TransposedValues.h"

namespace tlc::kernels {

/// `values` has V of 8-bit elements.
void explicitForward(dsl::Scope &k, const ForwardConfig &config, const ForwardArguments &arguments,
                     const TileScheduler &scheduler, const TransposedValues *values);

} // namespace tlc::kernels
