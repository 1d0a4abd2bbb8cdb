// RUN: %tlc-opt %s -tile-to-simt | FileCheck %s

#full = #tile.layout<"reg(2@1:1, 2@0:8, 36@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_90a">} {

// From the operation to the end of its block, dimensions are opaque, and with them the warp's number. After the block the
// original values are used again.
// CHECK-LABEL: simt.kernel @full(
// CHECK-SAME:    %[[M:arg[0-9]+]]: i32 {program.parameter = #program.parameter<dimension, 0>},
// CHECK-SAME:    %[[N:arg[0-9]+]]: i32 {program.parameter = #program.parameter<dimension, 1>},
// CHECK:         %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK-NOT:     simt.opaque
// CHECK:         scf.for {{.*}} to %[[N]]
// CHECK:           %[[FIRST:.*]] = simt.opaque %[[M]]
// CHECK-NOT:       simt.opaque
// CHECK:           scf.for {{.*}} to %[[FIRST]]
// CHECK:           %[[SECOND:.*]] = simt.opaque %[[FIRST]]
// CHECK-NOT:       simt.opaque
// CHECK:           scf.for {{.*}} to %[[SECOND]]
// CHECK:           %[[AGAIN:.*]] = simt.opaque %[[THREAD]]
// CHECK:           %[[WARP:.*]] = arith.shrui %[[AGAIN]], %c5_i32
// CHECK:           arith.muli %[[WARP]], %c16_i32
// CHECK-NOT:     simt.opaque
// CHECK:         arith.subi %[[M]], %c1_i32
tile.kernel @full(%m: index {program.argument = #program.dimension<"m">}, %n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x?xf32> {program.argument = #program.tensor<"X", inout, dims[0, 1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x288xf32, #full>
  scf.for %i = %c0 to %n step %c1 {
    tile.rematerialise dimensions
    %a = scf.for %j = %c0 to %m step %c1 iter_args(%v = %zero) -> (tensor<64x288xf32, #full>) {
      scf.yield %v : tensor<64x288xf32, #full>
    }
    tile.rematerialise dimensions
    %b = scf.for %j = %c0 to %m step %c1 iter_args(%v = %a) -> (tensor<64x288xf32, #full>) {
      scf.yield %v : tensor<64x288xf32, #full>
    }
    tile.rematerialise dimensions, warp
    %s = tile.slice %X[%i, %c0] : !tile.global<?x?xf32> -> !tile.slice<64x288xf32>
    tile.store %b, %s : tensor<64x288xf32, #full>, !tile.slice<64x288xf32>
  }
  %last = arith.subi %m, %c1 : index
  %one = tile.slice %X[%last, %c0] : !tile.global<?x?xf32> -> !tile.slice<64x288xf32>
  tile.store %zero, %one : tensor<64x288xf32, #full>, !tile.slice<64x288xf32>
  tile.return
}
}
