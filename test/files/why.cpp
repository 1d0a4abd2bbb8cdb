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

/// The same with the X of each block.
static void unorderedSum(Scope &k) {
  Index n = k.dim("n");
  Global X = k.input("X", f32, {n}), W = k.inout("W", f32, {n});
  Global Y = k.output("Y", f32, {n});
  auto [block] = k.grid(ceilDiv(n, 64));
  Fragment x = k.fragment(f32, {64}), before = k.fragment(f32, {64});
  copy(W.tile({max(block - 1, 0) * 64}, {64}), before);
  copy(X.tile({block * 64}, {64}), x);
  copy(before + x, Y.tile({block * 64}, {64}));
  copy(x, W.tile({block * 64}, {64}));
}

/// Y[g] = 2 X[g] + Z.
static void doubleMembers(Scope &k) {
  Index groups = k.dim("groups"), n = k.dim("n");
  Addresses X = k.addresses("X", f32, groups, {.axes = 1}),
            Y = k.addresses("Y", f32, groups, {.axes = 1, .use = TensorUse::output});
  Global Z = k.input("Z", f32, {n});
  auto [g] = k.grid(groups);
  Fragment x = k.fragment(f32, {64}), z = k.fragment(f32, {64});
  copy(Z.tile({0}, {64}), z);
  copy(X.of(g, {n}, {}).tile({0}, {64}), x);
  copy(x * 2 + z, Y.of(g, {n}, {}).tile({0}, {64}));
}

/// Y = X, of 4 bits.
static void nibbles(Scope &k) {
  Index n = k.dim("n");
  Global X = k.input("X", e2m1, {n}), Y = k.output("Y", e2m1, {n});
  auto [block] = k.grid(ceilDiv(n, 64));
  Fragment x = k.fragment(e2m1, {64});
  copy(X.tile({block * 64}, {64}), x);
  copy(x, Y.tile({block * 64}, {64}));
}

/// Y = 2 X plus the sum of Offsets.
static void shifted(Scope &k) {
  Index count = k.dim("count"), n = k.dim("n");
  Global Offsets = k.input("Offsets", f32, {count}), X = k.input("X", f32, {n}), Y = k.output("Y", f32, {n});
  auto [block] = k.grid(ceilDiv(n, 64));
  Fragment x = k.fragment(f32, {64}), offset = k.fragment(f32, {64});
  copy(X.tile({block * 64}, {64}), x);
  k.loop(ceilDiv(count, 64), [&](Index i) {
    copy(Offsets.tile({i * 64}, {64}), offset);
    x = x + offset;
  });
  copy(x * 2, Y.tile({block * 64}, {64}));
}

void registerKernels(KernelFile &file) {
  file.kernel("unordered_sum", "Y = X and the X of the block before, but the reference says 0")
      .size("n", 256)
      .program(unorderedSum)
      .reference("W", [](const HostInputs &in) { return [X = in.tensor("X")](int64_t i) { return X(i); }; })
      .reference("Y", [](const HostInputs &) { return [](int64_t) { return 0.0; }; });
  file.kernel("members", "Y[g] = 2 X[g] + Z, but the reference says 3 X[g]")
      .size("groups", 3)
      .size("n", 64)
      .program(doubleMembers)
      .members("X", {"n"})
      .members("Y", {"n"})
      .reference("Y", [](const HostInputs &in) {
        return [X = in.tensor("X")](int64_t g, int64_t i) { return 3 * X(g, i); };
      });
  file.kernel("nibbles", "Y = X, of 4 bits")
      .size("n", 256)
      .program(nibbles)
      .reference("Y", [](const HostInputs &in) { return [X = in.tensor("X")](int64_t i) { return X(i); }; });
  file.kernel("shifted", "Y = 2 X plus the sum of no offsets")
      .size("count", 0)
      .size("n", 100)
      .program(shifted)
      .contents("Offsets", [](const HostInputs &) { return [](int64_t) { return 0.0; }; })
      .reference("Y",
                 [](const HostInputs &in) { return [X = in.tensor("X")](int64_t i) { return 2 * X(i); }; });
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
