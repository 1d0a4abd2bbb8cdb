// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products that a pipelined loop starts and awaits by hand, where the compiler makes the roles.
#include "kernels/library/Compile.h"
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

constexpr int64_t tile = 64;

/// C = A Bᵀ by two sums, each of which has every product once. The wait for the second completes the first.
Program halves(bool waitsInLoop) {
  return Program::trace("halves", [&](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
    Global A = k.input("A", bf16, {m, depth}), B = k.input("B", bf16, {n, depth});
    Global C = k.output("C", f32, {m, n});
    k.require(Requirement::warpSpecialized);
    auto [i, j] = k.grid(ceilDiv(m, tile), ceilDiv(n, tile));
    Shared a = k.shared("a", bf16, {tile, tile}), b = k.shared("b", bf16, {tile, tile});
    Fragment first = k.fragment(f32, {tile, tile}), second = k.fragment(f32, {tile, tile});
    k.pipelined(ceilDiv(depth, tile), {.stages = 2}, [&, i = i, j = j](Index s) {
      copy(A.tile({i * tile, s * tile}, {tile, tile}), a);
      copy(B.tile({j * tile, s * tile}, {tile, tile}), b);
      gemmAsync(a, b.t(), first);
      gemmAsync(a, b.t(), second);
      if (!waitsInLoop)
        return;
      gemmWait(first, 1);
      gemmWait(second);
    });
    if (!waitsInLoop) {
      gemmWait(first, 1);
      gemmWait(second);
    }
    copy((first + second) * 0.5, C.tile({i * tile, j * tile}, {tile, tile}));
  });
}

} // namespace

TEST_CASE("a slot is released after the wait for the products that read it", "[products-by-hand]") {
  Artifact artifact = compiled(halves(true));
  for (auto [m, n, k] : {std::array<int64_t, 3>{70, 40, 200}, {64, 64, 64}, {1, 1, 1}, {5, 3, 0}}) {
    CAPTURE(m, n, k);
    auto value = [](int64_t number) { return double(number % 7 - 3); };
    Memory a = Memory::filled(bf16, {m, k}, 0), b = Memory::filled(bf16, {n, k}, 0),
           c = Memory::filled(f32, {m, n}, notANumber);
    for (Memory *memory : {&a, &b})
      for (size_t i = 0; i != memory->values.size(); ++i)
        memory->values[i] = value(int64_t(i));
    run(artifact, {&a, &b, &c});
    for (int64_t row = 0; row != m; ++row)
      for (int64_t column = 0; column != n; ++column) {
        double sum = 0;
        for (int64_t at = 0; at != k; ++at)
          sum += a.at({row, at}) * b.at({column, at});
        REQUIRE(c.at({row, column}) == sum);
      }
  }
}

TEST_CASE("a product in flight at the end of the loop keeps the kernel from roles", "[products-by-hand]") {
  Result<Artifact> artifact = compile(halves(false));
  REQUIRE_FALSE(artifact);
  CHECK_THAT(
      artifact.error().message,
      Catch::Contains("kernel 'halves' is not warp-specialised: 'a' is read by a product that is still in "
                      "flight at the end of the loop that fills it"));
}
