// RUN: %tlc-opt %s --tile-to-simt --canonicalize | FileCheck %s

// One thread asks, waits for the response and writes the number: for n = 0 the block's own, without a request.
// CHECK-LABEL: simt.kernel @next(
// CHECK:         simt.barrier_init {{.*}} count(1)
// CHECK:         simt.sync
// CHECK:         simt.elect
// CHECK:         scf.if
// CHECK:           simt.store
// CHECK:         } else {
// CHECK:           simt.proxy_fence
// CHECK-NEXT:      simt.barrier_expect %[[BARRIER:.*]] bytes(16)
// CHECK-NEXT:      simt.cancel_block %[[RESPONSE:.*]] arrives(%[[BARRIER]])
// CHECK-NEXT:      simt.barrier_wait %[[BARRIER]]
// CHECK:           %[[NUMBER:.*]] = simt.canceled_block %[[RESPONSE]]
// CHECK-NEXT:      simt.store %[[NUMBER]]
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @next(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %own = tile.grid %n : index
  %tile = tile.alloc_shared "next_tile" at 0 : !tile.shared<1xi32, #tile.shared_layout<"1 32b axis 0 panel 1 swizzle none pad 0">>
  %response = tile.alloc_response "response" at 128
  tile.next_block %own, %n by %response, %tile[%c0] : !tile.shared<1xi32, #tile.shared_layout<"1 32b axis 0 panel 1 swizzle none pad 0">>
  tile.return
}
}
