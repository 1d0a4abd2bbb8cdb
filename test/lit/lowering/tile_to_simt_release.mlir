// RUN: %tlc-opt %s -tile-to-simt | FileCheck %s

module attributes {program.target = #program.target<"sm_90a">} {

// No product has surely run between the wait for a slot and its release, for which all warps came by: one that is late would
// find the barrier two phases further, and wait for ever. So they meet.
// CHECK-LABEL: simt.kernel @unread(
// CHECK:         simt.barrier_wait
// CHECK:         simt.sync %{{.*}} threads 128
// CHECK:         simt.barrier_arrive
tile.kernel @unread() attributes {warps = 8 : i64} {
  %r = tile.alloc_ring "r" producers(1) consumers(1) at 0 : !tile.ring<1>
  %c = tile.cursor : !tile.cursor<1>
  tile.roles {
    tile.role "math" warps(4) {
      tile.await %r[%c] : !tile.ring<1>
      tile.release %r[%c] : !tile.ring<1>
    }
    tile.role "other" warps(4) {
    }
  }
  tile.return
}
}
