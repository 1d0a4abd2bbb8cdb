// SPDX-License-Identifier: Apache-2.0
/// \file
/// Launches whose blocks all wait for each other.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

/// A barrier of the grid as CUDA's cooperative groups have it: one thread of each block adds to a word of the
/// launch's workspace, so that its highest bit turns when all have; block 0 adds what the others leave.
std::string gridBarrier(int number) {
  return fmt::format(R"(
    mov.u32 %r20, %envreg2;
    cvt.u64.u32 %d20, %r20;
    mov.u32 %r21, %envreg1;
    cvt.u64.u32 %d21, %r21;
    bfi.b64 %d20, %d21, %d20, 32, 32;
    setp.ne.s64 %p10, %d20, 0;
    @%p10 bra $given{0};
    trap;
  $given{0}:
    add.s64 %d20, %d20, 4;
    barrier.sync 0;
    setp.ne.u32 %p11, %t, 0;
    @%p11 bra $passed{0};
    mov.u32 %r22, %nctaid.x;
    mov.u32 %r23, %ctaid.x;
    setp.eq.u32 %p12, %r23, 0;
    sub.s32 %r24, -2147483647, %r22;
    selp.b32 %r24, %r24, 1, %p12;
    atom.add.release.gpu.u32 %r25, [%d20], %r24;
  $wait{0}:
    ld.acquire.gpu.u32 %r26, [%d20];
    xor.b32 %r27, %r26, %r25;
    setp.gt.s32 %p13, %r27, -1;
    @%p13 bra $wait{0};
  $passed{0}:
    barrier.sync 0;
)",
                     number);
}

/// Each block writes its number, then reads that of the block after it, twice over.
KernelText ring(uint32_t blocks) {
  return {.body = R"(
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %nctaid.x;
    mul.wide.u32 %d1, %r1, 4;
    add.u64 %d1, %out, %d1;
    add.u32 %r3, %r1, 1;
    rem.u32 %r3, %r3, %r2;
    mul.wide.u32 %d2, %r3, 4;
    add.u64 %d2, %out, %d2;
    setp.eq.u32 %p1, %t, 0;
    @%p1 st.global.u32 [%d1], %r1;
)" + gridBarrier(0) +
                  "ld.global.u32 %r4, [%d2];\n" + gridBarrier(1) + "@%p1 st.global.u32 [%d1], %r4;\n",
          .threads = 64,
          .blocks = blocks,
          .cooperative = true};
}

} // namespace

TEST_CASE("blocks of a cooperative launch wait for each other", "[cooperative]") {
  for (const uint32_t blocks : {1u, 2u, 100u}) {
    INFO(blocks);
    KernelText kernel = ring(blocks);
    const auto out = output(kernel);
    for (uint32_t i = 0; i < blocks; ++i)
      CHECK(out[i] == (i + 1) % blocks);
    if (blocks > 2)
      continue;
    CHECK(check(kernel) == "");
    kernel.scheduleSeed = 3;
    CHECK(output(kernel) == out);
  }
}

TEST_CASE("a barrier of the grid without a cooperative launch is told", "[cooperative]") {
  KernelText kernel = ring(4);
  kernel.cooperative = false;
  CHECK_THAT(failure(kernel),
             Contains("trap in lanes 0xffffffff; the kernel waits for its whole grid, as "
                      "this_grid().sync() does, which needs a cooperative launch (--cooperative)"));
  // Other traps are none of its.
  const std::string other = failure({.body = "trap;"});
  CHECK_THAT(other, Contains("trap in lanes 0xffffffff ('trap'"));
}

TEST_CASE("a cooperative launch must fit the device", "[cooperative]") {
  KernelText kernel = ring(200);
  kernel.multiprocessors = 2;
  CHECK(failure(kernel) ==
        "'k' is launched cooperatively with 200 blocks, but the device holds 64 of them at the same time");
  kernel.blocks = 64;
  CHECK(output(kernel)[63] == 0);
}
