// SPDX-License-Identifier: Apache-2.0
/// \file
/// Floating-point operations per second of matrix instructions: operands in
/// shared memory, one product after another into the same accumulators.
#include "test/bench/Harness.h"

#include <fmt/format.h>

namespace tlc::emulator::bench {

namespace {

struct Product {
  std::string_view types;     ///< "f32.bf16.bf16"
  unsigned n = 128, k = 16;   ///< of one instruction
  unsigned accumulators = 64; ///< registers of a thread
  std::string_view scales;    ///< what follows scale-d
};

std::string registers(std::string_view prefix, unsigned count) {
  std::string list;
  for (unsigned i = 0; i < count; ++i)
    list += fmt::format("{}{}{}", i ? ", " : "", prefix, i);
  return "{" + list + "}";
}

constexpr unsigned productsOfLaunch = 256;

/// Stores 16 bytes at %r3: random signs, significands and small exponents in 8, 16 and 32 bits.
std::string storeNumbers() {
  std::string text = "\n  mad.lo.u32 %r20, %t, 40503, %r4;";
  for (unsigned i = 0; i < 4; ++i)
    text += fmt::format(
        "\n  mad.lo.u32 %r20, %r20, 1664525, 1013904223; and.b32 %r2{0}, %r20, 0x80778077; or.b32 %r2{0}, "
        "%r2{0}, 0x38003800;",
        i + 1);
  return text + "\n  st.shared.v4.b32 [%r3], {%r21, %r22, %r23, %r24};";
}

/// Sets the accumulators.
std::string zeros(unsigned accumulators) {
  std::string text;
  for (unsigned i = 0; i < accumulators; ++i)
    text += fmt::format("mov.b32 %acc{}, 0; ", i);
  return text;
}

/// A and B with 128-byte swizzle: 64 rows and n rows of 128 bytes, of numbers in every type.
KernelText wgmmaKernel(const Product &product) {
  KernelText text;
  text.threads = 128;
  text.sharedBytes = 64 * 1024;
  text.header = ".extern .shared .align 1024 .b8 dynamic[];";
  text.body = fmt::format(R"(
  .reg .b32 %acc<{}>;
  mov.u32 %r1, dynamic;
  shl.b32 %r3, %t, 4; add.u32 %r3, %r3, %r1; mov.u32 %r4, 0;
$fill:{}
  add.u32 %r3, %r3, 2048; add.u32 %r4, %r4, 1;
  setp.lt.u32 %p0, %r4, 24;
  @%p0 bra $fill;
  fence.proxy.async;
  bar.sync 0;
  // start >> 4, leading 1, stride 1024 >> 4, 128-byte swizzle
  shr.u32 %r5, %r1, 4; cvt.u64.u32 %d1, %r5;
  or.b64 %d1, %d1, {};
  add.u64 %d2, %d1, 512; // 8192 bytes on
  setp.ne.u32 %p1, %r4, 0;
  mov.u32 %r0, 0;
{}
$loop:
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n{}k{}.{} {}, %d1, %d2, %p1{};
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  add.u32 %r0, %r0, 1;
  setp.lt.u32 %p0, %r0, {};
  @%p0 bra $loop;
)",
                          product.accumulators, storeNumbers(),
                          uint64_t(1) << 62 | uint64_t(64) << 32 | uint64_t(1) << 16,
                          zeros(product.accumulators), product.n, product.k, product.types,
                          registers("%acc", product.accumulators), product.scales, productsOfLaunch);
  return text;
}

void wgmma(benchmark::State &state, const Product &product, RaceCheck raceCheck) {
  const BenchKernel kernel(wgmmaKernel(product), raceCheck);
  for (auto _ : state)
    kernel.launch(state);
  state.counters["flops"] = benchmark::Counter(2.0 * 64 * product.n * product.k * productsOfLaunch,
                                               benchmark::Counter::kIsIterationInvariantRate);
}

constexpr Product bf16 = {"f32.bf16.bf16", 128, 16, 64, ", 1, 1, 0, 0"},
                  bf16Wide = {"f32.bf16.bf16", 256, 16, 128, ", 1, 1, 0, 0"},
                  bf16Narrow = {"f32.bf16.bf16", 8, 16, 4, ", 1, 1, 0, 0"},
                  f16 = {"f16.f16.f16", 128, 16, 32, ", 1, 1, 0, 0"},
                  tf32 = {"f32.tf32.tf32", 128, 8, 64, ", 1, 1"},
                  e4m3 = {"f32.e4m3.e4m3", 128, 32, 64, ", 1, 1"}, s8 = {"s32.s8.s8", 128, 32, 64, ""};

BENCHMARK_CAPTURE(wgmma, m64n128k16_f32_bf16, bf16, RaceCheck::off)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(wgmma, m64n128k16_f32_bf16_checked, bf16, RaceCheck::on)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(wgmma, m64n256k16_f32_bf16, bf16Wide, RaceCheck::off)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(wgmma, m64n8k16_f32_bf16, bf16Narrow, RaceCheck::off)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(wgmma, m64n128k16_f16_f16, f16, RaceCheck::off)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(wgmma, m64n128k8_f32_tf32, tf32, RaceCheck::off)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(wgmma, m64n128k32_f32_e4m3, e4m3, RaceCheck::off)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(wgmma, m64n128k32_s32_s8, s8, RaceCheck::off)->Unit(benchmark::kMillisecond);

/// tcgen05.mma of one block, 128 x n: A and B as above.
struct TensorProduct {
  std::string_view kind;
  unsigned n = 256, k = 16;
  unsigned types = 0; ///< of A, B and D in the instruction descriptor
};

void tcgen05(benchmark::State &state, const TensorProduct &product, RaceCheck raceCheck) {
  KernelText text;
  text.target = "sm_100a";
  text.threads = 128;
  text.sharedBytes = 64 * 1024;
  text.header = ".extern .shared .align 1024 .b8 dynamic[];";
  text.body = fmt::format(
      R"(
  .shared .align 8 .b64 bar; .shared .align 4 .b32 slot;
  mov.u32 %r1, dynamic; mov.u32 %r4, 0;
  shl.b32 %r3, %t, 4; add.u32 %r3, %r3, %r1;
$fill:{}
  add.u32 %r3, %r3, 2048; add.u32 %r4, %r4, 1;
  setp.lt.u32 %p0, %r4, 32;
  @%p0 bra $fill;
  setp.ne.u32 %p2, %t, 0; shr.u32 %r5, %t, 5; setp.ne.u32 %p3, %r5, 0;
  @!%p2 mbarrier.init.shared.b64 [bar], 1;
  @%p3 bra $ready;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 256;
$ready:
  fence.mbarrier_init.release.cluster; fence.proxy.async;
  tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
  ld.shared.b32 %r10, [slot];
  shr.u32 %r5, %r1, 4; cvt.u64.u32 %d1, %r5; or.b64 %d1, %d1, 0x4000404000010000;
  add.u64 %d2, %d1, 1024; // 16384 bytes on
  mov.u32 %r0, 0; @%p2 bra $wait;
$loop:
  setp.ne.u32 %p1, %r0, 0;
  tcgen05.mma.cta_group::1.kind::{} [%r10], %d1, %d2, {}, %p1;
  add.u32 %r0, %r0, 1;
  setp.lt.u32 %p0, %r0, {};
  @%p0 bra $loop;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
$wait:
  mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra $wait;
  bar.sync 0;
  @%p3 bra $end;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, 256;
$end:
)",
      storeNumbers(), product.kind, product.types | product.n >> 3 << 17 | 8 << 24, productsOfLaunch);
  const BenchKernel kernel(std::move(text), raceCheck);
  for (auto _ : state)
    kernel.launch(state);
  state.counters["flops"] = benchmark::Counter(2.0 * 128 * product.n * product.k * productsOfLaunch,
                                               benchmark::Counter::kIsIterationInvariantRate);
}

constexpr TensorProduct tensorBf16 = {"f16", 256, 16, 1 << 4 | 1 << 7 | 1 << 10},
                        tensorNarrow = {"f16", 64, 16, 1 << 4 | 1 << 7 | 1 << 10},
                        tensorTf32 = {"tf32", 256, 8, 1 << 4 | 2 << 7 | 2 << 10},
                        tensorE4m3 = {"f8f6f4", 256, 32, 1 << 4},
                        tensorS8 = {"i8", 256, 32, 2 << 4 | 1 << 7 | 1 << 10};

BENCHMARK_CAPTURE(tcgen05, m128n256k16_bf16, tensorBf16, RaceCheck::off)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(tcgen05, m128n256k16_bf16_checked, tensorBf16, RaceCheck::on)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(tcgen05, m128n64k16_bf16, tensorNarrow, RaceCheck::off)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(tcgen05, m128n256k8_tf32, tensorTf32, RaceCheck::off)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(tcgen05, m128n256k32_e4m3, tensorE4m3, RaceCheck::off)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(tcgen05, m128n256k32_s8, tensorS8, RaceCheck::off)->Unit(benchmark::kMillisecond);

/// mma.sync m16n8k16 of four warps.
void mmaSync(benchmark::State &state, RaceCheck raceCheck) {
  KernelText text;
  text.threads = 128;
  text.body = R"(
  mad.lo.u32 %r1, %t, 0x00130057, 0x3F003F40; mov.b32 %r2, 0x3F8140C3; mov.b32 %r3, 0xBF123E77; mov.b32 %r4, 0x3FF0C011;
  mov.b32 %r5, 0x3F3340AA; mov.b32 %r6, 0xBF553F99; mov.u32 %r0, 0;
$loop:
  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f0, %f1, %f2, %f3};
  add.u32 %r0, %r0, 1;
  setp.lt.u32 %p0, %r0, 1000;
  @%p0 bra $loop;
)";
  const BenchKernel kernel(std::move(text), raceCheck);
  for (auto _ : state)
    kernel.launch(state);
  state.counters["flops"] =
      benchmark::Counter(2.0 * 16 * 8 * 16 * 4 * 1000, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK_CAPTURE(mmaSync, m16n8k16_f32_bf16, RaceCheck::off)->Unit(benchmark::kMillisecond);

} // namespace

} // namespace tlc::emulator::bench
