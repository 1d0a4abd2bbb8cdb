// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products of f32, which is read as tf32, by every instruction: wgmma, mma.sync, tcgen05.mma, single
/// multiply-adds. Of factors that tf32 has, sums of small ones are exact, bit for bit.
#include "test/programs/PipelinedProduct.h"
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

/// Whole numbers of 7 bits: sums of a few hundred products of them are exact in f32.
Memory wholeNumbers(std::vector<int64_t> shape, unsigned seed) {
  Memory memory = Memory::filled(f32, std::move(shape), 0);
  std::mt19937 random(seed);
  for (double &value : memory.values)
    value = double(int64_t(random() % 129) - 64);
  return memory;
}

/// C = start + A B, where B is [k, n] or, transposed, [n, k].
void check(const Artifact &artifact, int64_t m, int64_t n, int64_t depth, bool isTransposed) {
  Memory a = wholeNumbers({m, depth}, 1);
  Memory b = wholeNumbers(isTransposed ? std::vector{n, depth} : std::vector{depth, n}, 2);
  Memory c = Memory::filled(f32, {m, n}, -3);
  run(artifact, {&a, &b, &c});
  int64_t wrong = 0;
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column = 0; column < n; ++column) {
      double sum = -3;
      for (int64_t at = 0; at < depth; ++at)
        sum += a.at({row, at}) * (isTransposed ? b.at({column, at}) : b.at({at, column}));
      wrong += c.at({row, column}) != sum;
    }
  CHECK(wrong == 0);
}

/// C += A Bᵀ by tiles of bm x bn.
Program pipelined(int64_t bm, int64_t bn, int64_t bk, const std::vector<Requirement> &required) {
  return pipelinedProduct({f32, f32}, f32, bm, bn, bk, required);
}

/// C = A Bᵀ of one tile in each block, where every element of A is x and of B 1.
double productOf(double x, const std::string &target, int64_t rows) {
  constexpr int64_t columns = 8, depth = 8;
  Artifact artifact = compiled(pipelined(rows, columns, depth, {}), compilingFor(target));
  Memory a = Memory::filled(f32, {rows, depth}, x), b = Memory::filled(f32, {columns, depth}, 1),
         c = Memory::filled(f32, {rows, columns}, 0);
  run(artifact, {&a, &b, &c});
  return c.at({rows - 1, columns - 1}) / depth;
}

} // namespace

TEST_CASE("a pipelined product of f32", "[tf32-products]") {
  for (std::string target : {"sm_90a", "sm_80", "sm_100a"})
    for (int64_t bk : {8, 16, 32, 64}) {
      CAPTURE(target, bk);
      std::vector<Requirement> required;
      if (target == "sm_90a")
        required = {Requirement::wgmma, Requirement::warpSpecialized};
      Artifact artifact = compiled(pipelined(128, 40, bk, required), compilingFor(target));
      check(artifact, 136, 72, 144, true);
      check(artifact, 129, 70, 33, true); // rows that the TMA cannot copy
    }
}

TEST_CASE("factors of f32 of any extents, whichever way the right one lies", "[tf32-products]") {
  struct Extents {
    int64_t m, n, k;
  };
  for (std::string target : {"sm_90a", "sm_80"})
    for (bool isTransposed : {false, true})
      for (bool isInRegisters : {false, true})
        for (Extents e :
             {Extents{64, 32, 64}, {64, 24, 8}, {128, 48, 96}, {16, 8, 8}, {48, 40, 24}, {5, 7, 3}}) {
          CAPTURE(target, isTransposed, isInRegisters, e.m, e.n, e.k);
          Artifact artifact = compiled(
              Program::trace("product",
                             [&](Scope &k) {
                               dsl::Shape right = isTransposed ? dsl::Shape{e.n, e.k} : dsl::Shape{e.k, e.n};
                               Global A = k.input("A", f32, {e.m, e.k}),
                                      B = k.input("B", f32, {right[0], right[1]});
                               Global C = k.inout("C", f32, {e.m, e.n});
                               Shared a = k.shared("a", f32, {e.m, e.k}), b = k.shared("b", f32, right);
                               Fragment left = k.fragment(f32, {e.m, e.k}), acc = k.fragment(f32, {e.m, e.n});
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
          check(artifact, e.m, e.n, e.k, isTransposed);
        }
}

TEST_CASE("a right factor that lies across is turned round for wgmma", "[tf32-products]") {
  constexpr int64_t m = 64, n = 48, depth = 40;
  Artifact artifact = compiled(Program::trace("turned", [](Scope &k) {
    k.require(Requirement::wgmma);
    Global A = k.input("A", f32, {m, depth}), B = k.input("B", f32, {depth, n}),
           C = k.inout("C", f32, {m, n});
    Shared a = k.shared("a", f32, {m, depth}), b = k.shared("b", f32, {depth, n}),
           turned = k.shared("turned", f32, {n, depth});
    Fragment acc = k.fragment(f32, {m, n});
    copy(A.tile({0, 0}, {m, depth}), a);
    copy(B.tile({0, 0}, {depth, n}), b);
    copy(b.t(), turned);
    copy(C.tile({0, 0}, {m, n}), acc);
    gemm(a, turned.t(), acc);
    copy(acc, C.tile({0, 0}, {m, n}));
  }));
  check(artifact, m, n, depth, false);
}

TEST_CASE("a product of f32 becomes the left factor of the next one", "[tf32-products]") {
  constexpr int64_t m = 128, n = 64, depth = 64;
  for (std::string target : {"sm_90a", "sm_80"}) {
    CAPTURE(target);
    Artifact artifact =
        compiled(Program::trace("chained",
                                [&](Scope &k) {
                                  Global A = k.input("A", f32, {m, depth}), B = k.input("B", f32, {n, depth}),
                                         C = k.output("C", f32, {m, n});
                                  Shared a = k.shared("a", f32, {m, depth}),
                                         b = k.shared("b", f32, {n, depth});
                                  Fragment first = k.fragment(f32, {m, n}), acc = k.fragment(f32, {m, n});
                                  copy(A.tile({0, 0}, {m, depth}), a);
                                  copy(B.tile({0, 0}, {n, depth}), b);
                                  gemm(a, b.t(), first);
                                  gemm(clamp(first, -100, 100), b.t(), acc);
                                  copy(acc, C.tile({0, 0}, {m, n}));
                                }),
                 compilingFor(target));
    Memory a = wholeNumbers({m, depth}, 1), b = wholeNumbers({n, depth}, 2);
    Memory c = Memory::filled(f32, {m, n}, -1);
    run(artifact, {&a, &b, &c});
    int64_t wrong = 0;
    std::vector<double> firsts(n);
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t column = 0; column < n; ++column) {
        double first = 0;
        for (int64_t at = 0; at < depth; ++at)
          first += a.at({row, at}) * b.at({column, at});
        firsts[size_t(column)] = std::clamp(first, -100.0, 100.0);
      }
      for (int64_t column = 0; column < n; ++column) {
        double sum = 0;
        for (int64_t at = 0; at < depth; ++at)
          sum += firsts[size_t(at)] * b.at({column, at});
        wrong += c.at({row, column}) != sum;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("asynchronous products of f32 in roles by hand", "[tf32-products]") {
  constexpr int64_t tile = 64, step = 32, m = 70, n = 130, depth = 208;
  Artifact artifact = compiled(Program::trace("by_hand", [&](Scope &k) {
    Global A = k.input("A", f32, {m, depth}, {.alignment = 16});
    Global B = k.input("B", f32, {n, depth}, {.alignment = 16}), C = k.inout("C", f32, {m, n});
    auto [i, j] = k.grid(ceilDiv(m, tile), ceilDiv(n, tile));
    Shared a = k.shared("a", f32, {tile, step}, {.slots = 2}),
           b = k.shared("b", f32, {tile, step}, {.slots = 2});
    Channel loaded = k.channel("ab", {.slots = 2});
    Index steps = ceilDiv(depth, step);
    k.roles([&, i = i, j = j] {
      k.role("math", {.warps = 4}, [&] {
        Fragment acc = k.fragment(f32, {tile, tile});
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
  check(artifact, m, n, depth, true);
}

TEST_CASE("a product of f32 in tensor memory, the left factor in either memory", "[tf32-products]") {
  constexpr int64_t m = 128, n = 48, depth = 64;
  bool isInTensorMemory = GENERATE(false, true);
  Artifact artifact =
      compiled(Program::trace("in_place",
                              [&](Scope &k) {
                                Global A = k.input("A", f32, {m, depth}), B = k.input("B", f32, {n, depth}),
                                       C = k.inout("C", f32, {m, n});
                                k.warps(4);
                                Shared a = k.shared("a", f32, {m, depth}), b = k.shared("b", f32, {n, depth});
                                TensorMemory left = k.tensorMemory("left", f32, {m, depth}),
                                             sums = k.tensorMemory("sums", f32, {m, n});
                                Barrier done = k.barrier("done", 1);
                                Fragment x = k.fragment(f32, {m, depth}), acc = k.fragment(f32, {m, n});
                                copy(A.tile({0, 0}, {m, depth}), a);
                                copy(B.tile({0, 0}, {n, depth}), b);
                                copy(C.tile({0, 0}, {m, n}), acc);
                                copy(acc, sums);
                                copy(a, x);
                                copy(x, left);
                                if (isInTensorMemory)
                                  gemmAsync(left, b.t(), sums);
                                else
                                  gemmAsync(a, b.t(), sums);
                                done.arrive(Arrival::afterProducts);
                                done.wait(0);
                                copy(sums, acc);
                                copy(acc, C.tile({0, 0}, {m, n}));
                              }),
               compilingFor("sm_100a"));
  check(artifact, m, n, depth, true);
}

TEST_CASE("matrix instructions ignore the low 13 bits of f32, multiply-adds do not", "[tf32-products]") {
  constexpr double inTf32 = 1 + 0x1p-10, halfway = inTf32 + 0x1p-11, most = 1 + 0x1p-9 - 0x1p-23;
  for (std::string target : {"sm_90a", "sm_80"}) {
    CAPTURE(target);
    for (double x : {inTf32, halfway, most})
      for (double sign : {-1.0, 1.0})
        CHECK(productOf(sign * x, target, 64) == sign * inTf32);
    CHECK(productOf(halfway, target, 12) == halfway);
  }
}
