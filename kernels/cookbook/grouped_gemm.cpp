// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products of groups of rows, each with a matrix of its own, as in a mixture of experts: C = A B[g]^T for
/// the rows of group g.
///
/// A is [rows, k] with the rows of a group side by side, B is [groups, n, k], C is [rows, n], all bf16 and
/// row-major; Ends[g] is the position after the last row of group g, i32, read on the device.
///
/// The third axis of the grid is the group, the first one its tiles of 128 rows. How many a group has is not
/// known when the grid is made, so that there are as many as for all rows in one group; blocks beyond the
/// group's end leave at once. The group's last tile is limited to its end: rows of the next group are neither
/// read nor written. Two warpgroups compute a tile of 128 x 128, and four stages of 64 along k run ahead.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

void groupedGemm(Scope &k) {
  constexpr int64_t bm = 128, bn = 128, bk = 64;
  Index rows = k.dim("rows"), groups = k.dim("groups"), n = k.dim("n"), depth = k.dim("k");
  Global A = k.input("A", bf16, {rows, depth}), B = k.input("B", bf16, {groups, n, depth});
  Global Ends = k.input("Ends", i32, {groups}), C = k.output("C", bf16, {rows, n});
  auto [i, j, group] = k.grid(ceilDiv(rows, bm), ceilDiv(n, bn), groups);
  Index begin = Ends.read({group - 1}), end = Ends.read({group}); // that of group -1 is 0
  Index row = begin + i * bm;
  k.when(row < end, [&, j = j, group = group] {
    Shared a = k.shared("a", bf16, {bm, bk}), b = k.shared("b", bf16, {bn, bk});
    Fragment acc = k.fragment(f32, {bm, bn}).named("acc");
    k.pipelined(ceilDiv(depth, bk), {.stages = 4}, [&](Index s) {
      copy(A.tile({row, s * bk}, {bm, bk}).limited(0, end), a);
      copy(B.tile({group, j * bn, s * bk}, {1, bn, bk}), b);
      gemm(a, b.t(), acc);
    });
    copy(acc.to(bf16), C.tile({row, j * bn}, {bm, bn}).limited(0, end));
  });
}

/// Of group g: groups differ, and one is empty.
int64_t endOf(int64_t group, int64_t groups, int64_t rows) {
  if (group + 1 == groups)
    return rows;
  return rows * (group == 1 ? 1 : (group + 1) * (group + 1)) / (groups * groups);
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("grouped_gemm", "C = A B[g]^T for the rows of each group g, which Ends delimits")
      .size("rows", 8192, {.onEmulator = 300})
      .size("groups", 8, {.least = 1, .onEmulator = 3})
      .size("n", 2048, {.onEmulator = 136})
      .size("k", 2048, {.onEmulator = 104})
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
                   return [=, depth = in.values["k"]](int64_t i, int64_t j) {
                     int64_t group = 0;
                     while (double(i) >= Ends(group))
                       ++group;
                     double sum = 0;
                     for (int64_t l = 0; l < depth; ++l)
                       sum += A(i, l) * B(group, j, l);
                     return sum;
                   };
                 })
      .flops([](const Values &v) { return 2.0 * double(v["rows"]) * double(v["n"]) * double(v["k"]); })
      .bench({{"rows", "16384"}, {"groups", "16"}, {"n", "4096"}, {"k", "4096"}});
}
