// SPDX-License-Identifier: Apache-2.0
/// \file
/// The example of docs/your-own-file.md.
// [file]
#include <cmath>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

/// Y = cap tanh((X + bias) / cap), with the same bias in each row.
void softcap(Scope &k, const Values &v) {
  const int64_t rows = v["tile"], columns = 128;
  const double cap = v.number("cap");
  const ElementType type = v.type("dtype");
  Index m = k.dim("m"), n = k.dim("n");
  Global X = k.input("X", type, {m, n}), bias = k.input("bias", f32, {n});
  Global Y = k.output("Y", type, {m, n});
  auto [i, j] = k.grid(ceilDiv(m, rows), ceilDiv(n, columns));
  Fragment x = k.fragment(type, {rows, columns}), b = k.fragment(f32, {1, columns});
  copy(X.tile({i * rows, j * columns}, {rows, columns}), x);
  copy(bias.tile({j * columns}, {columns}), b);
  copy((tanh((x.to(f32) + b) * (1 / cap)) * cap).to(type), Y.tile({i * rows, j * columns}, {rows, columns}));
}

void registerKernels(KernelFile &file) {
  file.kernel("softcap", "Y = cap tanh((X + bias) / cap)")
      .size("m", 4096, {.onEmulator = 100})
      .size("n", 4096, {.onEmulator = 300})
      .constant("tile", 32, {.least = 8, .most = 64, .multipleOf = 8, .help = "rows of a block"})
      .number("cap", 30)
      .type("dtype", {bf16, f16, f32})
      .program(softcap)
      .random("X", -50, 50)
      .reference("Y",
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X"), bias = in.tensor("bias");
                   double cap = in.values.number("cap");
                   return [=](int64_t i, int64_t j) { return cap * std::tanh((X(i, j) + bias(j)) / cap); };
                 })
      .tolerance("Y", {.limit = 0.01, .floor = 1})
      .flops([](const Values &v) { return 4.0 * double(v["m"]) * double(v["n"]); })
      .bench({{"m", "16384"}, {"n", "1024"}})
      .bench({{"m", "1024"}, {"n", "16384"}});
}
// [file]
