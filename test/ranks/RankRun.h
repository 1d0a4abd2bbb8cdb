// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs a program on several devices, emulated ones with the checker on or GPUs, and evaluates it: both must
/// agree.
#pragma once

#include "compiler/dsl/dsl.h"
#include "compiler/evaluator/Evaluator.h"
#include "compiler/pipeline/Options.h"
#include "runtime/device/LaunchRanks.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tlc::test {

using Body = std::function<void(dsl::Scope &)>;

/// A tensor of f32 or i32 of these numbers, or of the same number everywhere.
evaluator::Tensor tensorOf(ElementType type, std::vector<int64_t> extents,
                           const std::vector<double> &numbers);
evaluator::Tensor filled(ElementType type, std::vector<int64_t> extents, double number);
/// One that nobody has written; on a device it is poisoned.
evaluator::Tensor unwritten(ElementType type, std::vector<int64_t> extents);
std::vector<double> numbersOf(const evaluator::Tensor &tensor);
/// The tensors that `make` gives each rank.
std::vector<evaluator::Arguments>
argumentsOf(int64_t ranks, const std::function<std::vector<evaluator::Tensor>(int64_t)> &make);

struct RankOptions {
  int multiprocessors = 3;
  std::optional<uint64_t> scheduleSeed = {};
  CompileOptions compile = {};
  bool lateTransfers = false;
  int launches = 1; ///< one after the other, for which the host does not wait
  /// What enqueues the launches of all ranks, once; left out: `launchRanks`.
  std::function<Result<void>(std::span<const RankLaunch>)> enqueue = {};
};

/// A device for each rank: emulated, or in ranks_cuda_test GPUs.
std::vector<std::unique_ptr<Device>> openRanks(size_t count, const RankOptions &options);
/// How many ranks there can be; on a GPU multiprocessors and schedules are the GPU's.
int64_t mostRanks();
inline int64_t ranksUpTo(int64_t count) { return std::min(count, mostRanks()); }
/// Of 1, 2, 3, 4 and 8 those that there can be.
std::vector<int64_t> rankCounts();

/// The compiled program; fails the running test with what the compiler says.
Artifact compiledProgram(const Body &body, const CompileOptions &options = {});

/// Launches it on as many ranks as there are lists of tensors, which come back changed; what the launch or
/// one of the devices says is wrong, or "".
std::string launch(const Artifact &artifact, std::vector<evaluator::Arguments> &ranks,
                   const RankOptions &options = {});
/// What the evaluator says is wrong, or "".
std::string evaluated(const Body &body, std::vector<evaluator::Arguments> &ranks);

/// Does both and compares; gives the tensors of each rank.
std::vector<evaluator::Arguments> runOnRanks(const Body &body, std::vector<evaluator::Arguments> ranks,
                                             const RankOptions &options = {});

} // namespace tlc::test
