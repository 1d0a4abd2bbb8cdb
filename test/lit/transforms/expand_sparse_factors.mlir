// RUN: %tile-opt %s --tile-expand-sparse-factors -split-input-file -verify-diagnostics | FileCheck %s
// RUN: %tile-opt %s --tile-expand-sparse-factors=wgmma=false -split-input-file 2>/dev/null | FileCheck %s --check-prefix=OFF

// Of each four elements the two that are stored are gathered: their places are four bits of metadata.
// CHECK-LABEL: tile.kernel @blackwell(
// CHECK-DAG:   %[[WORDS:.*]] = tile.convert %{{.*}} : tensor<64x4xui8> to tensor<64x4xi32>
// CHECK:       tile.reshape %[[WORDS]] : tensor<64x4xi32> -> tensor<64x4x1xi32>
// CHECK-NEXT:  tile.broadcast {{.*}} -> tensor<64x4x8xi32>
// CHECK-NEXT:  tile.reshape {{.*}} -> tensor<64x32xi32>
// CHECK:       %[[SECOND:.*]] = tile.gather %{{.*}}[%{{.*}}] : !tile.slice<64x32xbf16>, tensor<64x32xindex> -> tensor<64x32xbf16>
// CHECK:       %[[OTHER:.*]] = arith.select %{{.*}}, %[[SECOND]], %{{.*}}
// CHECK:       %[[FIRST:.*]] = tile.gather
// CHECK:       %[[DENSE:.*]] = arith.select %{{.*}}, %[[FIRST]], %[[OTHER]]
// CHECK:       tile.gemm %[[DENSE]], %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : tensor<64x32xbf16>
// CHECK-NOT:   metadata
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @blackwell() {
  %a = tile.alloc_shared "a" : !tile.shared<64x16xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<32x40xbf16>
  %e = tile.alloc_shared "e" : !tile.shared<64x4xui8>
  %places = tile.load %e : !tile.shared<64x4xui8> -> tensor<64x4xui8>
  %zero = arith.constant dense<0.0> : tensor<64x40xf32>
  // expected-remark @below {{[gemm-without-wgmma] the sparse left factor is multiplied with its zeros because sm_100a has no wgmma.sp}}
  %0 = tile.gemm %a, %b, %zero metadata %places : !tile.shared<64x16xbf16>, !tile.shared<32x40xbf16>, tensor<64x40xf32>, tensor<64x4xui8>
  tile.return
}
}

// -----

// Of each two elements of 32 bits one is stored. What an author starts is expanded, too.
// CHECK-LABEL: tile.kernel @words(
// CHECK:       %[[STORED:.*]] = tile.gather
// CHECK-NOT:   tile.gather
// CHECK:       %[[DENSE:.*]] = arith.select %{{.*}}, %[[STORED]], %{{.*}} : tensor<64x16xi1>, tensor<64x16xf32>
// CHECK:       tile.gemm_async %[[DENSE]],
module attributes {program.target = #program.target<"sm_80">} {
tile.kernel @words() {
  %a = tile.alloc_shared "a" : !tile.shared<64x8xf32>
  %b = tile.alloc_shared "b" : !tile.shared<16x8xf32>
  %e = tile.alloc_shared "e" : !tile.shared<64x4xui8>
  %places = tile.load %e : !tile.shared<64x4xui8> -> tensor<64x4xui8>
  %zero = arith.constant dense<0.0> : tensor<64x8xf32>
  // expected-remark @below {{sm_80 has no wgmma.sp}}
  %0 = tile.gemm_async %a, %b, %zero metadata %places : !tile.shared<64x8xf32>, !tile.shared<16x8xf32>, tensor<64x8xf32>, tensor<64x4xui8>
  %1 = tile.gemm_wait %0 pending(0) : tensor<64x8xf32>
  tile.return
}
}

// -----

// CHECK-LABEL: tile.kernel @hopper(
// CHECK:       tile.gemm {{.*}} metadata
// OFF-LABEL:   tile.kernel @hopper(
// OFF:         tile.gather
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @hopper() {
  %a = tile.alloc_shared "a" : !tile.shared<64x16xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<32x40xbf16>
  %e = tile.alloc_shared "e" : !tile.shared<64x4xui8>
  %places = tile.load %e : !tile.shared<64x4xui8> -> tensor<64x4xui8>
  %zero = arith.constant dense<0.0> : tensor<64x40xf32>
  %0 = tile.gemm %a, %b, %zero metadata %places : !tile.shared<64x16xbf16>, !tile.shared<32x40xbf16>, tensor<64x40xf32>, tensor<64x4xui8>
  tile.return
}
}
