// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products of groups of rows, each with a matrix of its own, as in a mixture of experts: C = A B[g]^T for
/// the rows of group g.
///
/// A is [rows, k] with the rows of a group side by side, B is [groups, n, k], C is [rows, n], all bf16 and
/// row-major; Ends[g] is the position after the last row of group g, i32, read on the device. Rows of C after
/// the last group are 0, whatever those of A are.
///
/// How many tiles of 128 rows a group has is not known when the grid is made. So a first launch plans: each
/// tile's group, its first row and its group's end. There are at most rows / 128 tiles and one for each
/// group; those that are left over have no steps. Persistent blocks divide the tiles and their columns. A
/// group's last tile is limited to its end: rows of the next group are neither read nor written.
///
/// Two warpgroups compute a tile of 128 x 256, and four stages of 64 along k run ahead, also into the next
/// tile. The roles are written by hand; pointer_array_gemm.cpp has a `k.pipelined` loop in their place.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t most = 1024; ///< groups

void groupedGemm(Scope &k) {
  constexpr int64_t bm = 128, bn = 256, bk = 64, stages = 4;
  Index rows = k.dim("rows"), groups = k.dim("groups", {.most = most}), n = k.dim("n"), depth = k.dim("k");
  Global A = k.input("A", bf16, {rows, depth}, {.alignment = 16}),
         B = k.input("B", bf16, {groups, n, depth}, {.alignment = 16});
  Global Ends = k.input("Ends", i32, {groups}), C = k.output("C", bf16, {rows, n});
  Index tiles = ceilDiv(rows, bm) + groups, columns = ceilDiv(n, bn), steps = ceilDiv(depth, bk);
  Global plan = k.workspace("plan", i32, {tiles, 4}); // of each tile: group, first row, group's end

  k.launch("grouped_gemm_plan", [&] {
    constexpr int64_t some = 4; // tiles of a block
    auto [i] = k.grid(ceilDiv(tiles, some));
    Fragment begin = k.fragment(i32, {1, most}), end = k.fragment(i32, {1, most});
    copy(Ends.tile({-1}, {most}), begin); // that of group -1 is 0
    copy(Ends.tile({0}, {most}), end);
    Predicate isThere = k.positions({1, most}, 1) < groups.to(i32);
    FragmentValue tilesEnd = cumulative(Reduction::sum, where(isThere, (end - begin + (bm - 1)) / bm, 0), 1);
    FragmentValue tile = k.positions({some, 1}, 0) + (i * some).to(i32);
    Predicate isPast = tilesEnd <= tile && isThere; // all tiles of the group come before this one
    FragmentValue firstRow = rowMax(where(isPast, end, 0)), firstTile = rowMax(where(isPast, tilesEnd, 0));
    copy(rowSum(where(isPast, k.fragment(i32, {some, most}, 1), 0)), plan.tile({i * some, 0}, {some, 1}));
    copy(firstRow + (tile - firstTile) * bm, plan.tile({i * some, 1}, {some, 1}));
    copy(rowMin(where(isPast || !isThere, rows.to(i32), end)), plan.tile({i * some, 2}, {some, 1}));
  });

  k.launch("grouped_gemm", [&] {
    auto [block] = k.grid(min(tiles * columns, k.multiprocessors()));
    Index blocks = k.blocks();
    struct Work {
      Index group, row, end, column, steps;
    };
    auto workOf = [&](const Index &number) {
      Index tile = number / columns, group = plan.read({tile, 0}), row = plan.read({tile, 1}),
            end = plan.read({tile, 2});
      return Work{group, row, end, number % columns * bn, where(group < groups && row < end, steps, 0)};
    };
    Shared a = k.shared("a", bf16, {bm, bk}, {.slots = stages}),
           b = k.shared("b", bf16, {bn, bk}, {.slots = stages});
    Channel ab = k.channel("ab", {.slots = stages});
    k.roles([&, block = block] {
      k.role("load", {.warps = 4}, [&] {
        k.loop({block, tiles * columns, blocks}, [&](Index number) {
          Work work = workOf(number);
          k.loop(work.steps, [&](Index s) {
            ab.put([&](const Slot &at) {
              copy(A.tile({work.row, s * bk}, {bm, bk}).limited(0, work.end), a.slot(at));
              copy(B.tile({work.group, work.column, s * bk}, {1, bn, bk}), b.slot(at));
            });
          });
        });
      });
      k.role("math", {.warps = 8}, [&] {
        k.loop({block, tiles * columns, blocks}, [&](Index number) {
          Work work = workOf(number);
          Fragment acc = k.fragment(f32, {bm, bn}).named("acc");
          k.loop(work.steps, [&](Index s) {
            Slot at = ab.get();
            gemmAsync(a.slot(at), b.slot(at).t(), acc);
            gemmWait(acc, 1); // the product before this one
            k.when(s > 0, [&] { ab.release(); });
          });
          gemmWait(acc);
          k.when(work.steps > 0, [&] { ab.release(); });
          copy(acc.to(bf16), C.tile({work.row, work.column}, {bm, bn})
                                 .limited(0, work.end)
                                 .disjoint("a block has a tile once"));
        });
      });
    });
  });
}

/// Of group g: groups differ, one is empty, and up to 31 rows are of none.
int64_t endOf(int64_t group, int64_t groups, int64_t rows) {
  rows -= rows % 64 / 2;
  if (group + 1 == groups)
    return rows;
  return rows * (group == 1 ? 1 : (group + 1) * (group + 1)) / (groups * groups);
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("grouped_gemm", "C = A B[g]^T for the rows of each group g, which Ends delimits")
      .size("rows", 8192, {.onEmulator = 300})
      .size("groups", 8, {.least = 1, .most = most, .onEmulator = 3})
      .size("n", 2048, {.onEmulator = 136})
      .size("k", 2048, {.multipleOf = 8, .onEmulator = 104})
      .program(groupedGemm)
      .contents("Ends",
                [](const HostInputs &in) {
                  return [rows = in.values["rows"], groups = in.values["groups"]](int64_t g) {
                    return double(endOf(g, groups, rows));
                  };
                })
      .reference("C",
                 [](const HostInputs &in) {
                   HostArray A = in.tensor("A"), B = in.tensor("B"), Ends = in.tensor("Ends");
                   return [=, groups = in.values["groups"], depth = in.values["k"]](int64_t i, int64_t j) {
                     int64_t group = 0;
                     while (group < groups && double(i) >= Ends(group))
                       ++group;
                     double sum = 0;
                     for (int64_t l = 0; group < groups && l < depth; ++l)
                       sum += A(i, l) * B(group, j, l);
                     return sum;
                   };
                 })
      .flops([](const Values &v) { return 2.0 * double(v["rows"]) * double(v["n"]) * double(v["k"]); })
      .bench({{"rows", "16384"}, {"groups", "16"}, {"n", "4096"}, {"k", "4096"}});
}
