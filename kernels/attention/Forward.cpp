// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward in the plain form, and the choice of form and tiles.
#include "kernels/attention/ExplicitForward.h"
#include "kernels/attention/ForwardProblem.h"
#include "kernels/attention/PackedOrder.h"
#include "runtime/target/Target.h"

#include <algorithm>

namespace tlc::kernels {

using namespace dsl;

namespace {

ForwardTile plainTile(Scope &k, const ForwardConfig &c, const ForwardProblem &p, const PackedOrder *order) {
  if (order) {
    auto [number] = k.grid(p.tiles());
    return p.tileAt(order->at(number));
  }
  auto [line, head, batch] = k.grid(p.rowTiles(), p.heads, p.batches);
  return p.tileAt(p.positionOf(line * c.bq, head, batch));
}

void plainForward(Scope &k, const ForwardConfig &c, const ForwardProblem &p, const PackedOrder *order) {
  ForwardTile tile = plainTile(k, c, p, order);
  Shared q = k.shared("q", c.dtype, {c.bq, c.d}), kt = k.shared("k", c.dtype, {c.bk, c.d}),
         v = k.shared("v", c.dtype, {c.bk, c.dv});
  LazySoftmax softmax = p.softmax();
  Fragment o = k.fragment(f32, {c.bq, c.dv}).named("o");
  copy(p.queries(tile), q);
  k.pipelined(tile.keys.count, {.stages = c.stages}, [&](Index i) {
    Index j = tile.keys.at(i);
    copy(p.keys(tile, j), kt);
    copy(p.values(tile, j), v);
    Fragment s = k.fragment(f32, {c.bq, c.bk}).named("s");
    gemm(q, kt.t(), s);
    LazySoftmax::Step step = softmax.add(p.masked(tile, p.scores(s), j));
    softmax.settle(step, o);
    gemm(step.weights, v, o);
  });
  auto [rows, logSum] = p.finish(tile, o, softmax.sum, softmax.base);
  copy(rows.to(c.dtype), p.output(tile));
  copy(logSum, p.logSums(tile));
}

bool isMasked(const MaskConfig &mask) {
  return mask.causal != CausalAlignment::none || mask.windowLeft || mask.windowRight || mask.blockCausal;
}

constexpr int64_t keyStep = 16;

/// About what a block of the explicit form takes.
int64_t explicitSharedBytes(const ForwardConfig &c) {
  constexpr int64_t barriersAndPositions = 1024;
  int64_t tileSlots = c.overlap == TileOverlap::nextTile ? 2 : 1;
  int64_t rows = c.d == c.dv ? c.d : c.d + c.dv; // a tile of O leaves through that of Q where it fits
  int64_t elements = tileSlots * c.bq * rows + c.stages * c.bk * (c.d + c.dv);
  return elements * sizeInBytes(c.dtype) + barriersAndPositions;
}

} // namespace

void chooseTiles(ForwardConfig &config) {
  // Accumulators of scores and of O, and weights, have to share a thread's registers; tiles share memory.
  int64_t longest = std::max(config.d, config.dv);
  config.bq = 128;
  config.bk = 128;
  config.overlap = TileOverlap::nextTile;
  if (config.form == ForwardForm::plain) {
    config.bk = 64;
  } else if (longest <= 64) {
    // Three warpgroups keep the tensor cores busier, and waste more where tiles are masked.
    if (!isMasked(config.mask)) {
      config.bq = 192;
      config.bk = 96;
    }
  } else if (longest > 128) {
    config.overlap = TileOverlap::none;
    config.bk = longest <= 192 ? 96 : 64;
  }
  if (config.form == ForwardForm::explicitRoles)
    while (config.bk > keyStep &&
           explicitSharedBytes(config) > int64_t(findTarget("sm_90a")->sharedBytesPerBlock))
      config.bk -= keyStep;
}

Program forwardProgram(const ForwardConfig &config, const TraceOptions &options) {
  return forwardProgram(config, maskOf(config.mask), options);
}

Program forwardProgram(const ForwardConfig &config, const Mask &mask, const TraceOptions &options) {
  return Program::trace("attention_fwd", options, [&](Scope &k) {
    bool isPlain = config.form == ForwardForm::plain;
    // The explicit form loads and stores through the TMA only.
    ForwardProblem problem(k, config, mask, isPlain ? TensorFacts() : TensorFacts{.alignment = 16});
    auto attend = [&](const PackedOrder *order) {
      isPlain ? plainForward(k, config, problem, order)
              : explicitForward(k, config, problem, mask.order, order);
    };
    if (config.lengths != Lengths::packed)
      return attend(nullptr);
    PackedOrder order(k, config, problem, mask.order);
    k.launch("attention_fwd_order", [&] { order.write(); });
    k.launch("attention_fwd", [&] { attend(&order); });
  });
}

} // namespace tlc::kernels
