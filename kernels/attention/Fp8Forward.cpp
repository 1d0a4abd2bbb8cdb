// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program of attention forward on e4m3.
///
/// The roles are those of Forward.cpp and one more: products of 8-bit elements take their factors along the
/// sum alone, so that V, which lies key by key in memory, is transposed on its way through shared memory.
#include "kernels/attention/Fp8Forward.h"

#include "kernels/attention/OnlineSoftmax.h"
#include "kernels/attention/TileOrder.h"

#include <cmath>
#include <functional>
#include <numbers>

namespace tlc::kernels {

using namespace dsl;

namespace {

/// A tile of O: rows of one head.
struct Tile {
  Index row, head, kvHead, batch;
  Index keyTiles; ///< that some row sees, at least one
  Index full;     ///< of these, the first ones, which every row sees whole
  Index offset;   ///< row i sees keys up to i + offset
};

struct Operands {
  Operands(Scope &k, const Fp8ForwardConfig &config, TensorFacts facts)
      : config(config.tile), batches(k.dim("b")), sq(k.dim("sq")), sk(k.dim("sk")), heads(k.dim("h")),
        kvHeads(k.dim("hkv")), Q(k.input("Q", e4m3, {batches, sq, heads, config.tile.d}, facts)),
        K(k.input("K", e4m3, {batches, sk, kvHeads, config.tile.d}, facts)),
        V(k.input("V", e4m3, {batches, sk, kvHeads, config.tile.dv}, facts)),
        scaleQ(k.input("scaleQ", f32, {batches, heads})), scaleK(k.input("scaleK", f32, {batches, kvHeads})),
        scaleV(k.input("scaleV", f32, {batches, kvHeads})),
        O(k.output("O", config.out, {batches, sq, heads, config.tile.dv}, facts)),
        LSE(k.output("LSE", f32, {batches, heads, sq})),
        softmaxScale(std::numbers::log2e / std::sqrt(double(config.tile.d))) {}

  bool causal() const { return config.mask.causal != CausalAlignment::none; }
  Index rowTiles() const { return ceilDiv(sq, config.bq); }

  /// Rows that see nothing get what a tile of keys, all masked, gives them.
  Tile tileAt(const Index &row, const Index &head, const Index &batch) const {
    Tile tile;
    tile.row = row;
    tile.head = head;
    tile.kvHead = head / (heads / kvHeads);
    tile.batch = batch;
    tile.offset = config.mask.causal == CausalAlignment::right ? sk - sq : Index(0);
    Index visible = causal() ? max(min(row + config.bq + tile.offset, sk), 0) : sk;
    Index whole = causal() ? max(min(row + 1 + tile.offset, sk), 0) : sk;
    tile.keyTiles = max(ceilDiv(visible, config.bk), 1);
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

  Slice keys(const Global &tensor, const Tile &tile, const Index &j) const {
    return tensor.tile({tile.batch, j * config.bk, tile.kvHead, 0}, {1, config.bk, 1, config.d});
  }

  /// A head's factor.
  static Fragment factor(Scope &k, const Global &of, const Index &batch, const Index &head) {
    Fragment number = k.fragment(f32, {1, 1});
    copy(of.tile({batch, head}, {1, 1}), number);
    return number;
  }

  const ForwardConfig &config;
  Index batches, sq, sk, heads, kvHeads;
  Global Q, K, V, scaleQ, scaleK, scaleV, O, LSE;
  double softmaxScale; ///< with log2(e)
};

/// One tile of keys after the other; the weights, too, go through shared memory.
void plainForward(Scope &k, const Fp8ForwardConfig &config) {
  const ForwardConfig &c = config.tile;
  Operands p(k, config, {});
  auto [line, head, batch] = k.grid(p.rowTiles(), p.heads, p.batches);
  Tile tile = p.tileAt(line * c.bq, head, batch);
  Shared q = k.shared("q", e4m3, {c.bq, c.d}), kt = k.shared("k", e4m3, {c.bk, c.d});
  Shared v = k.shared("v", e4m3, {c.bk, c.dv}), vt = k.shared("vt", e4m3, {c.dv, c.bk});
  Shared weights = k.shared("p", e4m3, {c.bq, c.bk});
  Fragment scale = Operands::factor(k, p.scaleQ, tile.batch, tile.head) *
                   Operands::factor(k, p.scaleK, tile.batch, tile.kvHead) * p.softmaxScale;
  OnlineSoftmax softmax(k, c.bq, scale, fp8WeightHeadroom);
  Fragment o = k.fragment(f32, {c.bq, c.dv}).named("o");
  copy(p.Q.tile({tile.batch, tile.row, tile.head, 0}, {1, c.bq, 1, c.d}), q);
  k.loop(tile.keyTiles, [&](Index j) {
    copy(p.keys(p.K, tile, j), kt);
    copy(p.keys(p.V, tile, j), v);
    copy(v.t(), vt);
    Fragment s = k.fragment(f32, {c.bq, c.bk}).named("s"), ofTile = k.fragment(f32, {c.bq, c.dv});
    gemm(q, kt.t(), s);
    OnlineSoftmax::Step step = softmax.add(p.masked(tile, s, j));
    copy(step.weights.to(e4m3), weights);
    gemm(weights, vt.t(), ofTile);
    o = o * step.rescale + ofTile;
  });
  Fragment ofV = Operands::factor(k, p.scaleV, tile.batch, tile.kvHead);
  copy((o * divideOrZero(ofV, softmax.sum)).to(config.out),
       p.O.tile({tile.batch, tile.row, tile.head, 0}, {1, c.bq, 1, c.dv}));
  copy(OnlineSoftmax::logSumExp(softmax.sum, softmax.maximum, scale, fp8WeightHeadroom),
       p.LSE.tile({tile.batch, tile.head, tile.row}, {1, 1, c.bq}));
}

/// Where there are no keys there is nothing that the TMA could load.
void writeEmptyRows(Scope &k, const Operands &p, const Fp8ForwardConfig &config, const Index &block) {
  const ForwardConfig &c = config.tile;
  Index tiles = p.rowTiles() * p.heads * p.batches;
  k.when(p.sk == 0, [&] {
    k.loop({block, tiles, k.blocks()}, [&](Index t) {
      Index rowTiles = p.rowTiles(), row = t % rowTiles * c.bq;
      Index head = t / rowTiles % p.heads, batch = t / rowTiles / p.heads;
      copy(k.fragment(config.out, {c.bq, c.dv}), p.O.tile({batch, row, head, 0}, {1, c.bq, 1, c.dv}));
      copy(k.fragment(f32, {c.bq, 1}, -inf), p.LSE.tile({batch, head, row}, {1, 1, c.bq}));
    });
  });
}

void explicitForward(Scope &k, const Fp8ForwardConfig &config) {
  const ForwardConfig &c = config.tile;
  Operands p(k, config, {.alignment = 16}); // the load role issues TMA copies only
  auto [block] = k.grid(min(p.rowTiles() * p.heads * p.batches, k.multiprocessors()));
  TileOrder order(
      c, p.causal() ? RowOrder::lastFirst : RowOrder::any,
      {.rowTiles = p.rowTiles(), .heads = p.heads, .kvHeads = p.kvHeads, .batches = p.batches, .keys = p.sk},
      block, k.blocks());
  Index count = where(p.sk == 0, Index(0), order.count);
  writeEmptyRows(k, p, config, block);

  constexpr int64_t qSlots = 2;
  int64_t warpgroups = c.bq / 64;
  Shared positions = k.shared("tile", i32, {3}, {.slots = qSlots});
  Shared qs = k.shared("q", e4m3, {c.bq, c.d}, {.slots = qSlots});
  Shared ks = k.shared("k", e4m3, {c.bk, c.d}, {.slots = c.stages});
  Shared vs = k.shared("v", e4m3, {c.bk, c.dv}, {.slots = c.stages});
  Shared vts = k.shared("vt", e4m3, {c.dv, c.bk}, {.slots = c.stages});
  Shared os = k.shared("o", config.out, {c.bq, c.dv}, {.slots = 1});
  Ring qRing = k.ring("q", {.slots = qSlots, .producers = 1, .consumers = warpgroups + 1});
  Ring kRing = k.ring("k", {.slots = c.stages, .producers = 1, .consumers = warpgroups});
  Ring vRing = k.ring("v", {.slots = c.stages, .producers = 1, .consumers = 1});
  Ring vtRing = k.ring("vt", {.slots = c.stages, .producers = 1, .consumers = warpgroups});
  Ring oRing = k.ring("o", {.slots = 1, .producers = warpgroups, .consumers = 1});
  auto readTile = [&](const Cursor &at) {
    Shared slot = positions.slot(at);
    return p.tileAt(slot.read({0}), slot.read({1}), slot.read({2}));
  };

  k.roles([&] {
    int64_t spare = warpgroups > 2 ? 32 : 40;
    k.role("load", {.warps = 1, .registers = spare}, [&] {
      Cursor q = qRing.cursor(), kc = kRing.cursor(), vc = vRing.cursor();
      k.loop(count, [&](Index round) {
        auto position = order.at(round);
        Tile tile = p.tileAt(position[0], position[1], position[2]);
        qRing.acquire(q);
        for (int64_t i = 0; i < 3; ++i)
          positions.slot(q).write({i}, position[size_t(i)]);
        qRing.expect(q, qs.slotBytes());
        copy(p.Q.tile({tile.batch, tile.row, tile.head, 0}, {1, c.bq, 1, c.d}), qs.slot(q), qRing.full(q));
        q.advance();
        k.loop(tile.keyTiles, [&](Index i) {
          Index j = tile.keyTiles - 1 - i;
          kRing.acquire(kc);
          kRing.expect(kc, ks.slotBytes());
          copy(p.keys(p.K, tile, j), ks.slot(kc), kRing.full(kc));
          kc.advance();
          vRing.acquire(vc);
          vRing.expect(vc, vs.slotBytes());
          copy(p.keys(p.V, tile, j), vs.slot(vc), vRing.full(vc));
          vc.advance();
        });
      });
    });
    k.role("transpose", {.warps = 2, .registers = spare}, [&] {
      Cursor q = qRing.cursor(), vc = vRing.cursor(), tc = vtRing.cursor();
      k.loop(count, [&](Index) {
        qRing.wait(q);
        Tile tile = readTile(q);
        q.advance();
        k.loop(tile.keyTiles, [&](Index) {
          vRing.wait(vc);
          vtRing.acquire(tc);
          copy(vs.slot(vc).t(), vts.slot(tc));
          vRing.release(vc);
          vtRing.publish(tc);
          vc.advance();
          tc.advance();
        });
      });
    });
    k.role("store", {.warps = 1, .registers = spare}, [&] {
      Cursor q = qRing.cursor(), done = oRing.cursor();
      k.loop(count, [&](Index) {
        oRing.wait(done);
        Tile tile = readTile(q);
        copy(os.slot(done), p.O.tile({tile.batch, tile.row, tile.head, 0}, {1, c.bq, 1, c.dv}));
        oRing.release(done);
        qRing.release(q);
        q.advance();
        done.advance();
      });
    });
    k.role("math", {.warps = 4 * warpgroups, .registers = warpgroups > 2 ? 160 : 232}, [&] {
      Cursor q = qRing.cursor(), kc = kRing.cursor(), tc = vtRing.cursor(), done = oRing.cursor();
      Cursor finishedAt = qRing.cursor(); // one tile behind q
      Fragment scale = k.fragment(f32, {1, 1}).named("scale");
      OnlineSoftmax softmax(k, c.bq, scale, fp8WeightHeadroom);
      Fragment o = k.fragment(f32, {c.bq, c.dv}).named("o");
      Fragment ofTile = k.fragment(f32, {c.bq, c.dv}).named("oOfTile"); // a tile of keys' share
      // Of the tile of keys whose V is next: its weights, and what O so far is multiplied by.
      Fragment weights = k.fragment(e4m3, {c.bq, c.bk}).named("p"), rescale = k.fragment(f32, {c.bq, 1});
      bool perTile = config.sum == OutputSum::perTile;

      auto startScores = [&](Fragment &s) {
        kRing.wait(kc);
        gemmAsync(qs.slot(q), ks.slot(kc).t(), s);
      };
      auto startOutput = [&] {
        vtRing.wait(tc);
        if (perTile)
          ofTile = 0;
        else
          o = o * rescale;
        gemmAsync(weights, vts.slot(tc).t(), perTile ? ofTile : o);
      };
      auto finishScores = [&](Fragment &s, int64_t pending) {
        gemmWait(s, pending);
        kRing.release(kc);
        kc.advance();
      };
      auto finishOutput = [&] {
        gemmWait(perTile ? ofTile : o);
        vtRing.release(tc);
        tc.advance();
        if (perTile)
          o = o * rescale + ofTile;
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
        rescale = next.rescale;
        weights = next.weights.to(e4m3);
      };

      // Of a tile's keys the last ones come first. `beside` runs under their scores' softmax.
      auto begin = [&](const std::function<void()> &startBeside, const std::function<void()> &finishBeside,
                       int64_t pending) {
        Fragment s = k.fragment(f32, {c.bq, c.bk}).named("s");
        qRing.wait(q);
        Tile tile = readTile(q);
        startScores(s);
        startBeside();
        Fragment ofQ = Operands::factor(k, p.scaleQ, tile.batch, tile.head),
                 ofK = Operands::factor(k, p.scaleK, tile.batch, tile.kvHead);
        finishScores(s, pending);
        scale = ofQ * ofK * p.softmaxScale;
        softmax.restart();
        FragmentValue first = softmax.add(p.masked(tile, s, tile.keyTiles - 1)).weights;
        finishBeside();
        rescale = 1;
        weights = first.to(e4m3);
      };

      k.when(count > 0, [&] { begin([] {}, [] {}, 0); });
      k.loop(count, [&](Index round) {
        Tile tile = readTile(q);
        Index edges = min(max(tile.keyTiles - tile.full, 1), tile.keyTiles); // the first one is done
        k.loop(edges - 1, [&](Index i) { step(tile, tile.keyTiles - 2 - i, Mask::edge); });
        k.loop(tile.keyTiles - edges,
               [&](Index i) { step(tile, tile.keyTiles - edges - 1 - i, Mask::none); });
        q.advance();

        Fragment sum = softmax.sum, maximum = softmax.maximum, scaled = scale;
        auto end = [&] {
          startOutput();
          finishOutput();
        };
        k.when(round + 1 < count, [&] { begin(startOutput, finishOutput, 1); }, end);
        Tile finished = readTile(finishedAt);
        Fragment ofV = Operands::factor(k, p.scaleV, finished.batch, finished.kvHead);
        oRing.acquire(done);
        copy((o * divideOrZero(ofV, sum)).to(config.out), os.slot(done));
        copy(OnlineSoftmax::logSumExp(sum, maximum, scaled, fp8WeightHeadroom),
             p.LSE.tile({finished.batch, finished.head, finished.row}, {1, 1, c.bq}));
        oRing.publish(done);
        qRing.release(finishedAt);
        done.advance();
        finishedAt.advance();
        o = 0;
      });
    });
  });
}

} // namespace

Fp8ForwardConfig chooseFp8ForwardConfig(ElementType out, int64_t d, CausalAlignment causal, OutputSum sum,
                                        ForwardForm form) {
  Fp8ForwardConfig config{.out = out, .sum = sum};
  config.tile.d = config.tile.dv = d;
  config.tile.mask.causal = causal;
  config.tile.form = form;
  // Accumulators of scores, of O and of a tile's share, and weights, have to share a thread's registers.
  if (d > 128 || form == ForwardForm::plain)
    config.tile.bk = 64;
  else if (sum == OutputSum::inPlace && causal == CausalAlignment::none)
    config.tile.bk = 192;
  return config;
}

Program fp8ForwardProgram(const Fp8ForwardConfig &config, const TraceOptions &options) {
  return Program::trace("attention_fwd_fp8", options, [&](Scope &k) {
    config.tile.form == ForwardForm::plain ? plainForward(k, config) : explicitForward(k, config);
  });
}

} // namespace tlc::kernels
