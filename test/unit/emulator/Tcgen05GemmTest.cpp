// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whole kernels for tcgen05, as they are and without their synchronisation.
#include "test/unit/emulator/Tcgen05Gemm.h"

#include "runtime/emulator/trace/CostModel.h"
#include "runtime/emulator/trace/TimedSchedule.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

TEST_CASE("a tcgen05 GEMM gives the right product") {
  for (unsigned blocks : {1u, 2u}) {
    Problem problem;
    const auto done = runGemm(problem, gemmText(blocks), blocks);
    INFO("blocks " << blocks << ", seed " << problem.seed << ": " << (done ? "" : done.error().message));
    REQUIRE(done);
    CHECK(problem.isRight());
  }
}

TEST_CASE("tcgen05 products take the tensor cores' time in traces") {
  Problem problem;
  problem.m = 128; // one block
  Trace trace;
  const auto done = runGemm(problem, gemmText(1), 1,
                            [&](Cluster &cluster) { return createTimedSchedule(cluster, {}, trace); });
  INFO("seed " << problem.seed << ": " << (done ? "" : done.error().message));
  REQUIRE(done);
  CHECK(problem.isRight());
  uint64_t products = 0, free = 0;
  for (const TraceSpan &span : trace.spans) {
    if (span.kind != TraceSpan::Kind::product)
      continue;
    ++products;
    CHECK(span.begin >= free);
    CHECK(span.end - span.begin == 48); // to read 128 and 64 rows of 32 bytes, 128 bytes a cycle
    CHECK(span.peakCycles == arithmeticCycles(128 * 64 * 16, 16, timingOf(*findTarget("sm_100a"))));
    free = span.end;
  }
  CHECK(products == problem.k / 16);
}

TEST_CASE("a tcgen05 product with A in tensor memory") {
  Problem problem;
  const auto done = runTensorOperand(problem, tensorOperandText());
  INFO("seed " << problem.seed << ": " << (done ? "" : done.error().message));
  REQUIRE(done);
  CHECK(problem.isRight());
}

namespace {

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  const size_t at = text.find(what);
  INFO(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

/// What the checker says of a GEMM with one piece of text changed.
std::string gemmFinding(std::string_view what, std::string_view by, unsigned blocks = 1) {
  Problem problem;
  const auto done = runGemm(problem, replaced(gemmText(blocks), what, by), blocks);
  return done ? "" : done.error().message;
}

std::string operandFinding(std::string_view what, std::string_view by) {
  Problem problem;
  const auto done = runTensorOperand(problem, replaced(tensorOperandText(), what, by));
  return done ? "" : done.error().message;
}

constexpr std::string_view
    waitFull = "mbarrier.try_wait.parity.shared.b64 %p5, [%d10], %r9; @!%p5 bra $waitFull;",
    waitEmpty = "mbarrier.try_wait.parity.shared.b64 %p5, [%d11], %r9; @!%p5 bra $waitEmpty;",
    waitDone = "mbarrier.try_wait.parity.shared.b64 %p5, [done], 0; @!%p5 bra $waitDone;",
    release = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%d11];",
    after = "tcgen05.fence::after_thread_sync;";

/// With the fence that follows a piece of text gone.
std::string withoutAfter(const std::string &text, std::string_view instruction) {
  const size_t at = text.find(instruction);
  REQUIRE(at != std::string::npos);
  const size_t fence = text.find(after, at);
  REQUIRE(fence != std::string::npos);
  return std::string(text).erase(fence, after.size());
}

} // namespace

TEST_CASE("every synchronisation of the tcgen05 GEMM is missed when it is gone") {
  CHECK_THAT(gemmFinding(waitFull, ""),
             Contains("of shared offset") && Contains("tcgen05.mma") && Contains("missing: "));
  // Released when the products are issued, not when they are complete.
  CHECK_THAT(gemmFinding(release, "mbarrier.arrive.shared.b64 _, [%d11];"),
             Contains("race between the asynchronous write of shared offset") &&
                 Contains("and the asynchronous read by 'tcgen05.mma.cta_group::1.kind::f16'") &&
                 Contains("missing: a wait for the mbarrier of a tcgen05.commit of warp 5"));
  CHECK_THAT(gemmFinding(release, ""), Contains("deadlock"));
  CHECK_THAT(gemmFinding(waitDone, ""),
             Contains("race between the write of column 0 of lanes 0 to 15 of tensor memory and the read by "
                      "'tcgen05.ld.sync.aligned.32x32b.x32.b32'") &&
                 Contains("missing: a wait in warp 0 for the mbarrier of a tcgen05.commit after it") &&
                 !Contains("nothing has written"));
  CHECK_THAT(gemmFinding(waitEmpty, ""), Contains("1 arrivals at the mbarrier at shared offset 0"));
  CHECK_THAT(gemmFinding("mbarrier.init.shared.b64 [done], 1;", "mbarrier.init.shared.b64 [done], 2;"),
             Contains("deadlock") && Contains("1 of 2 arrivals are pending"));
  Problem problem;
  const auto noFence = runGemm(problem, withoutAfter(gemmText(1), waitDone), 1);
  REQUIRE_FALSE(noFence);
  CHECK_THAT(noFence.error().message, Contains("the read of column 0 of lanes 0 to 15 of tensor memory") &&
                                          Contains("missing: tcgen05.fence::before_thread_sync in warp 5, or "
                                                   "tcgen05.fence::after_thread_sync in warp 0"));
  // Freed while other warps still read.
  const std::string end = "$end:\n  tcgen05.fence::before_thread_sync;\n  bar.sync 0; ";
  CHECK_THAT(gemmFinding(end, "$end:\n  tcgen05.fence::before_thread_sync;\n"),
             Contains("tcgen05.dealloc") && Contains("missing: "));
}

TEST_CASE("a pair of blocks needs its barriers too") {
  CHECK_THAT(gemmFinding("[%d11], %h1;", "[%d11], 1;", 2),
             Contains("deadlock") && Contains("block (1, 0, 0), warp 4"));
  CHECK_THAT(gemmFinding("mapa.shared::cluster.u64 %d10, %d10, 0;", "", 2), Contains("deadlock"));
  CHECK_THAT(gemmFinding(waitDone, "", 2), Contains("of tensor memory of block rank"));
  CHECK_THAT(
      gemmFinding("complete_tx::bytes.cta_group::2 [%d5]", "complete_tx::bytes [%d5]", 2),
      Contains("the copy writes to block rank 1, but its mbarrier is in rank 0; .cta_group::2 lets it be in "
               "the other block of the pair"));
  CHECK_THAT(gemmFinding("[done], %h1;", "[done], 4;", 2),
             Contains("the multicast mask 0x4 does not fit the cluster of 2 blocks"));
}

TEST_CASE("an operand in tensor memory is waited for, fenced and published") {
  CHECK_THAT(operandFinding("tcgen05.wait::st.sync.aligned;", ""),
             Contains("race between the read of column 64 of lanes 0 to 15 of tensor memory and the write by "
                      "'tcgen05.st.sync.aligned.32x32b.x32.b32'") &&
                 Contains("missing: tcgen05.wait::st"));
  const std::string publish = "  tcgen05.fence::before_thread_sync; bar.sync 0;\n  @%p2 bra $waitDone;";
  CHECK_THAT(
      operandFinding(publish, "  bar.sync 0;\n  @%p2 bra $waitDone;"),
      Contains("missing: tcgen05.fence::before_thread_sync in warp 1, or tcgen05.fence::after_thread_sync in "
               "warp 0"));
  Problem problem;
  const auto noAfter = runTensorOperand(problem, withoutAfter(tensorOperandText(), "bra $waitFull;"));
  REQUIRE_FALSE(noAfter);
  CHECK_THAT(noAfter.error().message, Contains("missing: tcgen05.fence::before_thread_sync in warp 1"));
  CHECK_THAT(operandFinding(publish, "  tcgen05.fence::before_thread_sync;\n  @%p2 bra $waitDone;"),
             Contains("tensor memory") && Contains("missing: "));
  CHECK_THAT(operandFinding(waitDone, ""),
             Contains("columns 0 to 63 of tensor memory were freed before") &&
                 Contains("missing: a wait in warp 2 for the mbarrier of a tcgen05.commit after it"));
  CHECK_THAT(
      operandFinding("[%tm+64], %d9", "[%tm+128], %d9"),
      Contains("columns 128 to 135 of tensor memory are accessed, but the block has allocated 128 at 0x0"));
}
