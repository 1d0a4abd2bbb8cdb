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
  return {.body = body, .header = ".file 1 \"kernel.cpp\"\n", .threads = 64, .raceCheck = RaceCheck::on};
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
    CHECK_THAT(finding.missing, Contains("warp 1 waits for warp 0"));
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
  CHECK_THAT(message, Contains("kernel.cpp:14:3: race") && Contains("\nand 3 more findings"));
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

TEST_CASE("findings have a limit") {
  Findings findings;
  for (unsigned i = 0; i < Findings::limit + 5; ++i)
    if (!findings.repeats(FindingKind::race, i, 0))
      findings.add(racingAt(i, 0));
  CHECK(findings.all().size() == Findings::limit);
  CHECK_THAT(findings.text(), Contains("and 95 more findings") && Contains("beyond the limit of 100"));
}
