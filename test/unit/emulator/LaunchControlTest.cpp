// SPDX-License-Identifier: Apache-2.0
/// \file
/// clusterlaunchcontrol: who gets which cluster, and what the checker finds.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

const std::string request = R"(
    @%p1 mbarrier.arrive.expect_tx.relaxed.cta.shared::cta.b64 _, [bar], 16;
    @%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [answer], [bar];
)";
const std::string awaited = R"(
  $wait: mbarrier.try_wait.parity.shared::cta.b64 %p9, [bar], %r9; @!%p9 bra $wait;
    xor.b32 %r9, %r9, 1;
)";
const std::string query = R"(
    ld.shared.b128 %answer, [answer];
    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %answer;
    @!%p2 bra $end;
    clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r1, %r2, %r3, _}, %answer;
)";
const std::string fence = R"(
    bar.sync 0;
    @%p1 fence.proxy.async.shared::cta;
)";

/// Each block does the work of its own number, then of those that it cancels: it counts in out[number], and
/// in out[64 + its own number].
KernelText stealing(const std::string &ask, const std::string &wait, const std::string &read,
                    const std::string &order) {
  return {.body = R"(
    .shared .align 8 .b64 bar;
    .shared .align 16 .b8 answer[16];
    .reg .b128 %answer;
    mov.u32 %r10, %ctaid.x; mov.b32 %r1, %r10; mov.b32 %r9, 0;
    setp.eq.u32 %p1, %t, 0;
    @%p1 mbarrier.init.shared::cta.b64 [bar], 1;
    bar.sync 0;
  $next:
)" + ask + R"(
    mad.wide.u32 %d1, %r1, 4, %out; @%p1 red.relaxed.gpu.global.add.u32 [%d1], 1;
    mad.wide.u32 %d2, %r10, 4, %out; @%p1 red.relaxed.gpu.global.add.u32 [%d2+256], 1;
)" + wait + read + order +
                  R"(
    bra $next;
  $end:
)",
          .target = "sm_100a",
          .threads = 64,
          .blocks = 20};
}

KernelText stealing() { return stealing(request, awaited, query, fence); }

constexpr uint32_t poison = 0xDDDDDDDD; // what `out` holds at first

} // namespace

TEST_CASE("every cluster runs once, or is canceled by one block") {
  for (int multiprocessors : {1, 2, 3})
    for (uint64_t seed = 0; seed < 9; ++seed) {
      CAPTURE(multiprocessors, seed);
      KernelText kernel = stealing();
      kernel.multiprocessors = multiprocessors;
      kernel.directives = ".minnctapersm 1";
      kernel.sharedBytes = 200 << 10; // one block for each multiprocessor
      kernel.raceCheck = RaceCheck::strict;
      kernel.scheduleSeed = seed;
      const Outcome outcome = run(kernel);
      INFO((outcome.status ? "" : outcome.status.error().message));
      REQUIRE(outcome.status);
      CHECK(outcome.findings.empty());
      uint32_t working = 0, done = 0;
      for (uint32_t i = 0; i < kernel.blocks; ++i) {
        CHECK(outcome.out[i] - poison == 1);
        done += outcome.out[64 + i] - poison;
        working += outcome.out[64 + i] != poison;
      }
      CHECK(done == kernel.blocks);
      // Blocks that have started are no longer to be canceled: one for each multiprocessor, and what found
      // room when others had ended.
      CHECK(working >= uint32_t(multiprocessors));
      CHECK(working < kernel.blocks);
    }
}

TEST_CASE("a canceled cluster is given by its first block, to all blocks of the one that asks") {
  // Blocks of two; the first of each cluster asks, both read their own copy.
  const auto out = output({.body = R"(
    .shared .align 8 .b64 bar;
    .shared .align 16 .b8 answer[16];
    .reg .b128 %answer;
    mov.u32 %r10, %ctaid.x; mov.u32 %r11, %cluster_ctarank; mov.b32 %r1, %r10; mov.b32 %r9, 0;
    setp.eq.u32 %p1, %t, 0; setp.eq.and.u32 %p3, %r11, 0, %p1;
    @%p1 mbarrier.init.shared::cta.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
  $next:
    mad.wide.u32 %d1, %r1, 4, %out; @%p1 red.relaxed.gpu.global.add.u32 [%d1], 1;
    @%p1 fence.proxy.async.shared::cta;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    @%p1 mbarrier.arrive.expect_tx.relaxed.cta.shared::cta.b64 _, [bar], 16;
    @%p3 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [answer], [bar];
)" + awaited + R"(
    ld.shared.b128 %answer, [answer];
    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %answer;
    @!%p2 bra $end;
    clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r1, %answer;
    add.u32 %r1, %r1, %r11;
    bra $next;
  $end:
)",
                           .target = "sm_100a",
                           .blocks = 12,
                           .cluster = 2,
                           .multiprocessors = 4});
  for (uint32_t i = 0; i < 12; ++i)
    CHECK(out[i] - poison == 1);
}

TEST_CASE("a request after one that is known to have failed is an error") {
  CHECK_THAT(failure(stealing(request, awaited, R"(
    ld.shared.b128 %answer, [answer];
    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %answer;
    @%p2 clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r1, %answer;
)",
                              fence)),
             Contains("the block has seen that a request failed"));
}

TEST_CASE("a canceled cluster that does not exist is an error") {
  CHECK_THAT(failure(stealing(request, awaited, R"(
    ld.shared.b128 %answer, [answer];
    clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r1, %answer;
)",
                              fence)),
             Contains("asks which cluster was canceled, but none was"));
}

TEST_CASE("a response that is read before its phase is found") {
  CHECK_THAT(failure(stealing(request, "", query, fence)),
             Contains("queries what is no response of clusterlaunchcontrol.try_cancel"));
  // Where it has arrived by chance, or an earlier one is there.
  CHECK_THAT(check(stealing(request, R"(
    mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p9, [bar], %r9;
    xor.b32 %r9, %r9, 1;
)",
                            query, fence)),
             Contains("clusterlaunchcontrol.try_cancel"));
}

TEST_CASE("a response that is overwritten while others read it is found") {
  CHECK_THAT(check(stealing(request, awaited, query, "@%p1 fence.proxy.async.shared::cta;")),
             Contains("clusterlaunchcontrol.try_cancel"));
  CHECK_THAT(check(stealing(request, awaited, query, "bar.sync 0;")), Contains("fence.proxy.async"));
}

TEST_CASE("requests need their target, their mbarrier and a response of the same block") {
  const std::string form =
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes{}.b128 [%r1], [%r2];";
  CHECK_THAT(failure({.body = fmt::format(fmt::runtime(form), ""), .target = "sm_90a"}),
             Contains("needs target sm_100 and later, but the module is for sm_90a"));
  CHECK_THAT(
      failure({.body = fmt::format(fmt::runtime(form), ".multicast::cluster::all"), .target = "sm_120"}),
      Contains("needs target"));
  CHECK_THAT(failure({.body = ".shared .align 16 .b8 s[64]; mov.b32 %r1, s; add.u32 %r2, %r1, 16;" +
                              fmt::format(fmt::runtime(form), ""),
                      .target = "sm_100a"}),
             Contains("mbarrier"));
  CHECK_THAT(failure({.body = "clusterlaunchcontrol.steal.b128 [%r1], [%r2];", .target = "sm_100a"}),
             Contains("unknown instruction"));
}
