// SPDX-License-Identifier: Apache-2.0
/// \file
/// A matrix times a vector: y = A x.
///
/// A is [n, k], bf16 and row-major; x is [k], bf16; y is [n], f32. Each element of A is read once, so that
/// memory decides.
///
/// A block of 128 threads has 8 rows, in tiles of 1024 columns: a thread has 8 neighbours of each row, one
/// load of 16 bytes, so that 8 loads of A are under way for one of x. A thread adds up its own products over
/// the tiles, and only the last sum crosses threads.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

void gemv(Scope &k) {
  constexpr int64_t rows = 8, width = 1024;
  Index n = k.dim("n"), depth = k.dim("k");
  Global A = k.input("A", bf16, {n, depth}), X = k.input("X", bf16, {depth}), Y = k.output("Y", f32, {n});
  auto [block] = k.grid(ceilDiv(n, rows));
  Fragment a = k.fragment(bf16, {rows, width}), x = k.fragment(bf16, {1, width});
  Fragment sum = k.fragment(f32, {rows, width});
  k.loop(ceilDiv(depth, width), [&, block = block](Index s) {
    copy(A.tile({block * rows, s * width}, {rows, width}), a);
    copy(X.tile({s * width}, {width}), x);
    sum = fma(a.to(f32), x.to(f32), sum);
  });
  copy(rowSum(sum), Y.tile({block * rows}, {rows}));
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("gemv", "y = A x")
      .size("n", 8192, {.onEmulator = 21})
      .size("k", 8192, {.onEmulator = 3000})
      .program(gemv)
      .reference("Y",
                 [](const HostInputs &in) {
                   return [A = in.tensor("A"), X = in.tensor("X"), depth = in.values["k"]](int64_t i) {
                     double sum = 0;
                     for (int64_t l = 0; l < depth; ++l)
                       sum += A(i, l) * X(l);
                     return sum;
                   };
                 })
      .flops([](const Values &v) { return 2.0 * double(v["n"]) * double(v["k"]); })
      .bench({{"n", "4096"}, {"k", "14336"}});
}
