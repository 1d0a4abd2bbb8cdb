// RUN: %tile-opt %s --tile-place-fences -split-input-file | FileCheck %s

// Two members of a table may be one tensor, wherever the boxes lie; those of two tables are not.
// CHECK-LABEL: tile.kernel @members(
// CHECK:         tile.store
// CHECK-NEXT:    tile.store
// CHECK:         tile.sync
// CHECK-NEXT:    tile.store
// CHECK-NEXT:    tile.store
// CHECK-NEXT:    tile.return
#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">
tile.kernel @members(%g: index {program.argument = #program.dimension<"g">},
    %X: !tile.global<?xi64> {program.argument = #program.tensor<"X", input, dims[0], members = <output, f32, axes = 2, alignment = 16>>},
    %Y: !tile.global<?xi64> {program.argument = #program.tensor<"Y", input, dims[0], members = <output, f32, axes = 2, alignment = 16>>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.splat %f0 : f32 -> tensor<128x64xf32, #rows>
  %first = tile.member %X[%c0] extents() strides(%c128) : !tile.global<?xi64> -> !tile.global<256x64xf32>
  %other = tile.member %X[%g] extents() strides(%c128) : !tile.global<?xi64> -> !tile.global<256x64xf32>
  %apart = tile.member %Y[%g] extents() strides(%c128) : !tile.global<?xi64> -> !tile.global<256x64xf32>
  // Boxes of one member that do not meet.
  %x = tile.slice %first[%c0, %c0] : !tile.global<256x64xf32> -> !tile.slice<128x64xf32>
  %below = tile.slice %first[%c128, %c0] : !tile.global<256x64xf32> -> !tile.slice<128x64xf32>
  tile.store %a, %x atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  tile.store %a, %below atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  %y = tile.slice %other[%c128, %c0] : !tile.global<256x64xf32> -> !tile.slice<128x64xf32>
  %z = tile.slice %apart[%c128, %c0] : !tile.global<256x64xf32> -> !tile.slice<128x64xf32>
  tile.store %a, %y atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  tile.store %a, %z atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  tile.return
}

// -----

// The member of one round may be that of the next, whose box is another one.
// CHECK-LABEL: tile.kernel @rounds(
// CHECK:         scf.for
// CHECK:           tile.sync
// CHECK:           tile.store
// CHECK:         scf.for
// CHECK-NOT:       tile.sync
// CHECK:         tile.return
#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">
tile.kernel @rounds(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?xi64> {program.argument = #program.tensor<"X", input, dims[0], members = <output, f32, axes = 2, alignment = 16>>},
    %Y: !tile.global<?xi64> {program.argument = #program.tensor<"Y", input, dims[0], members = <output, f32, axes = 2, alignment = 16>>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.splat %f0 : f32 -> tensor<128x64xf32, #rows>
  scf.for %i = %c0 to %n step %c1 {
    %row = arith.muli %i, %c128 : index
    %x = tile.member %X[%i] extents(%n) strides(%c128) : !tile.global<?xi64> -> !tile.global<?x64xf32>
    %s = tile.slice %x[%row, %c0] : !tile.global<?x64xf32> -> !tile.slice<128x64xf32>
    tile.store %a, %s atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %row = arith.muli %i, %c128 : index
    %y = tile.member %Y[%n] extents(%n) strides(%c128) : !tile.global<?xi64> -> !tile.global<?x64xf32>
    %s = tile.slice %y[%row, %c0] : !tile.global<?x64xf32> -> !tile.slice<128x64xf32>
    tile.store %a, %s atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  }
  tile.return
}
