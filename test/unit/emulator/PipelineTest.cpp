// SPDX-License-Identifier: Apache-2.0
/// \file
/// The parts together, as a warp-specialised GEMM uses them: a producer warp
/// fills a ring of stages through tensor maps, a warpgroup multiplies them with
/// wgmma, mbarriers pass the stages back and forth.
#include "runtime/emulator/check/ObserveRaces.h"
#include "runtime/emulator/exec/launch/Grid.h"
#include "runtime/emulator/math/Float.h"
#include "runtime/emulator/math/TensorMap.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <random>

using namespace tlc;
using namespace tlc::emulator;
using Catch::Matchers::Contains;

namespace {

constexpr uint32_t tile = 64, stages = 2, stageBytes = 2 * tile * tile * 2;

/// C = A * B^T in tiles of 64 x 64, k in steps of 64.
std::string gemmText() {
  std::vector<std::string> accumulators;
  for (unsigned i = 0; i < 32; ++i)
    accumulators.push_back(fmt::format("%c{}", i));
  const std::string list = fmt::format("{}", fmt::join(accumulators, ", "));
  std::string multiply, clear, epilogue;
  for (unsigned k = 0; k < 4; ++k)
    multiply += fmt::format(
        "    add.s64 %d8, %d6, {0}; add.s64 %d9, %d7, {0};\n"
        "    wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{{1}}}, %d8, %d9, 1, 1, 1, 0, 0;\n",
        2 * k, list);
  for (unsigned i = 0; i < 32; ++i) {
    clear += fmt::format("    mov.b32 %c{}, 0;\n", i);
    // Row 16 w + l / 4 + 8 (i / 2 % 2), column 8 (i / 4) + 2 (l % 4) + i % 2.
    epilogue += fmt::format("    st.global.b32 [%d20+{}], %c{};\n",
                            (i / 2 % 2) * 8 * tile * 4 + (i / 4 * 8 + i % 2) * 4, i);
  }
  return fmt::format(R"(.version 8.7
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry gemm(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128], .param .u64 c, .param .u32 steps)
.reqntid 160, 1, 1
{{
  .reg .b32 %r<40>, %c<32>; .reg .b64 %d<40>; .reg .pred %p<10>;
  mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 5; and.b32 %r3, %r1, 31; ld.param.u32 %r4, [steps]; mov.b64 %d1, smem;
  setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r3, 0; mov.u32 %r5, %ctaid.x; shl.b32 %r5, %r5, 6; mov.b32 %r6, 0;
  @!%p1 bra $ready;
  mbarrier.init.shared.b64 [smem+{full}], 1; mbarrier.init.shared.b64 [smem+{full}+8], 1;
  mbarrier.init.shared.b64 [smem+{empty}], 4; mbarrier.init.shared.b64 [smem+{empty}+8], 4;
  fence.mbarrier_init.release.cluster;
$ready:
  bar.sync 0;
  setp.ne.u32 %p3, %r2, 4; @%p3 bra $consumer;
  elect.sync %r7|%p4, -1; @!%p4 bra $end;
  mov.b64 %d2, a; cvta.param.u64 %d2, %d2; mov.b64 %d3, b; cvta.param.u64 %d3, %d3;
$produce:
  and.b32 %r8, %r6, 1; shr.u32 %r9, %r6, 1; and.b32 %r9, %r9, 1; xor.b32 %r9, %r9, 1;
  mad.wide.u32 %d4, %r8, 8, %d1; mad.wide.u32 %d5, %r8, {stageBytes}, %d1; shl.b32 %r10, %r6, 6; add.s64 %d10, %d4, {full};
$waitEmpty:
  mbarrier.try_wait.parity.shared.b64 %p5, [%d4+{empty}], %r9; @!%p5 bra $waitEmpty;
  mbarrier.arrive.expect_tx.shared.b64 _, [%d10], {stageBytes};
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%d5], [%d2, {{%r10, %r5}}], [%d10];
  add.s64 %d11, %d5, {half};
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%d11], [%d3, {{%r10, 0}}], [%d10];
  add.u32 %r6, %r6, 1; setp.lt.u32 %p6, %r6, %r4; @%p6 bra $produce;
  bra $end;
$consumer:
{clear}
$consume:
  and.b32 %r8, %r6, 1; shr.u32 %r9, %r6, 1; and.b32 %r9, %r9, 1;
  mad.wide.u32 %d4, %r8, 8, %d1; mad.wide.u32 %d5, %r8, {stageBytes}, %d1;
$waitFull:
  mbarrier.try_wait.parity.shared.b64 %p5, [%d4+{full}], %r9; @!%p5 bra $waitFull;
  and.b64 %d5, %d5, 0x3FFFF; shr.u64 %d6, %d5, 4; or.b64 %d6, %d6, 0x4000004000010000; add.s64 %d7, %d6, {halfUnits};
  wgmma.fence.sync.aligned;
{multiply}
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  @%p2 mbarrier.arrive.shared.b64 _, [%d4+{empty}];
  add.u32 %r6, %r6, 1; setp.lt.u32 %p6, %r6, %r4; @%p6 bra $consume;
  ld.param.u64 %d19, [c]; shl.b32 %r11, %r2, 4; shr.u32 %r12, %r3, 2; add.u32 %r11, %r11, %r12; add.u32 %r11, %r11, %r5;
  and.b32 %r13, %r3, 3; mad.wide.u32 %d20, %r11, 256, %d19; mad.wide.u32 %d20, %r13, 8, %d20;
{epilogue}
$end:
  ret;
}}
)",
                     fmt::arg("full", stages * stageBytes), fmt::arg("empty", stages * stageBytes + 16),
                     fmt::arg("stageBytes", stageBytes), fmt::arg("half", stageBytes / 2),
                     fmt::arg("halfUnits", stageBytes / 32), fmt::arg("clear", clear),
                     fmt::arg("multiply", multiply), fmt::arg("epilogue", epilogue));
}

struct Problem {
  uint32_t m = 128, k = 320;
  std::vector<uint16_t> a, b; ///< with room to align to 16 bytes
  std::vector<float> c;
};

Result<void> runGemm(Problem &problem, std::string_view text, unsigned hostThreads = 1) {
  auto program = loadProgram(text);
  if (!program)
    return program.error();
  std::mt19937 random(Catch::rngSeed());
  std::uniform_real_distribution<float> values(-1, 1);
  problem.a.resize(problem.m * problem.k);
  problem.b.resize(tile * problem.k);
  problem.c.assign(problem.m * tile, NAN);
  for (auto *operand : {&problem.a, &problem.b})
    for (uint16_t &value : *operand)
      value = floatToBf16(values(random));
  std::vector<std::byte> parameters(2 * 128 + 8 + 4);
  const auto place = [&](size_t offset, const std::vector<uint16_t> &matrix) {
    EmulatedTensorMap map;
    map.globalAddress = reinterpret_cast<uint64_t>(matrix.data());
    map.rank = 2;
    map.dims = {problem.k, matrix.size() / problem.k};
    map.strides = {problem.k * 2};
    map.box = {tile, tile};
    map.swizzle = Swizzle::bytes128;
    REQUIRE(checkTensorMap(map));
    const auto bytes = encodeTensorMap(map);
    std::copy(bytes.begin(), bytes.end(), parameters.begin() + ptrdiff_t(offset));
  };
  place(0, problem.a);
  place(128, problem.b);
  float *c = problem.c.data();
  const uint32_t steps = problem.k / tile;
  std::memcpy(parameters.data() + 256, &c, 8);
  std::memcpy(parameters.data() + 264, &steps, 4);
  const auto range = [](const auto &memory) {
    return MemoryRange{reinterpret_cast<uint64_t>(memory.data()), memory.size() * sizeof(memory[0])};
  };
  const MemoryMap memory({range(problem.a), range(problem.b), range(problem.c)});
  LaunchConfiguration launch;
  launch.entry = "gemm";
  launch.grid = {problem.m / tile, 1, 1};
  launch.block = {160, 1, 1};
  launch.dynamicSharedBytes = stages * stageBytes + 32;
  launch.parameters = parameters;
  Machine machine;
  machine.target = findTarget("sm_90a");
  machine.hostThreads = hostThreads;
  machine.makeObserver = observeRaces(RaceCheck::strict);
  machine.failsBy = FindingLevel::warning;
  if (auto done = runGrid(**program, launch, memory, machine); !done)
    return done.error();
  return {};
}

constexpr std::string_view releaseText = "@%p2 mbarrier.arrive.shared.b64 _, [%d4+32784];",
                           waitText = "wgmma.wait_group.sync.aligned 0;",
                           waitFullText = "mbarrier.try_wait.parity.shared.b64 %p5, [%d4+32768], %r9; "
                                          "@!%p5 bra $waitFull;",
                           waitEmptyText = "mbarrier.try_wait.parity.shared.b64 %p5, [%d4+32784], %r9; "
                                           "@!%p5 bra $waitEmpty;";

/// The program with one piece of text changed.
std::string replaced(std::string_view what, std::string_view by) {
  std::string text = gemmText();
  const size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

/// What the checker says of it.
std::string finding(const std::string &text) {
  Problem problem;
  const auto done = runGemm(problem, text);
  return done ? "" : done.error().message;
}

} // namespace

TEST_CASE("a warp-specialised GEMM gives the right product") {
  for (unsigned hostThreads : {1u, 3u}) {
    Problem problem;
    const auto done = runGemm(problem, gemmText(), hostThreads);
    INFO((done ? "" : done.error().message));
    REQUIRE(done);
    bool right = true;
    for (uint32_t i = 0; i < problem.m; ++i)
      for (uint32_t j = 0; j < tile; ++j) {
        double sum = 0;
        for (uint32_t k = 0; k < problem.k; ++k)
          sum +=
              double(bf16ToFloat(problem.a[i * problem.k + k])) * bf16ToFloat(problem.b[j * problem.k + k]);
        right &= std::fabs(sum - problem.c[i * tile + j]) < 1e-4; // false for a NaN
      }
    CHECK(right);
  }
}

TEST_CASE("a ring whose stages are not released is a deadlock of both roles") {
  Problem problem;
  const auto done = runGemm(problem, replaced(releaseText, ""));
  REQUIRE_FALSE(done);
  CHECK(done.error().kind == ErrorKind::execution);
  CHECK_THAT(done.error().message, Contains("block (0, 0, 0), warps 0 1 2 3"));
  CHECK_THAT(done.error().message,
             Contains("the mbarrier at shared offset 32768 to end phase 1; 1 of 1 arrivals are pending"));
  CHECK_THAT(done.error().message, Contains("block (0, 0, 0), warp 4"));
  CHECK_THAT(done.error().message,
             Contains("the mbarrier at shared offset 32784 to end phase 0; 4 of 4 arrivals are pending"));
}

TEST_CASE("every synchronisation of the GEMM is missed when it is gone") {
  CHECK(finding(gemmText()) == "");
  CHECK_THAT(finding(replaced(waitFullText, "")), Contains("asynchronous") && Contains("missing: "));
  CHECK_THAT(finding(replaced(waitEmptyText, "")),
             Contains("arrivals at the mbarrier at shared offset 32768"));
  CHECK_THAT(finding(replaced(waitText, "")), Contains("missing: wgmma.wait_group"));
  CHECK_THAT(finding(replaced(waitText, "wgmma.wait_group.sync.aligned 1;")),
             Contains("missing: wgmma.wait_group"));
  // Released before the products have read the stage.
  std::string early = replaced(releaseText, "");
  early.replace(early.find(waitText), 0, std::string(releaseText) + " ");
  CHECK_THAT(finding(early), Contains("race between the asynchronous write of shared offset") &&
                                 Contains("and the asynchronous read by 'wgmma.mma_async") &&
                                 Contains("missing: wgmma.wait_group in the warpgroup of warp 0"));
  CHECK_THAT(finding(replaced("$ready:\n  bar.sync 0;", "$ready:")),
             Contains("race between the use as an mbarrier of shared offset") &&
                 Contains("and the initialisation of an mbarrier by 'mbarrier.init.shared.b64'"));
}
