// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is said of mistakes about transfers: by the language, the launch, the evaluator and the emulator.
#include "runtime/device/LaunchPlan.h"
#include "test/Expect.h"
#include "test/ranks/RankGather.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;
using Catch::Matchers::Contains;

TEST_CASE("a launch that reads before a transfer has ended is a race", "[ranks][transfers]") {
  const bool isLate = GENERATE(false, true);
  auto body = [](Scope &k) { gatherRows(k, {.waits = false}); };
  auto ranks = gatherArguments(3, 1, 5);
  CHECK_THAT(evaluated(body, ranks), Contains("of 'gathered.of("));
  ranks = gatherArguments(3, 1, 5);
  CHECK_THAT(launch(compiledProgram(body), ranks, {.lateTransfers = isLate}),
             Contains("tensor 'gathered.of(") && Contains("'gather'") && Contains("copy engine of device") &&
                 Contains("missing: a wait for the element that the transfer sets afterwards, or a launch "
                          "before the transfer that waits for the other access"));
}

TEST_CASE("a wait for another round is not one for this round", "[ranks][transfers]") {
  const bool isLate = GENERATE(false, true);
  const int64_t awaited = GENERATE(0, 1);
  auto body = [&](Scope &k) {
    Index rank = k.rank(), ranks = k.ranks();
    Symmetric X = k.symmetric("X", f32, {2, 128}, {.use = TensorUse::input});
    Global Y = k.output("Y", f32, {1, 128}), rows = k.workspace("rows", f32, {2, 128});
    Symmetric there = k.symmetric("there", i32, {2}, {.use = TensorUse::workspace, .initial = Initial::zero});
    k.transfer("fetch", 2, [&](const dsl::Transfer &transfer, const Index &round) {
      transfer.copy({X.of((rank + 1) % ranks), {round, 0}}, {rows, {round, 0}}, {1, 128});
      transfer.set(there.of(rank), {round});
    });
    k.launch("use", [&] {
      [[maybe_unused]] auto [block] = k.grid(1);
      Fragment x = k.fragment(f32, {1, 128});
      waitFor(there.of(rank), {awaited}, 1);
      copy(rows.tile({1 - awaited, 0}, {1, 128}), x);
      copy(x, Y.tile({0, 0}, {1, 128}));
    });
  };
  std::vector<evaluator::Arguments> ranks(2, {{filled(f32, {2, 128}, 1), unwritten(f32, {1, 128})}, {}});
  auto evaluatedRanks = ranks;
  CHECK_THAT(evaluated(body, evaluatedRanks), Contains("of 'rows'"));
  CHECK_THAT(launch(compiledProgram(body), ranks, {.lateTransfers = isLate}), Contains("tensor 'rows'"));
}

TEST_CASE("rounds that read what others of them write are races", "[ranks][transfers]") {
  const bool isLate = GENERATE(false, true);
  auto body = [](Scope &k) {
    Index rank = k.rank(), ranks = k.ranks();
    Symmetric X = k.symmetric("X", f32, {128}, {.use = TensorUse::input});
    const SymmetricOptions counts = {.use = TensorUse::workspace, .initial = Initial::zero};
    Symmetric rows = k.symmetric("rows", f32, {3, 128}, {.use = TensorUse::workspace}),
              there = k.symmetric("there", i32, {2}, counts);
    k.transfer("fetch", 2, [&](const dsl::Transfer &transfer, const Index &round) {
      Index other = (rank + 1) % ranks;
      transfer.copy({X.of(other), {0}}, {rows.of(rank), {round * 2, 0}}, {128});
      transfer.copy({rows.of(rank), {0, 0}}, {rows.of(other), {1, 0}}, {round * 128});
      transfer.set(there.of(rank), {round});
    });
    k.launch("use", [&] {
      [[maybe_unused]] auto [block] = k.grid(1);
      waitFor(there.of(rank), {0}, 1);
      waitFor(there.of(rank), {1}, 1);
    });
  };
  std::vector<evaluator::Arguments> ranks(2, {{filled(f32, {128}, 1)}, {}});
  auto evaluatedRanks = ranks;
  CHECK_THAT(evaluated(body, evaluatedRanks), Contains("of 'rows.of("));
  CHECK_THAT(
      launch(compiledProgram(body), ranks, {.lateTransfers = isLate}),
      Contains("tensor 'rows.of(") &&
          Contains("missing: a launch between these copies that waits; rounds are in no order, nor are "
                   "transfers beside one another"));
}

TEST_CASE("a transfer that comes after the launch that waits is a deadlock", "[ranks][transfers]") {
  auto body = [](Scope &k) {
    Index rank = k.rank();
    Symmetric X = k.symmetric("X", f32, {128}, {.use = TensorUse::input});
    Global Y = k.output("Y", f32, {128});
    Symmetric there = k.symmetric("there", i32, {1}, {.use = TensorUse::workspace, .initial = Initial::zero});
    k.launch("use", [&] {
      [[maybe_unused]] auto [block] = k.grid(1);
      waitFor(there.of(rank), {0}, 1);
    });
    k.transfer("late", 1, [&](const dsl::Transfer &transfer, const Index &) {
      transfer.copy({X.of(rank), {0}}, {Y, {0}}, {128});
      transfer.set(there.of(rank), {0});
    });
  };
  std::vector<evaluator::Arguments> ranks(1, {{filled(f32, {128}, 1), unwritten(f32, {128})}, {}});
  CHECK_THAT(evaluated(body, ranks), Contains("waits here for ever"));
  CHECK_THAT(launch(compiledProgram(body), ranks), Contains("deadlock"));
}

namespace {
/// What the launch says of a transfer of so many elements from X, with 100 elements, at a place on a rank.
std::string
launchedWith(const std::function<void(const dsl::Transfer &, const Symmetric &, const Global &)> &copy,
             int64_t rounds = 1) {
  auto body = [&](Scope &k) {
    Index n = k.dim("n");
    Symmetric X = k.symmetric("X", f32, {n}, {.use = TensorUse::inout});
    Global Y = k.output("Y", f32, {n});
    k.transfer("part", Index(rounds),
               [&](const dsl::Transfer &transfer, const Index &) { copy(transfer, X, Y); });
    k.launch("none", [&] { [[maybe_unused]] auto [block] = k.grid(0); });
  };
  std::vector<evaluator::Arguments> ranks(2, {{filled(f32, {100}, 1), unwritten(f32, {100})}, {}});
  return launch(compiledProgram(body), ranks);
}
} // namespace

TEST_CASE("boxes that are not inside of tensors are refused by the launch", "[ranks][transfers]") {
  CHECK(launchedWith([](const dsl::Transfer &t, const Symmetric &X, const Global &Y) {
          t.copy({X.of(0), {1}}, {Y, {0}}, {100});
        }) ==
        "rank 0: transfer 'part' round 0: expected elements of 'X' from 0 to 99 along axis 0, but got 1 to "
        "100");
  CHECK(launchedWith([](const dsl::Transfer &t, const Symmetric &X, const Global &Y) {
          t.copy({X.of(2), {0}}, {Y, {0}}, {100});
        }) == "rank 0: transfer 'part' round 0: expected a rank of 'X' from 0 to 1, but got 2");
  CHECK(launchedWith([](const dsl::Transfer &t, const Symmetric &X, const Global &) {
          t.copy({X.of(1), {10}}, {X.of(1), {20}}, {30});
        }) ==
        "rank 0: transfer 'part' round 0: expected two boxes of 'X' that are apart because the order of a "
        "copy is not known, but they have elements in common");
  CHECK(launchedWith([](const dsl::Transfer &t, const Symmetric &X,
                        const Global &Y) { t.copy({X.of(1), {0}}, {Y, {0}}, {100}); },
                     2000) == "rank 0: transfer 'part' needs 2000 rounds, but expected 0 to 1024");
}

TEST_CASE("mistakes about transfers are told in the language's words", "[ranks][transfers]") {
  dsl::Program program = dsl::Program::trace("test", [](Scope &k) {
    Index n = k.dim("n");
    Symmetric X = k.symmetric("X", f32, {n}, {.use = TensorUse::input});
    Global Y = k.output("Y", f32, {n}), Z = k.output("Z", f16, {n}), N = k.input("N", i32, {n});
    Symmetric there = k.symmetric("there", i32, {1}, {.use = TensorUse::workspace});
    k.transfer("first", 1, [&](const dsl::Transfer &t, const Index &) {
      t.copy({X.of(0), {0}}, {Z, {0}}, {n});
      t.copy({Y, {0}}, {X.of(0), {0}}, {n});
      t.copy({X.of(0), {N.read({0})}}, {Y, {0}}, {n});
      t.copy({X.of(0), {0}}, {Y, {0}}, {n, n});
      t.copy({X.of(0), {0}}, {Y, {0}}, {-1});
      t.set(there.of(0), {0});
      k.transfer("second", 1, [&](const dsl::Transfer &, const Index &) {});
    });
    k.transfer("third", 1, [&](const dsl::Transfer &, const Index &) { k.fragment(f32, {128}); });
    k.transfer("fourth", 1, [&](const dsl::Transfer &t, const Index &round) {
      k.when(round == 0, [&] { t.copy({X.of(0), {0}}, {Y, {0}}, {n}); });
      k.loop(2, [&](Index) { t.set(there.of(0), {0}); });
    });
  });
  const std::string text = program.errorText();
  CHECK_THAT(text,
             Contains("expected a transfer between tensors of one type, but 'X' has f32 and 'Z' has f16"));
  CHECK_THAT(text, Contains("expected a transfer to a tensor that may be written, but 'X' is an input"));
  CHECK_THAT(text,
             Contains("expected a position of a transfer to be computed from dimensions, constants and the "
                      "number of the round by integer arithmetic because the host evaluates it, but it is "
                      "computed from another value"));
  CHECK_THAT(text, Contains("expected extents along 1 to 4 axes, which both places have, but got 2 for "
                            "places of 1 and 1 axes"));
  CHECK_THAT(text, Contains("expected the extents of a transfer to be at least 0, but got -1"));
  CHECK_THAT(
      text, Contains("expected the count that a transfer sets to be a symmetric workspace of i32 that begins "
                     "as zeros because every rank may wait for it, but 'there' is not; declare it with "
                     "k.symmetric and {.use = TensorUse::workspace, .initial = Initial::zero}"));
  CHECK_THAT(text,
             Contains("expected copy directly in the body of transfer 'fourth' because every round does "
                      "all of it, but got it in k.when; extents and the number of rounds may be 0"));
  CHECK_THAT(text, Contains("expected set directly in the body of transfer 'fourth' because every round does "
                            "all of it, but got it in k.loop; extents and the number of rounds may be 0"));
  CHECK_THAT(text,
             Contains("expected k.transfer outside launches and other transfers because it runs between "
                      "launches"));
}

TEST_CASE("a program of transfers has launches, and transfers copy something", "[ranks][transfers]") {
  auto traced = [](bool copies, bool launches) {
    return dsl::Program::trace("test",
                               [&](Scope &k) {
                                 Index n = k.dim("n");
                                 Symmetric X = k.symmetric("X", f32, {n}, {.use = TensorUse::input});
                                 Global Y = k.output("Y", f32, {n});
                                 k.transfer("first", 1, [&](const dsl::Transfer &t, const Index &) {
                                   if (copies)
                                     t.copy({X.of(0), {0}}, {Y, {0}}, {n});
                                 });
                                 if (launches)
                                   k.launch("none", [&] { [[maybe_unused]] auto [block] = k.grid(0); });
                               })
        .errorText();
  };
  CHECK(traced(true, true) == "");
  CHECK_THAT(traced(true, false),
             Contains("expected at least one k.launch in a program with transfers, but got none"));
  CHECK_THAT(traced(false, true),
             Contains("expected transfer 'first' to copy something, but it has no copy"));
}

TEST_CASE("what the body of a transfer gives away is not used after it", "[ranks][transfers]") {
  dsl::Program program = dsl::Program::trace("test", [](Scope &k) {
    Index n = k.dim("n"), kept;
    Symmetric X = k.symmetric("X", f32, {n}, {.use = TensorUse::input});
    Global Y = k.output("Y", f32, {n});
    std::optional<dsl::Transfer> keptTransfer;
    k.transfer("first", 1, [&](const dsl::Transfer &t, const Index &round) {
      t.copy({X.of(0), {round}}, {Y, {0}}, {n});
      kept = round;
      keptTransfer = t;
    });
    k.launch("use", [&] { [[maybe_unused]] auto [block] = k.grid(kept); });
    keptTransfer->copy({X.of(0), {0}}, {Y, {0}}, {n});
  });
  CHECK_THAT(program.errorText(),
             Contains("expected an extent of the grid that was made in an enclosing body") &&
                 Contains("expected copy in the body of its k.transfer, but got it after that has ended"));
}

TEST_CASE("launches run beside a transfer if they wait for what it sets", "[ranks][transfers]") {
  auto textOf = [](const GatherOptions &options) {
    return dsl::Program::trace("test", [&](Scope &k) { gatherRows(k, options); }).text();
  };
  CHECK_THAT(textOf({}),
             Contains("program.transfers = [#program.transfer<\"gather\"") &&
                 Contains("after = 0, until = 1, rounds = <\"d3\">, sets = <3, [<\"d2 d5 add d3 rem\">]"));
  CHECK_THAT(textOf({.sets = false}), Contains("after = 0, until = 0, rounds"));
}

TEST_CASE("launches without a transfer's tensors run beside it if a later one waits", "[ranks][transfers]") {
  enum class Between { other, source, destination, count };
  auto textOf = [](Between between, bool waits) {
    return dsl::Program::trace(
               "test",
               [&](Scope &k) {
                 Index n = k.dim("n"), rank = k.rank();
                 Symmetric X = k.symmetric("X", f32, {n}, {.use = TensorUse::input});
                 Global Y = k.output("Y", f32, {n}), Z = k.output("Z", f32, {n});
                 Symmetric here =
                     k.symmetric("here", i32, {1}, {.use = TensorUse::workspace, .initial = Initial::zero});
                 k.transfer("move", 1, [&](const dsl::Transfer &t, const Index &) {
                   t.copy({X.of(rank), {0}}, {Y, {0}}, {n});
                   t.set(here.of(rank), {0});
                 });
                 k.launch("between", [&] {
                   auto [block] = k.grid(ceilDiv(n, 128));
                   Fragment x = k.fragment(f32, {128});
                   if (between == Between::source)
                     copy(X.of(rank).tile({block * 128}, {128}), x);
                   fill(x, 1);
                   if (between == Between::count)
                     announce(here.of(rank), {0});
                   copy(x, (between == Between::destination ? Y : Z).tile({block * 128}, {128}));
                 });
                 k.launch("last", [&] {
                   [[maybe_unused]] auto [block] = k.grid(1);
                   if (waits)
                     waitFor(here.of(rank), {0}, 1);
                 });
               })
        .text();
  };
  CHECK_THAT(textOf(Between::other, true), Contains("after = 0, until = 2, rounds"));
  CHECK_THAT(textOf(Between::other, false), Contains("after = 0, until = 0, rounds"));
  CHECK_THAT(textOf(Between::source, true), Contains("after = 0, until = 0, rounds"));
  CHECK_THAT(textOf(Between::destination, true), Contains("after = 0, until = 0, rounds"));
  CHECK_THAT(textOf(Between::count, true), Contains("after = 0, until = 0, rounds"));
}

TEST_CASE("ranks launch programs with the same transfers", "[ranks][transfers]") {
  auto gathering = [](int64_t elements) {
    return compiledProgram([=](Scope &k) {
      Symmetric X = k.symmetric("X", f32, {4}, {.use = TensorUse::input});
      Global Y = k.output("Y", f32, {4});
      k.transfer("some", 1, [&](const dsl::Transfer &transfer, const Index &) {
        transfer.copy({X.of(0), {0}}, {Y, {0}}, {elements});
      });
      k.launch("none", [&] { [[maybe_unused]] auto [block] = k.grid(1); });
    });
  };
  auto devices = openRanks(2, {});
  std::vector<Device *> all = {devices[0].get(), devices[1].get()};
  expectSuccess(connect(all));
  std::vector<std::shared_ptr<const LoadedProgram>> programs = {expectValue(devices[0]->load(gathering(4))),
                                                                expectValue(devices[1]->load(gathering(3)))};
  std::vector<void *> x, y;
  for (Device *device : all)
    x.push_back(expectValue(device->allocate(16))), y.push_back(expectValue(device->allocate(16)));
  std::vector<LaunchArguments> arguments(2);
  std::vector<RankLaunch> launches;
  for (size_t rank = 0; rank < 2; ++rank) {
    arguments[rank].tensors = {contiguousView(x[rank], f32, {4}), contiguousView(y[rank], f32, {4})};
    arguments[rank].tensors[0].ofRanks = x;
    arguments[rank].rank = int64_t(rank), arguments[rank].ranks = 2;
    launches.push_back({all[rank], programs[rank].get(), &arguments[rank]});
  }
  CHECK(launchRanks(launches).error().message ==
        "rank 1: expected the program of rank 0, 'test', but got another one, 'test'");
}
