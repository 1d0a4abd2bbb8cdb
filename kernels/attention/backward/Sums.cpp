// SPDX-License-Identifier: Apache-2.0
/// \file
/// The choice of how sums over blocks are made, and of how blocks come to tiles.
#include "kernels/attention/backward/Backward.h"
#include "runtime/support/Math.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace tlc::kernels {

bool isUnordered(QuerySum dq) { return dq == QuerySum::atomic || dq == QuerySum::tma; }

/// The share of the pairs of a query and a key that a mask which is only causal shows.
static double shareSeen(CausalAlignment causal, const BackwardExtents &e) {
  if (causal == CausalAlignment::none || e.queries == 0 || e.keys == 0)
    return 1;
  auto [own, other] = std::pair(double(e.queries * e.ranks), double(e.keys)); // of all ranks on average
  if (causal == CausalAlignment::left)
    std::swap(own, other);
  return own <= other ? 1 - own / (2 * other) : other / (2 * own);
}

/// Bytes of the rows of queries, and of their sums, that are in use at the same time. Blocks that walk over
/// the heads of a group fall out of step, so that all of these are.
static double bytesVisited(const BackwardConfig &c, const BackwardExtents &e, const Target &target) {
  double tiles = std::max(double(ceilDiv(e.keys, c.bk)), 1.0),
         heads = double(c.dkv == KeySum::loop ? e.kvHeads : e.heads) * double(e.sequences),
         group = c.dkv == KeySum::loop ? double(e.heads) / double(std::max<int64_t>(e.kvHeads, 1)) : 1,
         row = double(bytesOf(c.problem.dtype, c.problem.d + c.problem.dv) +
                      bytesOf(ElementType::f32, c.problem.d));
  return std::min(heads, target.multiprocessors / tiles) * group * double(e.queries) * row;
}

/// The fastest way for sums that a launch over keys adds up, for sums over heads that are chosen already.
/// Warps that compute wait for their atomics, but not for the TMA. With tiles of 64 keys a warpgroup has
/// nothing else to do, and the tiles of sums take shared memory from dO: H100, 2 x 8192, d = 256: 0.98 times
/// as fast, but 1.19 times where L2 does not hold the sums.
static QuerySum fastestAddition(const BackwardConfig &c, const BackwardExtents &e, const Target &target) {
  BackwardConfig byTma = c;
  byTma.dq = QuerySum::tma;
  if (c.form != AttentionForm::explicitRoles || !conflictOfSums(byTma).empty())
    return QuerySum::atomic;
  bool gains = !hasNarrowTiles(c) || bytesVisited(c, e, target) > double(target.l2Bytes);
  return gains ? QuerySum::tma : QuerySum::atomic;
}

/// Whether the extents of such a problem are known to tell which program is the fastest.
static bool isMeasured(const BackwardConfig &c) {
  const MaskConfig &mask = c.problem.mask;
  bool hasOtherMask = mask.windowLeft || mask.windowRight || mask.blockCausal;
  bool hasEqualRows = paddedRow(c.problem.d) == paddedRow(c.problem.dv);
  return c.form == AttentionForm::explicitRoles && (hasNarrowTiles(c) || hasEqualRows) &&
         c.problem.lengths == Lengths::uniform && !hasOtherMask;
}

/// A launch of their own makes two products of five again, but leaves out that sums in f32 are cleared,
/// loaded, stored and rounded. Where queries see few keys that takes longer than the products; so do the
/// additions of tiles of 64 keys, of which there are twice as many for as many products (H100: 1.02 to 1.8
/// times as fast).
static bool suitsOwnLaunch(const BackwardConfig &c, const BackwardExtents &e, const Target &target) {
  constexpr double fewKeys =
      640; // H100: 512 are 1.14 times as fast with d = 64 and 128, 1024 0.92 times with 128
  double tiles = double(ceilDiv(e.queries, queryTile(c).queries)) * double(e.heads) * double(e.sequences);
  return isMeasured(c) && tiles >= 2 * double(target.multiprocessors) &&
         (hasNarrowTiles(c) || double(e.keys) * shareSeen(c.problem.mask.causal, e) <= fewKeys);
}

static QuerySum fastestQuerySum(const BackwardConfig &c, const BackwardExtents &e, const Target &target) {
  bool mayHaveOwnLaunch = !c.problem.passesKeys();
  return mayHaveOwnLaunch && suitsOwnLaunch(c, e, target) ? QuerySum::ownLaunch
                                                          : fastestAddition(c, e, target);
}

/// Steps of the busiest multiprocessor, where tiles of keys take up to `most` each, and `around` further
/// ones.
static double busiest(const BackwardConfig &c, double share, double tiles, double most, double around,
                      const Target &target) {
  double rounds = std::ceil(tiles / target.multiprocessors);
  const MaskConfig &mask = c.problem.mask;
  bool isCausalAlone = mask.causal != CausalAlignment::none && !mask.windowLeft && !mask.windowRight;
  if (!isCausalAlone)
    return rounds * (most + around);
  // Tiles that visit most come first: in several rounds a multiprocessor has the mean, in one the most.
  double mean = tiles * most * share / target.multiprocessors;
  return std::min(std::max(mean, most), rounds * most) + rounds * around;
}

/// `loop` needs the fewest bytes; `split` fills multiprocessors that it leaves idle, and divides what the
/// busiest one has.
static KeySum fastestKeySum(const BackwardConfig &c, const BackwardExtents &all, const Target &target) {
  // What a block does before and after a tile's steps, and what its part of the sum takes later.
  constexpr double ofPart = 4;
  BackwardExtents e = all;
  if (c.problem.mask.causal == CausalAlignment::left)
    e.keys = std::min(e.keys, e.queries * e.ranks); // no query sees the others
  double group = double(e.heads) / double(std::max<int64_t>(e.kvHeads, 1)),
         tiles = double(ceilDiv(e.keys, c.bk)) * double(e.kvHeads) * double(e.sequences),
         steps = double(ceilDiv(e.queries, c.bq)), share = shareSeen(c.problem.mask.causal, e);
  return busiest(c, share, tiles * group, steps, ofPart, target) <
                 busiest(c, share, tiles, group * steps, 0, target)
             ? KeySum::split
             : KeySum::loop;
}

/// Whether it is faster to add to dK and dV for each head. Slices for each head, the other way to divide a
/// group, take more bytes (H100, d = 128: 1 x 2048, causal, 32 heads on 8: 1.06 times as fast, 3 x 384, 48 on
/// 3: 1.24 times). Blocks that walk over the heads of a group load rows again that L2 does not hold any more
/// (H100, causal, 1 x 8192: 1.32 times as fast with 64 heads on 8 and d = 128, 138 MB; 0.995 and 0.94 times
/// with 32 on 8, and with 64 on 8 and d = 64, 69 MB each).
static bool suitsAddingKeys(const BackwardConfig &c, const BackwardExtents &e, const Target &target) {
  if (!isMeasured(c) || hasNarrowTiles(c))
    return false;
  if (c.dkv == KeySum::split)
    return true;
  return addsQuerySums(c.dq) && c.problem.mask.causal != CausalAlignment::none &&
         bytesVisited(c, e, target) > 2 * double(target.l2Bytes);
}

void chooseSums(BackwardConfig &config, const ScheduleOptions &options, const BackwardExtents &extents,
                const Target &target) {
  config.dkv = options.dkv ? *options.dkv : fastestKeySum(config, extents, target);
  const QuerySum sameBits = config.problem.passesKeys() ? QuerySum::ordered : QuerySum::ownLaunch;
  config.dq = options.dq                ? *options.dq
              : options.isDeterministic ? sameBits
                                        : fastestQuerySum(config, extents, target);
  if (!options.dkv && !options.isDeterministic && !config.problem.passesKeys() &&
      suitsAddingKeys(config, extents, target))
    config.dkv = KeySum::atomic;
}

/// Of heads of Q that share keys.
static bool suitsTaking(const BackwardConfig &c, const BackwardExtents &e) {
  if (c.dkv != KeySum::loop)
    return c.dkv == KeySum::atomic && isMeasured(c) && !hasNarrowTiles(c);
  if (c.problem.lengths == Lengths::packed)
    return c.problem.mask.hidesPairs(); // H100, causal: 1.25 times as fast
  // Queries that a tile of keys visits. H200: from there on 1.03 times as fast; causal ones gained in one run
  // and lost in the next.
  constexpr double many = 16384;
  double visited = double(e.queries) * double(e.heads) / double(e.kvHeads);
  return isMeasured(c) && !hasNarrowTiles(c) && c.problem.mask.causal == CausalAlignment::none &&
         visited >= many;
}

void chooseDealing(BackwardConfig &config, std::optional<TileDealing> given, const BackwardExtents &extents) {
  bool mayTake = config.form == AttentionForm::explicitRoles && config.dq != QuerySum::ordered;
  bool sharesKeys = extents.heads > extents.kvHeads;
  bool takes = mayTake && sharesKeys && suitsTaking(config, extents);
  config.dealing = given.value_or(takes ? TileDealing::taken : TileDealing::fixed);
}

std::string conflictOfUnseenKeys(const BackwardConfig &c) {
  if (c.unseen == UnseenKeys::loop)
    return {};
  const char *why = c.form != AttentionForm::explicitRoles ? "form = plain computes them like others"
                    : c.dkv != KeySum::loop                ? "only dkv = loop writes dK and dV tile by tile"
                    : c.dq == QuerySum::ordered            ? "dq = ordered counts all tiles"
                    : c.problem.lengths == Lengths::packed ? "packed sequences have tiles of their own"
                    : c.problem.shards && !c.problem.exchangesHeads() ? "ranks share the keys"
                                                                      : nullptr;
  return why ? fmt::format("expected unseen = loop or auto because {}, but got own_launch", why)
             : std::string();
}

/// A causal mask from the left hides the keys after the last query. Of other masks it is not counted.
void chooseUnseenKeys(BackwardConfig &config, std::optional<UnseenKeys> given, const BackwardExtents &e) {
  bool hasUnseen = config.problem.mask.causal == CausalAlignment::left && e.keys >= e.queries + 2 * config.bk;
  config.unseen = given.value_or(hasUnseen ? UnseenKeys::ownLaunch : UnseenKeys::loop);
  if (!conflictOfUnseenKeys(config).empty()) // what is given has none
    config.unseen = UnseenKeys::loop;
}

} // namespace tlc::kernels
