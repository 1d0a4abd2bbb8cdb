// SPDX-License-Identifier: Apache-2.0
/// \file
/// How often each number from 0 to bins - 1 occurs. Other numbers do not count.
///
/// X is [n], i32; Count is [bins], i32. Blocks take parts of the numbers in turn, 16 for each thread. Up to
/// `held` bins are in the shared memory of a block, which keeps its own counts there: each number is one
/// atomic addition to them, and in the end they are added to those of other blocks. The more it holds, the
/// fewer and the larger are the blocks of a multiprocessor: four of 8 warps with 8192 bins, one of 32 with
/// 49152. Where there are more bins, each number is an atomic addition in L2. Where threads hit few bins
/// there they wait for each other, so that blocks add to 64 copies of the counts in turn, and a second launch
/// adds the copies up: 64 copies of 64 bins in a tile.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

void histogram(Scope &k, const Values &v) {
  constexpr int64_t copies = 64, some = 64;
  const int64_t held = v["held"],
                residents = held <= 8192    ? 4
                            : held <= 24576 ? 2
                                            : 1,
                warps = 32 / residents, width = warps * 512;
  Index n = k.dim("n"), bins = k.dim("bins"), parts = ceilDiv(n, width);
  Global X = k.input("X", i32, {n}), Count = k.output("Count", i32, {bins});
  Global counts = k.workspace("counts", i32, {copies, bins}, {.initial = Initial::zero});
  k.launch("histogram_count", [&] {
    k.warps(warps);
    k.residents(residents); // while some add, others load
    auto [block] = k.grid(min(parts, k.multiprocessors() * residents));
    Shared own = k.shared("own", i32, {held});
    FragmentValue ones = k.fragment(i32, {1, width}, 1);
    auto ofParts = [&, block = block](auto &&add) {
      k.loop({block, parts, k.blocks()}, [&](Index part) {
        Fragment x = k.fragment(i32, {1, width});
        copy(X.tile({part * width}, {width}).fill(-1), x);
        add(x.toIndex());
      });
    };
    auto inShared = [&, block = block] {
      constexpr int64_t together = 1024;
      fill(own, 0);
      ofParts([&](const Index &bin) { atomicAdd(ones, own.tile({bin}, {width})); });
      k.loop(ceilDiv(bins, together), [&](Index j) {
        Fragment count = k.fragment(i32, {1, together});
        copy(own.tile({j * together}, {together}), count);
        atomicAdd(count, counts.tile({block % copies, j * together}, {1, together}));
      });
    };
    auto inL2 = [&, block = block] {
      ofParts([&](const Index &bin) { atomicAdd(ones, counts.tile({block % copies, bin}, {1, width})); });
    };
    k.when(bins <= held, inShared, inL2);
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
      .constant("held", 8192,
                {.least = 1024, .most = 49152, .multipleOf = 1024, .help = "bins in shared memory"})
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
