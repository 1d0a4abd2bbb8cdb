// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reductions of extents that fill no layout: what pads them changes nothing.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <tuple>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

TEST_CASE("padding changes no reduction, also of NaN and of -0", "[reduction]") {
  for (int64_t count : {1, 3, 32, 75}) {
    INFO("extent " << count);
    const Artifact artifact = compiled(Program::trace("reduced", [&](Scope &k) {
      Global X = k.input("X", f32, {4, count}), Y = k.output("Y", f32, {4, 3});
      Fragment x = k.fragment(f32, {4, count});
      copy(X.tile({0, 0}, {4, count}), x);
      copy(reduce(Reduction::max, x, 1), Y.tile({0, 0}, {4, 1}));
      copy(reduce(Reduction::min, x, 1), Y.tile({0, 1}, {4, 1}));
      copy(reduce(Reduction::sum, x, 1), Y.tile({0, 2}, {4, 1}));
    }));
    Memory x = Memory::filled(f32, {4, count}, 0), y = Memory::filled(f32, {4, 3}, 99);
    for (int64_t at = 0; at < count; ++at) {
      x.at({0, at}) = notANumber;
      x.at({1, at}) = at == count - 1 ? -5 : notANumber;
      x.at({2, at}) = -0.0;
      x.at({3, at}) = -INFINITY;
    }
    run(artifact, {&x, &y});
    CHECK(std::isnan(y.at({0, 0})));
    CHECK(std::isnan(y.at({0, 1})));
    CHECK(y.at({1, 0}) == -5);
    CHECK(y.at({1, 1}) == -5);
    CHECK((y.at({2, 2}) == 0 && std::signbit(y.at({2, 2}))));
    for (int64_t column : {0, 1, 2})
      CHECK(y.at({3, column}) == -INFINITY);
  }
}

TEST_CASE("exchanges between warps that follow one another have one scratch memory", "[reduction]") {
  // Butterflies between elements of other warps, as of a Hadamard transform: each sums and subtracts pairs.
  constexpr int64_t n = 1024, stages = 2;
  const Artifact artifact = compiled(Program::trace("butterflies", [&](Scope &k) {
    Global X = k.input("X", f32, {1, n}), Y = k.output("Y", f32, {1, n});
    Fragment in = k.fragment(f32, {1, n});
    copy(X.tile({0, 0}, {1, n}), in);
    FragmentValue x = in;
    for (int64_t i = 0, h = n / 2; i < stages; ++i, h /= 2) {
      FragmentValue pairs = reshape(x, {n / (2 * h), 2, h});
      Predicate second = k.positions({1, 2, 1}, 1) == 1;
      FragmentValue sum = reduce(Reduction::sum, pairs, 1),
                    difference = reduce(Reduction::sum, where(second, -pairs, pairs), 1);
      x = reshape(where(second, difference, sum), {1, n});
    }
    copy(x, Y.tile({0, 0}, {1, n}));
  }));
  CHECK(artifact.variants.front().launches.front().sharedBytes == n * 4);
  Memory x = Memory::filled(f32, {1, n}, 0), y = Memory::filled(f32, {1, n}, notANumber);
  for (size_t i = 0; i < x.values.size(); ++i)
    x.values[i] = double(i * 7 % 16);
  run(artifact, {&x, &y});
  std::vector<double> expected = x.values;
  for (int64_t i = 0, h = n / 2; i < stages; ++i, h /= 2)
    for (int64_t at = 0; at < n; ++at)
      if (at / h % 2 == 0) {
        double &first = expected[size_t(at)], &second = expected[size_t(at + h)];
        std::tie(first, second) = std::pair(first + second, first - second);
      }
  CHECK(y.values == expected);
}

TEST_CASE("scans across warps have one scratch memory", "[reduction]") {
  constexpr int64_t rows = 64, columns = 5;
  auto sharedBytesOf = [&](int count) {
    const Artifact artifact = compiled(Program::trace("scans", [&](Scope &k) {
      Global X = k.input("X", i32, {rows, columns}), Y = k.output("Y", i32, {rows, columns});
      Fragment x = k.fragment(i32, {rows, columns});
      copy(X.tile({0, 0}, {rows, columns}), x);
      for (int i = 0; i < count; ++i)
        x = cumulative(Reduction::sum, x, 0) & 1023;
      copy(x, Y.tile({0, 0}, {rows, columns}));
    }));
    Memory x = Memory::filled(i32, {rows, columns}, 0), y = Memory::filled(i32, {rows, columns}, -1);
    for (size_t i = 0; i < x.values.size(); ++i)
      x.values[i] = double(i % 10);
    run(artifact, {&x, &y});
    std::vector<double> expected = x.values;
    for (int i = 0; i < count; ++i)
      for (size_t at = 0; at < expected.size(); ++at) {
        // Sums of the original elements: of those in place only the remainder by 1024 counts.
        double before = at < columns ? 0 : expected[at - columns];
        expected[at] = double(int64_t(before + expected[at]) & 1023);
      }
    CHECK(y.values == expected);
    return artifact.variants.front().launches.front().sharedBytes;
  };
  CHECK(sharedBytesOf(4) == sharedBytesOf(1));
}
