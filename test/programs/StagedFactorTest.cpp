// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products with a left factor in registers, of extents that no matrix instruction has: what multiplies
/// single elements finds the factor in shared memory. Values are small integers, so that sums are exact.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>
#include <functional>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

struct Extents {
  ElementType element;
  int64_t m, n, k, warps = 0; ///< of 0 warps the compiler chooses
};

Memory counting(ElementType element, std::vector<int64_t> shape, int64_t period) {
  Memory memory = Memory::filled(element, std::move(shape), 0);
  for (size_t i = 0; i < memory.values.size(); ++i)
    memory.values[i] = double(int64_t(i) % period - period / 2);
  return memory;
}

/// Runs a program of A (m x k), B (k x n) and C (m x n), which multiplies `times`.
void check(const Extents &e, double times, const std::function<void(Scope &, Global, Global, Global)> &body) {
  CAPTURE(int(e.element), e.m, e.n, e.k, e.warps);
  Artifact artifact = compiled(Program::trace("product", [&](Scope &k) {
    if (e.warps)
      k.warps(e.warps);
    Global A = k.input("A", e.element, {e.m, e.k}), B = k.input("B", e.element, {e.k, e.n});
    body(k, A, B, k.output("C", f32, {e.m, e.n}));
  }));
  Memory a = counting(e.element, {e.m, e.k}, 7), b = counting(e.element, {e.k, e.n}, 5);
  Memory c = Memory::filled(f32, {e.m, e.n}, notANumber);
  run(artifact, {&a, &b, &c});
  int64_t wrong = 0;
  for (int64_t row = 0; row < e.m; ++row)
    for (int64_t column = 0; column < e.n; ++column) {
      double sum = 0;
      for (int64_t at = 0; at < e.k; ++at)
        sum += a.at({row, at}) * b.at({at, column});
      wrong += c.at({row, column}) != times * sum;
    }
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("a left factor in registers, of any extents", "[staged-factor]") {
  const std::vector<Extents> cases = {
      {e4m3, 1, 1, 1},       {e4m3, 16, 8, 64}, {e4m3, 64, 12, 32},   {f16, 64, 16, 16, 8},
      {f16, 8, 40, 16},      {bf16, 12, 64, 8}, {bf16, 64, 64, 24},   {bf16, 3, 5, 7, 1},
      {bf16, 96, 24, 40, 3}, {bf16, 16, 8, 16}, {bf16, 48, 40, 32, 3}}; // the last two by mma.sync
  for (const Extents &e : cases)
    check(e, 1, [&](Scope &k, Global A, Global B, Global C) {
      Shared b = k.shared("b", e.element, {e.k, e.n});
      Fragment a = k.fragment(e.element, {e.m, e.k}), c = k.fragment(f32, {e.m, e.n});
      copy(A.tile({0, 0}, {e.m, e.k}), a);
      copy(B.tile({0, 0}, {e.k, e.n}), b);
      gemm(a, b, c);
      copy(c, C.tile({0, 0}, {e.m, e.n}));
    });
}

TEST_CASE("a left factor in registers that a loop changes", "[staged-factor]") {
  Extents e = {bf16, 24, 20, 12};
  check(e, 1 + 2 + 3, [&](Scope &k, Global A, Global B, Global C) {
    Shared b = k.shared("b", bf16, {e.k, e.n});
    Fragment a = k.fragment(bf16, {e.m, e.k}), factor = k.fragment(bf16, {e.m, e.k}),
             c = k.fragment(f32, {e.m, e.n});
    copy(A.tile({0, 0}, {e.m, e.k}), a);
    copy(B.tile({0, 0}, {e.k, e.n}), b);
    k.pipelined(4, {.stages = 2}, [&](Index i) {
      k.when(i > 0, [&] { gemm(factor, b, c); });
      factor = (factor.to(f32) + a.to(f32)).to(bf16);
    });
    copy(c, C.tile({0, 0}, {e.m, e.n}));
  });
}

TEST_CASE("a left factor in registers of each of two roles", "[staged-factor]") {
  Extents e = {bf16, 24, 20, 12};
  check(e, 3, [&](Scope &k, Global A, Global B, Global C) {
    k.roles([&] {
      for (int64_t half = 0; half < 2; ++half)
        k.role(half ? "right" : "left", {.warps = 2}, [&] {
          Shared b = k.shared(half ? "b1" : "b0", bf16, {e.k, e.n / 2});
          Fragment a = k.fragment(bf16, {e.m, e.k}), c = k.fragment(f32, {e.m, e.n / 2});
          copy(A.tile({0, 0}, {e.m, e.k}), a);
          copy(B.tile({0, half * e.n / 2}, {e.k, e.n / 2}), b);
          k.loop(3, [&](Index) { gemm(a, b, c); });
          copy(c, C.tile({0, half * e.n / 2}, {e.m, e.n / 2}));
        });
    });
  });
}
