// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention backward with roles written by hand.
#pragma once

#include "kernels/attention/backward/BackwardArguments.h"

namespace tlc::kernels {

// dK and dV, and what tiles of keys add to dQ: of 128 keys, and of 64.
void wideKeyTiles(dsl::Scope &k, const BackwardConfig &config, const BackwardArguments &arguments,
                  const TileScheduler &scheduler);
void narrowKeyTiles(dsl::Scope &k, const BackwardConfig &config, const BackwardArguments &arguments,
                    const TileScheduler &scheduler);

} // namespace tlc::kernels
