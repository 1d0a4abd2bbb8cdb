// SPDX-License-Identifier: Apache-2.0
/// \file
/// The checker on copies of lanes and of whole warps: who has waited for a
/// cp.async passes it on as its own, and copies that all lanes issue alike.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

/// %at, %from: of the thread's word; %next: of that of another thread of the warp, %far: of another warp;
/// %p1: thread 0, %p2: not warp 0.
const std::string prepare = R"(
    .shared .align 8 .b64 bar; .shared .align 128 .b8 s[4096]; .reg .b64 %s, %bar, %at, %from, %next, %far; .reg .b32 %x;
    mov.b64 %s, s; mov.b64 %bar, bar; mad.wide.u32 %at, %t, 4, %s; mad.wide.u32 %from, %t, 4, %in;
    xor.b32 %x, %t, 31; mad.wide.u32 %next, %x, 4, %s; xor.b32 %x, %t, 32; mad.wide.u32 %far, %x, 4, %s;
    setp.eq.u32 %p1, %t, 0; setp.gt.u32 %p2, %t, 31;
)";
const std::string copy = "cp.async.ca.shared.global [%at], [%from], 4;\n", waitAll = "cp.async.wait_all;\n",
                  meet = "bar.sync 0;\n", fence = "fence.proxy.async.shared::cta;\n";
/// By one thread.
const std::string store = R"(
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], 128;
    @%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;
)";

std::string found(const std::string &text, uint32_t threads = 32) {
  return check({.body = prepare + text, .threads = threads});
}

} // namespace

TEST_CASE("a proxy fence after a wait covers the lane's own cp.async") {
  CHECK(found(copy + waitAll + fence + meet + store) == "");
  CHECK(found(copy + "cp.async.commit_group; cp.async.wait_group 0;" + fence + meet + store) == "");
  CHECK(found(copy + waitAll + meet + fence + store) == "");
  CHECK(found(copy + waitAll + fence + "bar.warp.sync -1;" + store) == "");
  CHECK_THAT(found(copy + waitAll + meet + store), Contains("proxy race between the asynchronous read"));
  // Before the wait, and for the copies of one lane alone.
  CHECK_THAT(found(copy + fence + waitAll + meet + store), Contains("proxy race"));
  CHECK_THAT(
      found(copy + "cp.async.commit_group; cp.async.wait_group 1;" + fence + meet + waitAll + meet + store),
      Contains("proxy race"));
  CHECK_THAT(found(copy + waitAll + "@%p1 " + fence + meet + store), Contains("proxy race"));
  CHECK_THAT(found(copy + waitAll + fence + store), Contains("bar.warp.sync in warp 0 between them"));
  CHECK_THAT(found(copy + waitAll + "fence.proxy.async.global;" + meet + store), Contains("proxy race"));
}

TEST_CASE("a lane passes on the cp.async that it has waited for, not those of others") {
  const std::string readNext = "ld.shared.b32 %r1, [%next];", own = "@%p1 ";
  CHECK(found(copy + waitAll + meet + readNext) == "");
  // One copies and waits, and all read.
  const std::string readFirst = "ld.shared.b32 %r1, [%s];";
  CHECK(found(own + copy + own + waitAll + "bar.warp.sync -1;" + readFirst) == "");
  CHECK(found(own + copy + own + waitAll + meet + readFirst, 64) == "");
  CHECK(found(own + copy + own + waitAll + "bar.warp.sync -1;" + own + copy + own + waitAll + readFirst) !=
        "");
  // All copy, one waits.
  CHECK_THAT(found(copy + own + waitAll + meet + readNext + waitAll),
             Contains("race") && Contains("cp.async.wait_group in warp 0"));
  CHECK_THAT(found(copy + own + waitAll + meet + "ld.shared.b32 %r1, [%far];" + waitAll, 64),
             Contains("race") && Contains("cp.async.wait_group in warp"));
  // By a fence and a relaxed write.
  const auto flag = [](const std::string &first) {
    return found("mov.b32 %r5, 0; @%p1 st.shared.b32 [%s+1024], 0;" + meet + "@%p2 bra $second;\n" + first +
                     "@%p1 st.relaxed.cta.shared.b32 [%s+1024], 1; bra $end;\n$second:\n"
                     "ld.relaxed.cta.shared.b32 %r5, [%s+1024]; setp.eq.u32 %p3, %r5, 0; @%p3 bra $second;"
                     "fence.acq_rel.cta; ld.shared.b32 %r1, [%far];\n$end:",
                 64);
  };
  CHECK(flag(copy + waitAll + "bar.warp.sync -1; fence.acq_rel.cta;") == "");
  CHECK_THAT(flag(copy + waitAll + "fence.acq_rel.cta;"), Contains("race between the read of shared offset"));
}

TEST_CASE("where the wait for a cp.async stands, only the order after it is missing") {
  const std::string read = "ld.shared.b32 %r1, [%next];", far = "ld.shared.b32 %r1, [%far];";
  const auto misses = [](const std::string &text, const std::string &what, uint32_t threads = 32) {
    const std::string message = found(text, threads);
    CHECK_THAT(message, Contains("race between the ") && Contains(what) && !Contains("wait_group") &&
                            !Contains("nothing has written"));
  };
  misses(copy + waitAll + read, "missing: bar.warp.sync in warp 0 between them");
  misses(copy + "cp.async.commit_group; cp.async.wait_group 0;" + read,
         "missing: bar.warp.sync in warp 0 between them");
  misses(copy + waitAll + far, "a barrier or mbarrier at which warp ", 64);
  misses(copy + waitAll + "@!%p2 bra $late;\n bra $end;\n$late: nanosleep.u32 100; nanosleep.u32 100;" + far +
             "$end:",
         "missing: a barrier or mbarrier at which warp 0 waits for warp 1", 64);
  // Where it is missing, it is named.
  CHECK_THAT(found(copy + meet + read + waitAll), Contains("cp.async.wait_group in warp 0"));
  CHECK_THAT(found(copy + meet + far + waitAll, 64), Contains("cp.async.wait_group in warp"));
}

namespace {

/// Words of a warp, which all of its lanes store.
const std::string whole = "st.shared.b32 [%at], %t;" + fence + meet;
std::string bulkStore(std::string_view to, std::string_view from = "%s") {
  return fmt::format("cp.async.bulk.global.shared::cta.bulk_group [{}], [{}], 128;\n", to, from);
}
const std::string commit = "cp.async.bulk.commit_group;\n", waitBulk = "cp.async.bulk.wait_group 0;\n";

} // namespace

TEST_CASE("lanes that part commit and wait for themselves") {
  const std::string readNext = "bar.warp.sync -1; ld.shared.b32 %r1, [%next];";
  const auto parted = [](const std::string &byOthers, const std::string &byFirst) {
    return "@%p1 bra $first;\n" + byOthers + "bra $end;\n$first:\n" + byFirst + "$end:\n";
  };
  const std::string commit = "cp.async.commit_group;\n", wait = "cp.async.wait_group 0;\n",
                    waitButOne = "cp.async.wait_group 1;\n";
  CHECK(found(copy + commit + parted(wait, wait) + readNext) == "");
  CHECK(found(copy + parted(commit + wait, commit + wait) + readNext) == "");
  CHECK(found(copy + parted(commit + commit + waitButOne, commit + wait) + readNext) == "");
  CHECK_THAT(found(copy + parted(commit + commit + waitButOne, commit + waitButOne) + readNext + wait),
             Contains("race") && Contains("cp.async.wait_group in warp 0"));
  CHECK_THAT(found(copy + parted(commit + wait, commit) + readNext + wait),
             Contains("race") && Contains("cp.async.wait_group in warp 0"));
}

TEST_CASE("lanes that issue a copy together know what each of them has waited for") {
  // Odd lanes of warp 0 overwrite what warp 1 has read, even ones copy to where nobody looks.
  const std::string start = R"(
    @%p1 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; st.shared.b32 [%at], %t; bar.sync 0;
    and.b32 %x, %t, 1; setp.eq.u32 %p3, %x, 1; setp.eq.u32 %p9, %x, 0; add.u64 %d1, %at, 2048; selp.b64 %d1, %at, %d1, %p3;
    @%p2 bra $read;
)",
                    copyAndRead = R"(
    cp.async.ca.shared.global [%d1], [%from], 4; cp.async.wait_all;
    bra $end;
  $read:
    @%p3 ld.shared.b32 %r1, [%far]; bar.warp.sync -1; setp.eq.u32 %p4, %t, 32;
    @%p4 mbarrier.arrive.shared.b64 _, [bar];
  $end:
)";
  CHECK(found(start + "$wait: @%p3 mbarrier.try_wait.parity.shared.b64 %p9, [bar], 0; @!%p9 bra $wait;" +
                  copyAndRead,
              64) == "");
  CHECK_THAT(found(start + copyAndRead, 64), Contains("race between"));
}

TEST_CASE("lanes of a warp may issue one copy all alike") {
  CHECK(found(whole + bulkStore("%out") + commit + waitBulk) == "");
  CHECK(found(whole + bulkStore("%out") + commit + waitBulk + meet + "ld.global.b32 %r1, [%mine];") == "");
  CHECK(found("setp.lt.u32 %p3, %t, 8;" + whole + "@%p3 " + bulkStore("%out") + commit + waitBulk) == "");
  const std::string load =
      "@%p1 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;" + meet +
      "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 4096;"
      "bar.warp.sync -1;"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [{}], 128, [%bar];"
      "$wait: mbarrier.try_wait.parity.shared.b64 %p9, [bar], 0; @!%p9 bra $wait;"
      "ld.shared.b32 %r1, [%at];";
  CHECK(found(fmt::format(fmt::runtime(load), "%in")) == "");
  // From places of their own to the same one.
  CHECK_THAT(found("mad.wide.u32 %d1, %t, 16, %in;" + fmt::format(fmt::runtime(load), "%d1")),
             Contains("race between the asynchronous write of shared offset"));
}

TEST_CASE("copies of a warp that differ, or that nobody waits for, race as any others") {
  // To one place from several, or to places that overlap.
  CHECK_THAT(found("mad.wide.u32 %d1, %t, 16, %s; st.shared.v4.b32 [%d1], {%t, %t, %t, %t};"
                   "st.shared.v4.b32 [%d1+512], {%t, %t, %t, %t};" +
                   fence + meet + bulkStore("%out", "%d1") + commit + waitBulk),
             Contains("race between the asynchronous write of offset") &&
                 Contains("and the asynchronous write by 'cp.async.bulk.global.shared::cta.bulk_group'"));
  CHECK_THAT(found(whole + "shr.u32 %r3, %t, 4; mad.wide.u32 %d1, %r3, 16, %out;" + bulkStore("%d1") +
                   commit + waitBulk),
             Contains("race between the asynchronous write of offset"));
  // Another execution, and another instruction.
  CHECK_THAT(found(whole + "mov.b32 %r3, 0;\n$again:\n" + bulkStore("%out") + commit +
                   "add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 2; @%p3 bra $again;" + waitBulk),
             Contains("race between the asynchronous write of offset"));
  CHECK_THAT(found(whole + bulkStore("%out") + bulkStore("%out") + commit + waitBulk),
             Contains("race between the asynchronous write of offset"));
  // Two warps.
  CHECK_THAT(found(whole + bulkStore("%out") + commit + waitBulk, 64),
             Contains("race between the asynchronous write of offset"));
  // What the copies read and write is free after waits alone, those of all lanes.
  CHECK_THAT(found(whole + bulkStore("%out") + commit + "st.shared.b32 [%at], 0;" + waitBulk),
             Contains("missing: cp.async.bulk.wait_group.read in warp 0"));
  CHECK_THAT(found(whole + bulkStore("%out") + commit + "@%p1 " + waitBulk + meet +
                   "st.shared.b32 [%at], 0;" + waitBulk),
             Contains("missing: cp.async.bulk.wait_group.read in warp 0"));
  CHECK_THAT(found(whole + bulkStore("%out") + commit + "ld.global.b32 %r1, [%mine];" + waitBulk),
             Contains("missing: cp.async.bulk.wait_group in warp 0"));
  CHECK_THAT(found("st.shared.b32 [%at], %t;" + meet + bulkStore("%out") + commit + waitBulk),
             Contains("proxy race"));
}
