// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks that wait for what nobody announces, with a limit: each says for what, and none hangs.
#include "test/ranks/RankRing.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;
using Catch::Matchers::Contains;
using namespace std::chrono_literals;

namespace {

CompileOptions limitedTo(std::chrono::nanoseconds limit) {
  CompileOptions options;
  options.waitLimit = limit;
  return options;
}

/// All ranks announce to all others but the silent one, if there is one; Y of each is the sum of their X.
void allToAll(Scope &k, std::optional<int64_t> silent) {
  Index rank = k.rank(), ranks = k.ranks();
  SymmetricOptions counts = {.use = TensorUse::workspace, .initial = Initial::zero};
  Symmetric X = k.symmetric("X", f32, {32}, {.use = TensorUse::input}),
            done = k.symmetric("done", i32, {4}, counts);
  Global Y = k.output("Y", f32, {32});
  [[maybe_unused]] auto [block] = k.grid(1);
  auto announceToAll = [&] { k.loop(ranks, [&](Index other) { announce(done.of(other), {3}); }); };
  if (silent)
    k.when(rank != *silent, announceToAll);
  else
    announceToAll();
  waitFor(done.of(rank), {3}, ranks);
  Fragment x = k.fragment(f32, {32}), sum = k.fragment(f32, {32});
  k.loop(ranks, [&](Index other) {
    copy(X.of(other).tile({0}, {32}), x);
    sum += x;
  });
  copy(sum, Y.tile({0}, {32}));
}

std::vector<evaluator::Arguments> argumentsOf(int64_t ranks) {
  std::vector<evaluator::Arguments> all;
  for (int64_t rank = 0; rank < ranks; ++rank)
    all.push_back({{filled(f32, {32}, double(rank + 1)), unwritten(f32, {32})}, {}});
  return all;
}

} // namespace

TEST_CASE("every rank that waits for a silent one reports it and ends", "[ranks][waits]") {
  const int64_t count = ranksUpTo(3);
  Artifact artifact = compiledProgram([&](Scope &k) { allToAll(k, count - 1); }, limitedTo(200ms));
  for (std::optional<uint64_t> seed : {std::optional<uint64_t>(), std::optional<uint64_t>(5)}) {
    auto ranks = argumentsOf(count);
    const std::string errors = launch(artifact, ranks, {.scheduleSeed = seed});
    for (int64_t rank = 0; rank < count; ++rank)
      CHECK_THAT(errors, Contains("1 check failed\n  ") && Contains("WaitLimitTest.cpp:") &&
                             Contains(fmt::format(
                                 "element (3): 'test' waited 0.2 s for at least {} in 'done.of({})', "
                                 "which is {}",
                                 count, rank, count - 1)));
    CHECK_THAT(errors, !Contains("deadlock") && !Contains("race"));
  }
}

TEST_CASE("waits that end in time are as without a limit", "[ranks][waits]") {
  for (int64_t ranks : rankCounts())
    for (std::optional<uint64_t> seed : {std::optional<uint64_t>(), std::optional<uint64_t>(7)}) {
      auto all = runOnRanks([](Scope &k) { allToAll(k, std::nullopt); }, argumentsOf(ranks),
                            {.scheduleSeed = seed, .compile = limitedTo(5s), .launches = 3});
      for (const evaluator::Arguments &each : all)
        CHECK(numbersOf(each.tensors[1])[31] == double(ranks * (ranks + 1)) / 2);
    }
}

TEST_CASE("without a limit programs read no clock", "[ranks][waits]") {
  auto ptxOf = [](const CompileOptions &options) {
    return compiledProgram([](Scope &k) { allToAll(k, std::nullopt); }, options).variants.front().ptx;
  };
  const std::string without = ptxOf({}), with = ptxOf(limitedTo(1s));
  CHECK_THAT(without, !Contains("globaltimer") && !Contains("reports$"));
  CHECK_THAT(with, Contains("%globaltimer") && Contains("reports$") && !Contains("call"));
}
