// RUN: %tile-opt %s --tile-rematerialise-values | FileCheck %s

#full = #tile.layout<"reg(2@1:1, 2@0:8, 36@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
#half = #tile.layout<"reg(2@1:1, 2@0:8, 18@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_90a">} {

// Fragments of 144 registers in loops within a loop: dimensions are rematerialised in each round and after each inner loop,
// the warp's number after the last one. After the outer loop nothing is.
// CHECK-LABEL: tile.kernel @full(
// CHECK:         scf.for
// CHECK-NEXT:      tile.rematerialise dimensions{{$}}
// CHECK-NEXT:      scf.for
// CHECK-NOT:         tile.rematerialise
// CHECK:           }
// CHECK-NEXT:      tile.rematerialise dimensions{{$}}
// CHECK-NEXT:      scf.for
// CHECK-NOT:         tile.rematerialise
// CHECK:           }
// CHECK-NEXT:      tile.rematerialise dimensions, warp
// CHECK-NOT:     tile.rematerialise
// CHECK:         tile.return
tile.kernel @full(%m: index {program.argument = #program.dimension<"m">}, %n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x?xf32> {program.argument = #program.tensor<"X", inout, dims[0, 1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x288xf32, #full>
  scf.for %i = %c0 to %n step %c1 {
    %a = scf.for %j = %c0 to %m step %c1 iter_args(%v = %zero) -> (tensor<64x288xf32, #full>) {
      scf.yield %v : tensor<64x288xf32, #full>
    }
    %b = scf.for %j = %c0 to %m step %c1 iter_args(%v = %a) -> (tensor<64x288xf32, #full>) {
      scf.yield %v : tensor<64x288xf32, #full>
    }
    %s = tile.slice %X[%i, %c0] : !tile.global<?x?xf32> -> !tile.slice<64x288xf32>
    tile.store %b, %s : tensor<64x288xf32, #full>, !tile.slice<64x288xf32>
  }
  %last = arith.subi %m, %c1 : index
  %one = tile.slice %X[%last, %c0] : !tile.global<?x?xf32> -> !tile.slice<64x288xf32>
  tile.store %zero, %one : tensor<64x288xf32, #full>, !tile.slice<64x288xf32>
  tile.return
}

// Half as many leave enough.
// CHECK-LABEL: tile.kernel @half(
// CHECK-NOT:     tile.rematerialise
// CHECK:         tile.return
tile.kernel @half(%m: index {program.argument = #program.dimension<"m">}, %n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x?xf32> {program.argument = #program.tensor<"X", inout, dims[0, 1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x144xf32, #half>
  scf.for %i = %c0 to %n step %c1 {
    %a = scf.for %j = %c0 to %m step %c1 iter_args(%v = %zero) -> (tensor<64x144xf32, #half>) {
      scf.yield %v : tensor<64x144xf32, #half>
    }
    %s = tile.slice %X[%i, %c0] : !tile.global<?x?xf32> -> !tile.slice<64x144xf32>
    tile.store %a, %s : tensor<64x144xf32, #half>, !tile.slice<64x144xf32>
  }
  tile.return
}
}
