// SPDX-License-Identifier: Apache-2.0
/// \file
/// Options as text.
#include "compiler/pipeline/Options.h"

#include "compiler/strategies/Strategy.h"

using namespace tlc;

std::span<const OptimizationSwitch> tlc::optimizationSwitches() {
  static constexpr OptimizationSwitch switches[] = {
      {"tma", &Optimizations::tma},
      {"wgmma", &Optimizations::wgmma},
      {"tcgen05", &Optimizations::tcgen05},
      {"tensor-memory-factors", &Optimizations::tensorMemoryFactors},
      {"row-splitting", &Optimizations::rowSplitting},
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

std::span<const std::string_view> tlc::strategyNames() {
  static const auto names =
      llvm::map_to_vector(tile::allStrategies(),
                          [](const tile::Strategy *strategy) -> std::string_view { return strategy->name; });
  return names;
}

std::string tlc::fingerprint(const CompileOptions &options) {
  std::string text = options.target;
  for (const OptimizationSwitch &each : optimizationSwitches())
    text += options.optimizations.*each.member ? '+' : '-';
  if (options.optimizations.sharesAllPlaces)
    text += " all places";
  if (!options.optimizations.strategy.empty())
    text += " strategy " + options.optimizations.strategy;
  if (options.waitLimit.count() != 0)
    text += " waits " + std::to_string(options.waitLimit.count());
  if (options.multicast)
    text += " multicast";
  if (const Profiling &profiling = options.profiling; profiling.records != 0)
    text += " records " + std::to_string(profiling.records) + " of block " + std::to_string(profiling.block) +
            " of launch " + std::to_string(profiling.launch);
  return text;
}
