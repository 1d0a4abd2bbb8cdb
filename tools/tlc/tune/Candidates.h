// SPDX-License-Identifier: Apache-2.0
/// \file
/// The values of open parameters that `tlc tune` tries.
#pragma once

#include "kernels/library/Library.h"

#include <string>
#include <vector>

namespace tlc::driver {

struct Candidate {
  kernels::Definitions values = {}; ///< of open parameters; none: what the kernel chooses itself
  double modelled = 0;              ///< microseconds by the model of `tlc trace`; 0: unknown
  std::vector<double> times = {};   ///< microseconds of a launch, by round
  std::string skipped = {};         ///< why it is not timed; empty: it is

  bool isTimed() const { return skipped.empty() && !times.empty(); }
  /// The median, of a candidate that is timed.
  double time() const;
  /// "bm=64 bn=128", "the kernel's own choice".
  std::string text() const;
};

/// What the kernel chooses itself, and all combinations of the candidate values of open parameters that the
/// request was given no value of. An error if there is no such parameter, or there are too many combinations.
Result<std::vector<Candidate>> candidatesOf(const kernels::Request &request);

} // namespace tlc::driver
