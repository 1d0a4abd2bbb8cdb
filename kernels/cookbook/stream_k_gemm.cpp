// SPDX-License-Identifier: Apache-2.0
/// \file
/// A GEMM whose blocks have equally much to do, however many tiles there are: C = A B^T by stream-K.
///
/// A is [m, k], B is [n, k], C is [m, n], bf16 and row-major. `blocks` is how many blocks share the work: as
/// many as the device has multiprocessors.
///
/// A tile is 128 x 256 elements of C and takes `steps` products of 64 along k. Most tiles are whole: each
/// block computes as many of them as all others do. The steps of the last ones, fewer than there are blocks,
/// are numbered one tile after the other and divided evenly, so that a block begins and ends somewhere in a
/// tile. At most four blocks for each of these tiles take part, so that few sums are handed on. With less
/// than a tile each, all are about as far along k at a time, and tiles are numbered in groups of 16 rows of
/// tiles: so those that are computed at a time have much of A and B in common, which the L2 cache holds.
///
/// The block with a tile's last steps stores it. The others leave their sums in a workspace, from which it
/// adds them in a fixed order, so that the result has the same bits in every run. These others have smaller
/// numbers, which blocks take when they start, so that none waits for one that has not started; and each
/// block visits its shared tiles from the last one to the first one, so that it leaves its sums before it
/// needs those of others. (M. Osama et al., Stream-K: Work-Centric Parallel Decomposition for Dense
/// Matrix-Matrix Multiplication on the GPU, 2023.)
#include <array>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

void streamK(Scope &k, const Values &v) {
  constexpr int64_t bm = 128, bn = 256, bk = 64, stages = 4, group = 16;
  constexpr int64_t most = 4; // blocks that share a tile, on average
  const int64_t blocks = v["blocks"];
  Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
  Global A = k.input("A", bf16, {m, depth}, {.alignment = 16}),
         B = k.input("B", bf16, {n, depth}, {.alignment = 16});
  Global C = k.output("C", bf16, {m, n});
  Global started = k.workspace("started", i32, {1}, {Initial::zero}); // blocks
  Global isLeft = k.workspace("is_left", i32, {blocks}, {Initial::zero});
  Global left = k.workspace("left", f32, {blocks * bm, bn}, {.order = TensorOrder::accumulator});
  [[maybe_unused]] auto [block] = k.grid(blocks);
  Index number = take(started, {0});

  Index rowTiles = ceilDiv(m, bm), columnTiles = ceilDiv(n, bn), tiles = rowTiles * columnTiles;
  Index steps = max(ceilDiv(depth, bk), 1); // one for k = 0: sums of nothing are stored, too
  Index rounds = tiles / blocks, sharedTiles = tiles % blocks;
  Index workers = max(min(sharedTiles * most, blocks), 1); // blocks that share tiles
  Index share = sharedTiles * steps / workers, rest = sharedTiles * steps % workers;
  auto firstStepOf = [&](const Index &each) { return min(each, workers) * share + min(each, rest); };
  Index from = firstStepOf(number), to = firstStepOf(number + 1); // steps of this block
  Index firstTile = from / steps, parts = where(from < to, ceilDiv(to, steps) - firstTile, 0);
  // What a block does in a round: the steps from `begin` to before `end` of a tile.
  struct Work {
    Index tile, begin, end;
  };
  auto workOf = [&](const Index &round) {
    Index part = firstTile + (parts - 1 - round), whole = sharedTiles + (round - parts) * blocks + number;
    Predicate isPart = round < parts;
    return Work{where(isPart, part, whole), where(isPart, max(from - part * steps, 0), 0),
                where(isPart, min(to - part * steps, steps), steps)};
  };

  auto originOf = [&](const Index &tile) { // first down the rows of a group, then across
    Index first = tile / (group * columnTiles) * group, inGroup = tile % (group * columnTiles);
    Index rows = min(rowTiles - first, group);
    return std::array{(first + inGroup % rows) * bm, inGroup / rows * bn};
  };

  Shared a = k.shared("a", bf16, {bm, bk}, {.slots = stages}),
         b = k.shared("b", bf16, {bn, bk}, {.slots = stages});
  Ring ring = k.ring("ab", {.slots = stages, .producers = 1, .consumers = 2});
  k.roles([&] {
    k.role("load", {.warps = 4}, [&] {
      Cursor at = ring.cursor();
      k.loop(parts + rounds, [&](Index round) {
        auto [tile, begin, end] = workOf(round);
        auto [i, j] = originOf(tile);
        k.loop({begin, end}, [&](Index s) {
          ring.acquire(at);
          ring.expect(at, a.slotBytes() + b.slotBytes());
          copy(A.tile({i, s * bk}, {bm, bk}), a.slot(at), ring.full(at));
          copy(B.tile({j, s * bk}, {bn, bk}), b.slot(at), ring.full(at));
          at.advance();
        });
      });
    });
    k.role("math", {.warps = 8}, [&] {
      Cursor at = ring.cursor(), done = ring.cursor();
      k.loop(parts + rounds, [&](Index round) {
        auto [tile, begin, end] = workOf(round);
        auto [i, j] = originOf(tile);
        Fragment acc = k.fragment(f32, {bm, bn}).named("acc");
        auto release = [&] {
          ring.release(done);
          done.advance();
        };
        k.loop({begin, end}, [&, begin = begin](Index s) {
          ring.wait(at);
          gemmAsync(a.slot(at), b.slot(at).t(), acc);
          at.advance();
          gemmWait(acc, 1); // the product before this one
          k.when(s > begin, release);
        });
        gemmWait(acc);
        release();
        auto leave = [&] {
          copy(acc, left.tile({number * bm, 0}, {bm, bn}));
          announce(isLeft, {number});
        };
        auto finish = [&, tile = tile, begin = begin] {
          k.loopWhile(where(begin > 0, number, 0), [&](Index before) {
            Index other = number - 1 - before;
            Fragment sum = k.fragment(f32, {bm, bn});
            waitFor(isLeft, {other}, 1);
            copy(left.tile({other * bm, 0}, {bm, bn}), sum);
            acc += sum;
            return firstStepOf(other) > tile * steps; // else it has the tile's first step
          });
          copy(acc.to(bf16), C.tile({i, j}, {bm, bn}));
        };
        k.when(end < steps, leave, finish);
      });
    });
  });
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("stream_k_gemm", "C = A B^T by stream-K: blocks divide the steps of the last tiles evenly")
      .size("m", 4096, {.onEmulator = 300})
      .size("n", 4096, {.onEmulator = 300})
      .size("k", 4096, {.multipleOf = 8, .onEmulator = 200})
      .constant("blocks", 132,
                {.least = 1, .most = 1024, .onEmulator = 5, .help = "of the grid: multiprocessors"})
      .program(streamK)
      .reference("C",
                 [](const HostInputs &in) {
                   return [A = in.tensor("A"), B = in.tensor("B"), depth = in.values["k"]](int64_t i,
                                                                                           int64_t j) {
                     double sum = 0;
                     for (int64_t l = 0; l < depth; ++l)
                       sum += A(i, l) * B(j, l);
                     return sum;
                   };
                 })
      .flops([](const Values &v) { return 2.0 * double(v["m"]) * double(v["n"]) * double(v["k"]); })
      .bench({{"m", "1024"}, {"n", "1024"}, {"k", "16384"}})
      .bench({{"m", "8192"}, {"n", "8192"}, {"k", "8192"}});
}
