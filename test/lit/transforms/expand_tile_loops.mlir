// RUN: %tile-opt %s --tile-expand-tile-loops -split-input-file | FileCheck %s

// One axis: blocks take every `tile.blocks`-th tile, and no more blocks start than there are tiles.
// CHECK-LABEL: tile.kernel @one_axis(
// CHECK-SAME:    %[[ROWS:[^:]*]]: index
// CHECK:       %[[SMS:.*]] = tile.multiprocessors
// CHECK:       %[[BLOCKS:.*]] = arith.minui %[[ROWS]], %[[SMS]]
// CHECK:       %[[FIRST:.*]] = tile.grid %[[BLOCKS]] : index
// CHECK:       %[[STEP:.*]] = tile.blocks
// CHECK:       scf.for %[[TILE:.*]] = %[[FIRST]] to %[[ROWS]] step %[[STEP]] {
// CHECK-NEXT:    tile.slice %X[%[[TILE]]]
// CHECK-NOT:   tile.persistent
tile.kernel @one_axis(%rows: index {program.argument = #program.dimension<"rows">},
    %X: !tile.global<?xf32> {program.argument = #program.tensor<"X", inout, dims[0]>}) {
  tile.persistent (%i) in (%rows) {
    %x = tile.slice %X[%i] : !tile.global<?xf32> -> !tile.slice<1xf32>
    %f = tile.load %x : !tile.slice<1xf32> -> tensor<1xf32>
    tile.store %f, %x : tensor<1xf32>, !tile.slice<1xf32>
  }
  tile.return
}

// -----

// Two blocks share a multiprocessor.
// CHECK-LABEL: tile.kernel @residents(
// CHECK:       %[[SMS:.*]] = tile.multiprocessors
// CHECK:       %[[TWO:.*]] = arith.constant 2
// CHECK:       %[[ROOM:.*]] = arith.muli %[[SMS]], %[[TWO]]
// CHECK:       arith.minui %{{.*}}, %[[ROOM]]
tile.kernel @residents(%rows: index {program.argument = #program.dimension<"rows">},
    %X: !tile.global<?xf32> {program.argument = #program.tensor<"X", inout, dims[0]>})
    attributes {launch = #program.launch<residents = 2>} {
  tile.persistent (%i) in (%rows) {
    %x = tile.slice %X[%i] : !tile.global<?xf32> -> !tile.slice<1xf32>
    %f = tile.load %x : !tile.slice<1xf32> -> tensor<1xf32>
    tile.store %f, %x : tensor<1xf32>, !tile.slice<1xf32>
  }
  tile.return
}

// -----

// Two axes: down a group of rows, then to the next column; the last group may have fewer rows.
// CHECK-LABEL: tile.kernel @two_axes(
// CHECK-SAME:    %[[ROWS:[^:]*]]: index {{.*}}%[[COLUMNS:[^:]*]]: index
// CHECK:       %[[TOTAL:.*]] = arith.muli %[[ROWS]], %[[COLUMNS]]
// CHECK:       scf.for %[[TILE:.*]] = %{{.*}} to %[[TOTAL]]
// CHECK:         %[[GROUP:.*]] = arith.constant 4
// CHECK:         %[[GROUP_TILES:.*]] = arith.muli %[[GROUP]], %[[COLUMNS]]
// CHECK:         %[[NUMBER:.*]] = arith.divui %[[TILE]], %[[GROUP_TILES]]
// CHECK:         %[[FIRST_ROW:.*]] = arith.muli %[[NUMBER]], %[[GROUP]]
// CHECK:         %[[LEFT:.*]] = arith.subi %[[ROWS]], %[[FIRST_ROW]]
// CHECK:         %[[HEIGHT:.*]] = arith.minui %[[LEFT]], %[[GROUP]]
// CHECK:         %[[IN_GROUP:.*]] = arith.remui %[[TILE]], %[[GROUP_TILES]]
// CHECK:         %[[DOWN:.*]] = arith.remui %[[IN_GROUP]], %[[HEIGHT]]
// CHECK:         %[[ROW:.*]] = arith.addi %[[FIRST_ROW]], %[[DOWN]]
// CHECK:         %[[COLUMN:.*]] = arith.divui %[[IN_GROUP]], %[[HEIGHT]]
// CHECK:         tile.slice %X[%[[ROW]], %[[COLUMN]]]
tile.kernel @two_axes(%rows: index {program.argument = #program.dimension<"rows">},
    %columns: index {program.argument = #program.dimension<"columns">},
    %X: !tile.global<?x?xf32> {program.argument = #program.tensor<"X", inout, dims[0, 1]>}) {
  tile.persistent (%i, %j) in (%rows, %columns) group(4) {
    %x = tile.slice %X[%i, %j] : !tile.global<?x?xf32> -> !tile.slice<1x1xf32>
    %f = tile.load %x : !tile.slice<1x1xf32> -> tensor<1x1xf32>
    tile.store %f, %x : tensor<1x1xf32>, !tile.slice<1x1xf32>
  }
  tile.return
}

// -----

// The third axis is outermost: planes follow one another.
// CHECK-LABEL: tile.kernel @three_axes(
// CHECK-SAME:    %[[ROWS:[^:]*]]: index {{.*}}%[[COLUMNS:[^:]*]]: index {{.*}}%[[PLANES:[^:]*]]: index
// CHECK:       %[[PLANE_TILES:.*]] = arith.muli %[[ROWS]], %[[COLUMNS]]
// CHECK:       %[[TOTAL:.*]] = arith.muli %[[PLANE_TILES]], %[[PLANES]]
// CHECK:       scf.for %[[TILE:.*]] = %{{.*}} to %[[TOTAL]]
// CHECK:         %[[IN_PLANE:.*]] = arith.muli %[[ROWS]], %[[COLUMNS]]
// CHECK:         %[[PLANE:.*]] = arith.divui %[[TILE]], %[[IN_PLANE]]
// CHECK:         tile.slice %X[%{{.*}}, %{{.*}}, %[[PLANE]]]
tile.kernel @three_axes(%rows: index {program.argument = #program.dimension<"rows">},
    %columns: index {program.argument = #program.dimension<"columns">},
    %planes: index {program.argument = #program.dimension<"planes">},
    %X: !tile.global<?x?x?xf32> {program.argument = #program.tensor<"X", inout, dims[0, 1, 2]>}) {
  tile.persistent (%i, %j, %k) in (%rows, %columns, %planes) {
    %x = tile.slice %X[%i, %j, %k] : !tile.global<?x?x?xf32> -> !tile.slice<1x1x1xf32>
    %f = tile.load %x : !tile.slice<1x1x1xf32> -> tensor<1x1x1xf32>
    tile.store %f, %x : tensor<1x1x1xf32>, !tile.slice<1x1x1xf32>
  }
  tile.return
}

// -----

// A cluster takes one unit of two rows: whole clusters are launched, all blocks of one run the same
// rounds, and the block's rank picks its row.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @cluster(
// CHECK-SAME:    %[[ROWS:[^:]*]]: index
// CHECK:       %[[TWO:.*]] = arith.constant 2
// CHECK:       %[[UNITS:.*]] = arith.ceildivui %[[ROWS]], %[[TWO]]
// CHECK:       %[[SMS:.*]] = tile.multiprocessors
// CHECK:       %[[WHOLE:.*]] = arith.divui %[[SMS]]
// CHECK:       %[[CLUSTERS:.*]] = arith.maxui %[[WHOLE]]
// CHECK:       %[[LAUNCHED:.*]] = arith.minui %[[UNITS]], %[[CLUSTERS]]
// CHECK:       %[[BLOCKS:.*]] = arith.muli %[[LAUNCHED]]
// CHECK:       %[[BLOCK:.*]] = tile.grid %[[BLOCKS]] : index
// CHECK:       %[[NUMBER:.*]] = tile.blocks
// CHECK:       %[[FIRST:.*]] = arith.divui %[[BLOCK]]
// CHECK:       %[[STEP:.*]] = arith.divui %[[NUMBER]]
// CHECK:       %[[RANK:.*]] = tile.block_rank
// CHECK:       scf.for %[[UNIT:.*]] = %[[FIRST]] to %[[UNITS]] step %[[STEP]] {
// CHECK:         %[[FIRST_ROW:.*]] = arith.muli %[[UNIT]]
// CHECK:         %[[ROW:.*]] = arith.addi %[[FIRST_ROW]], %[[RANK]]
// CHECK:         tile.slice %X[%[[ROW]]]
tile.kernel @cluster(%rows: index {program.argument = #program.dimension<"rows">},
    %X: !tile.global<?xf32> {program.argument = #program.tensor<"X", inout, dims[0]>}) attributes {launch = #program.launch<cluster = 2>} {
  tile.persistent (%i) in (%rows) {
    %x = tile.slice %X[%i] : !tile.global<?xf32> -> !tile.slice<1xf32>
    %f = tile.load %x : !tile.slice<1xf32> -> tensor<1xf32>
    tile.store %f, %x : tensor<1xf32>, !tile.slice<1xf32>
  }
  tile.return
}
}

// -----

// With `cluster_axis` 1 the blocks of a cluster share a row and take neighbouring columns.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @cluster_columns(
// CHECK-SAME:    %[[ROWS:[^:]*]]: index {{.*}}%[[COLUMNS:[^:]*]]: index
// CHECK:       %[[UNITS:.*]] = arith.ceildivui %[[COLUMNS]]
// CHECK:       arith.muli %[[ROWS]], %[[UNITS]]
// CHECK:       %[[RANK:.*]] = tile.block_rank
// CHECK:       scf.for
// CHECK:         %[[ROW:.*]] = arith.addi
// CHECK:         %[[UNIT:.*]] = arith.divui
// CHECK:         %[[FIRST_COLUMN:.*]] = arith.muli %[[UNIT]]
// CHECK:         %[[COLUMN:.*]] = arith.addi %[[FIRST_COLUMN]], %[[RANK]]
// CHECK:         tile.slice %X[%[[ROW]], %[[COLUMN]]]
tile.kernel @cluster_columns(%rows: index {program.argument = #program.dimension<"rows">},
    %columns: index {program.argument = #program.dimension<"columns">},
    %X: !tile.global<?x?xf32> {program.argument = #program.tensor<"X", inout, dims[0, 1]>}) attributes {launch = #program.launch<cluster = 2>} {
  tile.persistent (%i, %j) in (%rows, %columns) group(4) attributes {cluster_axis = 1 : i64} {
    %x = tile.slice %X[%i, %j] : !tile.global<?x?xf32> -> !tile.slice<1x1xf32>
    %f = tile.load %x : !tile.slice<1x1xf32> -> tensor<1x1xf32>
    tile.store %f, %x : tensor<1x1xf32>, !tile.slice<1x1xf32>
  }
  tile.return
}
}

// -----

// Blocks of the last cluster whose tile does not exist run, too, and leave nothing behind: what does not lie outside
// of the tensor with the tile is guarded, as are variables and buffers of the kernel. Claims are of tiles that exist.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @guarded(
// CHECK-SAME:    %[[ROWS:[^:]*]]: index
// CHECK:       %[[TILES:.*]] = arith.ceildivui %[[ROWS]], %c64
// CHECK:       scf.for
// CHECK:         %[[EXISTS:.*]] = arith.cmpi ult, %[[ROW:.*]], %[[TILES]] : index
// CHECK:         %[[AT:.*]] = arith.muli %[[ROW]], %c64
// CHECK:         %[[X:.*]] = tile.slice %X[%[[AT]]] :
// CHECK:         tile.store %{{.*}}, %[[X]]
// CHECK:         scf.if %[[EXISTS]] {
// CHECK-NEXT:      tile.atomic add
// CHECK-NEXT:    }
// CHECK:         scf.if %[[EXISTS]] {
// CHECK-NEXT:      tile.store %{{.*}}, %{{.*}} :
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.if %[[EXISTS]] {
// CHECK-NEXT:      tile.write
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.if %[[EXISTS]] {
// CHECK-NEXT:      tile.store %{{.*}}, %outer
// CHECK-NEXT:    }
// CHECK:         %[[OWN:.*]] = tile.variable
// CHECK-NEXT:    %inner = tile.alloc_shared
// CHECK-NEXT:    tile.write %{{.*}}, %[[OWN]]
// CHECK-NEXT:    tile.store %{{.*}}, %inner
// CHECK-NEXT:  }
tile.kernel @guarded(%rows: index {program.argument = #program.dimension<"rows">},
    %X: !tile.global<?xf32> {program.argument = #program.tensor<"X", inout, dims[0]>},
    %Y: !tile.global<64xf32> {program.argument = #program.tensor<"Y", inout, dims[-1]>}) attributes {launch = #program.launch<cluster = 2>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %outer = tile.alloc_shared "outer" : !tile.shared<64xf32>
  %zero = tile.splat %f0 : f32 -> tensor<64xf32>
  %sum = tile.variable %zero : !tile.variable<tensor<64xf32>>
  %tiles = arith.ceildivui %rows, %c64 : index
  tile.persistent (%i) in (%tiles) {
    %at = arith.muli %i, %c64 : index
    %x = tile.slice %X[%at] unchecked "inside" : !tile.global<?xf32> -> !tile.slice<64xf32>
    %f = tile.load %x : !tile.slice<64xf32> -> tensor<64xf32>
    tile.store %f, %x : tensor<64xf32>, !tile.slice<64xf32>
    %y = tile.slice %Y[%c0] : !tile.global<64xf32> -> !tile.slice<64xf32>
    tile.atomic add %f, %y : tensor<64xf32>, !tile.slice<64xf32>
    %before = arith.subi %at, %c64 : index
    %z = tile.slice %X[%before] : !tile.global<?xf32> -> !tile.slice<64xf32>
    tile.store %f, %z : tensor<64xf32>, !tile.slice<64xf32>
    tile.write %f, %sum : !tile.variable<tensor<64xf32>>
    tile.store %f, %outer : tensor<64xf32>, !tile.shared<64xf32>
    %own = tile.variable %zero : !tile.variable<tensor<64xf32>>
    %inner = tile.alloc_shared "inner" : !tile.shared<64xf32>
    tile.write %f, %own : !tile.variable<tensor<64xf32>>
    tile.store %f, %inner : tensor<64xf32>, !tile.shared<64xf32>
  }
  tile.return
}

}

// -----

// What an effect returns is any value where the tile does not exist.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @guarded_result(
// CHECK:         %[[EXISTS:.*]] = arith.cmpi ult
// CHECK:         %[[F:.*]] = tile.splat
// CHECK:         %[[OLD:.*]] = scf.if %[[EXISTS]] -> (tensor<64xf32>) {
// CHECK-NEXT:      %[[FETCHED:.*]] = tile.atomic_fetch %[[F]]
// CHECK-NEXT:      scf.yield %[[FETCHED]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %[[F]]
// CHECK-NEXT:    }
// CHECK:         tile.store %[[OLD]]
tile.kernel @guarded_result(%rows: index {program.argument = #program.dimension<"rows">},
    %X: !tile.global<?xf32> {program.argument = #program.tensor<"X", inout, dims[0]>},
    %Y: !tile.global<64xf32> {program.argument = #program.tensor<"Y", inout, dims[-1]>}) attributes {launch = #program.launch<cluster = 2>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f1 = arith.constant 1.0 : f32
  tile.persistent (%i) in (%rows) {
    %at = arith.muli %i, %c64 : index
    %y = tile.slice %Y[%c0] : !tile.global<64xf32> -> !tile.slice<64xf32>
    %f = tile.splat %f1 : f32 -> tensor<64xf32>
    %old = tile.atomic_fetch %f, %y : tensor<64xf32>, !tile.slice<64xf32>
    %x = tile.slice %X[%at] : !tile.global<?xf32> -> !tile.slice<64xf32>
    tile.store %old, %x : tensor<64xf32>, !tile.slice<64xf32>
  }
  tile.return
}

}

// -----

// Clusters that the tiles fill need no guard.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @whole_clusters(
// CHECK-NOT:   scf.if
tile.kernel @whole_clusters(
    %Y: !tile.global<64xf32> {program.argument = #program.tensor<"Y", inout, dims[-1]>}) attributes {launch = #program.launch<cluster = 2>} {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %f1 = arith.constant 1.0 : f32
  tile.persistent (%i) in (%c6) {
    %y = tile.slice %Y[%c0] : !tile.global<64xf32> -> !tile.slice<64xf32>
    %f = tile.splat %f1 : f32 -> tensor<64xf32>
    tile.atomic add %f, %y : tensor<64xf32>, !tile.slice<64xf32>
  }
  tile.return
}
}

// -----

// Nor do those whose number of tiles is a multiple of them, whatever the dimension. What a block writes to another one's
// tile is guarded where the tiles may end within a cluster.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @pairs(
// CHECK-NOT:   scf.if
// CHECK:       tile.store_to_block
// CHECK-LABEL: tile.kernel @odd(
// CHECK:       scf.if
// CHECK-NEXT:    tile.store_to_block
tile.kernel @pairs(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<cluster = 2>} {
  %c2 = arith.constant 2 : index
  %f1 = arith.constant 1.0 : f32
  %tiles = arith.muli %n, %c2 : index
  tile.persistent (%i) in (%tiles) {
    %rank = tile.block_rank
    %tile = tile.alloc_shared "tile" : !tile.shared<64xf32>
    %f = tile.splat %f1 : f32 -> tensor<64xf32>
    tile.store_to_block %f, %tile of %rank : tensor<64xf32>, !tile.shared<64xf32>
  }
  tile.return
}
tile.kernel @odd(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<cluster = 2>} {
  %f1 = arith.constant 1.0 : f32
  tile.persistent (%i) in (%n) {
    %rank = tile.block_rank
    %tile = tile.alloc_shared "tile" : !tile.shared<64xf32>
    %f = tile.splat %f1 : f32 -> tensor<64xf32>
    tile.store_to_block %f, %tile of %rank : tensor<64xf32>, !tile.shared<64xf32>
  }
  tile.return
}
}

// -----

// Kernels with a grid of their own stay as they are.
// CHECK-LABEL: tile.kernel @plain_grid(
// CHECK-NEXT:    %[[I:.*]] = tile.grid %rows : index
// CHECK-NEXT:    tile.slice %X[%[[I]]]
tile.kernel @plain_grid(%rows: index {program.argument = #program.dimension<"rows">},
    %X: !tile.global<?xf32> {program.argument = #program.tensor<"X", inout, dims[0]>}) {
  %i = tile.grid %rows : index
  %x = tile.slice %X[%i] : !tile.global<?xf32> -> !tile.slice<1xf32>
  %f = tile.load %x : !tile.slice<1xf32> -> tensor<1xf32>
  tile.store %f, %x : tensor<1xf32>, !tile.slice<1xf32>
  tile.return
}

// -----

// A block for each tile. Its own comes first, then those of blocks that it cancels, until there are none.
// CHECK-LABEL: tile.kernel @dynamic(
// CHECK-SAME:    %[[ROWS:[^:]*]]: index
// CHECK-NOT:   tile.multiprocessors
// CHECK:       %[[OWN:.*]] = tile.grid %[[ROWS]] : index
// CHECK:       %[[TILE:.*]] = tile.alloc_shared "next_tile" : !tile.shared<1xi32>
// CHECK:       %[[RESPONSE:.*]] = tile.alloc_response "next_tile.response"
// CHECK:       %[[END:.*]] = arith.addi %[[ROWS]], %{{.*}}
// CHECK:       scf.for %[[N:.*]] = %{{.*}} to %[[END]] step %{{.*}} iter_args(%[[GOES:.*]] = %true) -> (i1) {
// CHECK-NEXT:    scf.if %[[GOES]] -> (i1) {
// CHECK-NEXT:      tile.next_block %[[OWN]], %[[N]] by %[[RESPONSE]], %[[TILE]][%{{.*}}] : !tile.shared<1xi32>
// CHECK-NEXT:      %[[NUMBER:.*]] = tile.load_index %[[TILE]]
// CHECK-NEXT:      %[[EXISTS:.*]] = arith.cmpi sge, %[[NUMBER]], %{{.*}} : index
// CHECK-NEXT:      scf.if %[[EXISTS]] {
// CHECK-NEXT:        tile.slice %X[%[[NUMBER]]]
// CHECK:           scf.yield %[[EXISTS]] : i1
// CHECK:         } else {
// CHECK:           scf.yield %false
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @dynamic(%rows: index {program.argument = #program.dimension<"rows">},
    %X: !tile.global<?xf32> {program.argument = #program.tensor<"X", inout, dims[0]>}) {
  tile.persistent (%i) in (%rows) group(8) attributes {dynamic} {
    %x = tile.slice %X[%i] : !tile.global<?xf32> -> !tile.slice<1xf32>
    %f = tile.load %x : !tile.slice<1xf32> -> tensor<1xf32>
    tile.store %f, %x : tensor<1xf32>, !tile.slice<1xf32>
  }
  tile.return
}
}
