// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensors of all ranks at once, by NVLink multicast. Only emulated devices have such memory.
#include "compiler/dsl/Counts.h"
#include "test/ranks/RankRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;
using Catch::Matchers::Contains;

namespace {

RankOptions withMulticast() {
  RankOptions options;
  options.compile.multicast = true;
  return options;
}

/// Numbers of rank r: i * (r + 1).
evaluator::Tensor numbered(ElementType type, int64_t rank, int64_t count) {
  evaluator::Tensor tensor = filled(type, {count}, 0);
  for (size_t i = 0; i < tensor.elements.size(); ++i)
    tensor.elements[i] = evaluator::elementOf(type, double(i % 64) * double(rank + 1));
  return tensor;
}

/// Y = the sum of all ranks' X.
void sumOfAll(Scope &k) {
  Index n = k.dim("n", {.multipleOf = 8}), rank = k.rank(), ranks = k.ranks(), blocks = ceilDiv(n, 256);
  Symmetric X = k.symmetric("X", bf16, {n}, {.use = TensorUse::workspace, .alignment = 16});
  Global given = k.input("given", f32, {n}), Y = k.output("Y", f32, {n});
  SymmetricOptions counts = {.use = TensorUse::workspace, .initial = Initial::zero};
  Symmetric stored = k.symmetric("stored", i32, {blocks}, counts),
            ended = k.symmetric("ended", i32, {1}, counts);
  k.launch("store", [&] {
    auto [block] = k.grid(blocks);
    Fragment x = k.fragment(f32, {256});
    copy(given.tile({block * 256}, {256}), x);
    copy(x.to(bf16), X.of(rank).tile({block * 256}, {256}));
    announce(stored.ofAll(), {block});
  });
  k.launch("sum", [&] {
    auto [block] = k.grid(blocks);
    Fragment sum = k.fragment(bf16, {256});
    waitFor(stored.of(rank), {block}, ranks);
    loadSum(X.ofAll().tile({block * 256}, {256}), sum);
    copy(sum.to(f32), Y.tile({block * 256}, {256}));
  });
  k.launch("end", [&] { // no rank loads this rank's memory any more
    [[maybe_unused]] auto [block] = k.grid(1);
    announce(ended.ofAll(), {0});
    waitFor(ended.of(rank), {0}, ranks);
  });
}

using Load = void (*)(const Slice &, Fragment &, Loc);

struct Sums {
  ElementType dtype = bf16;
  Load load = loadSum;
  bool waits = true; ///< until all ranks have stored theirs
};

/// Y = the sum, or what else `load` gives, of all ranks' X, each of which is stored as `dtype` first.
void combined(Scope &k, const Sums &sums) {
  Index n = k.dim("n", {.multipleOf = 8}), rank = k.rank(), ranks = k.ranks(), blocks = ceilDiv(n, 256);
  Global X = k.input("X", f32, {n}), Y = k.output("Y", f32, {n});
  Symmetric mine = k.symmetric("mine", sums.dtype, {n}, {.use = TensorUse::workspace, .alignment = 16});
  Symmetric stored =
      k.symmetric("stored", i32, {blocks}, {.use = TensorUse::workspace, .initial = Initial::zero});
  k.launch("store", [&] {
    auto [block] = k.grid(blocks);
    Fragment x = k.fragment(f32, {256});
    copy(X.tile({block * 256}, {256}), x);
    copy(x.to(sums.dtype), mine.of(rank).tile({block * 256}, {256}));
    announce(stored.ofAll(), {block});
  });
  k.launch("combine", [&] {
    auto [block] = k.grid(blocks);
    Fragment all = k.fragment(sums.dtype, {256});
    if (sums.waits)
      waitFor(stored.of(rank), {block}, ranks);
    sums.load(mine.ofAll().tile({block * 256}, {256}), all, Loc::current());
    copy(all.to(f32), Y.tile({block * 256}, {256}));
  });
}

} // namespace

TEST_CASE("one load gives the sum of all ranks", "[ranks][multicast]") {
  ElementType dtype = GENERATE(bf16, f16, f32, f64);
  for (int64_t ranks : rankCounts()) {
    INFO(ranks << " ranks");
    auto all = runOnRanks(
        [&](Scope &k) { combined(k, {.dtype = dtype}); },
        argumentsOf(
            ranks, [](int64_t rank) { return std::vector{numbered(f32, rank, 600), unwritten(f32, {600})}; }),
        withMulticast());
    for (const evaluator::Arguments &rank : all)
      CHECK(numbersOf(rank.tensors[1])[5] == double(5 * ranks * (ranks + 1) / 2));
  }
}

TEST_CASE("a program sums up on all ranks at once", "[ranks][multicast]") {
  for (int64_t ranks : rankCounts()) {
    auto all = runOnRanks(
        sumOfAll,
        argumentsOf(
            ranks, [](int64_t rank) { return std::vector{numbered(f32, rank, 600), unwritten(f32, {600})}; }),
        withMulticast());
    CHECK(numbersOf(all[0].tensors[1])[5] == double(5 * ranks * (ranks + 1) / 2));
  }
}

TEST_CASE("one load gives the least or the most of all ranks", "[ranks][multicast]") {
  ElementType dtype = GENERATE(bf16, f16, u32, i64);
  const int64_t ranks = 3;
  for (Load load : {Load(loadMin), Load(loadMax)}) {
    auto all = runOnRanks(
        [&](Scope &k) { combined(k, {.dtype = dtype, .load = load}); },
        argumentsOf(
            ranks, [](int64_t rank) { return std::vector{numbered(f32, rank, 600), unwritten(f32, {600})}; }),
        withMulticast());
    CHECK(numbersOf(all[2].tensors[1])[7] == double(load == loadMin ? 7 : 7 * ranks));
  }
}

TEST_CASE("without an order the sum of all ranks is a race", "[ranks][multicast]") {
  auto body = [](Scope &k) { combined(k, {.waits = false}); };
  auto make = [](int64_t rank) { return std::vector{numbered(f32, rank, 600), unwritten(f32, {600})}; };
  auto ranks = argumentsOf(3, make);
  CHECK_THAT(evaluated(body, ranks), Contains("mine.of("));
  ranks = argumentsOf(3, make);
  CHECK_THAT(launch(compiledProgram(body, withMulticast().compile), ranks),
             Contains("tensor 'mine.of(") && Contains("on device"));
}

TEST_CASE("a sum of all ranks needs the fence of its other address", "[ranks][multicast]") {
  Artifact artifact = compiledProgram([](Scope &k) { combined(k, {.dtype = f32}); }, withMulticast().compile);
  constexpr std::string_view fence = "fence.proxy.alias;";
  for (Variant &variant : artifact.variants) {
    REQUIRE(variant.ptx.find(fence) != std::string::npos);
    for (size_t at; (at = variant.ptx.find(fence)) != std::string::npos;)
      variant.ptx.erase(at, fence.size());
  }
  auto ranks = argumentsOf(
      2, [](int64_t rank) { return std::vector{numbered(f32, rank, 600), unwritten(f32, {600})}; });
  CHECK_THAT(launch(artifact, ranks),
             Contains("tensor 'mine.of(") && Contains("missing: fence.proxy.alias between them"));
}

TEST_CASE("integers of all ranks become one in six ways", "[ranks][multicast]") {
  constexpr int64_t count = 200, wholeTiles = 256, ways = 6;
  auto body = [](Scope &k) {
    Index n = k.dim("n"), rank = k.rank();
    Symmetric X = k.symmetric("X", i32, {n}, {.use = TensorUse::input});
    Global Y = k.output("Y", i32, {ways, wholeTiles});
    auto [block] = k.grid(ceilDiv(n, 128));
    Fragment x = k.fragment(i32, {128});
    Slice from = X.ofAll().tile({block * 128}, {128}).fill(-1);
    constexpr Load loads[] = {loadSum, loadMin, loadMax, loadAnd, loadOr, loadXor};
    for (int64_t way = 0; way < ways; ++way) {
      loads[way](from, x, Loc::current());
      copy(x, Y.tile({way, block * 128}, {1, 128}));
    }
  };
  const int64_t ranks = 3;
  auto all = runOnRanks(body,
                        argumentsOf(ranks,
                                    [](int64_t rank) {
                                      return std::vector{numbered(i32, rank, count),
                                                         unwritten(i32, {ways, wholeTiles})};
                                    }),
                        withMulticast());
  auto value = [&](int64_t way, int64_t i) {
    return numbersOf(all[1].tensors[1])[size_t(way * wholeTiles + i)];
  };
  for (int64_t i : {0, 1, 6, 50}) {
    CHECK(value(0, i) == double(6 * i));
    CHECK(value(1, i) == double(i));
    CHECK(value(2, i) == double(3 * i));
    CHECK(value(3, i) == double(i & (2 * i) & (3 * i)));
    CHECK(value(4, i) == double(i | (2 * i) | (3 * i)));
    CHECK(value(5, i) == double(i ^ (2 * i) ^ (3 * i)));
  }
  for (int64_t way = 0; way < ways; ++way)
    CHECK(value(way, count) == -1); // outside: the slice's fill
}

TEST_CASE("a store reaches all ranks, also at the tensor's edge", "[ranks][multicast]") {
  ElementType type = GENERATE(f32, i32);
  auto body = [&](Scope &k) {
    Index n = k.dim("n"), rank = k.rank(), ranks = k.ranks();
    Global X = k.input("X", type, {n});
    Symmetric Y = k.symmetric("Y", type, {ranks * n}, {.use = TensorUse::output});
    auto [block] = k.grid(ceilDiv(n, 128));
    Fragment x = k.fragment(type, {128});
    copy(X.tile({block * 128}, {128}), x);
    copy(x, Y.ofAll().tile({rank * n + block * 128}, {128}).limited(0, (rank + 1) * n));
  };
  const int64_t ranks = 3, n = 201;
  auto all =
      runOnRanks(body,
                 argumentsOf(ranks,
                             [&](int64_t rank) {
                               return std::vector{numbered(type, rank, n), unwritten(type, {ranks * n})};
                             }),
                 withMulticast());
  for (const evaluator::Arguments &rank : all)
    for (int64_t owner = 0; owner < ranks; ++owner)
      for (int64_t i : {int64_t(0), int64_t(63), n - 1})
        CHECK(numbersOf(rank.tensors[1])[size_t(owner * n + i)] == double(i % 64 * (owner + 1)));
}

TEST_CASE("ranks add to all ranks' tensors at once", "[ranks][multicast]") {
  ElementType type = GENERATE(f32, i32);
  auto body = [&](Scope &k) {
    Index n = k.dim("n");
    Global X = k.input("X", type, {n});
    Symmetric Y = k.symmetric("Y", type, {n}), most = k.symmetric("most", i32, {1});
    auto [block] = k.grid(ceilDiv(n, 128));
    Fragment x = k.fragment(type, {128});
    copy(X.tile({block * 128}, {128}), x);
    atomicAdd(x, Y.ofAll().tile({block * 128}, {128}));
    atomicMax(k.rank().to(i32), most.ofAll().tile({0}, {1}));
  };
  const int64_t ranks = 3;
  auto all = runOnRanks(body,
                        argumentsOf(ranks,
                                    [&](int64_t rank) {
                                      return std::vector{filled(type, {200}, double(rank + 1)),
                                                         filled(type, {200}, 100), filled(i32, {1}, -1)};
                                    }),
                        withMulticast());
  for (const evaluator::Arguments &rank : all) {
    CHECK(numbersOf(rank.tensors[1])[150] == double(100 + ranks * (ranks + 1) / 2));
    CHECK(numbersOf(rank.tensors[2])[0] == double(ranks - 1));
  }
}
