// SPDX-License-Identifier: Apache-2.0
/// \file
/// Symmetric tensors: loads, stores, TMA copies and atomics in the tensors of other ranks.
#include "compiler/dsl/Counts.h"
#include "test/ranks/RankRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

constexpr int64_t rows = 8, columns = 32;

/// Row-major numbers that say whose they are.
evaluator::Tensor numbered(int64_t rank, std::vector<int64_t> extents) {
  evaluator::Tensor tensor = filled(f32, std::move(extents), 0);
  for (size_t i = 0; i < tensor.elements.size(); ++i)
    tensor.elements[i] = evaluator::elementOf(f32, double(1000 * (rank + 1)) + double(i));
  return tensor;
}

/// Whether a launch gets the tensor maps of all ranks.
bool hasMapsOfRanks(const Artifact &artifact) {
  return std::ranges::any_of(artifact.variants.front().launches, [](const Launch &launch) {
    return std::ranges::find(launch.parameters, KernelParameter::Kind::tensorMaps, &KernelParameter::kind) !=
           launch.parameters.end();
  });
}

} // namespace

TEST_CASE("a rank loads the tensor of the next one", "[ranks]") {
  auto body = [](Scope &k) {
    Index n = k.dim("n"), rank = k.rank(), ranks = k.ranks();
    Symmetric X = k.symmetric("X", f32, {n}, {.use = TensorUse::input});
    Global Y = k.output("Y", f32, {n});
    auto [block] = k.grid(ceilDiv(n, 128));
    Fragment x = k.fragment(f32, {128});
    copy(X.of((rank + 1) % ranks).tile({block * 128}, {128}), x);
    copy(x + rank.to(f32), Y.tile({block * 128}, {128}));
  };
  for (int64_t ranks : rankCounts()) {
    INFO(ranks << " ranks");
    auto all = runOnRanks(body, argumentsOf(ranks, [](int64_t rank) {
                            return std::vector{numbered(rank, {300}), unwritten(f32, {300})};
                          }));
    for (int64_t rank = 0; rank < ranks; ++rank)
      CHECK(numbersOf(all[size_t(rank)].tensors[1])[7] == double(1000 * ((rank + 1) % ranks + 1) + 7 + rank));
  }
}

TEST_CASE("a rank stores its rows to every rank, by threads and by the TMA", "[ranks]") {
  bool byCopyEngine = GENERATE(false, true);
  auto body = [&](Scope &k) {
    Index n = k.dim("n"), rank = k.rank(), ranks = k.ranks();
    Global X = k.input("X", f32, {n, columns}, {.alignment = 16});
    Symmetric Y = k.symmetric("Y", f32, {ranks * n, columns}, {.use = TensorUse::output, .alignment = 16});
    auto [block] = k.grid(ceilDiv(n, rows));
    Shared tile = k.shared("tile", f32, {rows, columns});
    Fragment x = k.fragment(f32, {rows, columns});
    copy(X.tile({block * rows, 0}, {rows, columns}), x);
    copy(x, tile);
    auto store = [&] {
      k.loop(ranks, [&](Index other) {
        Slice to = Y.of(other).tile({rank * n + block * rows, 0}, {rows, columns}).limited(0, (rank + 1) * n);
        byCopyEngine ? copy(tile, to) : copy(x, to);
      });
    };
    byCopyEngine ? k.roles([&] { k.role("store", {.warps = 4}, store); }) : store();
  };
  CHECK(hasMapsOfRanks(compiledProgram(body)) == byCopyEngine);
  const int64_t n = 19, ranks = ranksUpTo(3);
  auto all =
      runOnRanks(body, argumentsOf(ranks, [&](int64_t rank) {
                   return std::vector{numbered(rank, {n, columns}), unwritten(f32, {ranks * n, columns})};
                 }));
  for (const evaluator::Arguments &rank : all)
    for (int64_t owner = 0; owner < ranks; ++owner)
      for (int64_t i = 0; i < n * columns; ++i)
        CHECK(numbersOf(rank.tensors[1])[size_t(owner * n * columns + i)] == double(1000 * (owner + 1) + i));
}

TEST_CASE("a role loads tiles of all ranks by the TMA", "[ranks]") {
  auto body = [](Scope &k) {
    Index n = k.dim("n"), ranks = k.ranks();
    Symmetric X = k.symmetric("X", f32, {n, columns}, {.use = TensorUse::input, .alignment = 16});
    Global Y = k.output("Y", f32, {n, columns});
    auto [block] = k.grid(ceilDiv(n, 64));
    Shared tile = k.shared("tile", f32, {64, columns}, {.slots = 2});
    Channel loaded = k.channel("tiles", {.slots = 2});
    k.roles([&] {
      k.role("load", {.warps = 4}, [&] {
        k.loop(ranks, [&](Index other) {
          loaded.put(
              [&](const Slot &at) { copy(X.of(other).tile({block * 64, 0}, {64, columns}), tile.slot(at)); });
        });
      });
      k.role("add", {.warps = 4}, [&] {
        Fragment sum = k.fragment(f32, {64, columns}), x = k.fragment(f32, {64, columns});
        k.loop(ranks, [&](Index) {
          Slot at = loaded.get();
          copy(tile.slot(at), x);
          sum += x;
          loaded.release();
        });
        copy(sum, Y.tile({block * 64, 0}, {64, columns}));
      });
    });
  };
  const int64_t ranks = ranksUpTo(4);
  auto all = runOnRanks(body, argumentsOf(ranks, [](int64_t rank) {
                          return std::vector{numbered(rank, {100, columns}), unwritten(f32, {100, columns})};
                        }));
  CHECK(numbersOf(all[0].tensors[1])[5] == double(500 * ranks * (ranks + 1) + 5 * ranks));
  CHECK(hasMapsOfRanks(compiledProgram(body)));
}

TEST_CASE("ranks add to one tensor", "[ranks]") {
  auto body = [](Scope &k) {
    Index n = k.dim("n");
    Global X = k.input("X", i32, {n});
    Symmetric Y = k.symmetric("Y", i32, {n});
    auto [block] = k.grid(ceilDiv(n, 128));
    Fragment x = k.fragment(i32, {128});
    copy(X.tile({block * 128}, {128}), x);
    k.loop(k.ranks(), [&](Index other) { atomicAdd(x, Y.of(other).tile({block * 128}, {128})); });
  };
  const int64_t ranks = ranksUpTo(3);
  auto all = runOnRanks(body, argumentsOf(ranks, [](int64_t rank) {
                          return std::vector{filled(i32, {200}, double(rank + 1)), filled(i32, {200}, 100)};
                        }));
  for (const evaluator::Arguments &rank : all)
    CHECK(numbersOf(rank.tensors[1])[150] == double(100 + ranks * (ranks + 1) / 2));
}
