// RUN: split-file %s %t
// RUN: %tile-opt %t/best.mlir --tile-select-products -split-input-file | FileCheck %t/best.mlir
// RUN: %tile-opt %t/errors.mlir --tile-select-products -split-input-file -verify-diagnostics

// A product of a sparse left factor is wgmma, or refused.

//--- best.mlir

// CHECK-LABEL: tile.kernel @hopper(
// CHECK:       tile.gemm {{.*}} metadata %{{.*}} atom wgmma
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @hopper() {
  %zero = arith.constant dense<0.0> : tensor<64x40xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x16xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<40x32xbf16>
  %e = tile.alloc_shared "e" : !tile.shared<64x4xui8>
  %bt = tile.transpose %b : !tile.shared<40x32xbf16> -> !tile.shared<32x40xbf16, transposed>
  %places = tile.load %e : !tile.shared<64x4xui8> -> tensor<64x4xui8>
  %0 = tile.gemm %a, %bt, %zero metadata %places : !tile.shared<64x16xbf16>, !tile.shared<32x40xbf16, transposed>, tensor<64x40xf32>, tensor<64x4xui8>
  tile.return
}
}

//--- errors.mlir

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @rows() {
  %zero = arith.constant dense<0.0> : tensor<48x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<48x32xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %e = tile.alloc_shared "e" : !tile.shared<48x8xui8>
  %places = tile.load %e : !tile.shared<48x8xui8> -> tensor<48x8xui8>
  // expected-error @below {{expected a product that wgmma can make because its left factor is sparse, but m = 48 is not a multiple of 64}}
  %0 = tile.gemm %a, %b, %zero metadata %places : !tile.shared<48x32xbf16>, !tile.shared<64x64xbf16>, tensor<48x64xf32>, tensor<48x8xui8>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @depth() {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x24xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<48x64xbf16>
  %e = tile.alloc_shared "e" : !tile.shared<64x6xui8>
  %places = tile.load %e : !tile.shared<64x6xui8> -> tensor<64x6xui8>
  // expected-error @below {{expected a product that wgmma can make because its left factor is sparse, but k = 48 is not a multiple of 32}}
  %0 = tile.gemm %a, %b, %zero metadata %places : !tile.shared<64x24xbf16>, !tile.shared<48x64xbf16>, tensor<64x64xf32>, tensor<64x6xui8>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @across() {
  %zero = arith.constant dense<0> : tensor<64x64xi32>
  %a = tile.alloc_shared "a" : !tile.shared<64x32xi8>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xi8>
  %e = tile.alloc_shared "e" : !tile.shared<64x8xui8>
  %places = tile.load %e : !tile.shared<64x8xui8> -> tensor<64x8xui8>
  // expected-error @below {{expected a product that wgmma can make because its left factor is sparse, but expected axis 0 to be contiguous because wgmma reads operands of 8 bits only K-major, but axis 1 is; store the tile transposed, or copy its t() to a second tile}}
  %0 = tile.gemm %a, %b, %zero metadata %places : !tile.shared<64x32xi8>, !tile.shared<64x64xi8>, tensor<64x64xi32>, tensor<64x8xui8>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @warps() attributes {launch = #program.launch<warps = 2>} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x32xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %e = tile.alloc_shared "e" : !tile.shared<64x8xui8>
  %places = tile.load %e : !tile.shared<64x8xui8> -> tensor<64x8xui8>
  // expected-error @below {{expected a product that wgmma can make because its left factor is sparse, but 2 warps are not whole warpgroups; k.warps(4) would do}}
  %0 = tile.gemm %a, %b, %zero metadata %places : !tile.shared<64x32xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>, tensor<64x8xui8>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_80">} {
tile.kernel @ampere() {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x32xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %e = tile.alloc_shared "e" : !tile.shared<64x8xui8>
  %places = tile.load %e : !tile.shared<64x8xui8> -> tensor<64x8xui8>
  // expected-error @below {{expected a product that wgmma can make because its left factor is sparse, but sm_80 has no wgmma.sp}}
  %0 = tile.gemm %a, %b, %zero metadata %places : !tile.shared<64x32xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>, tensor<64x8xui8>
  tile.return
}
}
