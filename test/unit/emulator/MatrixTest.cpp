// SPDX-License-Identifier: Apache-2.0
/// \file
/// Matrix instructions as the scheduler runs them; what they compute is tested
/// with the functions themselves.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>

using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

TEST_CASE("stmatrix and ldmatrix agree; trans and movmatrix transpose") {
  const auto out = output({.body = R"(
    .shared .align 128 .b8 s[512];
    mov.b64 %d1, s;
    // Element (row, column) of the matrix is 256 * row + column.
    shr.u32 %r1, %t, 2; and.b32 %r2, %t, 3; shl.b32 %r2, %r2, 1; shl.b32 %r3, %r1, 8;
    add.u32 %r4, %r3, %r2; add.u32 %r5, %r4, 1; shl.b32 %r5, %r5, 16; or.b32 %r6, %r4, %r5;
    and.b32 %r7, %t, 7; mad.wide.u32 %d2, %r7, 16, %d1;
    stmatrix.sync.aligned.m8n8.x1.shared.b16 [%d2], {%r6};
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r8}, [%d2];
    ldmatrix.sync.aligned.m8n8.x1.trans.shared::cta.b16 {%r9}, [%d2];
    movmatrix.sync.aligned.m8n8.trans.b16 %r10, %r6;
    st.global.b32 [%mine], %r6; st.global.b32 [%mine+128], %r8; st.global.b32 [%mine+256], %r9; st.global.b32 [%mine+384], %r10;
  )"});
  for (unsigned l = 0; l < 32; ++l) {
    CHECK(out[32 + l] == out[l]);
    // Lane l has row l / 4 of the transpose: column l / 4, rows 2 (l % 4) and the next.
    const uint32_t even = 2 * (l % 4) * 256 + l / 4;
    CHECK(out[64 + l] == ((even + 256) << 16 | even));
    CHECK(out[96 + l] == out[64 + l]);
  }
}

TEST_CASE("stmatrix writes columns of bytes, ldmatrix reads them as rows, and widens packed elements") {
  const auto out = output({.body = R"(
    .shared .align 128 .b8 s[512];
    mov.b64 %d1, s; mad.wide.u32 %d2, %t, 16, %d1;
    // Byte i of lane l is 4 l + i; 16 rows of shared memory are 16 columns of two matrices.
    shl.b32 %r1, %t, 2; mad.lo.u32 %r2, %r1, 0x01010101, 0x03020100; not.b32 %r3, %r2;
    stmatrix.sync.aligned.m16n8.x2.trans.shared.b8 [%d2], {%r2, %r3};
    ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r4, %r5}, [%d2];
    ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b4x16_p64 {%r6, %r7}, [%d2];
    ldmatrix.sync.aligned.m16n16.x1.trans.shared::cta.b8x16.b6x16_p32 {%r8, %r9}, [%d2];
    st.global.b32 [%mine], %r4; st.global.b32 [%mine+128], %r5; st.global.b32 [%mine+256], %r6;
    st.global.b32 [%mine+384], %r7; st.global.b32 [%mine+512], %r8;
  )",
                           .target = "sm_100a"});
  // Byte `row` of shared row `column`.
  const auto byteAt = [](unsigned column, unsigned row) {
    const unsigned lane = row % 8 * 4 + column % 8 / 2, byte = row / 8 * 2 + column % 2,
                   value = 4 * lane + byte;
    return column < 8 ? value : ~value & 0xFF;
  };
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned column = l % 4 * 4 + i, row = l / 4;
      CHECK((out[l] >> 8 * i & 0xFF) == byteAt(column, row));
      CHECK((out[32 + l] >> 8 * i & 0xFF) == byteAt(column, row + 8));
      for (unsigned matrix = 0; matrix < 2; ++matrix)
        CHECK((out[(2 + matrix) * 32 + l] >> 8 * i & 0xFF) ==
              (byteAt(8 * matrix + row, column / 2) >> 4 * (column % 2) & 0xF));
      const unsigned bit = 6 * row, pair = byteAt(column, bit / 8) | byteAt(column, bit / 8 + 1) << 8;
      CHECK((out[128 + l] >> 8 * i & 0xFF) == (pair >> bit % 8 & 0x3F));
    }
  for (std::string_view form : {"m8n8.x1.shared.b8", "m16n16.x1.shared.b8", "m16n16.x4.trans.shared.b8",
                                "m8n16.x1.trans.shared.b8x16.b4x16_p64", "m8n16.x1.shared.b4x16_p64",
                                "m16n16.x1.trans.shared.b16", "m16n8.x1.trans.shared.b8"})
    CHECK_THAT(failure({.body = "ldmatrix.sync.aligned." + std::string(form) + " {%r1, %r2}, [%d1];",
                        .target = "sm_100a"}),
               Contains("is not a known form"));
  CHECK_THAT(
      failure({.body = "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1}, [%d1];", .target = "sm_100a"}),
      Contains("moves 2 registers, but got 1"));
}

TEST_CASE("mma.sync multiplies and adds") {
  const auto out = output({.body = R"(
    mov.b32 %r1, 0x3F803F80; mov.b32 %r2, 0x40004000; mov.b32 %r3, 0f3F000000;
    mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r4, %r5, %r6, %r7}, {%r1, %r1, %r1, %r1}, {%r2, %r2}, {%r3, %r3, %r3, %r3};
    st.global.b32 [%mine], %r7;
  )"});
  for (unsigned l = 0; l < 32; ++l)
    CHECK(out[l] == bits(32.5f));
}

namespace {

/// A is all ones, B all twos, both 16-byte rows of bf16 in shared memory; %d11
/// and %d12 are their descriptors. Threads of one warpgroup.
const std::string operands = R"(
    .shared .align 1024 .b8 s[4096];
    .reg .b64 %s; mov.b64 %s, s;
    mad.wide.u32 %d1, %t, 16, %s;
    mov.b32 %r1, 0x3F803F80; mov.b32 %r2, 0x40004000;
    st.shared.v4.b32 [%d1], {%r1, %r1, %r1, %r1};
    st.shared.v4.b32 [%d1+2048], {%r2, %r2, %r2, %r2};
    fence.proxy.async; bar.sync 0;
    shr.u64 %d11, %s, 4; add.s64 %d12, %d11, 128;
    // Leading and stride offsets: 128 and 256 bytes.
    or.b64 %d11, %d11, 0x0000001000080000; or.b64 %d12, %d12, 0x0000001000080000;
    mov.b32 %r10, 0; mov.b32 %r11, 0; mov.b32 %r12, 0; mov.b32 %r13, 0;
    setp.eq.u32 %p2, %t, %t;
)";

} // namespace

TEST_CASE("wgmma accumulates once it is waited for") {
  const auto out = output({.body = operands + R"(
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r10, %r11, %r12, %r13}, %d11, %d12, 0, 1, 1, 0, 0;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r10, %r11, %r12, %r13}, %d11, %d12, %p2, -1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r10, %r11, %r12, %r13}, {%r1, %r1, %r1, %r1}, %d12, %p2, 1, 1, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 1;
    mov.b32 %r20, %r13;
    wgmma.wait_group.sync.aligned 0;
    st.global.b32 [%mine], %r20; st.global.b32 [%mine+512], %r13;
  )",
                           .threads = 128});
  for (unsigned t = 0; t < 128; ++t) {
    CHECK(out[t] == bits(0.0f));
    CHECK(out[128 + t] == bits(32.0f));
  }
}

TEST_CASE("wgmma of a sparse A") {
  // Of each four elements of a row the second and the last are stored.
  const std::string product = R"(
    mov.b32 %r3, 0xDDDDDDDD;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16 {%r10, %r11, %r12, %r13}, %d11, %d12, %r3, 0, 0, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;)";
  const auto out = output({.body = operands + product + R"(
    wgmma.wait_group.sync.aligned 0;
    st.global.b32 [%mine], %r13;
  )",
                           .threads = 128});
  for (unsigned t = 0; t < 128; ++t)
    CHECK(out[t] == bits(32.0f));
  CHECK_THAT(failure({.body = operands + R"(
    mov.b32 %r3, 0xDDDD0DDD; wgmma.fence.sync.aligned;
    wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16 {%r10, %r11, %r12, %r13}, %d11, %d12, %r3, 1, 0, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;)",
                      .threads = 128}),
             Contains("the metadata of row 0, group 3 is 0000, but needs two places, the smaller one lower"));
}

TEST_CASE("wgmma that is used wrongly") {
  CHECK_THAT(failure({.body = operands + R"(
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r10, %r11, %r12, %r13}, %d11, %d12, 1, 1, 1, 0, 0;)",
                      .threads = 96}),
             Contains("wgmma needs a whole warpgroup of four warps"));
  CHECK_THAT(failure({.body = operands + R"(
    setp.lt.u32 %p3, %t, 64; selp.b64 %d12, %d12, %d11, %p3;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r10, %r11, %r12, %r13}, %d11, %d12, 1, 1, 1, 0, 0;)",
                      .threads = 128}),
             Contains("the warps of the warpgroup issue different wgmma instructions or operands"));
  CHECK_THAT(failure({.body = operands + R"(
    setp.lt.u32 %p3, %t, 96; @!%p3 exit;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r10, %r11, %r12, %r13}, %d11, %d12, 1, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;)",
                      .threads = 128}),
             Contains("waits for wgmma operations that not all four warps of the warpgroup have issued"));
  CHECK_THAT(failure({.body = operands + R"(
    mov.b64 %d12, 0x3FFF;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r10, %r11, %r12, %r13}, %d11, %d12, 1, 1, 1, 0, 0;)",
                      .threads = 128}),
             Contains("out-of-bounds read of"));
  CHECK_THAT(
      failure(
          {.body =
               "wgmma.mma_async.sync.aligned.m64n12k16.f32.bf16.bf16 {%r10}, %d11, %d12, 1, 1, 1, 0, 0;"}),
      Contains("PTX line"));
}
