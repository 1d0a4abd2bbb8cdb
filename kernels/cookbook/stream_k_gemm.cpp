// SPDX-License-Identifier: Apache-2.0
/// \file
/// A GEMM whose blocks have about equally much to do, however many tiles there are: C = A B^T by stream-K.
///
/// A is [m, k], B is [n, k], C is [m, n], bf16 and row-major. `blocks` is how many blocks share the work: as
/// many as the device has multiprocessors.
///
/// A tile is 128 x `columns` elements of C and takes `steps` products of 64 along k. Most tiles are whole:
/// each block computes as many of them as all others do. Of those that are left, fewer than there are blocks,
/// up to four blocks share one: each has as many of its steps. So all that have the same part of their tiles
/// are equally far along k at a time, and tiles are numbered in groups of 16 rows of tiles: those that are
/// computed at a time have much of A and B in common, which the L2 cache holds. Were the steps of the last
/// tiles divided evenly among all blocks, whatever the tile, each block would be at a place of its own along
/// k, and load rows of its own from memory.
///
/// Parts of tiles are left in a workspace, and a second launch adds them in a fixed order: the result has the
/// same bits in every run. (M. Osama et al., Stream-K: Work-Centric Parallel Decomposition for Dense
/// Matrix-Matrix Multiplication on the GPU, 2023, which adds them in the same launch; here this would have
/// all threads meet at each step, as a block may then read what others are still writing.)
#include <array>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

void streamK(Scope &k, const Values &v) {
  constexpr int64_t bm = 128, bk = 64, stages = 4, group = 16;
  constexpr int64_t most = 4; // blocks that share a tile
  const int64_t bn = v["columns"], blocks = v["blocks"];
  Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
  Global A = k.input("A", bf16, {m, depth}, {.alignment = 16}),
         B = k.input("B", bf16, {n, depth}, {.alignment = 16});
  Global C = k.output("C", bf16, {m, n});
  Global sums = k.workspace("sums", f32, {blocks * bm, bn}, {.order = TensorOrder::accumulator});

  Index rowTiles = ceilDiv(m, bm), columnTiles = ceilDiv(n, bn), tiles = rowTiles * columnTiles;
  Index steps = max(ceilDiv(depth, bk), 1); // one for k = 0: sums of nothing are stored, too
  Index rounds = tiles / blocks, sharedTiles = tiles % blocks;
  Index parts = min(min(blocks / max(sharedTiles, 1), most), steps); // of a shared tile
  auto originOf = [&](const Index &tile) { // first down the rows of a group, then across
    Index first = tile / (group * columnTiles) * group, inGroup = tile % (group * columnTiles);
    Index rows = min(rowTiles - first, group);
    return std::array{(first + inGroup % rows) * bm, inGroup / rows * bn};
  };

  k.launch("stream_k_gemm_parts", [&] {
    auto [block] = k.grid(blocks);
    Index shares = where(block < sharedTiles * parts, Index(1), Index(0));
    // What a block does in a round: the steps from `begin` to before `end` of a tile. The first may be
    // shared.
    struct Work {
      Index tile, begin, end;
    };
    auto workOf = [&, block = block](const Index &round) {
      Predicate isPart = round < shares;
      Index part = block % parts;
      return Work{where(isPart, block / parts, sharedTiles + (round - shares) * blocks + block),
                  where(isPart, part * steps / parts, 0), where(isPart, (part + 1) * steps / parts, steps)};
    };
    Shared a = k.shared("a", bf16, {bm, bk}, {.slots = stages}),
           b = k.shared("b", bf16, {bn, bk}, {.slots = stages});
    Channel ab = k.channel("ab", {.slots = stages});
    k.roles([&, block = block] {
      k.role("load", {.warps = 4}, [&] {
        k.loop(shares + rounds, [&](Index round) {
          auto [tile, begin, end] = workOf(round);
          auto [i, j] = originOf(tile);
          k.loop({begin, end}, [&, i = i, j = j](Index s) {
            ab.put([&](const Slot &at) {
              copy(A.tile({i, s * bk}, {bm, bk}), a.slot(at));
              copy(B.tile({j, s * bk}, {bn, bk}), b.slot(at));
            });
          });
        });
      });
      k.role("math", {.warps = 8}, [&] {
        k.loop(shares + rounds, [&](Index round) {
          auto [tile, begin, end] = workOf(round);
          auto [i, j] = originOf(tile);
          Fragment acc = k.fragment(f32, {bm, bn}).named("acc");
          k.loop({begin, end}, [&, begin = begin](Index s) {
            Slot at = ab.get();
            gemmAsync(a.slot(at), b.slot(at).t(), acc);
            gemmWait(acc, 1); // the product before this one
            k.when(s > begin, [&] { ab.release(); });
          });
          gemmWait(acc);
          ab.release();
          k.when(
              end - begin < steps,
              [&] {
                copy(acc, sums.tile({block * bm, 0}, {bm, bn}).disjoint("a block has one part at most"));
              },
              [&, i = i, j = j] {
                copy(acc.to(bf16), C.tile({i, j}, {bm, bn}).disjoint("a block has a tile once"));
              });
        });
      });
    });
  });

  k.launch("stream_k_gemm_sum", [&] {
    constexpr int64_t some = 16;                                             // rows of a block
    auto [tile, chunk] = k.grid(sharedTiles * min(parts / 2, 1), bm / some); // a tile of one part is stored
    auto [i, j] = originOf(tile);
    Fragment sum = k.fragment(f32, {some, bn}), part = k.fragment(f32, {some, bn});
    k.loop(parts, [&, tile = tile, chunk = chunk](Index p) {
      copy(sums.tile({(tile * parts + p) * bm + chunk * some, 0}, {some, bn}), part);
      sum += part;
    });
    copy(sum.to(bf16), C.tile({i + chunk * some, j}, {some, bn}));
  });
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("stream_k_gemm", "C = A B^T by stream-K: blocks share the steps of the last tiles")
      .size("m", 4096, {.onEmulator = 300})
      .size("n", 4096, {.onEmulator = 300})
      .size("k", 4096, {.multipleOf = 8, .onEmulator = 200})
      .constant("blocks", 132,
                {.least = 1, .most = 1024, .onEmulator = 5, .help = "of the grid: multiprocessors"})
      .constant("columns", 256, {.least = 64, .most = 256, .multipleOf = 64, .help = "of a tile"})
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
