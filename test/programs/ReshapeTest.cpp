// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fragments and shared tiles with other extents, and bits as elements of another width: every element has
/// its place in row-major order, whatever the layouts of what comes before and after.
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

int64_t countOf(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

Memory numbered(ElementType element, const Shape &shape, int64_t modulus) {
  Memory memory = Memory::filled(element, shape, 0);
  for (size_t i = 0; i < memory.values.size(); ++i)
    memory.values[i] = double((int64_t(i) * 7 + 3) % modulus);
  return memory;
}

/// Sums of rows up to each element, of so many columns.
std::vector<double> cumulativeRows(std::vector<double> values, int64_t columns) {
  for (size_t i = 0; i < values.size(); ++i)
    if (int64_t(i) % columns != 0)
      values[i] += values[i - 1];
  return values;
}

Slice whole(const Global &tensor, const Shape &shape) {
  return tensor.tile(std::vector<Index>(shape.size(), 0), shape);
}

struct Extents {
  Shape from, to;
};
const std::vector<Extents> extents = {
    {{64, 64}, {4, 16, 64}}, {{64, 64}, {4096}},     {{4096}, {2, 2048}},  {{48, 32}, {1536}},
    {{96, 40}, {40, 96}},    {{3, 5}, {15}},         {{15}, {5, 3}},       {{7, 11}, {11, 7}},
    {{1, 96}, {32, 3}},      {{24, 10}, {6, 40}},    {{130}, {13, 10}},    {{2, 3, 4}, {4, 3, 2}},
    {{16, 1}, {1, 16}},      {{1, 1}, {1, 1, 1}},    {{5, 128}, {128, 5}}, {{2, 3, 500}, {2, 3, 1, 500}},
    {{1, 3, 250}, {3, 250}}, {{6, 500}, {2, 3, 500}}};

} // namespace

TEST_CASE("fragments have other extents", "[reshape]") {
  for (const Extents &e : extents) {
    INFO("from " << e.from.size() << " axes with " << e.from[0] << " to " << e.to.size() << " with "
                 << e.to[0]);
    Artifact artifact = compiled(Program::trace("reshape", [&](Scope &k) {
      Global X = k.input("X", f32, {e.from.begin(), e.from.end()}),
             Y = k.output("Y", f32, {e.to.begin(), e.to.end()}),
             Z = k.output("Z", f32, {e.from.begin(), e.from.end()});
      k.grid(1);
      Fragment x = k.fragment(f32, e.from);
      copy(whole(X, e.from), x);
      FragmentValue y = cumulative(Reduction::sum, reshape(x, e.to), -1);
      copy(y, whole(Y, e.to));
      copy(reshape(y, e.from) + x, whole(Z, e.from));
    }));
    Memory x = numbered(f32, e.from, 64), y = Memory::filled(f32, e.to, notANumber),
           z = Memory::filled(f32, e.from, notANumber);
    run(artifact, {&x, &y, &z});
    std::vector<double> expected = cumulativeRows(x.values, e.to.back());
    CHECK(y.values == expected);
    for (size_t i = 0; i < expected.size(); ++i)
      expected[i] += x.values[i];
    CHECK(z.values == expected);
  }
}

TEST_CASE("shared tiles have other extents", "[reshape]") {
  for (const Extents &e : extents) {
    if (e.from.size() != 2)
      continue;
    INFO("from " << e.from[0] << " rows to " << e.to.size() << " axes with " << e.to[0]);
    Shape turned = {e.from[1], e.from[0]};
    Artifact artifact = compiled(Program::trace("reshape_shared", [&](Scope &k) {
      Global X = k.input("X", bf16, {e.from[0], e.from[1]}),
             Y = k.output("Y", bf16, {e.to.begin(), e.to.end()}),
             Z = k.output("Z", bf16, {e.to.begin(), e.to.end()}),
             W = k.output("W", bf16, {e.from[0], e.from[1]});
      k.grid(1);
      Shared tile = k.shared("tile", bf16, e.from), other = k.shared("other", bf16, e.from);
      Fragment y = k.fragment(bf16, e.to), z = k.fragment(bf16, e.to);
      copy(whole(X, e.from), tile);
      copy(tile.reshape(e.to), y);
      copy(y, whole(Y, e.to));
      copy(tile.t().reshape(e.to), z);
      copy(z, whole(Z, e.to));
      copy((y.to(f32) + 1).to(bf16), other.reshape(e.to));
      copy(other, whole(W, e.from));
    }));
    Memory x = numbered(bf16, e.from, 128), y = Memory::filled(bf16, e.to, notANumber),
           z = Memory::filled(bf16, e.to, notANumber), w = Memory::filled(bf16, e.from, notANumber);
    run(artifact, {&x, &y, &z, &w});
    CHECK(y.values == x.values);
    for (int64_t i = 0; i < countOf(turned); ++i) {
      CHECK(z.values[size_t(i)] == x.at({i % e.from[0], i / e.from[0]}));
      CHECK(w.values[size_t(i)] == x.values[size_t(i)] + 1);
    }
  }
}

TEST_CASE("a slot and rows of a tile have other extents", "[reshape]") {
  Artifact artifact = compiled(Program::trace("reshape_rows", [&](Scope &k) {
    Global X = k.input("X", f32, {24, 40}), Y = k.output("Y", f32, {5, 64});
    k.grid(1);
    Shared tile = k.shared("tile", f32, {24, 40});
    Fragment y = k.fragment(f32, {5, 64});
    copy(X.tile({0, 0}, {24, 40}), tile);
    copy(tile.rows(8, 8).reshape({5, 64}), y);
    copy(y, Y.tile({0, 0}, {5, 64}));
  }));
  Memory x = numbered(f32, {24, 40}, 1000), y = Memory::filled(f32, {5, 64}, notANumber);
  run(artifact, {&x, &y});
  CHECK(y.values == std::vector<double>(x.values.begin() + 320, x.values.begin() + 640));
}

TEST_CASE("words are several elements", "[reshape][bitcast]") {
  struct Types {
    ElementType wide, narrow;
  };
  for (Types types : {Types{u32, u8}, Types{u32, i8}, Types{i64, u32}, Types{i64, u8}, Types{i32, u8}})
    for (Shape shape : {Shape{24, 20}, Shape{3, 5}, Shape{7}, Shape{64, 16}}) {
      INFO(toString(types.wide) << " of " << toString(types.narrow) << ", " << shape.back() << " of a row");
      int64_t parts = int64_t(bitsOf(types.wide) / bitsOf(types.narrow));
      Shape narrow = shape;
      narrow.back() *= parts;
      Artifact artifact = compiled(Program::trace("words", [&](Scope &k) {
        Global X = k.input("X", types.wide, {shape.begin(), shape.end()}),
               Y = k.output("Y", types.narrow, {narrow.begin(), narrow.end()}),
               Z = k.output("Z", types.wide, {shape.begin(), shape.end()});
        k.grid(1);
        Fragment x = k.fragment(types.wide, shape), y = k.fragment(types.narrow, narrow);
        copy(whole(X, shape), x);
        copy(bitcast(x, types.narrow), whole(Y, narrow));
        y = bitcast(x + 1, types.narrow);
        copy(bitcast(y, types.wide), whole(Z, shape));
      }));
      Memory x = Memory::filled(types.wide, shape, 0), y = Memory::filled(types.narrow, narrow, -1),
             z = Memory::filled(types.wide, shape, -1);
      // Numbers that doubles hold, to which 1 can be added.
      const auto narrowBits = int64_t(bitsOf(types.narrow)),
                 most = bitsOf(types.wide) == 64 ? int64_t(52) : 31;
      std::vector<double> elements;
      uint64_t state = 12345;
      for (double &value : x.values) {
        uint64_t number = 0;
        for (int64_t at = 0; at < parts * narrowBits; at += narrowBits) {
          state = state * 6364136223846793005u + 1442695040888963407u;
          uint64_t bits = state >> 20 & ((uint64_t(1) << std::clamp<int64_t>(most - at, 0, narrowBits)) - 1);
          number |= bits << at;
          bool isNegative = !isUnsigned(types.narrow) && bits >> (narrowBits - 1) != 0;
          elements.push_back(double(bits) - (isNegative ? double(uint64_t(1) << narrowBits) : 0));
        }
        value = double(number);
      }
      run(artifact, {&x, &y, &z});
      CHECK(y.values == elements);
      for (double &value : x.values)
        ++value;
      CHECK(z.values == x.values);
    }
}

TEST_CASE("words are pairs of floats", "[reshape][bitcast]") {
  ElementType type = GENERATE(bf16, f16);
  double one = type == bf16 ? 0x3f80 : 0x3c00;
  constexpr int64_t rows = 37, words = 24;
  Artifact artifact = compiled(Program::trace("pairs", [&](Scope &k) {
    Index m = k.dim("m");
    Global X = k.input("X", u32, {m, words}), Y = k.output("Y", type, {m, 2 * words}),
           Z = k.output("Z", u32, {m, words});
    auto [i] = k.grid(ceilDiv(m, 16));
    Fragment x = k.fragment(u32, {16, words});
    copy(X.tile({i * 16, 0}, {16, words}), x);
    FragmentValue y = bitcast(x, type) * 2;
    copy(y, Y.tile({i * 16, 0}, {16, 2 * words}));
    copy(bitcast(y, u32), Z.tile({i * 16, 0}, {16, words}));
  }));
  Memory x = Memory::filled(u32, {rows, words}, 0), y = Memory::filled(type, {rows, 2 * words}, notANumber),
         z = Memory::filled(u32, {rows, words}, 0);
  const int fraction = type == bf16 ? 7 : 10;
  std::vector<double> numbers;
  for (size_t i = 0; i < x.values.size(); ++i) {
    auto low = int64_t(i % 100), high = int64_t(i * 3 % 128);
    x.values[i] = (one + double(low)) + (one + double(high)) * 65536;
    for (int64_t bits : {low, high})
      numbers.push_back(2 * (1 + double(bits) / double(1 << fraction)));
  }
  run(artifact, {&x, &y, &z});
  CHECK(y.values == numbers);
  for (double &value : x.values) // one more in both exponents
    value += double((1 << fraction) + (1 << (fraction + 16)));
  CHECK(z.values == x.values);
}

TEST_CASE("pairs in words are a left factor", "[reshape][bitcast]") {
  constexpr int64_t words = 16, rows = 128, columns = 40;
  Artifact artifact = compiled(Program::trace("pairs_times", [&](Scope &k) {
    Index m = k.dim("m"), steps = k.dim("steps");
    Global W = k.input("W", u32, {m, steps, words}, {.alignment = 16}),
           B = k.input("B", bf16, {steps, 2 * words, columns}, {.alignment = 16}),
           C = k.output("C", f32, {m, columns});
    auto [i] = k.grid(ceilDiv(m, rows));
    Shared w = k.shared("w", u32, {rows, words}), b = k.shared("b", bf16, {2 * words, columns});
    Fragment word = k.fragment(u32, {rows, words}), acc = k.fragment(f32, {rows, columns});
    k.pipelined(steps, {.stages = 2}, [&](Index s) {
      copy(W.tile({i * rows, s, 0}, {rows, 1, words}), w);
      copy(B.tile({s, 0, 0}, {1, 2 * words, columns}), b);
      copy(w, word);
      gemm(bitcast((word & 0x000f000f) | 0x43004300u, bf16) - 128, b, acc);
    });
    copy(acc, C.tile({i * rows, 0}, {rows, columns}));
  }));
  const int64_t m = 141, steps = 3;
  Memory w = Memory::filled(u32, {m, steps, words}, 0), b = numbered(bf16, {steps, 2 * words, columns}, 5),
         c = Memory::filled(f32, {m, columns}, notANumber);
  for (size_t i = 0; i < w.values.size(); ++i)
    w.values[i] = double(uint32_t(i * 2654435761u));
  run(artifact, {&w, &b, &c});
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (int64_t s = 0; s < steps; ++s)
        for (int64_t l = 0; l < 2 * words; ++l)
          sum += double(uint32_t(w.at({i, s, l / 2})) >> (l % 2 * 16) & 15) * b.at({s, l, j});
      INFO(i << ", " << j);
      REQUIRE(c.at({i, j}) == sum);
    }
}
