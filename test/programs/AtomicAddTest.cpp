// SPDX-License-Identifier: Apache-2.0
/// \file
/// Additions to a tensor that other threads of the block read, or wrote before.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

TEST_CASE("what threads add, others of the block read", "[atomic]") {
  // Rows of X are added to rows of Y; what is read back are columns, of other threads.
  Artifact artifact = compiled(Program::trace("add_then_read", [](Scope &k) {
    Global X = k.input("X", f32, {64, 64}), Y = k.inout("Y", f32, {64, 64}), Z = k.output("Z", f32, {64});
    Fragment x = k.fragment(f32, {64, 64}), y = k.fragment(f32, {64, 64});
    copy(X.tile({0, 0}, {64, 64}), x);
    atomicAdd(x, Y.tile({0, 0}, {64, 64}));
    atomicAdd(x, Y.tile({0, 0}, {64, 64}));
    k.loop(64, [&](Index row) {
      Fragment one = k.fragment(f32, {1, 64});
      copy(Y.tile({row, 0}, {1, 64}), one);
      copy(rowSum(one), Z.tile({row}, {1}));
    });
  }));
  Memory x = Memory::filled(f32, {64, 64}, 0), y = Memory::filled(f32, {64, 64}, 3),
         z = Memory::filled(f32, {64}, notANumber);
  for (size_t i = 0; i < x.values.size(); ++i)
    x.values[i] = double(i % 7) - 3;
  run(artifact, {&x, &y, &z});
  for (int64_t row = 0; row < 64; ++row) {
    double sum = 0;
    for (int64_t column = 0; column < 64; ++column)
      sum += 3 + 2 * x.at({row, column});
    CHECK(z.at({row}) == sum);
  }
}

TEST_CASE("threads add to what others of the block stored, and store over it", "[atomic]") {
  Artifact artifact = compiled(Program::trace("store_then_add", [](Scope &k) {
    Global X = k.input("X", f32, {64, 64}), Y = k.inout("Y", f32, {64, 64}), Z = k.inout("Z", f32, {64, 64});
    Fragment x = k.fragment(f32, {64, 64});
    copy(X.tile({0, 0}, {64, 64}), x);
    copy(x, Y.tile({0, 0}, {64, 64}));
    k.loop(64, [&](Index row) {
      Fragment one = k.fragment(f32, {1, 64}, 5);
      atomicAdd(one, Y.tile({row, 0}, {1, 64}));
      atomicAdd(one, Z.tile({row, 0}, {1, 64}));
    });
    copy(x, Z.tile({0, 0}, {64, 64}));
  }));
  Memory x = Memory::filled(f32, {64, 64}, 0), y = Memory::filled(f32, {64, 64}, notANumber),
         z = Memory::filled(f32, {64, 64}, 1);
  for (size_t i = 0; i < x.values.size(); ++i)
    x.values[i] = double(i % 11);
  run(artifact, {&x, &y, &z});
  CHECK(z.values == x.values);
  for (double &value : x.values)
    value += 5;
  CHECK(y.values == x.values);
}
