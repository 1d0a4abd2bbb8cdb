// SPDX-License-Identifier: Apache-2.0
/// \file
/// An integer whose bits are those of memory that is not written.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

void registerKernels(KernelFile &file) {
  file.kernel("below", "Y = X - 1")
      .size("n", 100)
      .constant("written", 128, {.least = 1, .most = 128})
      .program([](Scope &k, const Values &v) {
        Index n = k.dim("n");
        Global X = k.input("X", i32, {n}), Y = k.output("Y", i32, {n});
        Fragment x = k.fragment(i32, {v["written"]});
        copy(X.tile({0}, {v["written"]}), x);
        copy(x - 1, Y.tile({0}, {v["written"]}));
      })
      .random("X", 0, 3)
      .reference("Y",
                 [](const HostInputs &in) { return [X = in.tensor("X")](int64_t i) { return X(i) - 1; }; });
  file.kernel("gap", "Y = 7, but for what is left out")
      .size("n", 100000)
      .constant("skipped", 500, {.least = 0})
      .program([](Scope &k, const Values &v) {
        Index n = k.dim("n");
        Global Y = k.output("Y", i32, {n});
        auto [block] = k.grid(ceilDiv(n, 128));
        k.when(block != v["skipped"],
               [&, block = block] { copy(k.fragment(i32, {128}) + 7, Y.tile({block * 128}, {128})); });
      })
      .flops([](const Values &) { return 1e12; })
      .reference("Y", [](const HostInputs &) { return [](int64_t) { return 7; }; });
}
