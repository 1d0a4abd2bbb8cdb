// SPDX-License-Identifier: Apache-2.0
/// \file
/// What `tlc run` prints of a run, as text and as JSON.
#pragma once

#include "kernels/harness/KernelRun.h"
#include "runtime/emulator/report/Finding.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tlc::driver {

struct RunResult {
  const kernels::Request &request;
  const kernels::KernelRun &run;
  const Device &device;
  uint64_t seed;
  std::optional<kernels::Verdict> verdict;
  double milliseconds;
  const Findings &findings;
  std::string error = {};                    ///< why there is no verdict and no time
  std::optional<uint64_t> scheduleSeed = {}; ///< of the emulator, if not the usual one
  std::string outputs = {};                  ///< digest of the outputs where there is no verdict
};

/// 32 hexadecimal digits.
std::string digitsOf(const Hash128 &hash);

void printText(const RunResult &result);
void printJson(const RunResult &result);

} // namespace tlc::driver
