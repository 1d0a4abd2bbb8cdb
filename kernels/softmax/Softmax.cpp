// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program of the softmax: in one pass where a row fits the registers of a
/// block, else with a running maximum and sum, and a second pass for the result.
#include "kernels/softmax/Softmax.h"

#include "runtime/target/Hardware.h"

#include <algorithm>
#include <bit>
#include <numbers>

namespace tlc::kernels {

using namespace dsl;

namespace {
constexpr double log2e = std::numbers::log2e;

FragmentValue exponential(const FragmentValue &x, const FragmentValue &base) {
  return exp2((x - base) * log2e);
}
} // namespace

Program softmaxProgram(const SoftmaxConfig &c, const TraceOptions &options) {
  return Program::trace("softmax", options, [&](Scope &k) {
    Index rows = k.dim("rows"), columns = k.dim("columns");
    Global X = k.input("X", c.dtype, {rows, columns}), Y = k.output("Y", c.dtype, {rows, columns});
    k.warps(c.warps);
    auto [block] = k.grid(ceilDiv(rows, c.rows));
    auto tileOf = [&](const Global &tensor, Index column) {
      return tensor.tile({block * c.rows, column}, {c.rows, c.columns});
    };
    auto load = [&](Index column) {
      Fragment x = k.fragment(c.dtype, {c.rows, c.columns});
      copy(tileOf(X, column).fill(-inf), x);
      return x.to(f32);
    };

    auto inOnePass = [&] {
      FragmentValue x = load(0);
      FragmentValue p = exponential(x, finiteOrZero(rowMax(x)));
      // A division for each row, not for each element.
      copy((p * divideOrZero(1, rowSum(p))).to(c.dtype), tileOf(Y, 0));
    };
    auto inTwoPasses = [&] {
      Fragment maximum = k.fragment(f32, {c.rows, 1}, -inf), sum = k.fragment(f32, {c.rows, 1});
      Index tiles = ceilDiv(columns, c.columns);
      k.loop(tiles, [&](Index j) {
        FragmentValue x = load(j * c.columns);
        Fragment next = max(maximum, rowMax(x)), base = finiteOrZero(next);
        sum = sum * exponential(maximum, base) + rowSum(exponential(x, base));
        maximum = next;
      });
      FragmentValue base = finiteOrZero(maximum), scale = divideOrZero(1, sum);
      k.loop(tiles, [&](Index j) {
        copy((exponential(load(j * c.columns), base) * scale).to(c.dtype), tileOf(Y, j * c.columns));
      });
    };
    k.when(columns <= c.columns, inOnePass, inTwoPasses);
  });
}

SoftmaxConfig chooseSoftmaxConfig(int64_t columns, ElementType dtype) {
  constexpr int64_t perThread = 32, leastColumns = 32, mostColumns = 8192, leastWarps = 4;
  SoftmaxConfig config{.dtype = dtype};
  config.columns =
      std::clamp(int64_t(std::bit_ceil(uint64_t(std::max<int64_t>(columns, 1)))), leastColumns, mostColumns);
  config.warps = std::max(leastWarps, config.columns / (perThread * lanesPerWarp));
  config.rows = config.warps * lanesPerWarp * perThread / config.columns;
  return config;
}

} // namespace tlc::kernels
