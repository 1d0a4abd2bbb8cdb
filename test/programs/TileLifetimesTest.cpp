// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tiles that do not fit together, but are never alive together.
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

} // namespace

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
