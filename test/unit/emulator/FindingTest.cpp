// SPDX-License-Identifier: Apache-2.0
/// \file
/// Findings as data: what is kept of each, which are kept, and their text.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

/// Two warps write `writes` words of shared memory each, at their own lines.
KernelText racing(unsigned writes) {
  std::string body = "  .shared .align 16 .b32 s[1024]; .reg .b32 %warp; shr.u32 %warp, %t, 5;\n"
                     "  setp.eq.u32 %p1, %warp, 0;\n";
  for (unsigned i = 0; i < writes; ++i)
    body += fmt::format("  .loc 1 {} 3\n  st.shared.b32 [s+{}], %warp;\n", 10 + i, 4 * i);
  body += "  bar.sync 0; ld.shared.b32 %r1, [s]; st.global.b32 [%mine], 7;\n";
  return {.body = body, .header = ".file 1 \"kernel.cpp\"\n", .threads = 64, .raceCheck = RaceCheck::strict};
}

Finding racingAt(unsigned line, unsigned beforeLine) {
  Finding finding{.kind = FindingKind::race, .message = fmt::format("line {}", line)};
  finding.site.ptxLine = line;
  finding.before.emplace().ptxLine = beforeLine;
  return finding;
}

} // namespace

TEST_CASE("a run collects all findings and still computes") {
  const Outcome outcome = run(racing(3));
  REQUIRE_FALSE(outcome.status);
  CHECK(outcome.status.error().kind == ErrorKind::execution);
  REQUIRE(outcome.findings.all().size() == 3);
  for (unsigned i = 0; i < 3; ++i) {
    const Finding &finding = outcome.findings.all()[i];
    CHECK(finding.kind == FindingKind::race);
    CHECK(finding.kernel == "k");
    CHECK(finding.memory == fmt::format("shared offset {}", 4 * i));
    CHECK_THAT(finding.missing, Contains("different addresses for two writes of one store"));
    REQUIRE(finding.before);
    for (const FindingSite *site : {&finding.site, &*finding.before}) {
      CHECK(site->what == "write");
      CHECK(site->instruction == "st.shared.b32");
      CHECK(site->location() == fmt::format("kernel.cpp:{}:3", 10 + i));
      CHECK(site->ptxLine != 0);
    }
    CHECK(finding.site.warp == 1);
    CHECK(finding.before->warp == 0);
    CHECK_THAT(outcome.status.error().message, Contains(finding.message));
  }
  CHECK(outcome.out == [] {
    std::vector<uint32_t> expected(256, 0xDDDDDDDD);
    std::fill(expected.begin(), expected.begin() + 64, 7);
    return expected;
  }());
}

TEST_CASE("an error shows the first findings and counts the others") {
  const std::string message = failure(racing(8));
  CHECK_THAT(message, Contains("kernel.cpp:14:3: race") && Contains("\nand 3 more errors"));
  CHECK(message.find("kernel.cpp:15:3") == std::string::npos);
}

TEST_CASE("what ends the run is told first") {
  KernelText kernel = racing(2);
  kernel.body += "trap;\n";
  const Outcome outcome = run(kernel);
  REQUIRE_FALSE(outcome.status);
  REQUIRE(outcome.findings.all().size() == 3);
  CHECK(outcome.findings.all()[2].kind == FindingKind::fault);
  CHECK_THAT(outcome.status.error().message, Contains("trap in lanes"));
  CHECK(outcome.status.error().message.find("trap") < outcome.status.error().message.find("race"));
}

TEST_CASE("the same pair of instructions is one finding, in the order of the clusters") {
  Findings findings;
  findings.add(racingAt(1, 2));
  CHECK(findings.repeats(FindingKind::race, 1, 2));
  CHECK_FALSE(findings.repeats(FindingKind::proxyRace, 1, 2));
  CHECK_FALSE(findings.repeats(FindingKind::race, 1, 3));
  CHECK_FALSE(findings.repeats(FindingKind::race, 1, 2, FindingReach::insideWarp));
  Findings others;
  others.add(racingAt(1, 2));
  others.add(racingAt(4, 5));
  findings.add(others);
  REQUIRE(findings.all().size() == 2);
  CHECK(findings.all()[0].count == 3);
  CHECK(findings.all()[1].count == 1);
}

TEST_CASE("warnings are counted apart, come after errors, and leave room for them") {
  Findings findings;
  for (unsigned i = 0; i < Findings::limit + 5; ++i) {
    Finding warning = racingAt(i, 0);
    warning.level = FindingLevel::warning;
    if (!findings.repeats(warning.kind, i, 0, warning.reach, warning.level))
      findings.add(warning);
  }
  CHECK_FALSE(findings.repeats(FindingKind::race, 1, 0));
  findings.add(racingAt(1000, 0));
  CHECK(findings.count(FindingLevel::warning) == Findings::limit);
  CHECK(findings.count(FindingLevel::error) == 1);
  CHECK_THAT(findings.text(), Catch::StartsWith("line 1000\nline 0\n") && Contains("and 96 more warnings"));
}

TEST_CASE("warnings make a launch fail where the check is strict") {
  // A copy into what loads before a barrier have read, without a proxy fence.
  KernelText kernel = {.body = R"(
    .shared .align 128 .b8 s[128]; .shared .align 8 .b64 bar; .reg .b32 %s, %bar;
    mov.u32 %s, s; mov.u32 %bar, bar; shl.b32 %r1, %t, 2; add.u32 %r1, %r1, %s; st.shared.b32 [%r1], %t;
    setp.eq.u32 %p1, %t, 0; @%p1 mbarrier.init.shared.b64 [%bar], 1; fence.proxy.async; bar.sync 0;
    ld.shared.b32 %r2, [%r1]; bar.sync 0; @!%p1 bra $end;
    mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 128;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], 128, [%bar];
    $wait: mbarrier.try_wait.parity.shared.b64 %p2, [%bar], 0; @!%p2 bra $wait;
    $end:)",
                       .in = std::vector<uint32_t>(1024)};
  for (const RaceCheck check : {RaceCheck::on, RaceCheck::strict}) {
    kernel.raceCheck = check;
    const Outcome outcome = run(kernel);
    CHECK(bool(outcome.status) == (check == RaceCheck::on));
    REQUIRE(outcome.findings.all().size() == 1);
    CHECK(outcome.findings.all()[0].level == FindingLevel::warning);
    CHECK_THAT(outcome.findings.text(), Contains(": warning: proxy race between the asynchronous write") &&
                                            Contains("missing: fence.proxy.async"));
  }
  // The write before it lacks the fence, too: an error.
  kernel.body.replace(kernel.body.find("ld.shared.b32 %r2, [%r1]"), 24, "st.shared.b32 [%r1], %t");
  kernel.raceCheck = RaceCheck::on;
  CHECK_THAT(failure(kernel), Contains("proxy race") && !Contains("warning"));
}

TEST_CASE("findings have a limit") {
  Findings findings;
  for (unsigned i = 0; i < Findings::limit + 5; ++i)
    if (!findings.repeats(FindingKind::race, i, 0))
      findings.add(racingAt(i, 0));
  CHECK(findings.all().size() == Findings::limit);
  CHECK_THAT(findings.text(), Contains("and 95 more errors") && Contains("beyond the limit of 100"));
}
