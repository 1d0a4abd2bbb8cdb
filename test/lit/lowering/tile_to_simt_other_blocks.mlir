// RUN: %tlc-opt %s -tile-to-simt -split-input-file -verify-diagnostics | FileCheck %s

#rows = #tile.layout<"reg(4@1:1, 4@0:16) lane(8@1:4, 4@0:1) warp(4@0:4)">
#tile = #tile.shared_layout<"64x32 32b axis 1 panel 32 swizzle 128 pad 0">

// All blocks have begun before one of them comes to another's memory, and none ends while others may.
// CHECK-LABEL: simt.kernel @outside(
// CHECK:         %[[BASE:.*]] = simt.shared_base
// CHECK-NEXT:    simt.cluster_sync relaxed
// CHECK:         %[[RANK:.*]] = simt.cluster_rank
// CHECK:         simt.store %{{.*}} : vector<4xf32>, !llvm.ptr<3>
// CHECK:         simt.cluster_sync{{$}}
// CHECK:         %[[THERE:.*]] = simt.address_in_block %{{.*}} of %[[RANK]]
// CHECK:         simt.load %{{.*}} : !llvm.ptr<7> -> vector<4xf32>
// CHECK:         simt.cluster_sync{{$}}
// CHECK-NEXT:    simt.return
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @outside(%x: f32 {program.argument = #program.scalar<"x">},
    %Y: !tile.global<64x32xf32> {program.argument = #program.tensor<"Y", output, dims[-1, -1]>})
    attributes {launch = #program.launch<warps = 4, cluster = 2, shared_bytes = 8192>} {
  %c0 = arith.constant 0 : index
  %rank = tile.block_rank
  %tile = tile.alloc_shared "tile" at 0 : !tile.shared<64x32xf32, #tile>
  %v = tile.splat %x : f32 -> tensor<64x32xf32, #rows>
  tile.store %v, %tile : tensor<64x32xf32, #rows>, !tile.shared<64x32xf32, #tile>
  tile.cluster_sync
  %w = tile.load_from_block %tile of %rank : !tile.shared<64x32xf32, #tile> -> tensor<64x32xf32, #rows>
  %y = tile.slice %Y[%c0, %c0] : !tile.global<64x32xf32> -> !tile.slice<64x32xf32>
  tile.store %w, %y atom simt : tensor<64x32xf32, #rows>, !tile.slice<64x32xf32>
  tile.return
}
}

// -----

#tile = #tile.shared_layout<"64x32 32b axis 1 panel 32 swizzle 128 pad 0">
#share = #tile.layout<"reg(4@1:1) lane(8@1:4, 4@0:1) warp(4@0:4)">

// The threads of a role take the state of their block's barrier before they meet; then one for each other block arrives
// there.
// CHECK-LABEL: simt.kernel @role(
// CHECK:         simt.barrier_init %{{.*}} count(129)
// CHECK:         simt.cluster_sync relaxed
// CHECK:           %[[STATE:.*]] = simt.barrier_state %[[BARRIER:.*]]
// CHECK-NEXT:      simt.sync
// CHECK:           %[[OWN:.*]] = simt.cluster_rank
// CHECK:           %[[OTHER:.*]] = arith.cmpi ne, %[[THREAD:.*]], %[[OWN]]
// CHECK:           %[[IN:.*]] = arith.cmpi ult, %[[THREAD]], %c2_i32
// CHECK:           %[[BOTH:.*]] = arith.andi %[[IN]], %[[OTHER]]
// CHECK:           scf.if %[[BOTH]] {
// CHECK-NEXT:        simt.cluster_arrive %[[BARRIER]] of %[[THREAD]]
// CHECK:           simt.cluster_wait %[[BARRIER]] state(%[[STATE]])
// Rows begin at multiples of 8 rows of 128 bytes.
// CHECK:           %[[GROUP:.*]] = arith.shrui %{{.*}}, %c3_i32
// CHECK:           %[[BYTES:.*]] = arith.muli %[[GROUP]], %c1024_i32
// CHECK:           llvm.getelementptr %{{.*}}[%[[BYTES]]] : (!llvm.ptr<7>, i32) -> !llvm.ptr<7>, i8
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @role(%x: f32 {program.argument = #program.scalar<"x">},
    %Y: !tile.global<16x32xf32> {program.argument = #program.tensor<"Y", output, dims[-1, -1]>})
    attributes {launch = #program.launch<warps = 8, cluster = 2, shared_bytes = 8208>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %rank = tile.block_rank
  %first = arith.muli %rank, %c16 : index
  %tile = tile.alloc_shared "tile" at 0 : !tile.shared<64x32xf32, #tile>
  %barrier = tile.alloc_barrier "math.cluster" count(129) at 8192
  tile.roles {
    tile.role "load" warps(4) {
    }
    tile.role "math" warps(4) {
      tile.cluster_sync on %barrier
      %w = tile.load_from_block %tile of %rank rows %first : !tile.shared<64x32xf32, #tile> -> tensor<16x32xf32, #share>
      %y = tile.slice %Y[%c0, %c0] : !tile.global<16x32xf32> -> !tile.slice<16x32xf32>
      tile.store %w, %y atom simt : tensor<16x32xf32, #share>, !tile.slice<16x32xf32>
    }
  }
  tile.return
}
}

// -----

#tile = #tile.shared_layout<"64x32 32b axis 1 panel 32 swizzle 128 pad 0">
#share = #tile.layout<"reg(4@1:1) lane(8@1:4, 4@0:1) warp(4@0:4)">

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @any_row(%n: index {program.argument = #program.dimension<"n", multiple_of = 4>},
    %Y: !tile.global<?x32xf32> {program.argument = #program.tensor<"Y", output, dims[0, -1]>})
    attributes {launch = #program.launch<warps = 4, cluster = 2, shared_bytes = 8192>} {
  %c0 = arith.constant 0 : index
  %rank = tile.block_rank
  // expected-note @below {{'tile' is declared here}}
  %tile = tile.alloc_shared "tile" at 0 : !tile.shared<64x32xf32, #tile>
  // expected-error @below {{expected a first row of 'tile' that is known to be a multiple of 8, after which swizzles repeat, but got a position that is only known to be a multiple of 4; multiply a position by the number of rows}}
  %w = tile.load_from_block %tile of %rank rows %n : !tile.shared<64x32xf32, #tile> -> tensor<16x32xf32, #share>
  %y = tile.slice %Y[%c0, %c0] : !tile.global<?x32xf32> -> !tile.slice<16x32xf32>
  tile.store %w, %y atom simt : tensor<16x32xf32, #share>, !tile.slice<16x32xf32>
  tile.return
}
}
