// RUN: %tile-opt %s --tile-place-fences -split-input-file | FileCheck %s

// What a thread has done to another block's tile, the asynchronous proxy is told of on all memory: that of this block
// alone is not enough.
// CHECK-LABEL: tile.kernel @pushed(
// CHECK:         tile.store_to_block
// CHECK-NEXT:    tile.proxy_fence tensors
// CHECK-NEXT:    tile.cluster_sync
// CHECK-NEXT:    tile.slice
// CHECK-NEXT:    tile.copy
#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">
#tile = #tile.shared_layout<"128x64 32b axis 1 panel 32 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @pushed(%x: f32 {program.argument = #program.scalar<"x">},
    %Y: !tile.global<128x64xf32> {program.argument = #program.tensor<"Y", output, dims[-1, -1], alignment = 16>})
    attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %c0 = arith.constant 0 : index
  %rank = tile.block_rank
  %tile = tile.alloc_shared "tile" at 0 : !tile.shared<128x64xf32, #tile>
  %v = tile.splat %x : f32 -> tensor<128x64xf32, #rows>
  tile.store_to_block %v, %tile of %rank : tensor<128x64xf32, #rows>, !tile.shared<128x64xf32, #tile>
  tile.cluster_sync
  %y = tile.slice %Y[%c0, %c0] : !tile.global<128x64xf32> -> !tile.slice<128x64xf32>
  tile.copy %tile, %y atom tma : !tile.shared<128x64xf32, #tile>, !tile.slice<128x64xf32>
  tile.return
}
}

// -----

// The blocks' meeting is one of the threads, too, and ordinary accesses need no fence.
// CHECK-LABEL: tile.kernel @pulled(
// CHECK:         tile.store
// CHECK-NEXT:    tile.cluster_sync
// CHECK-NEXT:    tile.load_from_block
// CHECK-NEXT:    tile.load %
// CHECK-NEXT:    tile.return
#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">
#tile = #tile.shared_layout<"128x64 32b axis 1 panel 32 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @pulled(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %rank = tile.block_rank
  %tile = tile.alloc_shared "tile" at 0 : !tile.shared<128x64xf32, #tile>
  %v = tile.splat %x : f32 -> tensor<128x64xf32, #rows>
  tile.store %v, %tile : tensor<128x64xf32, #rows>, !tile.shared<128x64xf32, #tile>
  tile.cluster_sync
  %w = tile.load_from_block %tile of %rank : !tile.shared<128x64xf32, #tile> -> tensor<128x64xf32, #rows>
  %u = tile.load %tile : !tile.shared<128x64xf32, #tile> -> tensor<128x64xf32, #rows>
  tile.return
}
}
