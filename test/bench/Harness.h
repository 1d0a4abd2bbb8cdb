// SPDX-License-Identifier: Apache-2.0
/// \file
/// Launches of PTX text for benchmarks, on one host thread.
#pragma once

#include "runtime/emulator/check/RaceCheck.h"
#include "runtime/emulator/exec/launch/Grid.h"

#include <benchmark/benchmark.h>
#include <memory>
#include <string>
#include <vector>

namespace tlc::emulator::bench {

/// A kernel `k` with one parameter, the address of `words` 32-bit words.
/// Registers: %r0-99 and %f0-49 of 32 bits, %d0-49 of 64, %p0-19 predicates,
/// %mem the address, %t the thread's number in its block.
struct KernelText {
  std::string body;
  std::string header = ""; ///< of module scope
  std::string_view target = "sm_90a";
  uint32_t threads = 256;
  uint32_t sharedBytes = 0; ///< dynamic
  size_t words = 4096;
};

class BenchKernel {
public:
  BenchKernel(KernelText text, RaceCheck raceCheck);
  /// Launches one block; a failure ends the benchmark.
  LaunchStatistics launch(benchmark::State &state) const;

private:
  KernelText text;
  std::shared_ptr<const Program> program;
  std::string loadError;
  mutable std::vector<uint32_t> memory;
  Machine machine;
};

/// Launches in the benchmark's loop; reports thread-instructions per second.
void benchInstructions(benchmark::State &state, KernelText text, RaceCheck raceCheck);

} // namespace tlc::emulator::bench
