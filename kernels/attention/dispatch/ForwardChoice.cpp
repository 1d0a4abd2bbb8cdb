// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/dispatch/ForwardChoice.h"

#include "kernels/attention/decode/DecodeTiles.h"

#include <algorithm>
#include <fmt/format.h>

namespace tlc::kernels {

namespace {

constexpr int64_t mostQueries = 16; // of a sequence; parts of keys were not compared with tiles of more
constexpr int64_t mostTiles = int64_t(1) << 20; // of queries; that many keep every device busy

/// Keys from the first to the last one that queries of a sequence see, at most.
int64_t keysSeen(const AttentionProblem &problem, const ForwardExtents &e) {
  const MaskConfig &mask = problem.mask;
  int64_t firstPlace = mask.causal == CausalAlignment::left ? 0 : e.sk - e.sq;
  int64_t begin = mask.windowLeft ? firstPlace - *mask.windowLeft : 0, end = e.sk;
  if (mask.windowRight)
    end = std::min(end, firstPlace + e.sq + *mask.windowRight);
  if (mask.causal != CausalAlignment::none)
    end = std::min(end, firstPlace + e.sq);
  return std::max<int64_t>(end - std::max<int64_t>(begin, 0), 0);
}

DecodeConfig untuned(const AttentionProblem &problem, int64_t queries, int64_t group) {
  return {.problem = problem, .queries = queries, .group = group, .arguments = DecodeArguments::forward};
}

/// Why blocks that each see a part of the keys are faster than blocks with all keys of a tile of queries;
/// empty if they are not. Times are in keys that a multiprocessor meets one after the other.
std::string whyFaster(const AttentionProblem &problem, const ForwardExtents &e, const Target &target) {
  constexpr int64_t keysOfPart = 128, keysOfJoin = 256; // that a part, and the second launch, take as long as
  constexpr double gain = 1.25;                         // that split keys must promise
  int64_t keys = keysSeen(problem, e), tiles = e.b * e.h; // of queries
  int64_t whole = ceilDiv(tiles, int64_t(target.multiprocessors)) * keys;
  DecodeConfig c = splitKeys(problem, e, target);
  int64_t parts = e.b * e.hkv * decode::rowTiles(c) * c.splits;
  int64_t rounds = ceilDiv(parts, target.multiprocessors * c.residents);
  int64_t split =
      c.residents * rounds * (ceilDiv(ceilDiv(keys, c.bk), c.splits) * c.bk + keysOfPart) + keysOfJoin;
  if (double(split) * gain >= double(whole))
    return {};
  return fmt::format("{} sequences with {} queries and {} heads are {} tiles of queries for {} "
                     "multiprocessors, each with up to {} keys",
                     e.b, e.sq, e.h, tiles, target.multiprocessors, keys);
}

} // namespace

std::string whyNotSplitKeys(const AttentionProblem &problem, int64_t group) {
  if (problem.hasBytes())
    return "keys are split for f16 and bf16 only";
  if (problem.lengths != Lengths::uniform)
    return "keys are split only where all sequences have the same lengths";
  return conflictOf(untuned(problem, 1, group));
}

DecodeConfig splitKeys(const AttentionProblem &problem, const ForwardExtents &extents, const Target &target) {
  DecodeConfig config =
      untuned(problem, std::clamp<int64_t>(extents.sq, 1, mostQueries), extents.h / extents.hkv);
  tuneDecode(config, extents.b, extents.hkv, keysSeen(problem, extents), target);
  return config;
}

ForwardChoice chooseForm(const AttentionProblem &problem, const ForwardExtents &extents,
                         const std::string &whyNotExplicit, const Target &target) {
  if (!whyNotExplicit.empty())
    return {AttentionForm::plain, whyNotExplicit};
  if (extents.h < 1 || extents.hkv < 1 || extents.sq < 1 || extents.sq > mostQueries ||
      extents.b > mostTiles / extents.h || !whyNotSplitKeys(problem, extents.h / extents.hkv).empty())
    return {};
  std::string why = whyFaster(problem, extents, target);
  return why.empty() ? ForwardChoice{} : ForwardChoice{AttentionForm::splitKeys, why};
}

} // namespace tlc::kernels
