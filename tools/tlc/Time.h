// SPDX-License-Identifier: Apache-2.0
/// \file
/// The table of `--time`.
#pragma once

#include "compiler/pipeline/Compiler.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace tlc::driver {

/// Prints the phases and their sum, or after how many milliseconds a cache had the program, and the processor
/// time of the whole process so far.
void printTimes(llvm::ArrayRef<PhaseTime> times, std::optional<double> foundAfter = {});

} // namespace tlc::driver
