// SPDX-License-Identifier: Apache-2.0
/// \file
/// The checker between the blocks of a cluster: how far scopes reach.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

const std::string meet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";

/// The first thread of block 1 writes a word of block 0's memory and says so, block 0 waits and reads it.
std::string passing(const std::string &say, const std::string &wait) {
  return check({.body = R"(
    .shared .align 8 .b64 bar; .shared .align 4 .b32 word; .shared .align 4 .b32 flag;
    .reg .b32 %rank, %word, %flag, %bar;
    mov.u32 %rank, %cluster_ctarank; setp.eq.u32 %p1, %t, 0; setp.ne.u32 %p2, %rank, 0;
    mov.u32 %r1, word; mapa.shared::cluster.u32 %word, %r1, 0; mov.u32 %r1, flag; mapa.shared::cluster.u32 %flag, %r1, 0;
    mov.u32 %r1, bar; mapa.shared::cluster.u32 %bar, %r1, 0;
    @%p1 mbarrier.init.shared.b64 [bar], 1; @%p1 st.shared.b32 [flag], 0;
)" + meet + R"(
    @!%p1 bra $end; mov.b32 %r3, 1; @!%p2 bra $first;
    st.shared::cluster.b32 [%word], 7; )" +
                        say + R"( bra $end;
    $first: )" + wait + R"(
    ld.shared.b32 %r4, [word];
    $end:
)" + meet,
                .blocks = 2,
                .cluster = 2});
}

const std::string words =
    "missing: scope .cluster, or wider, at both ends of the synchronisation between these blocks";

} // namespace

TEST_CASE("a flag in shared memory reaches as far as its scopes") {
  const auto set = [](std::string_view scope) {
    return "st.release." + std::string(scope) + ".shared::cluster.b32 [%flag], %r3;";
  };
  const auto poll = [](std::string_view scope) {
    return "$poll: ld.acquire." + std::string(scope) +
           ".shared.b32 %r5, [flag]; setp.ne.u32 %p3, %r5, 1; @%p3 bra $poll;";
  };
  for (const char *scope : {"cluster", "gpu", "sys"})
    CHECK(passing(set(scope), poll(scope)) == "");
  CHECK_THAT(passing(set("cta"), poll("cluster")),
             Contains("race between the read of shared offset") && Contains(words));
  CHECK_THAT(passing(set("cluster"), poll("cta")), Contains(words));
}

TEST_CASE("an mbarrier reaches as far as the scopes that its operations name") {
  const auto arrive = [](const std::string &how) {
    return "mbarrier.arrive" + how + ".shared::cluster.b64 _, [%bar];";
  };
  const auto wait = [](const std::string &how) {
    return "$wait: mbarrier.try_wait.parity" + how + ".shared::cta.b64 %p3, [bar], 0; @!%p3 bra $wait;";
  };
  CHECK(passing(arrive(".release.cluster"), wait(".acquire.cluster")) == "");
  // What names none is taken to reach the cluster, as programs rely on it.
  CHECK(passing(arrive(""), wait("")) == "");
  CHECK_THAT(passing(arrive(".release.cta"), wait(".acquire.cluster")), Contains(words));
  CHECK_THAT(passing(arrive(".release.cluster"), wait(".acquire.cta")), Contains(words));
}

TEST_CASE("inside a block the narrowest scope is enough") {
  const auto kernel = [](const std::string &set, const std::string &get) {
    return check({.body = R"(
      .shared .align 4 .b32 word; .shared .align 4 .b32 flag;
      setp.eq.u32 %p1, %t, 0; setp.eq.u32 %p2, %t, 32; @%p1 st.shared.b32 [flag], 0; bar.sync 0; mov.b32 %r3, 1;
      @%p1 bra $write; @%p2 bra $read; bra $end;
      $write: st.shared.b32 [word], 7; )" +
                          set + R"( bra $end;
      $read: )" + get + R"( setp.ne.u32 %p3, %r5, 1; @%p3 bra $read; ld.shared.b32 %r4, [word];
      $end:
)" + meet,
                  .threads = 64,
                  .blocks = 2,
                  .cluster = 2});
  };
  CHECK(kernel("st.release.cta.shared.b32 [flag], %r3;", "ld.acquire.cta.shared.b32 %r5, [flag];") == "");
  CHECK_THAT(kernel("st.relaxed.cta.shared.b32 [flag], %r3;", "ld.acquire.cta.shared.b32 %r5, [flag];"),
             Contains("a barrier or mbarrier at which warp 1"));
}
