// SPDX-License-Identifier: Apache-2.0
/// \file
/// The cost model of traces: what an instruction costs, and timelines short
/// enough to be worked out by hand.
#include "runtime/emulator/trace/CostModel.h"
#include "runtime/emulator/trace/Export.h"
#include "runtime/emulator/trace/TimedSchedule.h"
#include "test/unit/emulator/Harness.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;
using Kind = TraceSpan::Kind;

namespace {

const TimingFacts &facts = timingOf(*findTarget("sm_90a"));

Trace traceOf(KernelText kernel) {
  Trace trace;
  kernel.makeSchedule = [&](Cluster &cluster) { return createTimedSchedule(cluster, {}, trace); };
  output(kernel);
  return trace;
}

std::vector<TraceSpan> spansOf(const Trace &trace, Kind kind) {
  std::vector<TraceSpan> found;
  std::copy_if(trace.spans.begin(), trace.spans.end(), std::back_inserter(found),
               [&](const TraceSpan &span) { return span.kind == kind; });
  return found;
}

std::string repeated(std::string_view text, unsigned count) {
  std::string result;
  for (unsigned i = 0; i < count; ++i)
    result += text;
  return result;
}

/// Thread 0 prepares `bar` for one arrival; `s` is room for copies.
const std::string prepare = R"(
    .shared .align 8 .b64 bar;
    .shared .align 1024 .b8 s[8192];
    .reg .b64 %s, %bar;
    mov.b64 %s, s; mov.b64 %bar, bar;
    setp.eq.u32 %p1, %t, 0;
    @%p1 mbarrier.init.shared.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
    bar.sync 0;
)";

} // namespace

TEST_CASE("an instruction costs what its unit takes", "[trace]") {
  const auto is = [](std::string_view name, ExecutionUnit unit, unsigned cycles, unsigned latency) {
    CAPTURE(name);
    const InstructionCost cost = costOf(name, facts);
    CHECK(cost.unit == unit);
    CHECK(cost.cycles == cycles);
    CHECK(cost.latency == latency);
  };
  is("fma.rn.f32", ExecutionUnit::floats, 1, 4);
  is("add.rn.f16x2", ExecutionUnit::floats, 1, 4);
  is("add.s32", ExecutionUnit::integers, 2, 4);
  is("add.s64", ExecutionUnit::integers, 4, 4);
  is("fma.rn.f64", ExecutionUnit::doubles, 2, 8);
  is("ex2.approx.ftz.f32", ExecutionUnit::special, 8, 18);
  is("cvt.rn.bf16x2.f32", ExecutionUnit::integers, 2, 4);
  is("cvt.u64.u32", ExecutionUnit::none, 0, 0);
  is("mov.b32", ExecutionUnit::none, 0, 0);
  is("bra.uni", ExecutionUnit::control, 1, 4);
  is("shfl.sync.bfly.b32", ExecutionUnit::loadStore, 1, 24);
  // 32 lanes of 16 bytes are 4 times what shared memory moves in a cycle.
  is("ld.shared.v4.b32", ExecutionUnit::loadStore, 4, 30);
  is("ld.shared.b32", ExecutionUnit::loadStore, 1, 30);
  is("stmatrix.sync.aligned.m8n8.x4.shared.b16", ExecutionUnit::loadStore, 4, 30);
  is("ld.global.b32", ExecutionUnit::loadStore, 1, 300);
  // 2048 products, 2048 / 4 per cycle and scheduler at 5/8 of the rate: 6.4 cycles.
  is("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", ExecutionUnit::matrix, 7, 32);
  CHECK(costOf("ld.global.v4.b32", facts).loadBytes == 16);
  CHECK(costOf("st.global.b16", facts).storeBytes == 2);
  CHECK(costOf("ld.shared.b32", facts).loadBytes == 0);
}

TEST_CASE("a product takes its arithmetic or its operands, whichever is longer", "[trace]") {
  // m64n256k16 of 16 bits: 262144 products, 2048 a cycle; operands of 10 KB, 128 bytes a cycle.
  CHECK(matrixCycles(64 * 256 * 16, 16, (64 + 256) * 32, facts) == 128);
  // m64n32k16: 16 cycles of products, but 24 to read the operands.
  CHECK(matrixCycles(64 * 32 * 16, 16, (64 + 32) * 32, facts) == 24);
  // 8-bit operands multiply at twice the rate: m64n256k32 takes as long as m64n256k16 of 16 bits.
  CHECK(matrixCycles(64 * 256 * 32, 8, (64 + 256) * 32, facts) == 128);
}

TEST_CASE("the floor of a trace has each product at the peak of its operands' type", "[trace]") {
  const uint64_t products = uint64_t(facts.multiplyAddsPerCycle) * 100;
  CHECK(arithmeticCycles(products, 16, facts) == 100);
  CHECK(arithmeticCycles(products, 8, facts) == 50);
  TraceSummary summary;
  summary.peakCycles = arithmeticCycles(products, 16, facts) + arithmeticCycles(products, 8, facts);
  CHECK(floorCycles(Trace(), summary) == 150);
}

TEST_CASE("dependent instructions follow each other at their latency", "[trace]") {
  const std::string chain = "fma.rn.f32 %r1, %r1, %r2, %r3;\n";
  const uint64_t few = traceOf({.body = repeated(chain, 10)}).cycles,
                 more = traceOf({.body = repeated(chain, 110)}).cycles;
  CHECK(more - few == 100 * facts.arithmeticLatency);
  const std::string independent =
      "fma.rn.f32 %r1, %r5, %r5, %r5;\nfma.rn.f32 %r2, %r5, %r5, %r5;\nfma.rn.f32 %r3, %r5, %r5, %r5;\n"
      "fma.rn.f32 %r4, %r5, %r5, %r5;\n";
  CHECK(traceOf({.body = repeated(independent, 110)}).cycles -
            traceOf({.body = repeated(independent, 10)}).cycles ==
        400);
}

TEST_CASE("warps of one scheduler share its units", "[trace]") {
  // 8 cycles each for a warp's exponentials; warps 0 and 4 have the same scheduler.
  const std::string body = repeated("ex2.approx.f32 %r1, %r5;\nex2.approx.f32 %r2, %r5;\n"
                                    "ex2.approx.f32 %r3, %r5;\nex2.approx.f32 %r4, %r5;\n",
                                    50);
  const uint64_t four = traceOf({.body = body, .threads = 128}).cycles,
                 eight = traceOf({.body = body, .threads = 256}).cycles;
  CHECK(eight - four == 200 * 8);
  // Warps 0 to 3 have a scheduler each.
  CHECK(traceOf({.body = body, .threads = 32}).cycles == four);
}

TEST_CASE("who waits at a barrier goes on when the last one has come", "[trace]") {
  // Warp 1 computes first.
  const Trace trace = traceOf({.body = R"(
    setp.lt.u32 %p1, %t, 32;
    @%p1 bra $meet;
  )" + repeated("fma.rn.f32 %r1, %r1, %r2, %r3;\n", 100) +
                                       "$meet: bar.sync 0;\n",
                               .threads = 64});
  const auto waits = spansOf(trace, Kind::wait);
  REQUIRE(waits.size() == 1);
  CHECK(trace.tracks[waits[0].track].warp == 0);
  CHECK(waits[0].name == "barrier 0");
  REQUIRE(waits[0].releasedBy);
  CHECK(trace.tracks[waits[0].releasedBy->track].warp == 1);
  CHECK(waits[0].end == waits[0].releasedBy->time + facts.barrierLatency);
  // Warp 1 comes 100 dependent instructions later.
  CHECK(waits[0].end - waits[0].begin > 99 * facts.arithmeticLatency);
  CHECK(waits[0].end - waits[0].begin < 101 * facts.arithmeticLatency + facts.barrierLatency);
}

TEST_CASE("a copy arrives after its latency and its transfer", "[trace]") {
  const Trace trace = traceOf({.body = prepare + R"(
    @!%p1 bra $wait;
    mbarrier.arrive.expect_tx.shared.b64 %d1, [bar], 4096;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], 4096, [%bar];
  $wait: mbarrier.try_wait.parity.shared.b64 %p9, [bar], 0; @!%p9 bra $wait;
  )",
                               .in = std::vector<uint32_t>(1024)});
  const auto copies = spansOf(trace, Kind::copy);
  REQUIRE(copies.size() == 1);
  CHECK(copies[0].bytes == 4096);
  CHECK(copies[0].name == "global memory to shared offset 1024");
  CHECK(copies[0].end - copies[0].begin == 4096 / facts.loadBytesPerCycle);
  REQUIRE(copies[0].issued);
  CHECK(copies[0].end == copies[0].issued->time + facts.copyLatency + 4096 / facts.loadBytesPerCycle);
  const auto waits = spansOf(trace, Kind::wait);
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].name == "shared offset 0");
  CHECK(waits[0].end == copies[0].end + facts.barrierLatency);
  REQUIRE(waits[0].releasedBy);
  CHECK(waits[0].releasedBy->track == copies[0].track);
  CHECK(waits[0].releasedBy->time == copies[0].end);
}

TEST_CASE("copies take their turns on the way into shared memory", "[trace]") {
  const Trace trace = traceOf({.body = prepare + R"(
    @!%p1 bra $wait;
    mbarrier.arrive.expect_tx.shared.b64 %d1, [bar], 8192;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], 4096, [%bar];
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s+4096], [%in], 4096, [%bar];
  $wait: mbarrier.try_wait.parity.shared.b64 %p9, [bar], 0; @!%p9 bra $wait;
  )",
                               .in = std::vector<uint32_t>(1024)});
  const auto copies = spansOf(trace, Kind::copy);
  REQUIRE(copies.size() == 2);
  CHECK(copies[1].begin == copies[0].end);
}

TEST_CASE("names of the launch name tracks and waits; a ring's slots have tracks", "[trace]") {
  // One mbarrier "full", one "empty", in dynamic shared memory.
  const Trace trace = traceOf({.body = R"(
    setp.eq.u32 %p1, %t, 0;
    @%p1 mbarrier.init.shared.b64 [dynamic], 1;
    @%p1 mbarrier.init.shared.b64 [dynamic+8], 1;
    bar.sync 0;
    setp.lt.u32 %p2, %t, 32;
    @%p2 bra $produce;
  $wait: mbarrier.try_wait.parity.shared.b64 %p9, [dynamic], 0; @!%p9 bra $wait;
    setp.eq.u32 %p3, %t, 32;
    @%p3 mbarrier.arrive.shared.b64 %d1, [dynamic+8];
    bra $done;
  $produce:
    mov.b64 %d2, dynamic; add.s64 %d3, %d2, 1024;
    @!%p1 bra $done;
    mbarrier.arrive.expect_tx.shared.b64 %d1, [dynamic], 1024;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%d3], [%in], 1024, [%d2];
  $done:
  )",
                               .header = ".extern .shared .align 1024 .b8 dynamic[];",
                               .threads = 64,
                               .sharedBytes = 2048,
                               .in = std::vector<uint32_t>(256),
                               .names = {.roles = {{"load", 0, 1}, {"math", 1, 1}},
                                         .shared = {{"tiles", SharedObject::Kind::ring, 0, 1, 16},
                                                    {"a", SharedObject::Kind::buffer, 1024, 1, 1024}}}});
  CHECK(trace.tracks[0].name == "load, warp 0");
  CHECK(trace.tracks[1].role == "math");
  const auto waits = spansOf(trace, Kind::wait);
  CHECK(std::any_of(waits.begin(), waits.end(),
                    [](const TraceSpan &wait) { return wait.name == "tiles.full[0]" && wait.track == 1; }));
  const auto copies = spansOf(trace, Kind::copy), filling = spansOf(trace, Kind::filling),
             full = spansOf(trace, Kind::full);
  REQUIRE(copies.size() == 1);
  CHECK(copies[0].name == "global memory to a");
  REQUIRE(filling.size() == 1);
  REQUIRE(full.size() == 1);
  CHECK(trace.tracks[full[0].track].name == "tiles[0]");
  CHECK(filling[0].end == copies[0].end);
  CHECK(full[0].begin == copies[0].end);
  CHECK(full[0].end > full[0].begin);

  const TraceSummary summary = summarise(trace);
  CHECK(summary.bytesIn == 1024);
  CHECK_FALSE(summary.phases);
  CHECK_THAT(summaryText(trace, summary), Contains("math, warp 1: runs") && Contains("waits for tiles.full"));
  for (const LaneSummary &lane : summary.lanes) {
    uint64_t ofLines = 0;
    for (const auto &[line, cycles] : lane.lines)
      ofLines += cycles;
    CHECK(ofLines == lane.run);
  }
  CHECK_THAT(toChromeJson({{{trace, summary}}}),
             Contains("\"wait for tiles.full[0]\"") && Contains("\"ph\": \"f\""));
  CHECK_THAT(toSvg({{{trace, summary}}}, {}),
             Contains("waits for tiles.full[0]") && Contains("ended by copies in at"));
}

TEST_CASE("the schedule that keeps time is one more order of the same program", "[trace]") {
  Trace trace;
  KernelText kernel{.body =
                        "mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, 64, %t; mad.wide.u32 %d1, %r2, 4, %out; "
                        "st.global.b32 [%d1], %r2;",
                    .threads = 64,
                    .blocks = 2};
  const auto expected = output(kernel);
  std::vector<std::unique_ptr<Trace>> traces;
  kernel.makeSchedule = [&](Cluster &cluster) {
    traces.push_back(std::make_unique<Trace>());
    return createTimedSchedule(cluster, {}, *traces.back());
  };
  CHECK(output(kernel) == expected);
  REQUIRE(traces.size() == 2);
  CHECK(traces[0]->cycles == traces[1]->cycles);
}
