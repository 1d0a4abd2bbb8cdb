// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs of which an author gives a part to a role, and the compiler makes the other roles; and programs
/// whose tiles a count deals out, so that one role hands positions to others.
#include "compiler/dsl/Counts.h"
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>
#include <numeric>

using namespace tlc;
using namespace tlc::dsl;
using test::Memory;

namespace {

constexpr int64_t bm = 64, bn = 64, bk = 64;

double numberAt(int64_t i, int64_t seed) { return double((i * 7 + i / 5 * 3 + seed) % 5 - 2); }

/// Whole numbers, so that all sums are exact.
Memory numbers(std::vector<int64_t> shape, int64_t seed) {
  Memory memory = Memory::filled(bf16, std::move(shape), 0);
  for (size_t i = 0; i < memory.values.size(); ++i)
    memory.values[i] = numberAt(int64_t(i), seed);
  return memory;
}

/// The parts of the program that an author gives to roles.
struct Author {
  bool isTaken = false;      ///< tiles are dealt out by a count
  int64_t storeWarps = 0;    ///< of a role that stores, or 0
  int64_t scheduleWarps = 0; ///< of a role that counts tiles, or 0
  bool loads = false;        ///< in a role of its own
  bool isRequired = true;    ///< that there are roles
  bool asksToStore = false;  ///< for a role of the compiler's that stores
};

/// C = 2 A Bᵀ.
Program gemm(const Author &author) {
  return Program::trace("gemm", [=](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n", {.multipleOf = 8}), depth = k.dim("k", {.multipleOf = 8});
    Global A = k.input("A", bf16, {m, depth}, {.alignment = 16});
    Global B = k.input("B", bf16, {n, depth}, {.alignment = 16});
    Global C = k.output("C", bf16, {m, n}, {.alignment = 16});
    if (author.asksToStore)
      k.storeRole();
    if (author.isRequired)
      k.require(Requirement::warpSpecialized);
    Index rowTiles = ceilDiv(m, bm), tiles = rowTiles * ceilDiv(n, bn);
    Shared a = k.shared("a", bf16, {bm, bk}), b = k.shared("b", bf16, {bn, bk});
    auto inRole = [&](const char *name, int64_t warps, const Body &body) {
      warps > 0 ? k.role(name, {.warps = warps}, body) : body();
    };
    auto compute = [&](const Index &tile) {
      Index row = tile % rowTiles * bm, column = tile / rowTiles * bn;
      Fragment acc = k.fragment(f32, {bm, bn});
      k.pipelined(ceilDiv(depth, bk), {.stages = 3}, [&](Index s) {
        inRole("fetch", author.loads ? 4 : 0, [&] {
          copy(A.tile({row, s * bk}, {bm, bk}), a);
          copy(B.tile({column, s * bk}, {bn, bk}), b);
        });
        gemm(a, b.t(), acc);
      });
      inRole("out", author.storeWarps, [&] { copy((acc * 2.0f).to(bf16), C.tile({row, column}, {bm, bn})); });
    };
    if (!author.isTaken) {
      auto [tile] = k.grid(tiles);
      return compute(tile);
    }
    Global next = k.workspace("next", i32, {1}, {Initial::zero});
    [[maybe_unused]] auto [block] = k.grid(min(k.multiprocessors(), tiles));
    k.loopWhile(tiles + 1, [&](Index) -> Predicate {
      Index tile;
      inRole("schedule", author.scheduleWarps, [&] { tile = take(next, {0}); });
      k.when(tile < tiles, [&] { compute(tile); });
      return tile < tiles;
    });
  });
}

void check(Author author, const std::string &target) {
  author.isRequired = target != "sm_80"; // whose mbarriers count no bytes
  INFO(target << ", store " << author.storeWarps << ", schedule " << author.scheduleWarps << ", fetch "
              << author.loads << ", taken " << author.isTaken << ", asks " << author.asksToStore);
  Artifact artifact = test::compiled(gemm(author), test::compilingFor(target));
  for (auto [m, n, depth] : {std::array<int64_t, 3>{64, 64, 64}, {150, 136, 200}, {65, 8, 8}}) {
    Memory a = numbers({m, depth}, 1), b = numbers({n, depth}, 2), next = Memory::filled(i32, {1}, 7),
           c = Memory::filled(bf16, {m, n}, test::notANumber);
    std::vector<Memory *> tensors = {&a, &b, &c};
    if (author.isTaken)
      tensors.push_back(&next);
    test::run(artifact, tensors);
    int64_t wrong = 0;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t e = 0; e < depth; ++e)
          sum += a.at({i, e}) * b.at({j, e});
        wrong += std::abs(c.at({i, j}) - 2 * sum) > std::abs(sum) / 64;
      }
    CHECK(wrong == 0);
  }
}

/// Elements of y that are not what the test below chooses by the elements, rows and tiles of A Bᵀ.
int64_t wrongChoices(Memory &a, Memory &b, Memory &y) {
  int64_t wrong = 0;
  for (int64_t first = 0; first < a.shape[0]; first += bm) {
    const int64_t end = std::min(first + bm, a.shape[0]);
    std::vector<std::vector<double>> product;
    double all = 0;
    for (int64_t i = first; i < end; ++i) {
      std::vector<double> &row = product.emplace_back();
      for (int64_t j = 0; j < bn; ++j) {
        double sum = 0;
        for (int64_t e = 0; e < a.shape[1]; ++e)
          sum += a.at({i, e}) * b.at({j, e});
        all += row.emplace_back(sum);
      }
    }
    for (int64_t i = first; i < end; ++i) {
      const std::vector<double> &row = product[size_t(i - first)];
      const double rows = std::accumulate(row.begin(), row.end(), 0.0);
      for (int64_t j = 0; j < bn; ++j)
        wrong += y.at({i, j}) != double(row[size_t(j)] > 0) + 2 * double(rows > 8) + 4 * double(all > 0);
    }
  }
  return wrong;
}

} // namespace

TEST_CASE("an author writes the role that stores", "[roles]") {
  for (const char *target : {"sm_90a", "sm_80", "sm_100a"})
    for (int64_t warps : {4, 1})
      check({.storeWarps = warps}, target);
}

TEST_CASE("a role stores what no role loads ahead for", "[roles]") {
  constexpr int64_t rows = 64, columns = 72, tiles = 3;
  for (const char *target : {"sm_90a", "sm_80", "sm_100a"}) {
    INFO(target);
    Artifact artifact = test::compiled(Program::trace("sums",
                                                      [&](Scope &k) {
                                                        Index n = k.dim("n");
                                                        Global X = k.input("X", f32, {n, columns});
                                                        Global Y = k.output("Y", f32, {n, columns});
                                                        Shared x = k.shared("x", f32, {rows, columns});
                                                        k.loop(ceilDiv(n, rows), [&](Index i) {
                                                          copy(X.tile({i * rows, 0}, {rows, columns}), x);
                                                          Fragment all = k.fragment(f32, {rows, columns});
                                                          copy(x, all);
                                                          all = all + reduce(Reduction::sum, all, 1);
                                                          k.role("out", {.warps = 4}, [&] {
                                                            copy(all, Y.tile({i * rows, 0}, {rows, columns}));
                                                          });
                                                        });
                                                      }),
                                       test::compilingFor(target));
    Memory x = Memory::filled(f32, {tiles * rows - 5, columns}, 0),
           y = Memory::filled(f32, x.shape, test::notANumber);
    for (size_t i = 0; i < x.values.size(); ++i)
      x.values[i] = numberAt(int64_t(i), 4);
    test::run(artifact, {&x, &y});
    int64_t wrong = 0;
    for (int64_t i = 0; i < x.shape[0]; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < columns; ++j)
        sum += x.at({i, j});
      for (int64_t j = 0; j < columns; ++j)
        wrong += y.at({i, j}) != x.at({i, j}) + sum;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("an author writes the roles that load and store", "[roles]") {
  for (const char *target : {"sm_90a", "sm_80", "sm_100a"})
    check({.storeWarps = 4, .loads = true}, target);
}

TEST_CASE("the compiler makes the role that stores", "[roles]") {
  for (const char *target : {"sm_90a", "sm_80", "sm_100a"}) {
    check({.asksToStore = true}, target);
    check({.isTaken = true, .asksToStore = true}, target);
  }
}

TEST_CASE("one role counts tiles, and all get their positions", "[roles]") {
  for (const char *target : {"sm_90a", "sm_80", "sm_100a"}) {
    check({.isTaken = true}, target);
    check({.isTaken = true, .storeWarps = 4}, target);
    check({.isTaken = true, .scheduleWarps = 4}, target);
    check({.isTaken = true, .storeWarps = 4, .scheduleWarps = 4, .loads = true}, target);
  }
}

// What a role computes of conditions of another one: of each element, of each row, and of the whole tile.
TEST_CASE("conditions go from role to role", "[roles]") {
  for (const char *target : {"sm_90a", "sm_80", "sm_100a"}) {
    INFO(target);
    Artifact artifact =
        test::compiled(Program::trace("chosen",
                                      [&](Scope &k) {
                                        Index m = k.dim("m"), depth = k.dim("k", {.multipleOf = 8});
                                        Global A = k.input("A", bf16, {m, depth}, {.alignment = 16});
                                        Global B = k.input("B", bf16, {bn, depth}, {.alignment = 16});
                                        Global Y = k.output("Y", f32, {m, bn});
                                        Shared a = k.shared("a", bf16, {bm, bk}),
                                               b = k.shared("b", bf16, {bn, bk});
                                        k.loop(ceilDiv(m, bm), [&](Index tile) {
                                          Fragment acc = k.fragment(f32, {bm, bn});
                                          k.pipelined(ceilDiv(depth, bk), {.stages = 3}, [&](Index s) {
                                            copy(A.tile({tile * bm, s * bk}, {bm, bk}), a);
                                            copy(B.tile({0, s * bk}, {bn, bk}), b);
                                            gemm(a, b.t(), acc);
                                          });
                                          FragmentValue rows = reduce(Reduction::sum, acc, 1);
                                          Predicate isPositive = acc > 0.0f;
                                          Predicate isLarge = rows > 8.0f;
                                          Predicate isAny = reduce(Reduction::sum, rows, 0) > 0.0f;
                                          k.role("out", {.warps = 4}, [&] {
                                            FragmentValue zero = k.fragment(f32, {bm, bn}),
                                                          y = where(isPositive, zero + 1.0f, zero) +
                                                              where(isLarge, zero + 2.0f, zero) +
                                                              where(isAny, zero + 4, zero);
                                            copy(y, Y.tile({tile * bm, 0}, {bm, bn}));
                                          });
                                        });
                                      }),
                       test::compilingFor(target));
    for (auto [m, depth] : {std::array<int64_t, 2>{64, 64}, {150, 200}, {1, 8}}) {
      Memory a = numbers({m, depth}, 1), b = numbers({bn, depth}, 2),
             y = Memory::filled(f32, {m, bn}, test::notANumber);
      test::run(artifact, {&a, &b, &y});
      CHECK(wrongChoices(a, b, y) == 0);
    }
  }
}

// Which part of k an iteration multiplies, it takes. Without roles no copy can run ahead of that.
TEST_CASE("a pipelined loop takes the places of its copies", "[roles]") {
  for (const char *target : {"sm_90a", "sm_80", "sm_100a"})
    for (bool hasRoles : {true, false}) {
      INFO(target << (hasRoles ? "" : ", no roles"));
      CompileOptions options = test::compilingFor(target);
      options.optimizations.warpSpecialization = hasRoles;
      Artifact artifact =
          test::compiled(Program::trace("parts",
                                        [&](Scope &k) {
                                          Index depth = k.dim("k", {.multipleOf = 8});
                                          Global A = k.input("A", bf16, {bm, depth}, {.alignment = 16});
                                          Global B = k.input("B", bf16, {bn, depth}, {.alignment = 16});
                                          Global C = k.output("C", bf16, {bm, bn}, {.alignment = 16});
                                          Global next = k.workspace("next", i32, {1}, {Initial::zero});
                                          k.grid(1);
                                          Fragment acc = k.fragment(f32, {bm, bn});
                                          k.pipelined(ceilDiv(depth, bk), {.stages = 3}, [&](Index) {
                                            Index part = take(next, {0});
                                            Shared a = k.shared("a", bf16, {bm, bk}),
                                                   b = k.shared("b", bf16, {bn, bk});
                                            copy(A.tile({0, part * bk}, {bm, bk}), a);
                                            copy(B.tile({0, part * bk}, {bn, bk}), b);
                                            gemm(a, b.t(), acc);
                                          });
                                          copy(acc.to(bf16), C.tile({0, 0}, {bm, bn}));
                                        }),
                         options);
      for (int64_t depth : {8, 64, 200, 520}) {
        INFO("k = " << depth);
        Memory a = numbers({bm, depth}, 1), b = numbers({bn, depth}, 2), next = Memory::filled(i32, {1}, 7),
               c = Memory::filled(bf16, {bm, bn}, test::notANumber);
        test::run(artifact, {&a, &b, &c, &next});
        int64_t wrong = 0;
        for (int64_t i = 0; i < bm; ++i)
          for (int64_t j = 0; j < bn; ++j) {
            double sum = 0;
            for (int64_t e = 0; e < depth; ++e)
              sum += a.at({i, e}) * b.at({j, e});
            // Whole numbers up to 256 are exact in bf16; above, half a unit of 8 bits may be lost.
            wrong += std::abs(c.at({i, j}) - sum) > std::abs(sum) / 256;
          }
        CHECK(wrong == 0);
      }
    }
}
