// RUN: %tlc-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-merge-cursors,canonicalize))' | FileCheck %s

// What a role gets and what it releases begin alike and advance alike, in the inner loop, too: one is carried.
// CHECK-LABEL: tile.kernel @same
tile.kernel @same() attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %ab = tile.alloc_ring "ab" : !tile.ring<2>
  // CHECK: %[[FIRST:.*]] = tile.cursor
  %first = tile.cursor : !tile.cursor<2>
  %other = tile.cursor : !tile.cursor<2>
  // CHECK: scf.for {{.*}} iter_args(%[[OUTER:[^ ,]*]] = %[[FIRST]]) -> (!tile.cursor<2>)
  // CHECK: scf.for {{.*}} iter_args(%[[INNER:[^ ,]*]] = %[[OUTER]]) -> (!tile.cursor<2>)
  // CHECK: tile.await %ab[%[[INNER]]]
  // CHECK: tile.release %ab[%[[INNER]]]
  %ends:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%get = %first, %release = %other) -> (!tile.cursor<2>, !tile.cursor<2>) {
    %inner:2 = scf.for %j = %c0 to %c8 step %c1 iter_args(%g = %get, %r = %release) -> (!tile.cursor<2>, !tile.cursor<2>) {
      tile.await %ab[%g] : !tile.ring<2>
      %gNext = tile.advance %g : !tile.cursor<2>
      tile.release %ab[%r] : !tile.ring<2>
      %rNext = tile.advance %r : !tile.cursor<2>
      scf.yield %gNext, %rNext : !tile.cursor<2>, !tile.cursor<2>
    }
    scf.yield %inner#0, %inner#1 : !tile.cursor<2>, !tile.cursor<2>
  }
  tile.return
}

// One slot is released later than it is got: both positions are carried.
// CHECK-LABEL: tile.kernel @apart
tile.kernel @apart() attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %ab = tile.alloc_ring "ab" : !tile.ring<2>
  %first = tile.cursor : !tile.cursor<2>
  %second = tile.advance %first : !tile.cursor<2>
  // CHECK: scf.for {{.*}} -> (!tile.cursor<2>, !tile.cursor<2>)
  %ends:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%get = %second, %release = %first) -> (!tile.cursor<2>, !tile.cursor<2>) {
    tile.await %ab[%get] : !tile.ring<2>
    %gNext = tile.advance %get : !tile.cursor<2>
    tile.release %ab[%release] : !tile.ring<2>
    %rNext = tile.advance %release : !tile.cursor<2>
    scf.yield %gNext, %rNext : !tile.cursor<2>, !tile.cursor<2>
  }
  tile.return
}

// In one branch only one of them advances.
// CHECK-LABEL: tile.kernel @branch
tile.kernel @branch() attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %ab = tile.alloc_ring "ab" : !tile.ring<2>
  %first = tile.cursor : !tile.cursor<2>
  // CHECK: scf.for {{.*}} -> (!tile.cursor<2>, !tile.cursor<2>)
  %ends:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%get = %first, %release = %first) -> (!tile.cursor<2>, !tile.cursor<2>) {
    tile.await %ab[%get] : !tile.ring<2>
    tile.release %ab[%release] : !tile.ring<2>
    %gNext = tile.advance %get : !tile.cursor<2>
    %isOne = arith.cmpi eq, %i, %c1 : index
    %rNext = scf.if %isOne -> (!tile.cursor<2>) {
      %next = tile.advance %release : !tile.cursor<2>
      scf.yield %next : !tile.cursor<2>
    } else {
      scf.yield %release : !tile.cursor<2>
    }
    scf.yield %gNext, %rNext : !tile.cursor<2>, !tile.cursor<2>
  }
  tile.return
}

// Cursors of two rings stay two: analyses read from one of which ring its slots are.
// CHECK-LABEL: tile.kernel @two_rings
tile.kernel @two_rings() attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %a = tile.alloc_ring "a" : !tile.ring<2>
  %b = tile.alloc_ring "b" : !tile.ring<2>
  %first = tile.cursor : !tile.cursor<2>
  // CHECK: scf.for {{.*}} -> (!tile.cursor<2>, !tile.cursor<2>)
  %ends:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%x = %first, %y = %first) -> (!tile.cursor<2>, !tile.cursor<2>) {
    tile.await %a[%x] : !tile.ring<2>
    tile.await %b[%y] : !tile.ring<2>
    %xNext = tile.advance %x : !tile.cursor<2>
    %yNext = tile.advance %y : !tile.cursor<2>
    scf.yield %xNext, %yNext : !tile.cursor<2>, !tile.cursor<2>
  }
  tile.return
}
