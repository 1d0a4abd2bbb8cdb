// SPDX-License-Identifier: Apache-2.0
/// \file
/// A function in CUDA C++; with -D mistake=1 one that does not compile.
#include <cmath>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

void registerKernels(KernelFile &file) {
  file.kernel("erf", "Y = erf(X)")
      .size("n", 1000)
      .constant("mistake", 0, {.least = 0, .most = 1})
      .program([](Scope &k, const Values &v) {
        CudaFunction f = k.cuda("f", v["mistake"] ? "float f(float x) {\n  return erff(y); }"
                                                  : "float f(float x) { return erff(x); }");
        Index n = k.dim("n");
        Global X = k.input("X", f32, {n}), Y = k.output("Y", f32, {n});
        auto [block] = k.grid(ceilDiv(n, 256));
        Fragment x = k.fragment(f32, {256});
        copy(X.tile({block * 256}, {256}), x);
        copy(f(x), Y.tile({block * 256}, {256}));
      })
      .reference("Y", [](const HostInputs &in) {
        return [X = in.tensor("X")](int64_t i) { return std::erf(X(i)); };
      });
}
