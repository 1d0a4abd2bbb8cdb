// SPDX-License-Identifier: Apache-2.0
/// \file
/// Inclusive sums along long rows: y[i] = x[0] + ... + x[i].
///
/// X and Y are [rows, n], f32. A row is cut into up to 4096 parts, so that a few long rows fill the device.
/// The first launch leaves the sum of each part in a workspace. In the second one a block adds up the sums of
/// the parts before its own, and scans its part from there. X is read twice, the second time from its end on,
/// where the L2 cache may still have it; the order of additions is fixed.
///
/// A part is read in tiles of 2048 columns, 16 for each of 128 threads, and one carries the sum of the tiles
/// before to the next one.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

void cumulativeSum(Scope &k) {
  constexpr int64_t width = 2048, parts = 4096;
  Index rows = k.dim("rows"), n = k.dim("n");
  Global X = k.input("X", f32, {rows, n}), Y = k.output("Y", f32, {rows, n});
  Global sums = k.workspace("sums", f32, {rows, parts});
  Index tiles = ceilDiv(n, width), ofPart = max(ceilDiv(tiles, parts), 1), used = ceilDiv(tiles, ofPart);
  k.launch("cumulative_sum_parts", [&] {
    auto [part, row] = k.grid(used, rows);
    Fragment x = k.fragment(f32, {1, width}), sum = k.fragment(f32, {1, width});
    k.loop({part * ofPart, min((part + 1) * ofPart, tiles), 1}, [&, row = row](Index j) {
      copy(X.tile({row, j * width}, {1, width}), x);
      sum += x;
    });
    copy(rowSum(sum), sums.tile({row, part}, {1, 1}));
  });
  k.launch("cumulative_sum_scan", [&] {
    auto [last, lastRow] = k.grid(used, rows);
    Index part = used - 1 - last, row = rows - 1 - lastRow; // the L2 cache has what was read last
    Fragment x = k.fragment(f32, {1, width}), sum = k.fragment(f32, {1, parts});
    copy(sums.tile({row, 0}, {1, parts}).limited(1, part), sum); // 0 from this part on
    Fragment before = rowSum(sum);
    k.loop({part * ofPart, min((part + 1) * ofPart, tiles), 1}, [&](Index j) {
      copy(X.tile({row, j * width}, {1, width}), x);
      copy(cumulative(Reduction::sum, x, 1) + before, Y.tile({row, j * width}, {1, width}));
      before += rowSum(x);
    });
  });
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
