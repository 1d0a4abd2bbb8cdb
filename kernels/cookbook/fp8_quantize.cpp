// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rows of bf16 to e4m3, where 128 elements have a scale in common: what fp8_block_gemm multiplies.
///
///     s = max(|x|) / 448          q = x / s
///
/// X is [m, k], bf16; Q is [m, k], e4m3; Scale is [m, k / 128], f32. k is a multiple of 128, and the program
/// sees X and Q as [m groups, 128], which is the same memory: each row of that has one scale. A group of
/// zeros has the scale 0. An infinity gives the scale infinity, and NaN where it is; a NaN does not change
/// its group's scale unless all are NaN.
///
/// A tile is 64 groups. 16 threads have a group, with 8 neighbours each, one load of 16 bytes; a thread has
/// elements of 8 groups. So the largest element of a group is found within a warp.
#include <algorithm>
#include <cmath>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t group = 128; ///< elements with one scale

void quantize(Scope &k) {
  constexpr int64_t rows = 64;
  Index groups = k.dim("groups");
  Global X = k.input("X", bf16, {groups, group});
  Global Q = k.output("Q", e4m3, {groups, group}), Scale = k.output("Scale", f32, {groups});
  auto [block] = k.grid(ceilDiv(groups, rows));
  Fragment x = k.fragment(bf16, {rows, group});
  copy(X.tile({block * rows, 0}, {rows, group}), x);
  FragmentValue largest = rowMax(abs(x.to(f32)));
  FragmentValue one = k.fragment(f32, {rows, 1}, 1);
  FragmentValue unit = where(largest < 0x1p-100, 0x1p100, one); // 448 / largest may be beyond f32
  copy((x.to(f32) * unit * divideOrZero(448, largest * unit)).to(e4m3),
       Q.tile({block * rows, 0}, {rows, group}));
  copy(largest * (1.0 / 448), Scale.tile({block * rows}, {rows}));
}

double largestOf(const HostArray &X, int64_t row) {
  double largest = NAN; // which fmax passes over
  for (int64_t j = 0; j < group; ++j)
    largest = std::fmax(largest, std::abs(X(row, j)));
  return largest;
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("fp8_quantize", "rows of bf16 to e4m3 with a scale of each 128 elements")
      .size("groups", 262144, {.onEmulator = 200, .help = "m k / 128"})
      .program(quantize)
      .random("X", -30, 30)
      .reference("Q",
                 [](const HostInputs &in) {
                   return [X = in.tensor("X")](int64_t i, int64_t j) {
                     const double largest = largestOf(X, i);
                     return largest == 0 ? 0 : X(i, j) * 448 / largest;
                   };
                 })
      .reference("Scale",
                 [](const HostInputs &in) {
                   return [X = in.tensor("X")](int64_t i) { return largestOf(X, i) / 448; };
                 })
      .flops([](const Values &v) { return 3.0 * double(v["groups"]) * double(group); })
      .bench({{"groups", "1048576"}});
}
