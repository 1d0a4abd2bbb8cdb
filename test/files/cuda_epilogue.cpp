// SPDX-License-Identifier: Apache-2.0
/// \file
/// A product whose epilogue is a function in CUDA C++.
#include <cmath>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

void registerKernels(KernelFile &file) {
  file.kernel("silu", "C = silu(A Bᵀ)")
      .size("m", 4096, {.onEmulator = 130})
      .size("n", 4096, {.onEmulator = 72})
      .size("k", 4096, {.onEmulator = 100})
      .program([](Scope &k) {
        CudaFunction silu = k.cuda("silu", "float silu(float x) { return x / (1 + __expf(-x)); }");
        Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
        Global A = k.input("A", bf16, {m, depth}), B = k.input("B", bf16, {n, depth});
        Global C = k.output("C", bf16, {m, n});
        k.persistent({ceilDiv(m, 128), ceilDiv(n, 256)}, {.group = 16}, [&](Index i, Index j) {
          Shared a = k.shared("a", bf16, {128, 64}), b = k.shared("b", bf16, {256, 64});
          Fragment acc = k.fragment(f32, {128, 256});
          k.pipelined(ceilDiv(depth, 64), {.stages = 4}, [&](Index s) {
            copy(A.tile({i * 128, s * 64}, {128, 64}), a);
            copy(B.tile({j * 256, s * 64}, {256, 64}), b);
            gemm(a, b.t(), acc);
          });
          copy(silu(acc).to(bf16), C.tile({i * 128, j * 256}, {128, 256}));
        });
      })
      .tolerance("C", {.limit = 1e-2, .floor = 1})
      .reference("C", [](const HostInputs &in) {
        return [A = in.tensor("A"), B = in.tensor("B")](int64_t i, int64_t j) {
          double sum = 0;
          for (int64_t l = 0; l != A.shape()[1]; ++l)
            sum += A(i, l) * B(j, l);
          return sum / (1 + std::exp(-sum));
        };
      });
}
