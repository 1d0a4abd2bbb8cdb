// SPDX-License-Identifier: Apache-2.0
/// \file
/// The checker on accesses that threads may make at the same time: volatile
/// ones have the semantics of relaxed.sys and order nothing without fences;
/// atomics do not excuse weaker accesses beside them.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

/// Words of `s` that are zero; %own and %other: addresses of the thread's word and of that of a thread of the
/// other warp, in `s` or in `out`; %p1: thread 32, %p2: thread 0.
/// After the barrier the other warp runs first.
std::string twoWarps(const std::string &text, std::string_view space) {
  return check({.body = fmt::format(R"(
    .shared .align 16 .b8 s[256]; .reg .b64 %base, %own, %other; .reg .b32 %x;
    mov.b64 %base, {}; xor.b32 %x, %t, 63; mad.wide.u32 %own, %t, 4, %base; mad.wide.u32 %other, %x, 4, %base;
    setp.eq.u32 %p1, %t, 32; setp.eq.u32 %p2, %t, 0; st.{}.b32 [%own], 0; bar.sync 0;
)",
                                    space == "shared" ? "s" : "%out", space) +
                        fmt::format(fmt::runtime(text), fmt::arg("s", space)) + "$end:",
                .threads = 64});
}

} // namespace

TEST_CASE("volatile accesses do not race with each other, but with weak ones") {
  for (const char *space : {"shared", "global"}) {
    INFO(space);
    for (const char *text : {"st.volatile.{s}.b32 [%own], %t; ld.volatile.{s}.b32 %r5, [%other];",
                             "@%p1 st.volatile.{s}.b32 [%base], 1; @%p2 st.volatile.{s}.b32 [%base], 1;",
                             // Lanes of one warp are threads like any others.
                             "xor.b32 %r3, %t, 1; mad.wide.u32 %d1, %r3, 4, %base;"
                             "st.volatile.{s}.b32 [%own], %t; ld.volatile.{s}.b32 %r5, [%d1];",
                             "@%p1 st.volatile.{s}.b32 [%base], 1; @%p2 atom.{s}.add.u32 %r5, [%base], 1;",
                             "ld.volatile.{s}.b32 %r5, [%base]; ld.volatile.{s}.b32 %r6, [%other];",
                             "st.volatile.{s}.b32 [%own], %t; ld.volatile.{s}.b32 %r5, [%own];"})
      CHECK(twoWarps(text, space) == "");
    CHECK_THAT(twoWarps("@%p1 st.volatile.{s}.b32 [%base], 1; @%p2 ld.{s}.b32 %r5, [%base];", space),
               Contains("race between the"));
    CHECK_THAT(twoWarps("@%p1 st.{s}.b32 [%base], 1; @%p2 ld.volatile.{s}.b32 %r5, [%base];", space),
               Contains("race between the"));
  }
}

TEST_CASE("a look-back by words of value and flag needs no fences") {
  CHECK(check({.body = R"(
    mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %t, 0; @%p1 bra $end; setp.eq.u32 %p2, %r1, 0; @%p2 bra $publish;
    mad.wide.u32 %d1, %r1, 8, %out;
    $wait: ld.volatile.global.u64 %d2, [%d1+-8]; shr.u64 %d3, %d2, 32; setp.ne.u64 %p3, %d3, 1; @%p3 bra $wait;
    $publish: mad.wide.u32 %d1, %r1, 8, %out; mov.u32 %r2, 1; mov.b64 %d4, {%r1, %r2}; st.volatile.global.u64 [%d1], %d4;
    $end:)",
               .blocks = 4,
               .outWords = 64}) == "");
}

TEST_CASE("an atomic does not excuse the weak read of its lane before it") {
  for (const char *space : {"shared", "global"}) {
    INFO(space);
    const std::string own = "@%p1 ld.{s}.b32 %r5, [%base]; @%p1 atom.{s}.add.u32 %r6, [%base], 1;";
    CHECK_THAT(twoWarps(own + "@%p2 atom.{s}.add.u32 %r6, [%base], 1;", space),
               Contains("race between the atomic") && Contains("and the read by 'ld."));
    CHECK(twoWarps(own + "bar.sync 0; @%p2 atom.{s}.add.u32 %r6, [%base], 1;", space) == "");
  }
}

TEST_CASE("a fence makes a flag of a volatile write") {
  const auto passing = [](const std::string &before, const std::string &after, const char *space) {
    return twoWarps("@%p1 bra $first; @%p2 bra $second; bra $end;\n$first:\n st.{s}.b32 [%base+8], 7;" +
                        before +
                        "st.volatile.{s}.b32 [%base], 1; bra $end;\n$second:\n"
                        "ld.volatile.{s}.b32 %r5, [%base]; setp.eq.u32 %p3, %r5, 0; @%p3 bra $second;" +
                        after + "ld.{s}.b32 %r6, [%base+8];\n",
                    space);
  };
  for (const char *space : {"shared", "global"}) {
    INFO(space);
    CHECK(passing("membar.cta;", "membar.cta;", space) == "");
    CHECK(passing("fence.acq_rel.gpu;", "fence.acq_rel.gpu;", space) == "");
    // The flag is one, the word that it stands for is not passed on.
    CHECK_THAT(passing("membar.cta;", "", space),
               Contains("and the write by 'st.") && !Contains(".volatile"));
    CHECK_THAT(passing("", "membar.cta;", space),
               Contains("and the write by 'st.") && !Contains(".volatile"));
    // Of another lane of the block, and passed on by a barrier.
    CHECK(twoWarps("membar.cta; bar.sync 0; @%p1 st.volatile.{s}.b32 [%base], 1;"
                   "@%p2 ld.volatile.{s}.b32 %r5, [%base];",
                   space) == "");
  }
}

namespace {

/// Who contends for a lock.
enum class Contenders { warps, blocks, warpsInShared, lanes };

/// Two threads add to a word under a lock of relaxed atomics, with fences after its acquisition and before
/// its release.
std::string locked(const std::string &after, const std::string &access, const std::string &before,
                   unsigned rounds = 1, Contenders contenders = Contenders::warps) {
  const bool shared = contenders == Contenders::warpsInShared;
  const std::string space = shared ? ".shared.b32" : ".global.b32",
                    second = contenders == Contenders::lanes ? "1" : "32";
  return check({.body = R"(
    .shared .align 8 .b8 s[8]; .reg .b64 %lock;
    mov.u64 %lock, )" + std::string(shared ? "s" : "%out") +
                        R"(;
    setp.eq.u32 %p1, %t, 0; @%p1 st.shared.b32 [s], 0xDDDDDDDD; @%p1 st.shared.b32 [s+4], 0; bar.sync 0;
    setp.eq.u32 %p2, %t, )" +
                        second + R"(; or.pred %p1, %p1, %p2; @!%p1 bra $end; mov.b32 %r5, 0;
  $lock: atom)" + (shared ? ".shared" : ".global") +
                        R"(.cas.b32 %r1, [%lock], 0xDDDDDDDD, 1;
    setp.eq.u32 %p3, %r1, 1; @%p3 bra $lock;
)" + after + "ld" + access +
                        space + " %r2, [%lock+4]; add.u32 %r2, %r2, 1; st" + access + space +
                        " [%lock+4], %r2;" + before + "atom" + (shared ? ".shared" : ".global") +
                        ".exch.b32 %r1, [%lock], 0xDDDDDDDD; add.u32 %r5, %r5, 1; setp.lt.u32 %p4, %r5, " +
                        std::to_string(rounds) + "; @%p4 bra $lock;\n$end:",
                .threads = contenders == Contenders::blocks ? 32u : 64u,
                .blocks = contenders == Contenders::blocks ? 2u : 1u});
}

constexpr Contenders allContenders[] = {Contenders::warps, Contenders::blocks, Contenders::warpsInShared,
                                        Contenders::lanes};

} // namespace

TEST_CASE("a lock without fences protects nothing but volatile data") {
  for (const Contenders contenders : allContenders) {
    CAPTURE(int(contenders));
    CHECK(locked("", ".volatile", "", 1, contenders) == "");
    CHECK_THAT(locked("", "", "", 1, contenders), Contains("race between"));
    for (const char *fence : {"membar.gl;", "fence.acq_rel.gpu;", "fence.sc.gpu;"})
      for (const char *access : {".volatile", ""})
        for (const unsigned rounds : {1u, 3u})
          CHECK(locked(fence, access, fence, rounds, contenders) == "");
  }
}

TEST_CASE("a lock needs a fence on both sides") {
  // The one after the acquisition comes before what the lock protects, so it does not release that; in the
  // next round of the same thread it does, but another thread may come between them.
  for (const Contenders contenders : allContenders)
    for (const unsigned rounds : {1u, 2u, 3u}) {
      CAPTURE(int(contenders), rounds);
      CHECK_THAT(locked("fence.acq_rel.gpu;", "", "", rounds, contenders), Contains("race between"));
      CHECK_THAT(locked("", "", "fence.acq_rel.gpu;", rounds, contenders), Contains("race between"));
    }
  CHECK(locked("fence.acq_rel.gpu;", ".relaxed.gpu", "") == "");
}

TEST_CASE("an access of a lane is not forgotten after a stronger one of its own") {
  for (const char *space : {"shared", "global"}) {
    INFO(space);
    const auto body = [](const std::string &first, const std::string &between) {
      return "@%p1 " + first + between + "@%p1 atom.{s}.add.u32 %r1, [%base], 1;" +
             "@%p2 atom.{s}.add.u32 %r2, [%base], 1;";
    };
    CHECK_THAT(twoWarps(body("st.{s}.b32 [%base], 3;", ""), space),
               Contains("race between the atomic access of") && Contains("and the write by 'st."));
    CHECK_THAT(twoWarps("@%p1 ld.{s}.b32 %r3, [%base]; @%p1 ld.relaxed.cta.{s}.b32 %r4, [%base];"
                        "@%p2 atom.{s}.add.u32 %r2, [%base], 1;",
                        space),
               Contains("race between the atomic access of") && Contains("and the read by 'ld."));
    CHECK(twoWarps(body("st.{s}.b32 [%base], 3;", "bar.sync 0;"), space) == "");
    CHECK(twoWarps(body("ld.{s}.b32 %r3, [%base];", "bar.sync 0;"), space) == "");
    // One lane sets it, all of its warp add.
    CHECK_THAT(twoWarps("@%p1 st.{s}.b32 [%base], 0; atom.{s}.add.u32 %r1, [%base], 1;", space),
               Contains("bar.warp.sync in warp 1 between them"));
    // A whole line after a part of it.
    CHECK_THAT(twoWarps("@%p1 st.{s}.b32 [%base+4], 3; @%p1 atom.{s}.add.u32 %r1, [%base+4], 1; bar.sync 0;"
                        "@%p2 st.{s}.v4.b32 [%base], {{%t, %t, %t, %t}}; @%p1 ld.{s}.b32 %r1, [%base+8];",
                        space),
               Contains("at which warp 1 waits for warp 0") || Contains("at which warp 0 waits for warp 1"));
  }
}
