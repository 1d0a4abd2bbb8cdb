// SPDX-License-Identifier: Apache-2.0
/// \file
/// The checker inside a warp: lanes are threads of their own, which only
/// bar.warp.sync and the barriers of whole warps order.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

/// `bar` takes one arrival, `bar2` 64; %at is the address of the thread's word
/// of `s`, %next that of its neighbour's; %p1: thread 0, %p2: not warp 0, %p3:
/// lane 0.
const std::string prepare = R"(
    .shared .align 8 .b64 bar; .shared .align 8 .b64 bar2;
    .shared .align 1024 .b8 s[8192];
    .reg .b64 %s, %at, %next; .reg .b32 %warp, %lane;
    mov.b64 %s, s; mad.wide.u32 %at, %t, 4, %s; shr.u32 %warp, %t, 5; and.b32 %lane, %t, 31;
    xor.b32 %r1, %t, 1; mad.wide.u32 %next, %r1, 4, %s;
    setp.eq.u32 %p1, %t, 0; setp.ne.u32 %p2, %warp, 0; setp.eq.u32 %p3, %lane, 0;
    @%p1 mbarrier.init.shared.b64 [bar], 1; @%p1 mbarrier.init.shared.b64 [bar2], 64;
    fence.mbarrier_init.release.cluster;
    bar.sync 0;
)";

const std::string writeOwn = "st.shared.b32 [%at], %t;\n", readNext = "ld.shared.b32 %r2, [%next];\n",
                  wait = "$wait: mbarrier.try_wait.parity.shared.b64 %p9, [bar], 0; @!%p9 bra $wait;\n";

const std::string missingSync = "missing: bar.warp.sync in warp 0 between them";

} // namespace

TEST_CASE("lanes of a warp are ordered by bar.warp.sync") {
  CHECK_THAT(check({.body = prepare + writeOwn + readNext}),
             Contains("race between the read of shared offset 1028 and the write by 'st.shared.b32'") &&
                 Contains("warp 0, lane 1)") && Contains(missingSync) && Contains("warp 0, lane 0)"));
  CHECK(check({.body = prepare + writeOwn + "bar.warp.sync 0xffffffff;" + readNext}) == "");
  // The write after the read of the other lane.
  const std::string again = prepare + writeOwn + "bar.warp.sync -1;" + readNext;
  CHECK_THAT(check({.body = again + writeOwn}),
             Contains("and the read by 'ld.shared.b32'") && Contains(missingSync));
  CHECK(check({.body = again + "bar.warp.sync -1;" + writeOwn}) == "");
  // What a lane wrote itself it may read.
  CHECK(check({.body = prepare + writeOwn + "ld.shared.b32 %r2, [%at];" + writeOwn}) == "");
}

TEST_CASE("barriers of the block order lanes, what else meets does not") {
  CHECK(check({.body = prepare + writeOwn + "bar.sync 0;" + readNext}) == "");
  CHECK(check({.body = prepare + writeOwn + "barrier.sync 1, 32;" + readNext}) == "");
  CHECK(check({.body = prepare + writeOwn + "bar.red.popc.u32 %r3, 0, %p1;" + readNext}) == "");
  for (const char *meeting : {"shfl.sync.bfly.b32 %r3, %t, 1, 31, -1;", "vote.sync.any.pred %p5, %p1, -1;",
                              "match.any.sync.b32 %r3, %t, -1;", "redux.sync.add.s32 %r3, %t, -1;",
                              "elect.sync %r3|%p5, -1;", "bar.arrive 1, 64;"}) {
    INFO(meeting);
    CHECK_THAT(check({.body = prepare + writeOwn + meeting + readNext +
                              (std::string_view(meeting).starts_with("bar") ? "bar.arrive 1, 64;" : "")}),
               Contains(missingSync));
  }
}

TEST_CASE("bar.warp.sync orders the lanes of its mask") {
  const std::string half = R"(
    setp.lt.u32 %p4, %lane, 16; @!%p4 bra $upper;
)";
  CHECK(check({.body = prepare + half + writeOwn + "bar.warp.sync 0xffff;" + readNext + "$upper:"}) == "");
  // Lanes 16 to 31 do not take part, and read what the others wrote.
  const std::string across = prepare + half + writeOwn + R"(
    bar.warp.sync 0xffff;
  $upper:
    SYNC
    xor.b32 %r3, %t, 16; mad.wide.u32 %d1, %r3, 4, %s; @!%p4 ld.shared.b32 %r2, [%d1];
)";
  const auto with = [&](std::string_view sync) {
    std::string body = across;
    return check({.body = body.replace(body.find("SYNC"), 4, sync)});
  };
  CHECK_THAT(with(""), Contains(missingSync));
  CHECK(with("bar.warp.sync -1;") == "");
}

TEST_CASE("lanes that have read the same are ordered by a bar.warp.sync of them") {
  // Lanes of each half read the first word of their half, and its first lane writes it again.
  const auto kernel = [](const std::string &mask) {
    return check({.body = prepare +
                          "and.b32 %r3, %t, 16; mad.wide.u32 %d1, %r3, 4, %s; setp.eq.u32 %p5, %t, %r3;"
                          "setp.lt.u32 %p4, %lane, 16; selp.b32 %r4, 0xFFFF, 0xFFFF0000, %p4;" +
                          writeOwn + "bar.warp.sync %r4; ld.shared.b32 %r2, [%d1];" +
                          "and.b32 %r5, %t, 1; setp.eq.u32 %p6, %r5, 0; @%p6 ld.shared.b32 %r6, [%d1];" +
                          "bar.warp.sync " + mask + "; @%p5 st.shared.b32 [%d1], %t;"});
  };
  CHECK(kernel("%r4") == "");
  CHECK(kernel("-1") == "");
  // Pairs only.
  CHECK_THAT(check({.body = prepare + "and.b32 %r8, %t, 30; shl.b32 %r7, 3, %r8;" + writeOwn +
                            "bar.warp.sync -1; ld.shared.b32 %r2, [%s]; bar.warp.sync %r7;"
                            "@%p1 st.shared.b32 [%s], %t;"}),
             Contains("and the read by 'ld.shared.b32'") && Contains("missing: bar.warp.sync in warp 0"));
}

TEST_CASE("a lane that arrives for its warp comes after bar.warp.sync") {
  const auto kernel = [&](std::string_view sync) {
    return KernelText{.body = prepare + "@%p2 bra $second;\n" + writeOwn + std::string(sync) + R"(
    @%p3 mbarrier.arrive.shared.b64 _, [bar];
    bra $end;
  $second:
)" + wait + "ld.shared.b32 %r2, [%at+-128];\n$end:",
                      .threads = 64};
  };
  CHECK_THAT(check(kernel("")), Contains("a barrier or mbarrier at which warp 1 waits for warp 0"));
  CHECK(check(kernel("bar.warp.sync -1;")) == "");
  // All lanes arrive, each for itself.
  CHECK(
      check({.body = prepare + "@%p1 mbarrier.init.shared.b64 [s+4096], 32; bar.sync 0; @%p2 bra $second;\n" +
                     writeOwn + R"(
    mbarrier.arrive.shared.b64 _, [s+4096];
    bra $end;
  $second:
  $wait: mbarrier.try_wait.parity.shared.b64 %p9, [s+4096], 0; @!%p9 bra $wait;
    ld.shared.b32 %r2, [%at+-128];
  $end:
)",
             .threads = 64}) == "");
}

TEST_CASE("what one lane waited for, the others know after bar.warp.sync") {
  const auto kernel = [&](std::string_view sync) {
    return KernelText{.body = prepare + "@%p2 bra $second;\n" + writeOwn + R"(
    bar.warp.sync -1;
    @%p3 mbarrier.arrive.shared.b64 _, [bar];
    bra $end;
  $second:
    @!%p3 bra $together;
)" + wait + "$together:\n" + std::string(sync) +
                              "ld.shared.b32 %r2, [%at+-128];\n$end:",
                      .threads = 64};
  };
  CHECK_THAT(check(kernel("nanosleep.u32 1; nanosleep.u32 1; nanosleep.u32 1;")),
             Contains("which nothing has written") || Contains("warp 1 waits for warp 0"));
  CHECK(check(kernel("bar.warp.sync -1;")) == "");
}

TEST_CASE("a lane that copies what its warp wrote comes after fences and bar.warp.sync of all") {
  const auto kernel = [&](std::string_view before) {
    return KernelText{.body = prepare + writeOwn + std::string(before) + R"(
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], 128;
    @%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;
)"};
  };
  CHECK(check(kernel("fence.proxy.async; bar.warp.sync -1;")) == "");
  CHECK(check(kernel("bar.warp.sync -1; fence.proxy.async;")) == "");
  CHECK(check(kernel("bar.warp.sync -1; @%p1 fence.proxy.async;")) == "");
  CHECK_THAT(check(kernel("fence.proxy.async;")), Contains(missingSync));
  CHECK_THAT(check(kernel("bar.warp.sync -1;")), Contains("proxy race"));
  // Only the lane that copies has a fence, and that before the warp has come together.
  CHECK_THAT(check(kernel("@%p1 fence.proxy.async; bar.warp.sync -1;")), Contains("proxy race"));
}

TEST_CASE("a lane knows its own cp.async, and those of others after bar.warp.sync") {
  const std::string copy = prepare + R"(
    mad.wide.u32 %d2, %t, 4, %in; cp.async.ca.shared.global [%at], [%d2], 4; cp.async.wait_all;
)";
  CHECK(check({.body = copy + "ld.shared.b32 %r2, [%at];"}) == "");
  CHECK_THAT(check({.body = copy + readNext}), Contains("missing: bar.warp.sync in warp 0 between them"));
  CHECK(check({.body = copy + "bar.warp.sync -1;" + readNext}) == "");
}

TEST_CASE("lanes that write one place by one instruction write the same") {
  CHECK_THAT(
      check({.body = prepare + "st.shared.b32 [s+8], %t;"}),
      Contains("lanes 0 and 1 write different values to shared offset 1032; no barrier helps; make the "
               "positions distinct, or use an atomic access (atomicAdd)"));
  CHECK(check({.body = prepare + "st.shared.b32 [s+8], 7; ld.shared.b32 %r2, [s+8];"}) == "");
  CHECK_THAT(check({.body = prepare + "mov.b32 %r3, 0; @%p3 mov.b32 %r3, 1; shr.u32 %r4, %t, 4; "
                                      "mad.wide.u32 %d1, %r4, 4, %s; st.shared.b32 [%d1], %r3;"}),
             Contains("lanes 0 and 1 write different values to shared offset 1024"));
}

TEST_CASE("in global memory, too") {
  for (const char *store : {"st.global.b32", "st.b32"}) {
    INFO(store);
    const auto kernel = [&](const std::string &text) {
      return check({.body = prepare + text + store + " [%d1], %r3;"});
    };
    CHECK_THAT(kernel("mov.b64 %d1, %out; mov.b32 %r3, %t;"),
               Contains("lanes 0 and 1 write different values to offset 0 of the allocation of 1024 bytes"));
    CHECK_THAT(kernel("shr.u32 %r3, %t, 1; mad.wide.u32 %d1, %r3, 4, %out; mov.b32 %r3, %t;"),
               Contains("lanes 0 and 1 write different values to offset 0 of the allocation"));
    CHECK(kernel("mov.b64 %d1, %out; mov.b32 %r3, 7;") == "");
    CHECK(kernel("mov.b64 %d1, %mine; mov.b32 %r3, %t;") == "");
  }
  // Words that overlap in part.
  CHECK_THAT(check({.body = prepare + "mad.wide.u32 %d1, %t, 4, %out; shl.b32 %r3, %t, 1;"
                                      "@%p1 st.global.v2.b32 [%out], {%r3, %r3}; bar.warp.sync -1;"
                                      "and.b64 %d1, %d1, -8; st.global.v2.b32 [%d1], {%t, 3};"}),
             Contains("lanes 0 and 1 write different values to offset 0"));
  // Where each lane has an answer of its own, an exchange says which one counts.
  CHECK(check({.body = prepare + "atom.global.exch.b32 %r3, [%out], %t;"}) == "");
  for (const char *store : {"st.relaxed.gpu.global.b32", "st.volatile.global.b32"})
    CHECK(check({.body = prepare + store + " [%out], %t;"}) == "");
  // Local memory at one address is each lane's own.
  CHECK(
      check({.body = prepare + ".local .align 4 .b8 l[8]; .reg .b64 %l; mov.b64 %l, l; cvta.local.u64 %l, %l;"
                               "st.global.b32 [%out], 7; st.b32 [%l], %t; ld.b32 %r3, [%l];"}) == "");
}

TEST_CASE("matrices are loaded after bar.warp.sync") {
  const std::string load =
      "mad.wide.u32 %d1, %lane, 16, %s; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%d1];";
  const std::string fill =
      prepare + "mad.wide.u32 %d2, %lane, 16, %s; st.shared.v4.b32 [%d2], {%t, %t, %t, %t};";
  CHECK_THAT(check({.body = fill + load}), Contains(missingSync));
  CHECK(check({.body = fill + "bar.warp.sync -1;" + load}) == "");
}

TEST_CASE("ldmatrix and stmatrix of a warp come one after the other") {
  const std::string fill =
      prepare + "mad.wide.u32 %d2, %lane, 16, %s; st.shared.v4.b32 [%d2], {%t, %t, %t, %t};";
  const std::string load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r5, %r6, %r7, %r8}, [%d2];",
                    store = "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%d2], {%r5, %r6, %r7, %r8};",
                    sync = "bar.warp.sync -1;",
                    set = "mov.b32 %r5, 0; mov.b32 %r6, 0; mov.b32 %r7, 0; mov.b32 %r8, 0;";
  CHECK(check({.body = fill + sync + load + store}) == "");
  CHECK(check({.body = fill + sync + load + store + load + store + sync + readNext}) == "");
  CHECK(check({.body = prepare + set + "mad.wide.u32 %d2, %lane, 16, %s;" + store + load}) == "");
  // Ordinary accesses on either side are not, whatever lane makes them.
  CHECK_THAT(check({.body = fill + load}), Contains(missingSync));
  CHECK_THAT(check({.body = fill + set + store}), Contains(missingSync));
  CHECK_THAT(check({.body = fill + sync + load + store + readNext}), Contains(missingSync));
  CHECK_THAT(check({.body = fill + sync + load + writeOwn}), Contains(missingSync));
  CHECK_THAT(check({.body = fill + sync + readNext + load + store}),
             Contains("and the read by 'ld.shared.b32'") && Contains(missingSync));
  CHECK_THAT(check({.body = fill + sync + load + readNext + store}),
             Contains("and the read by 'ld.shared.b32'") && Contains(missingSync));
  CHECK_THAT(check({.body = fill + sync + load + "shfl.sync.bfly.b32 %r3, %r5, 1, 31, -1;" + writeOwn}),
             Contains(missingSync));
  // Of two warps they are not, either.
  CHECK_THAT(check({.body = fill + "bar.sync 0;\n" + load + "\n" + store, .threads = 64}),
             Contains("the write by 'stmatrix.") && (Contains("at which warp 1 waits for warp 0") ||
                                                     Contains("at which warp 0 waits for warp 1")));
  // What a copy reads needs its fence.
  const std::string copy = "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], 512;"
                           "@%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;";
  CHECK(check({.body = fill + sync + load + store + "fence.proxy.async;" + sync + copy}) == "");
  CHECK_THAT(check({.body = fill + "fence.proxy.async;" + sync + load + store + sync + copy}),
             Contains("proxy race") && Contains("stmatrix"));
  // Lanes may have theirs in different instructions, but each needs one.
  const std::string first = "@%p1 fence.proxy.async;", others = "@!%p1 fence.proxy.async;";
  CHECK(check({.body = fill + sync + load + store + first + others + sync + copy}) == "");
  for (const std::string &some : {first, others})
    CHECK_THAT(check({.body = fill + sync + load + store + some + sync + copy}),
               Contains("proxy race") && Contains("stmatrix"));
}
