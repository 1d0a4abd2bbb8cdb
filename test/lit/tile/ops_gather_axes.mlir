// RUN: %tile-opt %s | %tile-opt | FileCheck %s
// RUN: %tile-opt %s --mlir-print-op-generic | %tile-opt | FileCheck %s

// Positions along two axes, which are any number of axes of the slice.
// CHECK-LABEL: tile.kernel @several(
tile.kernel @several(%X: !tile.global<9x100x64xi32> {program.argument = #program.tensor<"X", inout, dims[-1, -1, -1]>}) {
  %c0 = arith.constant 0 : index
  %i = tile.coordinates 0 : tensor<8x4x64xindex>
  %j = tile.coordinates 1 : tensor<8x4x64xindex>
  // CHECK: %[[S:.*]] = tile.slice %X[%{{.*}}, %{{.*}}, %{{.*}}] gathered [0, 1] : !tile.global<9x100x64xi32> -> !tile.slice<8x4x64xi32>
  %s = tile.slice %X[%c0, %c0, %c0] gathered [0, 1] : !tile.global<9x100x64xi32> -> !tile.slice<8x4x64xi32>
  // CHECK: %[[V:.*]] = tile.gather %[[S]][%[[I:.*]], %[[J:.*]]] : !tile.slice<8x4x64xi32>, tensor<8x4x64xindex>, tensor<8x4x64xindex> -> tensor<8x4x64xi32>
  %v = tile.gather %s[%i, %j] : !tile.slice<8x4x64xi32>, tensor<8x4x64xindex>, tensor<8x4x64xindex> -> tensor<8x4x64xi32>
  // CHECK: tile.scatter %[[V]], %[[S]][%[[I]], %[[J]]] : tensor<8x4x64xi32>, !tile.slice<8x4x64xi32>, tensor<8x4x64xindex>, tensor<8x4x64xindex>
  tile.scatter %v, %s[%i, %j] : tensor<8x4x64xi32>, !tile.slice<8x4x64xi32>, tensor<8x4x64xindex>, tensor<8x4x64xindex>
  // CHECK: tile.atomic_fetch combine add %[[V]], %[[S]][%[[I]], %[[J]] : tensor<8x4x64xindex>, tensor<8x4x64xindex>]
  %old = tile.atomic_fetch combine add %v, %s[%i, %j : tensor<8x4x64xindex>, tensor<8x4x64xindex>] : tensor<8x4x64xi32>, !tile.slice<8x4x64xi32>
  %p = tile.coordinates 0 : tensor<64xindex>
  // CHECK: tile.slice {{.*}} gathered [0, 1, 2] : !tile.global<9x100x64xi32> -> !tile.slice<64xi32>
  %t = tile.slice %X[%c0, %c0, %c0] gathered [0, 1, 2] : !tile.global<9x100x64xi32> -> !tile.slice<64xi32>
  %w = tile.gather %t[%p, %p, %p] : !tile.slice<64xi32>, tensor<64xindex>, tensor<64xindex>, tensor<64xindex> -> tensor<64xi32>
  // Between a row and 8 columns, positions of 4 x 16 elements.
  // CHECK: tile.slice {{.*}} gathered [1] : !tile.global<9x100x64xi32> -> !tile.slice<1x4x16x8xi32>
  %q = tile.coordinates 1 : tensor<4x16x8xindex>
  %u = tile.slice %X[%c0, %c0, %c0] gathered [1] : !tile.global<9x100x64xi32> -> !tile.slice<1x4x16x8xi32>
  %y = tile.gather %u[%q] : !tile.slice<1x4x16x8xi32>, tensor<4x16x8xindex> -> tensor<4x16x8xi32>
  tile.return
}
