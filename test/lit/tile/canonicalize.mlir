// RUN: %tile-opt %s -canonicalize -split-input-file | FileCheck %s

// CHECK-LABEL: tile.kernel @broadcasts(
tile.kernel @broadcasts(%x: f32 {program.argument = #program.scalar<"x">},
    %O: !tile.global<8x16xf32> {program.argument = #program.tensor<"O", output, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  %o = tile.slice %O[%c0, %c0] : !tile.global<8x16xf32> -> !tile.slice<8x16xf32>
  // CHECK: %[[S:.*]] = tile.splat
  %s = tile.splat %x : f32 -> tensor<1x1xf32>
  // Two in a row are one, and one to the same extents is none.
  // CHECK-NEXT: %[[B:.*]] = tile.broadcast %[[S]] : tensor<1x1xf32> -> tensor<8x16xf32>
  // CHECK-NOT: tile.broadcast
  %b = tile.broadcast %s : tensor<1x1xf32> -> tensor<8x1xf32>
  %c = tile.broadcast %b : tensor<8x1xf32> -> tensor<8x16xf32>
  %d = tile.broadcast %c : tensor<8x16xf32> -> tensor<8x16xf32>
  // CHECK: tile.store %[[B]],
  tile.store %d, %o : tensor<8x16xf32>, !tile.slice<8x16xf32>
  tile.return
}

// -----

// A value whose layout is settled keeps it: the broadcast between two layouts is a decision.
// CHECK-LABEL: tile.kernel @laid_out_broadcasts(
tile.kernel @laid_out_broadcasts(%x: f32 {program.argument = #program.scalar<"x">},
    %O: !tile.global<32x2xf32> {program.argument = #program.tensor<"O", output, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  %o = tile.slice %O[%c0, %c0] : !tile.global<32x2xf32> -> !tile.slice<32x2xf32>
  %s = tile.splat %x : f32 -> tensor<1x1xf32, #tile.layout<"rank 2 reg() lane(32@*) warp()">>
  // CHECK-COUNT-2: tile.broadcast
  %b = tile.broadcast %s : tensor<1x1xf32, #tile.layout<"rank 2 reg() lane(32@*) warp()">> -> tensor<32x1xf32, #tile.layout<"rank 2 reg() lane(32@0:1) warp()">>
  %c = tile.broadcast %b : tensor<32x1xf32, #tile.layout<"rank 2 reg() lane(32@0:1) warp()">> -> tensor<32x2xf32, #tile.layout<"rank 2 reg(2@1:1) lane(32@0:1) warp()">>
  tile.store %c, %o : tensor<32x2xf32, #tile.layout<"rank 2 reg(2@1:1) lane(32@0:1) warp()">>, !tile.slice<32x2xf32>
  tile.return
}

// -----

// CHECK-LABEL: tile.kernel @reshapes(
tile.kernel @reshapes(%X: !tile.global<8x16xui32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>},
    %O: !tile.global<16x16xbf16> {program.argument = #program.tensor<"O", output, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  %s = tile.slice %X[%c0, %c0] : !tile.global<8x16xui32> -> !tile.slice<8x16xui32>
  %o = tile.slice %O[%c0, %c0] : !tile.global<16x16xbf16> -> !tile.slice<16x16xbf16>
  // CHECK: %[[ONES:.*]] = arith.constant dense<1.000000e+00> : tensor<16x16xbf16>
  // CHECK: %[[X:.*]] = tile.load
  %x = tile.load %s : !tile.slice<8x16xui32> -> tensor<8x16xui32>
  // There and back.
  %a = tile.reshape %x : tensor<8x16xui32> -> tensor<128xui32>
  %b = tile.reshape %a : tensor<128xui32> -> tensor<8x16xui32>
  // CHECK-NEXT: tile.store %[[X]],
  tile.store %b, %s : tensor<8x16xui32>, !tile.slice<8x16xui32>
  // Two in a row.
  // CHECK: %[[H:.*]] = tile.reshape %[[X]] : tensor<8x16xui32> -> tensor<16x16xbf16>
  %h = tile.reshape %x : tensor<8x16xui32> -> tensor<8x32xbf16>
  %i = tile.reshape %h : tensor<8x32xbf16> -> tensor<16x16xbf16>
  // CHECK-NEXT: tile.store %[[H]],
  tile.store %i, %o : tensor<16x16xbf16>, !tile.slice<16x16xbf16>
  // Of the same width, but of another type: the value between them stays.
  // CHECK-NEXT: tile.reshape %{{.*}} : tensor<8x32xbf16> -> tensor<8x16xf32>
  %j = tile.reshape %h : tensor<8x32xbf16> -> tensor<8x16xf32>
  %k = arith.bitcast %j : tensor<8x16xf32> to tensor<8x16xi32>
  %l = tile.convert %k : tensor<8x16xi32> to tensor<8x16xui32>
  tile.store %l, %s : tensor<8x16xui32>, !tile.slice<8x16xui32>
  // CHECK: tile.store %[[ONES]],
  %one = arith.constant dense<1.0> : tensor<256xbf16>
  %ones = tile.reshape %one : tensor<256xbf16> -> tensor<16x16xbf16>
  tile.store %ones, %o : tensor<16x16xbf16>, !tile.slice<16x16xbf16>
  tile.return
}

// -----

// Extent 1 has nothing to combine.
// CHECK-LABEL: tile.kernel @reductions(
tile.kernel @reductions(%O: !tile.global<8xf32> {program.argument = #program.tensor<"O", output, dims[-1]>}) {
  %c0 = arith.constant 0 : index
  %o = tile.slice %O[%c0] : !tile.global<8xf32> -> !tile.slice<8xf32>
  // CHECK: %[[F:.*]] = tile.load
  %f = tile.load %o : !tile.slice<8xf32> -> tensor<8x1xf32>
  // CHECK-NOT: tile.reduce
  // CHECK-NOT: tile.scan
  %m = tile.reduce max %f axis(1) : tensor<8x1xf32> -> tensor<8x1xf32>
  %n = tile.scan sum %m axis(1) : tensor<8x1xf32>
  // CHECK: tile.store %[[F]],
  tile.store %n, %o : tensor<8x1xf32>, !tile.slice<8xf32>
  tile.return
}

// -----

// CHECK-LABEL: tile.kernel @transposes(
tile.kernel @transposes(%O: !tile.global<16x16xbf16> {program.argument = #program.tensor<"O", output, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  %o = tile.slice %O[%c0, %c0] : !tile.global<16x16xbf16> -> !tile.slice<16x16xbf16>
  %q = tile.alloc_shared "q" : !tile.shared<16x16xbf16>
  // CHECK-NOT: tile.transpose
  %t = tile.transpose %q : !tile.shared<16x16xbf16> -> !tile.shared<16x16xbf16, transposed>
  %b = tile.transpose %t : !tile.shared<16x16xbf16, transposed> -> !tile.shared<16x16xbf16>
  // CHECK: tile.copy %{{.*}}, %q :
  tile.copy %o, %b : !tile.slice<16x16xbf16>, !tile.shared<16x16xbf16>
  tile.return
}

// -----

// CHECK: #[[WANTED:.*]] = #tile.layout<"reg(4@0:1) lane(16@0:4, 2@1:1) warp()">
// CHECK-LABEL: tile.kernel @layouts(
tile.kernel @layouts(%O: !tile.global<64x2xf32> {program.argument = #program.tensor<"O", output, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  %o = tile.slice %O[%c0, %c0] : !tile.global<64x2xf32> -> !tile.slice<64x2xf32>
  // CHECK: %[[F:.*]] = tile.load
  %f = tile.load %o : !tile.slice<64x2xf32> -> tensor<64x2xf32, #tile.layout<"reg(2@1:1, 2@0:32) lane(32@0:1) warp()">>
  // One conversion to the last layout; back to the first, none.
  // CHECK-NEXT: %[[G:.*]] = tile.convert_layout %[[F]] : {{.*}} -> tensor<64x2xf32, #[[WANTED]]>
  %g = tile.convert_layout %f : tensor<64x2xf32, #tile.layout<"reg(2@1:1, 2@0:32) lane(32@0:1) warp()">> -> tensor<64x2xf32, #tile.layout<"reg(2@1:1, 2@0:1) lane(32@0:2) warp()">>
  %h = tile.convert_layout %g : tensor<64x2xf32, #tile.layout<"reg(2@1:1, 2@0:1) lane(32@0:2) warp()">> -> tensor<64x2xf32, #tile.layout<"reg(4@0:1) lane(16@0:4, 2@1:1) warp()">>
  %i = tile.convert_layout %h : tensor<64x2xf32, #tile.layout<"reg(4@0:1) lane(16@0:4, 2@1:1) warp()">> -> tensor<64x2xf32, #tile.layout<"reg(2@1:1, 2@0:32) lane(32@0:1) warp()">>
  // CHECK-NEXT: tile.store %[[G]],
  tile.store %h, %o : tensor<64x2xf32, #tile.layout<"reg(4@0:1) lane(16@0:4, 2@1:1) warp()">>, !tile.slice<64x2xf32>
  // CHECK-NEXT: tile.store %[[F]],
  tile.store %i, %o : tensor<64x2xf32, #tile.layout<"reg(2@1:1, 2@0:32) lane(32@0:1) warp()">>, !tile.slice<64x2xf32>
  tile.return
}

// -----

// Scratch memory was made for one conversion, which stays.
// CHECK-LABEL: tile.kernel @scratch(
tile.kernel @scratch(%O: !tile.global<64x2xf32> {program.argument = #program.tensor<"O", output, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  %o = tile.slice %O[%c0, %c0] : !tile.global<64x2xf32> -> !tile.slice<64x2xf32>
  %scratch = tile.alloc_shared "scratch" : !tile.shared<64x2xf32>
  %f = tile.load %o : !tile.slice<64x2xf32> -> tensor<64x2xf32, #tile.layout<"reg(2@1:1, 2@0:32) lane(32@0:1) warp()">>
  // CHECK-COUNT-2: tile.convert_layout
  %g = tile.convert_layout %f scratch %scratch : !tile.shared<64x2xf32> : tensor<64x2xf32, #tile.layout<"reg(2@1:1, 2@0:32) lane(32@0:1) warp()">> -> tensor<64x2xf32, #tile.layout<"reg(2@1:1, 2@0:1) lane(32@0:2) warp()">>
  %h = tile.convert_layout %g : tensor<64x2xf32, #tile.layout<"reg(2@1:1, 2@0:1) lane(32@0:2) warp()">> -> tensor<64x2xf32, #tile.layout<"reg(4@0:1) lane(16@0:4, 2@1:1) warp()">>
  tile.store %h, %o : tensor<64x2xf32, #tile.layout<"reg(4@0:1) lane(16@0:4, 2@1:1) warp()">>, !tile.slice<64x2xf32>
  tile.return
}

// -----

// A wider type holds what the narrower one has, and gives it back.
// CHECK-LABEL: tile.kernel @back(
// CHECK:         %[[H:.*]] = tile.load
// CHECK-NEXT:    tile.store %[[H]],
// The other way, bits are lost.
// CHECK:         %[[F:.*]] = tile.load
// CHECK-NEXT:    %[[NARROW:.*]] = tile.convert %[[F]]
// CHECK-NEXT:    %[[WIDE:.*]] = tile.convert %[[NARROW]]
// CHECK-NEXT:    tile.store %[[WIDE]],
tile.kernel @back(%H: !tile.global<64xf16> {program.argument = #program.tensor<"H", inout, dims[-1]>},
    %F: !tile.global<64xf32> {program.argument = #program.tensor<"F", inout, dims[-1]>}) {
  %c0 = arith.constant 0 : index
  %h = tile.slice %H[%c0] : !tile.global<64xf16> -> !tile.slice<64xf16>
  %f = tile.slice %F[%c0] : !tile.global<64xf32> -> !tile.slice<64xf32>
  %0 = tile.load %h : !tile.slice<64xf16> -> tensor<64xf16>
  %1 = tile.convert %0 : tensor<64xf16> to tensor<64xf32>
  %2 = tile.convert %1 : tensor<64xf32> to tensor<64xf16>
  tile.store %2, %h : tensor<64xf16>, !tile.slice<64xf16>
  %3 = tile.load %f : !tile.slice<64xf32> -> tensor<64xf32>
  %4 = tile.convert %3 : tensor<64xf32> to tensor<64xf16>
  %5 = tile.convert %4 : tensor<64xf16> to tensor<64xf32>
  tile.store %5, %f : tensor<64xf32>, !tile.slice<64xf32>
  tile.return
}

// -----

// Integers with a sign and without are the same bits, there and back.
// CHECK-LABEL: tile.kernel @bits(
// CHECK:         %[[X:.*]] = tile.load
// CHECK-NEXT:    tile.store %[[X]],
// CHECK:         tile.convert %{{.*}} saturate
tile.kernel @bits(%X: !tile.global<64xi32> {program.argument = #program.tensor<"X", inout, dims[-1]>}) {
  %c0 = arith.constant 0 : index
  %x = tile.slice %X[%c0] : !tile.global<64xi32> -> !tile.slice<64xi32>
  %0 = tile.load %x : !tile.slice<64xi32> -> tensor<64xi32>
  %1 = tile.convert %0 : tensor<64xi32> to tensor<64xui32>
  %2 = tile.convert %1 : tensor<64xui32> to tensor<64xi32>
  tile.store %2, %x : tensor<64xi32>, !tile.slice<64xi32>
  %3 = tile.convert %0 saturate : tensor<64xi32> to tensor<64xui32>
  %4 = tile.convert %3 : tensor<64xui32> to tensor<64xi32>
  tile.store %4, %x : tensor<64xi32>, !tile.slice<64xi32>
  tile.return
}

// -----

// Constants are converted as the device would; what it leaves open stays.
// CHECK-LABEL: tile.kernel @constants(
tile.kernel @constants(%F: !tile.global<8xf32> {program.argument = #program.tensor<"F", output, dims[-1]>},
    %E: !tile.global<8xf8E4M3FN> {program.argument = #program.tensor<"E", output, dims[-1]>},
    %I: !tile.global<8xi8> {program.argument = #program.tensor<"I", output, dims[-1]>}) {
  %c0 = arith.constant 0 : index
  %f = tile.slice %F[%c0] : !tile.global<8xf32> -> !tile.slice<8xf32>
  %e = tile.slice %E[%c0] : !tile.global<8xf8E4M3FN> -> !tile.slice<8xf8E4M3FN>
  %i = tile.slice %I[%c0] : !tile.global<8xi8> -> !tile.slice<8xi8>
  %large = arith.constant dense<1000.5> : tensor<8xf32>
  %three = arith.constant dense<3> : tensor<8xi32>
  // CHECK-DAG: %[[MOST:.*]] = arith.constant dense<4.480000e+02> : tensor<8xf8E4M3FN>
  // CHECK-DAG: %[[UP:.*]] = arith.constant dense<127> : tensor<8xi8>
  // CHECK-DAG: %[[THREE:.*]] = arith.constant dense<3.000000e+00> : tensor<8xf32>
  %0 = tile.convert %large saturate : tensor<8xf32> to tensor<8xf8E4M3FN>
  // CHECK: tile.store %[[MOST]],
  tile.store %0, %e : tensor<8xf8E4M3FN>, !tile.slice<8xf8E4M3FN>
  %1 = tile.convert %large rounding up saturate : tensor<8xf32> to tensor<8xi8>
  // CHECK: tile.store %[[UP]],
  tile.store %1, %i : tensor<8xi8>, !tile.slice<8xi8>
  %2 = tile.convert %three : tensor<8xi32> to tensor<8xf32>
  // CHECK: tile.store %[[THREE]],
  tile.store %2, %f : tensor<8xf32>, !tile.slice<8xf32>
  // CHECK: tile.convert %{{.*}} rounding zero : tensor<8xf32> to tensor<8xi8>
  %3 = tile.convert %large rounding zero : tensor<8xf32> to tensor<8xi8>
  tile.store %3, %i : tensor<8xi8>, !tile.slice<8xi8>
  tile.return
}
