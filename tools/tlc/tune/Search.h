// SPDX-License-Identifier: Apache-2.0
/// \file
/// Finds the fastest values of one problem's open parameters.
#pragma once

#include "kernels/tuning/Tuning.h"
#include "tools/tlc/tune/Candidates.h"
#include "tools/tlc/tune/Processes.h"
#include "tools/tlc/tune/TuningFiles.h"

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

namespace tlc::driver {

struct SearchOptions {
  /// After so much time no further process is started, but for the kernel's own choice. Nothing: all
  /// candidates are timed.
  std::optional<std::chrono::milliseconds> budget = std::chrono::seconds(60);
  int rounds = 5;    ///< of those that are close to the fastest one
  unsigned jobs = 0; ///< processes that compile at once; 0: one per core
  uint64_t seed = 0; ///< of orders
  /// Of a device whose own times are no measure: the model's are the result, and rounds are left out.
  bool isModelled = false;
};

/// What is done with the values of a candidate. An error is none of the candidate's, and ends the search.
struct SearchSteps {
  /// Called by several threads at once.
  std::function<Result<TuneAnswer>(const kernels::Definitions &values)> prepare;
  std::function<Result<TuneAnswer>(const kernels::Definitions &values, TuneCheck check)> time;
};

struct SearchResult {
  std::vector<Candidate> candidates; ///< the first one is the kernel's own choice
  size_t resumed = 0;                ///< how many of them the log had
  std::optional<size_t> best = {};   ///< the fastest; none: nothing ran
  double seconds = 0;

  bool isComplete() const; ///< every candidate was timed or skipped
};

/// Measures, and appends each measurement to the log and the fastest candidate to the results; progress goes
/// to standard error. The best one is the kernel's own choice unless another is faster by 1 %. An error is
/// none of a candidate's: no reference, no device, a full disk.
Result<SearchResult> search(const kernels::Request &request, const kernels::TuningSetting &setting,
                            const SearchSteps &steps, const TuningFiles &files, const SearchOptions &options);

} // namespace tlc::driver
