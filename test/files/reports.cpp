// SPDX-License-Identifier: Apache-2.0
/// \file
/// A kernel that prints and checks.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

void registerKernels(KernelFile &file) {
  file.kernel("counting", "X = 0, 1, 2, ...")
      .size("n", 64)
      .program([](Scope &k) {
        Index n = k.dim("n");
        Global X = k.output("X", i32, {n});
        auto [block] = k.grid(ceilDiv(n, 32));
        k.print("block {} of {}", block, k.blocks());
        FragmentValue x = k.positions({32}, 0) + (block * 32).to(i32);
        k.check(x < 70, "expected less than 70, but got {}", x);
        copy(x, X.tile({block * 32}, {32}));
      })
      .reference("X", [](const HostInputs &) { return [](int64_t i) { return double(i); }; });
}
