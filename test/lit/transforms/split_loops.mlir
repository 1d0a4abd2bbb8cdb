// RUN: %tile-opt %s --tile-split-loops --canonicalize --split-input-file | FileCheck %s
// RUN: %tile-opt %s --tile-split-loops=enable=false --canonicalize --split-input-file | FileCheck %s --check-prefix=OFF

// Iterations before the bound, then those from it on; neither asks.
// CHECK-LABEL: tile.kernel @edges(
// OFF-LABEL: tile.kernel @edges(
// OFF:         scf.for
// OFF:         scf.if
// OFF-NOT:     scf.for
// OFF:         tile.return
// CHECK:       %[[BELOW:.*]] = arith.minsi %e, %n
// CHECK-NEXT:  %[[MIDDLE:.*]] = arith.maxsi %[[BELOW]], %c0
// CHECK-NEXT:  %[[FIRST:.*]] = scf.for %{{.*}} = %c0 to %[[MIDDLE]] step %c1 iter_args(%[[X:.*]] = %{{.*}})
// CHECK-NEXT:    %[[MASKED:.*]] = arith.addf %[[X]], %[[X]]
// CHECK-NEXT:    %[[Y:.*]] = arith.mulf %[[MASKED]], %[[X]]
// CHECK-NEXT:    scf.yield %[[Y]]
// CHECK:       scf.for %{{.*}} = %[[MIDDLE]] to %n step %c1 iter_args(%[[X:.*]] = %[[FIRST]])
// CHECK-NEXT:    %[[Y:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK-NEXT:    scf.yield %[[Y]]
tile.kernel @edges(%n: index {program.argument = #program.dimension<"n">}, %edges: index {program.argument = #program.dimension<"e">}, %O: !tile.global<64x64xf32> {program.argument = #program.tensor<"O", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f1 = arith.constant 1.0 : f32
  %one = tile.splat %f1 : f32 -> tensor<64x64xf32>
  %o = tile.slice %O[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%x = %one) -> (tensor<64x64xf32>) {
    %edge = arith.cmpi slt, %i, %edges : index
    %masked = scf.if %edge -> (tensor<64x64xf32>) {
      %m = arith.addf %x, %x : tensor<64x64xf32>
      scf.yield %m : tensor<64x64xf32>
    } else {
      scf.yield %x : tensor<64x64xf32>
    }
    %y = arith.mulf %masked, %x : tensor<64x64xf32>
    scf.yield %y : tensor<64x64xf32>
  }
  tile.store %end, %o atom simt : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}

// -----

// The bound may stand on the left.
// CHECK-LABEL: tile.kernel @bound_first(
// CHECK-COUNT-2: scf.for
// CHECK-NOT:   scf.if
tile.kernel @bound_first(%n: index {program.argument = #program.dimension<"n">}, %edges: index {program.argument = #program.dimension<"e">}, %O: !tile.global<64x64xf32> {program.argument = #program.tensor<"O", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f1 = arith.constant 1.0 : f32
  %one = tile.splat %f1 : f32 -> tensor<64x64xf32>
  %o = tile.slice %O[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%x = %one) -> (tensor<64x64xf32>) {
    %edge = arith.cmpi sgt, %edges, %i : index
    %masked = scf.if %edge -> (tensor<64x64xf32>) {
      %m = arith.addf %x, %x : tensor<64x64xf32>
      scf.yield %m : tensor<64x64xf32>
    } else {
      scf.yield %x : tensor<64x64xf32>
    }
    %y = arith.mulf %masked, %x : tensor<64x64xf32>
    scf.yield %y : tensor<64x64xf32>
  }
  tile.store %end, %o atom simt : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}

// -----

// A bound that moves, a branch without fragments, another comparison: the loop stays one.
// CHECK-LABEL: tile.kernel @others(
// CHECK-COUNT-1: scf.for
// CHECK-NOT:   scf.for
tile.kernel @others(%n: index {program.argument = #program.dimension<"n">}, %edges: index {program.argument = #program.dimension<"e">}, %O: !tile.global<64x64xf32> {program.argument = #program.tensor<"O", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f1 = arith.constant 1.0 : f32
  %one = tile.splat %f1 : f32 -> tensor<64x64xf32>
  %o = tile.slice %O[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %one, %bound = %edges) -> (tensor<64x64xf32>, index) {
    %below = arith.cmpi slt, %i, %bound : index
    %equal = arith.cmpi eq, %i, %edges : index
    %edge = arith.cmpi slt, %i, %edges : index
    %one_masked = scf.if %below -> (tensor<64x64xf32>) {
      %m = arith.addf %x, %x : tensor<64x64xf32>
      scf.yield %m : tensor<64x64xf32>
    } else {
      scf.yield %x : tensor<64x64xf32>
    }
    %two_masked = scf.if %equal -> (tensor<64x64xf32>) {
      %m = arith.mulf %x, %x : tensor<64x64xf32>
      scf.yield %m : tensor<64x64xf32>
    } else {
      scf.yield %one_masked : tensor<64x64xf32>
    }
    %next = scf.if %edge -> (index) {
      %m = arith.muli %bound, %n : index
      scf.yield %m : index
    } else {
      scf.yield %bound : index
    }
    scf.yield %two_masked, %next : tensor<64x64xf32>, index
  }
  tile.store %end#0, %o atom simt : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}

// -----

// The loop begins after the iterations that a condition is for, as loops do whose first iteration is peeled.
// CHECK-LABEL: tile.kernel @passed(
// CHECK:       scf.for
// CHECK-NOT:   scf.if
// CHECK:       arith.addf
// CHECK-NOT:   scf.for
tile.kernel @passed(%n: index {program.argument = #program.dimension<"n">}, %O: !tile.global<64x64xf32> {program.argument = #program.tensor<"O", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f1 = arith.constant 1.0 : f32
  %one = tile.splat %f1 : f32 -> tensor<64x64xf32>
  %o = tile.slice %O[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  %end = scf.for %i = %c1 to %n step %c1 iter_args(%x = %one) -> (tensor<64x64xf32>) {
    %first = arith.cmpi eq, %i, %c0 : index
    %start = scf.if %first -> (tensor<64x64xf32>) {
      %m = arith.mulf %x, %x : tensor<64x64xf32>
      scf.yield %m : tensor<64x64xf32>
    } else {
      scf.yield %x : tensor<64x64xf32>
    }
    %below = arith.cmpi slt, %i, %c1 : index
    %edge = scf.if %below -> (tensor<64x64xf32>) {
      %m = arith.mulf %start, %start : tensor<64x64xf32>
      scf.yield %m : tensor<64x64xf32>
    } else {
      scf.yield %start : tensor<64x64xf32>
    }
    %y = arith.addf %edge, %x : tensor<64x64xf32>
    scf.yield %y : tensor<64x64xf32>
  }
  tile.store %end, %o atom simt : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}

// -----

// The blocks of a cluster meet in it, and their bounds may differ.
// CHECK-LABEL: tile.kernel @meets(
// CHECK-COUNT-1: scf.for
// CHECK-NOT:   scf.for
// CHECK:       tile.return
// OFF-LABEL: tile.kernel @meets(
tile.kernel @meets(%n: index {program.argument = #program.dimension<"n">}, %O: !tile.global<64x64xf32> {program.argument = #program.tensor<"O", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f1 = arith.constant 1.0 : f32
  %rank = tile.block_rank
  %tile = tile.alloc_shared "tile" : !tile.shared<64x64xf32>
  %one = tile.splat %f1 : f32 -> tensor<64x64xf32>
  %o = tile.slice %O[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%x = %one) -> (tensor<64x64xf32>) {
    %edge = arith.cmpi slt, %i, %rank : index
    %masked = scf.if %edge -> (tensor<64x64xf32>) {
      %m = arith.addf %x, %x : tensor<64x64xf32>
      scf.yield %m : tensor<64x64xf32>
    } else {
      scf.yield %x : tensor<64x64xf32>
    }
    tile.store_to_block %masked, %tile of %rank : tensor<64x64xf32>, !tile.shared<64x64xf32>
    %y = tile.load %tile : !tile.shared<64x64xf32> -> tensor<64x64xf32>
    scf.yield %y : tensor<64x64xf32>
  }
  tile.store %end, %o atom simt : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}
