// RUN: %tlc-opt %s -tile-to-simt | FileCheck %s

// Two roles of one warpgroup: its warps set their registers together, before they part. The role that stores leaves it to
// the TMA and is one thread, which waits only until the TMA has read the slot.
#p = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
// CHECK-LABEL: simt.kernel @copy_through(
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @copy_through(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x64xbf16> {program.argument = #program.tensor<"X", input, dims[0, -1], alignment = 16>},
    %Y: !tile.global<?x64xbf16> {program.argument = #program.tensor<"Y", output, dims[0, -1], alignment = 16>})
    attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %r = tile.alloc_ring "r" at 0 : !tile.ring<2>
  %p = tile.alloc_shared "p" at 1024 : !tile.shared<2x64x64xbf16, #p>
  %c = tile.cursor : !tile.cursor<2>
  // CHECK: %[[WARP:.*]] = simt.warp_index
  // CHECK: %[[SPARE:.*]] = arith.cmpi ult, %[[WARP]], %c4_i32
  // CHECK: scf.if %[[SPARE]] {
  // CHECK-NEXT: simt.set_registers 24{{$}}
  // CHECK: %[[FIRST:.*]] = arith.cmpi ult, %[[WARP]], %c1_i32
  // CHECK-NEXT: scf.if %[[FIRST]] {
  tile.roles {
    tile.role "load" warps(1) registers(24) one_thread {
      tile.acquire %r[%c] : !tile.ring<2>
      tile.expect %r[%c] bytes(8192) : !tile.ring<2>
      %slot = tile.slot %p[%c] : !tile.shared<2x64x64xbf16, #p>, !tile.cursor<2> -> !tile.shared<64x64xbf16, #p>
      %s = tile.slice %X[%c0, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
      // CHECK: simt.tma_load
      tile.copy_async %s, %slot, %r[%c] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16, #p>, !tile.ring<2>
    }
    // CHECK: } else {
    // CHECK-NOT: simt.set_registers
    tile.role "store" warps(3) registers(24) one_thread {
      // CHECK: simt.barrier_wait
      tile.await %r[%c] : !tile.ring<2>
      %slot = tile.slot %p[%c] : !tile.shared<2x64x64xbf16, #p>, !tile.cursor<2> -> !tile.shared<64x64xbf16, #p>
      %s = tile.slice %Y[%c0, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
      // CHECK: simt.tma_store
      // CHECK-NEXT: simt.bulk_commit
      // CHECK-NEXT: simt.bulk_wait 0 read
      // CHECK-NOT: simt.sync
      tile.copy %slot, %s atom tma until_read : !tile.shared<64x64xbf16, #p>, !tile.slice<64x64xbf16>
      // CHECK: simt.barrier_arrive
      tile.release %r[%c] : !tile.ring<2>
    }
    // CHECK: } else {
    // CHECK: simt.set_registers 232{{$}}
    tile.role "math" warps(4) registers(232) {
    }
  }
  tile.return
}
}
