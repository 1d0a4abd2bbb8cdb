// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tiles that are never alive together.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using test::Memory;

namespace {

constexpr int64_t rows = 64, columns = 1024; // a tile has 128 KiB

/// Y = 2 X, rows of a block turned over by way of two tiles, in each round of a loop.
Program doubled() {
  return Program::trace("doubled", [](Scope &k) {
    Index m = k.dim("m");
    Global X = k.input("X", bf16, {m, columns}), Y = k.output("Y", bf16, {m, columns});
    auto [block] = k.grid(k.multiprocessors());
    Shared a = k.shared("a", bf16, {rows, columns}), b = k.shared("b", bf16, {rows, columns});
    Index tiles = ceilDiv(m, rows), each = ceilDiv(tiles, k.blocks());
    k.loop(max(min(each, tiles - block * each), 0), [&, block = block](Index i) {
      Index row = (block * each + i) * rows;
      Fragment turned = k.fragment(bf16, {columns, rows}), y = k.fragment(bf16, {rows, columns});
      copy(X.tile({row, 0}, {rows, columns}), a);
      copy(a.t(), turned);
      copy(turned + turned, b.t());
      copy(b, y);
      copy(y, Y.tile({row, 0}, {rows, columns}));
    });
  });
}

constexpr int64_t side = 64, stages = 3;

/// Y = what X's tiles add up to, and what the sums so far do, both turned over. The role that loads fills
/// slots of "x"; "kept" is used in each round, and "turned" after all of them.
Program summed() {
  return Program::trace("summed", [](Scope &k) {
    Index m = k.dim("m");
    Global X = k.input("X", f32, {m, side}, {.alignment = 16}), Y = k.output("Y", f32, {side, side});
    k.loadRole();
    k.require(Requirement::warpSpecialized);
    Shared x = k.shared("x", f32, {side, side}), kept = k.shared("kept", f32, {side, side});
    Shared turned = k.shared("turned", f32, {side, side});
    Fragment sum = k.fragment(f32, {side, side}), all = k.fragment(f32, {side, side});
    k.pipelined(ceilDiv(m, side), {.stages = stages}, [&](Index i) {
      copy(X.tile({i * side, 0}, {side, side}), x);
      Fragment tile = k.fragment(f32, {side, side}), back = k.fragment(f32, {side, side});
      copy(x, tile);
      sum += tile;
      copy(sum, kept.t());
      copy(kept, back);
      all += back;
    });
    Fragment y = k.fragment(f32, {side, side});
    copy(sum, turned.t());
    copy(turned, y);
    copy(y + all, Y.tile({0, 0}, {side, side}));
  });
}

} // namespace

TEST_CASE("what follows a pipelined loop lies where its slots were", "[programs]") {
  for (const char *target : {"sm_90a", "sm_100a"}) {
    INFO(target);
    Artifact artifact = test::compiled(summed(), test::compilingFor(target));
    constexpr int64_t bytes = side * side * 4, ofRing = 16 * stages;
    CHECK(artifact.variants[0].launches[0].sharedBytes == (stages + 1) * bytes + ofRing); // "turned" has none
    for (int64_t m : {1, 64, 100, 700}) {
      INFO(m);
      Memory x = Memory::filled(f32, {m, side}, 0), y = Memory::filled(f32, {side, side}, test::notANumber);
      for (size_t i = 0; i < x.values.size(); ++i)
        x.values[i] = double(i * 7 % 61) - 30;
      test::run(artifact, {&x, &y});
      int64_t wrong = 0;
      for (int64_t i = 0; i < side; ++i)
        for (int64_t j = 0; j < side; ++j) {
          double sum = 0, all = 0;
          for (int64_t first = 0; first < m; first += side) {
            sum += first + j < m ? x.at({first + j, i}) : 0;
            all += sum;
          }
          wrong += y.at({i, j}) != sum + all;
        }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("tiles that are never alive together share their bytes", "[programs]") {
  for (const char *target : {"sm_90a", "sm_80", "sm_100a"}) {
    INFO(target);
    Artifact artifact = test::compiled(doubled(), test::compilingFor(target));
    for (int64_t m : {1, 64, 200, 700}) {
      Memory x = Memory::filled(bf16, {m, columns}, 0),
             y = Memory::filled(bf16, {m, columns}, test::notANumber);
      for (size_t i = 0; i < x.values.size(); ++i)
        x.values[i] = double(i * 7 % 61) - 30;
      test::run(artifact, {&x, &y});
      int64_t wrong = 0;
      for (size_t i = 0; i < x.values.size(); ++i)
        wrong += y.values[i] != 2 * x.values[i];
      CHECK(wrong == 0);
    }
  }
}
