// SPDX-License-Identifier: Apache-2.0
/// \file
/// Warps that poll: those that nothing will ever release are found, whatever
/// the length of their loop; those that end by themselves are left alone.
#include "test/unit/emulator/Harness.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <fmt/format.h>
#include <thread>

using namespace tlc::emulator::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

constexpr uint64_t forEver = uint64_t(1) << 40;

/// All 128 threads of a block end with a 2, in each of two orders of warps.
void checkAllGiveUp(KernelText kernel) {
  for (std::optional<uint64_t> seed : {std::optional<uint64_t>(), std::optional<uint64_t>(3)}) {
    kernel.scheduleSeed = seed;
    const std::vector<uint32_t> out = output(kernel);
    CHECK(out[0] == 2);
    CHECK(out[127] == 2);
  }
}

} // namespace

TEST_CASE("a loop that reads what nobody writes is a deadlock", "[polling]") {
  // Any period: the loop has 3 instructions, and more.
  for (const char *padding : {"", "xor.b32 %r3, %r3, 5;", "add.u32 %r4, %r1, 1; add.u32 %r5, %r1, 2;"}) {
    INFO(padding);
    const std::string message = failure({.body = fmt::format(R"(
$poll:
  ld.acquire.gpu.global.u32 %r1, [%out];
  {}
  setp.ne.u32 %p1, %r1, 1;
  @%p1 bra $poll;
)",
                                                             padding),
                                         .threads = 64,
                                         .maximumSteps = forEver});
    CHECK_THAT(message, Contains("deadlock in 'k'"));
    CHECK_THAT(message, Contains("block (0, 0, 0), warp"));
    CHECK_THAT(message, Contains("runs in a loop: 'ld.acquire.gpu.global.u32' at PTX line 15 reads 0x"));
    CHECK_THAT(message, Contains("again and again, and no running warp writes there"));
  }
}

TEST_CASE("atomics that change nothing are polls", "[polling]") {
  for (const char *poll : {"atom.global.or.b32 %r1, [%out], 0;", "atom.global.cas.b32 %r1, [%out], 7, 8;",
                           "atom.global.exch.b32 %r1, [%out], 0xDDDDDDDD;"}) {
    INFO(poll);
    const std::string message =
        failure({.body = fmt::format("$poll:\n  {}\n  setp.ne.u32 %p1, %r1, 1;\n  @%p1 bra $poll;\n", poll),
                 .threads = 1,
                 .maximumSteps = forEver});
    CHECK_THAT(message, Contains("deadlock in 'k'"));
    CHECK_THAT(message, Contains("runs in a loop: 'atom.global"));
  }
}

TEST_CASE("warps that wait beside one that polls are reported with it", "[polling]") {
  const std::string message = failure({.body = R"(
  setp.ge.u32 %p2, %t, 32;
  @%p2 bra $wait;
$poll:
  ld.volatile.global.u32 %r1, [%out];
  setp.ne.u32 %p1, %r1, 1;
  @%p1 bra $poll;
$wait:
  bar.sync 0;
)",
                                       .threads = 64,
                                       .maximumSteps = forEver});
  CHECK_THAT(message, Contains("runs in a loop: 'ld.volatile.global.u32'"));
  CHECK_THAT(message, Contains("waits at barrier 0; 32 of 64 threads have arrived"));
}

TEST_CASE("a loop that gives up by itself is no deadlock", "[polling]") {
  const auto out = output({.body = R"(
  mov.u32 %r2, 0;
$poll:
  ld.acquire.gpu.global.u32 %r1, [%out+4];
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, 400000;
  @%p1 bra $poll;
  st.global.u32 [%out], %r2;
)",
                           .threads = 1,
                           .maximumSteps = forEver});
  CHECK(out[0] == 400000);
}

TEST_CASE("time passes only while all that run wait", "[polling]") {
  // Warp 0 sleeps a millisecond by the clock, then releases warp 1. That polls for ten, and looks at the
  // clock after every fifth poll.
  KernelText kernel{.body = R"(
  mov.u64 %d1, %globaltimer;
  setp.ge.u32 %p1, %t, 32;
  @%p1 bra $wait;
  mov.u32 %r5, 0;
$work: // takes no time
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p2, %r5, 20000;
  @%p2 bra $work;
  mov.u64 %d2, %globaltimer;
  sub.u64 %d3, %d2, %d1;
  st.global.u64 [%out+8], %d3;
$sleep:
  mov.u64 %d2, %globaltimer;
  sub.u64 %d3, %d2, %d1;
  setp.lt.u64 %p2, %d3, 1000000;
  @%p2 bra $sleep;
  st.release.gpu.global.u32 [%out], 1;
  ret;
$wait:
  mov.u32 %r2, 0;
$poll:
  ld.acquire.gpu.global.u32 %r1, [%out];
  setp.eq.u32 %p2, %r1, 1;
  @%p2 bra $end;
  add.u32 %r2, %r2, 1;
  rem.u32 %r2, %r2, 5;
  setp.ne.u32 %p2, %r2, 0;
  @%p2 bra $poll;
  mov.u64 %d2, %globaltimer;
  sub.u64 %d3, %d2, %d1;
  setp.lt.u64 %p2, %d3, 10000000;
  @%p2 bra $poll;
  st.global.u32 [%out+4], 2;
$end:
)",
                    .threads = 64,
                    .maximumSteps = forEver};
  for (std::optional<uint64_t> seed : {std::optional<uint64_t>(), std::optional<uint64_t>(3)}) {
    kernel.scheduleSeed = seed;
    const std::vector<uint32_t> out = output(kernel);
    CHECK(out[0] == 1);
    CHECK(out[1] == 0xDDDDDDDD);
    CHECK(out[2] == 0);
  }
}

TEST_CASE("a wait with a limit ends when nobody else can go on", "[polling]") {
  // Several warps whose loops have periods that differ.
  KernelText kernel{.body = R"(
  mov.u64 %d1, %globaltimer;
  shr.u32 %r3, %t, 5;
  add.u32 %r3, %r3, 3;
  mov.u32 %r2, 0;
$poll:
  ld.acquire.gpu.global.u32 %r1, [%out+1000];
  setp.eq.u32 %p2, %r1, 1;
  @%p2 bra $end;
  add.u32 %r2, %r2, 1;
  rem.u32 %r2, %r2, %r3;
  setp.ne.u32 %p2, %r2, 0;
  @%p2 bra $poll;
  mov.u64 %d2, %globaltimer;
  sub.u64 %d3, %d2, %d1;
  setp.lt.u64 %p2, %d3, 10000000000;
  @%p2 bra $poll;
  st.global.u32 [%mine], 2;
$end:
)",
                    .threads = 128,
                    .maximumSteps = forEver};
  checkAllGiveUp(kernel);
}

namespace {

/// Waits for a barrier of two arrivals, one of which comes, and looks at the clock after every third try.
const std::string waitForBarrier = R"(
  .shared .align 8 .b64 bar;
  setp.eq.u32 %p1, %t, 0;
  @%p1 mbarrier.init.shared.b64 [bar], 2;
  bar.sync 0;
  @%p1 mbarrier.arrive.shared.b64 _, [bar];
  mov.u64 %d1, %globaltimer;
  mov.u32 %r2, 0;
$try:
  mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0, 20000;
  @%p2 bra $end;
  add.u32 %r2, %r2, 1;
  rem.u32 %r2, %r2, 3;
  setp.ne.u32 %p2, %r2, 0;
  @%p2 bra $try;
  LOOK
  st.global.u32 [%mine], 2;
$end:
)";

std::string waitThatLooks(const std::string &look) {
  std::string text = waitForBarrier;
  return text.replace(text.find("LOOK"), 4, look);
}

} // namespace

TEST_CASE("a wait for an mbarrier with a limit ends when nobody else can go on", "[polling]") {
  KernelText kernel{.body = waitThatLooks(R"(
  mov.u64 %d2, %globaltimer;
  sub.u64 %d3, %d2, %d1;
  setp.lt.u64 %p2, %d3, 10000000000;
  @%p2 bra $try;)"),
                    .threads = 128,
                    .blocks = 2,
                    .maximumSteps = forEver};
  checkAllGiveUp(kernel);
}

TEST_CASE("a wait for an mbarrier that does not look at the clock is a deadlock", "[polling]") {
  CHECK_THAT(failure({.body = waitThatLooks("bra $try;"), .threads = 64, .maximumSteps = forEver}),
             Contains("deadlock in 'k'") &&
                 Contains("waits for the mbarrier at shared offset 0 to end phase 0"));
}

TEST_CASE("a loop that reads the clock without a limit is a deadlock at the end of time", "[polling]") {
  CHECK_THAT(failure({.body = R"(
$poll:
  mov.u64 %d1, %globaltimer;
  ld.acquire.gpu.global.u32 %r1, [%out];
  setp.ne.u32 %p1, %r1, 1;
  @%p1 bra $poll;
)",
                      .threads = 32,
                      .maximumSteps = forEver}),
             Contains("deadlock in 'k'"));
}

TEST_CASE("a block that waits for a later one is released", "[polling]") {
  const auto out = output({.body = R"(
  mov.u32 %r2, %ctaid.x;
  setp.eq.u32 %p1, %r2, 3;
  @%p1 bra $set;
$poll:
  ld.acquire.gpu.global.u32 %r1, [%out];
  setp.ne.u32 %p1, %r1, 1;
  @%p1 bra $poll;
  atom.global.add.u32 %r3, [%out+4], 1;
  ret;
$set:
  mov.u32 %r3, 0;
$work: // long enough for the others to repeat themselves
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p1, %r3, 2000000;
  @%p1 bra $work;
  mov.u32 %r4, 1;
  st.release.gpu.global.u32 [%out], %r4;
)",
                           .threads = 1,
                           .blocks = 4,
                           .maximumSteps = forEver});
  CHECK(out[0] == 1);
  CHECK(out[1] == 0xDDDDDDDD + 3);
}

TEST_CASE("a block that copies while it waits for a later one is released", "[polling]") {
  const std::vector<uint32_t> out = output({.body = R"(
  .shared .align 16 .b32 copied[4];
  mov.u32 %r1, %ctaid.x;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra $release;
$poll:
  cp.async.ca.shared.global [copied], [%in], 4;
  cp.async.wait_all;
  ld.acquire.gpu.global.u32 %r2, [%out];
  setp.ne.u32 %p2, %r2, 1;
  @%p2 bra $poll;
  bra $end;
$release:
  st.release.gpu.global.u32 [%out], 1;
$end:
)",
                                            .threads = 1,
                                            .blocks = 2,
                                            .in = {7}});
  CHECK(out[0] == 1);
}

TEST_CASE("lanes that poll leave the others of their warp their turns", "[polling]") {
  // Lane 0 sets the flag, at the end of the program; the others poll it, sleeping or not.
  for (const char *pause : {"nanosleep.u32 50;", ""}) {
    KernelText kernel{.body = fmt::format(R"(
  setp.eq.u32 %p1, %t, 0;
  @%p1 bra $set;
$poll:
  {}
  ld.volatile.global.u32 %r1, [%out];
  setp.ne.u32 %p2, %r1, 1;
  @%p2 bra $poll;
  ret;
$set:
  st.volatile.global.u32 [%out], 1;
)",
                                          pause),
                      .maximumSteps = forEver};
    INFO(pause);
    CHECK(output(kernel)[0] == 1);
    for (uint64_t seed = 0; seed < 9; ++seed) {
      INFO(seed);
      kernel.scheduleSeed = seed;
      CHECK(output(kernel)[0] == 1);
    }
  }
}

TEST_CASE("lanes that sleep while others of their warp wait for them for ever", "[polling]") {
  CHECK_THAT(failure({.body = R"(
  setp.eq.u32 %p1, %t, 0;
  @%p1 bra $end;
$poll:
  nanosleep.u32 50;
  ld.volatile.global.u32 %r1, [%out];
  setp.ne.u32 %p2, %r1, 1;
  @%p2 bra $poll;
$end:
  bar.warp.sync -1;
)",
                      .maximumSteps = forEver}),
             Contains("deadlock in 'k'"));
}

TEST_CASE("a host thread that has yet to wake up does not stand still", "[polling]") {
  tlc::emulator::Progress progress;
  progress.beginLaunch(2);
  for (int round = 0; round < 200; ++round) {
    const uint64_t version = progress.version();
    std::atomic<bool> begun = false, foundDead = false;
    std::thread other([&] {
      begun = true;
      foundDead = progress.isDeadlocked(version);
      progress.changed(); // as it goes on, it writes what this thread waits for
    });
    while (!begun)
      std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    progress.changed();
    CHECK_FALSE(progress.isDeadlocked(version + 1));
    other.join();
    CHECK_FALSE(foundDead);
  }
}
