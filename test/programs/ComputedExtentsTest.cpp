// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensors whose extents the program computes from others.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>
#include <numeric>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

/// Sums of the columns of X, by parts of 64 rows; their number is an extent of a workspace and of a result.
Artifact columnSums() {
  return compiled(Program::trace("column_sums", [](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n");
    Index parts = ceilDiv(m, 64);
    Global X = k.input("X", f32, {m, n}), Parts = k.output("Parts", f32, {parts, n}),
           Y = k.output("Y", f32, {n});
    Global partial = k.workspace("partial", f32, {parts, n});
    k.launch("column_sums_partial", [&] {
      auto [i, j] = k.grid(parts, ceilDiv(n, 32));
      Fragment x = k.fragment(f32, {64, 32});
      copy(X.tile({i * 64, j * 32}, {64, 32}), x);
      Fragment sum = reduce(Reduction::sum, x, 0);
      copy(sum, partial.tile({i, j * 32}, {1, 32}));
      copy(sum, Parts.tile({i, j * 32}, {1, 32}));
    });
    k.launch("column_sums_combine", [&] {
      auto [j] = k.grid(ceilDiv(n, 32));
      Fragment x = k.fragment(f32, {1, 32}), sum = k.fragment(f32, {1, 32});
      k.loop(parts, [&](Index i) {
        copy(partial.tile({i, j * 32}, {1, 32}), x);
        sum += x;
      });
      copy(sum, Y.tile({j * 32}, {32}));
    });
  }));
}

} // namespace

TEST_CASE("workspaces and results have extents that are computed", "[computed extents]") {
  auto [m, n] = GENERATE(std::pair(int64_t(1), int64_t(1)), std::pair(int64_t(64), int64_t(32)),
                         std::pair(int64_t(65), int64_t(33)), std::pair(int64_t(300), int64_t(70)),
                         std::pair(int64_t(0), int64_t(5)));
  Memory x = Memory::filled(f32, {m, n}, 0);
  std::iota(x.values.begin(), x.values.end(), -7);
  int64_t parts = (m + 63) / 64;
  Memory each = Memory::filled(f32, {parts, n}, notANumber), y = Memory::filled(f32, {n}, notANumber);
  Memory partial = Memory::filled(f32, {parts, n}, notANumber);
  run(columnSums(), {&x, &each, &y, &partial});
  for (int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (int64_t part = 0; part < parts; ++part) {
      double ofPart = 0;
      for (int64_t i = part * 64; i < std::min(m, part * 64 + 64); ++i)
        ofPart += x.values[size_t(i * n + j)];
      CHECK(each.values[size_t(part * n + j)] == ofPart);
      sum += ofPart;
    }
    CHECK(y.values[size_t(j)] == sum);
  }
}
