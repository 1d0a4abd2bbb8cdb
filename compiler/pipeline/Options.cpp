// SPDX-License-Identifier: Apache-2.0
/// \file
/// Options as text.
#include "compiler/pipeline/Options.h"

using namespace tlc;

std::span<const OptimizationSwitch> tlc::optimizationSwitches() {
  static constexpr OptimizationSwitch switches[] = {
      {"tma", &Optimizations::tma},
      {"wgmma", &Optimizations::wgmma},
      {"warp-specialization", &Optimizations::warpSpecialization},
      {"store-role", &Optimizations::storeRole},
      {"async-copies", &Optimizations::asyncCopies},
      {"overlap", &Optimizations::overlap},
      {"loop-splitting", &Optimizations::loopSplitting},
      {"deferred-stores", &Optimizations::deferredStores},
      {"reports", &Optimizations::reports},
  };
  return switches;
}

std::string tlc::fingerprint(const CompileOptions &options) {
  std::string text = options.target;
  for (const OptimizationSwitch &each : optimizationSwitches())
    text += options.optimizations.*each.member ? '+' : '-';
  if (options.waitLimit.count() != 0)
    text += " waits " + std::to_string(options.waitLimit.count());
  return text;
}
