// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels of several ranks. The first part is an example of docs/your-own-file.md.
// [file]
#include <tlc/compiler/dsl/Counts.h>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

/// Y = the sum of the X of all ranks.
void total(Scope &k, const Values &v) {
  const int64_t tile = v["tile"];
  Index n = k.dim("n"), rank = k.rank(), ranks = k.ranks();
  Symmetric X = k.symmetric("X", f32, {n}, {.use = TensorUse::input});
  Global Y = k.output("Y", f32, {n});
  SymmetricOptions counts = {.use = TensorUse::workspace, .initial = Initial::zero};
  Symmetric ended = k.symmetric("ended", i32, {1}, counts);
  k.launch("sum", [&] {
    auto [block] = k.grid(ceilDiv(n, tile));
    Fragment sum = k.fragment(f32, {tile}), x = k.fragment(f32, {tile});
    k.loop(ranks, [&](Index other) {
      copy(X.of(other).tile({block * tile}, {tile}), x);
      sum += x;
    });
    copy(sum, Y.tile({block * tile}, {tile}));
  });
  k.launch("end", [&] { // no rank loads this rank's X any more
    [[maybe_unused]] auto [block] = k.grid(1);
    k.loop(ranks, [&](Index other) { announce(ended.of(other), {0}); });
    waitFor(ended.of(rank), {0}, ranks);
  });
}

void registerKernels(KernelFile &file) {
  file.kernel("total", "Y = the sum of the X of all ranks")
      .ranks(2)
      .size("n", 100'000, {.onEmulator = 1000})
      .constant("tile", 128, {.least = 32, .most = 1024, .multipleOf = 32})
      .program(total)
      .reference("Y", [](const HostInputs &in) {
        return [&in](int64_t i) {
          double sum = 0;
          for (int64_t rank = 0; rank < in.ranks; ++rank)
            sum += in.tensor("X", rank)(i);
          return sum;
        };
      });
}
// [file]
