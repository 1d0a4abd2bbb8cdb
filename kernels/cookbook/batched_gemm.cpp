// SPDX-License-Identifier: Apache-2.0
/// \file
/// A product for each element of a batch: C[b] = A[b] B[b].
///
/// A is [batch, m, k], B is [batch, k, n], C is [batch, m, n], all bf16 and row-major; sums are f32. A tensor
/// that all elements of the batch share has the stride 0 along its first axis: nothing in the program
/// changes.
///
/// Tiles of 128 x 256 by two warpgroups, with four stages of 64 along k. The tiles of all products are one
/// list of rows of tiles, which persistent blocks divide: so small products fill the device, too. B is read
/// as it lies, with n along the rows; wgmma takes it transposed.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

void batchedGemm(Scope &k, const Values &v) {
  constexpr int64_t bm = 128, bk = 64;
  const int64_t bn = v["columns"];
  Index batch = k.dim("batch"), m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
  Global A = k.input("A", bf16, {batch, m, depth}), B = k.input("B", bf16, {batch, depth, n});
  Global C = k.output("C", bf16, {batch, m, n});
  Index rowTiles = ceilDiv(m, bm);
  k.persistent({batch * rowTiles, ceilDiv(n, bn)}, {.group = 8}, [&](Index row, Index j) {
    Index image = row / rowTiles, i = row % rowTiles;
    Shared a = k.shared("a", bf16, {bm, bk}), b = k.shared("b", bf16, {bk, bn});
    Fragment acc = k.fragment(f32, {bm, bn}).named("acc");
    k.pipelined(ceilDiv(depth, bk), {.stages = 4}, [&](Index s) {
      copy(A.tile({image, i * bm, s * bk}, {1, bm, bk}), a);
      copy(B.tile({image, s * bk, j * bn}, {1, bk, bn}), b);
      gemm(a, b, acc);
    });
    copy(acc.to(bf16), C.tile({image, i * bm, j * bn}, {1, bm, bn}));
  });
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("batched_gemm", "C[b] = A[b] B[b] for each b")
      .size("batch", 64, {.onEmulator = 3})
      .size("m", 1024, {.onEmulator = 136})
      .size("n", 1024, {.onEmulator = 200})
      .size("k", 1024, {.onEmulator = 104})
      .open("columns", {256, 64, 96, 128, 160, 192, 224}, "of a tile")
      .program(batchedGemm)
      .reference("C",
                 [](const HostInputs &in) {
                   HostArray A = in.tensor("A"), B = in.tensor("B");
                   return [=, depth = in.values["k"]](int64_t b, int64_t i, int64_t j) {
                     double sum = 0;
                     for (int64_t l = 0; l < depth; ++l)
                       sum += A(b, i, l) * B(b, l, j);
                     return sum;
                   };
                 })
      .flops([](const Values &v) {
        return 2.0 * double(v["batch"]) * double(v["m"]) * double(v["n"]) * double(v["k"]);
      })
      .bench({{"batch", "256"}, {"m", "256"}, {"n", "256"}, {"k", "256"}});
}
