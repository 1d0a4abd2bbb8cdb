// SPDX-License-Identifier: Apache-2.0
/// \file
/// One step of the heat equation on a plane: y = x + rate (up + down + left + right - 4 x), with 0 outside.
///
/// X and Y are [rows, columns], f32. A tile is 4 x 256, of 64 threads with four elements of each row. Its
/// rows and the two above and below are loaded once, as vectors. The neighbours at the left and right are the
/// same rows, moved by one element: loads that begin at odd elements, one for each, which the first level
/// cache serves. What is outside of the tensor reads as 0, so that edges need no code of their own. Tiles are
/// small, so that many blocks share a multiprocessor, and are taken row by row, as memory has them.
#include <tlc/kernel.h>
#include <vector>

using namespace tlc;
using namespace tlc::dsl;

namespace {

void stencil(Scope &k, const Values &v) {
  constexpr int64_t height = 4, width = 256;
  Index rows = k.dim("rows"), columns = k.dim("columns");
  Global X = k.input("X", f32, {rows, columns}), Y = k.output("Y", f32, {rows, columns});
  Index across = ceilDiv(columns, width);
  k.warps(2);
  k.residents(16);
  auto [block] = k.grid(ceilDiv(rows, height) * across);
  Index first = block / across * height, column = block % across * width;
  auto load = [&](int64_t row, int64_t right) {
    Fragment x = k.fragment(f32, {1, width});
    copy(X.tile({first + row, column + right}, {1, width}), x);
    return x;
  };
  std::vector<Fragment> x, left, right; // x begins above the tile
  for (int64_t row = -1; row <= height; ++row)
    x.push_back(load(row, 0));
  for (int64_t row = 0; row < height; ++row) {
    left.push_back(load(row, -1));
    right.push_back(load(row, 1));
  }
  for (int64_t row = 0; row < height; ++row) {
    const Fragment &here = x[size_t(row) + 1];
    FragmentValue around = x[size_t(row)] + x[size_t(row) + 2] + left[size_t(row)] + right[size_t(row)];
    copy(here + v.number("rate") * (around - 4 * here), Y.tile({first + row, column}, {1, width}));
  }
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
