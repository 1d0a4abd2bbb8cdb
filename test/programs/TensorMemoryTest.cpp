// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products in tensor memory, with roles by hand: a thread that loads, one that multiplies, warps that store.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace tlc;
using namespace tlc::dsl;
using test::Memory;

namespace {

constexpr const char *blackwell = "sm_100a";

/// Whether a factor's rows lie along the reduced axis in global memory.
enum class Order { alongDepth, across };

struct Case {
  int64_t bn = 64, bk = 64, stages = 3;
  ElementType element = bf16;
  Order left = Order::alongDepth, right = Order::alongDepth;
  int64_t storeWarps = 4;
  ElementType out = f32;
};

/// One tile of C for each block.
Program oneTile(const Case &c) {
  return Program::trace("one_tile", [c](Scope &k) {
    constexpr int64_t bm = 128;
    Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
    bool leftAcross = c.left == Order::across, rightAcross = c.right == Order::across;
    std::vector<Index> ofA = {m, depth}, ofB = {n, depth};
    if (leftAcross)
      std::swap(ofA[0], ofA[1]);
    if (rightAcross)
      std::swap(ofB[0], ofB[1]);
    Global A = k.input("A", c.element, ofA, {.alignment = 16}),
           B = k.input("B", c.element, ofB, {.alignment = 16});
    Global C = k.output("C", c.out, {m, n});
    auto [i, j] = k.grid(ceilDiv(m, bm), ceilDiv(n, c.bn));
    Index steps = ceilDiv(depth, c.bk);
    auto extents = [&](int64_t rows, bool across) {
      return across ? dsl::Shape{c.bk, rows} : dsl::Shape{rows, c.bk};
    };
    auto origin = [&](const Index &row, const Index &s, bool across) {
      return across ? std::vector<Index>{s * c.bk, row} : std::vector<Index>{row, s * c.bk};
    };
    Shared a = k.shared("a", c.element, extents(bm, leftAcross), {.slots = c.stages});
    Shared b = k.shared("b", c.element, extents(c.bn, rightAcross), {.slots = c.stages});
    TensorMemory acc = k.tensorMemory("acc", f32, {bm, c.bn});
    Channel loaded = k.channel("ab", {.slots = c.stages});
    Barrier done = k.barrier("done", 1);
    k.roles([&] {
      k.role("store", {.warps = c.storeWarps}, [&] {
        done.wait(0);
        Fragment sums = k.fragment(f32, {bm, c.bn});
        copy(acc, sums);
        copy(sums.to(c.out), C.tile({i * bm, j * c.bn}, {bm, c.bn}));
      });
      k.role("load", {.warps = 1}, [&] {
        k.loop(steps, [&](Index s) {
          loaded.put([&](const Slot &at) {
            copy(A.tile(origin(i * bm, s, leftAcross), extents(bm, leftAcross)), a.slot(at));
            copy(B.tile(origin(j * c.bn, s, rightAcross), extents(c.bn, rightAcross)), b.slot(at));
          });
        });
      });
      k.role("multiply", {.warps = 1}, [&] {
        k.loop(steps, [&](Index s) {
          Slot at = loaded.get();
          Shared left = leftAcross ? a.slot(at).t() : a.slot(at);
          gemmAsync(left, rightAcross ? b.slot(at) : b.slot(at).t(), acc, {.accumulate = s > 0});
          loaded.release(Arrival::afterProducts);
        });
        done.arrive(Arrival::afterProducts);
      });
    });
  });
}

/// Blocks take tiles in turn; while one is stored, the next is multiplied into the other accumulator.
Program persistent() {
  return Program::trace("persistent", [](Scope &k) {
    constexpr int64_t bm = 128, bn = 128, bk = 64;
    Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
    Global A = k.input("A", f16, {m, depth}, {.alignment = 16}),
           B = k.input("B", f16, {n, depth}, {.alignment = 16});
    Global C = k.output("C", f16, {m, n});
    auto [block] = k.grid(min(k.multiprocessors(), ceilDiv(m, bm) * ceilDiv(n, bn)));
    Index rows = ceilDiv(m, bm), tiles = rows * ceilDiv(n, bn), steps = ceilDiv(depth, bk);
    Shared a = k.shared("a", f16, {bm, bk}, {.slots = 3}), b = k.shared("b", f16, {bn, bk}, {.slots = 3});
    TensorMemory accs = k.tensorMemory("accs", f32, {bm, bn}, {.slots = 2});
    Channel loaded = k.channel("ab", {.slots = 3});
    Channel sums = k.channel("sums", {.slots = 2});
    auto forEachTile = [&](auto body) {
      k.loop({block, tiles, k.blocks()}, [&](Index t) { body(t % rows * bm, t / rows * bn); });
    };
    k.roles([&] {
      k.role("store", {.warps = 4}, [&] {
        forEachTile([&](const Index &row, const Index &column) {
          Slot at = sums.get();
          Fragment c = k.fragment(f32, {bm, bn});
          copy(accs.slot(at), c);
          sums.release();
          copy(c.to(f16), C.tile({row, column}, {bm, bn}));
        });
      });
      k.role("load", {.warps = 1}, [&] {
        forEachTile([&](const Index &row, const Index &column) {
          k.loop(steps, [&](Index s) {
            loaded.put([&](const Slot &at) {
              copy(A.tile({row, s * bk}, {bm, bk}), a.slot(at));
              copy(B.tile({column, s * bk}, {bn, bk}), b.slot(at));
            });
          });
        });
      });
      k.role("multiply", {.warps = 1}, [&] {
        forEachTile([&](const Index &, const Index &) {
          sums.put([&](const Slot &sum) {
            k.loop(steps, [&](Index s) {
              Slot at = loaded.get();
              gemmAsync(a.slot(at), b.slot(at).t(), accs.slot(sum), {.accumulate = s > 0});
              loaded.release(Arrival::afterProducts);
            });
          });
        });
      });
    });
  });
}

/// All warps copy, and wait for each product.
Program inTurns() {
  return Program::trace("in_turns", [](Scope &k) {
    Index depth = k.dim("k");
    Global A = k.input("A", bf16, {128, depth}), B = k.input("B", bf16, {64, depth}),
           C = k.output("C", f32, {128, 64});
    Shared a = k.shared("a", bf16, {128, 64}), b = k.shared("b", bf16, {64, 64});
    TensorMemory acc = k.tensorMemory("acc", f32, {128, 64});
    Barrier done = k.barrier("done", 1);
    k.pipelined(ceilDiv(depth, 64), {.stages = 3}, [&](Index s) {
      copy(A.tile({0, s * 64}, {128, 64}), a);
      copy(B.tile({0, s * 64}, {64, 64}), b);
      gemmAsync(a, b.t(), acc, {.accumulate = s > 0});
      done.arrive(Arrival::afterProducts);
      done.wait(s);
    });
    Fragment c = k.fragment(f32, {128, 64});
    copy(acc, c);
    copy(c, C.tile({0, 0}, {128, 64}));
  });
}

/// C = 2 (1, 2, ... A) Bᵀ of a tile for each number, by one role: threads write the left factors to tensor
/// memory.
Program leftInTensorMemory(ElementType element, int64_t rows, int64_t tiles) {
  return Program::trace("left_in_tensor_memory", [=](Scope &k) {
    constexpr int64_t bn = 32, depth = 64;
    Global A = k.input("A", f32, {rows, depth}), B = k.input("B", element, {bn, depth});
    Global C = k.output("C", f32, {rows, tiles * bn});
    k.warps(4);
    Shared b = k.shared("b", element, {bn, depth});
    Barrier done = k.barrier("done", 1);
    Fragment left = k.fragment(f32, {rows, depth}), sums = k.fragment(f32, {rows, bn});
    copy(A.tile({0, 0}, {rows, depth}), left);
    copy(B.tile({0, 0}, {bn, depth}), b);
    std::vector<TensorMemory> accs;
    for (int64_t i = 0; i < tiles; ++i) {
      TensorMemory a = k.tensorMemory("a" + std::to_string(i), element, {rows, depth});
      accs.push_back(k.tensorMemory("acc" + std::to_string(i), f32, {rows, bn}));
      copy((left * (i + 1)).to(element), a);
      gemmAsync(a, b.t(), accs.back(), {.accumulate = false});
      gemmAsync(a, b.t(), accs.back());
    }
    done.arrive(Arrival::afterProducts);
    done.wait(0);
    for (int64_t i = 0; i < tiles; ++i) {
      copy(accs[size_t(i)], sums);
      copy(sums, C.tile({0, i * bn}, {rows, bn}));
    }
  });
}

/// Whole numbers, of which all sums here are exact.
Memory random(ElementType element, std::vector<int64_t> shape, std::mt19937 &generator) {
  Memory memory = Memory::filled(element, std::move(shape), 0);
  std::uniform_int_distribution<int> number(-3, 3);
  for (double &value : memory.values)
    value = number(generator);
  return memory;
}

double product(Memory &a, bool leftAcross, Memory &b, bool rightAcross, int64_t i, int64_t j) {
  int64_t depth = leftAcross ? a.shape[0] : a.shape[1];
  double sum = 0;
  for (int64_t s = 0; s < depth; ++s)
    sum += (leftAcross ? a.at({s, i}) : a.at({i, s})) * (rightAcross ? b.at({s, j}) : b.at({j, s}));
  return sum;
}

CompileOptions forBlackwell() {
  CompileOptions options;
  options.target = blackwell;
  return options;
}

int64_t countWrong(Memory &c, const std::function<double(int64_t, int64_t)> &expected) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < c.shape[0]; ++i)
    for (int64_t j = 0; j < c.shape[1]; ++j)
      wrong += c.at({i, j}) != expected(i, j);
  return wrong;
}

void checkOneTile(const Case &c, int64_t m, int64_t n, int64_t depth) {
  std::mt19937 generator(Catch::rngSeed());
  bool leftAcross = c.left == Order::across, rightAcross = c.right == Order::across;
  std::vector<int64_t> ofA = {m, depth}, ofB = {n, depth};
  if (leftAcross)
    std::swap(ofA[0], ofA[1]);
  if (rightAcross)
    std::swap(ofB[0], ofB[1]);
  Memory a = random(c.element, ofA, generator), b = random(c.element, ofB, generator);
  Memory out = Memory::filled(c.out, {m, n}, test::notANumber, 8);
  test::run(test::compiled(oneTile(c), forBlackwell()), {&a, &b, &out});
  INFO(m << " x " << n << " x " << depth << ", columns of a tile " << c.bn);
  CHECK(countWrong(out, [&](int64_t i, int64_t j) { return product(a, leftAcross, b, rightAcross, i, j); }) ==
        0);
}

} // namespace

TEST_CASE("a product in tensor memory with roles by hand", "[programs][tensor-memory]") {
  checkOneTile({}, 128, 64, 64);
  checkOneTile({}, 256, 128, 320);
  checkOneTile({}, 200, 72, 200);
  checkOneTile({.bn = 16}, 130, 40, 72);
  checkOneTile({.bn = 256, .bk = 32, .stages = 2, .storeWarps = 8}, 128, 256, 96);
  checkOneTile({.bn = 96, .bk = 128, .stages = 2}, 128, 96, 256);
}

TEST_CASE("factors of a product in tensor memory that lie across", "[programs][tensor-memory]") {
  checkOneTile({.left = Order::across}, 136, 64, 128);
  checkOneTile({.right = Order::across}, 128, 72, 136);
  checkOneTile({.bn = 128, .element = f16, .left = Order::across, .right = Order::across, .out = f16}, 128,
               128, 64);
}

TEST_CASE("factors of 8 bits of a product in tensor memory", "[programs][tensor-memory]") {
  checkOneTile({.bk = 128, .element = e4m3}, 128, 64, 256);
  checkOneTile({.bk = 32, .element = e4m3}, 144, 80, 96);
}

TEST_CASE("two accumulators in tensor memory that take turns", "[programs][tensor-memory]") {
  std::mt19937 generator(Catch::rngSeed());
  Memory a = random(f16, {384, 128}, generator), b = random(f16, {272, 128}, generator);
  Memory c = Memory::filled(f16, {384, 272}, test::notANumber);
  test::run(test::compiled(persistent(), forBlackwell()), {&a, &b, &c});
  CHECK(countWrong(c, [&](int64_t i, int64_t j) { return product(a, false, b, false, i, j); }) == 0);
}

TEST_CASE("products in tensor memory, waited for one by one", "[programs][tensor-memory]") {
  std::mt19937 generator(Catch::rngSeed());
  Memory a = random(bf16, {128, 200}, generator), b = random(bf16, {64, 200}, generator);
  Memory c = Memory::filled(f32, {128, 64}, test::notANumber);
  Artifact artifact = test::compiled(inTurns(), forBlackwell());
  test::run(artifact, {&a, &b, &c});
  CHECK(countWrong(c, [&](int64_t i, int64_t j) { return product(a, false, b, false, i, j); }) == 0);
  CHECK(std::ranges::any_of(artifact.remarks, [](const Remark &remark) {
    return remark.message.find("adds in tensor memory, and a role loads ahead only of wgmma") !=
           std::string::npos;
  }));
}

TEST_CASE("left factors in tensor memory", "[programs][tensor-memory]") {
  // Those of 64 rows lie in different lanes of the same columns.
  for (auto [rows, tiles] : {std::pair(128, 1), {64, 3}})
    for (ElementType element : {bf16, f16, e4m3}) {
      INFO(rows << " rows, " << toString(element));
      std::mt19937 generator(Catch::rngSeed());
      Memory a = random(f32, {rows, 64}, generator), b = random(element, {32, 64}, generator);
      Memory c = Memory::filled(f32, {rows, tiles * 32}, test::notANumber);
      Artifact artifact = test::compiled(leftInTensorMemory(element, rows, tiles), forBlackwell());
      test::run(artifact, {&a, &b, &c});
      CHECK(countWrong(c, [&](int64_t i, int64_t j) {
              return double(2 * (j / 32 + 1)) * product(a, false, b, false, i, j % 32);
            }) == 0);
    }
}
