// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loops with stages written by hand, run on the emulator.
#include "test/unit/lowering/KernelRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::test;

namespace {
/// C = A * Bᵀ of one 64 x 64 tile. A product is awaited `$late` rounds after its start, and gives its slots
/// back then.
constexpr const char *product = R"(
module attributes {program.phase = "scheduled", program.target = #program.target<"sm_90a">} {
  tile.kernel @product(%k: index {program.argument = #program.dimension<"k">},
      %A: !tile.global<64x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 16>},
      %B: !tile.global<64x?xbf16> {program.argument = #program.tensor<"B", input, dims[-1, 0], alignment = 16>},
      %C: !tile.global<64x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>})
      attributes {launch = #program.launch<warps = 8>} {
    %c64 = arith.constant 64 : index
    %cst = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r = tile.alloc_ring "r" : !tile.ring<4>
    %as = tile.alloc_shared "a" : !tile.shared<4x64x64xbf16>
    %bs = tile.alloc_shared "b" : !tile.shared<4x64x64xbf16>
    %steps = arith.ceildivsi %k, %c64 : index
    tile.roles {
      tile.role "load" warps(4) {
        %first = tile.cursor : !tile.cursor<4>
        %end = scf.for %i = %c0 to %steps step %c1 iter_args(%c = %first) -> (!tile.cursor<4>) {
          %at = arith.muli %i, %c64 : index
          %from_a = tile.slice %A[%c0, %at] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
          %from_b = tile.slice %B[%c0, %at] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
          tile.acquire %r[%c] : !tile.ring<4>
          %a = tile.slot %as[%c] : !tile.shared<4x64x64xbf16>, !tile.cursor<4> -> !tile.shared<64x64xbf16>
          tile.expect %r[%c] bytes(16384) : !tile.ring<4>
          tile.copy_async %from_a, %a, %r[%c] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>, !tile.ring<4>
          %b = tile.slot %bs[%c] : !tile.shared<4x64x64xbf16>, !tile.cursor<4> -> !tile.shared<64x64xbf16>
          tile.copy_async %from_b, %b, %r[%c] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>, !tile.ring<4>
          %next = tile.advance %c : !tile.cursor<4>
          scf.yield %next : !tile.cursor<4>
        }
      }
      tile.role "math" warps(4) {
        %first = tile.cursor : !tile.cursor<4>
        %zero = tile.splat %cst : f32 -> tensor<64x64xf32>
        %end:2 = scf.for %i = %c0 to %steps step %c1 iter_args(%acc = %zero, %c = %first) -> (tensor<64x64xf32>, !tile.cursor<4>) {
          tile.await %r[%c] {tile.stage = #tile.stage<stage = 0, order = 0>} : !tile.ring<4>
          %a = tile.slot %as[%c] {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.shared<4x64x64xbf16>, !tile.cursor<4> -> !tile.shared<64x64xbf16>
          %b = tile.slot %bs[%c] {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.shared<4x64x64xbf16>, !tile.cursor<4> -> !tile.shared<64x64xbf16>
          %bt = tile.transpose %b {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
          %started = tile.gemm_async %a, %bt, %acc atom wgmma {tile.stage = #tile.stage<stage = 0, order = 2>} : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
          %done = tile.gemm_wait %started pending(0) {tile.stage = #tile.stage<stage = $late, order = 3>} : tensor<64x64xf32>
          tile.release %r[%c] {tile.stage = #tile.stage<stage = $late, order = 4>} : !tile.ring<4>
          %next = tile.advance %c {tile.stage = #tile.stage<stage = 0, order = 5>} : !tile.cursor<4>
          scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<4>
        }
        %to = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
        tile.store %end#0, %to atom simt : tensor<64x64xf32>, !tile.slice<64x64xf32>
      }
    }
    tile.return
  }
}
)";

CompileOptions fromScheduled() {
  CompileOptions options;
  options.startFrom = Phase::scheduled;
  return options;
}
} // namespace

// No iteration, fewer than are peeled, as many, and more.
TEST_CASE("products of up to four iterations are in flight") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  for (const char *late : {"0", "1", "2", "3"})
    for (int64_t steps = 0; steps <= 9; ++steps) {
      INFO(late << " rounds, " << steps << " iterations");
      HostTensor a = randomTensor(ElementType::bf16, {64, 64 * steps}, random);
      HostTensor b = randomTensor(ElementType::bf16, {64, 64 * steps}, random);
      HostTensor c = poisoned(ElementType::f32, {64, 64});
      runKernels(substitute(product, {{"$late", late}}), {&a, &b, &c}, fromScheduled());
      int64_t wrong = 0;
      for (int64_t i = 0; i < 64; ++i)
        for (int64_t j = 0; j < 64; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < a.shape[1]; ++k)
            sum += a.at(i, k) * b.at(j, k);
          wrong += c.at(i, j) != sum;
        }
      CHECK(wrong == 0);
    }
}
