// SPDX-License-Identifier: Apache-2.0
/// \file
/// The gradient of softmax along rows, from its result y and the gradient dy of that.
///
///     dx = y (dy - sum(y dy))
///
/// Y, dY and dX are [rows, columns], of one type; arithmetic is f32. A tile has 4096 elements: of one row, or
/// of several rows that are short. A row that fits a tile stays in registers between the sum and the result.
/// A longer one is read a second time for the result, from its last tile to its first, as the L2 cache has
/// the last tiles.
///
/// A row of zeros, which is the softmax of -infinity alone, has the gradient 0.
#include <algorithm>
#include <bit>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

void backward(Scope &k, const Values &v) {
  const int64_t most = 4096, least = 64;
  const int64_t width = std::clamp(int64_t(std::bit_ceil(uint64_t(v["columns"]))), least, most);
  const int64_t height = most / width;
  const ElementType type = v.type("dtype");
  Index m = k.dim("rows"), n = k.dim("columns");
  Global Y = k.input("Y", type, {m, n}), dY = k.input("dY", type, {m, n});
  Global dX = k.output("dX", type, {m, n});
  k.warps(8);
  auto [block] = k.grid(ceilDiv(m, height));
  Index row = block * height;
  Fragment y = k.fragment(type, {height, width}), dy = k.fragment(type, {height, width});
  auto load = [&](const Index &column) {
    copy(Y.tile({row, column}, {height, width}), y); // 0 beyond the end
    copy(dY.tile({row, column}, {height, width}), dy);
  };
  auto product = [&] { return y.to(f32) * dy.to(f32); };
  auto store = [&](const FragmentValue &sum, const Index &column) {
    copy((y.to(f32) * (dy.to(f32) - sum)).to(type), dX.tile({row, column}, {height, width}));
  };
  auto inOnePass = [&] {
    load(0);
    store(rowSum(product()), 0);
  };
  auto inTwoPasses = [&] {
    Fragment products = k.fragment(f32, {height, width});
    Index tiles = ceilDiv(n, width);
    k.loop(tiles, [&](Index j) {
      load(j * width);
      products += product();
    });
    FragmentValue sum = rowSum(products);
    k.loop(tiles, [&](Index j) {
      Index column = (tiles - 1 - j) * width;
      load(column);
      store(sum, column);
    });
  };
  k.when(n <= width, inOnePass, inTwoPasses);
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("softmax_bwd", "gradient of softmax along rows, from its result Y and dY")
      .size("rows", 4096, {.onEmulator = 11})
      .size("columns", 4096, {.onEmulator = 1000})
      .type("dtype", {bf16, f16, f32}, "type of all tensors")
      .program(backward)
      .reference("dX",
                 [](const HostInputs &in) {
                   HostArray Y = in.tensor("Y"), dY = in.tensor("dY");
                   std::vector<double> sums;
                   for (int64_t i = 0; i < in.values["rows"]; ++i) {
                     double sum = 0;
                     for (int64_t j = 0; j < in.values["columns"]; ++j)
                       sum += Y(i, j) * dY(i, j);
                     sums.push_back(sum);
                   }
                   return [=](int64_t i, int64_t j) { return Y(i, j) * (dY(i, j) - sums[size_t(i)]); };
                 })
      .flops([](const Values &v) { return 5.0 * double(v["rows"]) * double(v["columns"]); })
      .bench({{"rows", "16384"}, {"columns", "8192"}});
}
