// RUN: %tile-opt %s | %tile-opt | FileCheck %s
// RUN: %tile-opt %s --mlir-print-op-generic | %tile-opt | FileCheck %s

// CHECK-LABEL: tile.kernel @symmetric(
// CHECK-SAME:    #program.dimension<"k.rank", source = rank>
// CHECK-SAME:    #program.dimension<"k.ranks", source = ranks>
// CHECK-SAME:    #program.tensor<"X", input, dims[-1], symmetric = true>
tile.kernel @symmetric(%rank: index {program.argument = #program.dimension<"k.rank", source = rank>},
    %ranks: index {program.argument = #program.dimension<"k.ranks", source = ranks>},
    %X: !tile.global<64xf32> {program.argument = #program.tensor<"X", input, dims[-1], symmetric = true>},
    %C: !tile.global<?xi32> {program.argument = #program.tensor<"C", workspace, dims[1], zero_fill = true, symmetric = true>}) {
  %c0 = arith.constant 0 : index
  // CHECK: tile.slice %X of %{{.*}}[%{{.*}}] : !tile.global<64xf32> -> !tile.slice<32xf32>
  %x = tile.slice %X of %rank[%c0] : !tile.global<64xf32> -> !tile.slice<32xf32>
  // CHECK: tile.slice %X of %{{.*}}[%{{.*}}] limit %{{.*}} along 0 unchecked "it is" : !tile.global<64xf32> -> !tile.slice<32xf32>
  %y = tile.slice %X of %c0[%c0] limit %ranks along 0 unchecked "it is" : !tile.global<64xf32> -> !tile.slice<32xf32>
  %v = tile.load %x : !tile.slice<32xf32> -> tensor<32xf32>
  %w = tile.load %y : !tile.slice<32xf32> -> tensor<32xf32>
  // CHECK: %[[COUNT:.*]] = tile.slice %C of
  %count = tile.slice %C of %rank[%rank] : !tile.global<?xi32> -> !tile.slice<1xi32>
  // CHECK: tile.announce %[[COUNT]]
  tile.announce %count by %ranks : !tile.slice<1xi32>
  tile.return
}

// CHECK-LABEL: tile.kernel @all_ranks(
tile.kernel @all_ranks(%rank: index {program.argument = #program.dimension<"k.rank", source = rank>},
    %ranks: index {program.argument = #program.dimension<"k.ranks", source = ranks>},
    %X: !tile.global<64xf32> {program.argument = #program.tensor<"X", input, dims[-1], symmetric = true>},
    %C: !tile.global<?xi32> {program.argument = #program.tensor<"C", workspace, dims[1], zero_fill = true, symmetric = true>}) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  // CHECK: tile.slice %X of_all[%{{.*}}] : !tile.global<64xf32> -> !tile.slice<32xf32>
  %x = tile.slice %X of_all[%c0] : !tile.global<64xf32> -> !tile.slice<32xf32>
  // CHECK: tile.load combine add %{{.*}} : !tile.slice<32xf32> -> tensor<32xf32>
  %v = tile.load combine add %x : !tile.slice<32xf32> -> tensor<32xf32>
  // CHECK: tile.slice %C of_all[%{{.*}}] limit %{{.*}} along 0
  %c = tile.slice %C of_all[%c0] limit %c0 along 0 : !tile.global<?xi32> -> !tile.slice<1xi32>
  tile.atomic max %one, %c : i32, !tile.slice<1xi32>
  tile.announce %c by %ranks : !tile.slice<1xi32>
  // CHECK: tile.load combine bit_or %{{.*}} : !tile.slice<1xi32> -> tensor<1xi32>
  %w = tile.load combine bit_or %c : !tile.slice<1xi32> -> tensor<1xi32>
  tile.store %w, %c : tensor<1xi32>, !tile.slice<1xi32>
  tile.return
}
