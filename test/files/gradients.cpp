// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels whose gradients have other types or lack something, for test/python/test_gradients.py.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t tile = 128;

FragmentValue loaded(Scope &k, Global tensor, ElementType type, const Index &i) {
  Fragment made = k.fragment(type, {tile});
  copy(tensor.tile({i * tile}, {tile}), made);
  return made.to(f32);
}

/// Y = factor X^2, where Y is of f32.
void square(Scope &k, const Values &v) {
  Index n = k.dim("n");
  ElementType type = v.type("dtype");
  Global X = k.input("X", type, {n}), Y = k.output("Y", f32, {n});
  auto [i] = k.grid(ceilDiv(n, tile));
  FragmentValue x = loaded(k, X, type, i);
  copy(x * x * v.number("factor"), Y.tile({i * tile}, {tile}));
}

/// Its gradient, if `factor` is 1. `dY` comes first, which is of another type than `X`.
void squareGradient(Scope &k, const Values &v) {
  Index n = k.dim("n");
  ElementType type = v.type("dtype");
  Global dY = k.input("dY", f32, {n}), X = k.input("X", type, {n}), dX = k.output("dX", type, {n});
  auto [i] = k.grid(ceilDiv(n, tile));
  copy((loaded(k, X, type, i) * loaded(k, dY, f32, i) * 2).to(type), dX.tile({i * tile}, {tile}));
}

/// Y = X dY.
void product(Scope &k, const Values &) {
  Index n = k.dim("n");
  Global X = k.input("X", f32, {n}), dY = k.input("dY", f32, {n}), Y = k.output("Y", f32, {n});
  auto [i] = k.grid(ceilDiv(n, tile));
  copy(loaded(k, X, f32, i) * loaded(k, dY, f32, i), Y.tile({i * tile}, {tile}));
}

/// The gradient of Y = X^2 with tensors of these names, a gradient of this type, and `added` elements too
/// many.
auto gradient(const char *input, const char *result, ElementType type = f32, int64_t added = 0) {
  return [=](Scope &k, const Values &) {
    Index n = k.dim("n");
    Global X = k.input("X", f32, {n}), dY = k.input(input, type, {n}),
           dX = k.output(result, f32, {n + added});
    auto [i] = k.grid(ceilDiv(n, tile));
    copy(loaded(k, X, f32, i) * loaded(k, dY, type, i) * 2, dX.tile({i * tile}, {tile}));
  };
}

/// The same that adds to dX, of f16.
void addedGradient(Scope &k, const Values &) {
  Index n = k.dim("n");
  Global X = k.input("X", f32, {n}), dY = k.input("dY", f32, {n}), dX = k.inout("dX", f16, {n});
  auto [i] = k.grid(ceilDiv(n, tile));
  copy((loaded(k, dX, f16, i) + loaded(k, X, f32, i) * loaded(k, dY, f32, i) * 2).to(f16),
       dX.tile({i * tile}, {tile}));
}

/// Of two axes, or of a constant extent.
void matrixGradient(Scope &k, const Values &) {
  Index m = k.dim("m"), n = k.dim("n");
  Global X = k.input("X", f32, {m, n}), dY = k.input("dY", f32, {n}), dX = k.output("dX", f32, {m, n});
  auto [i, j] = k.grid(m, ceilDiv(n, tile));
  Fragment x = k.fragment(f32, {1, tile});
  copy(X.tile({i, j * tile}, {1, tile}), x);
  copy(x, dX.tile({i, j * tile}, {1, tile}));
}

/// Y[m] = X[m, n] of column 0.
void column(Scope &k, const Values &) {
  Index m = k.dim("m"), n = k.dim("n");
  Global X = k.input("X", f32, {m, n}), Y = k.output("Y", f32, {m, 1});
  auto [i] = k.grid(m);
  Fragment x = k.fragment(f32, {1, 1});
  copy(X.tile({i, 0}, {1, 1}), x);
  copy(x, Y.tile({i, 0}, {1, 1}));
}

void columnGradient(Scope &k, const Values &) {
  Index m = k.dim("m"), n = k.dim("n");
  Global dY = k.input("dY", f32, {m, 1}), dX = k.output("dX", f32, {n, m});
  auto [i] = k.grid(m);
  Fragment x = k.fragment(f32, {1, 1});
  copy(dY.tile({i, 0}, {1, 1}), x);
  copy(x, dX.tile({0, i}, {1, 1}));
}

} // namespace

void registerKernels(KernelFile &file) {
  auto typed = [&](const char *name) -> auto & {
    return file.kernel(name, "of f16, bf16 or f32").size("n", 1000).type("dtype", {bf16, f16, f32}, "of X");
  };
  typed("square").number("factor", 1).program(square);
  typed("square_bwd").program(squareGradient);
  auto pair = [&](const std::string &name, auto backward) {
    file.kernel(name, "Y = X^2").size("n", 1000).program([](Scope &k, const Values &) {
      Index n = k.dim("n");
      Global X = k.input("X", f32, {n}), Y = k.output("Y", f32, {n});
      auto [i] = k.grid(ceilDiv(n, tile));
      FragmentValue x = loaded(k, X, f32, i);
      copy(x * x, Y.tile({i * tile}, {tile}));
    });
    file.kernel(name + "_bwd", "is meant to be its gradient").size("m", 10).size("n", 1000).program(backward);
  };
  pair("unread", gradient("Y", "dX"));
  pair("uncomputed", gradient("dY", "Z"));
  pair("of_f16", gradient("dY", "dX", f16));
  pair("longer", gradient("dY", "dX", f32, 1));
  pair("of_two_axes", matrixGradient);
  pair("added", addedGradient);
  file.kernel("ambiguous", "Y = X dY").size("n", 1000).program(product);
  file.kernel("ambiguous_bwd", "is meant to be its gradient").size("n", 1000).program(gradient("dY", "dX"));
  file.kernel("column", "column 0 of X").size("m", 10).size("n", 1000).program(column);
  file.kernel("column_bwd", "is meant to be its gradient")
      .size("m", 10)
      .size("n", 1000)
      .program(columnGradient);
}
