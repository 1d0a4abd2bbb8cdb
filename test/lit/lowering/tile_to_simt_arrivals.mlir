// RUN: %tlc-opt %s -tile-to-simt -split-input-file -verify-diagnostics | FileCheck %s

module attributes {program.target = #program.target<"sm_90a">} {

// Branches fill a slot in two ways, and one of them is taken. A role of two warpgroups arrives twice.
// CHECK-LABEL: simt.kernel @branches(
// CHECK:         simt.barrier_init %{{.*}} count(1)
// CHECK:         simt.barrier_init %{{.*}} count(2)
tile.kernel @branches(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 12>} {
  %zero = arith.constant 0 : index
  %full = arith.cmpi eq, %n, %zero : index
  %ring = tile.alloc_ring "r" at 0 : !tile.ring<1>
  %c = tile.cursor : !tile.cursor<1>
  tile.roles {
    tile.role "fill" warps(4) {
      tile.acquire %ring[%c] : !tile.ring<1>
      scf.if %full {
        tile.expect %ring[%c] bytes(8192) : !tile.ring<1>
      } else {
        tile.publish %ring[%c] : !tile.ring<1>
      }
    }
    tile.role "read" warps(8) {
      tile.await %ring[%c] : !tile.ring<1>
      tile.release %ring[%c] : !tile.ring<1>
    }
  }
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
// Slots are filled in a loop or, where it has no rounds, once after it: each of them once.
// CHECK-LABEL: simt.kernel @loop_or_once(
// CHECK:         simt.barrier_init %{{.*}} count(1)
// CHECK:         simt.barrier_init %{{.*}} count(1)
tile.kernel @loop_or_once(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %none = arith.cmpi eq, %n, %c0 : index
  %ring = tile.alloc_ring "r" at 0 : !tile.ring<1>
  %first = tile.cursor : !tile.cursor<1>
  tile.roles {
    tile.role "fill" warps(4) {
      %last = scf.for %i = %c0 to %c4 step %c1 iter_args(%c = %first) -> (!tile.cursor<1>) {
        tile.expect %ring[%c] bytes(8192) : !tile.ring<1>
        %next = tile.advance %c : !tile.cursor<1>
        scf.yield %next : !tile.cursor<1>
      }
      scf.if %none {
        tile.publish %ring[%last] : !tile.ring<1>
      }
    }
    tile.role "read" warps(4) {
      tile.await %ring[%first] : !tile.ring<1>
      tile.release %ring[%first] : !tile.ring<1>
    }
  }
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
// What a role does at one position adds up, and so do roles.
// CHECK-LABEL: simt.kernel @both_kinds(
// CHECK:         simt.barrier_init %{{.*}} count(130)
// CHECK:         simt.barrier_init %{{.*}} count(2)
tile.kernel @both_kinds() attributes {launch = #program.launch<warps = 12>} {
  %ring = tile.alloc_ring "r" at 0 : !tile.ring<1>
  %c = tile.cursor : !tile.cursor<1>
  tile.roles {
    tile.role "fill" warps(4) {
      tile.expect %ring[%c] bytes(4096) : !tile.ring<1>
      tile.expect %ring[%c] bytes(4096) : !tile.ring<1>
      tile.publish %ring[%c] after_copies : !tile.ring<1>
    }
    tile.role "read" warps(4) {
      tile.await %ring[%c] : !tile.ring<1>
      tile.release %ring[%c] : !tile.ring<1>
    }
    tile.role "read_too" warps(4) {
      tile.await %ring[%c] : !tile.ring<1>
      tile.release %ring[%c] : !tile.ring<1>
    }
  }
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8>} {
  %zero = arith.constant 0 : index
  %full = arith.cmpi eq, %n, %zero : index
  %ring = tile.alloc_ring "r" at 0 : !tile.ring<1>
  %c = tile.cursor : !tile.cursor<1>
  tile.roles {
    tile.role "fill" warps(8) {
      scf.if %full {
        // expected-note @below {{the other one}}
        tile.expect %ring[%c] bytes(8192) : !tile.ring<1>
      } else {
        // expected-error @below {{expected role 'fill' to arrive equally often for each slot of channel 'r', but it arrives 2 times for this one and 1 times for another}}
        tile.publish %ring[%c] : !tile.ring<1>
      }
    }
  }
  tile.return
}
}
