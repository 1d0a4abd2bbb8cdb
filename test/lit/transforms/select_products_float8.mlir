// RUN: %tile-opt %s --tile-select-products -split-input-file -verify-diagnostics | FileCheck %s

// Products of floats of 8 bits: wgmma where the target has it, else mma.sync from sm_89 on.

// CHECK-LABEL: tile.kernel @ada(
// CHECK:       tile.gemm {{.*}} atom mma_sync
// CHECK:       tile.gemm {{.*}} atom mma_sync
module attributes {program.target = #program.target<"sm_89">} {
tile.kernel @ada() {
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x32xf8E4M3FN>
  %b = tile.alloc_shared "b" : !tile.shared<32x32xf8E5M2>
  %bt = tile.transpose %b : !tile.shared<32x32xf8E5M2> -> !tile.shared<32x32xf8E5M2, transposed>
  %0 = tile.gemm %a, %bt, %zero : !tile.shared<64x32xf8E4M3FN>, !tile.shared<32x32xf8E5M2, transposed>, tensor<64x32xf32>
  %1 = tile.gemm %a, %b, %0 : !tile.shared<64x32xf8E4M3FN>, !tile.shared<32x32xf8E5M2>, tensor<64x32xf32>
  tile.return
}
}

// -----

// Of rows that a warpgroup does not share.
// CHECK-LABEL: tile.kernel @hopper(
// CHECK:       tile.gemm {{.*}} atom mma_sync
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @hopper() {
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %a = tile.alloc_shared "a" : !tile.shared<32x32xf8E4M3FN>
  %b = tile.alloc_shared "b" : !tile.shared<32x32xf8E4M3FN>
  %bt = tile.transpose %b : !tile.shared<32x32xf8E4M3FN> -> !tile.shared<32x32xf8E4M3FN, transposed>
  // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not wgmma: m = 32 is not a multiple of 64}}
  %0 = tile.gemm %a, %bt, %zero : !tile.shared<32x32xf8E4M3FN>, !tile.shared<32x32xf8E4M3FN, transposed>, tensor<32x32xf32>
  tile.return
}
}

// -----

// CHECK-LABEL: tile.kernel @ampere(
// CHECK:       tile.gemm {{.*}} atom fma
module attributes {program.target = #program.target<"sm_80">} {
tile.kernel @ampere() {
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x32xf8E4M3FN>
  %b = tile.alloc_shared "b" : !tile.shared<32x32xf8E4M3FN>
  %bt = tile.transpose %b : !tile.shared<32x32xf8E4M3FN> -> !tile.shared<32x32xf8E4M3FN, transposed>
  // expected-remark @below {{[gemm-without-wgmma] product uses multiply-add of single elements, not wgmma: sm_80 has no wgmma; not mma.sync: sm_80 has no mma.sync for e4m3 with sums of f32}}
  %0 = tile.gemm %a, %bt, %zero : !tile.shared<64x32xf8E4M3FN>, !tile.shared<32x32xf8E4M3FN, transposed>, tensor<64x32xf32>
  tile.return
}
}
