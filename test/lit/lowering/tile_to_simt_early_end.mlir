// RUN: %tlc-opt %s -tile-to-simt | FileCheck %s

#shared = #tile.shared_layout<"1 32b axis 0 panel 1 swizzle none pad 0">
#row = #tile.layout<"reg(4@0:32) lane(32@0:1) warp()">

module attributes {program.target = #program.target<"sm_90a">} {

// A loop whose rounds are a branch on what it carries ends with that.
// CHECK-LABEL: simt.kernel @ends(
// CHECK:         scf.while (%[[I:.*]] = %{{.*}}, %[[GOES:.*]] = %true, %[[SUM:.*]] = %{{.*}})
// CHECK-NEXT:      %[[BELOW:.*]] = arith.cmpi slt, %[[I]], %{{.*}} : i32
// CHECK-NEXT:      %[[BOTH:.*]] = arith.andi %[[BELOW]], %[[GOES]] : i1
// CHECK-NEXT:      scf.condition(%[[BOTH]]) %[[I]], %[[GOES]], %[[SUM]]
// CHECK:         ^bb0(%[[AT:.*]]: i32, %{{.*}}: i1, %{{.*}}: vector<4xf32>):
// CHECK:           %[[NEXT:.*]] = arith.addi %[[AT]], %{{.*}} : i32
// CHECK-NEXT:      scf.yield %[[NEXT]],
tile.kernel @ends(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?xf32> {program.argument = #program.tensor<"X", inout, dims[0]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  %false = arith.constant false
  %s = tile.slice %X[%c0] : !tile.global<?xf32> -> !tile.slice<128xf32>
  %x = tile.load %s : !tile.slice<128xf32> -> tensor<128xf32, #row>
  %tile = tile.alloc_shared "at" at 0 : !tile.shared<1xi32, #shared>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%goes = %true, %sum = %x) -> (i1, tensor<128xf32, #row>) {
    %b:2 = scf.if %goes -> (i1, tensor<128xf32, #row>) {
      %more = arith.addf %sum, %x : tensor<128xf32, #row>
      %at = tile.load_index %tile[%c0] : !tile.shared<1xi32, #shared>
      %again = arith.cmpi slt, %at, %n : index
      scf.yield %again, %more : i1, tensor<128xf32, #row>
    } else {
      scf.yield %false, %sum : i1, tensor<128xf32, #row>
    }
    scf.yield %b#0, %b#1 : i1, tensor<128xf32, #row>
  }
  tile.store %r#1, %s atom simt : tensor<128xf32, #row>, !tile.slice<128xf32>
  tile.return
}

// Also where the branch only computes.
// CHECK-LABEL: simt.kernel @ends_pure(
// CHECK:         scf.while
// CHECK-NOT:     scf.for
tile.kernel @ends_pure(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?xf32> {program.argument = #program.tensor<"X", inout, dims[0]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %true = arith.constant true
  %false = arith.constant false
  %s = tile.slice %X[%c0] : !tile.global<?xf32> -> !tile.slice<128xf32>
  %x = tile.load %s : !tile.slice<128xf32> -> tensor<128xf32, #row>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%goes = %true, %sum = %x) -> (i1, tensor<128xf32, #row>) {
    %b:2 = scf.if %goes -> (i1, tensor<128xf32, #row>) {
      %more = arith.addf %sum, %x : tensor<128xf32, #row>
      %again = arith.cmpi slt, %i, %c3 : index
      scf.yield %again, %more : i1, tensor<128xf32, #row>
    } else {
      scf.yield %false, %sum : i1, tensor<128xf32, #row>
    }
    scf.yield %b#0, %b#1 : i1, tensor<128xf32, #row>
  }
  tile.store %r#1, %s atom simt : tensor<128xf32, #row>, !tile.slice<128xf32>
  tile.return
}

// Not where a round or the other side does more than the branch, or the other side changes what is carried.
// CHECK-LABEL: simt.kernel @goes_on(
// CHECK-NOT:     scf.while
// CHECK-COUNT-3: scf.for
// CHECK-NOT:     scf.while
tile.kernel @goes_on(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?xf32> {program.argument = #program.tensor<"X", inout, dims[0]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  %false = arith.constant false
  %tile = tile.alloc_shared "at" at 0 : !tile.shared<1xi32, #shared>
  scf.for %i = %c0 to %n step %c1 iter_args(%goes = %true) -> (i1) {
    tile.store_index %i, %tile[%c0] : !tile.shared<1xi32, #shared>
    %b = scf.if %goes -> (i1) {
      %at = tile.load_index %tile[%c0] : !tile.shared<1xi32, #shared>
      %again = arith.cmpi slt, %at, %n : index
      scf.yield %again : i1
    } else {
      scf.yield %false : i1
    }
    scf.yield %b : i1
  }
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%goes = %true, %last = %c0) -> (i1, index) {
    %b:2 = scf.if %goes -> (i1, index) {
      %at = tile.load_index %tile[%c0] : !tile.shared<1xi32, #shared>
      %again = arith.cmpi slt, %at, %n : index
      scf.yield %again, %at : i1, index
    } else {
      scf.yield %false, %i : i1, index
    }
    scf.yield %b#0, %b#1 : i1, index
  }
  tile.store_index %r#1, %tile[%c0] : !tile.shared<1xi32, #shared>
  scf.for %i = %c0 to %n step %c1 iter_args(%goes = %true) -> (i1) {
    %b = scf.if %goes -> (i1) {
      %at = tile.load_index %tile[%c0] : !tile.shared<1xi32, #shared>
      %again = arith.cmpi slt, %at, %n : index
      scf.yield %again : i1
    } else {
      tile.store_index %i, %tile[%c0] : !tile.shared<1xi32, #shared>
      scf.yield %false : i1
    }
    scf.yield %b : i1
  }
  tile.return
}

}
