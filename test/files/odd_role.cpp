// SPDX-License-Identifier: Apache-2.0
/// \file
/// A mistake that shows only when the program is compiled: wgmma needs warps that make up a warpgroup.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

void oddRole(Scope &k, const Values &) {
  Index n = k.dim("n");
  Global X = k.input("X", bf16, {n, 64}), Y = k.output("Y", f32, {64, 64});
  Shared x = k.shared("x", bf16, {64, 64});
  copy(X.tile({0, 0}, {64, 64}), x);
  k.roles([&] {
    k.role("idle", {.warps = 1}, [] {});
    k.role("math", {.warps = 4}, [&] {
      Fragment sum = k.fragment(f32, {64, 64});
      gemmAsync(x, x.t(), sum);
      gemmWait(sum);
      copy(sum, Y.tile({0, 0}, {64, 64}));
    });
  });
}

void registerKernels(KernelFile &file) {
  file.kernel("odd_role", "a role of one warp before one of a product").size("n", 64).program(oddRole);
}
