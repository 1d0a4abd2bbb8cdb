// RUN: %tile-opt %s | %tile-opt | FileCheck %s
// RUN: %tile-opt %s --mlir-print-op-generic | %tile-opt | FileCheck %s

// CHECK-LABEL: tile.kernel @rings()
tile.kernel @rings() attributes {launch = #program.launch<warps = 8>} {
  // CHECK: %slots = tile.alloc_ring "slots" : !tile.ring<3>
  %ring = tile.alloc_ring "slots" : !tile.ring<3>
  // CHECK: %[[FIRST:.*]] = tile.cursor : !tile.cursor<3>
  %first = tile.cursor : !tile.cursor<3>
  // CHECK: %[[NEXT:.*]] = tile.advance %[[FIRST]] : !tile.cursor<3>
  %next = tile.advance %first : !tile.cursor<3>
  // CHECK: tile.acquire %slots[%[[NEXT]]] : !tile.ring<3>
  tile.acquire %ring[%next] : !tile.ring<3>
  // CHECK: tile.expect %slots[%[[NEXT]]] bytes(1048575) : !tile.ring<3>
  tile.expect %ring[%next] bytes(1048575) : !tile.ring<3>
  // CHECK: tile.publish %slots[%[[NEXT]]] : !tile.ring<3>
  tile.publish %ring[%next] : !tile.ring<3>
  // CHECK: tile.publish %slots[%[[NEXT]]] after_copies : !tile.ring<3>
  tile.publish %ring[%next] after_copies : !tile.ring<3>
  // CHECK: tile.publish %slots[%[[NEXT]]] after_copies with_stores : !tile.ring<3>
  tile.publish %ring[%next] after_copies with_stores : !tile.ring<3>
  // CHECK: tile.await %slots[%[[NEXT]]] : !tile.ring<3>
  tile.await %ring[%next] : !tile.ring<3>
  // CHECK: tile.release %slots[%[[NEXT]]] : !tile.ring<3>
  tile.release %ring[%next] : !tile.ring<3>
  // CHECK: tile.release %slots[%[[NEXT]]] after_meeting : !tile.ring<3>
  tile.release %ring[%next] after_meeting : !tile.ring<3>
  // CHECK: tile.alloc_ring "planned" at 64 : !tile.ring<1>
  %planned = tile.alloc_ring "planned" at 64 : !tile.ring<1>
  tile.return
}

// CHECK-LABEL: tile.kernel @barriers()
tile.kernel @barriers() attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  // CHECK: %ready = tile.alloc_barrier "ready" count(128)
  %ready = tile.alloc_barrier "ready" count(128)
  // CHECK: %done = tile.alloc_barrier "done" count(1) at 8
  %done = tile.alloc_barrier "done" count(1) at 8
  // CHECK: tile.arrive %ready
  tile.arrive %ready
  // CHECK: tile.wait %ready phase(%{{.*}})
  tile.wait %ready phase(%c0)
  // CHECK: tile.named_barrier 1 warps(8)
  tile.named_barrier 1 warps(8)
  // CHECK: tile.named_barrier 15 warps(12) arrive
  tile.named_barrier 15 warps(12) arrive
  // CHECK: tile.sync
  tile.sync
  // CHECK: tile.proxy_fence{{$}}
  tile.proxy_fence
  // CHECK: tile.proxy_fence tensors
  tile.proxy_fence tensors
  // CHECK: tile.await_stores
  tile.await_stores
  // CHECK: tile.commit_copies
  tile.commit_copies
  // CHECK: tile.await_copies pending(2)
  tile.await_copies pending(2)
  tile.return
}

// CHECK-LABEL: tile.kernel @turns()
tile.kernel @turns() attributes {launch = #program.launch<warps = 8>} {
  tile.roles {
    tile.role "math" warps(8) {
      // CHECK: tile.take_turn
      tile.take_turn
      // CHECK-NEXT: tile.pass_turn
      tile.pass_turn
    }
  }
  tile.return
}
