// SPDX-License-Identifier: Apache-2.0
/// \file
/// What becomes of each instruction that synchronises; lists; surveys.
#include "test/Expect.h"
#include "tools/mutate/KernelTrial.h"
#include "tools/mutate/Survey.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::mutate;

namespace {

/// A kernel with that body.
std::string moduleOf(const std::string &body) {
  return ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k() .reqntid 128, 1, 1 {\n"
         ".reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.shared .align 128 .b8 s[1024];\n" +
         body + "\nret;\n}\n";
}

std::vector<Mutant> mutantsOfBody(const std::string &body) {
  Result<std::vector<Mutant>> mutants = mutantsOf(moduleOf(body));
  INFO((mutants ? std::string() : mutants.error().message));
  REQUIRE(mutants);
  return *mutants;
}

/// "change: what the body becomes", for each mutant.
std::vector<std::string> changesOf(const std::string &body) {
  const std::string module = moduleOf(body);
  const size_t begin = module.find(body), rest = module.size() - begin - body.size();
  std::vector<std::string> changes;
  for (const Mutant &mutant : mutantsOfBody(body)) {
    const std::string changed = mutant.applyTo(module);
    changes.push_back(std::string(toString(mutant.change)) + ": " +
                      changed.substr(begin, changed.size() - rest - begin));
  }
  return changes;
}

using Changes = std::vector<std::string>;

} // namespace

TEST_CASE("barriers lose threads, the wait, their number", "[mutate]") {
  CHECK(changesOf("bar.sync 0;") == Changes{"removed: ", "arrives only: bar.arrive 0, 128;"});
  CHECK(changesOf("@%p1 barrier.sync.aligned %r1, 96;") ==
        Changes{"removed: ", "one arrival more: @%p1 barrier.sync.aligned %r1, 128;",
                "one arrival less: @%p1 barrier.sync.aligned %r1, 64;",
                "arrives only: @%p1 barrier.arrive.aligned %r1, 96;"});
  CHECK(changesOf("bar.arrive 1, 64; bar.warp.sync -1;") ==
        Changes{"removed:  bar.warp.sync -1;", "one arrival more: bar.arrive 1, 96; bar.warp.sync -1;",
                "one arrival less: bar.arrive 1, 32; bar.warp.sync -1;", "removed: bar.arrive 1, 64; "});
  CHECK(changesOf("bar.sync 2; bar.sync 3;")[1] == "other barrier: bar.sync 3; bar.sync 3;");
  CHECK(changesOf("barrier.cluster.arrive.release.aligned; barrier.cluster.wait;") ==
        Changes{"removed:  barrier.cluster.wait;",
                "relaxed: barrier.cluster.arrive.relaxed.aligned ; barrier.cluster.wait;",
                "removed: barrier.cluster.arrive.release.aligned; "});
}

TEST_CASE("mbarriers expect other arrivals, bytes and phases", "[mutate]") {
  CHECK(changesOf("mbarrier.init.shared.b64 [s], %r1;") ==
        Changes{"removed: ",
                "one arrival more: { .reg .b32 %mutant; add.s32 %mutant, %r1, 1; mbarrier.init.shared.b64 "
                "[s], %mutant; }",
                "one arrival less: { .reg .b32 %mutant; add.s32 %mutant, %r1, -1; mbarrier.init.shared.b64 "
                "[s], %mutant; }"});
  CHECK(changesOf("mbarrier.arrive.expect_tx.shared.b64 _, [s], 4096;") ==
        Changes{"removed: ", "more bytes: mbarrier.arrive.expect_tx.shared.b64 _, [s], 4112;",
                "fewer bytes: mbarrier.arrive.expect_tx.shared.b64 _, [s], 4080;",
                "no bytes: mbarrier.arrive.shared.b64 _, [s];",
                "relaxed: mbarrier.arrive.expect_tx.relaxed.cta.shared.b64 _, [s], 4096;"});
  CHECK(changesOf("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1], 1;") ==
        Changes{
            "removed: ", "one arrival more: mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1], 2;",
            "relaxed: mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r1], 1;",
            "narrowed: mbarrier.arrive.release.cta.shared::cluster.b64 _, [%r1], 1;"});
  CHECK(changesOf("x: mbarrier.try_wait.parity.shared.b64 %p1, [s], %r2; @!%p1 bra x;") ==
        Changes{"not awaited: x: setp.eq.u32 %p1, 0, 0; @!%p1 bra x;",
                "other parity: x: { .reg .b32 %mutant; xor.b32 %mutant, %r2, 1; "
                "mbarrier.try_wait.parity.shared.b64 %p1, [s], %mutant; } @!%p1 bra x;"});
}

TEST_CASE("waits leave one more pending", "[mutate]") {
  CHECK(changesOf("wgmma.wait_group.sync.aligned 1;") ==
        Changes{"removed: ", "one more pending: wgmma.wait_group.sync.aligned 2;"});
  CHECK(changesOf("cp.async.bulk.wait_group 0;") ==
        Changes{"removed: ", "one more pending: cp.async.bulk.wait_group 1;",
                "reads only: cp.async.bulk.wait_group.read 0;"});
  CHECK(changesOf("cp.async.wait_all; cp.async.commit_group;") ==
        Changes{"removed:  cp.async.commit_group;", "removed: cp.async.wait_all; "});
}

TEST_CASE("fences and ordered accesses reach less far", "[mutate]") {
  CHECK(changesOf("fence.acq_rel.gpu;") == Changes{"removed: ", "narrowed: fence.acq_rel.cta ;"});
  CHECK(changesOf("membar.sys;") == Changes{"removed: ", "narrowed: membar.gl ;"});
  CHECK(changesOf("fence.proxy.async.shared::cta;") ==
        Changes{"removed: ", "narrowed: fence.proxy.async.global ;"});
  CHECK(changesOf("st.release.gpu.global.b32 [%rd1], %r1;") ==
        Changes{"relaxed: st.relaxed.gpu.global.b32 [%rd1], %r1;",
                "narrowed: st.release.cta.global.b32 [%rd1], %r1;"});
  CHECK(changesOf("ld.global.b32 %r1, [%rd1];").empty());
}

TEST_CASE("all lanes do what the elected one did", "[mutate]") {
  CHECK(changesOf("elect.sync %r1|%p1, -1;") == Changes{"all lanes: setp.eq.u32 %p1, 0, 0; mov.b32 %r1, 0;"});
  CHECK(changesOf("elect.sync _|%p1, -1;") == Changes{"all lanes: setp.eq.u32 %p1, 0, 0;"});
}

TEST_CASE("accesses change sides where registers and branches allow it", "[mutate]") {
  CHECK(
      changesOf("st.shared.b32 [s], %r1; add.s32 %r2, %r3, 1; fence.proxy.async; ld.shared.b32 %r4, [s];") ==
      Changes{"removed: st.shared.b32 [s], %r1; add.s32 %r2, %r3, 1;  ld.shared.b32 %r4, [s];",
              "narrowed: st.shared.b32 [s], %r1; add.s32 %r2, %r3, 1; fence.proxy.async.global ; "
              "ld.shared.b32 %r4, [s];",
              "access moved after:  add.s32 %r2, %r3, 1; fence.proxy.async; st.shared.b32 [s], %r1; "
              "ld.shared.b32 %r4, "
              "[s];",
              "access moved before: st.shared.b32 [s], %r1; add.s32 %r2, %r3, 1; ld.shared.b32 %r4, [s]; "
              "fence.proxy.async; "});
  const auto moves = [](const std::string &body) {
    const Changes changes = changesOf(body);
    return std::ranges::count_if(changes,
                                 [](const std::string &change) { return change.starts_with("access"); });
  };
  CHECK(moves("ld.shared.b32 %r1, [s]; add.s32 %r1, %r1, 1; bar.sync 0;") == 0); // needs what it gave
  CHECK(moves("st.shared.b32 [s], %r1; x: bar.sync 0; bra x;") == 0);            // another way leads there
  CHECK(moves("st.shared.b32 [s], %r1; bar.warp.sync -1; bar.sync 0;") == 1);    // of the nearer one only
  CHECK(moves("ld.global.b32 %r1, [%rd1]; bar.sync 0;") == 0);
}

TEST_CASE("mutants are named by place, instruction and occurrence", "[mutate]") {
  const std::string module =
      ".version 8.7\n.target sm_90a\n.address_size 64\n.file 1 \"dir/a.cpp\"\n"
      ".visible .entry k() {\nbar.sync 0;\n.loc 1 7 3\nbar.sync 0;\n.loc 1 0 0\nbar.sync 0;\n}\n";
  Result<std::vector<Mutant>> mutants = mutantsOf(module);
  REQUIRE(mutants);
  REQUIRE(mutants->size() == 3);
  CHECK((*mutants)[0].key() == "k ? bar.sync#1 removed");
  CHECK((*mutants)[1].key() == "k dir/a.cpp:7:3 bar.sync#1 removed");
  CHECK((*mutants)[2].key() == "k dir/a.cpp:7:3 bar.sync#2 removed");
  CHECK((*mutants)[2].line == 10);
  CHECK((*mutants)[2].everywhere() == "k dir/a.cpp:7:3 bar.sync#*");
  CHECK(mutantsOf("nonsense").error().message.starts_with("PTX line 1: "));
}

TEST_CASE("where the source is at hand, the text of a line names it and not its number", "[mutate]") {
  const std::string module =
      ".version 8.7\n.target sm_90a\n.address_size 64\n.file 1 \"test/mutate/MutantsTest.cpp\"\n"
      ".visible .entry k() {\n.loc 1 3 1\nbar.sync 0;\n.loc 1 3 5\nbar.sync 0;\n.loc 1 99999 1\nbar.sync "
      "0;\n}\n";
  Result<std::vector<Mutant>> mutants = mutantsOf(module, Sources(TLC_SOURCE_DIR));
  REQUIRE(mutants);
  REQUIRE(mutants->size() == 3);
  const std::string text =
      "test/mutate/MutantsTest.cpp `/// What becomes of each instruction that synchronises; lists; surveys.`";
  CHECK((*mutants)[0].key() == "k " + text + " bar.sync#1 removed");
  CHECK((*mutants)[1].key() == "k " + text + " bar.sync#2 removed");
  CHECK((*mutants)[1].location == "test/mutate/MutantsTest.cpp:3:5");
  CHECK((*mutants)[2].key() == "k test/mutate/MutantsTest.cpp:99999:1 bar.sync#1 removed");
}

TEST_CASE("a survey counts, and holds mutants against the list", "[mutate]") {
  const std::string module =
      moduleOf("bar.sync 1, 64;\nwgmma.fence.sync.aligned;\nfence.proxy.async.global;");
  Result<std::vector<Equivalent>> list =
      parseEquivalents("# of tests\n"
                       "kernel a=1 !a=2 | k ? bar.sync#1 | removed, arrives only | because\n"
                       "kernel a=2 !a=1 | k ? fence.proxy.async.global#* | removed | no\n");
  REQUIRE(list);
  const Trial trial = [&](const std::string &ptx) -> Outcome {
    if (ptx.find("bar.sync") == std::string::npos)
      return {};
    return ptx == module ? Outcome{} : Outcome{Detection::checker, "seen"};
  };
  Result<Survey> survey = Survey::make({"kernel", {"a=1", "b=2"}}, module, trial, *list, {}, 2);
  REQUIRE(survey);
  CHECK(survey->summary() == "kernel a=1 b=2: 6 mutants: 4 checker, 2 equivalent, 0 missed");
  CHECK(survey->wrong().empty());

  const Trial blind = [](const std::string &) { return Outcome{}; };
  survey = Survey::make({"kernel", {"a=2"}}, module, blind, *list);
  REQUIRE(survey);
  CHECK(survey->counts()[size_t(Detection::none)] == 5);
  CHECK(survey->complaint(*survey->wrong().front()) ==
        "kernel a=2: missed: k ? bar.sync#1 removed (?, PTX line 9)");

  const Trial strict = [&](const std::string &ptx) {
    return ptx == module ? Outcome{} : Outcome{Detection::deadlock, "stuck"};
  };
  survey = Survey::make({"kernel", {"a=2"}}, module, strict, *list);
  REQUIRE(survey);
  REQUIRE(survey->wrong().size() == 1);
  CHECK(survey->complaint(*survey->wrong().front()) ==
        "kernel a=2: line 3 of the list calls it equivalent, but it is found: k ? fence.proxy.async.global#1 "
        "removed: stuck");

  const Trial broken = [](const std::string &) { return Outcome{Detection::fault, "broken"}; };
  CHECK(Survey::make({"kernel", {}}, module, broken, {}).error().message == "kernel: fails as it is: broken");
}

TEST_CASE("lists and cases that cannot be read say which line", "[mutate]") {
  CHECK(parseEquivalents("gemm | here | removed").error().message ==
        "line 1: expected 'kernel words | place | changes | reason', but got 'gemm | here | removed'");
  CHECK(parseCases("# none\ngemm bm=64").error().message == "line 2: expected sizes after a colon");
  CHECK(parseCases("gemm bm : m=1").error().message == "line 1: expected name=value, but got 'bm'");
  CHECK(parseCases("gemm disable=tma,speed : m=1").error().message ==
        "line 1: 'speed' is not an optimisation");
  Result<std::vector<Case>> cases = parseCases("gemm bm=64 disable=tma : m=1 n=2 : m=3 # comment\n\n");
  REQUIRE(cases);
  REQUIRE(cases->size() == 1);
  CHECK(cases->front().origin().text() == "gemm bm=64 disable=tma");
  CHECK(cases->front().sizes == std::vector<kernels::Definitions>{{{"m", "1"}, {"n", "2"}}, {{"m", "3"}}});
  CHECK(tlc::test::expectValue(parseCases("gemm target=sm_100a : m=1")).front().origin().text() ==
        "gemm target=sm_100a");
  CHECK(parseCases("gemm target=sm_1 : m=1").error().message == "line 1: 'sm_1' is not a target");
  CHECK_THAT(parseCases("gemm bm=65 : m=1").error().message,
             Catch::StartsWith("line 1: ") && Catch::Contains("'bm'"));
}
