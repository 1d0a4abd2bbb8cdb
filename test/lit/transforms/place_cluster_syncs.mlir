// RUN: %tile-opt %s --tile-place-cluster-syncs -split-input-file -verify-diagnostics | FileCheck %s

#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">

// The blocks meet before one reads what another has written. Where they only read, nobody waits.
// CHECK-LABEL: tile.kernel @read(
// CHECK:         tile.store
// CHECK-NEXT:    tile.cluster_sync
// CHECK-NEXT:    tile.load_from_block
// CHECK-NEXT:    tile.load_from_block
// CHECK-NEXT:    tile.load %
// CHECK-NEXT:    tile.cluster_sync
// CHECK-NEXT:    tile.store %
// CHECK-NEXT:    tile.return
tile.kernel @read(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %rank = tile.block_rank
  %c0 = arith.constant 0 : index
  %v = tile.splat %x : f32 -> tensor<128x64xf32, #rows>
  %tile = tile.alloc_shared "tile" : !tile.shared<128x64xf32>
  tile.store %v, %tile : tensor<128x64xf32, #rows>, !tile.shared<128x64xf32>
  %a = tile.load_from_block %tile of %rank : !tile.shared<128x64xf32> -> tensor<128x64xf32, #rows>
  %b = tile.load_from_block %tile of %c0 : !tile.shared<128x64xf32> -> tensor<128x64xf32, #rows>
  %c = tile.load %tile : !tile.shared<128x64xf32> -> tensor<128x64xf32, #rows>
  tile.store %v, %tile : tensor<128x64xf32, #rows>, !tile.shared<128x64xf32>
  tile.return
}

// -----

#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">

// Other buffers are each block's own.
// CHECK-LABEL: tile.kernel @write(
// CHECK-NOT:     tile.cluster_sync
// CHECK:         tile.store_to_block
// CHECK-NEXT:    tile.store %{{.*}}, %{{.*}} :
// CHECK-NEXT:    tile.cluster_sync
// CHECK-NEXT:    tile.load %
// CHECK-NEXT:    tile.cluster_sync
// CHECK-NEXT:    tile.store_to_block
// CHECK-NEXT:    tile.return
tile.kernel @write(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %rank = tile.block_rank
  %v = tile.splat %x : f32 -> tensor<128x64xf32, #rows>
  %tile = tile.alloc_shared "tile" : !tile.shared<128x64xf32>
  %own = tile.alloc_shared "own" : !tile.shared<128x64xf32>
  tile.store_to_block %v, %tile of %rank : tensor<128x64xf32, #rows>, !tile.shared<128x64xf32>
  tile.store %v, %own : tensor<128x64xf32, #rows>, !tile.shared<128x64xf32>
  %c = tile.load %tile : !tile.shared<128x64xf32> -> tensor<128x64xf32, #rows>
  tile.store_to_block %v, %tile of %rank : tensor<128x64xf32, #rows>, !tile.shared<128x64xf32>
  tile.return
}

// -----

#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">

// Around the back edge of a loop that all blocks run alike, and in the branch that they take together.
// CHECK-LABEL: tile.kernel @loop(
// CHECK:         scf.for
// CHECK-NEXT:      tile.cluster_sync
// CHECK-NEXT:      tile.store
// CHECK:           scf.if
// CHECK-NEXT:        tile.cluster_sync
// CHECK-NEXT:        tile.load_from_block
tile.kernel @loop(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?xf32> {program.argument = #program.tensor<"X", input, dims[0]>},
    %x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %rank = tile.block_rank
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = tile.splat %x : f32 -> tensor<128x64xf32, #rows>
  %tile = tile.alloc_shared "tile" : !tile.shared<128x64xf32>
  scf.for %i = %c0 to %n step %c1 {
    tile.store %v, %tile : tensor<128x64xf32, #rows>, !tile.shared<128x64xf32>
    %even = arith.cmpi ult, %i, %c1 : index
    scf.if %even {
      %a = tile.load_from_block %tile of %rank : !tile.shared<128x64xf32> -> tensor<128x64xf32, #rows>
    }
  }
  tile.return
}

// -----

#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">

// Not all blocks take the branch: they meet before it.
// CHECK-LABEL: tile.kernel @branch(
// CHECK:         tile.store
// CHECK-NEXT:    tile.cluster_sync
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      tile.load_from_block
tile.kernel @branch(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %rank = tile.block_rank
  %c0 = arith.constant 0 : index
  %v = tile.splat %x : f32 -> tensor<128x64xf32, #rows>
  %tile = tile.alloc_shared "tile" : !tile.shared<128x64xf32>
  %first = arith.cmpi eq, %rank, %c0 : index
  tile.store %v, %tile : tensor<128x64xf32, #rows>, !tile.shared<128x64xf32>
  scf.if %first {
    %a = tile.load_from_block %tile of %rank : !tile.shared<128x64xf32> -> tensor<128x64xf32, #rows>
  }
  tile.return
}

// -----

#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">

// Nobody could meet in it.
tile.kernel @both_in_branch(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %rank = tile.block_rank
  %c0 = arith.constant 0 : index
  %v = tile.splat %x : f32 -> tensor<128x64xf32, #rows>
  %tile = tile.alloc_shared "tile" : !tile.shared<128x64xf32>
  %first = arith.cmpi eq, %rank, %c0 : index
  // expected-error @below {{expected a branch that all blocks of the cluster take alike, or one access to 'tile' in it, because the blocks meet between accesses to each other's tiles, but what decides it may differ from block to block}}
  scf.if %first {
    // expected-note @below {{'tile' is accessed here}}
    tile.store %v, %tile : tensor<128x64xf32, #rows>, !tile.shared<128x64xf32>
    // expected-note @below {{'tile' is accessed here}}
    %a = tile.load_from_block %tile of %rank : !tile.shared<128x64xf32> -> tensor<128x64xf32, #rows>
  }
  tile.return
}

// -----

#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">

tile.kernel @in_loop(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %rank = tile.block_rank
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = tile.splat %x : f32 -> tensor<128x64xf32, #rows>
  %tile = tile.alloc_shared "tile" : !tile.shared<128x64xf32>
  // expected-error @below {{expected a loop that all blocks of the cluster take alike, or one access to 'tile' in it}}
  scf.for %i = %c0 to %rank step %c1 {
    // expected-note @below {{'tile' is accessed here}}
    tile.store_to_block %v, %tile of %c0 : tensor<128x64xf32, #rows>, !tile.shared<128x64xf32>
  }
  tile.return
}

// -----

#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">

// A role meets the same role of the other blocks, at a barrier of its own: 128 threads, and one of the other block.
// CHECK-LABEL: tile.kernel @role(
// CHECK:         %[[BARRIER:.*]] = tile.alloc_barrier "math.cluster" count(129)
// CHECK-NEXT:    tile.roles
// CHECK:           tile.role "math"
// CHECK:             tile.store
// CHECK-NEXT:        tile.cluster_sync on %[[BARRIER]]
// CHECK-NEXT:        tile.load_from_block
tile.kernel @role(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 8, cluster = 2>} {
  %rank = tile.block_rank
  %tile = tile.alloc_shared "tile" : !tile.shared<128x64xf32>
  tile.roles {
    tile.role "load" warps(4) {
    }
    tile.role "math" warps(4) {
      %v = tile.splat %x : f32 -> tensor<128x64xf32, #rows>
      tile.store %v, %tile : tensor<128x64xf32, #rows>, !tile.shared<128x64xf32>
      %a = tile.load_from_block %tile of %rank : !tile.shared<128x64xf32> -> tensor<128x64xf32, #rows>
    }
  }
  tile.return
}

// -----

#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">

tile.kernel @two_roles(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 8, cluster = 2>} {
  %rank = tile.block_rank
  %tile = tile.alloc_shared "tile" : !tile.shared<128x64xf32>
  tile.roles {
    tile.role "store" warps(4) {
      %v = tile.splat %x : f32 -> tensor<128x64xf32, #rows>
      // expected-note @below {{role 'store' uses it here}}
      tile.store %v, %tile : tensor<128x64xf32, #rows>, !tile.shared<128x64xf32>
    }
    tile.role "load" warps(4) {
      // expected-error @below {{expected one role to use 'tile' because other blocks of the cluster access it, and only one role of each meets them, but role 'load' does, too}}
      %a = tile.load_from_block %tile of %rank : !tile.shared<128x64xf32> -> tensor<128x64xf32, #rows>
    }
  }
  tile.return
}
