// SPDX-License-Identifier: Apache-2.0
/// \file
/// One step of the heat equation on a plane: y = x + rate (up + down + left + right - 4 x), with 0 outside.
///
/// X and Y are [rows, columns], f32. A tile is 16 x 256, and its four neighbours are the same tile, moved by
/// one: five copies, of which the first level cache serves four. What is outside of the tensor reads as 0, so
/// that edges need no code of their own.
///
/// A thread has 32 elements, in vectors of four along a row; the tiles moved by one column begin at odd
/// elements, and are loaded one by one.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

void stencil(Scope &k, const Values &v) {
  constexpr int64_t height = 16, width = 256;
  Index rows = k.dim("rows"), columns = k.dim("columns");
  Global X = k.input("X", f32, {rows, columns}), Y = k.output("Y", f32, {rows, columns});
  auto [i, j] = k.grid(ceilDiv(rows, height), ceilDiv(columns, width));
  auto moved = [&, i = i, j = j](int64_t down, int64_t right) {
    Fragment x = k.fragment(f32, {height, width});
    copy(X.tile({i * height + down, j * width + right}, {height, width}), x);
    return x;
  };
  Fragment x = moved(0, 0);
  FragmentValue around = moved(-1, 0) + moved(1, 0) + moved(0, -1) + moved(0, 1);
  copy(x + v.number("rate") * (around - 4 * x), Y.tile({i * height, j * width}, {height, width}));
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("stencil", "one step of the heat equation on a plane: a stencil of five points")
      .size("rows", 8192, {.onEmulator = 37})
      .size("columns", 8192, {.onEmulator = 300})
      .number("rate", 0.125)
      .program(stencil)
      .reference("Y",
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X");
                   const double rate = in.values.number("rate");
                   auto at = [X](int64_t i, int64_t j) {
                     return i >= 0 && i < X.shape()[0] && j >= 0 && j < X.shape()[1] ? X(i, j) : 0.0;
                   };
                   return [=](int64_t i, int64_t j) {
                     const double around = at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1);
                     return X(i, j) + rate * (around - 4 * X(i, j));
                   };
                 })
      .flops([](const Values &v) { return 7.0 * double(v["rows"]) * double(v["columns"]); })
      .bench({{"rows", "16384"}});
}
