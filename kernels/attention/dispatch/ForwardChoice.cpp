// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/dispatch/ForwardChoice.h"

#include "kernels/attention/decode/DecodeTiles.h"
#include "kernels/attention/forward/ForwardTime.h"
#include "runtime/target/Timing.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tlc::kernels {

namespace {

constexpr int64_t mostTiles = int64_t(1) << 20; // of queries; that many keep every device busy

DecodeConfig untuned(const AttentionProblem &problem, int64_t queries, int64_t group) {
  return {.problem = problem, .queries = queries, .group = group, .arguments = DecodeArguments::forward};
}

DecodeConfig tuned(const AttentionProblem &problem, const ForwardExtents &e, const Target &target) {
  DecodeConfig config = untuned(problem, std::max<int64_t>(e.sq, 1), e.h / e.hkv);
  tuneDecode(config, e.b, e.hkv, keysOfTile(problem, e, rowsOfMathWarpgroup), target);
  return config;
}

/// In cycles (forward/ForwardTime.h), of blocks that each see a part of the keys, and of the launch that
/// joins the parts. A block computes one thing after the other; those that share a multiprocessor alternate.
double splitKeysTime(const AttentionProblem &problem, const ForwardExtents &e, const DecodeConfig &c,
                     const Target &target) {
  constexpr double keysOfJoin = 256; // that the second launch takes as long as
  const TimingFacts &timing = timingOf(target);
  KeyCycles key(problem, target);
  double warpgroups = double(c.residents * decode::warpgroups(c));
  double cycles = std::max({key.products + key.softmax, warpgroups * key.products, warpgroups * key.softmax,
                            double(c.residents) * key.loads});
  if (c.stages == 1) // copies and what is computed from them alternate
    cycles += key.loads + double(timing.copyLatency) / double(c.bk);
  double keys = double(ceilDiv(ceilDiv(keysOfTile(problem, e, rowsOfMathWarpgroup), c.bk), c.splits) * c.bk);
  double parts = double(e.b * e.hkv * decode::rowTiles(c) * c.splits);
  double rounds = std::ceil(parts / double(target.multiprocessors * c.residents));
  double sums =
      double(e.b * e.hkv * decode::allRows(c) * c.splits) * double(bytesOf(ElementType::f32, problem.dv));
  double written = 2 * sums * timing.clockGhz * 1e9 / timing.memoryBytesPerSecond; // and read
  return std::max(rounds * (keys + keysOfTileEnds) * cycles, memoryTime(problem, e, target)) + written +
         keysOfJoin * key.ofBlock(2);
}

/// Why blocks that each see a part of the keys are faster than blocks with all keys of a tile of queries;
/// empty if they are not.
std::string whyFaster(const AttentionProblem &problem, const ForwardExtents &e, const Target &target) {
  ForwardConfig config{.problem = problem};
  chooseTiles(config, e, target);
  double whole = std::max(wholeKeysTime(problem, e, config.bq, target), memoryTime(problem, e, target));
  if (splitKeysTime(problem, e, tuned(problem, e, target), target) * leastGain >= whole)
    return {};
  return fmt::format("{} sequences with {} queries and {} heads are {} tiles of queries for {} "
                     "multiprocessors, each with up to {} keys",
                     e.b, e.sq, e.h, e.b * e.h * ceilDiv(e.sq, config.bq), target.multiprocessors,
                     keysOfTile(problem, e, config.bq));
}

} // namespace

std::string whyNotSplitKeys(const AttentionProblem &problem, int64_t group) {
  if (problem.hasBytes())
    return "keys are split for f16 and bf16 only";
  if (problem.drops())
    return "weights are dropped in the plain form only";
  if (problem.lengths != Lengths::uniform)
    return "keys are split only where all sequences have the same lengths";
  return conflictOf(untuned(problem, 1, group));
}

DecodeConfig splitKeys(const AttentionProblem &problem, const ForwardExtents &extents, const Target &target) {
  DecodeConfig config = tuned(problem, extents, target);
  config.queries = 1; // the program takes any number
  return config;
}

ForwardChoice chooseForm(const AttentionProblem &problem, const ForwardExtents &extents,
                         const std::string &whyNotExplicit, const Target &target) {
  if (!whyNotExplicit.empty())
    return {AttentionForm::plain, whyNotExplicit};
  if (extents.h < 1 || extents.hkv < 1 || extents.sq < 1 || extents.b < 1 ||
      extents.b > mostTiles / extents.h ||
      ceilDiv(extents.sq, rowsOfMathWarpgroup) > mostTiles / (extents.b * extents.h) ||
      !whyNotSplitKeys(problem, extents.h / extents.hkv).empty())
    return {};
  std::string why = whyFaster(problem, extents, target);
  return why.empty() ? ForwardChoice{} : ForwardChoice{AttentionForm::splitKeys, why};
}

} // namespace tlc::kernels
