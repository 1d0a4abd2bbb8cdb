// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which threads come to a barrier, and what the last threads of a tensor write.
/// Programs of the language cannot say most of this wrong: these are PTX.
#include "test/hazards/Hazard.h"
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::hazards;
using emulator::test::KernelText;

namespace {

/// Runs with the checker on; lines of the body are named by `.loc 1 LINE 3`.
Findings findingsOf(KernelText kernel) {
  kernel.header = ".file 1 \"kernel.cpp\"\n" + kernel.header;
  kernel.raceCheck = RaceCheck::on;
  kernel.in.resize(1024);
  return emulator::test::run(kernel).findings;
}

/// Each thread writes a word and reads the one of the thread `distance` further; `sync` is between.
KernelText exchange(const std::string &sync, uint32_t threads, int distance) {
  return {.body = R"(
    .shared .align 16 .b8 s[4096]; .reg .b64 %s, %at;
    mov.b64 %s, s; mad.wide.u32 %at, %t, 4, %s;
    .loc 1 10 3
    st.shared.b32 [%at], %t;
    )" + sync + R"(
    add.u32 %r1, %t, )" +
                  std::to_string(distance) + R"(; rem.u32 %r1, %r1, )" + std::to_string(threads) + R"(;
    mad.wide.u32 %at, %r1, 4, %s;
    .loc 1 20 3
    ld.shared.b32 %r2, [%at]; st.global.b32 [%mine], %r2;)",
          .threads = threads};
}

const std::set<FindingKind> races = {FindingKind::race, FindingKind::unwritten};

} // namespace

TEST_CASE("tl#2556: a barrier counts whole warps") {
  // Forty threads are two warps.
  CHECK(findingsOf(exchange("bar.sync 1, 64;", 40, 8)).empty());
  const Findings odd = findingsOf(exchange(".loc 1 15 3\n bar.sync 1, 40;", 40, 8));
  INFO(odd.text());
  CHECK(names(odd, {FindingKind::fault}, {15}));
  const Findings none = findingsOf(exchange("", 40, 8));
  INFO(none.text());
  CHECK(names(none, races, {10, 20}));
}

TEST_CASE("tl#2556: lanes of one warp meet, too, before they read each other's words") {
  CHECK(findingsOf(exchange("bar.warp.sync 0xffffffff;", 32, 8)).empty());
  // Eight lanes alone are not a barrier's multiple: the warp's own barrier is theirs.
  CHECK(findingsOf(exchange("bar.warp.sync 0xff;", 8, 1)).empty());
  for (uint32_t threads : {8, 32}) {
    const Findings found = findingsOf(exchange("", threads, 1));
    INFO(found.text());
    CHECK(names(found, races, {10, 20}));
  }
}

TEST_CASE("TRT-LLM#18339: all threads that a barrier waits for come to it") {
  const auto some = [](const std::string &barrier) {
    return "setp.lt.u32 %p1, %t, 64;\n.loc 1 15 3\n" + barrier;
  };
  CHECK(findingsOf(exchange(some("bar.sync 0;"), 128, 64)).empty());
  // Two warps of four: the other ones would wait at no barrier at all.
  const Findings subset = findingsOf(exchange(some("@%p1 bar.sync 0, 64;"), 128, 64));
  INFO(subset.text());
  CHECK(names(subset, races, {10, 20}));
  const Findings stuck = findingsOf(exchange(some("@%p1 bar.sync 1, 128;"), 128, 64));
  INFO(stuck.text());
  CHECK(names(stuck, {FindingKind::deadlock, FindingKind::race, FindingKind::unwritten}, {10, 15, 20}));
}

TEST_CASE("TRT-LLM#18339: warps that leave a loop early do not meet the others there") {
  // Each of two warps runs its own number of rounds of a barrier that waits for both.
  const auto rounds = [](const std::string &ofSecond) {
    return KernelText{.body = R"(
      setp.lt.u32 %p1, %t, 32; selp.b32 %r1, 4, )" +
                              ofSecond + R"(, %p1; mov.b32 %r2, 0;
      $round:
      .loc 1 15 3
      barrier.sync 1, 64;
      add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, %r1; @%p2 bra $round;)",
                      .threads = 64};
  };
  CHECK(findingsOf(rounds("4")).empty());
  const Findings found = findingsOf(rounds("3"));
  INFO(found.text());
  CHECK(names(found, {FindingKind::deadlock}, {15}));
}

TEST_CASE("tl#2699: a bulk copy into memory that threads fill comes first or last, not at once") {
  const auto kernel = [](const std::string &wait) {
    return KernelText{.body = R"(
      .shared .align 8 .b64 bar; .shared .align 128 .b8 s[1024]; .reg .b64 %s, %at, %bar;
      mov.b64 %s, s; mov.b64 %bar, bar; mad.wide.u32 %at, %t, 4, %s; setp.eq.u32 %p1, %t, 0;
      @%p1 mbarrier.init.shared.b64 [bar], 1;
      fence.mbarrier_init.release.cluster;
      bar.sync 0;
      @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
      .loc 1 10 3
      @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], 256, [%bar];
      )" + wait + R"(
      .loc 1 20 3
      st.shared.b32 [%at], %t;
      $end: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra $end;)",
                      .threads = 64};
  };
  CHECK(findingsOf(kernel("$w: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra $w;")).empty());
  const Findings found = findingsOf(kernel(""));
  INFO(found.text());
  CHECK(names(found, {FindingKind::race}, {10, 20}));
}

TEST_CASE("tri#11583: a bulk store ends where its tensor ends") {
  const auto kernel = [](const std::string &bytes) {
    return KernelText{.body = R"(
      .shared .align 128 .b8 s[1024]; .reg .b64 %s, %at;
      mov.b64 %s, s; mad.wide.u32 %at, %t, 4, %s; setp.eq.u32 %p1, %t, 0;
      st.shared.b32 [%at], %t;
      fence.proxy.async.shared::cta;
      bar.sync 0;
      .loc 1 10 3
      @%p1 cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], )" +
                              bytes + R"(;
      @%p1 cp.async.bulk.commit_group;
      @%p1 cp.async.bulk.wait_group 0;)",
                      .threads = 64,
                      .outWords = 60};
  };
  CHECK(findingsOf(kernel("240")).empty());
  const Findings found = findingsOf(kernel("256"));
  INFO(found.text());
  CHECK(names(found, {FindingKind::fault}, {10}));
}

TEST_CASE("tri#11583: tiles that overhang a ragged tensor are cut off, unless the program vouches for them") {
  unsigned store = 0;
  const auto program = [&](bool vouches) {
    return Program::trace("ragged", [&, vouches](Scope &k) {
      Index rows = k.dim("rows"), columns = k.dim("columns");
      Global X = k.input("X", bf16, {rows, columns}), Y = k.output("Y", bf16, {rows, columns});
      auto [i, j] = k.grid(ceilDiv(rows, 32), ceilDiv(columns, 64));
      Fragment x = k.fragment(bf16, {32, 64});
      copy(X.tile({i * 32, j * 64}, {32, 64}), x);
      Slice out = Y.tile({i * 32, j * 64}, {32, 64});
      store = lineBelow();
      copy(x, vouches ? out.unchecked("wrongly") : out);
    });
  };
  Subject(program(false), {{"rows", 40}, {"columns", 72}}).checkClean();
  const Findings found = Subject(program(true), {{"rows", 40}, {"columns", 72}}).findings();
  INFO(found.text());
  CHECK(names(found, {FindingKind::fault}, {store}));
}
