// RUN: %tile-opt %s | %tile-opt | FileCheck %s
// RUN: %tile-opt %s --mlir-print-op-generic | %tile-opt | FileCheck %s

// CHECK-LABEL: tile.kernel @gathered(
tile.kernel @gathered(%X: !tile.global<100x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  %rows = tile.coordinates 0 : tensor<16x64xindex>
  // CHECK: %[[S:.*]] = tile.slice %X[%{{.*}}, %{{.*}}] gathered [0] : !tile.global<100x64xf32> -> !tile.slice<16x64xf32>
  %s = tile.slice %X[%c0, %c0] gathered [0] : !tile.global<100x64xf32> -> !tile.slice<16x64xf32>
  // CHECK: %[[V:.*]] = tile.gather %[[S]][%[[ROWS:.*]]] : !tile.slice<16x64xf32>, tensor<16x64xindex> -> tensor<16x64xf32>
  %v = tile.gather %s[%rows] : !tile.slice<16x64xf32>, tensor<16x64xindex> -> tensor<16x64xf32>
  // CHECK: tile.scatter %[[V]], %[[S]][%[[ROWS]]] : tensor<16x64xf32>, !tile.slice<16x64xf32>, tensor<16x64xindex>
  tile.scatter %v, %s[%rows] : tensor<16x64xf32>, !tile.slice<16x64xf32>, tensor<16x64xindex>
  // CHECK: tile.scatter combine add %[[V]], %[[S]][%[[ROWS]]] :
  tile.scatter combine add %v, %s[%rows] : tensor<16x64xf32>, !tile.slice<16x64xf32>, tensor<16x64xindex>
  tile.return
}
