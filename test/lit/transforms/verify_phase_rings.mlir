// What roles that are written out do with rings: each slot is filled after it has been acquired, and the cursor advances.
// RUN: %tile-opt %s --split-input-file --verify-diagnostics --tile-verify-phase=phase=promoted

// The consumer stays at the first slot.
tile.kernel @not_advanced(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ring = tile.alloc_ring "ab" : !tile.ring<3>
  tile.roles {
    tile.role "load" warps(4) {
      %first = tile.cursor : !tile.cursor<3>
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%at = %first) -> (!tile.cursor<3>) {
        tile.acquire %ring[%at] : !tile.ring<3>
        tile.publish %ring[%at] : !tile.ring<3>
        %next = tile.advance %at : !tile.cursor<3>
        scf.yield %next : !tile.cursor<3>
      }
    }
    tile.role "math" warps(4) {
      // expected-note @below {{the cursor is declared here}}
      %at = tile.cursor : !tile.cursor<3>
      // expected-note @below {{the loop is here}}
      scf.for %i = %c0 to %n step %c1 {
        tile.await %ring[%at] : !tile.ring<3>
        // expected-error @below {{expected the cursor of 'ab' to be advanced in the loop because 'release' is called in each iteration, but it is at the same slot in all of them; call advance() on it at the end of the loop's body}}
        tile.release %ring[%at] : !tile.ring<3>
      }
    }
  }
  tile.return
}

// -----

// Nor does the producer, in the inner of two loops.
tile.kernel @not_advanced_inside(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ring = tile.alloc_ring "ab" : !tile.ring<3>
  tile.roles {
    tile.role "load" warps(4) {
      %first = tile.cursor : !tile.cursor<3>
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%at = %first) -> (!tile.cursor<3>) {
        // expected-note @below {{the loop is here}}
        scf.for %j = %c0 to %n step %c1 {
          tile.acquire %ring[%at] : !tile.ring<3>
          // expected-error @below {{expected the cursor of 'ab' to be advanced in the loop because 'expect' is called}}
          tile.expect %ring[%at] bytes(64) : !tile.ring<3>
        }
        %next = tile.advance %at : !tile.cursor<3>
        scf.yield %next : !tile.cursor<3>
      }
    }
  }
  tile.return
}

// -----

// More slots are filled than there are, and no role waits for those who release them.
tile.kernel @not_acquired(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ring = tile.alloc_ring "ab" : !tile.ring<3>
  tile.roles {
    tile.role "load" warps(4) {
      %first = tile.cursor : !tile.cursor<3>
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%at = %first) -> (!tile.cursor<3>) {
        // expected-error @below {{expected a slot of 'ab' to be acquired before it is filled again because 'publish' is called in a loop and the ring has 3 slots, but no role calls acquire; call acquire with the same cursor before the slot is filled}}
        tile.publish %ring[%at] : !tile.ring<3>
        %next = tile.advance %at : !tile.cursor<3>
        scf.yield %next : !tile.cursor<3>
      }
    }
    tile.role "math" warps(4) {
      %first = tile.cursor : !tile.cursor<3>
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%at = %first) -> (!tile.cursor<3>) {
        tile.await %ring[%at] : !tile.ring<3>
        tile.release %ring[%at] : !tile.ring<3>
        %next = tile.advance %at : !tile.cursor<3>
        scf.yield %next : !tile.cursor<3>
      }
    }
  }
  tile.return
}

// -----

// Right: a slot that is waited for again and again and released once, as many slots as the ring has, and an iteration of
// its own that a branch picks.
tile.kernel @right(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %ring = tile.alloc_ring "ab" : !tile.ring<3>
  tile.roles {
    tile.role "load" warps(4) {
      %first = tile.cursor : !tile.cursor<3>
      %end = scf.for %i = %c0 to %c3 step %c1 iter_args(%at = %first) -> (!tile.cursor<3>) {
        tile.publish %ring[%at] : !tile.ring<3>
        %next = tile.advance %at : !tile.cursor<3>
        scf.yield %next : !tile.cursor<3>
      }
    }
    tile.role "math" warps(4) {
      %at = tile.cursor : !tile.cursor<3>
      %next = tile.advance %at : !tile.cursor<3>
      scf.for %i = %c0 to %n step %c1 {
        tile.await %ring[%at] : !tile.ring<3>
        tile.await %ring[%next] : !tile.ring<3>
        %last = arith.cmpi eq, %i, %c1 : index
        scf.if %last {
          tile.release %ring[%next] : !tile.ring<3>
        }
      }
      tile.release %ring[%at] : !tile.ring<3>
    }
  }
  tile.return
}
