// RUN: %tile-opt %s -split-input-file -verify-diagnostics

// load_from_block_c1
tile.kernel @extents() attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %rank = tile.block_rank
  // expected-note @below {{'t' is declared here}}
  %tile = tile.alloc_shared "t" : !tile.shared<64x32xf32>
  // expected-error @below {{expected 't' and the fragment to have the same extents, those of 1 aside, but got 64x32 and 32x32}}
  %x = tile.load_from_block %tile of %rank : !tile.shared<64x32xf32> -> tensor<32x32xf32>
  tile.return
}

// -----

tile.kernel @columns() attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %rank = tile.block_rank
  // expected-note @below {{'t' is declared here}}
  %tile = tile.alloc_shared "t" : !tile.shared<64x32xf32>
  // expected-error @below {{expected a multiple of 8 of the rows of 't', which has 64x32, but got 16x16}}
  %x = tile.load_from_block %tile of %rank rows %rank : !tile.shared<64x32xf32> -> tensor<16x16xf32>
  tile.return
}

// -----

tile.kernel @few_rows() attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %rank = tile.block_rank
  // expected-note @below {{'t' is declared here}}
  %tile = tile.alloc_shared "t" : !tile.shared<64x32xf32>
  // expected-error @below {{expected a multiple of 8 of the rows of 't', which has 64x32, but got 4x32}}
  %x = tile.load_from_block %tile of %rank rows %rank : !tile.shared<64x32xf32> -> tensor<4x32xf32>
  tile.return
}

// -----

tile.kernel @elements() attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %rank = tile.block_rank
  // expected-note @below {{'t' is declared here}}
  %tile = tile.alloc_shared "t" : !tile.shared<64x32xf32>
  // expected-error @below {{expected 't' and the fragment to have the same element type because copies do not convert, but got 'f32' and 'f16'}}
  %x = tile.load_from_block %tile of %rank rows %rank : !tile.shared<64x32xf32> -> tensor<8x32xf16>
  tile.return
}

// -----

tile.kernel @beyond() attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %rank = tile.block_rank
  %c56 = arith.constant 56 : index
  // expected-note @below {{'t' is declared here}}
  %tile = tile.alloc_shared "t" : !tile.shared<64x32xf32>
  // expected-error @below {{expected a first row of 't' that is a multiple of 8 from 0 to 48 because 16 rows are meant, but got 56}}
  %x = tile.load_from_block %tile of %rank rows %c56 : !tile.shared<64x32xf32> -> tensor<16x32xf32>
  tile.return
}

// -----

tile.kernel @transposed() attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %rank = tile.block_rank
  // expected-note @below {{'t' is declared here}}
  %tile = tile.alloc_shared "t" : !tile.shared<64x32xf32>
  %view = tile.transpose %tile : !tile.shared<64x32xf32> -> !tile.shared<32x64xf32, transposed>
  // expected-error @below {{expected a tile as it lies because its rows are meant, but 't' is transposed; take the rows of all of it}}
  %x = tile.load_from_block %view of %rank rows %rank : !tile.shared<32x64xf32, transposed> -> tensor<8x64xf32>
  tile.return
}

// -----

// load_from_block_c2
tile.kernel @alone() attributes {launch = #program.launch<warps = 4>} {
  %rank = tile.block_rank
  // expected-note @below {{'t' is declared here}}
  %tile = tile.alloc_shared "t" : !tile.shared<64x32xf32>
  // expected-error @below {{expected a kernel with clusters of at least 2 blocks because 't' is another block's, but 'alone' has 1; say k.cluster(blocks) before}}
  %x = tile.load_from_block %tile of %rank : !tile.shared<64x32xf32> -> tensor<64x32xf32>
  tile.return
}

// -----

// load_from_block_c3
tile.kernel @no_such_block() attributes {launch = #program.launch<warps = 4, cluster = 4>} {
  %c4 = arith.constant 4 : index
  // expected-note @below {{'t' is declared here}}
  %tile = tile.alloc_shared "t" : !tile.shared<64x32xf32>
  // expected-error @below {{expected a block of the cluster, from 0 to 3, but got block 4 for 't'}}
  %x = tile.load_from_block %tile of %c4 : !tile.shared<64x32xf32> -> tensor<64x32xf32>
  tile.return
}

// -----

// load_from_block_c4
tile.kernel @packed() attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %rank = tile.block_rank
  // expected-note @below {{'t' is declared here}}
  %tile = tile.alloc_shared "t" : !tile.shared<64x32xi4>
  // expected-error @below {{expected elements of whole bytes because blocks access each other's elements one by one, but 't' has 'i4'}}
  %x = tile.load_from_block %tile of %rank : !tile.shared<64x32xi4> -> tensor<64x32xi4>
  tile.return
}

// -----

// load_from_block_c5
tile.kernel @slot() attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %rank = tile.block_rank
  // expected-note @below {{'t' is declared here}}
  %tile = tile.alloc_shared "t" : !tile.shared<2x64x32xf32>
  %at = tile.cursor : !tile.cursor<2>
  %slot = tile.slot %tile[%at] : !tile.shared<2x64x32xf32>, !tile.cursor<2> -> !tile.shared<64x32xf32>
  // expected-error @below {{expected a tile without slots because slots are handed over in a block, but got one of 't'; copy it to another tile first}}
  %x = tile.load_from_block %slot of %rank : !tile.shared<64x32xf32> -> tensor<64x32xf32>
  tile.return
}

// -----

// store_to_block_c1
tile.kernel @store(%f: f32 {program.argument = #program.scalar<"f">}) attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %c2 = arith.constant 2 : index
  %x = tile.splat %f : f32 -> tensor<64x32xf32>
  // expected-note @below {{'t' is declared here}}
  %tile = tile.alloc_shared "t" : !tile.shared<64x32xf32>
  // expected-error @below {{expected a block of the cluster, from 0 to 1, but got block 2 for 't'}}
  tile.store_to_block %x, %tile of %c2 : tensor<64x32xf32>, !tile.shared<64x32xf32>
  tile.return
}

// -----

tile.kernel @store_extents(%f: f32 {program.argument = #program.scalar<"f">}) attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %rank = tile.block_rank
  %x = tile.splat %f : f32 -> tensor<64x16xf32>
  // expected-note @below {{'t' is declared here}}
  %tile = tile.alloc_shared "t" : !tile.shared<64x32xf32>
  // expected-error @below {{expected the fragment and 't' to have the same extents, those of 1 aside, but got 64x16 and 64x32}}
  tile.store_to_block %x, %tile of %rank : tensor<64x16xf32>, !tile.shared<64x32xf32>
  tile.return
}

// -----

// cluster_sync_c1
tile.kernel @meet() attributes {launch = #program.launch<warps = 4>} {
  // expected-error @below {{expected a kernel with clusters of at least 2 blocks because they meet, but 'meet' has 1}}
  tile.cluster_sync
  tile.return
}

// -----

// cluster_sync_c2
tile.kernel @meet_in_role() attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  tile.roles {
    tile.role "math" warps(4) {
      // expected-error @below {{expected a barrier in a role because only some threads of a block meet, but got none}}
      tile.cluster_sync
    }
  }
  tile.return
}

// -----

tile.kernel @barrier_outside() attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %barrier = tile.alloc_barrier "b" count(129)
  // expected-error @below {{expected no barrier outside of roles because all threads meet, but got one}}
  tile.cluster_sync on %barrier
  tile.return
}

// -----

// Without clusters there is no other block.
module attributes {program.target = #program.target<"sm_80">} {
// expected-error @below {{expected a cluster of at least 1 block and at most 1 because that is the limit of sm_80, but 'ampere' has 2}}
tile.kernel @ampere() attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  tile.return
}
}
