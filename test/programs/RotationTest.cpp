// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rotations of 64 bits, which LLVM takes apart and puts together from registers of 32 bits.
#include "compiler/codegen/PtxForms.h"
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

TEST_CASE("shifts both ways of an element of 64 bits rotate it", "[rotation]") {
  constexpr int64_t n = 1000, mostOfHalf = 1'000'003; // doubles hold both halves exactly, in either order
  Artifact artifact = compiled(Program::trace("swap", [](Scope &k) {
    Index n = k.dim("n");
    Global X = k.input("X", i64, {n}), Y = k.output("Y", i64, {n});
    auto [block] = k.grid(ceilDiv(n, 256));
    Fragment x = k.fragment(i64, {256});
    copy(X.tile({block * 256}, {256}), x);
    copy(x << 32 | (x >> 32 & 0xFFFF'FFFF), Y.tile({block * 256}, {256}));
  }));
  CHECK(formsOf(artifact.variants.front().ptx).contains("mov.b64 r, {}"));
  Memory x = Memory::filled(i64, {n}, 0), y = Memory::filled(i64, {n}, -1);
  auto high = [](int64_t i) { return i * 7919 % mostOfHalf; };
  auto low = [](int64_t i) { return i * 104'729 % mostOfHalf; };
  for (int64_t i = 0; i < n; ++i)
    x.at({i}) = double(high(i) << 32 | low(i));
  run(artifact, {&x, &y});
  for (int64_t i = 0; i < n; ++i)
    CHECK(y.at({i}) == double(low(i) << 32 | high(i)));
}
