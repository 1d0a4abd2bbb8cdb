// SPDX-License-Identifier: Apache-2.0
/// \file
/// The choice of tiles, and what fits into a block.
#include "kernels/attention/backward/Backward.h"
#include "kernels/roles/MathRole.h"
#include "runtime/support/Math.h"
#include "runtime/target/BlockBudget.h"
#include "runtime/target/MmaAtoms.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <vector>

namespace tlc::kernels {

namespace {
bool isExplicit(const BackwardConfig &c) { return c.form == AttentionForm::explicitRoles; }

bool fits(const BackwardConfig &c, const Target &target) {
  int64_t bytes = bytesOf(c.problem.dtype, 1), d = paddedRow(c.problem.d), dv = paddedRow(c.problem.dv);
  BlockBudget block(target);
  auto add = [&](int64_t rows, int64_t length, int64_t slots) {
    block.addBuffer(SharedBytes::tile(rows, length * bytes), slots);
  };
  add(c.bk, d, c.slots.keys);
  add(c.bk, dv, c.slots.keys);
  add(c.bq, d, c.stages);
  add(c.bq, dv, c.slots.outputs);
  add(c.bk, c.bq, c.slots.products);
  if (hasNarrowTiles(c)) {
    add(c.bk, c.bq, 1); // weights
    block.addRing(1);
  }
  // With tiles of sums every byte counts. The other choices are those that have been measured.
  bool addsByTma = c.dq == QuerySum::tma;
  int64_t alignment = addsByTma ? int64_t(TmaFacts().sharedAlignment) : swizzleAlignment;
  block.addBuffer({.bytes = c.bq * int64_t(sizeof(float)), .alignment = alignment}, 2 * c.stages);
  if (addsByTma)
    block.addBuffer({.bytes = int64_t(sizeof(int32_t)), .alignment = alignment}, c.stages); // tiles' numbers
  for (int64_t slots : {2 * c.slots.keys, c.stages, c.slots.outputs, c.slots.products, c.stages})
    block.addRing(slots);
  if (takesTiles(c)) {
    block.addBuffer({.bytes = int64_t(sizeof(int32_t))}, takenTileSlots);
    block.addBuffer({.bytes = int64_t(sizeof(int32_t))}); // what was taken
    block.addRing(takenTileSlots);
  }
  if (c.dq == QuerySum::ordered) {
    block.addBuffer({.bytes = int64_t(sizeof(int32_t))}); // the block's number
    for (int64_t slots : {2, 2})
      block.addRing(slots);
  }
  if (addsByTma) {
    auto [columns, slots] = hasNarrowTiles(c) ? std::pair(narrowQuerySumColumns, narrowQuerySumSlots)
                                              : std::pair(d, querySumSlots);
    block.addBuffer(SharedBytes::tile(c.bq, columns * int64_t(sizeof(float))), slots);
    block.addRing(slots);
  }
  return block.fits();
}
} // namespace

int64_t paddedRow(int64_t length) {
  constexpr int64_t panel = panelColumns(16);
  return alignTo(length, panel);
}

std::vector<ColumnRange> gradientParts(int64_t paddedRow) {
  constexpr int64_t shared = 2 * panelColumns(16); // by two warpgroups
  int64_t rest = paddedRow % shared, whole = paddedRow - rest;
  if (rest == 0 || whole == 0)
    return {{0, paddedRow}};
  return {{0, whole}, {whole, rest}};
}

bool hasNarrowTiles(const BackwardConfig &c) { return c.bk < 2 * rowsOfMathWarpgroup; }

QueryTile queryTile(const BackwardConfig &c) {
  int64_t d = paddedRow(c.problem.d), dv = paddedRow(c.problem.dv);
  if (std::max(d, dv) <= 128)
    return {c.bk, c.bq};
  // Shared memory has rows of Q and dO, and slots of K and V. H100, d = 256: 128 queries and 32 keys are 0.85
  // times as fast as 64 and 64, 192/128: 128 and 64 1.05 times.
  constexpr int64_t shortRows = 320;
  return {d + dv <= shortRows ? 2 * rowsOfMathWarpgroup : rowsOfMathWarpgroup, rowsOfMathWarpgroup};
}

std::string conflictOfTiles(const BackwardConfig &c) {
  // Of two warpgroups.
  constexpr int64_t mostSums = 128 * 128, mostScores = 128 * 64;
  int64_t d = paddedRow(c.problem.d), dv = paddedRow(c.problem.dv), length = std::max(d, dv);
  if (c.bk * length > mostSums)
    return fmt::format("expected bk = {} because gradients of rows of {} take the registers of two "
                       "warpgroups with {} keys, but got {}",
                       mostSums / length, length, mostSums / length, c.bk);
  if (isExplicit(c) && hasNarrowTiles(c) && c.bq > rowsOfMathWarpgroup)
    return fmt::format(
        "expected bq = {} because with bk = {} the role that has dQ has registers for no more, "
        "but got {}",
        rowsOfMathWarpgroup, c.bk, c.bq);
  if (isExplicit(c) && c.bq * c.bk > mostScores && length > 64)
    return fmt::format("expected bq = {} because gradients of rows of {} leave registers for no more than "
                       "{} scores, but got {}",
                       mostScores / c.bk, length, mostScores, c.bq);
  return {};
}

/// Of sums that last as long as a step of a ring, or longer.
static std::string conflictOfSteps(const BackwardConfig &config) {
  if (config.dq == QuerySum::ownLaunch)
    return "expected dq = atomic, ordered, tma or auto with exchange = ring because dQ is summed up over its "
           "steps, but got own_launch";
  if (isUnordered(config.dkv))
    return "expected dkv = loop, split or auto with exchange = ring because each of its steps sums up the "
           "gradients of other keys, but got atomic";
  return {};
}

std::string conflictOfSums(const BackwardConfig &config) {
  if (config.problem.passesKeys())
    if (std::string conflict = conflictOfSteps(config); !conflict.empty())
      return conflict;
  constexpr int64_t longest = 128;
  auto [d, dv] = std::pair(config.problem.d, config.problem.dv);
  bool hasRoom = isExplicit(config) && hasNarrowTiles(config); // for 64 columns at a time
  if (config.dq != QuerySum::tma || hasRoom || std::max(d, dv) <= longest)
    return {};
  return fmt::format("expected d and dv of at most {} with dq = tma because a block has no shared memory for "
                     "tiles of sums in f32 beside tiles of longer rows, but got {} and {}",
                     longest, d, dv);
}

void chooseTiles(BackwardConfig &config) {
  int64_t longest = std::max(paddedRow(config.problem.d), paddedRow(config.problem.dv));
  config.bk = longest <= 128 ? 128 : 64;
  bool hasRegisters = longest <= 64;
  config.bq = isExplicit(config) && hasRegisters ? 128 : 64;
  config.stages = isExplicit(config) ? 3 : 2;
}

void fitTiles(BackwardConfig &config, const Target &target) {
  int64_t bytes = bytesOf(config.problem.dtype, 1);
  int64_t d = paddedRow(config.problem.d), dv = paddedRow(config.problem.dv);
  BlockBudget block(target); // for one stage
  for (auto [rows, length] :
       {std::pair(config.bk, d), {config.bk, dv}, {config.bq, d}, {config.bq, dv}, {config.bk, config.bq}})
    block.addBuffer(SharedBytes::tile(rows, length * bytes));
  if (!isExplicit(config) && !block.fits())
    config.bk = 64;
}

void chooseSlots(BackwardConfig &config, const BackwardExtents &extents, const Target &target) {
  if (!isExplicit(config))
    return;
  // Where a tile of keys visits few queries, the next one's copies should run under it.
  constexpr int64_t few = 2048;
  int64_t queries = extents.queries * (config.dkv == KeySum::loop ? extents.heads / extents.kvHeads : 1);
  auto tryTo = [&](int64_t keySlots, int64_t stages, int64_t outputs, int64_t products) {
    config.slots = {keySlots, outputs, products};
    config.stages = stages;
    return fits(config, target);
  };
  int64_t most = std::max<int64_t>(config.stages, 2);
  for (int64_t keys = queries <= few ? 2 : 1; keys > 0; --keys) {
    for (int64_t stages = most; stages > 1; --stages)
      for (int64_t outputs : {stages, stages - 1})
        for (int64_t products : {2, 1})
          if (tryTo(keys, stages, outputs, products))
            return;
    // Blocks that add to dQ are 1.09 times as fast with the fewest tiles then (H100, 16 x 1024, d = 256).
    if (addsQuerySums(config.dq))
      break;
  }
  tryTo(1, 2, 1, 1);
}

void chooseOverlap(BackwardConfig &config, std::optional<ProductOverlap> given, const Target &target) {
  if (isExplicit(config))
    return;
  // The compiler's schedule leaves sums in flight when a step ends, for which 128 keys have no registers with
  // longer rows: ptxas then serialises all products.
  constexpr int64_t shortRow = 64;
  const ElementType factor = config.problem.dtype;
  bool isByHand = hasSumsInFlight(target, factor, factor, ElementType::f32) && !config.problem.drops() &&
                  !hasNarrowTiles(config) && paddedRow(config.problem.d) > shortRow;
  config.overlap = given.value_or(isByHand ? ProductOverlap::byHand : ProductOverlap::scheduled);
}

void chooseScheduleOfTiles(BackwardConfig &config, const ScheduleOptions &options,
                           const BackwardExtents &extents, const Target &target) {
  chooseSums(config, options, extents, target);
  chooseDealing(config, options.dealing, extents);
  chooseUnseenKeys(config, options.unseen, extents);
  chooseSlots(config, extents, target);
  chooseOverlap(config, options.overlap, target);
}

void chooseSchedule(BackwardConfig &config, const ScheduleOptions &options, const BackwardExtents &extents,
                    const Target &target) {
  chooseTiles(config);
  fitTiles(config, target);
  chooseScheduleOfTiles(config, options, extents, target);
}

} // namespace tlc::kernels
