// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward in the plain form, and the choice of form and tiles.
#include "kernels/attention/forward/ExplicitForward.h"
#include "kernels/attention/forward/ForwardArguments.h"
#include "kernels/attention/forward/ForwardTime.h"
#include "kernels/attention/forward/TransposedValues.h"
#include "kernels/attention/problem/ColumnParts.h"
#include "kernels/ranks/RankArrival.h"
#include "kernels/ranks/RankEnd.h"
#include "kernels/roles/MathRole.h"
#include "runtime/target/BlockBudget.h"
#include "runtime/target/MmaAtoms.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace tlc::kernels {

using namespace dsl;

namespace {

void plainTile(Scope &k, const ForwardConfig &c, const ForwardArguments &p, const QueryTile &tile) {
  int64_t depth = paddedDepth(c.problem);
  if (p.inputs.awaitsKeys()) // copies of the loop below run ahead of it
    k.loop(tile.keys.count, [&](Index i) { p.awaitKeys(tile, i); });
  Shared q = k.shared("q", c.problem.dtype, {c.bq, depth});
  copy(p.queries(tile), q);
  const Dropout dropout(k, p.inputs);
  const int64_t dv = paddedValues(c.problem);
  for (const ColumnRange &columns : c.hasWholeRows ? std::vector<ColumnRange>{{0, dv}} : columnParts(dv)) {
    Shared kt = k.shared("k", c.problem.dtype, {c.bk, depth}),
           v = k.shared("v", c.problem.dtype, {c.bk, columns.count});
    Shared weights, values;
    if (c.hasWeightsInShared())
      weights = k.shared("p", c.problem.dtype, {c.bq, c.bk});
    if (c.problem.hasBytes()) // whose products take factors that are contiguous along the sum
      values = k.shared("vt", c.problem.dtype, {columns.count, c.bk});
    Scores::Scale scale = p.scores.scale();
    p.scores.setScale(scale, tile.sequence, tile.kvHead);
    LazySoftmax softmax = p.softmax(scale);
    Fragment o = k.fragment(f32, {c.bq, columns.count}).named("o");
    auto step = [&](const Index &i) {
      Index j = tile.keys.at(i);
      copy(p.keys(tile, j), kt);
      copy(p.values(tile, j, columns), v);
      Fragment s = k.fragment(f32, {c.bq, c.bk}).named("s");
      gemm(q, kt.t(), s);
      Fragment scores = p.scores.of(s, scale);
      k.when(i < tile.keys.partial, [&] { scores = p.masked(tile, scores, j); });
      k.when(i == 0, [&] { softmax.start(scores); });
      LazySoftmax::Step next = softmax.add(scores);
      softmax.settle(next, o);
      if (c.problem.drops())
        next.weights =
            where(dropout.stays(tile.sequence, {tile.row, j * c.bk}, {c.bq, c.bk}), next.weights, 0);
      if (!c.hasWeightsInShared())
        return gemm(next.weights, v, o);
      copy(next.weights, weights);
      if (!c.problem.hasBytes())
        return gemm(weights, v, o);
      Fragment share = k.fragment(f32, {c.bq, columns.count});
      copy(v.t(), values);
      gemm(weights, values.t(), share);
      o = o + share;
    };
    if (c.problem.hasBytes())
      k.loop(tile.keys.count, step);
    else
      k.pipelined(tile.keys.count, {.stages = c.stages}, step);
    FragmentValue rows = p.finish(tile, {o, softmax.sum, softmax.exponentOf(softmax.base)}, columns);
    copy(rows.to(p.outputType()), p.output(tile, columns));
  }
}

SharedBytes outputTile(const ForwardConfig &c) {
  return SharedBytes::tile(c.bq, bytesOf(c.problem.outputType(), paddedValues(c.problem)));
}

/// Rows of the instruction that multiplies queries by keys.
int64_t rowsOfProduct(const AttentionProblem &problem, const Target &target) {
  return rowsOfFastestAtom(target, problem.dtype, problem.dtype, ElementType::f32);
}

/// What a block takes that has `queryStages` tiles of Q at a time. Positions of tiles, and barriers, are part
/// of the reserve.
BlockBudget budgetOf(const ForwardConfig &c, int64_t queryStages, const Target &target) {
  int64_t elementBytes = bytesOf(c.problem.dtype, 1);
  BlockBudget block(target);
  block.reserveScratch();
  block.addBuffer(SharedBytes::tile(c.bq, paddedDepth(c.problem) * elementBytes), queryStages);
  block.addBuffer(SharedBytes::tile(c.bk, paddedDepth(c.problem) * elementBytes), c.stages);
  block.addBuffer(SharedBytes::tile(c.bk, paddedValues(c.problem) * elementBytes), c.stages);
  if (c.dataflow == Dataflow::shared)
    block.addBuffer(SharedBytes::tile(c.bq, c.bk * elementBytes));
  if (c.form == AttentionForm::explicitRoles && outputPath(c) == OutputPath::ownTile)
    block.addBuffer(outputTile(c), queryStages);
  // Where a thread has a row of the instruction's sum, O is stored by way of shared memory.
  if (c.hasWholeRows && c.bq % rowsOfProduct(c.problem, target) == 0)
    block.addBuffer(outputTile(c));
  return block;
}

void plainForward(Scope &k, const ForwardConfig &c, const ForwardArguments &p,
                  const TileScheduler &scheduler) {
  if (c.dataflow == Dataflow::tensor || c.dataflow == Dataflow::oneChain)
    k.require(Requirement::tcgen05);
  auto [block] = k.grid(p.inputs.blocksOfStep(min(scheduler.tilesAtMost(), k.multiprocessors())));
  TileScheduler::Share tiles = scheduler.shareOf(block, k.blocks());
  auto tile = [&](const Index &n) {
    plainTile(k, c, p, p.tileAt(p.inputs.sequences.fieldsOf(Axis::queries, tiles.at(n))));
  };
  // Q of the next tile is on its way while this one is computed, and O of the one before.
  Index count = p.tilesOfStep(tiles.count);
  if (c.queryStages > 1)
    k.pipelined(count, {.stages = 2}, tile);
  else
    k.loop(count, tile);
  p.inputs.endStep(block);
}

/// Takes keys away from a step until it fits; false if `least` are too many, too.
bool fit(ForwardConfig &config, int64_t least, const Target &target) {
  int64_t queryStages =
      config.form == AttentionForm::explicitRoles && hasRegistersForNextTile(config) ? 2 : 1;
  while (config.bk > least && !budgetOf(config, queryStages, target).fits())
    config.bk -= productDepth;
  return budgetOf(config, queryStages, target).fits();
}

/// Whether the sums of these products are in registers of threads.
bool hasSumsInRegisters(const AttentionProblem &problem, const Target &target) {
  const MmaAtom *atom = findFastestAtom(target, problem.dtype, problem.dtype, ElementType::f32);
  return !atom || contains(atom->accumulatorPlaces, OperandPlaces::registers);
}

/// Whether three warpgroups pay, with 192 queries of rows of up to 64: they keep the tensor cores busier, and
/// waste more where tiles are masked or sequences end.
bool hasWorkForThree(const ForwardConfig &config, int64_t queries, const Target &target) {
  constexpr int64_t rowsOfThree = 3 * rowsOfMathWarpgroup;
  if (rowsOfThree % rowsOfProduct(config.problem, target) != 0)
    return false;
  const MaskConfig &mask = config.problem.mask;
  bool isPacked = config.problem.lengths == Lengths::packed; // into one program for all lengths
  if (!mask.hidesPairs())
    return isPacked ||
           queries >= 512; // by calculation: below that, rows beyond the last one cost more than is gained
  bool isCausalAlone = !mask.windowLeft && !mask.windowRight && !mask.blockCausal;
  return isCausalAlone && !isPacked && queries >= 1536; // measured: slower at 1024, faster at 2048
}

/// Whether two tiles of the instruction's rows pay in the plain form: one is multiplied while the other is
/// computed with. Only where a block would have a single one otherwise, and multiprocessors have work.
bool hasWorkForTwoTiles(const ForwardConfig &config, const ForwardExtents &e, const Target &target) {
  const int64_t rows = rowsOfProduct(config.problem, target);
  if (rows < config.bq || config.dataflow == Dataflow::shared || config.dataflow == Dataflow::oneChain)
    return false;
  constexpr double gain = 1.8; // by the emulator's model: two tiles take 2 / gain of one's time
  auto time = [&](int64_t ofBlock) {
    double tiles = double(e.b) * double(e.h) * double(ceilDiv(e.sq, ofBlock));
    return std::ceil(tiles / double(target.multiprocessors));
  };
  return 2 * time(2 * rows) < gain * time(rows);
}

/// One warpgroup where two would have rows beyond the last query, or multiprocessors would have no tile.
void chooseWarpgroups(ForwardConfig &config, const ForwardExtents &extents, const Target &target) {
  auto time = [&](int64_t rows) { return wholeKeysTime(config.problem, extents, rows, target); };
  if (time(rowsOfMathWarpgroup) * leastGain < time(config.bq))
    config.bq = rowsOfMathWarpgroup;
}

/// Leaves out what tiles have after the last key. Where there are several, their number stays; of masks that
/// hide pairs their places stay, too: edges of tiles of queries and of keys meet.
void fitKeys(ForwardConfig &config, int64_t keys) {
  int64_t tiles = std::max<int64_t>(ceilDiv(keys, config.bk), 1);
  if (tiles == 1 || !config.problem.mask.hidesPairs())
    config.bk = std::min(config.bk, alignTo(std::max<int64_t>(ceilDiv(keys, tiles), 1), productDepth));
}

} // namespace

std::string whyNotExplicit(const AttentionProblem &problem, OutputSum sum, const GivenTiles &given) {
  if (int64_t bq = given.bq.value_or(64); bq != 64 && isSplit(paddedValues(problem)))
    return fmt::format("the columns of dv = {} take two roles that compute, and registers for no third, "
                       "which bq = {} takes",
                       problem.dv, bq);
  constexpr int64_t mostQueries = 192;
  if (given.bq.value_or(64) > mostQueries)
    return fmt::format("bq = {} takes more warpgroups than registers of a block are enough for: at most {}",
                       *given.bq, mostQueries);
  constexpr int64_t longestOfThree = 192; // rows whose sums three warpgroups have registers for
  if (given.bq.value_or(64) > 2 * rowsOfMathWarpgroup && paddedValues(problem) > longestOfThree)
    return fmt::format(
        "bq = {} takes three warpgroups, which have registers for rows of O up to dv = {}, but dv is {}",
        *given.bq, longestOfThree, problem.dv);
  if (problem.drops())
    return "dropout is computed by the plain form alone";
  if (!problem.hasBytes())
    return {};
  if (given.bk && TransposedValues::keysOfTile % *given.bk != 0)
    return fmt::format("V is transposed in tiles of {} keys, which bk = {} does not divide",
                       TransposedValues::keysOfTile, *given.bk);
  constexpr int64_t longest = 128;
  if (sum == OutputSum::perTile && problem.dv > longest)
    return fmt::format(
        "registers hold O and a tile's part of it for dv up to {}, but dv is {}; sums in the product, "
        "which keep 13 bits, need no such part",
        longest, problem.dv);
  return {};
}

bool hasRegistersForNextTile(const ForwardConfig &config) {
  return std::max(paddedDepth(config.problem), paddedValues(config.problem)) <= 128;
}

void chooseQueryStages(ForwardConfig &config, const Target &target) {
  if (config.form == AttentionForm::plain) {
    BlockBudget block = budgetOf(config, 2, target);
    if (!config.hasWholeRows)
      block.addBuffer(outputTile(config));
    config.queryStages = !config.problem.hasBytes() && block.fits() ? 2 : 1;
    return;
  }
  // A slot is free again when its O is stored. With few keys that, and loading Q, takes longer than
  // computing.
  constexpr int64_t enough = 4; // measured: 6 are no faster
  config.queryStages = hasRegistersForNextTile(config) ? 2 : 1;
  while (config.queryStages < enough && budgetOf(config, config.queryStages + 1, target).fits())
    ++config.queryStages;
}

/// All but the tiles of Q.
static void chooseTileSizes(ForwardConfig &config, const ForwardExtents &extents, const Target &target,
                            const GivenTiles &given) {
  // Accumulators of scores and of O, and weights, have to share a thread's registers; tiles share memory.
  int64_t longest = std::max(paddedDepth(config.problem), paddedValues(config.problem));
  bool isPlain = config.form == AttentionForm::plain;
  config.bq = 128;
  config.bk = 128;
  if (config.problem.hasBytes()) {
    config.bk = longest <= 128 && !isPlain ? 128 : 64; // tiles of TransposedValues, or halves
    config.stages = longest <= 128 && !isPlain ? 3 : 2;
    if (!isPlain)
      return;
  } else if (longest <= 64 && hasWorkForThree(config, extents.sq, target)) {
    config.bq = 192;
    config.bk = 96;
  } else if (isPlain && longest <= 128 && hasWorkForTwoTiles(config, extents, target)) {
    config.bq = 256;
    // By the emulator's model; two steps of more keys do not fit beside Q and what is stored.
    config.bk = longest <= 64 ? 128 : 64;
  } else if (longest > 128) {
    config.bk = longest <= 192 && !isPlain ? 96 : 64;
  }
  if (config.problem.drops())
    config.bk = std::min<int64_t>(config.bk, 64); // random bits need registers; measured
  // Of rows of so many multiplied elements the softmax takes about as long as the products.
  constexpr int64_t longestInTurn = 96;
  if (!isPlain && !config.problem.hasBytes() &&
      std::max(multipliedDepth(config.problem), multipliedValues(config.problem)) <= longestInTurn)
    config.order = ProductOrder::inTurn;
  if (!isPlain && !given.bq && config.problem.lengths != Lengths::packed)
    chooseWarpgroups(config, extents, target);
  constexpr int64_t worthwhile = 32;
  if (!isSplit(paddedValues(config.problem)) && fit(config, worthwhile, target))
    return;
  config.bq = 64;
  config.bk = 64;
  fit(config, productDepth, target);
}

void chooseTiles(ForwardConfig &config, const ForwardExtents &extents, const Target &target,
                 const GivenTiles &given) {
  // With more queries the sums of long rows take all columns of tensor memory.
  constexpr int64_t mostQueriesOfLong = tcgen05Rows / 2;
  const bool hasColumns =
      !isSplit(paddedValues(config.problem)) || given.bq.value_or(mostQueriesOfLong) <= mostQueriesOfLong;
  config.hasWholeRows = config.form == AttentionForm::plain && !config.problem.hasBytes() && hasColumns &&
                        !hasSumsInRegisters(config.problem, target);
  chooseTileSizes(config, extents, target, given);
  // Packed sequences have one program for all lengths, and V of bytes is transposed in tiles.
  if (config.problem.lengths != Lengths::packed && !config.problem.hasBytes())
    fitKeys(config, extents.sk);
  chooseQueryStages(config, target);
  if (config.form != AttentionForm::explicitRoles || config.queryStages > 1 || extents.sk < 1 ||
      extents.sk > config.bk)
    return;
  // All keys are one step: the next tile's Q is wanted more than its K and V.
  ForwardConfig other = config;
  other.stages = 1;
  chooseQueryStages(other, target);
  if (other.queryStages > 1)
    config = other;
}

Program forwardProgram(const ForwardConfig &config, const TraceOptions &options) {
  return forwardProgram(config, maskMakerOf(config.problem), options);
}

Program forwardProgram(const ForwardConfig &config, const Mask &mask, const TraceOptions &options) {
  return forwardProgram(config, [&](const MaskScope &) { return mask; }, options);
}

Program forwardProgram(const ForwardConfig &given, const MaskMaker &makeMask, const TraceOptions &options) {
  ForwardConfig config = given;
  if (config.problem.drops() || config.dataflow != Dataflow::automatic)
    config.form = AttentionForm::plain;
  std::string name = config.problem.shards       ? "attention_fwd_sharded"
                     : config.problem.hasBytes() ? "attention_fwd_fp8"
                                                 : "attention_fwd";
  TraceOptions own = options;
  if (config.problem.passesKeys())
    own.fixedDimensions["k.ranks"] = config.problem.ranks;
  return Program::trace(name, own, [&](Scope &k) {
    bool isPlain = config.form == AttentionForm::plain;
    // The explicit form loads and stores through the TMA only.
    ForwardArguments arguments(k, config, makeMask, isPlain ? TensorFacts() : TensorFacts{.alignment = 16});
    TileScheduler scheduler(k, arguments.inputs.sequences, arguments.tileSpace());
    std::optional<TransposedValues> values;
    if (config.problem.hasBytes() && !isPlain)
      values.emplace(k, config, arguments);
    const std::optional<RankHeads> &exchange = arguments.inputs.exchange;
    std::optional<RankArrival> keysRead;
    std::optional<RankEnd> end;
    if (exchange) {
      end.emplace(k);
      k.launch(name + "_gather", [&] { exchange->gather(); });
    }
    const std::optional<ShardedKeys> &shards = arguments.inputs.shards;
    const bool hasTransfer = shards && shards->hasTransfer();
    if (shards)
      keysRead.emplace(k, "keys_read");
    if (shards && !hasTransfer)
      k.launch(name + "_gather", [&] {
        shards->gather();
        keysRead->tellLast();
      });
    if (scheduler.hasLaunch())
      k.launch(name + "_order", [&] { scheduler.writeOrder(); });
    if (values)
      k.launch(name + "_values", [&] { values->write(); });
    if (hasTransfer)
      shards->transfer(name + "_gather");
    auto attend = [&](const std::string &name) {
      k.launch(name, [&] {
        isPlain ? plainForward(k, config, arguments, scheduler)
                : explicitForward(k, config, arguments, scheduler, values ? &*values : nullptr);
      });
    };
    if (const std::optional<RingKeys> &ring = arguments.inputs.ring) {
      for (int64_t step = 0; step < ring->steps(); ++step) {
        ring->fetchNext(name + "_fetch", step);
        arguments.beginStep(step);
        attend(fmt::format("{}_step_{}", name, step));
      }
      return;
    }
    attend(name);
    if (exchange) {
      k.launch(name + "_return", [&] { exchange->giveBack(); });
      // Afterwards all rows of O are there, and no rank reads this rank's inputs.
      k.launch(name + "_end", [&] { end->meet(); });
    }
    if (keysRead)
      // Afterwards no rank reads this rank's K and V, or writes what this one gathers.
      k.launch(name + "_end", [&] {
        [[maybe_unused]] auto [block] = k.grid(1);
        if (hasTransfer) // which has ended
          keysRead->tellLast();
        keysRead->wait();
      });
  });
}

} // namespace tlc::kernels
