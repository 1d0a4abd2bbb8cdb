// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensors by a table of addresses.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {
void add(Scope &k) {
  Index groups = k.dim("groups"), m = k.dim("m"), n = k.dim("n");
  Addresses X = k.addresses("X", f32, groups), Y = k.addresses("Y", f32, groups, {.use = TensorUse::output});
  Global Z = k.input("Z", f32, {m, n});
  auto [g, i, j] = k.grid(groups, ceilDiv(m, 16), ceilDiv(n, 64));
  Fragment x = k.fragment(f32, {16, 64}), z = k.fragment(f32, {16, 64});
  copy(X.of(g, {m, n}, {n}).tile({i * 16, j * 64}, {16, 64}), x);
  copy(Z.tile({i * 16, j * 64}, {16, 64}), z);
  copy(x + z, Y.of(g, {m, n}, {n}).tile({i * 16, j * 64}, {16, 64}));
}
} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("add", "Y[g] = X[g] + Z")
      .size("groups", 3)
      .size("m", 33)
      .size("n", 70)
      .program(add)
      .members("X", {"m", "n"})
      .members("Y", {"m", "n"})
      .random("X", 2, 3)
      .reference("Y", [](const HostInputs &in) {
        return [X = in.tensor("X"), Z = in.tensor("Z")](int64_t g, int64_t i, int64_t j) {
          return X(g, i, j) + Z(i, j);
        };
      });
  file.kernel("without", "Y[g] = X[g] + Z")
      .size("groups", 3)
      .size("m", 33)
      .size("n", 70)
      .program(add)
      .members("X", {"m"});
  file.kernel("of_tensor", "Y[g] = X[g] + Z")
      .size("groups", 3)
      .size("m", 33)
      .size("n", 70)
      .program(add)
      .members("X", {"m", "n"})
      .members("Y", {"m", "n"})
      .members("Z", {"m", "n"});
}
