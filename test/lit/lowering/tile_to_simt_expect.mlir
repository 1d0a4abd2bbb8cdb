// RUN: %tlc-opt %s -tile-to-simt | FileCheck %s

#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {

// One of many threads makes the slot full. All have seen that it was empty before: one that is late would find the barrier
// two phases further, and wait for ever.
// CHECK-LABEL: simt.kernel @by_one_thread(
// CHECK:         simt.barrier_wait
// CHECK:         simt.sync
// CHECK:         scf.if
// CHECK:           simt.barrier_expect
tile.kernel @by_one_thread(%A: !tile.global<64x64xbf16> {program.argument = #program.tensor<"A", input, dims[-1, -1], alignment = 16>})
    attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %ring = tile.alloc_ring "a" at 16384 : !tile.ring<2>
  %a = tile.alloc_shared "a" at 0 : !tile.shared<2x64x64xbf16, #swizzled>
  %c = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "load" warps(4) {
      %s = tile.slice %A[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
      %slot = tile.slot %a[%c] : !tile.shared<2x64x64xbf16, #swizzled>, !tile.cursor<2> -> !tile.shared<64x64xbf16, #swizzled>
      tile.acquire %ring[%c] : !tile.ring<2>
      tile.expect %ring[%c] bytes(8192) : !tile.ring<2>
      tile.copy_async %s, %slot, %ring[%c] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16, #swizzled>, !tile.ring<2>
      tile.copy %s, %slot atom simt : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16, #swizzled>
    }
  }
  tile.return
}
}
