// SPDX-License-Identifier: Apache-2.0
/// \file
/// The programs of attention forward: with roles by hand, and plain.
#include "kernels/attention/Forward.h"

#include "kernels/attention/OnlineSoftmax.h"
#include "kernels/attention/TileOrder.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

namespace tlc::kernels {

using namespace dsl;

namespace {

/// A tile of O: rows of one head.
struct Tile {
  Index row, head, kvHead, batch;
  Index keyTiles; ///< that some row sees
  Index full;     ///< of these, the first ones, which every row sees whole
  Index offset;   ///< row i sees keys up to i + offset
};

/// The arguments, and what follows from them.
struct Operands {
  Operands(Scope &k, const ForwardConfig &config, TensorFacts facts)
      : config(config), batches(k.dim("b")), sq(k.dim("sq")), sk(k.dim("sk")), heads(k.dim("h")),
        kvHeads(k.dim("hkv")), Q(k.input("Q", config.dtype, {batches, sq, heads, config.d}, facts)),
        K(k.input("K", config.dtype, {batches, sk, kvHeads, config.d}, facts)),
        V(k.input("V", config.dtype, {batches, sk, kvHeads, config.dv}, facts)),
        O(k.output("O", config.dtype, {batches, sq, heads, config.dv}, facts)),
        LSE(k.output("LSE", f32, {batches, heads, sq})),
        scale(std::numbers::log2e / std::sqrt(double(config.d))) {}

  bool causal() const { return config.causal != CausalAlignment::none; }
  Index rowTiles() const { return ceilDiv(sq, config.bq); }

  Tile tileAt(const Index &row, const Index &head, const Index &batch) const {
    Tile tile;
    tile.row = row;
    tile.head = head;
    tile.kvHead = head / (heads / kvHeads);
    tile.batch = batch;
    tile.offset = config.causal == CausalAlignment::right ? sk - sq : Index(0);
    Index visible = causal() ? max(min(row + config.bq + tile.offset, sk), 0) : sk;
    Index whole = causal() ? max(min(row + 1 + tile.offset, sk), 0) : sk;
    tile.keyTiles = ceilDiv(visible, config.bk);
    tile.full = whole / config.bk;
    return tile;
  }

  /// Scores of tile j of keys, -inf where a row does not see the key.
  FragmentValue masked(const Tile &tile, const FragmentValue &scores, const Index &j) const {
    return where(
        [&](Index r, Index x) {
          Index key = j * config.bk + x;
          return causal() ? key <= tile.row + r + tile.offset && key < sk : key < sk;
        },
        scores, -inf);
  }

  const ForwardConfig &config;
  Index batches, sq, sk, heads, kvHeads;
  Global Q, K, V, O, LSE;
  double scale; ///< of scores, with log2(e)
};

void plainForward(Scope &k, const ForwardConfig &c) {
  Operands p(k, c, {});
  auto [line, head, batch] = k.grid(p.rowTiles(), p.heads, p.batches);
  Tile tile = p.tileAt(line * c.bq, head, batch);
  Shared q = k.shared("q", c.dtype, {c.bq, c.d}), kt = k.shared("k", c.dtype, {c.bk, c.d}),
         v = k.shared("v", c.dtype, {c.bk, c.dv});
  OnlineSoftmax softmax(k, c.bq, p.scale);
  Fragment o = k.fragment(f32, {c.bq, c.dv}).named("o");
  copy(p.Q.tile({tile.batch, tile.row, tile.head, 0}, {1, c.bq, 1, c.d}), q);
  k.pipelined(tile.keyTiles, {.stages = c.stages}, [&](Index j) {
    copy(p.K.tile({tile.batch, j * c.bk, tile.kvHead, 0}, {1, c.bk, 1, c.d}), kt);
    copy(p.V.tile({tile.batch, j * c.bk, tile.kvHead, 0}, {1, c.bk, 1, c.dv}), v);
    Fragment s = k.fragment(f32, {c.bq, c.bk}).named("s");
    gemm(q, kt.t(), s);
    OnlineSoftmax::Step step = softmax.add(p.masked(tile, s, j));
    o = o * step.rescale;
    gemm(step.weights.to(c.dtype), v, o);
  });
  copy(divideOrZero(o, softmax.sum).to(c.dtype),
       p.O.tile({tile.batch, tile.row, tile.head, 0}, {1, c.bq, 1, c.dv}));
  copy((log2(softmax.sum) + softmax.maximum * p.scale) * std::numbers::ln2,
       p.LSE.tile({tile.batch, tile.head, tile.row}, {1, 1, c.bq}));
}

/// A role that loads, one that stores, and one that computes. Tiles of keys come last to first. The scores of
/// one are computed before the weights of the one before meet V, and their softmax runs under that product;
/// so do the next tile's first scores under this tile's last product. Where tiles are is computed by the load
/// role alone, and handed on with their Q.
void explicitForward(Scope &k, const ForwardConfig &c) {
  Operands p(k, c, {.alignment = 16}); // the load role issues TMA copies only
  Index rowTiles = p.rowTiles(), tiles = rowTiles * p.heads * p.batches;
  auto [block] = k.grid(min(tiles, k.multiprocessors()));
  TileOrder order(
      c, {.rowTiles = rowTiles, .heads = p.heads, .kvHeads = p.kvHeads, .batches = p.batches, .keys = p.sk},
      block, k.blocks());
  // Where there are no keys there is nothing that the TMA could load.
  Index count = where(p.sk == 0, Index(0), order.count);
  k.when(p.sk == 0, [&] {
    k.loop({block, tiles, k.blocks()}, [&](Index t) {
      Index row = t % rowTiles * c.bq, head = t / rowTiles % p.heads, batch = t / rowTiles / p.heads;
      copy(k.fragment(c.dtype, {c.bq, c.dv}), p.O.tile({batch, row, head, 0}, {1, c.bq, 1, c.dv}));
      copy(k.fragment(f32, {c.bq, 1}, -inf), p.LSE.tile({batch, head, row}, {1, 1, c.bq}));
    });
  });

  int64_t warpgroups = c.bq / 64, qSlots = c.overlap == TileOverlap::nextTile ? 2 : 1;
  // Rows that see nothing get what a tile of keys, all masked, gives them.
  auto computed = [](Tile tile) {
    tile.keyTiles = max(tile.keyTiles, 1);
    return tile;
  };
  Shared positions = k.shared("tile", i32, {3}, {.slots = qSlots});
  auto readTile = [&](const Cursor &at) {
    Shared slot = positions.slot(at);
    return computed(p.tileAt(slot.read({0}), slot.read({1}), slot.read({2})));
  };
  Shared qs = k.shared("q", c.dtype, {c.bq, c.d}, {.slots = qSlots});
  Shared ks = k.shared("k", c.dtype, {c.bk, c.d}, {.slots = c.stages});
  Shared vs = k.shared("v", c.dtype, {c.bk, c.dv}, {.slots = c.stages});
  // A tile of O leaves through the slot of its Q.
  Ring qRing = k.ring("q", {.slots = qSlots, .producers = 1, .consumers = 1});
  Ring oRing = k.ring("o", {.slots = qSlots, .producers = warpgroups, .consumers = 1});
  Ring kRing = k.ring("k", {.slots = c.stages, .producers = 1, .consumers = warpgroups});
  Ring vRing = k.ring("v", {.slots = c.stages, .producers = 1, .consumers = warpgroups});

  k.roles([&] {
    int64_t spare = warpgroups > 2 ? 32 : 24;
    k.role("load", {.warps = 1, .registers = spare}, [&] {
      Cursor q = qRing.cursor(), kc = kRing.cursor(), vc = vRing.cursor();
      k.loop(count, [&](Index round) {
        auto position = order.at(round);
        Tile tile = computed(p.tileAt(position[0], position[1], position[2]));
        auto loadK = [&](Index j) {
          kRing.acquire(kc);
          kRing.expect(kc, ks.slotBytes());
          copy(p.K.tile({tile.batch, j * c.bk, tile.kvHead, 0}, {1, c.bk, 1, c.d}), ks.slot(kc),
               kRing.full(kc));
          kc.advance();
        };
        auto loadV = [&](Index j) {
          vRing.acquire(vc);
          vRing.expect(vc, vs.slotBytes());
          copy(p.V.tile({tile.batch, j * c.bk, tile.kvHead, 0}, {1, c.bk, 1, c.dv}), vs.slot(vc),
               vRing.full(vc));
          vc.advance();
        };
        qRing.acquire(q);
        for (int64_t i = 0; i < 3; ++i)
          positions.slot(q).write({i}, position[size_t(i)]);
        qRing.expect(q, qs.slotBytes());
        copy(p.Q.tile({tile.batch, tile.row, tile.head, 0}, {1, c.bq, 1, c.d}), qs.slot(q), qRing.full(q));
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
      k.loop(count, [&](Index) {
        oRing.wait(q);
        Tile tile = readTile(q);
        copy(qs.slot(q), p.O.tile({tile.batch, tile.row, tile.head, 0}, {1, c.bq, 1, c.dv}));
        qRing.release(q);
        q.advance();
      });
    });
    k.role("math", {.warps = 4 * warpgroups, .registers = warpgroups > 2 ? 160 : 240}, [&] {
      Cursor q = qRing.cursor(), kc = kRing.cursor(), vc = vRing.cursor();
      Cursor done = oRing.cursor(); // one tile behind q
      OnlineSoftmax softmax(k, c.bq, p.scale);
      Fragment o = k.fragment(f32, {c.bq, c.dv}).named("o");
      Fragment weights = k.fragment(c.dtype, {c.bq, c.bk}).named("p"); // of the tile of keys whose V is next

      auto startScores = [&](Fragment &s) {
        kRing.wait(kc);
        gemmAsync(qs.slot(q), ks.slot(kc).t(), s);
      };
      auto startOutput = [&] {
        vRing.wait(vc);
        gemmAsync(weights, vs.slot(vc), o);
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
        FragmentValue scores = mask == Mask::edge ? p.masked(tile, s, j) : FragmentValue(s);
        OnlineSoftmax::Step next = softmax.add(scores);
        finishOutput();
        o = o * next.rescale;
        weights = next.weights.to(c.dtype);
      };

      // Of a tile's keys the last ones come first. `beside` runs under their scores' softmax.
      auto begin = [&](const std::function<void()> &startBeside, const std::function<void()> &finishBeside,
                       int64_t pending) {
        Fragment s = k.fragment(f32, {c.bq, c.bk}).named("s");
        qRing.wait(q);
        Tile tile = readTile(q);
        startScores(s);
        startBeside();
        finishScores(s, pending);
        softmax.restart();
        FragmentValue first = softmax.add(p.masked(tile, s, tile.keyTiles - 1)).weights;
        finishBeside();
        weights = first.to(c.dtype);
      };
      auto beginAlone = [&] { begin([] {}, [] {}, 0); };

      bool acrossTiles = c.overlap == TileOverlap::nextTile;
      if (acrossTiles)
        k.when(count > 0, beginAlone);
      k.loop(count, [&](Index round) {
        if (!acrossTiles)
          beginAlone();
        Tile tile = readTile(q);
        Index edges = min(max(tile.keyTiles - tile.full, 1), tile.keyTiles); // the first one is done
        k.loop(edges - 1, [&](Index i) { step(tile, tile.keyTiles - 2 - i, Mask::edge); });
        k.loop(tile.keyTiles - edges,
               [&](Index i) { step(tile, tile.keyTiles - edges - 1 - i, Mask::none); });
        q.advance();

        Fragment sum = softmax.sum, maximum = softmax.maximum;
        auto end = [&] {
          startOutput();
          finishOutput();
        };
        if (acrossTiles)
          k.when(round + 1 < count, [&] { begin(startOutput, finishOutput, 1); }, end);
        else
          end();
        copy(divideOrZero(o, sum).to(c.dtype), qs.slot(done));
        Tile finished = readTile(done);
        copy((log2(sum) + maximum * p.scale) * std::numbers::ln2,
             p.LSE.tile({finished.batch, finished.head, finished.row}, {1, 1, c.bq}));
        oRing.publish(done);
        done.advance();
        o = 0;
      });
    });
  });
}

} // namespace

ForwardConfig chooseForwardConfig(ElementType dtype, int64_t d, int64_t dv, CausalAlignment causal,
                                  int64_t keys) {
  ForwardConfig config{.dtype = dtype, .d = d, .dv = dv, .causal = causal};
  // Accumulators of scores and of O, and weights, have to share a thread's registers; tiles share memory.
  int64_t longest = std::max(d, dv);
  constexpr int64_t manyKeys = 2048;
  if (longest <= 64)
    config.bq = 192;
  else if (longest <= 128)
    config.bk = causal == CausalAlignment::none && keys >= manyKeys ? 160 : 128;
  else {
    config.overlap = TileOverlap::none;
    config.bk = longest <= 192 ? 96 : 80;
  }
  return config;
}

void makePlain(ForwardConfig &config) {
  config.form = ForwardForm::plain;
  config.bk = 64;
}

Program forwardProgram(const ForwardConfig &config, const TraceOptions &options) {
  return Program::trace("attention_fwd", options, [&](Scope &k) {
    config.form == ForwardForm::plain ? plainForward(k, config) : explicitForward(k, config);
  });
}

} // namespace tlc::kernels
