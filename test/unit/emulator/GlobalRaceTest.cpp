// SPDX-License-Identifier: Apache-2.0
/// \file
/// The checker in global memory: between warps, between blocks, and between
/// threads and copies.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

/// %p1: thread 0, %p2: not block 0, %p3: not warp 0.
const std::string prepare = R"(
    .reg .b32 %block, %warp;
    mov.u32 %block, %ctaid.x; shr.u32 %warp, %t, 5;
    setp.eq.u32 %p1, %t, 0; setp.ne.u32 %p2, %block, 0; setp.ne.u32 %p3, %warp, 0;
)";

/// Block 0 writes a word and sets a flag, block 1 waits for the flag and reads.
std::string passing(std::string_view write, std::string_view set, std::string_view get,
                    std::string_view after = "") {
  return check({.body = prepare + fmt::format(R"(
    @!%p1 bra $end; mov.b32 %r1, 1;
    @%p2 bra $second;
    {} {} bra $end;
  $second:
    {} setp.ne.u32 %p4, %r2, 1; @%p4 bra $second;
    {} ld.global.b32 %r3, [%out];
  $end:
)",
                                              write, set, get, after),
                .blocks = 2});
}

const std::string writeWord = "st.global.b32 [%out], 7;";

} // namespace

TEST_CASE("blocks that write one word race, also when they write the same") {
  const std::string message = check({.body = prepare + "@%p1 st.global.b32 [%out+64], 7;", .blocks = 2});
  CHECK_THAT(message,
             Contains("race between the write of offset 64 of the allocation of 1024 bytes") &&
                 Contains("and the write by 'st.global.b32'") &&
                 Contains("block (0, 0, 0), warp 0, lane 0") &&
                 Contains("missing: different addresses for two writes of one store: no barrier helps; make "
                          "the positions distinct, or use an atomic access (atomicAdd)") &&
                 Contains("block (1, 0, 0), warp 0, lane 0)"));
  CHECK_THAT(
      check(
          {.body = prepare +
                   "@%p1 bra $end; @%p2 st.global.b32 [%out+64], 7; @!%p2 st.global.b32 [%out+64], 7; $end:",
           .blocks = 2}),
      Contains("missing: a release and an acquire between these blocks"));
  CHECK(check({.body = prepare + "mad.wide.u32 %d1, %block, 128, %mine; st.global.b32 [%d1], 7;",
               .blocks = 2}) == "");
  CHECK_THAT(
      check({.body = prepare +
                     "@!%p1 bra $end; @!%p2 st.global.b32 [%out], 7; @%p2 ld.global.b32 %r1, [%out]; $end:",
             .blocks = 2}),
      Contains("race between the read of offset 0"));
}

TEST_CASE("blocks pass data by a release and an acquire of the device's scope") {
  const std::string release = "st.release.gpu.global.b32 [%out+4], %r1;",
                    acquire = "ld.acquire.gpu.global.b32 %r2, [%out+4];",
                    relaxed = "st.relaxed.gpu.global.b32 [%out+4], %r1;",
                    poll = "ld.relaxed.gpu.global.b32 %r2, [%out+4];";
  CHECK(passing(writeWord, release, acquire) == "");
  CHECK(passing(writeWord, "atom.release.gpu.global.exch.b32 %r9, [%out+4], %r1;", acquire) == "");
  CHECK_THAT(passing(writeWord, relaxed, acquire), Contains("missing: a release and an acquire"));
  CHECK_THAT(passing(writeWord, release, poll), Contains("missing: a release and an acquire"));
  // Fences do it as well, at both ends.
  CHECK(passing(writeWord, "fence.acq_rel.gpu;" + relaxed, poll, "fence.acq_rel.gpu;") == "");
  CHECK(passing(writeWord, "membar.gl; st.volatile.global.b32 [%out+4], %r1;",
                "ld.volatile.global.b32 %r2, [%out+4];", "membar.gl;") == "");
  CHECK_THAT(passing(writeWord, "fence.acq_rel.gpu;" + relaxed, poll),
             Contains("missing: a release and an acquire"));
  CHECK_THAT(passing(writeWord, relaxed, poll, "fence.acq_rel.gpu;"),
             Contains("missing: a release and an acquire"));
}

TEST_CASE("a scope that ends before the other block is said to") {
  const std::string acquire = "ld.acquire.gpu.global.b32 %r2, [%out+4];",
                    release = "st.release.gpu.global.b32 [%out+4], %r1;";
  CHECK_THAT(passing(writeWord, "st.release.cta.global.b32 [%out+4], %r1;", acquire),
             Contains("missing: scope .gpu, or wider, at both ends"));
  CHECK_THAT(passing(writeWord, release, "ld.acquire.cluster.global.b32 %r2, [%out+4];"),
             Contains("missing: scope .gpu, or wider, at both ends"));
}

TEST_CASE("a fence has a scope, too") {
  const std::string set = "st.relaxed.gpu.global.b32 [%out+4], %r1;",
                    poll = "ld.relaxed.gpu.global.b32 %r2, [%out+4];";
  CHECK(passing(writeWord, "membar.gl;" + set, poll, "membar.sys;") == "");
  CHECK_THAT(passing(writeWord, "fence.acq_rel.cluster;" + set, poll, "fence.acq_rel.gpu;"),
             Contains("missing: scope .gpu, or wider, at both ends"));
  CHECK_THAT(passing(writeWord, "fence.acq_rel.gpu;" + set, poll, "membar.cta;"),
             Contains("missing: scope .gpu, or wider, at both ends"));
  // What a wide fence has released, a narrow one after it leaves so.
  CHECK(passing(writeWord, "fence.acq_rel.gpu; membar.cta;" + set, poll, "membar.cta; fence.acq_rel.gpu;") ==
        "");
}

TEST_CASE("atomics of several blocks need a scope that reaches them") {
  const auto count = [](std::string_view scope, uint32_t blocks) {
    return check({.body = prepare + fmt::format("@%p1 red.relaxed.{}.global.add.u32 [%out], 1;", scope),
                  .blocks = blocks});
  };
  CHECK(count("gpu", 2) == "");
  CHECK(count("cta", 1) == "");
  CHECK_THAT(count("cta", 2), Contains("race between the atomic access of offset 0") &&
                                  Contains("missing: scope .gpu, or wider, of both"));
}

TEST_CASE("what a block wrote its first thread may release after a barrier") {
  const auto kernel = [&](std::string_view before) {
    return KernelText{.body = prepare + fmt::format(R"(
    @%p2 bra $second;
    st.global.b32 [%mine], %t; {} @%p1 st.release.gpu.global.b32 [%out+512], 1; bra $end;
  $second:
    @!%p1 bra $together;
  $poll: ld.acquire.gpu.global.b32 %r2, [%out+512]; setp.ne.u32 %p4, %r2, 1; @%p4 bra $poll;
  $together:
    bar.sync 0; ld.global.b32 %r3, [%mine];
  $end:
)",
                                                    before),
                      .threads = 64,
                      .blocks = 2};
  };
  CHECK(check(kernel("bar.sync 0;")) == "");
  CHECK_THAT(check(kernel("")), Contains("race between the read of offset"));
}

TEST_CASE("warps of a block are ordered in global memory as in shared") {
  const auto kernel = [&](std::string_view sync) {
    return KernelText{.body =
                          prepare + "st.global.b32 [%mine], %t;" + std::string(sync) +
                          "xor.b32 %r1, %t, 32; mad.wide.u32 %d1, %r1, 4, %out; ld.global.b32 %r2, [%d1];",
                      .threads = 64};
  };
  CHECK(check(kernel("bar.sync 0;")) == "");
  CHECK_THAT(check(kernel("")), Contains("a barrier or mbarrier at which warp 1 waits for warp 0"));
}

TEST_CASE("a copy of global memory that threads wrote needs a proxy fence") {
  const auto kernel = [&](std::string_view fence) {
    return KernelText{
        .body = ".shared .align 8 .b64 bar; .shared .align 128 .b8 s[256]; .reg .b64 %s, %bar;" + prepare +
                fmt::format(R"(
    mov.b64 %s, s; mov.b64 %bar, bar;
    @%p1 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; st.global.b32 [%mine], %t;
    {} bar.sync 0;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%out], 128, [%bar];
  $wait: mbarrier.try_wait.parity.shared.b64 %p9, [bar], 0; @!%p9 bra $wait;
)",
                            fence)};
  };
  CHECK(check(kernel("fence.proxy.async;")) == "");
  CHECK_THAT(check(kernel("")), Contains("proxy race between the asynchronous read of offset 0"));
}

TEST_CASE("what a bulk copy writes is read after its wait_group, not that of its reads") {
  const auto kernel = [&](std::string_view wait) {
    return KernelText{.body = ".shared .align 128 .b8 s[256]; .reg .b64 %s, %at;" + prepare +
                              fmt::format(R"(
    mov.b64 %s, s; mad.wide.u32 %at, %t, 4, %s; st.shared.b32 [%at], %t; fence.proxy.async; bar.sync 0;
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], 128;
    @%p1 cp.async.bulk.commit_group; {} bar.sync 0;
    ld.global.b32 %r2, [%mine]; cp.async.bulk.wait_group 0;
)",
                                          wait)};
  };
  CHECK(check(kernel("@%p1 cp.async.bulk.wait_group 0;")) == "");
  CHECK_THAT(check(kernel("@%p1 cp.async.bulk.wait_group.read 0;")),
             Contains("missing: cp.async.bulk.wait_group in warp 0 ("));
}
