// SPDX-License-Identifier: Apache-2.0
/// \file
/// Atomic operations of each kind, on integers of each type, by several blocks, at odd extents.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>
#include <functional>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

struct Kind {
  const char *name;
  void (*ofFragment)(const FragmentValue &, const Slice &, Loc);
  void (*ofNumber)(const Scalar &, const Slice &, Loc);
  void (*ofTile)(const Shared &, const Slice &, Loc);
  std::function<int64_t(int64_t, int64_t)> combine;
};

const Kind kinds[] = {
    {"add", atomicAdd, atomicAdd, atomicAdd, std::plus<>()},
    {"min", atomicMin, atomicMin, atomicMin, [](int64_t a, int64_t b) { return std::min(a, b); }},
    {"max", atomicMax, atomicMax, atomicMax, [](int64_t a, int64_t b) { return std::max(a, b); }},
    {"and", atomicAnd, atomicAnd, atomicAnd, std::bit_and<>()},
    {"or", atomicOr, atomicOr, atomicOr, std::bit_or<>()},
    {"xor", atomicXor, atomicXor, atomicXor, std::bit_xor<>()},
};

/// Numbers of both signs, or beyond those of the type with a sign.
double number(ElementType type, int64_t i) {
  int64_t bits = (i * 2654435761) % 100003;
  if (type == u32)
    return double(bits * 40000);
  return double(type == i64 ? (bits - 50000) << 20 : bits - 50000);
}

} // namespace

TEST_CASE("blocks combine rows with one row", "[atomic]") {
  constexpr int64_t rows = 37, columns = 75;
  for (ElementType type : {i32, u32, i64})
    for (const Kind &kind : kinds) {
      INFO(kind.name << " of " << toString(type));
      Artifact artifact = compiled(Program::trace("combine", [&](Scope &k) {
        Global X = k.input("X", type, {rows, columns}), Y = k.inout("Y", type, {columns});
        auto [block] = k.grid(ceilDiv(rows, 4));
        k.loop(4, [&](Index i) {
          Fragment x = k.fragment(type, {1, 80});
          Index row = block * 4 + i;
          copy(X.tile({row, 0}, {1, 80}), x);
          k.when(row < rows, [&] { kind.ofFragment(x, Y.tile({0}, {80}), Loc::current()); });
        });
      }));
      Memory x = Memory::filled(type, {rows, columns}, 0), y = Memory::filled(type, {columns}, 0);
      for (int64_t i = 0; i < rows * columns; ++i)
        x.values[size_t(i)] = number(type, i);
      for (int64_t i = 0; i < columns; ++i)
        y.values[size_t(i)] = number(type, 7 * i + 1);
      std::vector<double> expected = y.values;
      for (int64_t i = 0; i < rows * columns; ++i) {
        double &element = expected[size_t(i % columns)];
        auto combined = kind.combine(int64_t(element), int64_t(x.values[size_t(i)]));
        element = double(type == u32   ? int64_t(uint32_t(combined))
                         : type == i32 ? int64_t(int32_t(combined))
                                       : combined);
      }
      run(artifact, {&x, &y});
      CHECK(y.values == expected);
    }
}

TEST_CASE("elements at positions of their own are combined, equal ones too", "[atomic]") {
  constexpr int64_t count = 333, bins = 11;
  for (const Kind &kind : kinds) {
    INFO(kind.name);
    Artifact artifact = compiled(Program::trace("combine_at", [&](Scope &k) {
      Global At = k.input("At", i32, {count}), X = k.input("X", i32, {count}), Y = k.inout("Y", i32, {bins});
      Global Z = k.inout("Z", i32, {bins});
      auto [block] = k.grid(ceilDiv(count, 128));
      Fragment at = k.fragment(i32, {128}), x = k.fragment(i32, {128});
      copy(At.tile({block * 128}, {128}).fill(-1), at);
      copy(X.tile({block * 128}, {128}), x);
      kind.ofFragment(x, Y.tile({at.toIndex()}, {128}), Loc::current());
      kind.ofNumber(21, Z.tile({at.toIndex()}, {128}), Loc::current());
      kind.ofNumber(6, Z.tile({bins - 1}, {1}), Loc::current());
    }));
    Memory at = Memory::filled(i32, {count}, 0), x = at, y = Memory::filled(i32, {bins}, 12345), z = y;
    std::vector<double> expected = y.values, ofNumbers = z.values;
    for (int64_t i = 0; i < count; ++i) {
      at.values[size_t(i)] = double(i * i % 13 - 1); // outside as well
      x.values[size_t(i)] = number(i32, i);
      if (int64_t bin = int64_t(at.values[size_t(i)]); bin >= 0 && bin < bins) {
        double &element = expected[size_t(bin)], &other = ofNumbers[size_t(bin)];
        element = double(kind.combine(int64_t(element), int64_t(x.values[size_t(i)])));
        other = double(kind.combine(int64_t(other), 21));
      }
    }
    for (int64_t block = 0; block < 3; ++block)
      ofNumbers.back() = double(kind.combine(int64_t(ofNumbers.back()), 6));
    run(artifact, {&at, &x, &y, &z});
    CHECK(y.values == expected);
    CHECK(z.values == ofNumbers);
  }
}

TEST_CASE("the TMA combines tiles, beyond the edges as well", "[atomic]") {
  constexpr int64_t rows = 19, columns = 36;
  for (const Kind &kind : kinds) {
    INFO(kind.name);
    Artifact artifact = compiled(Program::trace("combine_tiles", [&](Scope &k) {
      Global X = k.input("X", i32, {rows, columns}, {.alignment = 16}),
             Y = k.inout("Y", i32, {rows, columns}, {.alignment = 16});
      auto [i, j] = k.grid(ceilDiv(rows, 16), ceilDiv(columns, 32));
      Shared tile = k.shared("tile", i32, {16, 32});
      copy(X.tile({i * 16, j * 32}, {16, 32}), tile);
      kind.ofTile(tile, Y.tile({i * 16, j * 32}, {16, 32}), Loc::current());
      kind.ofTile(tile, Y.tile({i * 16, j * 32}, {16, 32}), Loc::current());
    }));
    Memory x = Memory::filled(i32, {rows, columns}, 0), y = x;
    for (size_t i = 0; i < x.values.size(); ++i)
      x.values[i] = number(i32, int64_t(i)), y.values[i] = number(i32, int64_t(3 * i + 5));
    std::vector<double> expected = y.values;
    for (size_t i = 0; i < expected.size(); ++i)
      for (int time = 0; time < 2; ++time)
        expected[i] = double(kind.combine(int64_t(expected[i]), int64_t(x.values[i])));
    run(artifact, {&x, &y});
    CHECK(y.values == expected);
  }
}
