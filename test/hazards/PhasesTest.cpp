// SPDX-License-Identifier: Apache-2.0
/// \file
/// Channels and phases: which phase is waited for, and how often.
#include "kernels/library/Compile.h"
#include "test/hazards/Hazard.h"
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::hazards;
using mutate::Change;

namespace {

const std::set<FindingKind> anything = {FindingKind::race,      FindingKind::proxyRace,
                                        FindingKind::unwritten, FindingKind::earlyExit,
                                        FindingKind::fault,     FindingKind::deadlock};

/// Where a channel's roles stand in the source.
struct ChannelLines {
  unsigned put = 0, load = 0, get = 0, use = 0, release = 0;
  Lines all() const { return {put, load, get, use, release}; }
};

/// Which trip counts the two roles take.
struct ChannelProgram {
  int64_t slots = 3;
  std::function<Index(Index rows)> loads, uses;
};

/// Y = the sum of the tiles of X, twice: a role loads tiles of 32 rows, another one sums them up.
Program channelProgram(const ChannelProgram &options, ChannelLines &at) {
  return Program::trace("channel", [&](Scope &k) {
    Index rows = k.dim("rows"), tiles = 2;
    Global X = k.input("X", f32, {rows, 32}, {.alignment = 16}), Y = k.output("Y", f32, {64, 32});
    Shared tile = k.shared("tile", f32, {32, 32}, {.slots = options.slots});
    Channel loaded = k.channel("tiles", {.slots = options.slots});
    k.roles([&] {
      k.role("load", {.warps = 4}, [&] {
        k.loop(tiles, [&](Index) {
          k.loop(options.loads(rows), [&](Index i) {
            at.put = lineBelow();
            loaded.put([&](const Slot &slot) {
              at.load = lineBelow();
              copy(X.tile({i * 32, 0}, {32, 32}), tile.slot(slot));
            });
          });
        });
      });
      k.role("sum", {.warps = 4}, [&] {
        k.loop(tiles, [&](Index t) {
          Fragment sum = k.fragment(f32, {32, 32}), x = k.fragment(f32, {32, 32});
          k.loop(options.uses(rows), [&](Index) {
            at.get = lineBelow();
            Slot slot = loaded.get();
            at.use = lineBelow();
            copy(tile.slot(slot), x);
            sum += x;
            at.release = lineBelow();
            loaded.release();
          });
          copy(sum, Y.tile({t * 32, 0}, {32, 32}));
        });
      });
    });
  });
}

Index tilesOf(Index rows) { return ceilDiv(rows, 32); }

} // namespace

TEST_CASE("tl#3087: the phase of a slot alternates with every round of the channel") {
  ChannelLines at;
  for (int64_t rows : {0, 32, 64, 96, 128, 200, 300}) {
    INFO(rows << " rows");
    const Subject subject(channelProgram({3, tilesOf, tilesOf}, at), {{"rows", rows}});
    subject.checkClean();
    if (rows < 200)
      continue;
    subject.checkMissed("mbarrier.try_wait", Change::otherParity, {at.get}, at.all(), anything);
    subject.checkMissed("mbarrier.try_wait", Change::otherParity, {at.put}, at.all(), anything);
  }
}

TEST_CASE("tl#3087: an mbarrier by hand is waited for by the number of its phase") {
  unsigned write = 0, filled = 0, read = 0, emptied = 0;
  const auto program = [&](int64_t iterationsPerPhase) {
    return Program::trace("by_hand", [&, iterationsPerPhase](Scope &k) {
      Index rows = k.dim("rows");
      Global X = k.input("X", f32, {rows, 32}), Y = k.output("Y", f32, {rows, 32});
      Shared tile = k.shared("tile", f32, {32, 32});
      Barrier full = k.barrier("full", 128), empty = k.barrier("empty", 128);
      const auto at = [&](Index i) { return std::vector<Index>{i * 32, 0}; };
      k.roles([&] {
        k.role("write", {.warps = 4}, [&] {
          k.loop(ceilDiv(rows, 32), [&](Index i) {
            k.when(i > 0, [&] {
              emptied = lineBelow();
              empty.wait((i - 1) / iterationsPerPhase);
            });
            write = lineBelow();
            copy(X.tile(at(i), {32, 32}), tile);
            full.arrive();
          });
        });
        k.role("read", {.warps = 4}, [&] {
          k.loop(ceilDiv(rows, 32), [&](Index i) {
            filled = lineBelow();
            full.wait(i / iterationsPerPhase);
            Fragment x = k.fragment(f32, {32, 32});
            read = lineBelow();
            copy(tile, x);
            empty.arrive();
            copy(x, Y.tile(at(i), {32, 32}));
          });
        });
      });
    });
  };
  Subject(program(1), {{"rows", 150}}).checkClean();
  const Findings found = Subject(program(3), {{"rows", 150}}).findings();
  INFO(found.text());
  CHECK(names(found, anything, {write, filled, read, emptied}));
}

TEST_CASE("tl#2674: phases go on from tile to tile of a persistent loop") {
  ChannelLines at;
  for (int64_t steps : {0, 1, 2, 4, 5}) {
    INFO(steps << " steps");
    const Subject subject(channelProgram({2, tilesOf, tilesOf}, at), {{"rows", steps * 32}});
    subject.checkClean();
    if (steps > 0) // as if a role had begun anew with the tile, after an odd number of rounds
      subject.checkMissed("mbarrier.try_wait", Change::otherParity, {at.get}, at.all(), anything);
  }
}

TEST_CASE("tl#2566: a loop of one iteration does not wait for a second one") {
  ChannelLines at;
  const auto one = [](Index) { return Index(1); };
  Subject(channelProgram({2, one, one}, at), {{"rows", 32}}).checkClean();
  const Findings found =
      Subject(channelProgram({2, one, [](Index) { return Index(2); }}, at), {{"rows", 32}}).findings();
  INFO(found.text());
  CHECK(names(found, {FindingKind::deadlock}, {at.get}));
}

TEST_CASE("tl#2566: the compiler's roles agree for any number of iterations") {
  unsigned load = 0;
  const auto program = [&](int64_t stages) {
    return Program::trace("iterations", [&, stages](Scope &k) {
      Index depth = k.dim("depth");
      Global A = k.input("A", bf16, {64, depth}), B = k.input("B", bf16, {64, depth});
      Global C = k.output("C", f32, {64, 64});
      Shared a = k.shared("a", bf16, {64, 64}), b = k.shared("b", bf16, {64, 64});
      Fragment acc = k.fragment(f32, {64, 64}).named("acc");
      k.require(Requirement::warpSpecialized);
      k.pipelined(ceilDiv(depth, 64), {.stages = stages}, [&](Index s) {
        load = lineBelow();
        copy(A.tile({0, s * 64}, {64, 64}), a);
        copy(B.tile({0, s * 64}, {64, 64}), b);
        gemm(a, b.t(), acc);
      });
      copy(acc, C.tile({0, 0}, {64, 64}));
    });
  };
  for (int64_t stages : {1, 2, 4})
    for (int64_t depth : {0, 64, 128, 320}) {
      INFO(stages << " stages, depth " << depth);
      Subject(program(stages), {{"depth", depth}}).checkClean();
    }
}

TEST_CASE("tl#2567: roles that count a ragged length differently wait for ever") {
  ChannelLines at;
  const Values dimensions = {{"rows", 250}};
  Subject(channelProgram({2, tilesOf, tilesOf}, at), dimensions).checkClean();
  const auto rounded = [](Index rows) { return rows / 32; };
  const Findings tooMany = Subject(channelProgram({2, rounded, tilesOf}, at), dimensions).findings();
  INFO(tooMany.text());
  CHECK(names(tooMany, {FindingKind::deadlock}, {at.get}));
}

TEST_CASE("tl#2559: registers that nobody gives up are waited for for ever") {
  // Two blocks of three warpgroups share a multiprocessor: 80 registers per thread each.
  const auto kernel = [](const std::string &given) {
    return emulator::test::KernelText{.body = R"(
      setp.lt.u32 %p1, %t, 128; @%p1 bra $load;
      .loc 1 7 3
      setmaxnreg.inc.sync.aligned.u32 104;
      bra $end;
      $load:
      .loc 1 4 3
      setmaxnreg.dec.sync.aligned.u32 )" + given +
                                              R"(;
      $end:)",
                                      .header = ".file 1 \"kernel.cpp\"\n",
                                      .directives = ".maxntid 384, 1, 1 .minnctapersm 2",
                                      .threads = 384};
  };
  CHECK(emulator::test::run(kernel("32")).findings.empty());
  const Findings found = emulator::test::run(kernel("40")).findings;
  INFO(found.text());
  CHECK(names(found, {FindingKind::deadlock}, {7}));
}

TEST_CASE("tl#2559: roles that want more registers than a block has do not compile") {
  const auto errorOf = [](int64_t registers) {
    Result<Artifact> artifact = compile(Program::trace("registers", [&](Scope &k) {
      Index n = k.dim("n");
      Global X = k.inout("X", f32, {n});
      k.roles([&] {
        k.role("load", {.warps = 4, .registers = 24}, [&] {});
        k.role("math", {.warps = 8, .registers = registers}, [&] {
          Fragment x = k.fragment(f32, {256});
          copy(X.tile({0}, {256}), x);
          copy(x, X.tile({0}, {256}));
        });
      });
    }));
    return artifact ? "" : artifact.error().message;
  };
  CHECK(errorOf(240) == "");
  CHECK_THAT(errorOf(248), Catch::Contains("expected the roles' registers to be at most"));
}
