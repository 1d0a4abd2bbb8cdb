// SPDX-License-Identifier: Apache-2.0
/// \file
/// Grouped GEMM by pointer arrays: C[g] = A[g] B[g]^T for matrices that lie anywhere, each of its own
/// extents.
///
/// A, B and C are arrays of addresses: A[g] is m x k, B[g] is n x k and C[g] is m x n, all bf16 and
/// row-major. Sizes[g] holds m, n and k of the group, and Strides[g] the leading dimensions, the elements
/// from a row of A[g], of B[g] and of C[g] to the next: i32, read on the device. Addresses and leading
/// dimensions are multiples of 16 bytes; m, n and k are any numbers. A group of k = 0 has zeros in C[g].
///
/// How many tiles of 128 x 256 a group has is known on the device only. So a first launch adds them up. Tiles
/// count through all groups, and each of the persistent blocks takes every so many-th one: it goes through
/// the groups and begins in each where its next tile is.
///
/// The TMA needs addresses when a launch is made. Here the loading role copies by cp.async, 16 bytes for each
/// thread at a time, four stages of 64 along k ahead, also into the next tile.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

void pointerArrayGemm(Scope &k) {
  constexpr int64_t bm = 128, bn = 256, bk = 64;
  Index groups = k.dim("groups");
  const MemberFacts read = {.alignment = 16}, written = {.use = TensorUse::output, .alignment = 16};
  Addresses A = k.addresses("A", bf16, groups, read), B = k.addresses("B", bf16, groups, read),
            C = k.addresses("C", bf16, groups, written);
  Global Sizes = k.input("Sizes", i32, {groups, 3}), Strides = k.input("Strides", i32, {groups, 3});
  Global ends = k.workspace("ends", i32, {groups}); // of each group: tiles up to its last one

  k.launch("pointer_array_gemm_plan", [&] {
    constexpr int64_t atOnce = 1024; // groups
    k.grid(1);
    Fragment before = k.fragment(i32, {1, 1});
    k.loop({0, groups, atOnce}, [&](Index first) {
      Fragment m = k.fragment(i32, {atOnce, 1}), n = k.fragment(i32, {atOnce, 1});
      copy(Sizes.tile({first, 0}, {atOnce, 1}), m);
      copy(Sizes.tile({first, 1}, {atOnce, 1}), n);
      FragmentValue tiles = (m + (bm - 1)) / bm * ((n + (bn - 1)) / bn);
      copy(cumulative(Reduction::sum, tiles, 0) + before, ends.tile({first}, {atOnce}));
      before += reduce(Reduction::sum, tiles, 0);
    });
  });

  k.launch("pointer_array_gemm", [&] {
    auto [block] = k.grid(k.multiprocessors());
    Index blocks = k.blocks();
    k.loop(groups, [&, block = block](Index g) {
      Index m = Sizes.read({g, 0}), n = Sizes.read({g, 1}), depth = Sizes.read({g, 2});
      Global a = A.of(g, {m, depth}, {Strides.read({g, 0})}), b = B.of(g, {n, depth}, {Strides.read({g, 1})}),
             c = C.of(g, {m, n}, {Strides.read({g, 2})});
      Index begin = ends.read({g - 1}), columns = ceilDiv(n, bn); // 0 before the first group
      Index first = (block + blocks - begin % blocks) % blocks;
      k.loop({first, ends.read({g}) - begin, blocks}, [&](Index tile) {
        Index row = tile / columns * bm, column = tile % columns * bn;
        Shared left = k.shared("a", bf16, {bm, bk}), right = k.shared("b", bf16, {bn, bk});
        Fragment acc = k.fragment(f32, {bm, bn}).named("acc");
        k.pipelined(ceilDiv(depth, bk), {.stages = 4}, [&](Index s) {
          copy(a.tile({row, s * bk}, {bm, bk}), left);
          copy(b.tile({column, s * bk}, {bn, bk}), right);
          gemm(left, right.t(), acc);
        });
        copy(acc.to(bf16), c.tile({row, column}, {bm, bn}));
      });
    });
  });
}

struct Extents {
  int64_t m, n, k;
};

/// Of group g, up to the sizes: the first one has them, another one k = 0, the next one no rows.
Extents extentsOf(const Values &v, int64_t g) {
  const auto part = [g](int64_t whole, int64_t step) { return whole * (8 - g * step % 8) / 8; };
  return {g % 7 == 2 ? 0 : part(v["m"], 3), part(v["n"], 5), g % 7 == 1 ? 0 : part(v["k"], 7)};
}

/// Of all tensors of a table.
auto membersOf(int64_t Extents::*rows, int64_t Extents::*columns) {
  return [=](const Values &v) {
    MemberExtents members;
    for (int64_t g = 0; g < v["groups"]; ++g)
      members.push_back({extentsOf(v, g).*rows, extentsOf(v, g).*columns});
    return members;
  };
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("pointer_array_gemm", "C[g] = A[g] B[g]^T for matrices of any extents, by their addresses")
      .size("groups", 16, {.least = 1, .onEmulator = 5})
      .size("m", 2048, {.onEmulator = 200, .help = "the most rows of A[g]"})
      .size("n", 2048, {.multipleOf = 8, .onEmulator = 136, .help = "the most rows of B[g]"})
      .size("k", 2048, {.multipleOf = 8, .onEmulator = 344, .help = "the longest rows of A[g] and B[g]"})
      .program(pointerArrayGemm)
      .members("A", {"m", "k"}, membersOf(&Extents::m, &Extents::k))
      .members("B", {"n", "k"}, membersOf(&Extents::n, &Extents::k))
      .members("C", {"m", "n"}, membersOf(&Extents::m, &Extents::n))
      .contents("Sizes",
                [](const HostInputs &in) {
                  return [&](int64_t g, int64_t i) {
                    const Extents extents = extentsOf(in.values, g);
                    return double(i == 0 ? extents.m : i == 1 ? extents.n : extents.k);
                  };
                })
      .contents("Strides",
                [](const HostInputs &in) {
                  return [&](int64_t, int64_t i) { return double(in.values[i == 2 ? "n" : "k"]); };
                })
      .reference("C",
                 [](const HostInputs &in) {
                   HostArray A = in.tensor("A"), B = in.tensor("B"), Sizes = in.tensor("Sizes");
                   return [=](int64_t g, int64_t i, int64_t j) {
                     double sum = 0;
                     for (int64_t l = 0; l < int64_t(Sizes(g, 2)); ++l)
                       sum += A(g, i, l) * B(g, j, l);
                     return sum;
                   };
                 })
      .flops([](const Values &v) {
        double sum = 0;
        for (int64_t g = 0; g < v["groups"]; ++g) {
          const auto [m, n, k] = extentsOf(v, g);
          sum += 2.0 * double(m) * double(n) * double(k);
        }
        return sum;
      })
      .bench({{"groups", "16"}, {"m", "4096"}, {"n", "4096"}, {"k", "4096"}})
      .bench({{"groups", "64"}, {"m", "512"}, {"n", "2048"}, {"k", "2048"}});
}
