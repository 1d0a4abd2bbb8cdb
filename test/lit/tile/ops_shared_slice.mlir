// RUN: %tile-opt %s | %tile-opt | FileCheck %s
// RUN: %tile-opt %s --mlir-print-op-generic | %tile-opt | FileCheck %s

// CHECK-LABEL: tile.kernel @boxes(
tile.kernel @boxes(%n: index {program.argument = #program.dimension<"n">}) {
  %c3 = arith.constant 3 : index
  %one = arith.constant 1.0 : f32
  %i = arith.constant 1 : i32
  %tile = tile.alloc_shared "tile" : !tile.shared<64x128xf32>
  %counts = tile.alloc_shared "counts" : !tile.shared<256xi32>
  // CHECK: %[[S:.*]] = tile.slice_shared %tile[%{{.*}}, %n] : !tile.shared<64x128xf32> -> !tile.slice<16x32xf32>
  %s = tile.slice_shared %tile[%c3, %n] : !tile.shared<64x128xf32> -> !tile.slice<16x32xf32>
  // CHECK: tile.load %[[S]] : !tile.slice<16x32xf32> -> tensor<16x32xf32>
  %x = tile.load %s : !tile.slice<16x32xf32> -> tensor<16x32xf32>
  // CHECK: %[[L:.*]] = tile.slice_shared %tile[%{{.*}}, %n] limit %n along 1 fill %{{.*}} : f32 unchecked "whole" : !tile.shared<64x128xf32> -> !tile.slice<16x32xf32>
  %l = tile.slice_shared %tile[%c3, %n] limit %n along 1 fill %one : f32 unchecked "whole" : !tile.shared<64x128xf32> -> !tile.slice<16x32xf32>
  // CHECK: tile.store %{{.*}}, %[[L]] : tensor<16x32xf32>, !tile.slice<16x32xf32>
  tile.store %x, %l : tensor<16x32xf32>, !tile.slice<16x32xf32>
  // CHECK: %[[T:.*]] = tile.transpose %tile
  %t = tile.transpose %tile : !tile.shared<64x128xf32> -> !tile.shared<128x64xf32, transposed>
  // CHECK: tile.slice_shared %[[T]][%n, %{{.*}}] : !tile.shared<128x64xf32, transposed> -> !tile.slice<32x16xf32>
  %u = tile.slice_shared %t[%n, %c3] : !tile.shared<128x64xf32, transposed> -> !tile.slice<32x16xf32>
  // CHECK: %[[C:.*]] = tile.slice_shared %counts[%n] : !tile.shared<256xi32> -> !tile.slice<1xi32>
  %c = tile.slice_shared %counts[%n] : !tile.shared<256xi32> -> !tile.slice<1xi32>
  // CHECK: tile.atomic add %{{.*}}, %[[C]] : i32, !tile.slice<1xi32>
  tile.atomic add %i, %c : i32, !tile.slice<1xi32>
  tile.return
}

// CHECK-LABEL: tile.kernel @positions(
tile.kernel @positions(%n: index {program.argument = #program.dimension<"n">}) {
  %c0 = arith.constant 0 : index
  %at = tile.coordinates 0 : tensor<512xindex>
  %x = arith.constant dense<1> : tensor<512xi32>
  %counts = tile.alloc_shared "counts" : !tile.shared<256xi32>
  // CHECK: %[[S:.*]] = tile.slice_shared %counts[%{{.*}}] gathered [0] : !tile.shared<256xi32> -> !tile.slice<512xi32>
  %s = tile.slice_shared %counts[%c0] gathered [0] : !tile.shared<256xi32> -> !tile.slice<512xi32>
  // CHECK: tile.gather %[[S]][%{{.*}}]
  %g = tile.gather %s[%at] : !tile.slice<512xi32>, tensor<512xindex> -> tensor<512xi32>
  // CHECK: tile.scatter combine add %{{.*}}, %[[S]][%{{.*}}]
  tile.scatter combine add %x, %s[%at] : tensor<512xi32>, !tile.slice<512xi32>, tensor<512xindex>
  // CHECK: tile.atomic_fetch combine bit_or %{{.*}}, %[[S]][%{{.*}} : tensor<512xindex>]
  %old = tile.atomic_fetch combine bit_or %x, %s[%at : tensor<512xindex>] : tensor<512xi32>, !tile.slice<512xi32>
  tile.return
}
