// SPDX-License-Identifier: Apache-2.0
/// \file
/// SwiGLU, forward and backward: the gate of a feed-forward layer.
///
///     s = 1 / (1 + exp(-g))       y = g s u       dg = dy u s (1 + g (1 - s))       du = dy g s
///
/// X is [rows, 2 n], bf16: a product left g in the first n columns and u in the others. Y is [rows, n]. Both
/// kernels read and write each element once, so that memory decides. A tile of 8 x 256 gives each of 128
/// threads 16 elements of each tensor, in two vectors of 16 bytes: few registers, so that a multiprocessor
/// has many blocks, of which some load while others compute. Tiles are taken row by row, as memory has them.
#include <array>
#include <cmath>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t rows = 8, width = 256; ///< of a tile

/// The place of this block's tile among those of a tensor of m rows and n columns.
std::array<Index, 2> tileOf(Scope &k, const Index &m, const Index &n) {
  Index across = ceilDiv(n, width);
  auto [block] = k.grid(ceilDiv(m, rows) * across);
  return {block / across, block % across};
}

void forward(Scope &k, const Values &) {
  Index m = k.dim("m"), n = k.dim("n");
  Global X = k.input("X", bf16, {m, 2, n}), Y = k.output("Y", bf16, {m, n});
  k.residents(11);
  auto [i, j] = tileOf(k, m, n);
  Fragment g = k.fragment(bf16, {rows, width}), u = k.fragment(bf16, {rows, width});
  copy(X.tile({i * rows, 0, j * width}, {rows, 1, width}), g);
  copy(X.tile({i * rows, 1, j * width}, {rows, 1, width}), u);
  FragmentValue gate = g.to(f32);
  copy((gate / (1 + exp(-gate)) * u.to(f32)).to(bf16), Y.tile({i * rows, j * width}, {rows, width}));
}

void backward(Scope &k, const Values &) {
  Index m = k.dim("m"), n = k.dim("n");
  Global X = k.input("X", bf16, {m, 2, n}), dY = k.input("dY", bf16, {m, n});
  Global dX = k.output("dX", bf16, {m, 2, n});
  k.residents(8);
  auto [i, j] = tileOf(k, m, n);
  Fragment g = k.fragment(bf16, {rows, width}), u = k.fragment(bf16, {rows, width});
  Fragment dy = k.fragment(bf16, {rows, width});
  copy(X.tile({i * rows, 0, j * width}, {rows, 1, width}), g);
  copy(X.tile({i * rows, 1, j * width}, {rows, 1, width}), u);
  copy(dY.tile({i * rows, j * width}, {rows, width}), dy);
  FragmentValue gate = g.to(f32), s = 1 / (1 + exp(-gate));
  FragmentValue dg = dy.to(f32) * u.to(f32) * s * (1 + gate * (1 - s)), du = dy.to(f32) * gate * s;
  copy(dg.to(bf16), dX.tile({i * rows, 0, j * width}, {rows, 1, width}));
  copy(du.to(bf16), dX.tile({i * rows, 1, j * width}, {rows, 1, width}));
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("swiglu", "Y = g sigmoid(g) u of the two halves g and u of each row of X")
      .size("m", 2048, {.onEmulator = 19})
      .size("n", 14336, {.onEmulator = 1000})
      .program(forward)
      .random("X", -6, 6)
      .reference("Y",
                 [](const HostInputs &in) {
                   return [X = in.tensor("X")](int64_t i, int64_t j) {
                     return X(i, 0, j) * sigmoid(X(i, 0, j)) * X(i, 1, j);
                   };
                 })
      .flops([](const Values &v) { return 5.0 * double(v["m"]) * double(v["n"]); })
      .bench({{"m", "16384"}, {"n", "4096"}});

  file.kernel("swiglu_bwd", "gradients of both halves of X from dY")
      .size("m", 2048, {.onEmulator = 19})
      .size("n", 14336, {.onEmulator = 1000})
      .program(backward)
      .random("X", -6, 6)
      .reference("dX",
                 [](const HostInputs &in) {
                   return [X = in.tensor("X"), dY = in.tensor("dY")](int64_t i, int64_t half, int64_t j) {
                     const double g = X(i, 0, j), s = sigmoid(g);
                     return dY(i, j) * (half ? g * s : X(i, 1, j) * s * (1 + g * (1 - s)));
                   };
                 })
      .flops([](const Values &v) { return 12.0 * double(v["m"]) * double(v["n"]); })
      .bench({{"m", "16384"}, {"n", "4096"}});
}
