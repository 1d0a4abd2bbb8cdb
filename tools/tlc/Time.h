// SPDX-License-Identifier: Apache-2.0
/// \file
/// The table of `--time`.
#pragma once

#include "compiler/pipeline/Compiler.h"

#include "llvm/ADT/ArrayRef.h"

namespace tlc::driver {

/// Prints the phases, their sum and the processor time of the whole process so far.
void printTimes(llvm::ArrayRef<PhaseTime> times);

} // namespace tlc::driver
