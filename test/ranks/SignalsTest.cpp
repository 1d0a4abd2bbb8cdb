// SPDX-License-Identifier: Apache-2.0
/// \file
/// Counts in symmetric tensors, by which ranks order what they do, and what is said where that goes wrong.
#include "test/ranks/RankRing.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;
using Catch::Matchers::Contains;

namespace {

/// Y of each rank is the X of the one before it.
void passedOn(Scope &k) {
  Index n = k.dim("n"), rank = k.rank(), next = (rank + 1) % k.ranks(), blocks = ceilDiv(n, 256);
  Global X = k.input("X", f32, {n}), Y = k.output("Y", f32, {n});
  Symmetric passed = k.symmetric("passed", f32, {n}, {.use = TensorUse::workspace});
  SymmetricOptions counts = {.use = TensorUse::workspace, .initial = Initial::zero};
  Symmetric arrived = k.symmetric("arrived", i32, {blocks}, counts);
  k.launch("pass", [&] {
    auto [block] = k.grid(blocks);
    Fragment x = k.fragment(f32, {256});
    copy(X.tile({block * 256}, {256}), x);
    copy(x, passed.of(next).tile({block * 256}, {256}));
    announce(arrived.of(next), {block});
  });
  k.launch("take", [&] {
    auto [block] = k.grid(blocks);
    Fragment x = k.fragment(f32, {256});
    waitFor(arrived.of(rank), {block}, 1);
    copy(passed.of(rank).tile({block * 256}, {256}), x);
    copy(x, Y.tile({block * 256}, {256}));
  });
}

} // namespace

TEST_CASE("a tile goes around the ranks", "[ranks]") {
  bool byCopyEngine = GENERATE(false, true);
  for (int64_t ranks : rankCounts())
    for (std::optional<uint64_t> seed : {std::optional<uint64_t>(), std::optional<uint64_t>(5)}) {
      INFO(ranks << " ranks");
      auto all = runOnRanks([&](Scope &k) { passOn(k, {.byCopyEngine = byCopyEngine}); },
                            ringArguments(ranks), {.scheduleSeed = seed});
      for (int64_t rank = 0; rank < ranks; ++rank)
        CHECK(numbersOf(all[size_t(rank)].tensors[1])[9] == double((rank + ranks - 1) % ranks + 1));
    }
}

TEST_CASE("counts begin at 0 in each of several launches", "[ranks]") {
  constexpr int launches = 20;
  auto body = [](Scope &k) {
    Index rank = k.rank(), ranks = k.ranks();
    Global right = k.inout("right", i32, {1});
    Symmetric count = k.symmetric("count", i32, {1}, {.use = TensorUse::workspace, .initial = Initial::zero});
    [[maybe_unused]] auto [block] = k.grid(1);
    k.loop(ranks, [&](Index other) { announce(count.of(other), {0}); });
    waitFor(count.of(rank), {0}, ranks);
    k.when(take(count.of(rank), {0}) == ranks, [&] {
      Fragment sum = k.fragment(i32, {1});
      copy(right.tile({0}, {1}), sum);
      sum += 1;
      copy(sum, right.tile({0}, {1}));
    });
  };
  std::vector<evaluator::Arguments> ranks(size_t(ranksUpTo(4)), {{filled(i32, {1}, 0)}, {}});
  REQUIRE(launch(compiledProgram(body), ranks, {.launches = launches}) == "");
  for (const evaluator::Arguments &rank : ranks)
    CHECK(numbersOf(rank.tensors[0]) == std::vector<double>{launches});
}

TEST_CASE("blocks of one launch take what those of another rank's earlier launch passed on", "[ranks]") {
  for (int64_t ranks : rankCounts())
    for (int multiprocessors : {1, 3}) {
      std::vector<evaluator::Arguments> arguments;
      for (int64_t rank = 0; rank < ranks; ++rank)
        arguments.push_back({{filled(f32, {1000}, double(rank + 1)), unwritten(f32, {1000})}, {}});
      auto all = runOnRanks(passedOn, arguments, {.multiprocessors = multiprocessors});
      for (int64_t rank = 0; rank < ranks; ++rank)
        CHECK(numbersOf(all[size_t(rank)].tensors[1])[999] == double((rank + ranks - 1) % ranks + 1));
    }
}

TEST_CASE("counts of symmetric tensors have the scope of the system", "[ranks]") {
  Artifact artifact = compiledProgram([](Scope &k) { passOn(k, {}); });
  const std::string &ptx = artifact.variants.front().ptx;
  CHECK_THAT(ptx, Contains("red.release.sys.global.add.u32") && Contains("ld.acquire.sys"));
  CHECK_THAT(ptx, !Contains(".gpu."));
}

TEST_CASE("a store by the TMA is complete before the rank announces it", "[ranks]") {
  const std::string ptx =
      compiledProgram([](Scope &k) { passOn(k, {.byCopyEngine = true}); }).variants.front().ptx;
  size_t store = ptx.find("cp.async.bulk.tensor"), wait = ptx.find("cp.async.bulk.wait_group", store),
         release = ptx.find("red.release.sys", store);
  REQUIRE(release != std::string::npos);
  CHECK(wait < release);
  CHECK(ptx.compare(wait, 29, "cp.async.bulk.wait_group.read") != 0);
}

TEST_CASE("a pipelined loop does not load ahead of the wait for its tensor", "[ranks]") {
  auto body = [](Scope &k) {
    Index rank = k.rank(), next = (rank + 1) % k.ranks();
    Global X = k.input("X", f32, {64, 64}, {.alignment = 16}), Y = k.output("Y", f32, {64, 64});
    Symmetric passed = k.symmetric("passed", f32, {64, 64}, {.use = TensorUse::workspace, .alignment = 16});
    SymmetricOptions counts = {.use = TensorUse::workspace, .initial = Initial::zero};
    Symmetric arrived = k.symmetric("arrived", i32, {1}, counts);
    Fragment x = k.fragment(f32, {64, 64}), sum = k.fragment(f32, {64, 64});
    copy(X.tile({0, 0}, {64, 64}), x);
    copy(x, passed.of(next).tile({0, 0}, {64, 64}));
    announce(arrived.of(next), {0});
    waitFor(arrived.of(rank), {0}, 1);
    Shared a = k.shared("a", f32, {64, 32}), b = k.shared("b", f32, {64, 32});
    k.pipelined(2, {.stages = 2}, [&](Index step) {
      copy(passed.of(rank).tile({0, step * 32}, {64, 32}), a);
      copy(X.tile({0, step * 32}, {64, 32}), b);
      gemm(a, b.t(), sum);
    });
    copy(sum, Y.tile({0, 0}, {64, 64}));
  };
  const int64_t ranks = ranksUpTo(3);
  std::vector<evaluator::Arguments> arguments;
  for (int64_t rank = 0; rank < ranks; ++rank)
    arguments.push_back({{filled(f32, {64, 64}, double(rank + 1)), unwritten(f32, {64, 64})}, {}});
  auto all = runOnRanks(body, arguments);
  CHECK(numbersOf(all[0].tensors[1])[70] == double(64 * ranks));
  std::string remarks;
  for (const Remark &remark : compiledProgram(body).remarks)
    remarks += remark.message + "\n";
  CHECK_THAT(remarks, Contains("'passed', from where 'a' is filled, is also written") ||
                          Contains("is symmetric, and the kernel waits for what is done to such tensors"));
}

TEST_CASE("later launches go on from what earlier ones of other ranks announced", "[ranks]") {
  auto body = [](Scope &k) {
    RankRing r(k);
    k.launch("pass", [&] {
      Fragment x = k.fragment(f32, {ringRows, ringColumns});
      copy(RankRing::all(r.X), x);
      copy(x, RankRing::all(r.passed.of((r.rank + 1) % r.ranks)));
      announce(r.arrived.of((r.rank + 1) % r.ranks), {0});
    });
    k.launch("take", [&] {
      Shared tile = k.shared("tile", f32, {ringRows, ringColumns});
      Fragment x = k.fragment(f32, {ringRows, ringColumns});
      waitFor(r.arrived.of(r.rank), {0}, 1);
      copy(RankRing::all(r.passed.of(r.rank)), tile);
      copy(tile, x);
      copy(x, RankRing::all(r.Y));
    });
  };
  runOnRanks(body, ringArguments(ranksUpTo(4)));
}
