// SPDX-License-Identifier: Apache-2.0
/// \file
/// Thread-instructions per second of loops that are all arithmetic, all
/// memory, and divergent, without and with the race checker.
#include "test/bench/Harness.h"

#include <fmt/format.h>

namespace tlc::emulator::bench {

namespace {

/// Runs `body` a thousand times in each of 256 threads.
KernelText loop(std::string setup, std::string_view body) {
  return {.body = std::move(setup) + fmt::format(R"(
  mov.u32 %r0, 0;
$loop:
{}
  add.u32 %r0, %r0, 1;
  setp.lt.u32 %p0, %r0, 1000;
  @%p0 bra $loop;
)",
                                                 body),
          .header = ".shared .align 16 .b8 buffer[16384];"};
}

KernelText arithmetic() {
  return loop("  mov.u32 %r1, %t; mov.u32 %r2, 7; mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f3F000000;\n", R"(
  mad.lo.s32 %r1, %r1, %r2, %t;
  xor.b32 %r3, %r1, %r0;
  shl.b32 %r4, %r3, 3;
  shf.l.wrap.b32 %r5, %r3, %r4, 7;
  and.b32 %r6, %r5, 255;
  fma.rn.f32 %f1, %f1, %f2, 0f3E800000;
  mul.f32 %f3, %f1, %f1;
  add.f32 %f4, %f3, %f2;
  max.f32 %f5, %f4, %f3;
  setp.gt.s32 %p1, %r6, 128;
  selp.b32 %r7, %r5, %r6, %p1;
  @%p1 add.s32 %r2, %r7, 1;
  mul.wide.u32 %d1, %r7, 4;
  add.s64 %d2, %d1, %mem;
  cvt.rn.f32.s32 %f6, %r7;
)");
}

KernelText memory() {
  return loop(R"(
  shl.b32 %r1, %t, 2; mov.u32 %r2, buffer; add.u32 %r2, %r2, %r1; cvt.u64.u32 %d0, %r1; add.u64 %d1, %mem, %d0;
  shl.b32 %r3, %t, 4; mov.u32 %r4, buffer; add.u32 %r4, %r4, %r3; add.u32 %r4, %r4, 4096;
  mov.b32 %r6, 1; mov.b32 %r7, 2; mov.b32 %r8, 3; mov.b32 %r9, 4; st.shared.b32 [%r2], %r6;
)",
              R"(
  ld.global.b32 %r5, [%d1];
  st.shared.b32 [%r2], %r5;
  ld.shared.b32 %r6, [%r2];
  st.shared.v4.b32 [%r4], {%r6, %r7, %r8, %r9};
  ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r4];
  add.s32 %r5, %r10, 1;
  st.global.b32 [%d1], %r5;
)");
}

KernelText divergent() {
  return loop("  and.b32 %r1, %t, 3; setp.eq.u32 %p1, %r1, 0; mov.u32 %r2, 0; mov.u32 %r3, 0;\n", R"(
  @%p1 bra $other;
  add.u32 %r2, %r2, %r1;
  xor.b32 %r2, %r2, %r0;
  bra.uni $join;
$other:
  add.u32 %r3, %r3, %r1;
  xor.b32 %r3, %r3, %r0;
$join:
)");
}

#define TLC_INSTRUCTION_BENCH(function)                                                                      \
  BENCHMARK_CAPTURE(benchInstructions, function, function(), RaceCheck::off)->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(benchInstructions, function##_checked, function(), RaceCheck::on)                        \
      ->Unit(benchmark::kMillisecond)

TLC_INSTRUCTION_BENCH(arithmetic);
TLC_INSTRUCTION_BENCH(memory);
TLC_INSTRUCTION_BENCH(divergent);

} // namespace

} // namespace tlc::emulator::bench
