// RUN: %tile-opt %s --tile-place-fences -split-input-file -verify-diagnostics | FileCheck %s

// Stores of one box follow each other: each element by one thread, without a barrier, if the threads share it alike.
// CHECK-LABEL: tile.kernel @same_box(
// CHECK:         tile.store %[[A:.*]], %[[X:.*]] atom simt
// CHECK-NEXT:    tile.store %[[A]], %[[X]] atom simt
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.store
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      tile.store
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.return
#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">
#columns = #tile.layout<"reg(8@1:1, 8@0:16) lane(8@1:8, 4@0:1) warp(4@0:4)">
tile.kernel @same_box(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", inout, dims[0, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.splat %f0 : f32 -> tensor<128x64xf32, #rows>
  %b = tile.splat %f0 : f32 -> tensor<128x64xf32, #columns>
  %x = tile.slice %X[%c0, %c0] : !tile.global<?x64xf32> -> !tile.slice<128x64xf32>
  tile.store %a, %x atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  tile.store %a, %x atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  tile.store %b, %x atom simt : tensor<128x64xf32, #columns>, !tile.slice<128x64xf32>
  scf.for %i = %c0 to %n step %c1 {
    tile.store %b, %x atom simt : tensor<128x64xf32, #columns>, !tile.slice<128x64xf32>
  }
  tile.return
}

// -----

// Boxes that overlap, those that touch, and those of which nothing is known.
// CHECK-LABEL: tile.kernel @boxes(
// CHECK-COUNT-2: tile.store
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.store
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.store
// CHECK-NEXT:    tile.return
#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">
tile.kernel @boxes(%i: index {program.argument = #program.dimension<"i">}, %j: index {program.argument = #program.dimension<"j">},
    %X: !tile.global<?x?xf32> {program.argument = #program.tensor<"X", inout, dims[0, 1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.splat %f0 : f32 -> tensor<128x64xf32, #rows>
  %below = arith.addi %i, %c128 : index
  %within = arith.addi %i, %c64 : index
  %x = tile.slice %X[%i, %j] : !tile.global<?x?xf32> -> !tile.slice<128x64xf32>
  %y = tile.slice %X[%below, %j] : !tile.global<?x?xf32> -> !tile.slice<128x64xf32>
  %z = tile.slice %X[%within, %j] : !tile.global<?x?xf32> -> !tile.slice<128x64xf32>
  %u = tile.slice %X[%j, %j] : !tile.global<?x?xf32> -> !tile.slice<128x64xf32>
  tile.store %a, %x atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  tile.store %a, %y atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  tile.store %a, %z atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  tile.store %a, %u atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  tile.return
}

// -----

// The author's word.
// CHECK-LABEL: tile.kernel @disjoint(
// CHECK-NOT:     tile.sync
// CHECK:         tile.return
#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">
tile.kernel @disjoint(%i: index {program.argument = #program.dimension<"i">}, %j: index {program.argument = #program.dimension<"j">},
    %X: !tile.global<?x?xf32> {program.argument = #program.tensor<"X", inout, dims[0, 1]>}) attributes {launch = #program.launch<warps = 4>} {
  %f0 = arith.constant 0.0 : f32
  %a = tile.splat %f0 : f32 -> tensor<128x64xf32, #rows>
  %x = tile.slice %X[%i, %j] : !tile.global<?x?xf32> -> !tile.slice<128x64xf32>
  %y = tile.slice %X[%j, %j] disjoint "so it is" : !tile.global<?x?xf32> -> !tile.slice<128x64xf32>
  tile.store %a, %x atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  tile.store %a, %y atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  tile.return
}

// -----

// Around the back edge: a box that moves by its extent, or by less; one that rounds of two loops tell apart, and one that
// the outer loop comes back to.
// CHECK-LABEL: tile.kernel @loops(
// CHECK:         scf.for
// CHECK-NEXT:      tile.slice
// CHECK-NEXT:      tile.store
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      tile.slice
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      tile.store
// CHECK-NEXT:    }
// CHECK:         scf.for
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        tile.slice
// CHECK-NEXT:        tile.store
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK:         scf.for
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        arith.addi
// CHECK-NEXT:        tile.slice
// CHECK-NEXT:        tile.sync
// CHECK-NEXT:        tile.store
#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">
tile.kernel @loops(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x?xf32> {program.argument = #program.tensor<"X", output, dims[0, 0]>},
    %Y: !tile.global<?x?xf32> {program.argument = #program.tensor<"Y", output, dims[0, 0]>},
    %Z: !tile.global<?x?xf32> {program.argument = #program.tensor<"Z", output, dims[0, 0]>},
    %U: !tile.global<?x?xf32> {program.argument = #program.tensor<"U", output, dims[0, 0]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.splat %f0 : f32 -> tensor<128x64xf32, #rows>
  scf.for %i = %c0 to %n step %c128 {
    %x = tile.slice %X[%i, %c0] : !tile.global<?x?xf32> -> !tile.slice<128x64xf32>
    tile.store %a, %x atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  }
  scf.for %i = %c0 to %n step %c64 {
    %y = tile.slice %Y[%i, %c0] : !tile.global<?x?xf32> -> !tile.slice<128x64xf32>
    tile.store %a, %y atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  }
  tile.sync
  scf.for %i = %c0 to %n step %c128 {
    scf.for %j = %c0 to %n step %c64 {
      %z = tile.slice %Z[%i, %j] : !tile.global<?x?xf32> -> !tile.slice<128x64xf32>
      tile.store %a, %z atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
    }
  }
  tile.sync
  scf.for %i = %c0 to %n step %c128 {
    scf.for %j = %c0 to %n step %c128 {
      %sum = arith.addi %i, %j : index
      %u = tile.slice %U[%sum, %c0] : !tile.global<?x?xf32> -> !tile.slice<128x64xf32>
      tile.store %a, %u atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
    }
  }
  tile.return
}

// -----

// Quotient and remainder tell tiles apart, also in groups of rows that are walked together, as `k.persistent` does.
// CHECK-LABEL: tile.kernel @tiles(
// CHECK-NOT:     tile.sync
// CHECK:         tile.return
#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">
tile.kernel @tiles(%rows: index {program.argument = #program.dimension<"rows">}, %columns: index {program.argument = #program.dimension<"columns">},
    %X: !tile.global<?x?xf32> {program.argument = #program.tensor<"X", output, dims[0, 1]>},
    %Y: !tile.global<?x?xf32> {program.argument = #program.tensor<"Y", output, dims[0, 1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c7 = arith.constant 7 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.splat %f0 : f32 -> tensor<128x64xf32, #rows>
  %first = tile.grid %c64 : index
  %blocks = tile.blocks
  %all = arith.muli %rows, %columns : index
  scf.for %t = %first to %all step %blocks {
    %i = arith.divsi %t, %columns : index
    %j = arith.remsi %t, %columns : index
    %row = arith.muli %i, %c128 : index
    %column = arith.muli %j, %c64 : index
    %x = tile.slice %X[%row, %column] : !tile.global<?x?xf32> -> !tile.slice<128x64xf32>
    tile.store %a, %x atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  }
  scf.for %t = %first to %all step %blocks {
    %group_tiles = arith.muli %columns, %c7 : index
    %group = arith.divui %t, %group_tiles : index
    %in_group = arith.remui %t, %group_tiles : index
    %first_row = arith.muli %group, %c7 : index
    %left = arith.subi %rows, %first_row : index
    %group_rows = arith.minui %left, %c7 : index
    %in_column = arith.remui %in_group, %group_rows : index
    %i = arith.addi %first_row, %in_column : index
    %j = arith.divui %in_group, %group_rows : index
    %row = arith.muli %i, %c128 : index
    %column = arith.muli %j, %c64 : index
    %y = tile.slice %Y[%row, %column] : !tile.global<?x?xf32> -> !tile.slice<128x64xf32>
    tile.store %a, %y atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  }
  tile.return
}

// -----

// The same with boxes that are larger than their distance.
// CHECK-LABEL: tile.kernel @overlapping_tiles(
// CHECK:         scf.for
// CHECK:           tile.sync
// CHECK-NEXT:      tile.store
#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">
tile.kernel @overlapping_tiles(%rows: index {program.argument = #program.dimension<"rows">}, %columns: index {program.argument = #program.dimension<"columns">},
    %X: !tile.global<?x?xf32> {program.argument = #program.tensor<"X", output, dims[0, 1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.splat %f0 : f32 -> tensor<128x64xf32, #rows>
  %first = tile.grid %c64 : index
  %blocks = tile.blocks
  %all = arith.muli %rows, %columns : index
  scf.for %t = %first to %all step %blocks {
    %i = arith.divui %t, %columns : index
    %j = arith.remui %t, %columns : index
    %row = arith.muli %i, %c64 : index
    %column = arith.muli %j, %c64 : index
    %x = tile.slice %X[%row, %column] : !tile.global<?x?xf32> -> !tile.slice<128x64xf32>
    tile.store %a, %x atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  }
  tile.return
}

// -----

// What the TMA stores is on its way until it is waited for; what threads stored, it sees after a fence.
// CHECK-LABEL: tile.kernel @by_tma(
// CHECK:         tile.store {{.*}} atom tma
// CHECK-NEXT:    tile.await_stores
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.load
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.store {{.*}} atom simt
// CHECK-NEXT:    tile.proxy_fence tensors
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.store {{.*}} atom tma
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.await_stores
// CHECK-NEXT:    tile.proxy_fence tensors
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.store {{.*}} atom tma
// CHECK-NEXT:    tile.await_stores
// CHECK-NEXT:    tile.return
tile.kernel @by_tma(%X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %h0 = arith.constant 0.0 : bf16
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  %staging = tile.alloc_shared "X.staging" : !tile.shared<1x2x64x64xbf16>
  tile.store %h, %x staging %staging : !tile.shared<1x2x64x64xbf16> atom tma : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
  %l = tile.load %x : !tile.slice<64x64xbf16> -> tensor<64x64xbf16>
  tile.store %h, %x atom simt : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
  tile.store %h, %x staging %staging : !tile.shared<1x2x64x64xbf16> atom tma : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
  tile.sync
  tile.store %h, %x staging %staging : !tile.shared<1x2x64x64xbf16> atom tma : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
  tile.return
}

// -----

// Before another role may go on to what a role stored: its stores end, and the TMA is told.
// CHECK-LABEL: tile.kernel @handed_on(
// CHECK:         tile.store {{.*}} atom tma
// CHECK-NEXT:    tile.await_stores
// CHECK-NEXT:    tile.proxy_fence tensors
// CHECK-NEXT:    tile.arrive
// CHECK:         tile.store {{.*}} atom simt
// CHECK-NEXT:    tile.proxy_fence tensors
// CHECK-NEXT:    tile.arrive
// CHECK:         tile.store {{.*}} atom simt
// CHECK-NEXT:    tile.arrive
tile.kernel @handed_on(%X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>},
    %Y: !tile.global<64x64xbf16> {program.argument = #program.tensor<"Y", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %h0 = arith.constant 0.0 : bf16
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  %y = tile.slice %Y[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  %staging = tile.alloc_shared "X.staging" : !tile.shared<1x2x64x64xbf16>
  %slots = tile.alloc_shared "slots" : !tile.shared<2x64x64xbf16>
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %first = tile.cursor : !tile.cursor<2>
  %bar = tile.alloc_barrier "bar" count(128)
  tile.roles {
    tile.role "one" warps(4) {
      tile.store %h, %x staging %staging : !tile.shared<1x2x64x64xbf16> atom tma : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
      tile.arrive %bar
      tile.store %h, %x atom simt : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
      tile.arrive %bar
      tile.store %h, %y atom simt : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
      tile.arrive %bar
    }
    tile.role "two" warps(4) {
      tile.wait %bar phase(%c0)
      %slot = tile.slot %slots[%first] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
      tile.copy_async %x, %slot, %ring[%first] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>, !tile.ring<2>
      %l = tile.load %y : !tile.slice<64x64xbf16> -> tensor<64x64xbf16>
    }
  }
  tile.return
}

// -----

// Whoever stores through the TMA waits for it in the end: before roles begin, and where a role or the kernel ends. Once is
// enough, also in a loop that is walked twice.
// CHECK-LABEL: tile.kernel @waits(
// CHECK:         tile.store {{.*}} atom tma
// CHECK-NEXT:    tile.await_stores
// CHECK-NEXT:    tile.roles {
// CHECK-NEXT:      tile.role "one" warps(4) {
// CHECK-NEXT:        scf.for
// CHECK-NEXT:          tile.slice
// CHECK-NEXT:          tile.store {{.*}} atom tma
// CHECK-NEXT:        }
// CHECK-NEXT:        tile.await_stores
// CHECK-NEXT:      }
// CHECK-NEXT:      tile.role "two" warps(4) {
// CHECK-NEXT:        scf.for
// CHECK-NEXT:          tile.proxy_fence tensors
// CHECK-NEXT:          tile.sync
// CHECK-NEXT:          tile.store {{.*}} atom tma
// CHECK-NEXT:          tile.await_stores
// CHECK-NEXT:          tile.sync
// CHECK-NEXT:          tile.load
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      tile.role "three" warps(4) {
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.return
tile.kernel @waits(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>},
    %Y: !tile.global<?x64xbf16> {program.argument = #program.tensor<"Y", inout, dims[0, -1]>},
    %Z: !tile.global<64x64xbf16> {program.argument = #program.tensor<"Z", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 12>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %h0 = arith.constant 0.0 : bf16
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  %c64 = arith.constant 64 : index
  %z = tile.slice %Z[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  %staging = tile.alloc_shared "staging" : !tile.shared<1x2x64x64xbf16>
  %others = tile.alloc_shared "others" : !tile.shared<1x2x64x64xbf16>
  tile.store %h, %x staging %staging : !tile.shared<1x2x64x64xbf16> atom tma : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
  tile.roles {
    tile.role "one" warps(4) {
      scf.for %i = %c0 to %n step %c64 {
        %y = tile.slice %Y[%i, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
        tile.store %h, %y staging %staging : !tile.shared<1x2x64x64xbf16> atom tma : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
      }
    }
    tile.role "two" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        tile.store %h, %z staging %others : !tile.shared<1x2x64x64xbf16> atom tma : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
        %l = tile.load %z : !tile.slice<64x64xbf16> -> tensor<64x64xbf16>
      }
    }
    tile.role "three" warps(4) {
    }
  }
  tile.return
}

// -----

// Two roles store disjoint rows in all rounds: neither waits for its stores before it arrives at a barrier.
// CHECK-LABEL: tile.kernel @apart(
// CHECK:         tile.role "one" warps(4) {
// CHECK:           tile.store {{.*}} atom tma
// CHECK-NEXT:      tile.arrive
// CHECK:         tile.role "two" warps(4) {
// CHECK-COUNT-2:   tile.store {{.*}} atom tma
// CHECK-NEXT:      tile.await_stores
// CHECK-NEXT:      tile.arrive
// CHECK:         tile.role "three" warps(4) {
tile.kernel @apart(%n: index {program.argument = #program.dimension<"n">},
    %Y: !tile.global<?x64xbf16> {program.argument = #program.tensor<"Y", output, dims[0, -1]>},
    %Z: !tile.global<?x64xbf16> {program.argument = #program.tensor<"Z", output, dims[0, -1]>}) attributes {launch = #program.launch<warps = 12>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %h0 = arith.constant 0.0 : bf16
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %staging = tile.alloc_shared "staging" : !tile.shared<1x2x64x64xbf16>
  %others = tile.alloc_shared "others" : !tile.shared<1x2x64x64xbf16>
  %bar = tile.alloc_barrier "bar" count(4)
  tile.roles {
    tile.role "one" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %row = arith.muli %i, %c128 : index
        %y = tile.slice %Y[%row, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
        tile.store %h, %y staging %staging : !tile.shared<1x2x64x64xbf16> atom tma : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
        tile.arrive %bar
      }
    }
    tile.role "two" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %first = arith.muli %i, %c128 : index
        %row = arith.addi %first, %c64 : index
        %y = tile.slice %Y[%row, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
        %z = tile.slice %Z[%row, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
        tile.store %h, %y staging %others : !tile.shared<1x2x64x64xbf16> atom tma : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
        tile.store %h, %z staging %others : !tile.shared<1x2x64x64xbf16> atom tma : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
        tile.arrive %bar
      }
    }
    tile.role "three" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %z = tile.slice %Z[%i, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
        %l = tile.load %z : !tile.slice<64x64xbf16> -> tensor<64x64xbf16>
      }
    }
  }
  tile.return
}

// -----

// The TMA reads what threads have written: they tell it, and meet. It adds to what threads add to without an order; that
// they read it has one.
// CHECK-LABEL: tile.kernel @sums(
// CHECK:         tile.store
// CHECK-NEXT:    tile.proxy_fence
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.copy_reduce add
// CHECK-NEXT:    tile.atomic add
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.load
// CHECK-NEXT:    tile.proxy_fence tensors
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.copy_reduce add
tile.kernel @sums(
    %X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>},
    %f: f32 {program.argument = #program.scalar<"f">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" : !tile.shared<64x64xf32>
  %s = tile.slice %X[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  %v = tile.splat %f : f32 -> tensor<64x64xf32>
  tile.store %v, %p : tensor<64x64xf32>, !tile.shared<64x64xf32>
  tile.copy_reduce add %p, %s : !tile.shared<64x64xf32>, !tile.slice<64x64xf32>
  tile.atomic add %v, %s : tensor<64x64xf32>, !tile.slice<64x64xf32>
  %w = tile.load %s : !tile.slice<64x64xf32> -> tensor<64x64xf32>
  tile.copy_reduce add %p, %s : !tile.shared<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}

// -----

// Positions wrap around: four quarters of 2^32 for each round are 0 in all of them, whose box is the same; rounds of
// 2^31 meet in every second. Operands that are the same again and again are not followed for ever.
// CHECK-LABEL: tile.kernel @wraps(
// CHECK:         scf.for
// CHECK-NOT:       tile.sync
// CHECK:           tile.store
// CHECK:         scf.for
// CHECK:           tile.sync
// CHECK-NEXT:      tile.store
// CHECK:         scf.for
// CHECK:           tile.sync
// CHECK-NEXT:      tile.store
#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">
tile.kernel @wraps(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", output, dims[0, -1]>},
    %Y: !tile.global<?x64xf32> {program.argument = #program.tensor<"Y", output, dims[0, -1]>},
    %Z: !tile.global<?x64xf32> {program.argument = #program.tensor<"Z", output, dims[0, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %quarter = arith.constant 1073741824 : index
  %half = arith.constant 2147483648 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.splat %f0 : f32 -> tensor<128x64xf32, #rows>
  scf.for %i = %c0 to %c3 step %c1 {
    %q = arith.muli %i, %quarter : index
    %two = arith.addi %q, %q : index
    %four = arith.addi %two, %two : index
    %x = tile.slice %X[%four, %c0] : !tile.global<?x64xf32> -> !tile.slice<128x64xf32>
    tile.store %a, %x atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  }
  tile.sync
  scf.for %i = %c0 to %c3 step %c1 {
    %at = arith.muli %i, %half : index
    %y = tile.slice %Y[%at, %c0] : !tile.global<?x64xf32> -> !tile.slice<128x64xf32>
    tile.store %a, %y atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  }
  tile.sync
  scf.for %i = %c0 to %n step %c1 {
    %s0 = arith.addi %i, %i : index
    %s1 = arith.addi %s0, %s0 : index
    %s2 = arith.addi %s1, %s1 : index
    %s3 = arith.addi %s2, %s2 : index
    %s4 = arith.addi %s3, %s3 : index
    %s5 = arith.addi %s4, %s4 : index
    %s6 = arith.addi %s5, %s5 : index
    %s7 = arith.addi %s6, %s6 : index
    %s8 = arith.addi %s7, %s7 : index
    %s9 = arith.addi %s8, %s8 : index
    %s10 = arith.addi %s9, %s9 : index
    %s11 = arith.addi %s10, %s10 : index
    %s12 = arith.addi %s11, %s11 : index
    %s13 = arith.addi %s12, %s12 : index
    %s14 = arith.addi %s13, %s13 : index
    %s15 = arith.addi %s14, %s14 : index
    %s16 = arith.addi %s15, %s15 : index
    %s17 = arith.addi %s16, %s16 : index
    %s18 = arith.addi %s17, %s17 : index
    %s19 = arith.addi %s18, %s18 : index
    %s20 = arith.addi %s19, %s19 : index
    %s21 = arith.addi %s20, %s20 : index
    %s22 = arith.addi %s21, %s21 : index
    %s23 = arith.addi %s22, %s22 : index
    %s24 = arith.addi %s23, %s23 : index
    %s25 = arith.addi %s24, %s24 : index
    %s26 = arith.addi %s25, %s25 : index
    %s27 = arith.addi %s26, %s26 : index
    %s28 = arith.addi %s27, %s27 : index
    %s29 = arith.addi %s28, %s28 : index
    %s30 = arith.addi %s29, %s29 : index
    %s31 = arith.addi %s30, %s30 : index
    %s32 = arith.addi %s31, %s31 : index
    %s33 = arith.addi %s32, %s32 : index
    %s34 = arith.addi %s33, %s33 : index
    %s35 = arith.addi %s34, %s34 : index
    %s36 = arith.addi %s35, %s35 : index
    %s37 = arith.addi %s36, %s36 : index
    %s38 = arith.addi %s37, %s37 : index
    %s39 = arith.addi %s38, %s38 : index
    %s40 = arith.addi %s39, %s39 : index
    %s41 = arith.addi %s40, %s40 : index
    %s42 = arith.addi %s41, %s41 : index
    %s43 = arith.addi %s42, %s42 : index
    %s44 = arith.addi %s43, %s43 : index
    %s45 = arith.addi %s44, %s44 : index
    %s46 = arith.addi %s45, %s45 : index
    %s47 = arith.addi %s46, %s46 : index
    %s48 = arith.addi %s47, %s47 : index
    %s49 = arith.addi %s48, %s48 : index
    %s50 = arith.addi %s49, %s49 : index
    %s51 = arith.addi %s50, %s50 : index
    %s52 = arith.addi %s51, %s51 : index
    %s53 = arith.addi %s52, %s52 : index
    %s54 = arith.addi %s53, %s53 : index
    %s55 = arith.addi %s54, %s54 : index
    %s56 = arith.addi %s55, %s55 : index
    %s57 = arith.addi %s56, %s56 : index
    %s58 = arith.addi %s57, %s57 : index
    %s59 = arith.addi %s58, %s58 : index
    %z = tile.slice %Z[%s59, %c0] : !tile.global<?x64xf32> -> !tile.slice<128x64xf32>
    tile.store %a, %z atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  }
  tile.return
}

// -----

// Rounds of 2^26 tiles of 64 rows begin at the same row, whatever their number is.
// CHECK-LABEL: tile.kernel @far_rounds(
// CHECK:         scf.for
// CHECK:           tile.sync
// CHECK-NEXT:      tile.load
// CHECK:           tile.sync
// CHECK-NEXT:      tile.store
// CHECK:         scf.for
// CHECK:           tile.sync
// CHECK-NEXT:      tile.load
// CHECK:           tile.sync
// CHECK-NEXT:      tile.store
#column = #tile.layout<"reg(2@0:1) lane(32@0:2) warp(2@0:64)">
tile.kernel @far_rounds(%n: index {program.argument = #program.dimension<"n">},
    %R: !tile.global<1xi32> {program.argument = #program.tensor<"R", input, dims[-1]>},
    %Y: !tile.global<?xf32> {program.argument = #program.tensor<"Y", inout, dims[0]>}) attributes {launch = #program.launch<warps = 2>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %far = arith.constant 67108864 : index
  %last = arith.constant 1073741824 : index
  %r = tile.slice %R[%c0] : !tile.global<1xi32> -> !tile.slice<1xi32>
  %end = tile.load_index %r[] : !tile.slice<1xi32>
  scf.for %i = %c0 to %end step %far {
    %row = arith.muli %i, %c64 : index
    %next = arith.addi %row, %c1 : index
    %from = tile.slice %Y[%next] : !tile.global<?xf32> -> !tile.slice<128xf32>
    %x = tile.load %from : !tile.slice<128xf32> -> tensor<128xf32, #column>
    %to = tile.slice %Y[%row] : !tile.global<?xf32> -> !tile.slice<128xf32>
    tile.store %x, %to atom simt : tensor<128xf32, #column>, !tile.slice<128xf32>
  }
  scf.for %i = %c0 to %last step %far {
    %row = arith.muli %i, %c64 : index
    %next = arith.addi %row, %c1 : index
    %from = tile.slice %Y[%next] : !tile.global<?xf32> -> !tile.slice<128xf32>
    %x = tile.load %from : !tile.slice<128xf32> -> tensor<128xf32, #column>
    %to = tile.slice %Y[%row] : !tile.global<?xf32> -> !tile.slice<128xf32>
    tile.store %x, %to atom simt : tensor<128xf32, #column>, !tile.slice<128xf32>
  }
  tile.return
}

// -----

// With positions per element, boxes along the other axes tell: matrix 0 is apart from matrix 1, but not from itself.
// CHECK-LABEL: tile.kernel @gathered(
// CHECK-COUNT-2: tile.scatter
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.scatter
// CHECK-NEXT:    tile.return
#elements = #tile.layout<"reg() lane(32@0:1) warp(4@0:32)">
tile.kernel @gathered(
    %X: !tile.global<2x100x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.splat %f0 : f32 -> tensor<128xf32, #elements>
  %at = tile.coordinates 0 : tensor<128xindex, #elements>
  %x = tile.slice %X[%c0, %c0, %c0] gathered [1, 2] : !tile.global<2x100x64xf32> -> !tile.slice<1x128xf32>
  %y = tile.slice %X[%c1, %c0, %c0] gathered [1, 2] : !tile.global<2x100x64xf32> -> !tile.slice<1x128xf32>
  tile.scatter %a, %x[%at, %at] : tensor<128xf32, #elements>, !tile.slice<1x128xf32>, tensor<128xindex, #elements>, tensor<128xindex, #elements>
  tile.scatter %a, %y[%at, %at] : tensor<128xf32, #elements>, !tile.slice<1x128xf32>, tensor<128xindex, #elements>, tensor<128xindex, #elements>
  tile.scatter %a, %x[%at, %at] : tensor<128xf32, #elements>, !tile.slice<1x128xf32>, tensor<128xindex, #elements>, tensor<128xindex, #elements>
  tile.return
}
