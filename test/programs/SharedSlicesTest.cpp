// SPDX-License-Identifier: Apache-2.0
/// \file
/// Slices of shared tiles: boxes at computed positions, a position per element, limits and fill values; of
/// tiles that the TMA fills and stores, of views and slots, in pipelined loops and roles.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

double number(int64_t i) { return double((i * 37 + 5) % 101 - 50); }

Memory numbers(ElementType type, std::vector<int64_t> shape, int64_t first = 0) {
  Memory memory = Memory::filled(type, std::move(shape), 0);
  for (size_t i = 0; i < memory.values.size(); ++i)
    memory.values[i] = number(int64_t(i) + first);
  return memory;
}

/// Of i32.
Memory positions(std::vector<int64_t> shape, const std::vector<int64_t> &values) {
  Memory memory = Memory::filled(i32, std::move(shape), 0);
  for (size_t i = 0; i < memory.values.size(); ++i)
    memory.values[i] = double(values[i % values.size()]);
  return memory;
}

/// The element of a matrix, or `outside` where there is none.
double elementOr(Memory &x, int64_t row, int64_t column, double outside) {
  bool isInside = row >= 0 && row < x.shape[0] && column >= 0 && column < x.shape[1];
  return isInside ? x.at({row, column}) : outside;
}

int64_t panelOf(ElementType type) { return 128 / int64_t(sizeInBytes(type)); }

} // namespace

TEST_CASE("boxes at positions that the device reads", "[shared-slices]") {
  for (std::string target : {"sm_90a", "sm_80"})
    for (ElementType type : {i8, bf16, f32, f64})
      for (int64_t panels : {1, 3}) {
        const int64_t rows = 29, columns = panels * panelOf(type), m = 5, n = 7;
        CAPTURE(target, toString(type), panels);
        Memory at = positions(
            {9, 2}, {0, 0, 3, 8, 24, columns - n, -2, 11, 27, columns - 3, 4, -6, 28, 0, -9, 1, 3, columns});
        Artifact artifact = compiled(
            Program::trace("boxes",
                           [&](Scope &k) {
                             Global X = k.input("X", type, {rows, columns}), At = k.input("At", i32, {9, 2});
                             Global Y = k.output("Y", type, {9, m, n}), T = k.output("T", type, {9, n, m});
                             Shared tile = k.shared("tile", type, {rows, columns});
                             copy(X.tile({0, 0}, {rows, columns}), tile);
                             k.loop(9, [&](Index i) {
                               Index row = At.read({i, 0}), column = At.read({i, 1});
                               Fragment box = k.fragment(type, {m, n}), turned = k.fragment(type, {n, m});
                               copy(tile.tile({row, column}, {m, n}).fill(77), box);
                               copy(tile.t().tile({column, row}, {n, m}).fill(66), turned);
                               copy(box, Y.tile({i, 0, 0}, {1, m, n}));
                               copy(turned, T.tile({i, 0, 0}, {1, n, m}));
                             });
                           }),
            compilingFor(target));
        Memory x = numbers(type, {rows, columns}), y = Memory::filled(type, {9, m, n}, 99),
               t = Memory::filled(type, {9, n, m}, 99);
        run(artifact, {&x, &at, &y, &t});
        int64_t wrong = 0;
        for (int64_t i = 0; i < 9; ++i)
          for (int64_t r = 0; r < m; ++r)
            for (int64_t c = 0; c < n; ++c) {
              auto row = int64_t(at.at({i, 0})) + r, column = int64_t(at.at({i, 1})) + c;
              wrong += y.at({i, r, c}) != elementOr(x, row, column, 77);
              wrong += t.at({i, c, r}) != elementOr(x, row, column, 66);
            }
        CHECK(wrong == 0);
      }
}

TEST_CASE("boxes that are written, in a tile that the TMA stores", "[shared-slices]") {
  for (std::string target : {"sm_90a", "sm_80"})
    for (ElementType type : {u8, f16, i32, i64}) {
      const int64_t rows = 24, columns = 2 * panelOf(type), m = 6, n = 11;
      CAPTURE(target, toString(type));
      Memory at = positions({6, 2}, {1, 3, 20, columns - 5, -2, 9, 30, 0, 8, 16, 3, -20});
      Artifact artifact =
          compiled(Program::trace("written",
                                  [&](Scope &k) {
                                    Global X = k.input("X", type, {6, m, n}), At = k.input("At", i32, {6, 2});
                                    Global Y = k.output("Y", type, {rows, columns});
                                    Shared tile = k.shared("tile", type, {rows, columns});
                                    fill(tile, 9);
                                    k.loop(6, [&](Index i) {
                                      Fragment box = k.fragment(type, {m, n});
                                      copy(X.tile({i, 0, 0}, {1, m, n}), box);
                                      Index row = At.read({i, 0});
                                      copy(box, tile.tile({row, At.read({i, 1})}, {m, n}).limited(0, 23));
                                    });
                                    fill(tile.tile({0, columns - 2}, {rows, 4}), 5);
                                    copy(tile, Y.tile({0, 0}, {rows, columns}));
                                  }),
                   compilingFor(target));
      Memory x = numbers(type, {6, m, n}), y = Memory::filled(type, {rows, columns}, 99);
      for (double &value : x.values)
        value = std::abs(value);
      run(artifact, {&x, &at, &y});
      Memory expected = Memory::filled(type, {rows, columns}, 9);
      for (int64_t i = 0; i < 6; ++i)
        for (int64_t r = 0; r < m; ++r)
          for (int64_t c = 0; c < n; ++c) {
            auto row = int64_t(at.at({i, 0})) + r, column = int64_t(at.at({i, 1})) + c;
            if (at.at({i, 0}) >= 0 && row < 23 && column >= 0 && column < columns)
              expected.at({row, column}) = x.at({i, r, c});
          }
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = columns - 2; column < columns; ++column)
          expected.at({row, column}) = 5;
      CHECK(y.values == expected.values);
    }
}

TEST_CASE("a position for each element, along rows and along columns", "[shared-slices]") {
  for (std::string target : {"sm_90a", "sm_80"})
    for (ElementType type : {i8, bf16, f32, i64}) {
      const int64_t rows = 21, columns = 2 * panelOf(type), m = 19, n = 32;
      CAPTURE(target, toString(type));
      Artifact artifact = compiled(
          Program::trace(
              "gathered",
              [&](Scope &k) {
                Global X = k.input("X", type, {rows, columns}), At = k.input("At", i32, {m, n});
                Global Y = k.output("Y", type, {m, n}), Z = k.output("Z", type, {m, n}),
                       W = k.output("W", type, {rows, columns});
                Shared tile = k.shared("tile", type, {rows, columns}),
                       other = k.shared("other", type, {rows, columns});
                Fragment at = k.fragment(i32, {m, n}), first = k.fragment(i32, {m, 1}),
                         y = k.fragment(type, {m, n}), z = k.fragment(type, {m, n});
                copy(X.tile({0, 0}, {rows, columns}), tile);
                copy(At.tile({0, 0}, {m, n}), at);
                copy(At.tile({0, 0}, {m, 1}), first);
                copy(tile.tile({first.toIndex(), 16}, {m, n}).fill(3),
                     y); // whole rows, in vectors
                copy(tile.tile({(k.positions({m, 1}, 0) + 2).toIndex(), at.toIndex()}, {m, n}).fill(4), z);
                copy(y, Y.tile({0, 0}, {m, n}));
                copy(z, Z.tile({0, 0}, {m, n}));
                // Each row turned around, the last one first.
                fill(other, 1);
                FragmentValue back = 15 - k.positions({1, 16}, 1),
                              up = k.fragment(i32, {m, 1}, m) - k.positions({m, 1}, 0);
                Fragment part = k.fragment(type, {m, 16});
                copy(tile.tile({1, back.toIndex()}, {m, 16}), part);
                copy(part, other.tile({up.toIndex(), columns - 9}, {m, 16}));
                copy(other, W.tile({0, 0}, {rows, columns}));
              }),
          compilingFor(target));
      Memory x = numbers(type, {rows, columns}),
             at = positions({m, n}, {0, 20, -1, 7, 21, 3, 19, 1000, 2, 13, 5}),
             y = Memory::filled(type, {m, n}, 99), z = y, w = Memory::filled(type, {rows, columns}, 99);
      run(artifact, {&x, &at, &y, &z, &w});
      Memory expected = Memory::filled(type, {rows, columns}, 1);
      int64_t wrong = 0;
      for (int64_t r = 0; r < m; ++r) {
        for (int64_t c = 0; c < n; ++c) {
          wrong += y.at({r, c}) != elementOr(x, int64_t(at.at({r, 0})), 16 + c, 3);
          wrong += z.at({r, c}) != elementOr(x, 2 + r, int64_t(at.at({r, c})), 4);
        }
        for (int64_t c = 0; c < 9; ++c)
          expected.at({m - r, columns - 9 + c}) = elementOr(x, 1 + r, 15 - c, 0);
      }
      CHECK(wrong == 0);
      CHECK(w.values == expected.values);
    }
}

TEST_CASE("counts in shared memory, added up in a tensor", "[shared-slices]") {
  constexpr int64_t count = 3001, bins = 37;
  for (std::string target : {"sm_90a", "sm_80"})
    for (ElementType type : {i32, u32, i64, f32, f64})
      for (int64_t width : {1, 20, 512}) {
        CAPTURE(target, toString(type), width);
        Artifact artifact = compiled(
            Program::trace("count",
                           [&](Scope &k) {
                             Global X = k.input("X", i32, {count});
                             Global Count = k.inout("Count", type, {bins});
                             Shared counts = k.shared("counts", type, {bins});
                             fill(counts, 0);
                             auto [block, parts] = k.grid(5, 2);
                             k.loop(ceilDiv(count, 10 * width), [&, block = block, part = parts](Index i) {
                               Fragment x = k.fragment(i32, {width});
                               Index first = ((i * 5 + block) * 2 + part) * width;
                               copy(X.tile({first}, {width}).fill(-1), x);
                               atomicAdd(2, counts.tile({x.toIndex()}, {width}));
                             });
                             atomicAdd(1, counts.tile({bins - 1}, {1}));
                             Fragment mine = k.fragment(type, {bins});
                             copy(counts.tile({0}, {bins}), mine);
                             atomicAdd(mine, Count.tile({0}, {bins}));
                           }),
            compilingFor(target));
        Memory x = numbers(i32, {count}), counted = Memory::filled(type, {bins}, 3), expected = counted;
        for (double &value : x.values) {
          if (value >= 0 && value < bins)
            expected.at({int64_t(value)}) += 2;
        }
        expected.at({bins - 1}) += 10;
        run(artifact, {&x, &counted});
        CHECK(counted.values == expected.values);
      }
}

TEST_CASE("each kind of atomic operation, after stores and before loads", "[shared-slices]") {
  constexpr int64_t rows = 9, columns = 40, rounds = 3;
  struct Kind {
    const char *name;
    void (*combine)(const FragmentValue &, const Slice &, Loc);
    void (*fetch)(const Operand &, const Slice &, Fragment &, Loc);
    std::function<int64_t(int64_t, int64_t)> result;
  };
  const Kind kinds[] = {
      {"add", atomicAdd, atomicAdd, std::plus<>()},
      {"min", atomicMin, atomicMin, [](int64_t a, int64_t b) { return std::min(a, b); }},
      {"max", atomicMax, atomicMax, [](int64_t a, int64_t b) { return std::max(a, b); }},
      {"and", atomicAnd, atomicAnd, std::bit_and<>()},
      {"or", atomicOr, atomicOr, std::bit_or<>()},
      {"xor", atomicXor, atomicXor, std::bit_xor<>()},
  };
  for (ElementType type : {i32, u32, i64})
    for (const Kind &kind : kinds) {
      CAPTURE(toString(type), kind.name);
      Artifact artifact = compiled(Program::trace("kinds", [&](Scope &k) {
        Global X = k.input("X", type, {rounds, rows, columns}), Y = k.inout("Y", type, {rows, columns});
        Global Old = k.output("Old", type, {rounds, rows, columns}),
               Once = k.output("Once", type, {rows, columns});
        Shared tile = k.shared("tile", type, {rows, columns});
        copy(Y.tile({0, 0}, {rows, columns}), tile);
        Fragment x = k.fragment(type, {rows, columns}), old = k.fragment(type, {rows, columns});
        k.loop(rounds, [&](Index i) { // in each, old values of what the one before left behind
          copy(X.tile({i, 0, 0}, {1, rows, columns}), x);
          kind.fetch(x, tile.tile({0, 0}, {rows, columns}), old, Loc::current());
          copy(old, Old.tile({i, 0, 0}, {1, rows, columns}));
        });
        copy(x, tile.tile({rows - 4, 0}, {rows, columns}));
        kind.combine(x, tile.tile({0, 0}, {rows, columns}), Loc::current());
        copy(tile, Y.tile({0, 0}, {rows, columns}));
        atomicExchange(7, tile.tile({-3, -5}, {rows, columns}).fill(8), old);
        copy(old, Once.tile({0, 0}, {rows, columns}));
      }));
      auto wrapped = [&](int64_t value) {
        return double(type == u32 ? int64_t(uint32_t(value)) : type == i32 ? int64_t(int32_t(value)) : value);
      };
      Memory x = numbers(type, {rounds, rows, columns}), y = numbers(type, {rows, columns}, 400);
      for (Memory *memory : {&x, &y})
        for (double &value : memory->values)
          value = wrapped(int64_t(value) * 1000003);
      Memory old = Memory::filled(type, {rounds, rows, columns}, 99),
             once = Memory::filled(type, {rows, columns}, 99);
      Memory expected = y;
      int64_t wrong = 0;
      std::vector<double> before;
      auto combine = [&](int64_t r, int64_t c, double value) {
        expected.at({r, c}) = wrapped(kind.result(int64_t(expected.at({r, c})), int64_t(value)));
      };
      for (int64_t i = 0; i < rounds; ++i)
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < columns; ++c) {
            before.push_back(expected.at({r, c}));
            combine(r, c, x.at({i, r, c}));
          }
      for (int64_t r = rows - 4; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c)
          expected.at({r, c}) = x.at({rounds - 1, r - rows + 4, c});
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c)
          combine(r, c, x.at({rounds - 1, r, c}));
      run(artifact, {&x, &y, &old, &once});
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c)
          wrong += once.at({r, c}) != elementOr(expected, r - 3, c - 5, 8);
      CHECK(old.values == before);
      CHECK(y.values == expected.values);
      CHECK(wrong == 0);
    }
}

TEST_CASE("ranks and swaps of elements in shared memory", "[shared-slices]") {
  constexpr int64_t count = 600, bins = 11;
  for (std::string target : {"sm_90a", "sm_80"})
    for (int64_t width : {16, 128, 512}) { // by a few threads, by all of them, several times by each
      CAPTURE(target, width);
      Artifact artifact =
          compiled(Program::trace("ranks",
                                  [&](Scope &k) {
                                    Global At = k.input("At", i32, {count}),
                                           Rank = k.output("Rank", i32, {count});
                                    Global Last = k.output("Last", i32, {bins});
                                    Shared counts = k.shared("counts", i32, {bins});
                                    fill(counts, 0);
                                    Fragment at = k.fragment(i32, {width}), rank = k.fragment(i32, {width});
                                    k.loop(ceilDiv(count, width), [&](Index i) {
                                      copy(At.tile({i * width}, {width}).fill(-1), at);
                                      atomicAdd(1, counts.tile({at.toIndex()}, {width}), rank);
                                      copy(rank, Rank.tile({i * width}, {width}));
                                    });
                                    Fragment old = k.fragment(i32, {bins});
                                    atomicCompareAndSwap(count / bins, -5, counts.tile({0}, {bins}), old);
                                    copy(counts, Last.tile({0}, {bins}));
                                  }),
                   compilingFor(target));
      Memory at = Memory::filled(i32, {count}, 0), rank = Memory::filled(i32, {count}, 99),
             last = Memory::filled(i32, {bins}, 99);
      std::vector<double> expected(bins);
      for (int64_t i = 0; i < count; ++i)
        ++expected[size_t(at.values[size_t(i)] = double(i * i % bins))];
      run(artifact, {&at, &rank, &last});
      std::vector<std::vector<bool>> seen(bins, std::vector<bool>(count));
      int64_t wrong = 0;
      for (int64_t i = 0; i < count; ++i) {
        auto bin = size_t(at.values[size_t(i)]), own = size_t(rank.values[size_t(i)]);
        wrong += own >= size_t(expected[bin]) || seen[bin][own];
        seen[bin][own % count] = true;
      }
      for (double &value : expected)
        value = value == count / bins ? -5 : value;
      CHECK(wrong == 0);
      CHECK(last.values == expected);
    }
}

TEST_CASE("slices of tiles that run ahead of a loop", "[shared-slices]") {
  constexpr int64_t depth = 208, m = 64, n = 32;
  for (std::string target : {"sm_90a", "sm_80"})
    for (bool explicitRoles : {false, true}) {
      CAPTURE(target, explicitRoles);
      if (explicitRoles && target == "sm_80")
        continue;
      Artifact artifact = compiled(
          Program::trace("ahead",
                         [&](Scope &k) {
                           Global A = k.input("A", bf16, {m, depth}, {.alignment = 16}),
                                  B = k.input("B", bf16, {n, depth}, {.alignment = 16});
                           Global C = k.output("C", f32, {m, n}), D = k.output("D", f32, {m, 1});
                           Fragment acc = k.fragment(f32, {m, n}), picked = k.fragment(f32, {m, 1});
                           // The first number of each row says which one of the row is picked.
                           auto pick = [&](const Shared &a, Fragment &picked) {
                             Fragment first = k.fragment(bf16, {m, 1}), value = k.fragment(bf16, {m, 1});
                             copy(a.tile({0, 0}, {m, 1}), first);
                             FragmentValue at = max(first.to(f32), -first.to(f32)).to(i32);
                             copy(a.tile({k.positions({m, 1}, 0).toIndex(), at.toIndex()}, {m, 1}), value);
                             picked += value.to(f32);
                           };
                           if (!explicitRoles) {
                             if (target == "sm_90a")
                               k.require(Requirement::warpSpecialized);
                             Fragment acc = k.fragment(f32, {m, n}), picked = k.fragment(f32, {m, 1});
                             Shared a = k.shared("a", bf16, {m, 64}), b = k.shared("b", bf16, {n, 64});
                             k.pipelined(ceilDiv(depth, 64), {.stages = 3}, [&](Index s) {
                               copy(A.tile({0, s * 64}, {m, 64}), a);
                               copy(B.tile({0, s * 64}, {n, 64}), b);
                               gemm(a, b.t(), acc);
                               pick(a, picked);
                             });
                             copy(acc, C.tile({0, 0}, {m, n}));
                             copy(picked, D.tile({0, 0}, {m, 1}));
                             return;
                           }
                           Channel loaded = k.channel("tiles", {.slots = 2});
                           Shared a = k.shared("a", bf16, {m, 64}, {.slots = 2});
                           k.roles([&] {
                             k.role("load", {.warps = 1}, [&] {
                               k.loop(ceilDiv(depth, 64), [&](Index s) {
                                 loaded.put(
                                     [&](const Slot &at) { copy(A.tile({0, s * 64}, {m, 64}), a.slot(at)); });
                               });
                             });
                             k.role("compute", {.warps = 4}, [&] {
                               Fragment acc = k.fragment(f32, {m, n}), picked = k.fragment(f32, {m, 1});
                               k.loop(ceilDiv(depth, 64), [&](Index) {
                                 Slot at = loaded.get();
                                 pick(a.slot(at), picked);
                                 loaded.release();
                               });
                               copy(picked, D.tile({0, 0}, {m, 1}));
                               copy(acc, C.tile({0, 0}, {m, n}));
                             });
                           });
                         }),
          compilingFor(target));
      Memory a = numbers(bf16, {m, depth}), b = numbers(bf16, {n, depth}, 7),
             c = Memory::filled(f32, {m, n}, 99), d = Memory::filled(f32, {m, 1}, 99);
      run(artifact, {&a, &b, &c, &d});
      int64_t wrong = 0;
      for (int64_t row = 0; row < m; ++row) {
        double sum = 0;
        for (int64_t s = 0; s * 64 < depth; ++s)
          sum += elementOr(a, row, s * 64 + int64_t(std::abs(a.at({row, s * 64}))), 0);
        wrong += d.at({row, 0}) != sum;
        for (int64_t column = 0; column < n; ++column) {
          double product = 0;
          for (int64_t at = 0; at < depth && !explicitRoles; ++at)
            product += a.at({row, at}) * b.at({column, at});
          wrong += c.at({row, column}) != product;
        }
      }
      CHECK(wrong == 0);
    }
}
