// RUN: %tile-opt %s | %tile-opt | FileCheck %s
// RUN: %tile-opt %s --mlir-print-op-generic | %tile-opt | FileCheck %s

// CHECK-LABEL: tile.kernel @blocks(
tile.kernel @blocks() attributes {launch = #program.launch<warps = 4, cluster = 4>} {
  %c8 = arith.constant 8 : index
  %rank = tile.block_rank
  %tile = tile.alloc_shared "tile" : !tile.shared<64x32xf32>
  // CHECK: %[[ALL:.*]] = tile.load_from_block %{{.*}} of %{{.*}} : !tile.shared<64x32xf32> -> tensor<64x32xf32>
  %all = tile.load_from_block %tile of %rank : !tile.shared<64x32xf32> -> tensor<64x32xf32>
  // CHECK: %[[ROWS:.*]] = tile.load_from_block %{{.*}} of %{{.*}} rows %{{.*}} : !tile.shared<64x32xf32> -> tensor<16x32xf32>
  %rows = tile.load_from_block %tile of %rank rows %c8 : !tile.shared<64x32xf32> -> tensor<16x32xf32>
  // CHECK: tile.cluster_sync{{$}}
  tile.cluster_sync
  // CHECK: tile.store_to_block %[[ALL]], %{{.*}} of %{{.*}} : tensor<64x32xf32>, !tile.shared<64x32xf32>
  tile.store_to_block %all, %tile of %rank : tensor<64x32xf32>, !tile.shared<64x32xf32>
  // CHECK: tile.store_to_block %[[ROWS]], %{{.*}} of %{{.*}} rows %{{.*}} : tensor<16x32xf32>, !tile.shared<64x32xf32>
  tile.store_to_block %rows, %tile of %rank rows %c8 : tensor<16x32xf32>, !tile.shared<64x32xf32>
  // A transposed view, and a tile with an axis of extent 1.
  %view = tile.transpose %tile : !tile.shared<64x32xf32> -> !tile.shared<32x64xf32, transposed>
  // CHECK: tile.load_from_block %{{.*}} of %{{.*}} : !tile.shared<32x64xf32, transposed> -> tensor<32x64xf32>
  %transposed = tile.load_from_block %view of %rank : !tile.shared<32x64xf32, transposed> -> tensor<32x64xf32>
  %line = tile.alloc_shared "line" : !tile.shared<1x32xf32>
  // CHECK: tile.load_from_block %{{.*}} of %{{.*}} : !tile.shared<1x32xf32> -> tensor<32xf32>
  %one = tile.load_from_block %line of %rank : !tile.shared<1x32xf32> -> tensor<32xf32>
  tile.return
}

// CHECK-LABEL: tile.kernel @role(
tile.kernel @role() attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %barrier = tile.alloc_barrier "math.cluster" count(129)
  tile.roles {
    tile.role "math" warps(4) {
      // CHECK: tile.cluster_sync on %{{.*}}
      tile.cluster_sync on %barrier
    }
  }
  tile.return
}
