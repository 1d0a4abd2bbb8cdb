// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a caller may ask of the compiler.
#pragma once

#include "compiler/pipeline/Phases.h"

#include <chrono>
#include <span>
#include <string>
#include <string_view>

namespace tlc {

/// Off-switches: with one off, the compiler takes the reference way that the optimisation is tested against,
/// or leaves out what only helps to find mistakes.
struct Optimizations {
  bool tma = true;                 ///< copies by the tensor memory accelerator
  bool wgmma = true;               ///< products by warpgroups
  bool tcgen05 = true;             ///< products that add in tensor memory, by a role of their own
  bool tensorMemoryFactors = true; ///< left factors that are computed go through tensor memory
  bool rowSplitting = true;        ///< 256 rows are computed as two halves, next to products by tcgen05
  bool warpSpecialization = true;  ///< a role that loads ahead of those that compute
  bool storeRole = true;           ///< tiles are stored by a role of their own, in kernels that ask for it
  bool asyncCopies = true;         ///< pipelined loops outside of roles copy ahead by cp.async
  bool overlap = true; ///< a product runs under the issue of the next, and under work that does not need it
  bool loopSplitting = true;  ///< a loop whose first iterations differ becomes two
  bool deferredStores = true; ///< a tile is stored under the first product of the next
  bool reports = true;        ///< prints and checks on the device; off, a kernel is as if it had none
  /// Tiles that are never alive together share their bytes even where all fit, which takes more barriers: for
  /// tests of what `tile-plan-shared-memory` finds.
  bool sharesAllPlaces = false;
  /// The only way to share a kernel out among roles, one of `strategyNames()`; empty: the best that fits.
  std::string strategy = {};
  bool operator==(const Optimizations &) const = default;
};

/// An off-switch by the name that users know it by.
struct OptimizationSwitch {
  std::string_view name;
  bool Optimizations::*member;
};
std::span<const OptimizationSwitch> optimizationSwitches();

/// The ways to share a kernel out among roles (compiler/strategies).
std::span<const std::string_view> strategyNames();

/// A program that records when its warps wait, for `tlc profile`. Its kernels are otherwise as without.
struct Profiling {
  unsigned records = 0; ///< of each warp, a power of two up to `maxProfileRecords`; 0: nothing is recorded
  uint32_t block = 0;   ///< which block, with the others of its cluster, counted in x, then y, then z
  unsigned launch = 0;  ///< which launch of the program
  bool operator==(const Profiling &) const = default;
};

/// What the program may rely on about the addresses and strides of its tensors.
enum class Alignment {
  aligned, ///< multiples of 16 bytes, as the tensor memory accelerator and wide accesses demand
  general, ///< nothing
};

/// Ways to watch the compiler at work. None of them changes the result; with any of them the program is
/// compiled, whatever a cache holds.
struct Inspection {
  bool printAfterPasses = false; ///< after each pass that changed the module, the module goes to stderr
  bool timePasses = false;       ///< MLIR's table of the passes' times goes to stderr
  std::string crashReproducer;   ///< the file that gets the module and the passes when one fails; empty: none
  bool operator==(const Inspection &) const = default;
};

struct CompileOptions {
  // What decides the result, besides the program.
  std::string target = "sm_90a"; ///< a row of runtime/target; a target that the module names itself wins
  Optimizations optimizations;
  /// How long waits for counts and at mbarriers may last before they give up, reported (`waitLimitOf`); zero:
  /// for ever.
  std::chrono::nanoseconds waitLimit{0};
  /// Whether a program may access all ranks' tensors at once, by NVLink multicast, which takes memory that
  /// the driver joins for it.
  bool multicast = false;
  Profiling profiling;

  // What does not.
  Phase startFrom = Phase::input; ///< the phase that the given module is in, `nvvm` at most
  std::string dumpDirectory;      ///< where every phase is written to a file of its own; empty: nowhere
  Inspection inspection;

  /// Whether a compilation is wanted for what it shows, so that a program kept from before will not do.
  bool showsPasses() const { return !dumpDirectory.empty() || inspection != Inspection(); }
};

/// The deciding options as text, for cache keys: equal text, equal results.
std::string fingerprint(const CompileOptions &options);

} // namespace tlc
