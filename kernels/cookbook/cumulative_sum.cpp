// SPDX-License-Identifier: Apache-2.0
/// \file
/// Inclusive sums along long rows: y[i] = x[0] + ... + x[i].
///
/// X and Y are [rows, n], f32. X is read once: a block has a tile of 8192 numbers of a row in registers, 32
/// for each of 256 threads, until it knows the sum of all tiles before. For each tile there is a note of 64
/// bits, a kind and a sum in f32, written and read atomically. A block first notes the sum of its tile. It
/// then reads the notes of 128 tiles before, again and again until all of them are there from the last one on
/// that says the sum of its row up to its end, or else goes on to those before these. So it gets the sum up
/// to its own tile, notes the sum up to its end, and writes its numbers. Blocks take tiles in the order in
/// which they start, so that none waits for one that has not started. (D. Merrill, M. Garland: Single-pass
/// Parallel Prefix Scan with Decoupled Look-back, 2016.)
///
/// Which notes a block finds differs from run to run, and so may the last bits.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t none = 0, ofTile = 1, ofRow = 2; ///< what the sum of a note is of

void cumulativeSum(Scope &k, const Values &v) {
  const int64_t width = v["width"], window = v["window"];
  Index rows = k.dim("rows"), n = k.dim("n"), tiles = ceilDiv(n, width);
  Global X = k.input("X", f32, {rows, n}), Y = k.output("Y", f32, {rows, n});
  Global started = k.workspace("started", i32, {1}, {Initial::zero}); // blocks
  Global notes = k.workspace("notes", i64, {rows, tiles}, {Initial::zero});
  k.warps(v["warps"]);
  k.residents(v["residents"]); // while some wait for notes, others load and store
  [[maybe_unused]] auto [block] = k.grid(rows * tiles);
  Index number = take(started, {0}), row = number / tiles, tile = number % tiles;
  auto note = [&](const FragmentValue &sum, int64_t kind) {
    Fragment old = k.fragment(i64, {1, 1});
    atomicExchange(bitcast(sum, u32).to(i64) | kind << 32, notes.tile({row, tile}, {1, 1}), old);
  };
  Fragment x = k.fragment(f32, {1, width}), before = k.fragment(f32, {1, 1});
  copy(X.tile({row, tile * width}, {1, width}), x);
  FragmentValue sum = rowSum(x);
  note(sum, ofTile);
  Shared first = k.shared("first", i32, {1}); // of the tiles whose notes are read
  first.write({0}, tile - window);
  k.loopWhile(where(tile > 0, Index(1 << 30), 0), [&](Index) -> Predicate {
    Index from = first.read({0});
    Fragment seen = k.fragment(i64, {1, window}), next = k.fragment(i32, {1, 1}, from.to(i32));
    atomicOr(0, notes.tile({row, from}, {1, window}).fill(ofTile << 32), seen); // 0 before the row
    FragmentValue kind = (seen >> 32).to(i32), position = k.positions({1, window}, 1);
    FragmentValue last = rowMax(where(kind == ofRow, position, -1));
    FragmentValue leastKind = rowMin(where(position > last, kind, ofTile));
    FragmentValue part = rowSum(where(position >= last, bitcast(seen.to(u32), f32), 0));
    before += where(leastKind == none, 0, part);
    next = where(leastKind == none, next, where(last < 0, next - window, -window));
    copy(next, first);
    return first.read({0}) > -window;
  });
  note(before + sum, ofRow);
  copy(cumulative(Reduction::sum, x, 1) + before, Y.tile({row, tile * width}, {1, width}));
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("cumulative_sum", "inclusive sums along long rows")
      .size("rows", 8, {.onEmulator = 3})
      .size("n", 4194304, {.onEmulator = 8200})
      .constant("width", 8192, {.least = 128, .most = 65536})
      .constant("warps", 8, {.least = 4, .most = 32})
      .constant("residents", 4, {.least = 1, .most = 16})
      .constant("window", 128, {.least = 32, .most = 1024})
      .program(cumulativeSum)
      .reference("Y",
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X");
                   std::vector<double> sums;
                   const int64_t n = in.values["n"];
                   for (int64_t i = 0; i < in.values["rows"]; ++i)
                     for (int64_t j = 0; j < n; ++j)
                       sums.push_back((j ? sums.back() : 0) + X(i, j));
                   return [=](int64_t i, int64_t j) { return sums[size_t(i * n + j)]; };
                 })
      .flops([](const Values &v) { return 2.0 * double(v["rows"]) * double(v["n"]); })
      .bench({{"rows", "1"}, {"n", "134217728"}});
}
