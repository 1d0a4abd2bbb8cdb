// SPDX-License-Identifier: Apache-2.0
/// \file
/// A GEMM of a left factor of 2:4 sparsity: C = A B^T, where of each 4 neighbours in a row of A 2 are stored.
///
/// Values is [m, k / 2], bf16: the elements of A that are stored. Metadata is [m, k / 8], u8: where they are,
/// four bits for each group (dsl::Sparse; `compress` makes both of a matrix). B is [n, k], C is [m, n], bf16;
/// sums are f32. k is a multiple of 128, and the program sees k as steps of 128, which is the same memory.
///
/// A step is as wide as 128 bytes of Values, and 16 bytes of Metadata, the least that the TMA copies of a
/// row. The sparse wgmma reads 64 bytes of each column of B where another reads 32, in the same time, so that
/// shared memory limits it: the more columns a tile has, the less of that are rows of A. Two warpgroups have
/// 64 rows each; as many stages as fit. Bytes beyond the end of E are 0, which is no pair of places.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t width = 128; ///< of a step along k

void sparseGemm(Scope &k, const Values &v) {
  constexpr int64_t bm = 128, sharedBytes = 190 << 10; // the rest is for C, and barriers
  const int64_t bn = v["columns"], stageBytes = bm * (width + width / 8) + bn * width * 2;
  Index m = k.dim("m"), n = k.dim("n"), steps = k.dim("steps");
  Global A = k.input("A", bf16, {m, steps, width / 2}), E = k.input("E", u8, {m, steps, width / 8});
  Global B = k.input("B", bf16, {n, steps, width}), C = k.output("C", bf16, {m, n});
  k.persistent({ceilDiv(m, bm), ceilDiv(n, bn)}, {.group = 16}, [&](Index i, Index j) {
    Shared a = k.shared("a", bf16, {bm, width / 2}), e = k.shared("e", u8, {bm, width / 8}),
           b = k.shared("b", bf16, {bn, width});
    Fragment acc = k.fragment(f32, {bm, bn}).named("acc");
    k.pipelined(steps, {.stages = sharedBytes / stageBytes}, [&](Index s) {
      copy(A.tile({i * bm, s, 0}, {bm, 1, width / 2}), a);
      copy(E.tile({i * bm, s, 0}, {bm, 1, width / 8}), e);
      copy(B.tile({j * bn, s, 0}, {bn, 1, width}), b);
      Fragment places = k.fragment(u8, {bm, width / 8});
      copy(e, places);
      gemm(Sparse{a, where(places == 0, 0x44, places)}, b.t(), acc);
    });
    copy(acc.to(bf16), C.tile({i * bm, j * bn}, {bm, bn}));
  });
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("sparse_gemm", "C = A B^T of a left factor of 2:4 sparsity")
      .size("m", 4096, {.onEmulator = 136})
      .size("n", 4096, {.onEmulator = 200})
      .size("steps", 32, {.onEmulator = 3, .help = "k / 128"})
      .constant("columns", 128, {.least = 64, .most = 256, .multipleOf = 64, .help = "of a tile"})
      .program(sparseGemm)
      .contents("E",
                [](const HostInputs &) {
                  return [](int64_t i, int64_t s, int64_t byte) {
                    constexpr int pairs[] = {0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110};
                    uint64_t hash = uint64_t(i * 7919 + s * 16 + byte) * 0x9E3779B97F4A7C15 >> 40;
                    return double(pairs[hash % 6] | pairs[hash / 6 % 6] << 4);
                  };
                })
      .reference("C",
                 [](const HostInputs &in) {
                   HostArray A = in.tensor("A"), E = in.tensor("E"), B = in.tensor("B");
                   return [=, steps = in.values["steps"]](int64_t i, int64_t j) {
                     double sum = 0;
                     for (int64_t s = 0; s < steps; ++s)
                       for (int64_t l = 0; l < width / 2; ++l) {
                         int64_t place = int64_t(E(i, s, l / 4)) >> l % 4 * 2 & 3;
                         sum += A(i, s, l) * B(j, s, l / 2 * 4 + place);
                       }
                     return sum;
                   };
                 })
      .flops([](const Values &v) { // of all elements of A
        return 2.0 * double(v["m"]) * double(v["n"]) * double(v["steps"]) * double(width);
      })
      .bench({{"m", "8192"}, {"n", "8192"}, {"steps", "64"}});
}
