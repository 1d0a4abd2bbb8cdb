// SPDX-License-Identifier: Apache-2.0
/// \file
/// A launch of any PTX as a program to mutate: what it computes as it is, bit by
/// bit, is what its mutants must differ from to be found by their results.
#pragma once

#include "runtime/emulator/exec/launch/Grid.h"
#include "tools/emulate/Arguments.h"
#include "tools/mutate/Trial.h"

namespace tlc::mutate {

class FileTrial {
public:
  /// The launch; its `parameters` and the machine's threads and findings are the trial's own.
  struct Launch {
    emulator::LaunchConfiguration configuration;
    emulator::Machine machine;
    emulate::LaunchSpec arguments;
    uint64_t seed = 0; ///< of random arrays
    /// Orders of warps and completions to try; no seed is the emulator's usual one.
    std::vector<std::optional<uint64_t>> schedules = {{}};
  };

  /// Runs the program once. An error if that fails.
  static Result<FileTrial> create(Launch launch, std::string_view ptx);

  /// Runs another module in its place.
  Outcome run(const std::string &module) const;

private:
  struct Done {
    Findings findings;
    Result<emulator::LaunchStatistics> statistics;
    std::vector<std::byte> memory; ///< of all arrays, one after the other
  };
  Result<Done> execute(std::string_view ptx, std::optional<uint64_t> schedule, uint64_t maximumSteps) const;

  Launch launch;
  uint64_t maximumSteps = 0;
  std::vector<std::byte> expected;
};

} // namespace tlc::mutate
