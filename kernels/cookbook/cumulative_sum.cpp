// SPDX-License-Identifier: Apache-2.0
/// \file
/// Inclusive sums along long rows: y[i] = x[0] + ... + x[i].
///
/// X and Y are [rows, n], f32. X is read once: a block has a tile of 8192 numbers of a row in registers, 32
/// for each of 256 threads, until it knows the sum of all that precede it. It notes the sum of its own tile
/// first. 128 tiles are a group, and the last block of a group notes the sum of the row up to the group's
/// end. So a block needs the note of the group before, and those of the tiles before its own in its group,
/// which it reads until all of them are there. A note is 64 bits, written and read atomically: a flag and a
/// sum in f32. Blocks take tiles in the order in which they start, so that none waits for one that has not
/// started. (After D. Merrill, M. Garland: Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016;
/// there it depends on the time which notes are added, here the result has the same bits in every run.)
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

void cumulativeSum(Scope &k) {
  constexpr int64_t width = 8192, group = 128; // numbers of a tile, tiles of a group
  Index rows = k.dim("rows"), n = k.dim("n"), tiles = ceilDiv(n, width);
  Global X = k.input("X", f32, {rows, n}), Y = k.output("Y", f32, {rows, n});
  Global started = k.workspace("started", i32, {1}, {Initial::zero}); // blocks
  Global ofTiles = k.workspace("of_tiles", i64, {rows, tiles}, {Initial::zero});
  Global ofGroups = k.workspace("of_groups", i64, {rows, ceilDiv(tiles, group)}, {Initial::zero});
  k.warps(8);
  k.residents(4); // while some wait for notes, others load and store
  [[maybe_unused]] auto [block] = k.grid(rows * tiles);
  Index number = take(started, {0}), row = number / tiles, tile = number % tiles;
  Index first = tile / group * group, place = tile - first; // in the group
  constexpr int64_t isThere = int64_t(1) << 32;
  auto note = [&](const FragmentValue &sum, const Slice &slice) {
    Fragment old = k.fragment(i64, {1, 1});
    atomicExchange(bitcast(sum, u32).to(i64) | isThere, slice, old);
  };
  auto sumOf = [&](const FragmentValue &note) { return bitcast(note.to(u32), f32); };

  Fragment x = k.fragment(f32, {1, width});
  copy(X.tile({row, tile * width}, {1, width}), x);
  FragmentValue sum = rowSum(x);
  note(sum, ofTiles.tile({row, tile}, {1, 1}));
  Fragment before = k.fragment(f32, {1, 1});
  Shared missing = k.shared("missing", i32, {1}); // whether one of the notes is not there
  k.loopWhile(where(tile > 0, Index(1 << 30), 0), [&](Index) -> Predicate {
    Fragment tileNotes = k.fragment(i64, {1, group}), groupNote = k.fragment(i64, {1, 1});
    atomicOr(0, ofTiles.tile({row, first}, {1, group}).limited(1, tile).fill(isThere), tileNotes);
    atomicOr(0, ofGroups.tile({row, first / group - 1}, {1, 1}).fill(isThere), groupNote); // 0 before the row
    FragmentValue count = rowSum((tileNotes >> 32).to(i32)) + (groupNote >> 32).to(i32);
    before = sumOf(groupNote) + rowSum(sumOf(tileNotes));
    copy(where(count < group + 1, k.fragment(i32, {1, 1}, 1), 0), missing);
    return missing.read({0}) > 0;
  });
  k.when(place == group - 1, [&] { note(before + sum, ofGroups.tile({row, first / group}, {1, 1})); });
  copy(cumulative(Reduction::sum, x, 1) + before, Y.tile({row, tile * width}, {1, width}));
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("cumulative_sum", "inclusive sums along long rows")
      .size("rows", 8, {.onEmulator = 3})
      .size("n", 4194304, {.onEmulator = 8200})
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
