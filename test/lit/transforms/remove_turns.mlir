// RUN: %tile-opt %s --tile-remove-turns -split-input-file -verify-diagnostics | FileCheck %s

// Scratch memory takes all warpgroups of the role: one that has its turn would wait for one that waits for its own.
// Turns in which only the warpgroup itself works stay.
// CHECK-LABEL: tile.kernel @scratch(
// CHECK-NOT:     tile.take_turn
// CHECK:         tile.convert_layout
// CHECK-NOT:     tile.pass_turn
// CHECK:         tile.reduce
// CHECK-NOT:     tile.pass_turn
// CHECK:         tile.take_turn
// CHECK-NEXT:    arith.addf
// CHECK-NEXT:    tile.pass_turn
#rows = #tile.layout<"reg(8@1:1, 2@0:1) lane(2@1:8, 16@0:2) warp(8@0:32)">
#columns = #tile.layout<"reg(8@1:1, 2@0:128) lane(2@1:8, 16@0:1) warp(8@0:16)">
tile.kernel @scratch() attributes {launch = #program.launch<warps = 8>} {
  %f0 = arith.constant 0.0 : f32
  %scratch = tile.alloc_shared "scratch" : !tile.shared<256x16xf32>
  %sums = tile.alloc_shared "sums" : !tile.shared<8x16xf32>
  tile.roles {
    tile.role "math" warps(8) {
      %x = tile.splat %f0 : f32 -> tensor<256x16xf32, #rows>
      // expected-remark @below {{[without-turns] the warpgroups take no turns here because all of them synchronise within one at}}
      tile.take_turn
      %y = tile.convert_layout %x scratch %scratch : !tile.shared<256x16xf32> : tensor<256x16xf32, #rows> -> tensor<256x16xf32, #columns>
      tile.pass_turn
      // expected-remark @below {{[without-turns]}}
      tile.take_turn
      %z = tile.reduce sum %y axis(0) scratch %sums : !tile.shared<8x16xf32> : tensor<256x16xf32, #columns> -> tensor<1x16xf32>
      tile.pass_turn
      tile.take_turn
      %w = arith.addf %x, %x : tensor<256x16xf32, #rows>
      tile.pass_turn
    }
  }
  tile.return
}

// -----

// Barriers that `tile-place-fences` left, also in loops, and copies by the TMA, which one thread makes for all.
// CHECK-LABEL: tile.kernel @barriers(
// CHECK-NOT:     tile.take_turn
// CHECK:         tile.return
tile.kernel @barriers(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.roles {
    tile.role "math" warps(8) {
      // expected-remark @below {{[without-turns]}}
      tile.take_turn
      scf.for %i = %c0 to %n step %c1 {
        tile.sync
      }
      tile.pass_turn
      // expected-remark @below {{[without-turns]}}
      tile.take_turn
      tile.copy %a, %x atom tma : !tile.shared<64x64xbf16>, !tile.slice<64x64xbf16>
      tile.pass_turn
    }
  }
  tile.return
}
