// RUN: %tile-opt %s | %tile-opt | FileCheck %s
// RUN: %tile-opt %s --mlir-print-op-generic | %tile-opt | FileCheck %s

// CHECK-LABEL: tile.kernel @counts(
tile.kernel @counts(%n: index {program.argument = #program.dimension<"n">},
    %C: !tile.global<?xi32> {program.argument = #program.tensor<"C", inout, dims[0]>}) {
  %c0 = arith.constant 0 : index
  %tile = tile.alloc_shared "taken" : !tile.shared<1xi32>
  // CHECK: %[[COUNT:.*]] = tile.slice
  %count = tile.slice %C[%c0] : !tile.global<?xi32> -> !tile.slice<1xi32>
  // CHECK: tile.take %[[COUNT]], %taken[%{{.*}}] : !tile.slice<1xi32>, !tile.shared<1xi32>
  tile.take %count, %tile[%c0] : !tile.slice<1xi32>, !tile.shared<1xi32>
  // CHECK: tile.wait_for %[[COUNT]] at_least %{{.*}} : !tile.slice<1xi32>
  tile.wait_for %count at_least %n : !tile.slice<1xi32>
  // CHECK: tile.wait_for %[[COUNT]] at_least %{{.*}} within 200000000 ns : !tile.slice<1xi32>
  tile.wait_for %count at_least %n within 200000000 ns : !tile.slice<1xi32>
  // CHECK: tile.announce %[[COUNT]] by %{{.*}} : !tile.slice<1xi32>
  tile.announce %count by %c0 : !tile.slice<1xi32>
  tile.return
}

// CHECK-LABEL: tile.kernel @next(
tile.kernel @next(%n: index {program.argument = #program.dimension<"n">},
    %C: !tile.global<?xi32> {program.argument = #program.tensor<"C", inout, dims[0]>}) {
  %c0 = arith.constant 0 : index
  %own = tile.grid %c0 : index
  %tile = tile.alloc_shared "next_tile" : !tile.shared<1xi32>
  // CHECK: %[[RESPONSE:.*]] = tile.alloc_response "next_tile.response" at 32
  %response = tile.alloc_response "next_tile.response" at 32
  // CHECK: tile.next_block %{{.*}}, %{{.*}} by %[[RESPONSE]], %next_tile[%{{.*}}] : !tile.shared<1xi32>
  tile.next_block %own, %c0 by %response, %tile[%c0] : !tile.shared<1xi32>
  tile.return
}
