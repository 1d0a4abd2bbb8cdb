// SPDX-License-Identifier: Apache-2.0
/// \file
/// The end of a block, before which all uses of its shared memory must be over,
/// and its beginning, which may come before the end of the launch before it.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

/// `bar` takes one arrival; %p1: thread 0, %p2: not block rank 0; %there: `s` of block rank 0.
const std::string prepare = R"(
    .shared .align 8 .b64 bar; .shared .align 128 .b8 s[1024];
    .reg .b64 %s, %bar, %at; .reg .b32 %rank, %there, %barThere;
    mov.b64 %s, s; mov.b64 %bar, bar; mad.wide.u32 %at, %t, 4, %s; mov.u32 %rank, %cluster_ctarank;
    setp.eq.u32 %p1, %t, 0; setp.ne.u32 %p2, %rank, 0;
    cvt.u32.u64 %r90, %s; mapa.shared::cluster.u32 %there, %r90, 0;
    cvt.u32.u64 %r91, %bar; mapa.shared::cluster.u32 %barThere, %r91, 0;
    @%p1 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
    bar.sync 0;
)";
const std::string meet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";
const std::string wait = "$wait: mbarrier.try_wait.parity.shared.b64 %p9, [bar], 0; @!%p9 bra $wait;\n";
/// Gives way to the other warps.
const std::string later = "nanosleep.u32 100; nanosleep.u32 100; nanosleep.u32 100; nanosleep.u32 100;\n";

} // namespace

TEST_CASE("a block does not end before its bulk copies have read shared memory") {
  const auto kernel = [](std::string_view sync) {
    return check({.body = prepare + R"(
    st.shared.b32 [%at], %t; fence.proxy.async; bar.sync 0;
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], 128;
    @%p1 cp.async.bulk.commit_group;
)" + std::string(sync)});
  };
  CHECK(kernel("@%p1 cp.async.bulk.wait_group.read 0;") == "");
  CHECK_THAT(
      kernel(""),
      Contains("the exit of the block is not ordered after the asynchronous read of shared offset 128 by "
               "'cp.async.bulk.global.shared::cta.bulk_group' at PTX line") &&
          Contains("missing: cp.async.bulk.wait_group.read in warp 0 ('ret' at PTX line"));
  CHECK_THAT(kernel("@%p1 cp.async.bulk.wait_group.read 1;"),
             Contains("missing: cp.async.bulk.wait_group.read"));
}

TEST_CASE("a block does not end before a load that it asked for has come") {
  const auto kernel = [](std::string_view sync) {
    return check({.body = prepare + R"(
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], 256, [%bar];
)" + std::string(sync),
                  .threads = 64});
  };
  CHECK(kernel(wait) == "");
  CHECK_THAT(kernel(""),
             Contains("the exit of the block is not ordered after the asynchronous write of shared "
                      "offset 128 by 'cp.async.bulk.shared::cluster") &&
                 Contains("missing: a wait for phase 0 of the mbarrier at shared offset 0"));
  // Also when the copy is over by then.
  CHECK_THAT(kernel(later + later + later), Contains("the exit of the block is not ordered after"));
  // One warp that waits is enough.
  CHECK(kernel("setp.lt.u32 %p3, %t, 32; @%p3 bra $end;" + wait + "$end:") == "");
}

TEST_CASE("a block does not end before cp.async of its threads") {
  const auto kernel = [](std::string_view sync) {
    return check({.body = prepare +
                          "mad.wide.u32 %d2, %t, 4, %in; cp.async.ca.shared.global [%at], [%d2], 4;" +
                          std::string(sync)});
  };
  CHECK(kernel("cp.async.wait_all;") == "");
  CHECK_THAT(kernel(""), Contains("the exit of the block is not ordered after the asynchronous write") &&
                             Contains("missing: cp.async.wait_group in warp 0"));
}

TEST_CASE("a block does not end while another of its cluster reads its shared memory") {
  const auto kernel = [](const std::string &end, const std::string &before = "") {
    return check({.body = prepare + "st.shared.b32 [%at], %t;" + meet + "@!%p2 bra $end;" + before +
                          "ld.shared::cluster.b32 %r1, [%there];\n$end:" + end,
                  .blocks = 2,
                  .cluster = 2});
  };
  CHECK(kernel(meet) == "");
  const std::string words =
      "the exit of the block is not ordered after the read of shared offset 128 of block rank 0 "
      "by 'ld.shared::cluster.b32' at PTX line";
  CHECK_THAT(kernel(""),
             Contains(words) && Contains("missing: a barrier or mbarrier at which warp 0 of block rank "
                                         "0 waits for warp 0 of block rank 1"));
  // Whether the block has left already, or leaves later.
  CHECK_THAT(kernel("", later + later), Contains(words));
  CHECK_THAT(kernel("@%p2 bra $out;" + later + later + "$out:"), Contains(words));
  // A meeting that orders nothing.
  CHECK_THAT(kernel("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;"),
             Contains(words));
}

TEST_CASE("a block does not end before the last arrival at its mbarrier from another") {
  const auto kernel = [](const std::string &end) {
    return check({.body = prepare + meet +
                          "@!%p2 bra $first; @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, "
                          "[%barThere]; bra $end; $first:\n" +
                          end + "$end:",
                  .blocks = 2,
                  .cluster = 2});
  };
  CHECK(kernel(wait) == "");
  CHECK_THAT(kernel(""),
             Contains("the exit of the block is not ordered after the use as an mbarrier of shared offset 0 "
                      "of block rank 0 by 'mbarrier.arrive"));
}

TEST_CASE("a launch that may begin early touches global memory after griddepcontrol.wait") {
  const auto kernel = [](std::string_view before, bool ordered = true) {
    return check({.body = prepare + std::string(before) + "ld.global.b32 %r1, [%in];",
                  .threads = 64,
                  .ordered = ordered});
  };
  CHECK(kernel("griddepcontrol.wait;") == "");
  CHECK(kernel("", false) == "");
  CHECK_THAT(kernel(""), Contains("read of offset 0 of the allocation of 4096 bytes at") &&
                             Contains("which the launch before this one may still access; missing: "
                                      "griddepcontrol.wait before it ('ld.global.b32' at PTX line"));
  CHECK_THAT(kernel("griddepcontrol.launch_dependents;"), Contains("missing: griddepcontrol.wait"));
  // One thread waits for all, with a barrier after it, or for itself.
  CHECK(kernel("@%p1 griddepcontrol.wait; bar.sync 0;") == "");
  CHECK_THAT(kernel("bar.sync 0; @%p1 griddepcontrol.wait;"), Contains("missing: griddepcontrol.wait"));
}

TEST_CASE("so do the copies of a launch that may begin early") {
  const auto kernel = [](std::string_view before) {
    return check({.body = prepare + std::string(before) + R"(
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], 256, [%bar];
)" + wait + "griddepcontrol.wait;",
                  .ordered = true});
  };
  CHECK(kernel("griddepcontrol.wait;") == "");
  CHECK_THAT(kernel(""),
             Contains("asynchronous read of offset 0") && Contains("missing: griddepcontrol.wait"));
}
