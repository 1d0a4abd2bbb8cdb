// RUN: %tlc-opt %s --tile-settle-copies -split-input-file | FileCheck %s

#tile = #tile.shared_layout<"16x32 16b axis 1 panel 32 swizzle 64 pad 0">

module attributes {program.target = #program.target<"sm_90a">} {

// Rows of 64 bytes are together in units of 16.
// CHECK-LABEL: tile.kernel @copies(
// CHECK:         tile.copy {{.*}} atom cp_async
// CHECK-NEXT:    tile.publish %{{.*}} after_copies : !tile.ring<1>
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

// The tile's order leaves no units that cp.async copies: threads store, and the arrival after the copies tells of that.
// CHECK-LABEL: tile.kernel @stores(
// CHECK:         tile.copy {{.*}} atom cp_async
// CHECK-NEXT:    tile.publish %{{.*}} after_copies with_stores : !tile.ring<1>
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
      tile.copy %s, %slot atom cp_async : !tile.slice<16x32xf8E4M3FN>, !tile.shared<16x32xf8E4M3FN, #tile>
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
