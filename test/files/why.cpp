// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels with wrong results, for `--why`.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

/// Y = 2 X + Z.
static void linear(Scope &k) {
  Index m = k.dim("m"), n = k.dim("n");
  Global X = k.input("X", f32, {m, n}), Z = k.input("Z", f32, {m, n});
  Global Y = k.output("Y", f32, {m, n});
  auto [i, j] = k.grid(ceilDiv(m, 16), ceilDiv(n, 64));
  Fragment x = k.fragment(f32, {16, 64}), z = k.fragment(f32, {16, 64});
  copy(X.tile({i * 16, j * 64}, {16, 64}), x);
  copy(Z.tile({i * 16, j * 64}, {16, 64}), z);
  FragmentValue doubled = x * 2;
  copy(doubled + z, Y.tile({i * 16, j * 64}, {16, 64}));
}

/// Each block reads what the block before it writes, which nothing orders.
static void unordered(Scope &k) {
  Index n = k.dim("n");
  Global X = k.input("X", f32, {n}), W = k.inout("W", f32, {n});
  Global Y = k.output("Y", f32, {n});
  auto [block] = k.grid(ceilDiv(n, 64));
  Fragment x = k.fragment(f32, {64}), before = k.fragment(f32, {64});
  copy(W.tile({max(block - 1, 0) * 64}, {64}), before);
  copy(before, Y.tile({block * 64}, {64}));
  copy(X.tile({block * 64}, {64}), x);
  copy(x, W.tile({block * 64}, {64}));
}

void registerKernels(KernelFile &file) {
  file.kernel("linear", "Y = 2 X + Z, but the reference says 3 Z from row 3 and column 17 on")
      .size("m", 40)
      .size("n", 130)
      .program(linear)
      .reference("Y", [](const HostInputs &in) {
        HostArray X = in.tensor("X"), Z = in.tensor("Z");
        return [=](int64_t i, int64_t j) { return 2 * X(i, j) + (i >= 3 && j >= 17 ? 3 : 1) * Z(i, j); };
      });
  file.kernel("unordered", "Y = the X of the block before")
      .size("n", 256)
      .program(unordered)
      .reference("W",
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X");
                   return [=](int64_t i) { return X(i); };
                 })
      .reference("Y", [](const HostInputs &in) {
        HostArray X = in.tensor("X"), W = in.tensor("W");
        return [=](int64_t i) { return i < 64 ? W(i) : X(i - 64); };
      });
}
