// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward in the plain form, and the choice of form and tiles.
#include "kernels/attention/forward/ExplicitForward.h"
#include "kernels/attention/forward/ForwardProblem.h"
#include "kernels/attention/forward/TransposedValues.h"
#include "kernels/attention/problem/Columns.h"
#include "kernels/attention/schedule/BlockTiles.h"
#include "runtime/target/BlockBudget.h"

#include <algorithm>
#include <optional>

namespace tlc::kernels {

using namespace dsl;

namespace {

void plainTile(Scope &k, const ForwardConfig &c, const ForwardProblem &p, const ForwardTile &tile) {
  Shared q = k.shared("q", c.dtype, {c.bq, c.d});
  copy(p.queries(tile), q);
  for (const Columns &columns : columnParts(c.dv)) {
    Shared kt = k.shared("k", c.dtype, {c.bk, c.d}), v = k.shared("v", c.dtype, {c.bk, columns.count});
    // Products of bytes take factors that are contiguous along the sum.
    Shared weights, values;
    if (c.hasBytes()) {
      weights = k.shared("p", c.dtype, {c.bq, c.bk});
      values = k.shared("vt", c.dtype, {columns.count, c.bk});
    }
    ForwardProblem::Scale scale = p.scale();
    p.setScale(scale, tile);
    LazySoftmax softmax = p.softmax(scale);
    Fragment o = k.fragment(f32, {c.bq, columns.count}).named("o");
    auto step = [&](const Index &i) {
      Index j = tile.keys.at(i);
      copy(p.keys(tile, j), kt);
      copy(p.values(tile, j, columns), v);
      Fragment s = k.fragment(f32, {c.bq, c.bk}).named("s");
      gemm(q, kt.t(), s);
      Fragment scores = p.scores(s, scale);
      k.when(i < tile.keys.edges, [&] { scores = p.masked(tile, scores, j); });
      k.when(i == 0, [&] { softmax.start(scores); });
      LazySoftmax::Step next = softmax.add(scores);
      softmax.settle(next, o);
      if (!c.hasBytes())
        return gemm(next.weights, v, o);
      Fragment share = k.fragment(f32, {c.bq, columns.count});
      copy(next.weights, weights);
      copy(v.t(), values);
      gemm(weights, values.t(), share);
      o = o + share;
    };
    if (c.hasBytes())
      k.loop(tile.keys.count, step);
    else
      k.pipelined(tile.keys.count, {.stages = c.stages}, step);
    auto [rows, logSum] = p.finish(tile, o, softmax.sum, softmax.exponentOf(softmax.base));
    if (columns.first == 0)
      copy(logSum, p.logSums(tile));
    copy(rows.to(c.outputType()), p.output(tile, columns));
  }
}

SharedBytes outputTile(const ForwardConfig &c) {
  return SharedBytes::tile(c.bq, c.dv * sizeInBytes(c.outputType()));
}

/// What a block takes that has `tileSlots` tiles of Q at a time. Positions of tiles, and barriers, are part
/// of the reserve.
BlockBudget budgetOf(const ForwardConfig &c, int64_t tileSlots, const Target &target) {
  int64_t elementBytes = sizeInBytes(c.dtype);
  BlockBudget block(target);
  block.reserveScratch();
  block.addBuffer(SharedBytes::tile(c.bq, c.d * elementBytes), tileSlots);
  block.addBuffer(SharedBytes::tile(c.bk, c.d * elementBytes), c.stages);
  block.addBuffer(SharedBytes::tile(c.bk, c.dv * elementBytes), c.stages);
  if (c.form == ForwardForm::explicitRoles && wayOut(c) == WayOut::ownTile)
    block.addBuffer(outputTile(c), tileSlots);
  return block;
}

void plainForward(Scope &k, const ForwardConfig &c, const ForwardProblem &p, const PackedOrder *packed) {
  auto [block] = k.grid(min(p.tiles(), k.multiprocessors()));
  BlockTiles tiles(c, p, packed, block, k.blocks());
  auto tile = [&](const Index &n) { plainTile(k, c, p, p.tileAt(tiles.at(n))); };
  // Q of the next tile is on its way while this one is computed, and O of the one before.
  if (c.overlap == TileOverlap::nextTile)
    k.pipelined(tiles.count, {.stages = 2}, tile);
  else
    k.loop(tiles.count, tile);
}

/// Takes keys away from a step until it fits; false if `least` are too many, too.
bool fit(ForwardConfig &config, int64_t least, const Target &target) {
  bool isExplicit = config.form == ForwardForm::explicitRoles;
  int64_t tileSlots = isExplicit && config.overlap == TileOverlap::nextTile ? 2 : 1;
  while (config.bk > least && !budgetOf(config, tileSlots, target).fits())
    config.bk -= productDepth;
  return budgetOf(config, tileSlots, target).fits();
}

/// Whether three warpgroups pay, with 192 queries of rows of up to 64: they keep the tensor cores busier, and
/// waste more where tiles are masked or sequences end.
bool hasWorkForThree(const ForwardConfig &config, int64_t queries) {
  const MaskConfig &mask = config.mask;
  bool isPacked = config.lengths == Lengths::packed; // into one program for all lengths
  if (!mask.hidesPairs())
    return isPacked || queries >= 512; // by calculation: below, rows behind the last one are more than gained
  bool isCausalAlone = !mask.windowLeft && !mask.windowRight && !mask.blockCausal;
  return isCausalAlone && !isPacked && queries >= 1536; // measured: slower at 1024, faster at 2048
}

} // namespace

void chooseOverlap(ForwardConfig &config, const Target &target) {
  bool hasRoom = std::max(config.d, config.dv) <= 128;
  if (config.form == ForwardForm::plain) {
    BlockBudget block = budgetOf(config, 2, target);
    block.addBuffer(outputTile(config));
    hasRoom = !config.hasBytes() && block.fits();
  }
  config.overlap = hasRoom ? TileOverlap::nextTile : TileOverlap::none;
}

/// All but the overlap of the plain form.
static void chooseTileSizes(ForwardConfig &config, int64_t queries, const Target &target) {
  // Accumulators of scores and of O, and weights, have to share a thread's registers; tiles share memory.
  int64_t longest = std::max(config.d, config.dv);
  bool isPlain = config.form == ForwardForm::plain;
  config.bq = 128;
  config.bk = 128;
  chooseOverlap(config, target); // of the explicit form it follows from the lengths of rows
  if (config.hasBytes()) {
    config.bk = longest <= 128 && !isPlain ? 128 : 64; // tiles of TransposedValues, or halves
    config.stages = longest <= 128 && !isPlain ? 3 : 2;
    if (!isPlain)
      return;
  } else if (longest <= 64) {
    // The softmax takes as long as the products.
    if (!isPlain)
      config.order = ProductOrder::inTurn;
    bool isForWgmma = config.d % productDepth == 0; // else products take more registers
    if (isForWgmma && hasWorkForThree(config, queries)) {
      config.bq = 192;
      config.bk = 96;
    }
  } else if (longest > 128) {
    config.bk = longest <= 192 && !isPlain ? 96 : 64;
  }
  constexpr int64_t worthwhile = 32;
  if (!isSplit(config.dv) && fit(config, worthwhile, target))
    return;
  config.bq = 64;
  config.bk = 64;
  fit(config, productDepth, target);
}

void chooseTiles(ForwardConfig &config, int64_t queries, const Target &target) {
  chooseTileSizes(config, queries, target);
  chooseOverlap(config, target);
}

Program forwardProgram(const ForwardConfig &config, const TraceOptions &options) {
  return forwardProgram(config, maskOf(config.mask), options);
}

Program forwardProgram(const ForwardConfig &config, const Mask &mask, const TraceOptions &options) {
  return forwardProgram(config, [&](const MaskScope &) { return mask; }, options);
}

Program forwardProgram(const ForwardConfig &config, const MaskMaker &makeMask, const TraceOptions &options) {
  std::string name = config.hasBytes() ? "attention_fwd_fp8" : "attention_fwd";
  return Program::trace(name, options, [&](Scope &k) {
    bool isPlain = config.form == ForwardForm::plain;
    // The explicit form loads and stores through the TMA only.
    ForwardProblem problem(k, config, makeMask, isPlain ? TensorFacts() : TensorFacts{.alignment = 16});
    std::optional<PackedOrder> order;
    if (config.lengths == Lengths::packed)
      order.emplace(k, config, problem, problem.rowOrder());
    std::optional<TransposedValues> values;
    if (config.hasBytes() && !isPlain)
      values.emplace(k, config, problem);
    if (order)
      k.launch(name + "_order", [&] { order->write(); });
    if (values)
      k.launch(name + "_values", [&] { values->write(); });
    k.launch(name, [&] {
      const PackedOrder *tiles = order ? &*order : nullptr;
      isPlain ? plainForward(k, config, problem, tiles)
              : explicitForward(k, config, problem, tiles, values ? &*values : nullptr);
    });
  });
}

} // namespace tlc::kernels
