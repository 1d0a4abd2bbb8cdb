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

/// A and B with 128-byte swizzle: 64 rows and n rows of 128 bytes, all zero.
KernelText wgmmaKernel(const Product &product) {
  KernelText text;
  text.threads = 128;
  text.sharedBytes = 64 * 1024;
  text.header = ".extern .shared .align 1024 .b8 dynamic[];";
  text.body = fmt::format(R"(
  .reg .b32 %acc<{}>;
  mov.u32 %r1, dynamic;
  mov.u32 %r2, 0;
  shl.b32 %r3, %t, 4; add.u32 %r3, %r3, %r1;
$clear:
  st.shared.v4.b32 [%r3], {{%r2, %r2, %r2, %r2}};
  add.u32 %r3, %r3, 2048;
  add.u32 %r2, %r2, 0; add.u32 %r4, %r4, 1;
  setp.lt.u32 %p0, %r4, 24;
  @%p0 bra $clear;
  fence.proxy.async;
  bar.sync 0;
  // start >> 4, leading 1, stride 1024 >> 4, 128-byte swizzle
  shr.u32 %r5, %r1, 4; cvt.u64.u32 %d1, %r5;
  or.b64 %d1, %d1, {};
  add.u64 %d2, %d1, 512; // 8192 bytes on
  setp.eq.u32 %p1, %r2, 0;
  mov.u32 %r0, 0;
$loop:
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n{}k{}.{} {}, %d1, %d2, %p1{};
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  add.u32 %r0, %r0, 1;
  setp.lt.u32 %p0, %r0, {};
  @%p0 bra $loop;
)",
                          product.accumulators, uint64_t(1) << 62 | uint64_t(64) << 32 | uint64_t(1) << 16,
                          product.n, product.k, product.types, registers("%acc", product.accumulators),
                          product.scales, productsOfLaunch);
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

/// mma.sync m16n8k16 of four warps.
void mmaSync(benchmark::State &state, RaceCheck raceCheck) {
  KernelText text;
  text.threads = 128;
  text.body = R"(
  mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0; mov.b32 %r4, 0; mov.b32 %r5, 0; mov.b32 %r6, 0;
  mov.u32 %r0, 0;
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
