// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program of attention forward, with roles by hand.
#include "kernels/attention/Forward.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tlc::kernels {

using namespace dsl;

namespace {

/// A softmax over columns that come tile by tile: each row's maximum and sum so far,
/// of numbers that are yet to be multiplied by `scale` (which has log2(e) in it).
struct OnlineSoftmax {
  OnlineSoftmax(Scope &k, int64_t rows, double scale)
      : maximum(k.fragment(f32, {rows, 1}, -inf)), sum(k.fragment(f32, {rows, 1})), scale(scale) {}

  struct Step {
    FragmentValue weights; ///< of this tile's columns
    FragmentValue rescale; ///< what earlier results are multiplied by
  };
  Step add(const FragmentValue &scores, Loc loc = Loc::current()) {
    FragmentValue next = max(maximum, rowMax(scores, loc), loc);
    FragmentValue base = finiteOrZero(next, loc) * scale;
    FragmentValue rescale = exp2(maximum * scale - base, loc), weights = exp2(scores * scale - base, loc);
    sum = sum * rescale + rowSum(weights, loc);
    maximum = next;
    return {weights, rescale};
  }

  /// For another row.
  void restart() {
    maximum = -inf;
    sum = 0;
  }

  Fragment maximum, sum;
  double scale;
};

} // namespace

Program forwardProgram(const ForwardConfig &c, const TraceOptions &options) {
  return Program::trace("attention_fwd", options, [&](Scope &k) {
    constexpr TensorFacts aligned{.alignment = 16};
    Index batches = k.dim("b"), sq = k.dim("sq"), sk = k.dim("sk"), heads = k.dim("h"),
          kvHeads = k.dim("hkv");
    Global Q = k.input("Q", c.dtype, {batches, sq, heads, c.d}, aligned);
    Global K = k.input("K", c.dtype, {batches, sk, kvHeads, c.d}, aligned);
    Global V = k.input("V", c.dtype, {batches, sk, kvHeads, c.dv}, aligned);
    Global O = k.output("O", c.dtype, {batches, sq, heads, c.dv}, aligned);
    Global LSE = k.output("LSE", f32, {batches, heads, sq});

    Index rowTiles = ceilDiv(sq, c.bq), tiles = rowTiles * heads * batches;
    auto [block] = k.grid(min(tiles, k.multiprocessors()));
    Index blocks = k.blocks(), headsPerKv = heads / kvHeads;

    struct Tile {
      Index row, head, kvHead, batch;
      Index keyTiles; ///< that some row sees
      Index full;     ///< of these, the first ones, which every row sees whole
      Index offset;   ///< row i sees keys up to i + offset
    };
    bool causal = c.causal != CausalAlignment::none;
    auto tileAt = [&](Index t) {
      Index inGroup = t % (rowTiles * c.headGroup), group = t / (rowTiles * c.headGroup);
      Index width = min(heads * batches - group * c.headGroup, c.headGroup);
      Index line = inGroup / width, pair = group * c.headGroup + inGroup % width;
      Tile tile;
      tile.row = (causal ? rowTiles - 1 - line : line) * c.bq;
      tile.batch = pair / heads;
      tile.head = pair % heads;
      tile.kvHead = tile.head / headsPerKv;
      tile.offset = c.causal == CausalAlignment::right ? sk - sq : Index(0);
      Index visible = causal ? max(min(tile.row + c.bq + tile.offset, sk), 1) : sk;
      Index whole = causal ? max(min(tile.row + 1 + tile.offset, sk), 0) : sk;
      tile.keyTiles = max(ceilDiv(visible, c.bk), 1);
      tile.full = whole / c.bk;
      return tile;
    };

    int64_t warpgroups = c.bq / 64;
    Shared qs = k.shared("q", c.dtype, {c.bq, c.d}, {.slots = 2});
    Shared ks = k.shared("k", c.dtype, {c.bk, c.d}, {.slots = c.stages});
    Shared vs = k.shared("v", c.dtype, {c.bk, c.dv}, {.slots = c.stages});
    // A tile of O leaves through the slot of its Q.
    Ring qRing = k.ring("q", {.slots = 2, .producers = 1, .consumers = 1});
    Ring oRing = k.ring("o", {.slots = 2, .producers = warpgroups, .consumers = 1});
    Ring kRing = k.ring("k", {.slots = c.stages, .producers = 1, .consumers = warpgroups});
    Ring vRing = k.ring("v", {.slots = c.stages, .producers = 1, .consumers = warpgroups});
    double scale = std::numbers::log2e / std::sqrt(double(c.d));

    k.roles([&] {
      int64_t spare = warpgroups > 2 ? 32 : 24;
      k.role("load", {.warps = 1, .registers = spare}, [&] {
        Cursor q = qRing.cursor(), kc = kRing.cursor(), vc = vRing.cursor();
        k.loop({block, tiles, blocks}, [&](Index t) {
          Tile tile = tileAt(t);
          auto loadK = [&](Index j) {
            kRing.acquire(kc);
            kRing.expect(kc, ks.slotBytes());
            copy(K.tile({tile.batch, j * c.bk, tile.kvHead, 0}, {1, c.bk, 1, c.d}), ks.slot(kc),
                 kRing.full(kc));
            kc.advance();
          };
          auto loadV = [&](Index j) {
            vRing.acquire(vc);
            vRing.expect(vc, vs.slotBytes());
            copy(V.tile({tile.batch, j * c.bk, tile.kvHead, 0}, {1, c.bk, 1, c.dv}), vs.slot(vc),
                 vRing.full(vc));
            vc.advance();
          };
          qRing.acquire(q);
          qRing.expect(q, qs.slotBytes());
          copy(Q.tile({tile.batch, tile.row, tile.head, 0}, {1, c.bq, 1, c.d}), qs.slot(q), qRing.full(q));
          q.advance();
          loadK(tile.keyTiles - 1);
          k.loop(tile.keyTiles - 1, [&](Index i) {
            loadK(tile.keyTiles - 2 - i);
            loadV(tile.keyTiles - 1 - i);
          });
          loadV(0);
        });
      });
      k.role("store", {.warps = 3, .registers = spare}, [&] {
        Cursor q = qRing.cursor();
        k.loop({block, tiles, blocks}, [&](Index t) {
          Tile tile = tileAt(t);
          oRing.wait(q);
          copy(qs.slot(q), O.tile({tile.batch, tile.row, tile.head, 0}, {1, c.bq, 1, c.dv}));
          qRing.release(q);
          q.advance();
        });
      });
      k.role("math", {.warps = 4 * warpgroups, .registers = warpgroups > 2 ? 160 : 240}, [&] {
        Cursor q = qRing.cursor(), kc = kRing.cursor(), vc = vRing.cursor();
        Cursor done = oRing.cursor(); // one tile behind q
        OnlineSoftmax softmax(k, c.bq, scale);
        Fragment o = k.fragment(f32, {c.bq, c.dv}).named("o");
        Fragment p =
            k.fragment(c.dtype, {c.bq, c.bk}).named("p"); // weights of the tile of keys whose V is next

        auto masked = [&](const Tile &tile, const FragmentValue &s, Index j) {
          return where(
              [&](Index r, Index x) {
                Index key = j * c.bk + x;
                return causal ? key <= tile.row + r + tile.offset && key < sk : key < sk;
              },
              s, -inf);
        };
        auto startScores = [&](Fragment &s) {
          kRing.wait(kc);
          gemmAsync(qs.slot(q), ks.slot(kc).t(), s);
        };
        auto startOutput = [&] {
          vRing.wait(vc);
          gemmAsync(p, vs.slot(vc), o);
        };
        auto finishScores = [&](Fragment &s, int64_t pending) {
          gemmWait(s, pending);
          kRing.release(kc);
          kc.advance();
        };
        auto finishOutput = [&] {
          gemmWait(o);
          vRing.release(vc);
          vc.advance();
        };
        enum class Mask : uint8_t { none, edge };
        // Scores of a tile of keys; their softmax runs under the product of the tile before with V.
        auto step = [&](const Tile &tile, Index j, Mask mask) {
          Fragment s = k.fragment(f32, {c.bq, c.bk}).named("s");
          startScores(s);
          startOutput();
          finishScores(s, 1);
          FragmentValue scores = mask == Mask::edge ? masked(tile, s, j) : FragmentValue(s);
          OnlineSoftmax::Step next = softmax.add(scores);
          finishOutput();
          o = o * next.rescale;
          p = next.weights.to(c.dtype);
        };

        Tile first = tileAt(block);
        qRing.wait(q);
        {
          Fragment s = k.fragment(f32, {c.bq, c.bk}).named("s");
          startScores(s);
          finishScores(s, 0);
          p = softmax.add(masked(first, s, first.keyTiles - 1)).weights.to(c.dtype);
        }
        k.loop({block, tiles, blocks}, [&](Index t) {
          Tile tile = tileAt(t);
          Index edges = min(max(tile.keyTiles - tile.full, 1), tile.keyTiles); // the first one is done
          k.loop(edges - 1, [&](Index i) { step(tile, tile.keyTiles - 2 - i, Mask::edge); });
          k.loop(tile.keyTiles - edges,
                 [&](Index i) { step(tile, tile.keyTiles - edges - 1 - i, Mask::none); });
          q.advance();

          // The last product with V runs beside the next tile's first scores and their softmax.
          Fragment sum = softmax.sum, maximum = softmax.maximum;
          k.when(
              t + blocks < tiles,
              [&] {
                Tile next = tileAt(t + blocks);
                Fragment s = k.fragment(f32, {c.bq, c.bk}).named("s");
                qRing.wait(q);
                startScores(s);
                startOutput();
                finishScores(s, 1);
                softmax.restart();
                FragmentValue weights = softmax.add(masked(next, s, next.keyTiles - 1)).weights;
                finishOutput();
                p = weights.to(c.dtype);
              },
              [&] {
                startOutput();
                finishOutput();
              });
          copy(divideOrZero(o, sum).to(c.dtype), qs.slot(done));
          oRing.publish(done);
          done.advance();
          copy((log2(sum) + maximum * scale) * std::numbers::ln2,
               LSE.tile({tile.batch, tile.head, tile.row}, {1, 1, c.bq}));
          o = 0;
        });
      });
    });
  });
}

} // namespace tlc::kernels
