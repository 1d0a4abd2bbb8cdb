// RUN: %tlc-opt %s -tile-to-simt -split-input-file -verify-diagnostics | FileCheck %s

// Other extents are the same registers.

#square = #tile.layout<"reg(2@1:1, 4@0:4) lane(8@1:2, 4@0:1) warp()">
#long = #tile.layout<"reg(2@1:1, 4@0:1) lane(32@1:2) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: simt.kernel @extents(
// CHECK:         %[[X:.*]] = vector.from_elements {{.*}} : vector<8xf32>
// CHECK-NOT:     vector.
// CHECK:         arith.addf %[[X]], %[[X]] : vector<8xf32>
tile.kernel @extents(%X: !tile.global<16x16xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>},
    %Y: !tile.global<4x64xf32> {program.argument = #program.tensor<"Y", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %s = tile.slice %X[%c0, %c0] : !tile.global<16x16xf32> -> !tile.slice<16x16xf32>
  %t = tile.slice %Y[%c0, %c0] : !tile.global<4x64xf32> -> !tile.slice<4x64xf32>
  %x = tile.load %s : !tile.slice<16x16xf32> -> tensor<16x16xf32, #square>
  %y = tile.reshape %x : tensor<16x16xf32, #square> -> tensor<4x64xf32, #long>
  %z = arith.addf %y, %y : tensor<4x64xf32, #long>
  tile.store %z, %t atom simt : tensor<4x64xf32, #long>, !tile.slice<4x64xf32>
  tile.return
}
}

// -----

#words = #tile.layout<"reg(2@0:8) lane(4@1:1, 8@0:1) warp()">
#halves = #tile.layout<"reg(2@1:1, 2@0:8) lane(4@1:2, 8@0:1) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// A register of 32 bits is two of 16.
// CHECK-LABEL: simt.kernel @widths(
// CHECK:         %[[X:.*]] = vector.from_elements {{.*}} : vector<2xi32>
// CHECK-NEXT:    %[[Y:.*]] = vector.bitcast %[[X]] : vector<2xi32> to vector<4xbf16>
// CHECK-NEXT:    arith.addf %[[Y]], %[[Y]] : vector<4xbf16>
tile.kernel @widths(%X: !tile.global<16x4xui32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>},
    %Y: !tile.global<16x8xbf16> {program.argument = #program.tensor<"Y", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %s = tile.slice %X[%c0, %c0] : !tile.global<16x4xui32> -> !tile.slice<16x4xui32>
  %t = tile.slice %Y[%c0, %c0] : !tile.global<16x8xbf16> -> !tile.slice<16x8xbf16>
  %x = tile.load %s : !tile.slice<16x4xui32> -> tensor<16x4xui32, #words>
  %y = tile.reshape %x : tensor<16x4xui32, #words> -> tensor<16x8xbf16, #halves>
  %z = arith.addf %y, %y : tensor<16x8xbf16, #halves>
  tile.store %z, %t atom simt : tensor<16x8xbf16, #halves>, !tile.slice<16x8xbf16>
  tile.return
}
}

// -----

#words = #tile.layout<"reg(2@0:8) lane(4@1:1, 8@0:1) warp()">
#wrong = #tile.layout<"reg(2@0:8, 2@1:1) lane(4@1:2, 8@0:1) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @moves(%X: !tile.global<16x4xui32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %s = tile.slice %X[%c0, %c0] : !tile.global<16x4xui32> -> !tile.slice<16x4xui32>
  %x = tile.load %s : !tile.slice<16x4xui32> -> tensor<16x4xui32, #words>
  // expected-error @below {{expected a result in the layout that reg(2@0:8) lane(4@1:1, 8@0:1) warp() is when reshaped because nothing moves, but got reg(2@0:8, 2@1:1) lane(4@1:2, 8@0:1) warp()}}
  %y = tile.reshape %x : tensor<16x4xui32, #words> -> tensor<16x8xbf16, #wrong>
  tile.return
}
}
