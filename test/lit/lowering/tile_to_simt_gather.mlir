// RUN: %tlc-opt %s --tile-to-simt -split-input-file | FileCheck %s

// Positions per element along several axes.

#one = #tile.layout<"reg() lane(32@0:1) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// The address is a sum over both axes, and both positions are guarded. A scatter has the same.
// CHECK-LABEL: simt.kernel @both(
// CHECK:         %[[FIRST:.*]] = arith.cmpi ult, %{{.*}}, %c100_i32 : i32
// CHECK:         %[[SECOND:.*]] = arith.cmpi ult, %{{.*}}, %c64_i32 : i32
// CHECK:         %[[INSIDE:.*]] = arith.andi %[[FIRST]], %[[SECOND]] : i1
// CHECK:         simt.load %{{.*}} if %[[INSIDE]] : {{.*}} -> f32
// CHECK:         simt.store %{{.*}}, %{{.*}} if %{{.*}} : f32
tile.kernel @both(
    %X: !tile.global<100x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>},
    %P: !tile.global<32xi32> {program.argument = #program.tensor<"P", input, dims[-1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %p = tile.slice %P[%c0] unchecked "proven" : !tile.global<32xi32> -> !tile.slice<32xi32>
  %loaded = tile.load %p : !tile.slice<32xi32> -> tensor<32xi32, #one>
  %at = arith.index_cast %loaded : tensor<32xi32, #one> to tensor<32xindex, #one>
  %s = tile.slice %X[%c0, %c0] gathered [0, 1] : !tile.global<100x64xf32> -> !tile.slice<32xf32>
  %x = tile.gather %s[%at, %at] : !tile.slice<32xf32>, tensor<32xindex, #one>, tensor<32xindex, #one> -> tensor<32xf32, #one>
  tile.scatter %x, %s[%at, %at] : tensor<32xf32, #one>, !tile.slice<32xf32>, tensor<32xindex, #one>, tensor<32xindex, #one>
  tile.return
}
}

// -----

#rows = #tile.layout<"reg(4@1:1) lane(32@0:1) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// Rows that two positions name, in vectors: two axes of the tensor are one axis of the slice.
// CHECK-LABEL: simt.kernel @rows(
// CHECK:         simt.load %{{.*}} if %{{.*}} : {{.*}} -> vector<4xf32>
tile.kernel @rows(
    %X: !tile.global<9x100x64xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1, -1], alignment = 16>},
    %Y: !tile.global<32x4xf32> {program.argument = #program.tensor<"Y", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %i = tile.coordinates 0 : tensor<32x4xindex, #rows>
  %s = tile.slice %X[%c0, %c0, %c0] gathered [0, 1] : !tile.global<9x100x64xf32> -> !tile.slice<32x4xf32>
  %x = tile.gather %s[%i, %i] : !tile.slice<32x4xf32>, tensor<32x4xindex, #rows>, tensor<32x4xindex, #rows> -> tensor<32x4xf32, #rows>
  %t = tile.slice %Y[%c0, %c0] : !tile.global<32x4xf32> -> !tile.slice<32x4xf32>
  tile.store %x, %t atom simt : tensor<32x4xf32, #rows>, !tile.slice<32x4xf32>
  tile.return
}
}

// -----

#one = #tile.layout<"reg() lane(32@0:1) warp()">
#plain = #tile.shared_layout<"16x32 32b axis 1 panel 32 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
// The same of a shared tile.
// CHECK-LABEL: simt.kernel @shared(
// CHECK:         %[[FIRST:.*]] = arith.cmpi ult, %{{.*}}, %c16_i32 : i32
// CHECK:         %[[SECOND:.*]] = arith.cmpi ult, %{{.*}}, %c32_i32 : i32
// CHECK:         arith.andi
// CHECK:         simt.atomic addi %{{.*}}, %{{.*}} : i32, !llvm.ptr<3>
tile.kernel @shared(
    %P: !tile.global<32xi32> {program.argument = #program.tensor<"P", input, dims[-1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %p = tile.slice %P[%c0] unchecked "proven" : !tile.global<32xi32> -> !tile.slice<32xi32>
  %x = tile.load %p : !tile.slice<32xi32> -> tensor<32xi32, #one>
  %at = arith.index_cast %x : tensor<32xi32, #one> to tensor<32xindex, #one>
  %a = tile.alloc_shared "a" at 0 : !tile.shared<16x32xi32, #plain>
  %s = tile.slice_shared %a[%c0, %c0] gathered [0, 1] : !tile.shared<16x32xi32, #plain> -> !tile.slice<32xi32>
  tile.scatter combine add %x, %s[%at, %at] : tensor<32xi32, #one>, !tile.slice<32xi32>, tensor<32xindex, #one>, tensor<32xindex, #one>
  tile.return
}
}
