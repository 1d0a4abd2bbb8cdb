// SPDX-License-Identifier: Apache-2.0
/// \file
/// How often each number from 0 to bins - 1 occurs. Other numbers do not count.
///
/// X is [n], i32; Count is [bins], i32. Each number is one atomic addition at its bin. Where few bins are hit
/// by many threads these wait for each other, so that blocks add to 64 copies of the counts in turn, and a
/// second launch adds the copies up.
///
/// A block has 4096 numbers, 32 for each of 128 threads. The second launch has 64 copies of 64 bins in a
/// tile.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

void histogram(Scope &k) {
  constexpr int64_t width = 4096, copies = 64, some = 64;
  Index n = k.dim("n"), bins = k.dim("bins");
  Global X = k.input("X", i32, {n}), Count = k.output("Count", i32, {bins});
  Global counts = k.workspace("counts", i32, {copies, bins}, {.initial = Initial::zero});
  k.launch("histogram_count", [&] {
    auto [block] = k.grid(ceilDiv(n, width));
    Fragment x = k.fragment(i32, {1, width});
    copy(X.tile({block * width}, {width}).fill(-1), x);
    atomicAdd(1, counts.tile({block % copies, x.toIndex()}, {1, width}));
  });
  k.launch("histogram_sum", [&] {
    auto [block] = k.grid(ceilDiv(bins, some));
    Fragment count = k.fragment(i32, {copies, some});
    copy(counts.tile({0, block * some}, {copies, some}), count);
    copy(reduce(Reduction::sum, count, 0), Count.tile({block * some}, {some}));
  });
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("histogram", "how often each number from 0 to bins - 1 occurs in X")
      .size("n", 16777216, {.onEmulator = 20000})
      .size("bins", 256, {.least = 1, .onEmulator = 100})
      .program(histogram)
      .contents("X",
                [](const HostInputs &in) { // some of them are beyond the bins, some below 0
                  return
                      [bins = in.values["bins"]](int64_t i) { return double(i * i * 31 % (bins + 5) - 2); };
                })
      .reference("Count",
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X");
                   std::vector<double> counts(static_cast<size_t>(in.values["bins"]));
                   for (int64_t i = 0; i < X.shape()[0]; ++i)
                     if (X(i) >= 0 && X(i) < double(counts.size()))
                       ++counts[size_t(X(i))];
                   return [=](int64_t bin) { return counts[size_t(bin)]; };
                 })
      .bench({{"bins", "65536"}});
}
