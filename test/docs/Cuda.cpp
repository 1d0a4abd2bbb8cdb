// SPDX-License-Identifier: Apache-2.0
/// \file
/// Functions in CUDA C++. Without NVRTC nothing is run.
#include "runtime/nvrtc/Nvrtc.h"
#include "test/docs/Run.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace tlc;
using namespace tlc::docs;
using namespace tlc::dsl;

namespace {

// [gelu]
/// Y = GELU(X W), with the error function of CUDA C++.
Program gelu() {
  return Program::trace("gelu", [](Scope &k) {
    CudaFunction gelu = k.cuda("gelu", R"(
        constexpr float scale = 0.70710678f; // sqrt(0.5)
        float gelu(float x) { return 0.5f * x * (1 + erff(x * scale)); }
    )");
    Index m = k.dim("m");
    Global X = k.input("X", bf16, {m, 96}), W = k.input("W", bf16, {96, 64}),
           Y = k.output("Y", bf16, {m, 64});
    auto [block] = k.grid(ceilDiv(m, 128));
    Shared x = k.shared("x", bf16, {128, 96}), w = k.shared("w", bf16, {96, 64});
    Fragment acc = k.fragment(f32, {128, 64});
    copy(X.tile({block * 128, 0}, {128, 96}), x);
    copy(W.tile({0, 0}, {96, 64}), w);
    gemm(x, w, acc);
    copy(gelu(acc).to(bf16), Y.tile({block * 128, 0}, {128, 64}));
  });
}
// [gelu]

} // namespace

TEST_CASE("a function in CUDA C++", "[docs]") {
  if (!Nvrtc::open()) {
    WARN("no NVRTC: the example is not run");
    return;
  }
  Run run(gelu(), {{"m", 150}});
  const Array &x = run.before("X"), &w = run.before("W");
  checkMatrix(run.after("Y"), 1e-2, [&](int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t l = 0; l < 96; ++l)
      sum += x(i, l) * w(l, j);
    return 0.5 * sum * (1 + std::erf(sum * std::sqrt(0.5)));
  });
}
