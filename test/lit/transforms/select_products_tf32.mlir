// RUN: split-file %s %t
// RUN: %tile-opt %t/best.mlir --tile-select-products -split-input-file -verify-diagnostics | FileCheck %t/best.mlir
// RUN: %tile-opt %t/missed.mlir --tile-select-products -split-input-file -verify-diagnostics | FileCheck %t/missed.mlir
// RUN: %tile-opt %t/errors.mlir --tile-select-products -split-input-file -verify-diagnostics

// Products of f32, which is read as tf32: wgmma where the target has it, else mma.sync.

//--- best.mlir

// CHECK-LABEL: tile.kernel @hopper(
// CHECK-COUNT-2: tile.gemm {{.*}} atom wgmma
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @hopper() {
  %zero = arith.constant dense<0.0> : tensor<64x40xf32>
  %left = arith.constant dense<1.0> : tensor<64x8xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x8xf32>
  %b = tile.alloc_shared "b" : !tile.shared<40x8xf32>
  %bt = tile.transpose %b : !tile.shared<40x8xf32> -> !tile.shared<8x40xf32, transposed>
  %0 = tile.gemm %a, %bt, %zero : !tile.shared<64x8xf32>, !tile.shared<8x40xf32, transposed>, tensor<64x40xf32>
  %1 = tile.gemm %left, %bt, %0 : tensor<64x8xf32>, !tile.shared<8x40xf32, transposed>, tensor<64x40xf32>
  tile.return
}
}

// -----

// CHECK-LABEL: tile.kernel @ampere(
// CHECK:       tile.gemm {{.*}} atom mma_sync
module attributes {program.target = #program.target<"sm_80">} {
tile.kernel @ampere() {
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x32xf32>
  %b = tile.alloc_shared "b" : !tile.shared<32x32xf32>
  %0 = tile.gemm %a, %b, %zero : !tile.shared<64x32xf32>, !tile.shared<32x32xf32>, tensor<64x32xf32>
  tile.return
}
}

//--- missed.mlir

// CHECK-LABEL: tile.kernel @across(
// CHECK:       tile.gemm {{.*}} atom mma_sync
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @across() {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x32xf32>
  %b = tile.alloc_shared "b" : !tile.shared<32x64xf32>
  // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not wgmma: expected axis 0 to be contiguous because wgmma reads operands of 32 bits only K-major, but axis 1 is; store the tile transposed, or copy its t() to a second tile}}
  %0 = tile.gemm %a, %b, %zero : !tile.shared<64x32xf32>, !tile.shared<32x64xf32>, tensor<64x64xf32>
  tile.return
}
}

// -----

// CHECK-LABEL: tile.kernel @depth(
// CHECK:       tile.gemm {{.*}} atom fma
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @depth() {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x4xf32>
  %b = tile.alloc_shared "b" : !tile.shared<4x64xf32>
  // expected-remark @below {{[gemm-without-wgmma] product uses multiply-add of single elements, not wgmma: k = 4 is not a multiple of 8; not mma.sync: 64x64x4 is not a multiple of 16x8x8}}
  %0 = tile.gemm %a, %b, %zero : !tile.shared<64x4xf32>, !tile.shared<4x64xf32>, tensor<64x64xf32>
  tile.return
}
}

//--- errors.mlir

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @async() {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x32xf32>
  %b = tile.alloc_shared "b" : !tile.shared<32x64xf32>
  // expected-error @below {{expected a product that wgmma can make because no other matrix instruction is asynchronous, but expected axis 0 to be contiguous because wgmma reads operands of 32 bits only K-major, but axis 1 is; store the tile transposed, or copy its t() to a second tile}}
  %0 = tile.gemm_async %a, %b, %zero : !tile.shared<64x32xf32>, !tile.shared<32x64xf32>, tensor<64x64xf32>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @in_tensor_memory() attributes {launch = #program.launch<warps = 4>} {
  %true = arith.constant true
  %a = tile.alloc_shared "a" : !tile.shared<128x32xf32>
  %b = tile.alloc_shared "b" : !tile.shared<32x64xf32>
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x64xf32>
  // expected-error @below {{expected a product that tcgen05.mma can make because it adds in tensor memory, but the layout of 'b' does not fit: expected axis 0 to be contiguous because tcgen05.mma reads operands of 32 bits only K-major, but axis 1 is; store the tile transposed, or copy its t() to a second tile}}
  tile.gemm_in_place %a, %b, %acc if %true : !tile.shared<128x32xf32>, !tile.shared<32x64xf32>, !tile.tensor_memory<128x64xf32>
  tile.return
}
}
