// SPDX-License-Identifier: Apache-2.0
/// \file
/// Timing that survives changing clocks: the contestants take turns, and only
/// ratios within one round are compared.
#pragma once

#include "runtime/device/Device.h"

#include "llvm/ADT/ArrayRef.h"

#include <functional>
#include <memory>
#include <vector>

namespace tlc::driver {

struct RoundOptions {
  int rounds = 15;
  int warmups = 5;       ///< launches before each batch
  int launches = 20;     ///< launches of a batch, back to back between one pair of events
  bool shuffled = false; ///< another order in each round, the same ones every time
};

/// Enqueues one execution on the default stream, of each device.
using Contestant = std::function<Result<void>()>;

/// Seconds per launch: one row per contestant, one column per round. `devices` run each contestant
/// together; the time is that of the slowest one. Of emulated devices it is the host's.
Result<std::vector<std::vector<double>>> timeInTurns(llvm::ArrayRef<std::unique_ptr<Device>> devices,
                                                     llvm::ArrayRef<Contestant> contestants,
                                                     RoundOptions options);

double median(std::vector<double> values);
double geometricMean(llvm::ArrayRef<double> values);

} // namespace tlc::driver
