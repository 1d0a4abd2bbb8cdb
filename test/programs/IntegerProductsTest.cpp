// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products of integers of 8 bits by every instruction: wgmma, mma.sync, single multiply-adds. Sums are
/// exact, bit for bit.
#include "test/programs/PipelinedProduct.h"
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

const std::vector<Factors> allFactors = {{i8, i8}, {i8, u8}, {u8, i8}, {u8, u8}};

/// Numbers of the whole range of the type, its ends included.
Memory wholeRange(ElementType element, std::vector<int64_t> shape, unsigned seed) {
  Memory memory = Memory::filled(element, std::move(shape), 0);
  std::mt19937 random(seed);
  int64_t least = element == u8 ? 0 : -128;
  for (double &value : memory.values)
    value = double(least + int64_t(random() % 256));
  return memory;
}

/// C = start + A B, wrapped around, where B is [k, n] or, transposed, [n, k].
void check(const Artifact &artifact, Factors factors, int64_t m, int64_t n, int64_t depth, bool isTransposed,
           int32_t start = 0) {
  Memory a = wholeRange(factors.a, {m, depth}, 1);
  Memory b = wholeRange(factors.b, isTransposed ? std::vector{n, depth} : std::vector{depth, n}, 2);
  Memory c = Memory::filled(i32, {m, n}, start);
  run(artifact, {&a, &b, &c});
  int64_t wrong = 0;
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column = 0; column < n; ++column) {
      int64_t sum = 0;
      for (int64_t at = 0; at < depth; ++at)
        sum += int64_t(a.at({row, at})) * int64_t(isTransposed ? b.at({column, at}) : b.at({at, column}));
      wrong += c.at({row, column}) != double(int32_t(uint32_t(start + sum)));
    }
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("a pipelined product of integers, with any signs", "[integer-products]") {
  for (Factors factors : allFactors)
    for (std::string target : {"sm_90a", "sm_80", "sm_100a"}) {
      CAPTURE(int(factors.a), int(factors.b), target);
      std::vector<Requirement> required;
      if (target == "sm_90a")
        required = {Requirement::wgmma, Requirement::warpSpecialized};
      Artifact artifact =
          compiled(pipelinedProduct(factors, i32, 128, 64, 64, required), compilingFor(target));
      check(artifact, factors, 136, 72, 144, true, -3);
      check(artifact, factors, 129, 70, 33, true, -3); // rows that the TMA cannot copy
    }
}

TEST_CASE("sums of integers wrap around", "[integer-products]") {
  for (std::string target : {"sm_90a", "sm_80"})
    for (int32_t start : {std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
      CAPTURE(target, start);
      check(compiled(pipelinedProduct({i8, i8}, i32, 64, 64, 32, {}), compilingFor(target)), {i8, i8}, 65, 40,
            96, true, start);
    }
  // Multiply-adds of single elements, as 12 rows are no instruction's.
  check(compiled(pipelinedProduct({i8, u8}, i32, 12, 20, 8, {})), {i8, u8}, 13, 21, 24, true,
        std::numeric_limits<int32_t>::max());
}

namespace {
struct Extents {
  int64_t m, n, k;
};
const Extents someExtents[] = {{64, 32, 64}, {64, 24, 32}, {128, 48, 96}, {16, 8, 32},
                               {48, 40, 64}, {5, 7, 3},    {64, 64, 40}};

/// `isTransposed`: the right factor; `isInRegisters`: the left one.
void checkExtents(const std::string &target, const Extents &e, bool isTransposed, bool isInRegisters) {
  Factors factors = {isTransposed ? u8 : i8, isInRegisters ? i8 : u8};
  CAPTURE(target, isTransposed, isInRegisters, e.m, e.n, e.k);
  Artifact artifact = compiled(
      Program::trace("product",
                     [&](Scope &k) {
                       dsl::Shape right = isTransposed ? dsl::Shape{e.n, e.k} : dsl::Shape{e.k, e.n};
                       Global A = k.input("A", factors.a, {e.m, e.k}),
                              B = k.input("B", factors.b, {right[0], right[1]});
                       Global C = k.inout("C", i32, {e.m, e.n});
                       Shared a = k.shared("a", factors.a, {e.m, e.k}), b = k.shared("b", factors.b, right);
                       Fragment left = k.fragment(factors.a, {e.m, e.k}), acc = k.fragment(i32, {e.m, e.n});
                       copy(A.tile({0, 0}, {e.m, e.k}), a);
                       copy(B.tile({0, 0}, right), b);
                       copy(C.tile({0, 0}, {e.m, e.n}), acc);
                       copy(a, left);
                       if (isInRegisters)
                         gemm(left, isTransposed ? b.t() : b, acc);
                       else
                         gemm(a, isTransposed ? b.t() : b, acc);
                       copy(acc, C.tile({0, 0}, {e.m, e.n}));
                     }),
      compilingFor(target));
  check(artifact, factors, e.m, e.n, e.k, isTransposed, -3);
}
} // namespace

TEST_CASE("integers of any extents, whichever way the right factor lies", "[integer-products]") {
  // Extents have both targets and both directions; targets have every two of direction and place of the left
  // factor.
  for (std::string target : {"sm_90a", "sm_80"})
    for (size_t i = 0; i < std::size(someExtents); ++i)
      checkExtents(target, someExtents[i], (i % 2 == 1) ^ (target == "sm_80"), i / 2 % 2 == 1);
}

// Of tools/test.sh long.
TEST_CASE("integers of any extents, with all combinations", "[.long]") {
  for (std::string target : {"sm_90a", "sm_80"})
    for (const Extents &extents : someExtents)
      for (bool isTransposed : {false, true})
        for (bool isInRegisters : {false, true})
          checkExtents(target, extents, isTransposed, isInRegisters);
}

TEST_CASE("a product of integers becomes the left factor of the next one", "[integer-products]") {
  // The same elements, with no exchange between threads: rows of the right factor are in the order of sums.
  constexpr int64_t m = 128, n = 64, depth = 64;
  for (std::string target : {"sm_90a", "sm_80"}) {
    CAPTURE(target);
    Artifact artifact =
        compiled(Program::trace("chained",
                                [&](Scope &k) {
                                  Global A = k.input("A", i8, {m, depth}), B = k.input("B", u8, {n, depth}),
                                         C = k.output("C", i32, {m, n});
                                  Shared a = k.shared("a", i8, {m, depth}), b = k.shared("b", u8, {n, depth});
                                  Fragment first = k.fragment(i32, {m, n}), acc = k.fragment(i32, {m, n});
                                  copy(A.tile({0, 0}, {m, depth}), a);
                                  copy(B.tile({0, 0}, {n, depth}), b);
                                  gemm(a, b.t(), first);
                                  gemm((first >> 14).to(i8), b.t(), acc);
                                  copy(acc, C.tile({0, 0}, {m, n}));
                                }),
                 compilingFor(target));
    Memory a = wholeRange(i8, {m, depth}, 1), b = wholeRange(u8, {n, depth}, 2);
    Memory c = Memory::filled(i32, {m, n}, -1);
    run(artifact, {&a, &b, &c});
    int64_t wrong = 0;
    std::vector<int64_t> firsts(n);
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t column = 0; column < n; ++column) {
        firsts[size_t(column)] = 0;
        for (int64_t at = 0; at < depth; ++at)
          firsts[size_t(column)] += int64_t(a.at({row, at})) * int64_t(b.at({column, at}));
      }
      for (int64_t column = 0; column < n; ++column) {
        int64_t sum = 0;
        for (int64_t at = 0; at < depth; ++at)
          sum += int64_t(int8_t(firsts[size_t(at)] >> 14)) * int64_t(b.at({column, at}));
        wrong += c.at({row, column}) != double(sum);
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("asynchronous products of integers in roles by hand", "[integer-products]") {
  constexpr int64_t tile = 64, step = 64, m = 70, n = 130, depth = 208;
  Artifact artifact = compiled(Program::trace("by_hand", [&](Scope &k) {
    Global A = k.input("A", i8, {m, depth}, {.alignment = 16});
    Global B = k.input("B", i8, {n, depth}, {.alignment = 16}), C = k.inout("C", i32, {m, n});
    auto [i, j] = k.grid(ceilDiv(m, tile), ceilDiv(n, tile));
    Shared a = k.shared("a", i8, {tile, step}, {.slots = 2}),
           b = k.shared("b", i8, {tile, step}, {.slots = 2});
    Channel loaded = k.channel("ab", {.slots = 2});
    Index steps = ceilDiv(depth, step);
    k.roles([&, i = i, j = j] {
      k.role("math", {.warps = 4}, [&] {
        Fragment acc = k.fragment(i32, {tile, tile});
        copy(C.tile({i * tile, j * tile}, {tile, tile}), acc);
        k.loop(steps, [&](Index) {
          Slot at = loaded.get();
          gemmAsync(a.slot(at), b.slot(at).t(), acc);
          gemmWait(acc);
          loaded.release();
        });
        copy(acc, C.tile({i * tile, j * tile}, {tile, tile}));
      });
      k.role("load", {.warps = 1}, [&] {
        k.loop(steps, [&](Index s) {
          loaded.put([&](const Slot &at) {
            copy(A.tile({i * tile, s * step}, {tile, step}), a.slot(at));
            copy(B.tile({j * tile, s * step}, {tile, step}), b.slot(at));
          });
        });
      });
    });
  }));
  check(artifact, {i8, i8}, m, n, depth, true, -3);
}
