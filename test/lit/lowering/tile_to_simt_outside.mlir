// RUN: %tlc-opt %s -tile-to-simt --canonicalize -split-input-file | FileCheck %s

// A constant position before a tensor is outside, however large the tensor is: nothing is loaded there.
// CHECK-LABEL: simt.kernel @before(
// CHECK-NOT:     simt.load
// CHECK:         simt.return
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @before(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?xi32> {program.argument = #program.tensor<"X", input, dims[0]>})
    attributes {launch = #program.launch<warps = 4>} {
  %before = arith.constant -1 : index
  %x = tile.slice %X[%before] : !tile.global<?xi32> -> !tile.slice<1xi32>
  %position = tile.load_index %x[] : !tile.slice<1xi32>
  tile.return
}
}

// -----

// The end of a box that begins just below 2^31 wraps around; the tensor does not end after the box for that.
// CHECK-LABEL: simt.kernel @far(
// CHECK-SAME:    %[[N:[^:]*]]: i32
// CHECK:         %[[ORIGIN:.*]] = arith.muli %{{.*}}, %c4_i32 : i32
// CHECK:         %[[LAST:.*]] = arith.addi %[[N]], %c-256_i32 : i32
// CHECK:         %[[AFTER:.*]] = arith.cmpi sle, %[[ORIGIN]], %[[LAST]] : i32
// CHECK:         %[[VECTORS:.*]] = arith.ori %{{.*}}, %[[AFTER]] : i1
// CHECK:         scf.if %[[VECTORS]]
#row = #tile.layout<"reg(4@0:1) lane(32@0:4) warp(2@0:128)">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @far(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?xf32> {program.argument = #program.tensor<"X", input, dims[0], alignment = 16>},
    %I: !tile.global<1xi32> {program.argument = #program.tensor<"I", input, dims[-1]>},
    %Y: !tile.global<256xf32> {program.argument = #program.tensor<"Y", output, dims[-1], alignment = 16>}) attributes {launch = #program.launch<warps = 2>} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %i = tile.slice %I[%c0] : !tile.global<1xi32> -> !tile.slice<1xi32>
  %p = tile.load_index %i[] : !tile.slice<1xi32>
  %q = arith.muli %p, %c4 : index
  %x = tile.slice %X[%q] : !tile.global<?xf32> -> !tile.slice<256xf32>
  %v = tile.load %x : !tile.slice<256xf32> -> tensor<256xf32, #row>
  %y = tile.slice %Y[%c0] : !tile.global<256xf32> -> !tile.slice<256xf32>
  tile.store %v, %y atom simt : tensor<256xf32, #row>, !tile.slice<256xf32>
  tile.return
}
}

// -----

// Numbers that were folded in 64 bits wrap around as positions do.
// CHECK-LABEL: simt.kernel @folded(
// CHECK:         %[[AT:.*]] = arith.muli %{{.*}}, %c3_i32 : i32
// CHECK:         %[[ROW:.*]] = arith.addi %[[AT]], %{{.*}} : i32
// CHECK:         arith.cmpi ult, %[[ROW]], %{{.*}} : i32
#row2 = #tile.layout<"reg(4@0:1) lane(32@0:4) warp(2@0:128)">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @folded(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?xf32> {program.argument = #program.tensor<"X", input, dims[0]>},
    %Y: !tile.global<256xf32> {program.argument = #program.tensor<"Y", output, dims[-1], alignment = 16>}) attributes {launch = #program.launch<warps = 2>} {
  %c0 = arith.constant 0 : index
  %large = arith.constant 4294967299 : index
  %q = arith.muli %n, %large : index
  %x = tile.slice %X[%q] : !tile.global<?xf32> -> !tile.slice<256xf32>
  %v = tile.load %x : !tile.slice<256xf32> -> tensor<256xf32, #row2>
  %y = tile.slice %Y[%c0] : !tile.global<256xf32> -> !tile.slice<256xf32>
  tile.store %v, %y atom simt : tensor<256xf32, #row2>, !tile.slice<256xf32>
  tile.return
}
}
