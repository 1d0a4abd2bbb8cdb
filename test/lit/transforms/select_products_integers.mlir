// RUN: split-file %s %t
// RUN: %tile-opt %t/best.mlir --tile-select-products -split-input-file -verify-diagnostics | FileCheck %t/best.mlir
// RUN: %tile-opt %t/missed.mlir --tile-select-products -split-input-file -verify-diagnostics | FileCheck %t/missed.mlir
// RUN: %tile-opt %t/errors.mlir --tile-select-products -split-input-file -verify-diagnostics

// Products of integers of 8 bits: wgmma where the target has it, else mma.sync.

//--- best.mlir

// Each factor with or without a sign; a left factor in registers. No remark.
// CHECK-LABEL: tile.kernel @hopper(
// CHECK-COUNT-3: tile.gemm {{.*}} atom wgmma
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @hopper() {
  %zero = arith.constant dense<0> : tensor<64x32xi32>
  %left = arith.constant dense<1> : tensor<64x32xi8>
  %a = tile.alloc_shared "a" : !tile.shared<64x32xui8>
  %b = tile.alloc_shared "b" : !tile.shared<32x32xi8>
  %c = tile.alloc_shared "c" : !tile.shared<32x32xui8>
  %bt = tile.transpose %b : !tile.shared<32x32xi8> -> !tile.shared<32x32xi8, transposed>
  %ct = tile.transpose %c : !tile.shared<32x32xui8> -> !tile.shared<32x32xui8, transposed>
  %0 = tile.gemm %a, %bt, %zero : !tile.shared<64x32xui8>, !tile.shared<32x32xi8, transposed>, tensor<64x32xi32>
  %1 = tile.gemm %a, %ct, %0 : !tile.shared<64x32xui8>, !tile.shared<32x32xui8, transposed>, tensor<64x32xi32>
  %2 = tile.gemm %left, %bt, %1 : tensor<64x32xi8>, !tile.shared<32x32xi8, transposed>, tensor<64x32xi32>
  tile.return
}
}

// -----

// CHECK-LABEL: tile.kernel @ampere(
// CHECK:       tile.gemm {{.*}} atom mma_sync
module attributes {program.target = #program.target<"sm_80">} {
tile.kernel @ampere() {
  %zero = arith.constant dense<0> : tensor<64x32xi32>
  %a = tile.alloc_shared "a" : !tile.shared<64x32xui8>
  %b = tile.alloc_shared "b" : !tile.shared<32x32xi8>
  %bt = tile.transpose %b : !tile.shared<32x32xi8> -> !tile.shared<32x32xi8, transposed>
  %0 = tile.gemm %a, %bt, %zero : !tile.shared<64x32xui8>, !tile.shared<32x32xi8, transposed>, tensor<64x32xi32>
  tile.return
}
}

// -----

// CHECK-LABEL: tile.kernel @blackwell(
// CHECK:       tile.gemm {{.*}} atom mma_sync
module attributes {program.target = #program.target<"sm_103a">} {
tile.kernel @blackwell() {
  %zero = arith.constant dense<0> : tensor<128x32xi32>
  %a = tile.alloc_shared "a" : !tile.shared<128x32xi8>
  %b = tile.alloc_shared "b" : !tile.shared<32x32xi8>
  %bt = tile.transpose %b : !tile.shared<32x32xi8> -> !tile.shared<32x32xi8, transposed>
  // expected-remark @below {{product uses mma.sync, not tcgen05: sm_103a has no tcgen05.mma for i8 with sums of i32}}
  %0 = tile.gemm %a, %bt, %zero : !tile.shared<128x32xi8>, !tile.shared<32x32xi8, transposed>, tensor<128x32xi32>
  tile.return
}
}

//--- missed.mlir

// CHECK-LABEL: tile.kernel @columns(
// CHECK:       tile.gemm {{.*}} atom mma_sync
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @columns() {
  %zero = arith.constant dense<0> : tensor<64x40xi32>
  %a = tile.alloc_shared "a" : !tile.shared<64x32xi8>
  %b = tile.alloc_shared "b" : !tile.shared<40x32xi8>
  %bt = tile.transpose %b : !tile.shared<40x32xi8> -> !tile.shared<32x40xi8, transposed>
  // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not wgmma: n = 40 is not a multiple of 16}}
  %0 = tile.gemm %a, %bt, %zero : !tile.shared<64x32xi8>, !tile.shared<32x40xi8, transposed>, tensor<64x40xi32>
  tile.return
}
}

// -----

// CHECK-LABEL: tile.kernel @across(
// CHECK:       tile.gemm {{.*}} atom mma_sync
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @across() {
  %zero = arith.constant dense<0> : tensor<64x64xi32>
  %a = tile.alloc_shared "a" : !tile.shared<64x32xi8>
  %b = tile.alloc_shared "b" : !tile.shared<32x64xui8>
  // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not wgmma: expected axis 0 to be contiguous because wgmma reads operands of 8 bits only K-major, but axis 1 is; store the tile transposed, or copy its t() to a second tile}}
  %0 = tile.gemm %a, %b, %zero : !tile.shared<64x32xi8>, !tile.shared<32x64xui8>, tensor<64x64xi32>
  tile.return
}
}

// -----

// CHECK-LABEL: tile.kernel @depth(
// CHECK:       tile.gemm {{.*}} atom fma
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @depth() {
  %zero = arith.constant dense<0> : tensor<64x64xi32>
  %a = tile.alloc_shared "a" : !tile.shared<64x16xi8>
  %b = tile.alloc_shared "b" : !tile.shared<16x64xi8>
  // expected-remark @below {{[gemm-without-wgmma] product uses multiply-add of single elements, not wgmma: k = 16 is not a multiple of 32; not mma.sync: 64x64x16 is not a multiple of 16x8x32}}
  %0 = tile.gemm %a, %b, %zero : !tile.shared<64x16xi8>, !tile.shared<16x64xi8>, tensor<64x64xi32>
  tile.return
}
}

//--- errors.mlir

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @async() {
  %zero = arith.constant dense<0> : tensor<64x64xi32>
  %a = tile.alloc_shared "a" : !tile.shared<64x32xi8>
  %b = tile.alloc_shared "b" : !tile.shared<32x64xi8>
  // expected-error @below {{expected a product that wgmma can make because no other matrix instruction is asynchronous, but expected axis 0 to be contiguous because wgmma reads operands of 8 bits only K-major, but axis 1 is; store the tile transposed, or copy its t() to a second tile}}
  %0 = tile.gemm_async %a, %b, %zero : !tile.shared<64x32xi8>, !tile.shared<32x64xi8>, tensor<64x64xi32>
  tile.return
}
}
