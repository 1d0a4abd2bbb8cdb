// RUN: %tlc-opt %s --tile-to-simt -split-input-file | FileCheck %s

// Slices of shared tiles.

#own = #tile.layout<"reg() lane(32@0:1) warp(2@0:32)">
#plain = #tile.shared_layout<"256 32b axis 0 panel 256 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
// A position for each element: an addition where it is in the tile, at the scope of the block.
// CHECK-LABEL: simt.kernel @counts(
// CHECK:         %[[INSIDE:.*]] = arith.cmpi ult, %{{.*}}, %c256_i32 : i32
// CHECK:         scf.if %[[INSIDE]] {
// CHECK:           simt.atomic addi %{{.*}}, %{{.*}} : i32, !llvm.ptr<3>
// CHECK:         simt.atomic maxu %{{.*}}, %{{.*}} : i32, !llvm.ptr<3>
// CHECK:         llvm.atomicrmw xchg %{{.*}}, %{{.*}} syncscope("block") monotonic : !llvm.ptr<3>, i32
tile.kernel @counts(
    %n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 2>} {
  %c0 = arith.constant 0 : index
  %x = arith.constant dense<1> : tensor<64xi32, #own>
  %u = arith.constant dense<1> : tensor<64xi32, #own>
  %at = tile.coordinates 0 : tensor<64xindex, #own>
  %a = tile.alloc_shared "a" at 0 : !tile.shared<256xi32, #plain>
  %b = tile.alloc_shared "b" at 1024 : !tile.shared<256xui32, #plain>
  %s = tile.slice_shared %a[%n] gathered [0] : !tile.shared<256xi32, #plain> -> !tile.slice<64xi32>
  tile.scatter combine add %x, %s[%at] : tensor<64xi32, #own>, !tile.slice<64xi32>, tensor<64xindex, #own>
  %t = tile.slice_shared %b[%c0] : !tile.shared<256xui32, #plain> -> !tile.slice<64xui32>
  %y = tile.load %t : !tile.slice<64xui32> -> tensor<64xui32, #own>
  tile.atomic max %y, %t : tensor<64xui32, #own>, !tile.slice<64xui32>
  %old = tile.atomic_fetch %x, %s[%at : tensor<64xindex, #own>] : tensor<64xi32, #own>, !tile.slice<64xi32>
  tile.return
}
}

// -----

#rows = #tile.layout<"reg(4@1:1) lane(8@1:4, 4@0:1) warp()">
#swizzled = #tile.shared_layout<"64x32 32b axis 1 panel 32 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
// Known to begin at a multiple of four elements: vectors of 16 bytes, through the swizzle; rows from the tile's end
// on read as the fill value.
// CHECK-LABEL: simt.kernel @vectors(
// CHECK:         %[[INSIDE:.*]] = arith.cmpi ult, %{{.*}}, %c64_i32 : i32
// CHECK:         arith.xori
// CHECK:         %[[LOADED:.*]] = simt.load %{{.*}} if %[[INSIDE]] : !llvm.ptr<3> -> vector<4xf32>
// CHECK:         arith.select %[[INSIDE]], %[[LOADED]], %{{.*}} : vector<4xf32>
// Where that is not known, one by one.
// CHECK:         simt.store %{{.*}}, %{{.*}} if %{{.*}} : f32, !llvm.ptr<3>
tile.kernel @vectors(
    %n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %two = arith.constant 2.0 : f32
  %a = tile.alloc_shared "a" at 0 : !tile.shared<64x32xf32, #swizzled>
  %s = tile.slice_shared %a[%n, %c0] fill %two : f32 : !tile.shared<64x32xf32, #swizzled> -> !tile.slice<4x32xf32>
  %x = tile.load %s : !tile.slice<4x32xf32> -> tensor<4x32xf32, #rows>
  %t = tile.slice_shared %a[%c0, %n] : !tile.shared<64x32xf32, #swizzled> -> !tile.slice<4x32xf32>
  tile.store %x, %t atom simt : tensor<4x32xf32, #rows>, !tile.slice<4x32xf32>
  tile.return
}
}
