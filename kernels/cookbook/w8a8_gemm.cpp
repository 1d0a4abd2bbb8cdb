// SPDX-License-Identifier: Apache-2.0
/// \file
/// A GEMM of 8-bit integers with scales of rows: C = A B^T with a = q scale, of each row of A and of B.
///
/// A is [m, k], B is [n, k], i8; ScaleA is [m], ScaleB is [n], f32; C is [m, n], bf16. All are row-major, as
/// the tensor cores read integers only along k.
///
/// Sums are i32 and exact: |q| <= 128, so that they do not wrap around for k up to 131071. A scale belongs to
/// a whole row, so that scales are applied once, to the sums. A tile is 128 x 256: a thread of the two
/// warpgroups has 128 sums, and in the epilogue 64 scales of columns, which are loaded after the scales of
/// rows are applied. A third warpgroup loads: four stages of 128 along k are 192 KiB of shared memory. Blocks
/// are persistent, so that the next tile's copies run while the epilogue computes.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

void w8a8Gemm(Scope &k) {
  constexpr int64_t bm = 128, bn = 256, bk = 128;
  Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
  Global A = k.input("A", i8, {m, depth}), B = k.input("B", i8, {n, depth});
  Global ScaleA = k.input("ScaleA", f32, {m}), ScaleB = k.input("ScaleB", f32, {n});
  Global C = k.output("C", bf16, {m, n});
  k.persistent({ceilDiv(m, bm), ceilDiv(n, bn)}, {.group = 16}, [&](Index i, Index j) {
    Shared a = k.shared("a", i8, {bm, bk}), b = k.shared("b", i8, {bn, bk});
    Fragment acc = k.fragment(i32, {bm, bn}).named("acc");
    k.pipelined(ceilDiv(depth, bk), {.stages = 4}, [&](Index s) {
      copy(A.tile({i * bm, s * bk}, {bm, bk}), a);
      copy(B.tile({j * bn, s * bk}, {bn, bk}), b);
      gemm(a, b.t(), acc);
    });
    Fragment scaleA = k.fragment(f32, {bm, 1}), scaleB = k.fragment(f32, {1, bn});
    copy(ScaleA.tile({i * bm}, {bm}), scaleA);
    Fragment c = acc.to(f32) * scaleA;
    copy(ScaleB.tile({j * bn}, {bn}), scaleB);
    copy((c * scaleB).to(bf16), C.tile({i * bm, j * bn}, {bm, bn}));
  });
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("w8a8_gemm", "C = A B^T of i8 with a scale of each row of A and of B")
      .size("m", 8192, {.onEmulator = 200})
      .size("n", 8192, {.onEmulator = 264})
      .size("k", 4096, {.onEmulator = 272})
      .program(w8a8Gemm)
      .random("A", -128, 128)
      .random("B", -128, 128)
      .random("ScaleA", 0.5, 2)
      .random("ScaleB", 0.5, 2)
      .reference("C",
                 [](const HostInputs &in) {
                   HostArray A = in.tensor("A"), B = in.tensor("B"), SA = in.tensor("ScaleA"),
                             SB = in.tensor("ScaleB");
                   return [=, depth = in.values["k"]](int64_t i, int64_t j) {
                     double sum = 0;
                     for (int64_t l = 0; l < depth; ++l)
                       sum += A(i, l) * B(j, l);
                     return sum * SA(i) * SB(j);
                   };
                 })
      .flops([](const Values &v) { return 2.0 * double(v["m"]) * double(v["n"]) * double(v["k"]); })
      .bench({{"m", "4096"}, {"n", "16384"}, {"k", "8192"}});
}
