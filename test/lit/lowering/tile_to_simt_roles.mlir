// RUN: %tlc-opt %s -tile-to-simt | FileCheck %s

// Roles, rings filled and emptied by threads, barriers, grids.
#quarter = #tile.layout<"reg(8@1:1, 2@0:8) lane(4@1:8, 8@0:1) warp()">
#half = #tile.layout<"reg(4@1:1) lane(8@1:4, 4@0:1) warp(4@0:4, 2@*)">
#p = #tile.shared_layout<"16x32 32b axis 1 panel 32 swizzle none pad 0">

module attributes {program.target = #program.target<"sm_90a">} {

// CHECK-LABEL: simt.kernel @roles(
// CHECK-SAME:    grid = [#program.host_expr<"d0 16 ceildiv sms 2 mul min">, #program.host_expr<"3">]
// CHECK-SAME:    launch = #program.launch<warps = 10>
// CHECK:         %[[WARP:.*]] = simt.warp_index
// CHECK:         %[[ROW:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK:         %[[FIRST:.*]] = arith.cmpi ult, %[[WARP]], %c8_i32
// CHECK:         scf.if %[[FIRST]] {
tile.kernel @roles(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x32xf32> {program.argument = #program.tensor<"X", inout, dims[0, -1]>}) attributes {launch = #program.launch<warps = 10>} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %tiles = arith.ceildivui %m, %c16 : index
  %sms = tile.multiprocessors
  %most = arith.muli %sms, %c2 : index
  %blocks = arith.minui %tiles, %most : index
  %i, %j = tile.grid %blocks, %c3 : index, index
  %row = arith.muli %i, %c16 : index
  %r = tile.alloc_ring "r" at 0 : !tile.ring<2>
  %p = tile.alloc_shared "p" at 1024 : !tile.shared<2x16x32xf32, #p>
  %done = tile.alloc_barrier "done" count(32) at 64
  %c = tile.cursor : !tile.cursor<2>
  tile.roles {
    // Two warpgroups, each of which publishes once, after a meeting of its own.
    tile.role "fill" warps(8) {
      %s = tile.slice %X[%row, %c0] : !tile.global<?x32xf32> -> !tile.slice<16x32xf32>
      %v = tile.load %s : !tile.slice<16x32xf32> -> tensor<16x32xf32, #half>
      // CHECK: simt.barrier_wait %{{.*}} parity(%c1_i32)
      tile.acquire %r[%c] : !tile.ring<2>
      %slot = tile.slot %p[%c] : !tile.shared<2x16x32xf32, #p>, !tile.cursor<2> -> !tile.shared<16x32xf32, #p>
      // Of the two warpgroups that hold the tile one writes.
      // CHECK: simt.store %{{.*}} if %{{.*}} : vector<4xf32>, !llvm.ptr<3>
      tile.store %v, %slot atom simt : tensor<16x32xf32, #half>, !tile.shared<16x32xf32, #p>
      // CHECK: %[[GROUP:.*]] = arith.shrui %[[WARP]], %c2_i32
      // CHECK: %[[ID:.*]] = arith.addi %[[GROUP]], %c1_i32
      // CHECK: simt.sync %[[ID]] threads 128
      // CHECK: scf.if
      // CHECK-NEXT: simt.barrier_arrive
      tile.publish %r[%c] : !tile.ring<2>
      // The role as a whole has another barrier.
      // CHECK: simt.sync %c3_i32 threads 256
      tile.sync
    }
    // CHECK: } else {
    // CHECK: arith.cmpi ult, %[[WARP]], %c9_i32
    tile.role "empty" warps(1) {
      // CHECK: simt.barrier_wait %{{.*}} parity(%c0_i32)
      tile.await %r[%c] : !tile.ring<2>
      %slot = tile.slot %p[%c] : !tile.shared<2x16x32xf32, #p>, !tile.cursor<2> -> !tile.shared<16x32xf32, #p>
      // CHECK: simt.load %{{.*}} : !llvm.ptr<3> -> vector<4xf32>
      %v = tile.load %slot : !tile.shared<16x32xf32, #p> -> tensor<16x32xf32, #quarter>
      // All have read before one releases.
      // CHECK: simt.sync %c4_i32 threads 32
      // CHECK: simt.barrier_arrive
      tile.release %r[%c] after_meeting : !tile.ring<2>
      %s = tile.slice %X[%row, %c0] : !tile.global<?x32xf32> -> !tile.slice<16x32xf32>
      tile.store %v, %s atom simt : tensor<16x32xf32, #quarter>, !tile.slice<16x32xf32>
      // CHECK: simt.barrier_arrive %{{[^ ]*$}}
      tile.arrive %done
    }
    // CHECK: } else {
    tile.role "watch" warps(1) {
      // CHECK: simt.barrier_wait %{{.*}} parity(%c1_i32)
      tile.wait %done phase(%c3)
      // CHECK: simt.sync %c7_i32 threads 64 arrive
      tile.named_barrier 7 warps(2) arrive
      // CHECK: simt.proxy_fence{{$}}
      tile.proxy_fence
      // CHECK: simt.proxy_fence global
      tile.proxy_fence tensors
      // CHECK: scf.if
      // CHECK-NEXT: simt.bulk_wait 0{{$}}
      tile.await_stores
    }
  }
  tile.return
}
}
