// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensors with any stride of the last axis.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

void registerKernels(KernelFile &file) {
  file.kernel("add", "Y = X + row")
      .size("m", 33)
      .size("n", 70)
      .program([](Scope &k, const Values &) {
        constexpr TensorFacts any = {.lastStride = LastStride::any};
        Index m = k.dim("m"), n = k.dim("n");
        Global X = k.input("X", f32, {m, n}, any), row = k.input("row", f32, {n});
        Global Y = k.output("Y", f32, {m, n}, any);
        auto [i, j] = k.grid(ceilDiv(m, 16), ceilDiv(n, 64));
        Fragment x = k.fragment(f32, {16, 64}), y = k.fragment(f32, {1, 64});
        copy(X.tile({i * 16, j * 64}, {16, 64}), x);
        copy(row.tile({j * 64}, {64}), y);
        copy(x + y, Y.tile({i * 16, j * 64}, {16, 64}));
      })
      .reference("Y", [](const HostInputs &in) {
        return
            [X = in.tensor("X"), row = in.tensor("row")](int64_t i, int64_t j) { return X(i, j) + row(j); };
      });
}
