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
  %ring = tile.alloc_ring "ring" producers(1) consumers(1) : !tile.ring<2>
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
