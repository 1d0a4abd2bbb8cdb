// RUN: %tile-opt %s --tile-promote-variables -split-input-file -verify-diagnostics | FileCheck %s

// Straight code: a read is the value last written, and a copy taken before a write keeps the old one.
// CHECK-LABEL: tile.kernel @straight(
// CHECK-SAME:    %[[A:[^:]*]]: f32 {{.*}}%[[B:[^:]*]]: f32
// CHECK-NOT:   tile.variable
// CHECK:       arith.addf %[[A]], %[[B]] : f32
tile.kernel @straight(%a: f32 {program.argument = #program.scalar<"a">}, %b: f32 {program.argument = #program.scalar<"b">}) {
  %v = tile.variable %a "v" : !tile.variable<f32>
  %before = tile.read %v : !tile.variable<f32>
  tile.write %b, %v : !tile.variable<f32>
  %after = tile.read %v : !tile.variable<f32>
  %sum = arith.addf %before, %after : f32
  tile.return
}

// -----

// A loop carries what it writes, in the order of the first writes, and nothing that it only reads.
// CHECK-LABEL: tile.kernel @loop(
// CHECK-SAME:    %[[N:[^:]*]]: index {{.*}}%[[ZERO:[^:]*]]: f32 {{.*}}%[[STEP:[^:]*]]: f32
// CHECK:       %[[SUM:.*]]:2 = scf.for {{.*}} iter_args(%[[PRODUCT:.*]] = %[[STEP]], %[[ACC:.*]] = %[[ZERO]]) -> (f32, f32) {
// CHECK:         %[[NEXT_PRODUCT:.*]] = arith.mulf %[[PRODUCT]], %[[STEP]]
// CHECK:         %[[NEXT_ACC:.*]] = arith.addf %[[ACC]], %[[NEXT_PRODUCT]]
// CHECK:         scf.yield %[[NEXT_PRODUCT]], %[[NEXT_ACC]] : f32, f32
// CHECK:       } {tile.pipeline = #tile.pipeline<stages = 2>}
// CHECK:       arith.negf %[[SUM]]#1
tile.kernel @loop(%n: index {program.argument = #program.dimension<"n">}, %zero: f32 {program.argument = #program.scalar<"zero">},
    %step: f32 {program.argument = #program.scalar<"step">}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %acc = tile.variable %zero "acc" : !tile.variable<f32>
  %product = tile.variable %step "product" : !tile.variable<f32>
  %constant = tile.variable %step "constant" : !tile.variable<f32>
  scf.for %i = %c0 to %n step %c1 {
    %s = tile.read %constant : !tile.variable<f32>
    %p = tile.read %product : !tile.variable<f32>
    %q = arith.mulf %p, %s : f32
    tile.write %q, %product : !tile.variable<f32>
    %x = tile.read %acc : !tile.variable<f32>
    %y = tile.read %product : !tile.variable<f32>
    %z = arith.addf %x, %y : f32
    tile.write %z, %acc : !tile.variable<f32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %r = tile.read %acc : !tile.variable<f32>
  %end = arith.negf %r : f32
  tile.return
}

// -----

// A loop that carries values already keeps them, before the new ones.
// CHECK-LABEL: tile.kernel @carries_already(
// CHECK:       %[[BOTH:.*]]:2 = scf.for {{.*}} iter_args(%[[OLD:.*]] = %{{.*}}, %[[NEW:.*]] = %{{.*}}) -> (index, f32) {
// CHECK:         %[[NEXT_OLD:.*]] = arith.addi %[[OLD]]
// CHECK:         %[[NEXT_NEW:.*]] = arith.negf %[[NEW]]
// CHECK:         scf.yield %[[NEXT_OLD]], %[[NEXT_NEW]] : index, f32
// CHECK:       arith.addi %[[BOTH]]#0
// CHECK:       arith.negf %[[BOTH]]#1
tile.kernel @carries_already(%n: index {program.argument = #program.dimension<"n">}, %x: f32 {program.argument = #program.scalar<"x">}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = tile.variable %x "v" : !tile.variable<f32>
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%old = %c0) -> (index) {
    %next = arith.addi %old, %i : index
    %r = tile.read %v : !tile.variable<f32>
    %m = arith.negf %r : f32
    tile.write %m, %v : !tile.variable<f32>
    scf.yield %next : index
  }
  %use = arith.addi %last, %c1 : index
  %r = tile.read %v : !tile.variable<f32>
  %m = arith.negf %r : f32
  tile.return
}

// -----

// Through two loops: the inner loop's result is what the outer one carries on.
// CHECK-LABEL: tile.kernel @nested_loops(
// CHECK:       %[[OUTER:.*]] = scf.for {{.*}} iter_args(%[[X:.*]] = %{{.*}}) -> (f32) {
// CHECK:         %[[INNER:.*]] = scf.for {{.*}} iter_args(%[[Y:.*]] = %[[X]]) -> (f32) {
// CHECK:           %[[Z:.*]] = arith.negf %[[Y]]
// CHECK:           scf.yield %[[Z]]
// CHECK:         scf.yield %[[INNER]]
// CHECK:       arith.negf %[[OUTER]]
tile.kernel @nested_loops(%n: index {program.argument = #program.dimension<"n">}, %x: f32 {program.argument = #program.scalar<"x">}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = tile.variable %x "v" : !tile.variable<f32>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %r = tile.read %v : !tile.variable<f32>
      %m = arith.negf %r : f32
      tile.write %m, %v : !tile.variable<f32>
    }
  }
  %r = tile.read %v : !tile.variable<f32>
  %m = arith.negf %r : f32
  tile.return
}

// -----

// A variable of the loop's body starts anew in each iteration: nothing is carried for it.
// CHECK-LABEL: tile.kernel @local(
// CHECK:       scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{[^ ]*}} {
// CHECK-NOT:     tile.
// CHECK:         %[[ONCE:.*]] = arith.negf %x
// CHECK:         arith.negf %[[ONCE]]
tile.kernel @local(%n: index {program.argument = #program.dimension<"n">}, %x: f32 {program.argument = #program.scalar<"x">}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = tile.variable %x "v" : !tile.variable<f32>
    %r = tile.read %v : !tile.variable<f32>
    %m = arith.negf %r : f32
    tile.write %m, %v : !tile.variable<f32>
    %s = tile.read %v : !tile.variable<f32>
    %t = arith.negf %s : f32
  }
  tile.return
}

// -----

// Written on one side of a branch that has no other: the other side yields the old value.
// CHECK-LABEL: tile.kernel @if_without_else(
// CHECK-SAME:    %[[C:[^:]*]]: index {{.*}}%[[X:[^:]*]]: f32
// CHECK:       %[[V:.*]] = scf.if %{{.*}} -> (f32) {
// CHECK:         %[[M:.*]] = arith.negf %[[X]]
// CHECK:         scf.yield %[[M]]
// CHECK:       } else {
// CHECK-NEXT:    scf.yield %[[X]]
// CHECK:       math.absf %[[V]]
tile.kernel @if_without_else(%c: index {program.argument = #program.dimension<"c">}, %x: f32 {program.argument = #program.scalar<"x">}) {
  %c0 = arith.constant 0 : index
  %p = arith.cmpi sgt, %c, %c0 : index
  %v = tile.variable %x "v" : !tile.variable<f32>
  scf.if %p {
    %r = tile.read %v : !tile.variable<f32>
    %m = arith.negf %r : f32
    tile.write %m, %v : !tile.variable<f32>
  }
  %r = tile.read %v : !tile.variable<f32>
  %a = math.absf %r : f32
  tile.return
}

// -----

// Each side writes another variable, and the branch has a result already: both are yielded on both sides.
// CHECK-LABEL: tile.kernel @both_branches(
// CHECK-SAME:    %{{[^:]*}}: index {{.*}}%[[X:[^:]*]]: f32 {{.*}}%[[Y:[^:]*]]: f32
// CHECK:       %[[ALL:.*]]:3 = scf.if %{{.*}} -> (index, f32, f32) {
// CHECK:         scf.yield %{{.*}}, %[[Y]], %[[Y]] : index, f32, f32
// CHECK:       } else {
// CHECK:         scf.yield %{{.*}}, %[[X]], %[[X]] : index, f32, f32
// CHECK:       arith.addf %[[ALL]]#1, %[[ALL]]#2
tile.kernel @both_branches(%c: index {program.argument = #program.dimension<"c">}, %x: f32 {program.argument = #program.scalar<"x">},
    %y: f32 {program.argument = #program.scalar<"y">}) {
  %c0 = arith.constant 0 : index
  %p = arith.cmpi sgt, %c, %c0 : index
  %v = tile.variable %x "v" : !tile.variable<f32>
  %w = tile.variable %y "w" : !tile.variable<f32>
  %i = scf.if %p -> (index) {
    tile.write %y, %v : !tile.variable<f32>
    scf.yield %c0 : index
  } else {
    tile.write %x, %w : !tile.variable<f32>
    scf.yield %c : index
  }
  %r = tile.read %v : !tile.variable<f32>
  %s = tile.read %w : !tile.variable<f32>
  %a = arith.addf %r, %s : f32
  %use = arith.addi %i, %c : index
  tile.return
}

// -----

// A branch in a loop: the branch's result is what the loop carries.
// CHECK-LABEL: tile.kernel @branch_in_loop(
// CHECK:       scf.for %[[I:.*]] = {{.*}} iter_args(%[[V:.*]] = %{{.*}}) -> (f32) {
// CHECK:         %[[CHOSEN:.*]] = scf.if %{{.*}} -> (f32) {
// CHECK:           %[[M:.*]] = arith.negf %[[V]]
// CHECK:           scf.yield %[[M]]
// CHECK:         } else {
// CHECK:           scf.yield %[[V]]
// CHECK:         scf.yield %[[CHOSEN]]
tile.kernel @branch_in_loop(%n: index {program.argument = #program.dimension<"n">}, %x: f32 {program.argument = #program.scalar<"x">}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = tile.variable %x "v" : !tile.variable<f32>
  scf.for %i = %c0 to %n step %c1 {
    %p = arith.cmpi sgt, %i, %c1 : index
    scf.if %p {
      %r = tile.read %v : !tile.variable<f32>
      %m = arith.negf %r : f32
      tile.write %m, %v : !tile.variable<f32>
    }
  }
  tile.return
}

// -----

// Cursors are variables like any other: the cursor counts on around the loop.
// CHECK-LABEL: tile.kernel @cursor(
// CHECK:       %[[C0:.*]] = tile.cursor
// CHECK:       scf.for {{.*}} iter_args(%[[C:.*]] = %[[C0]]) -> (!tile.cursor<2>) {
// CHECK:         tile.await %ring[%[[C]]]
// CHECK:         %[[NEXT:.*]] = tile.advance %[[C]]
// CHECK:         scf.yield %[[NEXT]]
tile.kernel @cursor(%n: index {program.argument = #program.dimension<"n">}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %first = tile.cursor : !tile.cursor<2>
  %cursor = tile.variable %first "cursor" : !tile.variable<!tile.cursor<2>>
  scf.for %i = %c0 to %n step %c1 {
    %c = tile.read %cursor : !tile.variable<!tile.cursor<2>>
    tile.await %ring[%c] : !tile.ring<2>
    %next = tile.advance %c : !tile.cursor<2>
    tile.write %next, %cursor : !tile.variable<!tile.cursor<2>>
  }
  tile.return
}

// -----

// Roles see the value that a variable had before them, and have variables of their own.
// CHECK-LABEL: tile.kernel @roles(
// CHECK-SAME:    %[[X:[^:]*]]: f32
// CHECK:       tile.role "one"
// CHECK-NEXT:    %[[M:.*]] = arith.negf %[[X]]
// CHECK-NEXT:    arith.negf %[[M]]
// CHECK:       tile.role "two"
// CHECK-NEXT:    math.absf %[[X]]
tile.kernel @roles(%x: f32 {program.argument = #program.scalar<"x">}) {
  %v = tile.variable %x "v" : !tile.variable<f32>
  tile.roles {
    tile.role "one" warps(1) {
      %r = tile.read %v : !tile.variable<f32>
      %own = tile.variable %r "own" : !tile.variable<f32>
      %m = arith.negf %r : f32
      tile.write %m, %own : !tile.variable<f32>
      %s = tile.read %own : !tile.variable<f32>
      %t = arith.negf %s : f32
    }
    tile.role "two" warps(1) {
      %r = tile.read %v : !tile.variable<f32>
      %a = math.absf %r : f32
    }
  }
  tile.return
}

// -----

// The roles run side by side: a write in one would reach no other.
tile.kernel @write_in_role(%x: f32 {program.argument = #program.scalar<"x">}) {
  // expected-note @below {{declare it inside the role that assigns it}}
  %v = tile.variable %x "total" : !tile.variable<f32>
  // expected-error @below {{'total' is assigned in roles but declared outside: roles share no variables}}
  tile.roles {
    tile.role "one" warps(1) {
      tile.write %x, %v : !tile.variable<f32>
    }
  }
  tile.return
}

// -----

// The same for a variable without a name, in a loop of the role.
tile.kernel @unnamed_write_in_role(%n: index {program.argument = #program.dimension<"n">}, %x: f32 {program.argument = #program.scalar<"x">}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @below {{declare it inside the role that assigns it}}
  %v = tile.variable %x : !tile.variable<f32>
  // expected-error @below {{a variable is assigned in roles but declared outside: roles share no variables}}
  tile.roles {
    tile.role "one" warps(1) {
      scf.for %i = %c0 to %n step %c1 {
        tile.write %x, %v : !tile.variable<f32>
      }
    }
  }
  tile.return
}
