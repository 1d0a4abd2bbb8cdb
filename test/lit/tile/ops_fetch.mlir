// RUN: %tile-opt %s | %tile-opt | FileCheck %s
// RUN: %tile-opt %s --mlir-print-op-generic | %tile-opt | FileCheck %s

// CHECK-LABEL: tile.kernel @fetch(
tile.kernel @fetch(
    %n: index {program.argument = #program.dimension<"n">},
    %S: !tile.global<?xf32> {program.argument = #program.tensor<"S", inout, dims[0]>},
    %T: !tile.global<?xi32> {program.argument = #program.tensor<"T", inout, dims[0]>}) {
  %c0 = arith.constant 0 : index
  %x = arith.constant dense<1.0> : tensor<64x1xf32>
  %i = arith.constant dense<1> : tensor<64xi32>
  %at = arith.constant dense<3> : tensor<64xindex>
  %s = tile.slice %S[%n] : !tile.global<?xf32> -> !tile.slice<64xf32>
  %t = tile.slice %T[%n] : !tile.global<?xi32> -> !tile.slice<64xi32>
  %g = tile.slice %T[%c0] gathered [0] : !tile.global<?xi32> -> !tile.slice<64xi32>
  // CHECK: tile.atomic_fetch combine add %{{.*}}, %{{.*}} : tensor<64x1xf32>, !tile.slice<64xf32>
  %0 = tile.atomic_fetch combine add %x, %s : tensor<64x1xf32>, !tile.slice<64xf32>
  // CHECK: tile.atomic_fetch %{{.*}}, %{{.*}} : tensor<64x1xf32>, !tile.slice<64xf32>
  %1 = tile.atomic_fetch %x, %s : tensor<64x1xf32>, !tile.slice<64xf32>
  // CHECK: tile.atomic_fetch %{{.*}}, %{{.*}} if %{{.*}} : tensor<64xi32> : tensor<64xi32>, !tile.slice<64xi32>
  %2 = tile.atomic_fetch %i, %t if %i : tensor<64xi32> : tensor<64xi32>, !tile.slice<64xi32>
  // CHECK: tile.atomic_fetch combine bit_xor %{{.*}}, %{{.*}}[%{{.*}} : tensor<64xindex>] : tensor<64xi32>, !tile.slice<64xi32>
  %3 = tile.atomic_fetch combine bit_xor %i, %g[%at : tensor<64xindex>] : tensor<64xi32>, !tile.slice<64xi32>
  tile.return
}
