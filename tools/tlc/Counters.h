// SPDX-License-Identifier: Apache-2.0
/// \file
/// Counters of the hardware, by Nsight Compute, where that is installed and allowed.
#pragma once

#include "runtime/support/Result.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace tlc::driver {

struct Counter {
  std::string name, value, unit;
};

/// The command line of `tlc run` that runs what `tlc profile`, called with these arguments, profiles: the
/// flags that both have.
std::vector<std::string> runArguments(llvm::ArrayRef<std::string> arguments);

/// The counters in what `ncu --csv` prints; none if that has no table.
std::vector<Counter> parseCounters(llvm::StringRef csv);

/// Runs this process's command as `tlc run` under ncu, which launches the kernel `entry` several times. An
/// error is a sentence that tells why there are no counters.
Result<std::vector<Counter>> countersOf(llvm::StringRef entry);

} // namespace tlc::driver
