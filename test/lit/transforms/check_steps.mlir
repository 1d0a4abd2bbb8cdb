// RUN: %tile-opt %s -tile-check-steps | FileCheck %s

// A step from memory may be below 1. Then the loop has no positions, and reports that it would have some.
// CHECK-LABEL: tile.kernel @from_memory(
// CHECK:         %[[STEP:.*]] = tile.load_index
// CHECK:         %[[FORWARD:.*]] = arith.cmpi sge, %[[STEP]], %{{.*}} : index
// CHECK:         %[[EMPTY:.*]] = arith.cmpi sge, %c0, %n : index
// CHECK:         %[[NUMBER:.*]] = arith.index_cast %[[STEP]] : index to i32
// CHECK:         %[[RIGHT:.*]] = arith.ori %[[FORWARD]], %[[EMPTY]] : i1
// CHECK:         tile.report unless %[[RIGHT]] : i1, "expected a step of at least 1, but got {}", %[[NUMBER]] : i32
// CHECK:         %[[END:.*]] = arith.select %[[FORWARD]], %n, %c0 : index
// CHECK:         scf.for %{{.*}} = %c0 to %[[END]] step %[[STEP]]
tile.kernel @from_memory(%n: index {program.argument = #program.dimension<"n">}) {
  %c0 = arith.constant 0 : index
  %t = tile.alloc_shared "t" : !tile.shared<1xi32>
  %step = tile.load_index %t[%c0] : !tile.shared<1xi32>
  scf.for %i = %c0 to %n step %step {
  }
  tile.return
}

// Of a dimension, too, which may be 0. A product of numbers that are at least 1 is less only if it needs more than
// 32 bits: that is not reported.
// CHECK-LABEL: tile.kernel @computed(
// CHECK:         tile.report unless
// CHECK:         scf.for
// CHECK-NOT:     tile.report
// CHECK:         %[[FORWARD:.*]] = arith.cmpi sge, %[[PRODUCT:.*]], %
// CHECK:         %[[END:.*]] = arith.select %[[FORWARD]], %n, %c0 : index
// CHECK:         scf.for %{{.*}} = %c0 to %[[END]] step %[[PRODUCT]]
tile.kernel @computed(%n: index {program.argument = #program.dimension<"n">}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %n step %n {
  }
  %blocks = tile.blocks
  %product = arith.muli %blocks, %c64 : index
  scf.for %i = %c0 to %n step %product {
  }
  tile.return
}

// The number of blocks and that of multiprocessors are at least 1, as are quotients of the first by the cluster's.
// CHECK-LABEL: tile.kernel @at_least_one(
// CHECK-NOT:     arith.select
// CHECK-NOT:     tile.report
tile.kernel @at_least_one(%n: index {program.argument = #program.dimension<"n">})
    attributes {launch = #program.launch<cluster = 2>} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %n step %c2 {
  }
  %blocks = tile.blocks
  %clusters = arith.divui %blocks, %c2 : index
  scf.for %i = %c0 to %n step %clusters {
  }
  %multiprocessors = tile.multiprocessors
  scf.for %i = %c0 to %n step %multiprocessors {
  }
  tile.return
}
