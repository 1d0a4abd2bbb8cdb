// RUN: %tlc-opt %s -tile-to-simt -split-input-file | FileCheck %s

#tile = #tile.shared_layout<"16x32 16b axis 1 panel 32 swizzle 64 pad 0">

module attributes {program.target = #program.target<"sm_90a">} {

// Each thread of the role starts its copies and says on which barrier they arrive; nobody meets, and nobody is elected.
// CHECK-LABEL: simt.kernel @copies(
// CHECK:         simt.barrier_init %{{.*}} count(128)
// CHECK:         simt.barrier_wait
// CHECK-NOT:     simt.elect
// CHECK:         simt.copy_async %{{.*}} bytes(8)
// CHECK-NOT:     simt.sync
// CHECK:         simt.barrier_arrive_after_copies
// CHECK-NOT:     simt.barrier_arrive %
// CHECK:         } else {
tile.kernel @copies(%n: index {program.argument = #program.dimension<"n">},
    %A: !tile.global<?x32xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 8>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %ring = tile.alloc_ring "a" at 0 : !tile.ring<1>
  %a = tile.alloc_shared "a" at 1024 : !tile.shared<1x16x32xbf16, #tile>
  %c = tile.cursor : !tile.cursor<1>
  tile.roles {
    tile.role "load" warps(4) {
      tile.acquire %ring[%c] : !tile.ring<1>
      %s = tile.slice %A[%c0, %c0] : !tile.global<?x32xbf16> -> !tile.slice<16x32xbf16>
      %slot = tile.slot %a[%c] : !tile.shared<1x16x32xbf16, #tile>, !tile.cursor<1> -> !tile.shared<16x32xbf16, #tile>
      tile.copy %s, %slot atom cp_async : !tile.slice<16x32xbf16>, !tile.shared<16x32xbf16, #tile>
      tile.publish %ring[%c] after_copies : !tile.ring<1>
    }
    tile.role "math" warps(4) {
      tile.await %ring[%c] : !tile.ring<1>
      tile.release %ring[%c] : !tile.ring<1>
    }
  }
  tile.return
}
}

// -----

#tile = #tile.shared_layout<"16x32 8b axis 1 panel 32 swizzle 32 pad 0 interleaved">

module attributes {program.target = #program.target<"sm_90a">} {

// Threads that store a part of the tile wait for their copies and arrive.
// CHECK-LABEL: simt.kernel @stores(
// CHECK:         simt.barrier_init %{{.*}} count(128)
// CHECK-NOT:     simt.copy_async
// CHECK:         simt.store
// CHECK:         simt.commit_copies
// CHECK-NEXT:    simt.await_copies pending(0)
// CHECK-NEXT:    simt.barrier_arrive %
// CHECK-NOT:     simt.barrier_arrive_after_copies
// CHECK:         } else {
tile.kernel @stores(%n: index {program.argument = #program.dimension<"n">},
    %A: !tile.global<?x32xf8E4M3FN> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %ring = tile.alloc_ring "a" at 0 : !tile.ring<1>
  %a = tile.alloc_shared "a" at 1024 : !tile.shared<1x16x32xf8E4M3FN, #tile>
  %c = tile.cursor : !tile.cursor<1>
  tile.roles {
    tile.role "load" warps(4) {
      tile.acquire %ring[%c] : !tile.ring<1>
      %s = tile.slice %A[%c0, %c0] : !tile.global<?x32xf8E4M3FN> -> !tile.slice<16x32xf8E4M3FN>
      %slot = tile.slot %a[%c] : !tile.shared<1x16x32xf8E4M3FN, #tile>, !tile.cursor<1> -> !tile.shared<16x32xf8E4M3FN, #tile>
      tile.copy %s, %slot atom simt : !tile.slice<16x32xf8E4M3FN>, !tile.shared<16x32xf8E4M3FN, #tile>
      tile.publish %ring[%c] after_copies with_stores : !tile.ring<1>
    }
    tile.role "math" warps(4) {
      tile.await %ring[%c] : !tile.ring<1>
      tile.release %ring[%c] : !tile.ring<1>
    }
  }
  tile.return
}
}
