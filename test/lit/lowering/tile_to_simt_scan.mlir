// RUN: %tlc-opt %s -tile-to-simt -split-input-file | FileCheck %s
// A scan goes through the digits of its axis, the lowest first.

#mma = #tile.layout<"reg(2@1:1, 2@0:8) lane(4@1:2, 8@0:1) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// Two registers lie side by side: the second takes the first. Then neighbouring lanes tell each other the sums of
// their two, and those with the bit set take them; then lanes two apart.
// CHECK-LABEL: simt.kernel @sums(
// CHECK:         %[[SUM:.*]] = arith.addf %[[FIRST:.*]], %[[SECOND:.*]] : f32
// CHECK:         simt.shuffle_xor %{{.*}} mask(1) : vector<2xf32>
// CHECK:         %[[BIT:.*]] = arith.andi %{{.*}}, %c1_i32
// CHECK:         %[[SET:.*]] = arith.cmpi eq, %[[BIT]], %c1_i32
// CHECK:         arith.select %[[SET]], %{{.*}}, %{{.*}} : f32
// CHECK:         simt.shuffle_xor %{{.*}} mask(2) : vector<2xf32>
// CHECK-NOT:     simt.shuffle_xor
// CHECK-NOT:     simt.sync
// CHECK:         simt.return
tile.kernel @sums(%X: !tile.global<16x8xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %s = tile.slice %X[%c0, %c0] : !tile.global<16x8xf32> -> !tile.slice<16x8xf32>
  %v = tile.load %s : !tile.slice<16x8xf32> -> tensor<16x8xf32, #mma>
  %r = tile.scan sum %v axis(1) : tensor<16x8xf32, #mma>
  tile.store %r, %s atom simt : tensor<16x8xf32, #mma>, !tile.slice<16x8xf32>
  tile.return
}
}

// -----

#warps = #tile.layout<"reg(2@1:1) lane(32@0:1) warp(4@1:2)">
#parts = #tile.shared_layout<"32x4 32b axis 1 panel 4 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
// Each warp leaves the maximum of its two in scratch memory and reads all four, in one vector. Backward, those with
// lower numbers take them.
// CHECK-LABEL: simt.kernel @acrossWarps(
// CHECK:         %[[OWN:.*]] = arith.maxnumf
// CHECK:         simt.sync
// CHECK:         simt.store %{{.*}} : f32, !llvm.ptr<3>
// CHECK:         simt.sync
// CHECK:         simt.load %{{.*}} : !llvm.ptr<3> -> vector<4xf32>
// CHECK:         arith.cmpi ult, %{{.*}}, %c3_i32
tile.kernel @acrossWarps(%X: !tile.global<32x8xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %scratch = tile.alloc_shared "scan" at 0 : !tile.shared<32x4xf32, #parts>
  %s = tile.slice %X[%c0, %c0] : !tile.global<32x8xf32> -> !tile.slice<32x8xf32>
  %v = tile.load %s : !tile.slice<32x8xf32> -> tensor<32x8xf32, #warps>
  %r = tile.scan max %v axis(1) reverse scratch %scratch : !tile.shared<32x4xf32, #parts> : tensor<32x8xf32, #warps>
  tile.store %r, %s atom simt : tensor<32x8xf32, #warps>, !tile.slice<32x8xf32>
  tile.return
}
}
