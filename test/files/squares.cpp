// SPDX-License-Identifier: Apache-2.0
/// \file
/// A kernel and its gradient, which docs/python.md names.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

/// Y = factor X^2.
void squares(Scope &k, const Values &v) {
  Index n = k.dim("n");
  Global X = k.input("X", f32, {n}), Y = k.output("Y", f32, {n});
  auto [i] = k.grid(ceilDiv(n, 128));
  Fragment x = k.fragment(f32, {128});
  copy(X.tile({i * 128}, {128}), x);
  copy(x * x * v.number("factor"), Y.tile({i * 128}, {128}));
}

void gradient(Scope &k, const Values &v) {
  Index n = k.dim("n");
  Global X = k.input("X", f32, {n}), dY = k.input("dY", f32, {n}), dX = k.output("dX", f32, {n});
  auto [i] = k.grid(ceilDiv(n, 128));
  Fragment x = k.fragment(f32, {128}), dy = k.fragment(f32, {128});
  copy(X.tile({i * 128}, {128}), x);
  copy(dY.tile({i * 128}, {128}), dy);
  copy(x * dy * (2 * v.number("factor")), dX.tile({i * 128}, {128}));
}

void registerKernels(KernelFile &file) {
  file.kernel("squares", "Y = factor X^2").size("n", 1000).number("factor", 1).program(squares);
  file.kernel("squares_bwd", "its gradient").size("n", 1000).number("factor", 1).program(gradient);
}
