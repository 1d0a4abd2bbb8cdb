// SPDX-License-Identifier: Apache-2.0
/// \file
/// The result of a comparison with references, as text and as JSON.
#pragma once

#include "kernels/harness/Verdict.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace tlc::driver {

/// A line for each output, which begins with its name if there are several.
void printVerdict(llvm::raw_ostream &os, const kernels::Verdict &verdict);

/// Attributes of the current object: the worst output's error and limit, and "comparisons", an array with
/// those of each output.
void writeVerdict(llvm::json::OStream &os, const kernels::Verdict &verdict);

} // namespace tlc::driver
