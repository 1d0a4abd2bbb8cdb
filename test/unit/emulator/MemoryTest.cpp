// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loads, stores, atomics and addresses; what goes wrong with them.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>

using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

TEST_CASE("128-bit exchange and compare, sums that flush in global memory only") {
  const auto swapped = output({.body = R"(
    .reg .b128 %q<3>;
    mov.b128 %q1, {1, 2}; mov.b128 %q2, {3, 4};
    st.global.v2.b64 [%out], {1, 2};
    atom.global.cas.b128 %q0, [%out], %q1, %q2;
    mov.b128 {%d1, %d2}, %q0;
    atom.cas.b128 %q0, [%out], %q1, %q1;
    mov.b128 {%d3, %d4}, %q0;
    st.global.v4.u32 [%out+16], {0, 0, 0, 0};
    atom.exch.b128 %q0, [%out+16], %q2;
    st.global.v2.b64 [%out+32], {%d1, %d2};
    st.global.v2.b64 [%out+48], {%d3, %d4};
  )",
                               .threads = 1});
  const std::vector<uint32_t> expected = {3, 0, 4, 0, 3, 0, 4, 0, 1, 0, 2, 0, 3, 0, 4, 0};
  CHECK(std::vector<uint32_t>(swapped.begin(), swapped.begin() + 16) == expected);
  const auto sums = output({.body = R"(
    .shared .align 4 .b32 word;
    st.shared.b32 [word], 1; st.global.b32 [%out+4], 0x80000001;
    red.shared.add.f32 [word], 0f00000002;
    red.global.add.f32 [%out+4], 0f80000002;
    ld.shared.b32 %r1, [word];
    st.global.b32 [%out], %r1;
  )",
                            .threads = 1});
  CHECK(sums[0] == 3);
  CHECK(sums[1] == 0x80000000);
}

TEST_CASE("loads extend to wider registers, stores truncate") {
  CHECK(compute("ld.global.s8 %r1, [%in]; mov.b32 %d, %r1;", 32, {b32(0x80)}) == 0xFFFFFF80);
  CHECK(compute("ld.global.u16 %d, [%in];", 64, {b32(0xFFFF8001)}) == 0x8001);
  CHECK(compute("st.global.b8 [%out+8], %a; ld.global.nc.b32 %d, [%out+8];", 32, {b32(0x1234)}) ==
        0xDDDDDD34);
  // A constant is as wide as the registers beside it.
  CHECK(compute("st.global.v4.b8 [%out+8], {%a, 1, -2, %a}; ld.global.nc.b32 %d, [%out+8];", 32,
                {b32(0x1234)}) == 0x34FE0134);
}

TEST_CASE("addresses of 32 bits wrap around") {
  const auto out = output({.body = R"(
    .shared .align 4 .b32 word;
    mov.b32 %r1, word; sub.u32 %r1, %r1, 65536;
    st.shared.b32 [%r1+65536], 7;
    ld.shared.b32 %r2, [word];
    st.global.b32 [%out], %r2;
  )",
                           .threads = 1});
  CHECK(out[0] == 7);
}

TEST_CASE("vector accesses in every space and with every qualifier") {
  const auto out = output({.body = R"(
    .shared .align 16 .b8 buffer[64];
    .local .align 16 .b8 stack[32];
    .reg .b64 %sp;
    ld.global.nc.L1::no_allocate.L2::128B.v4.b32 {%r1, %r2, %r3, %r4}, [%in];
    mov.b64 %d1, buffer;
    st.shared.v2.b32 [%d1+8], {%r3, %r4};
    st.volatile.shared.b32 [buffer], %r1;
    ld.relaxed.cta.shared::cta.b32 %r5, [buffer+12];
    cvta.shared.u64 %d2, %d1;
    ld.b32 %r6, [%d2];
    mov.b64 %sp, stack;
    st.local.v2.b64 [%sp], {%d1, %d2};
    cvta.local.u64 %d3, %sp;
    ld.b64 %d4, [%d3+8];
    ld.acquire.gpu.b32 %r7, [%d4];
    createpolicy.fractional.L2::evict_first.b64 %d5, 1.0;
    st.global.L2::cache_hint.v4.b32 [%out], {%r5, %r6, %r7, %r2}, %d5;
  )",
                           .threads = 1,
                           .in = {11, 22, 33, 44}});
  CHECK(out[0] == 44);
  CHECK(out[1] == 11);
  CHECK(out[2] == 11);
  CHECK(out[3] == 22);
}

TEST_CASE("module variables with initialisers") {
  const auto out = output({.body = R"(
    ld.const.f32 %r1, [table+4];
    ld.global.b64 %d1, [pointer];
    ld.global.u16 %r2, [%d1+2];
    st.global.b32 [%out], %r1;
    st.global.b32 [%out+4], %r2;
  )",
                           .header = R"(.const .align 4 .f32 table[2] = {1.5, 0f40200000};
.global .align 2 .u16 words[3] = {1, 0x22, 3};
.visible .global .align 8 .u64 pointer = generic(words);)",
                           .threads = 1});
  CHECK(out[0] == bits(2.5f));
  CHECK(out[1] == 0x22);
}

TEST_CASE("atomics return the old value") {
  const auto out = output({.body = R"(
    mov.b32 %r1, 0;
    st.global.b32 [%out+512], %r1;
    bar.sync 0;
    atom.global.add.u32 %r2, [%out+512], 1;
    atom.global.or.b32 %r2, [%out+516], 1;
    red.relaxed.gpu.global.max.s32 [%out+520], %t;
    st.global.b32 [%mine], %r2;
  )",
                           .threads = 64});
  CHECK(out[128] == 64);
  CHECK(out[129] == 0xDDDDDDDD);
  CHECK(out[130] == 63);
}

TEST_CASE("atomics of every operation") {
  const auto atomic = [](std::string_view text, Value old, Value operand) {
    return compute("st.global.b32 [%out], %a; " + std::string(text) + " ld.global.b32 %d, [%out];", 32,
                   {old, operand});
  };
  CHECK(atomic("red.global.inc.u32 [%out], %b;", b32(5), b32(5)) == 0);
  CHECK(atomic("red.global.dec.u32 [%out], %b;", b32(0), b32(5)) == 5);
  CHECK(atomic("red.global.min.s32 [%out], %b;", b32(3), b32(uint32_t(-2))) == uint32_t(-2));
  CHECK(atomic("red.global.and.b32 [%out], %b;", b32(6), b32(3)) == 2);
  CHECK(atomic("red.global.xor.b32 [%out], %b;", b32(6), b32(3)) == 5);
  CHECK(atomic("atom.global.exch.b32 %r1, [%out], %b;", b32(6), b32(3)) == 3);
  CHECK(atomic("atom.global.cas.b32 %r1, [%out], 6, %b;", b32(6), b32(3)) == 3);
  CHECK(atomic("atom.acq_rel.gpu.global.cas.b32 %r1, [%out], 7, %b;", b32(6), b32(3)) == 6);
  CHECK(atomic("red.global.add.f32 [%out], %b;", f32(1.5f), f32(2)) == bits(3.5f));
  CHECK(atomic("red.global.add.noftz.f16x2 [%out], %b;", b32(0x3C003C00), b32(0x3C004000)) == 0x40004200);
  CHECK(atomic("red.global.add.noftz.bf16x2 [%out], %b;", b32(0x3F803F80), b32(0x3F804000)) == 0x40004040);
  CHECK(compute("st.global.b64 [%out], %a; red.global.add.f64 [%out], %b; ld.global.b64 %d, [%out];", 64,
                {f64(1), f64(2)}) == bits(3.0));
  CHECK(compute("st.global.b64 [%out], %a; red.global.add.v2.f32 [%out], {%b, %b}; ld.global.b64 %d, [%out];",
                64, {b64(0x3F80000040000000), f32(1)}) == 0x4000000040400000);
}

TEST_CASE("generic addresses tell their space") {
  const auto out = output({.body = R"(
    .shared .b32 s;
    mov.b64 %d1, s; cvta.shared.u64 %d2, %d1;
    isspacep.shared %p1, %d2; isspacep.global %p2, %d2; isspacep.global %p3, %out;
    selp.b32 %r1, 1, 0, %p1; selp.b32 %r2, 1, 0, %p2; selp.b32 %r3, 1, 0, %p3;
    cvta.to.shared.u64 %d3, %d2; sub.s64 %d3, %d3, %d1; cvt.u32.u64 %r4, %d3;
    st.global.b32 [%out], %r1; st.global.b32 [%out+4], %r2; st.global.b32 [%out+8], %r3; st.global.b32 [%out+12], %r4;
  )",
                           .threads = 1});
  CHECK(out[0] == 1);
  CHECK(out[1] == 0);
  CHECK(out[2] == 1);
  CHECK(out[3] == 0);
}

TEST_CASE("shared memory of another block of the cluster") {
  // Each block writes its rank into the other's memory, and reads what it got.
  const auto out = output({.body = R"(
    .shared .b32 s;
    mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1;
    mov.b64 %d1, s; mapa.shared::cluster.u64 %d2, %d1, %r2;
    getctarank.shared::cluster.u64 %r5, %d2;
    st.shared::cluster.b32 [%d2], %r1;
    barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
    ld.shared.b32 %r3, [s];
    mov.u32 %r4, %ctaid.x; mad.wide.u32 %d3, %r4, 8, %out;
    st.global.b32 [%d3], %r3; st.global.b32 [%d3+4], %r5;
  )",
                           .threads = 32,
                           .blocks = 4,
                           .cluster = 2});
  for (unsigned block = 0; block < 4; ++block) {
    CHECK(out[2 * block] == (block ^ 1) % 2);
    CHECK(out[2 * block + 1] == (block ^ 1) % 2);
  }
}

TEST_CASE("an access out of bounds is reported with its place in the source") {
  const std::string message = failure({.body = R"(
    .loc 1 42 7
    st.global.b32 [%out+1024], %t;
  )",
                                       .header = ".file 1 \"kernel.cpp\"",
                                       .threads = 1});
  CHECK_THAT(message,
             Contains("kernel.cpp:42:7: out-of-bounds write of 4 bytes by lane 0 at global address"));
  CHECK_THAT(message, Contains("offset 1024 of the allocation of 1024 bytes"));
  CHECK_THAT(message, Contains("'st.global.b32' at PTX line"));
  CHECK_THAT(message, Contains("of 'k', block (0, 0, 0), warp 0"));
}

TEST_CASE("out of bounds in the other spaces") {
  CHECK_THAT(
      failure({.body = "mov.b64 %d1, dyn; ld.shared.b32 %r1, [%d1+253];",
               .header = ".extern .shared .align 16 .b8 dyn[];",
               .sharedBytes = 256}),
      Contains("out-of-bounds read of 4 bytes by lane 0 at shared offset 253, the block has 256 bytes"));
  CHECK_THAT(failure({.body = ".local .b32 x; mov.b64 %d1, x; st.local.b64 [%d1+16], %d1;"}),
             Contains("out-of-bounds write of 8 bytes by lane 0 at local offset 16, the thread has 4 bytes"));
  CHECK_THAT(
      failure({.body = "ld.param.b32 %r1, [out+16];"}),
      Contains("out-of-bounds read of 4 bytes by lane 0 at parameter offset 16, the entry has 16 bytes"));
  CHECK_THAT(failure({.body = "mov.b64 %d1, 64; ld.global.b32 %r1, [%d1];"}),
             Contains("out-of-bounds read of 4 bytes by lane 0 at offset 64 of a null pointer"));
}

TEST_CASE("a misaligned access is reported") {
  CHECK_THAT(failure({.body = "ld.global.b32 %r1, [%in+2];", .in = {1, 2}}),
             Contains("misaligned read of 4 bytes by lane 0"));
  CHECK_THAT(
      failure({.body = ".shared .align 16 .b8 s[64]; st.shared.v4.b32 [s+8], {%t, %t, %t, %t};"}),
      Contains("misaligned write of 16 bytes by lane 0 at shared offset 8, which must be a multiple of 16"));
}

TEST_CASE("st.bulk stores zeros, asynchronous stores to global memory are done: sm_100") {
  const auto out = output({.body = R"(
    .shared .align 16 .b8 zeros[128];
    mov.u32 %r1, zeros; mad.lo.u32 %r2, %t, 4, %r1; mov.b32 %r3, 7; st.shared.b32 [%r2], %r3;
    bar.sync 0;
    setp.eq.u32 %p1, %t, 0;
    @%p1 st.bulk.weak.shared::cta [%r1+16], 24, 0;
    @%p1 st.async.mmio.release.gpu.global.b32 [%out+256], 11;
    @%p1 red.async.mmio.release.sys.global.add.u32 [%out+256], 2;
    bar.sync 0;
    ld.shared.b32 %r3, [%r2]; st.global.b32 [%mine], %r3;
  )",
                           .target = "sm_100a"});
  for (unsigned lane = 0; lane < 32; ++lane)
    CHECK(out[lane] == (lane >= 4 && lane < 10 ? 0 : 7));
  CHECK(out[64] == 13);
  CHECK_THAT(
      failure(
          {.body = ".shared .align 16 .b8 zeros[128]; mov.u32 %r1, zeros; st.bulk.shared::cta [%r1], 12, 0;",
           .target = "sm_100a"}),
      Contains("12 bytes in lane 0 are not a multiple of 8"));
}

TEST_CASE("a kernel changes and publishes a tensor map, but nothing else") {
  const std::string text = R"(
    .shared .align 128 .b8 map[128];
    mov.u32 %r1, map; mad.lo.u32 %r2, %t, 4, %r1; st.shared.b32 [%r2], 0;
    bar.sync 0;
    tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r1], 1;
  )";
  CHECK_THAT(failure({.body = text}), Contains("the 128 bytes are no tensor map of this device"));
  CHECK_THAT(failure({.body = "tensormap.replace.tile.global_stride.global.b1024.b64 [%out], 4, %d1;"}),
             Contains("has axes 0 to 3, but got 4"));
}

TEST_CASE("null pointers are called null") {
  CHECK_THAT(failure({.body = "mov.u64 %d1, 0; ld.global.b32 %r1, [%d1];"}),
             Contains("out-of-bounds read of 4 bytes by lane 0 at a null pointer ('ld.global.b32'"));
  CHECK_THAT(
      failure({.body = "mov.u64 %d1, 0; st.global.b32 [%d1+16], %t;"}),
      Contains("out-of-bounds write of 4 bytes by lane 0 at offset 16 of a null pointer ('st.global.b32'"));
}

TEST_CASE("reserved shared memory is there for programs that ask where it lies") {
  const std::string use =
      "setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [%r1], 7; @%p1 ld.shared.u32 %r2, [%r1];"
      "@%p1 st.global.u32 [%out], %r2;";
  CHECK(output({.body = "mov.u32 %r1, %reserved_smem_offset_1;" + use})[0] == 7);
  CHECK(check({.body = "mov.u32 %r1, %reserved_smem_offset_end; sub.u32 %r1, %r1, 4;" + use}) == "");
  CHECK_THAT(failure({.body = "mov.u32 %r1, 256;" + use}), Contains("out-of-bounds write of 4 bytes"));
}

TEST_CASE("a block finds nothing of the blocks before it in its registers and its memory") {
  const auto out = output({.body = R"(
    .shared .align 4 .b32 shared;
    .local .align 4 .b32 local;
    mov.u32 %r1, %ctaid.x; mad.wide.u32 %d1, %r1, 12, %out;
    ld.shared.b32 %r2, [shared]; ld.local.b32 %r3, [local];
    st.global.b32 [%d1], %r2; st.global.b32 [%d1+4], %r3; st.global.b32 [%d1+8], %r4;
    st.shared.b32 [shared], 7; st.local.b32 [local], 7; mov.u32 %r4, 7;
  )",
                           .threads = 1,
                           .blocks = 8});
  for (unsigned block = 0; block < 8; ++block) {
    CHECK(out[3 * block] == 0xFFFFFFFF);
    CHECK(out[3 * block + 1] == 0);
    CHECK(out[3 * block + 2] == 0);
  }
}

TEST_CASE("cache hints take policies that createpolicy makes, and change nothing") {
  const auto out = output({.body = R"(
    .shared .align 16 .b8 buffer[16];
    createpolicy.fractional.L2::evict_first.b64 %d1;
    createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %d2, 0.5;
    createpolicy.fractional.L2::evict_normal.b64 %d3, 1.0;
    mov.b64 %d4, buffer;
    cp.async.cg.shared.global.L2::cache_hint [%d4], [%in], 16, %d1;
    cp.async.ca.shared.global.L2::cache_hint [%d4], [%in], 4, 4, %d2;
    cp.async.wait_all;
    ld.shared.b32 %r1, [%d4+4];
    ld.global.L2::cache_hint.b32 %r2, [%in+8], %d2;
    setp.eq.b32 %p1, %r2, 0;
    @%p1 st.global.L2::cache_hint.b32 [%out], %r2, %d5; // nothing has written that register
    st.global.L2::cache_hint.v2.b32 [%out], {%r1, %r2}, %d3;
    red.relaxed.gpu.global.add.L2::cache_hint.u32 [%out+4], 1, %d1;
  )",
                           .threads = 1,
                           .in = {11, 22, 33, 44}});
  CHECK(out[0] == 22);
  CHECK(out[1] == 34);
  CHECK_THAT(failure({.body = "mov.b64 %d1, 0; ld.global.L2::cache_hint.b32 %r1, [%in], %d1;", .threads = 1}),
             Contains("the cache policy 0x0 in lane 0 is none that createpolicy makes"));
  CHECK_THAT(failure({.body = "st.global.L2::cache_hint.b32 [%out], %t, %out;", .threads = 1}),
             Contains("in lane 0 is none that createpolicy makes"));
  CHECK_THAT(failure({.body = "mov.b64 %d1, 0; createpolicy.fractional.L2::evict_first.b64 %d2; "
                              "setp.eq.u32 %p1, %t, 7; selp.b64 %d3, %d1, %d2, %p1; "
                              "red.global.add.L2::cache_hint.u32 [%out], 1, %d3;",
                      .threads = 32}),
             Contains("the cache policy 0x0 in lane 7 is none that createpolicy makes"));
  CHECK_THAT(failure({.body = "st.global.L2::cache_hint.b32 [%out], %t;", .threads = 1}),
             Contains("'st.global.L2::cache_hint.b32'"));
}
