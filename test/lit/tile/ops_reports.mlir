// RUN: %tile-opt %s | %tile-opt | FileCheck %s
// RUN: %tile-opt %s --mlir-print-op-generic | %tile-opt | FileCheck %s
// RUN: %tile-opt %s -canonicalize -cse | FileCheck %s --check-prefix=KEPT

// CHECK-LABEL: tile.kernel @reports(
// KEPT-LABEL: tile.kernel @reports(
tile.kernel @reports(%n: index {program.argument = #program.dimension<"n">}) {
  %c0 = arith.constant 0 : index
  %number = arith.index_cast %n : index to i32
  %holds = arith.cmpi sgt, %n, %c0 : index
  %x = arith.constant dense<1.0> : tensor<64x8xf32>
  %y = arith.constant dense<2.0> : tensor<64x8xf32>
  %less = arith.cmpf olt, %x, %y : tensor<64x8xf32>
  // CHECK: tile.report "here"
  // KEPT: tile.report "here"
  tile.report "here"
  // CHECK: tile.report "n is {}, x is {}", %{{.*}}, %{{.*}} : i32, tensor<64x8xf32>
  tile.report "n is {}, x is {}", %number, %x : i32, tensor<64x8xf32>
  // CHECK: tile.report unless %{{.*}} : i1, "expected n, but got {}", %{{.*}} : i32
  tile.report unless %holds : i1, "expected n, but got {}", %number : i32
  // CHECK: tile.report unless %{{.*}} : tensor<64x8xi1>, "{} {}", %{{.*}}, %{{.*}} : tensor<64x8xf32>, tensor<64x8xf32>
  // KEPT: tile.report unless %{{.*}} : tensor<64x8xi1>
  tile.report unless %less : tensor<64x8xi1>, "{} {}", %x, %y : tensor<64x8xf32>, tensor<64x8xf32>
  tile.return
}
