// SPDX-License-Identifier: Apache-2.0
/// \file
/// A GEMM in a file of its own, and a kernel that reads positions.
#include <cstdio>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

void registerKernels(KernelFile &file) {
  std::printf("printed by the file\n");
  file.kernel("product", "C = A B^T")
      .size("m", 4096, {.onEmulator = 200})
      .size("n", 4096, {.onEmulator = 300})
      .size("k", 4096, {.onEmulator = 136})
      .constant("bm", 128, {.least = 64, .most = 256, .multipleOf = 64})
      .type("dtype", {bf16, f16})
      .program([](Scope &k, const Values &v) {
        const int64_t bm = v["bm"];
        const ElementType type = v.type("dtype");
        Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
        Global A = k.input("A", type, {m, depth}), B = k.input("B", type, {n, depth});
        Global C = k.output("C", type, {m, n});
        k.persistent({ceilDiv(m, bm), ceilDiv(n, 128)}, {.group = 16}, [&](Index i, Index j) {
          Shared a = k.shared("a", type, {bm, 64}), b = k.shared("b", type, {128, 64});
          Fragment acc = k.fragment(f32, {bm, 128}).named("acc");
          k.pipelined(ceilDiv(depth, 64), {.stages = 4}, [&](Index s) {
            copy(A.tile({i * bm, s * 64}, {bm, 64}), a);
            copy(B.tile({j * 128, s * 64}, {128, 64}), b);
            gemm(a, b.t(), acc);
          });
          copy(acc.to(type), C.tile({i * bm, j * 128}, {bm, 128}));
        });
      })
      .reference("C",
                 [](const HostInputs &in) {
                   HostArray A = in.tensor("A"), B = in.tensor("B");
                   int64_t depth = in.values["k"];
                   return [=](int64_t i, int64_t j) {
                     double sum = 0;
                     for (int64_t l = 0; l < depth; ++l)
                       sum += A(i, l) * B(j, l);
                     return sum;
                   };
                 })
      .tolerance("C", {.limit = 0.01, .floor = 1})
      .flops([](const Values &v) { return 2.0 * double(v["m"]) * double(v["n"]) * double(v["k"]); });

  file.kernel("picked", "Y = X at the position that the tensor at says")
      .size("n", 1000)
      .program([](Scope &k) {
        Index n = k.dim("n");
        Global at = k.input("at", i32, {1}), X = k.input("X", f32, {n}), Y = k.output("Y", f32, {4});
        Fragment x = k.fragment(f32, {4});
        copy(X.tile({at.read({0})}, {4}), x);
        copy(x, Y.tile({0}, {4}));
      })
      .contents("at",
                [](const HostInputs &in) { return [n = in.values["n"]](int64_t) { return double(n - 2); }; })
      .contents("X",
                [](const HostInputs &in) {
                  return [first = in.tensor("at")(0)](int64_t i) { return double(i) - first; };
                })
      .reference("Y", [](const HostInputs &in) {
        return [X = in.tensor("X"), at = int64_t(in.tensor("at")(0))](int64_t i) {
          return at + i < X.shape()[0] ? X(at + i) : 0.0;
        };
      });
}
