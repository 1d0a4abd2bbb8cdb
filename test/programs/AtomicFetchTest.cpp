// SPDX-License-Identifier: Apache-2.0
/// \file
/// Atomic operations that return the old value: of each kind and type, at odd extents, by several blocks and
/// by several elements at one position.
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

struct Kind {
  const char *name;
  void (*fetch)(const Operand &, const Slice &, Fragment &, Loc);
  std::function<int64_t(int64_t, int64_t)> combine;
};

const Kind kinds[] = {
    {"add", atomicAdd, std::plus<>()},
    {"min", atomicMin, [](int64_t a, int64_t b) { return std::min(a, b); }},
    {"max", atomicMax, [](int64_t a, int64_t b) { return std::max(a, b); }},
    {"and", atomicAnd, std::bit_and<>()},
    {"or", atomicOr, std::bit_or<>()},
    {"xor", atomicXor, std::bit_xor<>()},
    {"exchange", atomicExchange, [](int64_t, int64_t b) { return b; }},
};

/// Numbers of both signs, or beyond those of the type with a sign.
double number(ElementType type, int64_t i) {
  int64_t bits = (i * 2654435761) % 100003;
  if (type == u32)
    return double(bits * 40000);
  return double(type == i64 ? (bits - 50000) << 20 : bits - 50000);
}

Memory numbers(ElementType type, std::vector<int64_t> shape, int64_t first) {
  Memory memory = Memory::filled(type, std::move(shape), 0);
  for (size_t i = 0; i < memory.values.size(); ++i)
    memory.values[i] = number(type, int64_t(i) + first);
  return memory;
}

double wrapped(ElementType type, int64_t value) {
  return double(type == u32 ? int64_t(uint32_t(value)) : type == i32 ? int64_t(int32_t(value)) : value);
}

} // namespace

TEST_CASE("rows are changed, and their old values come back", "[atomic-fetch]") {
  constexpr int64_t rows = 13, columns = 75;
  // A few threads, all of them once, or several times.
  for (int64_t width : {5, 80, 300})
    for (ElementType type : {i32, u32, i64})
      for (const Kind &kind : kinds) {
        INFO(kind.name << " of " << toString(type) << ", " << width << " at a time");
        Artifact artifact = compiled(Program::trace("fetch", [&](Scope &k) {
          Global X = k.input("X", type, {rows, columns}), Y = k.inout("Y", type, {rows, columns});
          Global Old = k.output("Old", type, {rows, columns});
          auto [row] = k.grid(rows);
          k.loop(ceilDiv(columns, width), [&, row = row](Index i) {
            Fragment x = k.fragment(type, {1, width}), old = k.fragment(type, {1, width});
            copy(X.tile({row, i * width}, {1, width}), x);
            kind.fetch(x, Y.tile({row, i * width}, {1, width}), old, Loc::current());
            copy(old, Old.tile({row, i * width}, {1, width}));
          });
        }));
        Memory x = numbers(type, {rows, columns}, 0), y = numbers(type, {rows, columns}, 5000);
        Memory old = Memory::filled(type, {rows, columns}, 99);
        std::vector<double> before = y.values, after;
        for (size_t i = 0; i < before.size(); ++i)
          after.push_back(wrapped(type, kind.combine(int64_t(before[i]), int64_t(x.values[i]))));
        run(artifact, {&x, &y, &old});
        CHECK(old.values == before);
        CHECK(y.values == after);
      }
}

TEST_CASE("floats are added and exchanged", "[atomic-fetch]") {
  constexpr int64_t count = 70;
  for (ElementType type : {f32, f64})
    for (bool adds : {true, false}) {
      CAPTURE(toString(type), adds);
      Artifact artifact = compiled(Program::trace("floats", [&](Scope &k) {
        Global Y = k.inout("Y", type, {count}), Old = k.output("Old", type, {count});
        Fragment old = k.fragment(type, {count});
        if (adds)
          atomicAdd(0.5, Y.tile({0}, {count}), old);
        else
          atomicExchange(0.5, Y.tile({0}, {count}), old);
        copy(old, Old.tile({0}, {count}));
      }));
      Memory y = Memory::filled(type, {count}, 0), old = Memory::filled(type, {count}, 99);
      for (int64_t i = 0; i < count; ++i)
        y.values[size_t(i)] = double(i) - 30.25;
      std::vector<double> before = y.values, after = before;
      for (double &value : after)
        value = adds ? value + 0.5 : 0.5;
      run(artifact, {&y, &old});
      CHECK(old.values == before);
      CHECK(y.values == after);
    }
}

TEST_CASE("elements that are as expected are swapped", "[atomic-fetch]") {
  constexpr int64_t count = 77;
  for (ElementType type : {i32, u32, i64}) {
    CAPTURE(toString(type));
    Artifact artifact = compiled(Program::trace("swap", [&](Scope &k) {
      Global X = k.input("X", type, {count}), Y = k.inout("Y", type, {count});
      Global Old = k.output("Old", type, {count});
      Fragment x = k.fragment(type, {128}), old = k.fragment(type, {128});
      copy(X.tile({0}, {128}), x);
      atomicCompareAndSwap(x, 7, Y.tile({0}, {128}), old);
      copy(old, Old.tile({0}, {128}));
    }));
    Memory x = numbers(type, {count}, 0), y = x, old = Memory::filled(type, {count}, 99);
    for (int64_t i = 0; i < count; i += 3)
      y.values[size_t(i)] = number(type, i + 1000);
    std::vector<double> before = y.values, after = before;
    for (size_t i = 0; i < after.size(); ++i)
      after[i] = before[i] == x.values[i] ? 7 : before[i];
    run(artifact, {&x, &y, &old});
    CHECK(old.values == before);
    CHECK(y.values == after);
  }
}

TEST_CASE("several elements at one position get numbers of their own", "[atomic-fetch]") {
  constexpr int64_t count = 333, bins = 11;
  for (std::string target : {"sm_90a", "sm_80"})
    for (int64_t width : {16, 128, 512}) { // by a few threads, by all of them, several times by each
      CAPTURE(target, width);
      Artifact artifact = compiled(Program::trace("ranks",
                                                  [&](Scope &k) {
                                                    Global At = k.input("At", i32, {count});
                                                    Global Count = k.inout("Count", i32, {bins});
                                                    Global Rank = k.output("Rank", i32, {count});
                                                    auto [block] = k.grid(ceilDiv(count, width));
                                                    Fragment at = k.fragment(i32, {width}),
                                                             rank = k.fragment(i32, {width});
                                                    copy(At.tile({block * width}, {width}).fill(-1), at);
                                                    atomicAdd(1, Count.tile({at.toIndex()}, {width}), rank);
                                                    copy(rank, Rank.tile({block * width}, {width}));
                                                  }),
                                   compilingFor(target));
      Memory at = Memory::filled(i32, {count}, 0), counts = Memory::filled(i32, {bins}, 100),
             rank = Memory::filled(i32, {count}, -1);
      for (int64_t i = 0; i < count; ++i)
        at.values[size_t(i)] = double(i * i % (bins + 2) - 1); // some outside, at either end
      run(artifact, {&at, &counts, &rank});
      std::vector<std::vector<double>> ranks(bins);
      for (int64_t i = 0; i < count; ++i)
        if (auto bin = int64_t(at.values[size_t(i)]); bin >= 0 && bin < bins)
          ranks[size_t(bin)].push_back(rank.values[size_t(i)]);
        else
          CHECK(rank.values[size_t(i)] == 0);
      for (int64_t bin = 0; bin < bins; ++bin) {
        std::vector<double> &found = ranks[size_t(bin)];
        CHECK(counts.values[size_t(bin)] == double(100 + found.size()));
        std::ranges::sort(found);
        for (size_t i = 0; i < found.size(); ++i)
          CHECK(found[i] == double(100 + i));
      }
    }
}

TEST_CASE("outside of the tensor nothing changes, and the slice's value comes back", "[atomic-fetch]") {
  constexpr int64_t count = 10;
  Artifact artifact = compiled(Program::trace("outside", [&](Scope &k) {
    Global Y = k.inout("Y", i32, {count}), Old = k.output("Old", i32, {64});
    Fragment old = k.fragment(i32, {64});
    atomicExchange(5, Y.tile({0}, {64}).fill(-7), old);
    copy(old, Old.tile({0}, {64}));
  }));
  Memory y = numbers(i32, {count}, 0), old = Memory::filled(i32, {64}, 99);
  std::vector<double> expected = y.values;
  expected.resize(64, -7);
  run(artifact, {&y, &old});
  CHECK(old.values == expected);
  CHECK(y.values == std::vector<double>(count, 5));
}

TEST_CASE("operations of a block on the same elements follow one another", "[atomic-fetch]") {
  constexpr int64_t rows = 9, columns = 33;
  Artifact artifact = compiled(Program::trace("ordered", [&](Scope &k) {
    Global Y = k.inout("Y", i32, {rows, columns}), Sum = k.output("Sum", i32, {rows, columns});
    Fragment old = k.fragment(i32, {16, 64}), sum = k.fragment(i32, {16, 64});
    fill(Y.tile({0, 0}, {16, 64}), 3);
    k.loop(4, [&](Index i) {
      FragmentValue row = k.positions({16, 1}, 0) + i.to(i32); // every element by other threads each time
      atomicAdd(1, Y.tile({(row % 16).toIndex(), 0}, {16, 64}), old);
      sum = sum + where([&](Index at, Index) { return at + i < rows; }, old, 0);
    });
    atomicCompareAndSwap(7, 100, Y.tile({0, 0}, {16, 64}), old);
    copy(sum, Sum.tile({0, 0}, {16, 64}));
  }));
  Memory y = Memory::filled(i32, {rows, columns}, -1), sum = Memory::filled(i32, {rows, columns}, -1);
  run(artifact, {&y, &sum});
  // In round i each element of Y has been increased i times, by whichever row of the fragment was there.
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      CAPTURE(row, column);
      int64_t expected = 0;
      for (int64_t i = 0; i < 4 && row + i < rows; ++i)
        expected += 3 + i;
      CHECK(sum.at({row, column}) == double(expected));
      CHECK(y.at({row, column}) == 100);
    }
}

TEST_CASE("each block takes one number, in a role of its own", "[atomic-fetch]") {
  constexpr int64_t blocks = 7;
  Artifact artifact = compiled(Program::trace("numbers", [&](Scope &k) {
    Global Next = k.inout("Next", i32, {1}), Y = k.output("Y", i32, {blocks, 4});
    auto [block] = k.grid(blocks);
    k.roles([&, block = block] {
      k.role("one", {.warps = 4}, [&] {
        Fragment mine = k.fragment(i32, {1});
        atomicAdd(1, Next.tile({0}, {1}), mine);
        copy(mine, Y.tile({block, 0}, {1, 1}));
      });
      k.role("two", {.warps = 2}, [&] {
        Fragment mine = k.fragment(i32, {3});
        atomicAdd(1, Next.tile({k.fragment(i32, {3}, 0).toIndex()}, {3}), mine);
        copy(mine, Y.tile({block, 1}, {1, 3}));
      });
    });
  }));
  Memory next = Memory::filled(i32, {1}, 0), y = Memory::filled(i32, {blocks, 4}, -1);
  run(artifact, {&next, &y});
  CHECK(next.values[0] == double(blocks * 4));
  std::ranges::sort(y.values);
  for (int64_t i = 0; i < blocks * 4; ++i)
    CHECK(y.values[size_t(i)] == double(i));
}
