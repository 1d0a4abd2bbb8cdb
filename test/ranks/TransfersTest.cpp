// SPDX-License-Identifier: Apache-2.0
/// \file
/// Transfers between launches: ranks copy what others have, or give it to them, while launches wait.
#include "test/ranks/RankGather.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {
void sumOfRows(Scope &k) {
  Index n = k.dim("n"), rank = k.rank(), ranks = k.ranks();
  Symmetric X = k.symmetric("X", f32, {1, n}, {.use = TensorUse::input});
  Global Y = k.output("Y", f32, {1, n}), rows = k.workspace("rows", f32, {ranks, n});
  SymmetricOptions counts = {.use = TensorUse::workspace, .initial = Initial::zero};
  Symmetric arrived = k.symmetric("arrived", i32, {ranks}, counts);
  k.transfer("gather", ranks, [&](const auto &transfer, const Index &round) {
    Index owner =
        (rank + round) % ranks; // ranks begin with themselves, so that they do not all read from one
    transfer.copy({X.of(owner), {0, 0}}, {rows, {owner, 0}}, {1, n});
    transfer.set(arrived.of(rank), {owner});
  });
  k.launch("sum", [&] {
    auto [block] = k.grid(ceilDiv(n, 256));
    Fragment sum = k.fragment(f32, {1, 256}), x = k.fragment(f32, {1, 256});
    k.loop(ranks, [&](Index owner) {
      waitFor(arrived.of(rank), {owner}, 1);
      copy(rows.tile({owner, block * 256}, {1, 256}), x);
      sum += x;
    });
    copy(sum, Y.tile({0, block * 256}, {1, 256}));
  });
}
} // namespace

TEST_CASE("rows are summed up as they arrive", "[ranks][transfers]") {
  for (int64_t ranks : rankCounts()) {
    std::vector<evaluator::Arguments> all;
    for (int64_t rank = 0; rank < ranks; ++rank)
      all.push_back({{filled(f32, {1, 777}, double(rank + 1)), unwritten(f32, {1, 777})}, {}});
    all = runOnRanks(sumOfRows, all, {.scheduleSeed = 5});
    CHECK(numbersOf(all[0].tensors[1])[776] == double(ranks * (ranks + 1) / 2));
  }
}

TEST_CASE("ranks gather rows by transfers, beside a launch that waits", "[ranks][transfers]") {
  const bool isLate = GENERATE(false, true), toOthers = GENERATE(false, true);
  auto body = [&](Scope &k) { gatherRows(k, {.toOthers = toOthers}); };
  for (int64_t ranks : rankCounts()) {
    INFO(ranks << " ranks, " << (isLate ? "late" : "early") << (toOthers ? ", to others" : ""));
    auto all = runOnRanks(body, gatherArguments(ranks, 3, 13), {.lateTransfers = isLate, .launches = 2});
    const std::vector<double> gathered = numbersOf(all[0].tensors[1]);
    for (int64_t owner = 0; owner < ranks; ++owner) // row 2 of batch 1
      CHECK(gathered[size_t(((ranks + owner) * 13 + 2) * gatheredColumns + 3)] ==
            double(10000 * (owner + 1) + (13 + 2) * gatheredColumns + 3));
  }
}

TEST_CASE("a launch begins after a transfer that sets nothing", "[ranks][transfers]") {
  const bool isLate = GENERATE(false, true);
  runOnRanks([](Scope &k) { gatherRows(k, {.sets = false}); }, gatherArguments(ranksUpTo(3), 2, 9),
             {.lateTransfers = isLate});
}

TEST_CASE("a transfer of nothing sets its count", "[ranks][transfers]") {
  const int64_t ranks = ranksUpTo(2);
  runOnRanks([](Scope &k) { gatherRows(k); }, gatherArguments(ranks, 2, 0));
  runOnRanks([](Scope &k) { gatherRows(k); }, gatherArguments(ranks, 0, 5));
}

TEST_CASE("boxes of four axes are copied, from any place to any other", "[ranks][transfers]") {
  auto body = [](Scope &k) {
    Index rank = k.rank(), ranks = k.ranks(), n = k.dim("n");
    Symmetric X = k.symmetric("X", i32, {3, n, 5, 7}, {.use = TensorUse::input});
    Global Y = k.inout("Y", i32, {4, n + 2, 6, 9});
    // Some elements of the innermost axis, and of each other one: 2 x 3 x 2 rows of 3.
    k.transfer("some", 1, [&](const dsl::Transfer &transfer, const Index &) {
      transfer.copy({X.of((rank + 1) % ranks), {1, 2, 3, 4}}, {Y, {0, 1, 2, 5}}, {2, 3, 2, 3});
    });
    k.launch("add", [&] {
      [[maybe_unused]] auto [block] = k.grid(1);
      Fragment y = k.fragment(i32, {4, 8, 8, 16});
      copy(Y.tile({0, 0, 0, 0}, {4, 8, 8, 16}), y);
      copy(y + 1, Y.tile({0, 0, 0, 0}, {4, 8, 8, 16}));
    });
  };
  const int64_t ranks = ranksUpTo(3), n = 5;
  std::vector<evaluator::Arguments> all;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    evaluator::Tensor x = filled(i32, {3, n, 5, 7}, 0);
    for (size_t i = 0; i < x.elements.size(); ++i)
      x.elements[i] = evaluator::elementOf(i32, double(1000 * (rank + 1) + int64_t(i)));
    all.push_back({{x, filled(i32, {4, n + 2, 6, 9}, 0)}, {}});
  }
  all = runOnRanks(body, all);
  const std::vector<double> first = numbersOf(all[0].tensors[1]);
  CHECK(first[size_t(((0 * (n + 2) + 1) * 6 + 2) * 9 + 5)] ==
        double(1000 * (1 % ranks + 1) + ((1 * n + 2) * 5 + 3) * 7 + 4 + 1));
  CHECK(first[0] == 1);
}

TEST_CASE("transfers follow each other and launches", "[ranks][transfers]") {
  const bool isLate = GENERATE(false, true);
  auto body = [](Scope &k) {
    Index rank = k.rank(), ranks = k.ranks(), n = k.dim("n");
    Symmetric X = k.symmetric("X", f32, {n}, {.use = TensorUse::input});
    Global Y = k.output("Y", f32, {n});
    Symmetric doubled = k.symmetric("doubled", f32, {n}, {.use = TensorUse::workspace});
    const SymmetricOptions counts = {.use = TensorUse::workspace, .initial = Initial::zero};
    Symmetric ready = k.symmetric("ready", i32, {1}, counts), there = k.symmetric("there", i32, {1}, counts);
    Global first = k.workspace("first", f32, {n}), second = k.workspace("second", f32, {n});
    auto tiles = [&](const std::function<void(const Index &)> &each) {
      k.loop(ceilDiv(n, 128), [&](Index i) { each(i * 128); });
    };
    k.launch("double", [&] {
      [[maybe_unused]] auto [block] = k.grid(1);
      Fragment x = k.fragment(f32, {128});
      tiles([&](const Index &at) {
        copy(X.of(rank).tile({at}, {128}), x);
        copy(x * 2, doubled.of(rank).tile({at}, {128}));
      });
      k.loop(ranks, [&](Index other) { announce(ready.of(other), {0}); });
      waitFor(ready.of(rank), {0}, ranks);
    });
    k.transfer("fetch", 1, [&](const dsl::Transfer &transfer, const Index &) {
      transfer.copy({doubled.of((rank + 1) % ranks), {0}}, {first, {0}}, {n});
    });
    k.transfer("hand_on", 1, [&](const dsl::Transfer &transfer, const Index &) {
      transfer.copy({first, {0}}, {second, {0}}, {n});
      transfer.set(there.of(rank), {0}, 7);
    });
    k.launch("use", [&] {
      [[maybe_unused]] auto [block] = k.grid(1);
      Fragment x = k.fragment(f32, {128});
      waitFor(there.of(rank), {0}, 7);
      tiles([&](const Index &at) {
        copy(second.tile({at}, {128}), x);
        copy(x, Y.tile({at}, {128}));
      });
    });
  };
  const int64_t ranks = ranksUpTo(3);
  std::vector<evaluator::Arguments> all;
  for (int64_t rank = 0; rank < ranks; ++rank)
    all.push_back({{filled(f32, {301}, double(rank + 1)), unwritten(f32, {301})}, {}});
  all = runOnRanks(body, all, {.lateTransfers = isLate});
  CHECK(numbersOf(all[0].tensors[1])[300] == double(2 * (1 % ranks + 1)));
}

TEST_CASE("a pipelined loop does not load ahead of the wait for a transfer", "[ranks][transfers]") {
  const bool isLate = GENERATE(false, true);
  auto body = [](Scope &k) {
    Index rank = k.rank(), ranks = k.ranks();
    const TensorFacts aligned = {.alignment = 16};
    Symmetric X = k.symmetric("X", f32, {64, 64}, {.use = TensorUse::input, .alignment = 16});
    Global Z = k.input("Z", f32, {64, 64}, aligned), Y = k.output("Y", f32, {64, 64});
    Global fetched = k.workspace("fetched", f32, {64, 64});
    Symmetric there = k.symmetric("there", i32, {1}, {.use = TensorUse::workspace, .initial = Initial::zero});
    k.transfer("fetch", 1, [&](const dsl::Transfer &transfer, const Index &) {
      transfer.copy({X.of((rank + 1) % ranks), {0, 0}}, {fetched, {0, 0}}, {64, 64});
      transfer.set(there.of(rank), {0});
    });
    k.launch("multiply", [&] {
      [[maybe_unused]] auto [block] = k.grid(1);
      Fragment sum = k.fragment(f32, {64, 64});
      waitFor(there.of(rank), {0}, 1);
      Shared a = k.shared("a", f32, {64, 32}), b = k.shared("b", f32, {64, 32});
      k.pipelined(2, {.stages = 2}, [&](Index step) {
        copy(fetched.tile({0, step * 32}, {64, 32}), a);
        copy(Z.tile({0, step * 32}, {64, 32}), b);
        gemm(a, b.t(), sum);
      });
      copy(sum, Y.tile({0, 0}, {64, 64}));
    });
  };
  const int64_t ranks = ranksUpTo(3);
  std::vector<evaluator::Arguments> arguments;
  for (int64_t rank = 0; rank < ranks; ++rank)
    arguments.push_back(
        {{filled(f32, {64, 64}, double(rank + 1)), filled(f32, {64, 64}, 2), unwritten(f32, {64, 64})}, {}});
  auto all = runOnRanks(body, arguments, {.lateTransfers = isLate});
  CHECK(numbersOf(all[0].tensors[2])[70] == double(128 * (1 % ranks + 1)));
  std::string remarks;
  for (const Remark &remark : compiledProgram(body).remarks)
    remarks += remark.message + "\n";
  CHECK_THAT(remarks, Catch::Matchers::Contains(
                          "'fetched', from where 'a' is filled, gets what a transfer copies, and "
                          "the kernel waits for that"));
}

TEST_CASE("positions that a transfer brings are read after the wait for it", "[ranks][transfers]") {
  const bool isLate = GENERATE(false, true);
  auto body = [](Scope &k) {
    Index rank = k.rank(), ranks = k.ranks();
    Symmetric P = k.symmetric("P", i32, {2}, {.use = TensorUse::input});
    Global X = k.input("X", f32, {128, 32}, {.alignment = 16}), Y = k.output("Y", f32, {64, 64});
    Global places = k.workspace("places", i32, {2});
    Symmetric there = k.symmetric("there", i32, {1}, {.use = TensorUse::workspace, .initial = Initial::zero});
    k.transfer("fetch", 1, [&](const dsl::Transfer &transfer, const Index &) {
      transfer.copy({P.of((rank + 1) % ranks), {0}}, {places, {0}}, {2});
      transfer.set(there.of(rank), {0});
    });
    k.launch("multiply", [&] {
      [[maybe_unused]] auto [block] = k.grid(1);
      Fragment sum = k.fragment(f32, {64, 64});
      waitFor(there.of(rank), {0}, 1);
      Shared a = k.shared("a", f32, {64, 32}), b = k.shared("b", f32, {64, 32});
      k.pipelined(2, {.stages = 2}, [&](Index step) {
        copy(X.tile({places.read({step}), 0}, {64, 32}), a);
        copy(X.tile({64, 0}, {64, 32}), b);
        gemm(a, b.t(), sum);
      });
      copy(sum, Y.tile({0, 0}, {64, 64}));
    });
  };
  const int64_t ranks = ranksUpTo(3);
  evaluator::Tensor x = filled(f32, {128, 32}, 1);
  for (size_t i = 64 * 32; i < x.elements.size(); ++i)
    x.elements[i] = evaluator::elementOf(f32, 2);
  std::vector<evaluator::Arguments> arguments;
  for (int64_t rank = 0; rank < ranks; ++rank)
    arguments.push_back({{tensorOf(i32, {2}, {rank == 1 ? 64.0 : 0.0, 0}), x, unwritten(f32, {64, 64})}, {}});
  auto all = runOnRanks(body, arguments, {.lateTransfers = isLate});
  CHECK(numbersOf(all[0].tensors[2])[70] == (ranks > 1 ? 192 : 128));
}

TEST_CASE("a position that a transfer brings is read by a launch that begins after it",
          "[ranks][transfers]") {
  const bool isLate = GENERATE(false, true);
  auto body = [](Scope &k) {
    Index rank = k.rank(), ranks = k.ranks();
    Symmetric P = k.symmetric("P", i32, {1}, {.use = TensorUse::input});
    Global X = k.input("X", f32, {4}), Y = k.output("Y", f32, {1}), place = k.workspace("place", i32, {1});
    k.transfer("fetch", 1, [&](const dsl::Transfer &transfer, const Index &) {
      transfer.copy({P.of((rank + 1) % ranks), {0}}, {place, {0}}, {1});
    });
    k.launch("read", [&] {
      Fragment x = k.fragment(f32, {1});
      copy(X.tile({place.read({0})}, {1}), x);
      copy(x, Y.tile({0}, {1}));
    });
  };
  const int64_t ranks = ranksUpTo(3);
  std::vector<evaluator::Arguments> arguments;
  for (int64_t rank = 0; rank < ranks; ++rank)
    arguments.push_back(
        {{tensorOf(i32, {1}, {double(rank)}), tensorOf(f32, {4}, {10, 11, 12, 13}), unwritten(f32, {1})},
         {}});
  auto all = runOnRanks(body, arguments, {.lateTransfers = isLate});
  CHECK(numbersOf(all[0].tensors[2])[0] == (ranks > 1 ? 11 : 10));
}
