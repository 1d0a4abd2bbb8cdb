// SPDX-License-Identifier: Apache-2.0
/// \file
/// An extent that only n + 1 elements of a tensor tell.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

/// Longest = the largest number of elements in a row of a sparse matrix, whose rows begin at `begins`.
void longest(Scope &k) {
  constexpr int64_t tile = 128;
  Index n = k.dim("n");
  Global begins = k.input("begins", i32, {n + 1}), Longest = k.output("Longest", i32, {1});
  [[maybe_unused]] auto [block] = k.grid(1);
  Fragment all = k.fragment(i32, {tile}), from = k.fragment(i32, {tile}), to = k.fragment(i32, {tile});
  k.loop(ceilDiv(n, tile), [&](Index i) {
    copy(begins.tile({i * tile}, {tile}), from);
    copy(begins.tile({i * tile + 1}, {tile}), to);
    all = max(all, to - from); // beyond the end 0, or less
  });
  copy(rowMax(all), Longest.tile({0}, {1}));
}

void registerKernels(KernelFile &file) {
  file.kernel("longest", "Longest = the largest difference of two elements next to each other")
      .size("n", 10'000, {.onEmulator = 1000})
      .program(longest)
      .contents("begins",
                [](const HostInputs &) { return [](int64_t i) { return double(5 * i + i * i % 7); }; })
      .reference("Longest", [](const HostInputs &in) {
        return [&in](int64_t) {
          double most = 0;
          for (int64_t i = 0; i < in.values["n"]; ++i)
            most = std::max(most, in.tensor("begins")(i + 1) - in.tensor("begins")(i));
          return most;
        };
      });
}
