// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernels' texts and their launches.
#include "test/unit/emulator/Tcgen05Gemm.h"

#include "runtime/emulator/check/ObserveRaces.h"
#include "runtime/emulator/exec/launch/Grid.h"
#include "runtime/emulator/math/Float.h"
#include "runtime/emulator/math/TensorMap.h"
#include "test/unit/emulator/Tcgen05Text.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;

namespace {

/// Rows of A and of B in a block, and k of a stage.
constexpr uint32_t rowsA = 128, rowsB = 64, depth = 64, stages = 2, bytesA = rowsA * depth * 2,
                   bytesB = rowsB * depth * 2, stageBytes = bytesA + bytesB;

void placeMap(std::vector<std::byte> &parameters, size_t offset, const std::vector<uint16_t> &matrix,
              uint32_t k, uint32_t rows) {
  EmulatedTensorMap map;
  map.globalAddress = reinterpret_cast<uint64_t>(matrix.data());
  map.rank = 2;
  map.dims = {k, matrix.size() / k};
  map.strides = {k * 2};
  map.box = {depth, rows};
  map.swizzle = Swizzle::bytes128;
  REQUIRE(checkTensorMap(map));
  const auto bytes = encodeTensorMap(map);
  std::copy(bytes.begin(), bytes.end(), parameters.begin() + ptrdiff_t(offset));
}

template <class T> MemoryRange rangeOf(const std::vector<T> &memory) {
  return {reinterpret_cast<uint64_t>(memory.data()), memory.size() * sizeof(T)};
}

Result<void> launch(std::string_view text, const std::vector<MemoryRange> &ranges,
                    const std::vector<std::byte> &parameters, uint32_t grid, uint32_t threads,
                    const MakeSchedule &makeSchedule = {}) {
  auto program = loadProgram(text);
  if (!program)
    return program.error();
  LaunchConfiguration configuration;
  configuration.entry = "gemm";
  configuration.grid = {grid, 1, 1};
  configuration.block = {threads, 1, 1};
  configuration.dynamicSharedBytes = stages * stageBytes;
  configuration.parameters = parameters;
  Machine machine;
  machine.target = findTarget("sm_100a");
  machine.makeObserver = observeRaces(RaceCheck::strict);
  machine.failsBy = FindingLevel::warning;
  machine.makeSchedule = makeSchedule;
  const auto done = runGrid(**program, configuration, MemoryMap(ranges), machine);
  return done ? Result<void>() : done.error();
}

} // namespace

std::string test::gemmText(unsigned blocks) {
  const bool pair = blocks == 2;
  const uint32_t columns = rowsB * blocks;
  std::string multiply, epilogue;
  for (unsigned k = 0; k < depth / 16; ++k)
    multiply += fmt::format("    add.s64 %d8, %d6, {}; add.s64 %d9, %d7, {}; {}\n"
                            "    tcgen05.mma.cta_group::{}.kind::f16 [%tm], %d8, %d9, {:#x}, %p7;\n",
                            2 * k, 2 * k, k == 1 ? "setp.eq.u32 %p7, 0, 0;" : "", blocks,
                            1 << 4 | 1 << 7 | 1 << 10 | columns >> 3 << 17 | rowsA * blocks >> 4 << 24);
  for (unsigned c = 0; c < columns; c += 32) {
    epilogue +=
        fmt::format("    tcgen05.ld.sync.aligned.32x32b.x32.b32 {}, [%r20+{}];\n", registerList(32), c);
    epilogue += "    tcgen05.wait::ld.sync.aligned;\n";
    for (unsigned i = 0; i < 32; ++i)
      epilogue += fmt::format("    st.global.b32 [%d20+{}], %q{};\n", (c + i) * 4, i);
  }
  return fmt::format(
      R"(.version 8.8
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry gemm(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128], .param .u64 c, .param .u32 steps)
.reqntid 192, 1, 1
{clusterDirective}
{{
  .shared .align 8 .b64 full[2]; .shared .align 8 .b64 empty[2]; .shared .align 8 .b64 done[1]; .shared .align 4 .b32 slot[1];
  .reg .b32 %r<40>, %q<32>, %tm, %w, %rank; .reg .b64 %d<40>; .reg .pred %p<20>; .reg .b16 %h1;
  mov.u32 %r1, %tid.x; shr.u32 %w, %r1, 5; ld.param.u32 %r4, [steps]; mov.u64 %d1, smem; mov.u32 %rank, %cluster_ctarank;
  setp.ne.u32 %p1, %r1, 0; @%p1 bra $noInit;
  mbarrier.init.shared.b64 [full], 1; mbarrier.init.shared.b64 [full+8], 1;
  mbarrier.init.shared.b64 [empty], 1; mbarrier.init.shared.b64 [empty+8], 1; mbarrier.init.shared.b64 [done], 1;
  fence.mbarrier_init.release.cluster;
$noInit:
  setp.ne.u32 %p2, %w, 5; @%p2 bra $noAlloc;
  tcgen05.alloc.cta_group::{blocks}.sync.aligned.shared::cta.b32 [slot], {columns};
  tcgen05.relinquish_alloc_permit.cta_group::{blocks}.sync.aligned;
$noAlloc:
  tcgen05.fence::before_thread_sync;
  bar.sync 0; {clusterBarrier}
  tcgen05.fence::after_thread_sync;
  ld.shared.b32 %tm, [slot]; mov.b32 %r6, 0; mov.b16 %h1, 3;
  setp.eq.u32 %p3, %w, 4; @%p3 bra $producer;
  setp.eq.u32 %p3, %w, 5; @%p3 bra $multiplier;
$waitDone:
  mbarrier.try_wait.parity.shared.b64 %p5, [done], 0; @!%p5 bra $waitDone;
  tcgen05.fence::after_thread_sync;
  mov.u32 %r21, %ctaid.x; shl.b32 %r21, %r21, 7; add.u32 %r21, %r21, %r1;
  ld.param.u64 %d19, [c]; mad.wide.u32 %d20, %r21, {rowBytes}, %d19;
  shl.b32 %r20, %w, 21; add.u32 %r20, %r20, %tm;
{epilogue}
  bra $end;
$producer:
  elect.sync %r7|%p4, -1; @!%p4 bra $end;
  mov.b64 %d2, a; cvta.param.u64 %d2, %d2; mov.b64 %d3, b; cvta.param.u64 %d3, %d3;
  mov.u32 %r12, %ctaid.x; shl.b32 %r12, %r12, 7; shl.b32 %r13, %rank, 6; and.b32 %r15, %rank, 1; setp.ne.u32 %p8, %r15, 0;
$produce:
  and.b32 %r8, %r6, 1; shr.u32 %r9, %r6, 1; and.b32 %r9, %r9, 1; xor.b32 %r9, %r9, 1;
  mov.b64 %d10, full; mad.wide.u32 %d10, %r8, 8, %d10; mov.b64 %d11, empty; mad.wide.u32 %d11, %r8, 8, %d11;
  mad.wide.u32 %d5, %r8, {stageBytes}, %d1; shl.b32 %r10, %r6, 6;
$waitEmpty:
  mbarrier.try_wait.parity.shared.b64 %p5, [%d11], %r9; @!%p5 bra $waitEmpty;
  @!%p8 mbarrier.arrive.expect_tx.shared.b64 _, [%d10], {expected};
  {leaderBarrier}
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{copyGroup} [%d5], [%d2, {{%r10, %r12}}], [%d10];
  add.s64 %d12, %d5, {bytesA};
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{copyGroup} [%d12], [%d3, {{%r10, %r13}}], [%d10];
  add.u32 %r6, %r6, 1; setp.lt.u32 %p6, %r6, %r4; @%p6 bra $produce;
  bra $end;
$multiplier:
  setp.ne.u32 %p8, %rank, 0; @%p8 bra $end;
  elect.sync %r7|%p4, -1; @!%p4 bra $end;
$multiply:
  and.b32 %r8, %r6, 1; shr.u32 %r9, %r6, 1; and.b32 %r9, %r9, 1;
  mov.b64 %d10, full; mad.wide.u32 %d10, %r8, 8, %d10; mov.b64 %d11, empty; mad.wide.u32 %d11, %r8, 8, %d11;
  mad.wide.u32 %d5, %r8, {stageBytes}, %d1;
$waitFull:
  mbarrier.try_wait.parity.shared.b64 %p5, [%d10], %r9; @!%p5 bra $waitFull;
  tcgen05.fence::after_thread_sync;
  shr.u64 %d6, %d5, 4; and.b64 %d6, %d6, 0x3FFF; or.b64 %d6, %d6, 0x4000404000010000; add.s64 %d7, %d6, {unitsA};
  setp.ne.u32 %p7, %r6, 0;
{multiply}
  tcgen05.commit.cta_group::{blocks}.mbarrier::arrive::one.shared::cluster{commitMulticast}.b64 [%d11]{commitMask};
  add.u32 %r6, %r6, 1; setp.lt.u32 %p6, %r6, %r4; @%p6 bra $multiply;
  tcgen05.commit.cta_group::{blocks}.mbarrier::arrive::one.shared::cluster{commitMulticast}.b64 [done]{commitMask};
$end:
  tcgen05.fence::before_thread_sync;
  bar.sync 0; {clusterBarrier}
  tcgen05.fence::after_thread_sync;
  @%p2 bra $noFree;
  tcgen05.dealloc.cta_group::{blocks}.sync.aligned.b32 %tm, {columns};
$noFree:
  ret;
}}
)",
      fmt::arg("blocks", blocks), fmt::arg("columns", columns), fmt::arg("rowBytes", columns * 4),
      fmt::arg("clusterDirective", pair ? ".reqnctapercluster 2, 1, 1" : ""),
      fmt::arg("clusterBarrier", pair ? "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" : ""),
      fmt::arg("epilogue", epilogue), fmt::arg("multiply", multiply), fmt::arg("stageBytes", stageBytes),
      fmt::arg("expected", stageBytes * blocks), fmt::arg("bytesA", bytesA), fmt::arg("unitsA", bytesA / 16),
      fmt::arg("copyGroup", pair ? ".cta_group::2" : ""),
      // The even block's barrier counts the bytes of both.
      fmt::arg("leaderBarrier", pair ? "mapa.shared::cluster.u64 %d10, %d10, 0;" : ""),
      fmt::arg("commitMulticast", pair ? ".multicast::cluster" : ""),
      fmt::arg("commitMask", pair ? ", %h1" : ""));
}

std::string test::tensorOperandText() {
  std::string convert, multiply, epilogue;
  for (unsigned i = 0; i < depth / 2; ++i)
    convert += fmt::format("    ld.global.v2.f32 {{%f0, %f1}}, [%d3+{}]; cvt.rn.bf16x2.f32 %q{}, %f1, %f0;\n",
                           i * 8, i);
  for (unsigned k = 0; k < depth / 16; ++k)
    multiply += fmt::format(
        "    add.s64 %d9, %d7, {};\n"
        "    tcgen05.mma.cta_group::1.kind::f16 [%tm], [%tm+{}], %d9, {:#x}, {};\n",
        2 * k, 64 + 8 * k, 1 << 4 | 1 << 7 | 1 << 10 | rowsB >> 3 << 17 | rowsA >> 4 << 24, unsigned(k != 0));
  for (unsigned c = 0; c < rowsB; c += 32) {
    epilogue +=
        fmt::format("    tcgen05.ld.sync.aligned.32x32b.x32.b32 {}, [%r20+{}];\n", registerList(32), c);
    epilogue += "    tcgen05.wait::ld.sync.aligned;\n";
    for (unsigned i = 0; i < 32; ++i)
      epilogue += fmt::format("    st.global.b32 [%d20+{}], %q{};\n", (c + i) * 4, i);
  }
  return fmt::format(
      R"(.version 8.8
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry gemm(.param .u64 a, .param .align 64 .b8 b[128], .param .u64 c)
.reqntid 128, 1, 1
{{
  .shared .align 8 .b64 full[1]; .shared .align 8 .b64 done[1]; .shared .align 4 .b32 slot[1];
  .reg .b32 %r<40>, %q<32>, %tm, %w; .reg .f32 %f<2>; .reg .b64 %d<40>; .reg .pred %p<20>;
  mov.u32 %r1, %tid.x; shr.u32 %w, %r1, 5; setp.ne.u32 %p1, %w, 0; setp.ne.u32 %p2, %r1, 0; mov.u64 %d1, smem;
  @%p2 bra $noInit;
  mbarrier.init.shared.b64 [full], 1; mbarrier.init.shared.b64 [done], 1; fence.mbarrier_init.release.cluster;
  mov.b64 %d2, b; cvta.param.u64 %d2, %d2; mov.u64 %d5, full;
  mbarrier.arrive.expect_tx.shared.b64 _, [full], {bytesB};
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%d1], [%d2, {{0, 0}}], [%d5];
$noInit:
  @%p1 bra $noAlloc;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
$noAlloc:
  tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
  ld.shared.b32 %tm, [slot]; shl.b32 %r20, %w, 21; add.u32 %r20, %r20, %tm;
  ld.param.u64 %d3, [a]; mad.wide.u32 %d3, %r1, {rowBytes}, %d3;
{convert}
  tcgen05.st.sync.aligned.32x32b.x32.b32 [%r20+64], {list};
  tcgen05.wait::st.sync.aligned;
  tcgen05.fence::before_thread_sync; bar.sync 0;
  @%p2 bra $waitDone;
$waitFull:
  mbarrier.try_wait.parity.shared.b64 %p5, [full], 0; @!%p5 bra $waitFull;
  tcgen05.fence::after_thread_sync;
  shr.u64 %d7, %d1, 4; and.b64 %d7, %d7, 0x3FFF; or.b64 %d7, %d7, 0x4000404000010000;
{multiply}
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];
$waitDone:
  mbarrier.try_wait.parity.shared.b64 %p5, [done], 0; @!%p5 bra $waitDone;
  tcgen05.fence::after_thread_sync;
  ld.param.u64 %d19, [c]; mad.wide.u32 %d20, %r1, {rowBytes}, %d19;
{epilogue}
  tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
  @%p1 bra $noFree;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tm, 128;
$noFree:
  ret;
}}
)",
      fmt::arg("bytesB", bytesB), fmt::arg("rowBytes", depth * 4), fmt::arg("convert", convert),
      fmt::arg("list", registerList(32)), fmt::arg("multiply", multiply), fmt::arg("epilogue", epilogue));
}

void Problem::fill() {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> values(-1, 1);
  a.resize(m * k), b.resize(n * k), c.assign(m * n, NAN);
  for (auto *operand : {&a, &b})
    for (uint16_t &value : *operand)
      value = floatToBf16(values(random));
}

bool Problem::isRight() const {
  bool right = true;
  for (uint32_t i = 0; i < m; ++i)
    for (uint32_t j = 0; j < n; ++j) {
      double sum = 0;
      for (uint32_t at = 0; at < k; ++at)
        sum += double(bf16ToFloat(a[i * k + at])) * bf16ToFloat(b[j * k + at]);
      right &= std::fabs(sum - c[i * n + j]) < 1e-4; // false for a NaN
    }
  return right;
}

Result<void> test::runGemm(Problem &problem, std::string_view text, unsigned blocks,
                           const MakeSchedule &makeSchedule) {
  problem.n = rowsB * blocks;
  problem.fill();
  std::vector<std::byte> parameters(2 * 128 + 8 + 4);
  placeMap(parameters, 0, problem.a, problem.k, rowsA);
  placeMap(parameters, 128, problem.b, problem.k, rowsB);
  float *c = problem.c.data();
  const uint32_t steps = problem.k / depth;
  std::memcpy(parameters.data() + 256, &c, 8);
  std::memcpy(parameters.data() + 264, &steps, 4);
  return launch(text, {rangeOf(problem.a), rangeOf(problem.b), rangeOf(problem.c)}, parameters,
                problem.m / rowsA, 192, makeSchedule);
}

Result<void> test::runTensorOperand(Problem &problem, std::string_view text) {
  problem.m = rowsA, problem.n = rowsB, problem.k = depth;
  problem.fill();
  std::vector<float> wide;
  for (uint16_t value : problem.a)
    wide.push_back(bf16ToFloat(value));
  std::vector<std::byte> parameters(64 + 128 + 8);
  float *a = wide.data(), *c = problem.c.data();
  std::memcpy(parameters.data(), &a, 8);
  placeMap(parameters, 64, problem.b, problem.k, rowsB);
  std::memcpy(parameters.data() + 192, &c, 8);
  return launch(text, {rangeOf(wide), rangeOf(problem.b), rangeOf(problem.c)}, parameters, 1, 128);
}
