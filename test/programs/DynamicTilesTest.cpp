// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loops over tiles whose blocks take the next tile when they are ready for it, by cluster launch control.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

constexpr PersistentOptions dynamic = {.group = 2, .scheduling = TileScheduling::dynamic};

constexpr int64_t bm = 128, bn = 64, bk = 64;

Memory numbers(std::vector<int64_t> shape, int64_t seed) {
  Memory memory = Memory::filled(bf16, std::move(shape), 0);
  for (size_t i = 0; i < memory.values.size(); ++i)
    memory.values[i] = double((int64_t(i) * 7 + int64_t(i) / 5 * 3 + seed) % 5 - 2);
  return memory;
}

} // namespace

TEST_CASE("each tile is computed once, whoever takes it", "[dynamic-tiles]") {
  Artifact artifact =
      compiled(Program::trace("tiles",
                              [](Scope &k) {
                                Index m = k.dim("m"), n = k.dim("n"), p = k.dim("p");
                                Global visits = k.inout("visits", i32, {m, n, p});
                                Global total = k.inout("total", i32, {1});
                                k.warps(4);
                                Fragment count = k.fragment(i32, {1});
                                k.persistent({m, n, p}, dynamic, [&](Index i, Index j, Index l) {
                                  atomicAdd(k.fragment(i32, {1, 1, 1}, 1), visits.tile({i, j, l}, {1, 1, 1}));
                                  count += 1;
                                });
                                atomicAdd(count, total.tile({0}, {1}));
                              }),
               compilingFor("sm_100a"));
  for (int multiprocessors : {1, 2, 3})
    for (auto [m, n, p] : {std::array<int64_t, 3>{1, 1, 1}, {3, 5, 2}, {40, 7, 1}, {0, 4, 1}}) {
      CAPTURE(multiprocessors, m, n, p);
      Memory visits = Memory::filled(i32, {m, n, p}, 0), total = Memory::filled(i32, {1}, 0);
      run(artifact, {&visits, &total}, multiprocessors);
      for (double visited : visits.values)
        CHECK(visited == 1);
      CHECK(total.values[0] == double(m * n * p));
    }
}

TEST_CASE("roles hand on the tiles that a block takes", "[dynamic-tiles]") {
  auto [target, storeRole] =
      GENERATE(table<const char *, bool>({{"sm_100a", false}, {"sm_100a", true}, {"sm_103a", false}}));
  CAPTURE(target, storeRole);
  Artifact artifact = compiled(
      Program::trace("gemm",
                     [storeRole = storeRole](Scope &k) {
                       Index m = k.dim("m"), n = k.dim("n", {.multipleOf = 8}),
                             depth = k.dim("k", {.multipleOf = 8});
                       Global A = k.input("A", bf16, {m, depth}, {.alignment = 16});
                       Global B = k.input("B", bf16, {n, depth}, {.alignment = 16});
                       Global C = k.output("C", bf16, {m, n}, {.alignment = 16});
                       k.require(Requirement::warpSpecialized);
                       k.require(Requirement::tcgen05);
                       if (storeRole)
                         k.storeRole();
                       k.persistent({ceilDiv(m, bm), ceilDiv(n, bn)}, dynamic, [&](Index i, Index j) {
                         Shared a = k.shared("a", bf16, {bm, bk}), b = k.shared("b", bf16, {bn, bk});
                         Fragment acc = k.fragment(f32, {bm, bn});
                         k.pipelined(ceilDiv(depth, bk), {.stages = 3}, [&](Index s) {
                           copy(A.tile({i * bm, s * bk}, {bm, bk}), a);
                           copy(B.tile({j * bn, s * bk}, {bn, bk}), b);
                           gemm(a, b.t(), acc);
                         });
                         copy((acc * 2.0f).to(bf16), C.tile({i * bm, j * bn}, {bm, bn}));
                       });
                     }),
      compilingFor(target));
  for (int multiprocessors : {1, 2, 3})
    for (auto [m, n, depth] :
         {std::array<int64_t, 3>{64, 64, 64}, {300, 264, 200}, {129, 8, 8}, {0, 64, 64}}) {
      CAPTURE(multiprocessors, m, n, depth);
      Memory a = numbers({m, depth}, 1), b = numbers({n, depth}, 2),
             c = Memory::filled(bf16, {m, n}, notANumber);
      run(artifact, {&a, &b, &c}, multiprocessors);
      int64_t wrong = 0;
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t e = 0; e < depth; ++e)
            sum += a.at({i, e}) * b.at({j, e});
          wrong += !(std::abs(c.at({i, j}) - 2 * sum) <= std::abs(sum) / 64);
        }
      CHECK(wrong == 0);
    }
}
