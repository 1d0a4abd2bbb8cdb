// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is said of mistakes about ranks: by the language, the launch, the evaluator and the emulator.
#include "runtime/device/LaunchRanks.h"
#include "test/Expect.h"
#include "test/ranks/RankRing.h"

#include <array>
#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;
using Catch::Matchers::Contains;

TEST_CASE("a rank that does not wait is a race", "[ranks]") {
  auto body = [](Scope &k) { passOn(k, {.waits = false}); };
  auto ranks = ringArguments(3);
  CHECK_THAT(evaluated(body, ranks), Contains("passed.of("));
  ranks = ringArguments(3);
  CHECK_THAT(launch(compiledProgram(body), ranks), Contains("tensor 'passed.of(") && Contains("on device"));
}

TEST_CASE("a rank that waits for what nobody announces is reported", "[ranks]") {
  auto body = [](Scope &k) { passOn(k, {.announces = false}); };
  auto ranks = ringArguments(2);
  CHECK_THAT(evaluated(body, ranks), Contains("a block of rank") &&
                                         Contains("it expects at least 1 in element [0] of 'arrived.of(") &&
                                         Contains("which is 0"));
  ranks = ringArguments(2);
  CHECK_THAT(launch(compiledProgram(body), ranks),
             Contains("deadlock") && Contains("tensor 'arrived.of(0)' at element [0] (byte offset 0) is 0") &&
                 Contains("tensor 'arrived.of(1)' at element [0] (byte offset 0) is 0"));
}

TEST_CASE("arguments that ranks disagree about are refused by name", "[ranks]") {
  auto body = [](Scope &k) {
    Index n = k.dim("n");
    Symmetric X = k.symmetric("X", f32, {n}, {.use = TensorUse::input});
    Global Y = k.output("Y", f32, {n});
    Fragment x = k.fragment(f32, {128});
    copy(X.of(k.rank()).tile({0}, {128}), x);
    copy(x, Y.tile({0}, {128}));
  };
  std::vector<evaluator::Arguments> ranks(2);
  for (int64_t rank = 0; rank < 2; ++rank)
    ranks[size_t(rank)].tensors = {filled(f32, {100 + rank}, 1), unwritten(f32, {100 + rank})};
  CHECK(launch(compiledProgram(body), ranks) ==
        "rank 1: argument 'X': expected the shape of rank 0, [100], because it is symmetric, but got [101]");
  CHECK_THAT(evaluated(body, ranks), Contains("expected 'X' to have one shape on all ranks"));
}

TEST_CASE("ranks have one program and devices of their own", "[ranks]") {
  auto copies = [](int64_t count) {
    return [count](Scope &k) {
      Global X = k.input("X", f32, {128}), Y = k.output("Y", f32, {128});
      Fragment x = k.fragment(f32, {count});
      copy(X.tile({0}, {count}), x);
      copy(x, Y.tile({0}, {count}));
    };
  };
  std::vector<std::unique_ptr<Device>> devices = openRanks(2, {});
  std::vector<LaunchArguments> arguments;
  for (int64_t rank = 0; rank < 2; ++rank)
    arguments.push_back({.rank = rank, .ranks = 2});
  for (size_t rank = 0; rank < 2; ++rank)
    for (int tensor = 0; tensor < 2; ++tensor) {
      void *memory = expectValue(devices[rank]->allocate(512));
      arguments[rank].tensors.push_back({memory, f32, {128}, {1}});
    }
  auto first = expectValue(devices[0]->load(compiledProgram(copies(128)))),
       other = expectValue(devices[1]->load(compiledProgram(copies(64))));
  const RankLaunch ofFirst{devices[0].get(), first.get(), &arguments[0]};
  CHECK(launchRanks(std::array{ofFirst, RankLaunch{devices[1].get(), other.get(), &arguments[1]}})
            .error()
            .message == "rank 1: expected the program of rank 0, 'test', but got another one, 'test'");
  CHECK(launchRanks(std::array{ofFirst, RankLaunch{devices[0].get(), first.get(), &arguments[1]}})
            .error()
            .message == "rank 1: expected a device of its own, but got device 0, as rank 0 did");
}

TEST_CASE("a rank that there is not has no tensor", "[ranks]") {
  auto body = [](Scope &k) {
    Symmetric X = k.symmetric("X", f32, {128}, {.use = TensorUse::input});
    Global Y = k.output("Y", f32, {128});
    Fragment x = k.fragment(f32, {128});
    copy(X.of(k.ranks()).tile({0}, {128}), x);
    copy(x, Y.tile({0}, {128}));
  };
  std::vector<evaluator::Arguments> ranks(3, {{filled(f32, {128}, 1), unwritten(f32, {128})}, {}});
  CHECK_THAT(evaluated(body, ranks), Contains("expected a rank from 0 to 2 of 'X.of(0)', but got 3"));
  CHECK_THAT(launch(compiledProgram(body), ranks), Contains("out-of-bounds read"));
}

TEST_CASE("mistakes about symmetric tensors are told in the language's words", "[ranks]") {
  dsl::Program program = dsl::Program::trace("test", [](Scope &k) {
    Symmetric X = k.symmetric("X", f32, {128});
    X.of(-1);
    X.of(8);
    k.symmetric("Z", f32, {128}, {.initial = Initial::zero});
  });
  CHECK_THAT(program.errorText(), Contains("expected a rank from 0 to 7, but got -1") &&
                                      Contains("expected a rank from 0 to 7, but got 8") &&
                                      Contains("expected symmetric tensor 'Z' to be a workspace"));
}
