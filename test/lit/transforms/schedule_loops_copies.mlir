// RUN: %tile-opt %s --tile-schedule-loops -split-input-file | FileCheck %s
// RUN: %tile-opt %s --tile-schedule-loops=overlap=false -split-input-file | FileCheck %s

// Copies in groups, and what tells their places, run as many iterations ahead as there are slots beside the one that is
// read. The wait and the barrier come first: then the slot that was read last is free.
// CHECK-LABEL: tile.kernel @copies_ahead(
// CHECK:         arith.addi {{.*}}stage = 0, order = 1
// CHECK:         tile.slice %A{{.*}}stage = 0, order = 1
// CHECK:         tile.copy {{.*}}stage = 0, order = 1
// CHECK:         tile.commit_copies {tile.stage = #tile.stage<stage = 0, order = 1>}
// CHECK:         tile.await_copies pending(0) {tile.stage = #tile.stage<stage = 2, order = 0>}
// CHECK:         tile.sync {tile.stage = #tile.stage<stage = 2, order = 0>}
// CHECK:         tile.load {{.*}}stage = 2, order = 2
// CHECK:         tile.sync {tile.stage = #tile.stage<stage = 2, order = 2>}
// CHECK:         tile.advance %{{.*}}stage = 0, order = 1
// CHECK:         tile.advance %{{.*}}stage = 2, order = 2
tile.kernel @copies_ahead(%n: index {program.argument = #program.dimension<"n">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>},
    %C: !tile.global<?x64xbf16> {program.argument = #program.tensor<"C", output, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_shared "a" : !tile.shared<3x1x64xbf16>
  %first = tile.cursor : !tile.cursor<3>
  %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %first, %q = %first) -> (!tile.cursor<3>, !tile.cursor<3>) {
    %row = arith.addi %i, %c1 : index
    %from = tile.slice %A[%row, %c0] : !tile.global<?x64xbf16> -> !tile.slice<1x64xbf16>
    %into = tile.slot %a[%p] : !tile.shared<3x1x64xbf16>, !tile.cursor<3> -> !tile.shared<1x64xbf16>
    tile.copy %from, %into atom cp_async : !tile.slice<1x64xbf16>, !tile.shared<1x64xbf16>
    tile.commit_copies
    tile.await_copies pending(0)
    tile.sync
    %tile = tile.slot %a[%q] : !tile.shared<3x1x64xbf16>, !tile.cursor<3> -> !tile.shared<1x64xbf16>
    %v = tile.load %tile : !tile.shared<1x64xbf16> -> tensor<1x64xbf16>
    tile.sync
    %to = tile.slice %C[%i, %c0] : !tile.global<?x64xbf16> -> !tile.slice<1x64xbf16>
    tile.store %v, %to atom simt : tensor<1x64xbf16>, !tile.slice<1x64xbf16>
    %p1 = tile.advance %p : !tile.cursor<3>
    %q1 = tile.advance %q : !tile.cursor<3>
    scf.yield %p1, %q1 : !tile.cursor<3>, !tile.cursor<3>
  }
  tile.return
}

// -----

// Where a copy's place is read from memory, that is read an iteration before the copy.
// CHECK-LABEL: tile.kernel @read_places(
// CHECK:         tile.slice %T{{.*}}stage = 0, order = 1
// CHECK:         tile.load_index {{.*}}stage = 0, order = 1
// CHECK:         arith.addi {{.*}}stage = 1, order = 1
// CHECK:         tile.slice %A{{.*}}stage = 1, order = 1
// CHECK:         tile.copy {{.*}}stage = 1, order = 1
// CHECK:         tile.commit_copies {tile.stage = #tile.stage<stage = 1, order = 1>}
// CHECK:         tile.await_copies pending(0) {tile.stage = #tile.stage<stage = 3, order = 0>}
// CHECK:         tile.load {{.*}}stage = 3, order = 2
// CHECK:         tile.advance %{{.*}}stage = 1, order = 1
// CHECK:         tile.advance %{{.*}}stage = 3, order = 2
tile.kernel @read_places(%n: index {program.argument = #program.dimension<"n">},
    %T: !tile.global<?xi32> {program.argument = #program.tensor<"T", input, dims[0], alignment = 4>},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>},
    %C: !tile.global<?x64xbf16> {program.argument = #program.tensor<"C", output, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_shared "a" : !tile.shared<3x1x64xbf16>
  %first = tile.cursor : !tile.cursor<3>
  %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %first, %q = %first) -> (!tile.cursor<3>, !tile.cursor<3>) {
    %entry = tile.slice %T[%i] : !tile.global<?xi32> -> !tile.slice<1xi32>
    %place = tile.load_index %entry[] : !tile.slice<1xi32>
    %row = arith.addi %place, %c1 : index
    %from = tile.slice %A[%row, %c0] : !tile.global<?x64xbf16> -> !tile.slice<1x64xbf16>
    %into = tile.slot %a[%p] : !tile.shared<3x1x64xbf16>, !tile.cursor<3> -> !tile.shared<1x64xbf16>
    tile.copy %from, %into atom cp_async : !tile.slice<1x64xbf16>, !tile.shared<1x64xbf16>
    tile.commit_copies
    tile.await_copies pending(0)
    tile.sync
    %tile = tile.slot %a[%q] : !tile.shared<3x1x64xbf16>, !tile.cursor<3> -> !tile.shared<1x64xbf16>
    %v = tile.load %tile : !tile.shared<1x64xbf16> -> tensor<1x64xbf16>
    tile.sync
    %to = tile.slice %C[%i, %c0] : !tile.global<?x64xbf16> -> !tile.slice<1x64xbf16>
    tile.store %v, %to atom simt : tensor<1x64xbf16>, !tile.slice<1x64xbf16>
    %p1 = tile.advance %p : !tile.cursor<3>
    %q1 = tile.advance %q : !tile.cursor<3>
    scf.yield %p1, %q1 : !tile.cursor<3>, !tile.cursor<3>
  }
  tile.return
}

// -----

// A role that starts copies and leaves it to a ring to say when they are complete has nothing to schedule.
// CHECK-LABEL: tile.kernel @by_ring(
// CHECK-NOT:     tile.stage
tile.kernel @by_ring(%n: index {program.argument = #program.dimension<"n">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ring = tile.alloc_ring "a" : !tile.ring<3>
  %a = tile.alloc_shared "a" : !tile.shared<3x1x64xbf16>
  %first = tile.cursor : !tile.cursor<3>
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%p = %first) -> (!tile.cursor<3>) {
    %from = tile.slice %A[%i, %c0] : !tile.global<?x64xbf16> -> !tile.slice<1x64xbf16>
    %into = tile.slot %a[%p] : !tile.shared<3x1x64xbf16>, !tile.cursor<3> -> !tile.shared<1x64xbf16>
    tile.acquire %ring[%p] : !tile.ring<3>
    tile.copy %from, %into atom cp_async : !tile.slice<1x64xbf16>, !tile.shared<1x64xbf16>
    tile.publish %ring[%p] after_copies : !tile.ring<3>
    %p1 = tile.advance %p : !tile.cursor<3>
    scf.yield %p1 : !tile.cursor<3>
  }
  tile.return
}
