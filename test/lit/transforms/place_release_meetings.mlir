// RUN: %tlc-opt %s --tile-place-release-meetings -split-input-file | FileCheck %s

module attributes {program.target = #program.target<"sm_90a">} {

// No product has surely run between the wait for a slot and its release, for which all warps came by: one that is late would
// find the barrier two phases further, and wait for ever. So they meet.
// CHECK-LABEL: tile.kernel @unread(
// CHECK:         tile.await
// CHECK-NEXT:    tile.release {{.*}} after_meeting
tile.kernel @unread() attributes {launch = #program.launch<warps = 8>} {
  %r = tile.alloc_ring "r" at 0 : !tile.ring<1>
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

// -----

#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
#accumulator = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
#factor = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">

module attributes {program.target = #program.target<"sm_90a">} {

// Threads read the slots with loads of their own, which the wait for a product says nothing about: warps meet before one
// thread releases a slot for them, also where the slot is of the iteration before.
// CHECK-LABEL: tile.kernel @of_previous_iteration(
// CHECK:         scf.for
// CHECK:           tile.release {{.*}} after_meeting
tile.kernel @of_previous_iteration(%A: !tile.global<64x64xbf16> {program.argument = #program.tensor<"A", input, dims[-1, -1], alignment = 16>})
    attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" at 24576 : !tile.ring<3>
  %buffer = tile.alloc_shared "r" at 0 : !tile.shared<3x64x64xbf16, #swizzled>
  %c = tile.cursor : !tile.cursor<3>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32, #accumulator>
      tile.await %r[%c] : !tile.ring<3>
      %first = tile.slot %buffer[%c] : !tile.shared<3x64x64xbf16, #swizzled>, !tile.cursor<3> -> !tile.shared<64x64xbf16, #swizzled>
      %left = tile.load %first : !tile.shared<64x64xbf16, #swizzled> -> tensor<64x64xbf16, #factor>
      %started = tile.gemm_async %left, %first, %zero atom wgmma : tensor<64x64xbf16, #factor>, !tile.shared<64x64xbf16, #swizzled>, tensor<64x64xf32, #accumulator>
      %second = tile.advance %c : !tile.cursor<3>
      %end:3 = scf.for %i = %c1 to %c4 step %c1 iter_args(%sum = %started, %at = %second, %before = %c)
          -> (tensor<64x64xf32, #accumulator>, !tile.cursor<3>, !tile.cursor<3>) {
        tile.await %r[%at] : !tile.ring<3>
        %slot = tile.slot %buffer[%at] : !tile.shared<3x64x64xbf16, #swizzled>, !tile.cursor<3> -> !tile.shared<64x64xbf16, #swizzled>
        %done = tile.gemm_wait %sum pending(0) : tensor<64x64xf32, #accumulator>
        %read = tile.load %slot : !tile.shared<64x64xbf16, #swizzled> -> tensor<64x64xbf16, #factor>
        %next = tile.gemm_async %read, %slot, %done atom wgmma : tensor<64x64xbf16, #factor>, !tile.shared<64x64xbf16, #swizzled>, tensor<64x64xf32, #accumulator>
        tile.proxy_fence
        tile.release %r[%before] : !tile.ring<3>
        %then = tile.advance %at : !tile.cursor<3>
        scf.yield %next, %then, %at : tensor<64x64xf32, #accumulator>, !tile.cursor<3>, !tile.cursor<3>
      }
      %last = tile.gemm_wait %end#0 pending(0) : tensor<64x64xf32, #accumulator>
    }
    tile.role "load" warps(4) {
      %slot = tile.slot %buffer[%c] : !tile.shared<3x64x64xbf16, #swizzled>, !tile.cursor<3> -> !tile.shared<64x64xbf16, #swizzled>
      %tile = tile.slice %A[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
      tile.acquire %r[%c] : !tile.ring<3>
      tile.expect %r[%c] bytes(8192) : !tile.ring<3>
      tile.copy_async %tile, %slot, %r[%c] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16, #swizzled>, !tile.ring<3>
    }
  }
  tile.return
}
}

// -----

#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
#numbers = #tile.shared_layout<"64 32b axis 0 panel 64 swizzle none pad 0">
#accumulator = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">

module attributes {program.target = #program.target<"sm_90a">} {

// Warps that have met need not meet again: not for numbers that they read before they met for `products`, and not for the
// slot of `products`, which only a product reads that all of them have started.
// CHECK-LABEL: tile.kernel @met_already(
// CHECK:         scf.for
// CHECK:           tile.publish
// CHECK-NEXT:      tile.release {{.*}}] : !tile.ring<2>
// CHECK:           tile.release {{.*}}] : !tile.ring<1>
// CHECK:         }
// Here they read the numbers after they met.
// CHECK:         tile.load_index
// CHECK-NEXT:    tile.release {{.*}}] after_meeting : !tile.ring<2>
tile.kernel @met_already(%A: !tile.global<64xi32> {program.argument = #program.tensor<"A", input, dims[-1], alignment = 16>})
    attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %ring = tile.alloc_ring "numbers" at 16896 : !tile.ring<2>
  %products = tile.alloc_ring "products" at 16960 : !tile.ring<1>
  %buffer = tile.alloc_shared "numbers" at 0 : !tile.shared<2x64xi32, #numbers>
  %tiles = tile.alloc_shared "products" at 1024 : !tile.shared<1x64x64xbf16, #swizzled>
  %c = tile.cursor : !tile.cursor<2>
  %p = tile.cursor : !tile.cursor<1>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32, #accumulator>
      %half = tile.splat %h0 : bf16 -> tensor<64x64xbf16, #accumulator>
      %end:2 = scf.for %i = %c1 to %c4 step %c1 iter_args(%at = %c, %to = %p) -> (!tile.cursor<2>, !tile.cursor<1>) {
        tile.await %ring[%at] : !tile.ring<2>
        %slot = tile.slot %buffer[%at] : !tile.shared<2x64xi32, #numbers>, !tile.cursor<2> -> !tile.shared<64xi32, #numbers>
        %number = tile.load_index %slot[%c0] : !tile.shared<64xi32, #numbers>
        tile.acquire %products[%to] : !tile.ring<1>
        %tile = tile.slot %tiles[%to] : !tile.shared<1x64x64xbf16, #swizzled>, !tile.cursor<1> -> !tile.shared<64x64xbf16, #swizzled>
        tile.store %half, %tile atom simt : tensor<64x64xbf16, #accumulator>, !tile.shared<64x64xbf16, #swizzled>
        tile.proxy_fence
        tile.publish %products[%to] : !tile.ring<1>
        tile.release %ring[%at] : !tile.ring<2>
        tile.await %products[%to] : !tile.ring<1>
        %started = tile.gemm_async %tile, %tile, %zero atom wgmma : !tile.shared<64x64xbf16, #swizzled>, !tile.shared<64x64xbf16, #swizzled>, tensor<64x64xf32, #accumulator>
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32, #accumulator>
        tile.release %products[%to] : !tile.ring<1>
        %then = tile.advance %at : !tile.cursor<2>
        %next = tile.advance %to : !tile.cursor<1>
        scf.yield %then, %next : !tile.cursor<2>, !tile.cursor<1>
      }
      tile.await %ring[%end#0] : !tile.ring<2>
      %last = tile.slot %buffer[%end#0] : !tile.shared<2x64xi32, #numbers>, !tile.cursor<2> -> !tile.shared<64xi32, #numbers>
      %number = tile.load_index %last[%c0] : !tile.shared<64xi32, #numbers>
      tile.release %ring[%end#0] : !tile.ring<2>
    }
    tile.role "load" warps(4) {
      %slot = tile.slot %buffer[%c] : !tile.shared<2x64xi32, #numbers>, !tile.cursor<2> -> !tile.shared<64xi32, #numbers>
      %from = tile.slice %A[%c0] : !tile.global<64xi32> -> !tile.slice<64xi32>
      tile.acquire %ring[%c] : !tile.ring<2>
      tile.expect %ring[%c] bytes(256) : !tile.ring<2>
      tile.copy_async %from, %slot, %ring[%c] : !tile.slice<64xi32>, !tile.shared<64xi32, #numbers>, !tile.ring<2>
    }
  }
  tile.return
}
}

// -----

#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {

// What one thread does is in order, and a tensor core arrives after the products that it reads for.
// CHECK-LABEL: tile.kernel @one_thread(
// CHECK-NOT:     after_meeting
// CHECK:         tile.return
tile.kernel @one_thread(%Y: !tile.global<64x64xbf16> {program.argument = #program.tensor<"Y", output, dims[-1, -1], alignment = 16>})
    attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %r = tile.alloc_ring "r" at 8192 : !tile.ring<1>
  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x64xbf16, #swizzled>
  %c = tile.cursor : !tile.cursor<1>
  %y = tile.slice %Y[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.roles {
    tile.role "store" warps(4) one_thread {
      tile.await %r[%c] : !tile.ring<1>
      tile.copy %p, %y atom tma : !tile.shared<64x64xbf16, #swizzled>, !tile.slice<64x64xbf16>
      tile.release %r[%c] : !tile.ring<1>
    }
  }
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {

// A publish after copies meets nobody: each thread arrives by itself. Others may still read the slot that is released.
// CHECK-LABEL: tile.kernel @relay(
// CHECK:         tile.publish {{.*}} after_copies
// CHECK-NEXT:    tile.release {{.*}} after_meeting
tile.kernel @relay() attributes {launch = #program.launch<warps = 8>} {
  %from = tile.alloc_ring "from" at 0 : !tile.ring<2>
  %to = tile.alloc_ring "to" at 32 : !tile.ring<2>
  %c = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "relay" warps(4) {
      tile.await %from[%c] : !tile.ring<2>
      tile.acquire %to[%c] : !tile.ring<2>
      tile.publish %to[%c] after_copies : !tile.ring<2>
      tile.release %from[%c] : !tile.ring<2>
    }
    tile.role "other" warps(4) {
    }
  }
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_100a">} {

// One thread issues a product in tensor memory, and the tensor core arrives for it: the other warps meet it, so that none of them
// is two phases late.
// CHECK-LABEL: tile.kernel @in_place(
// CHECK:         tile.gemm_in_place
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.release {{.*}} after_products
tile.kernel @in_place() attributes {launch = #program.launch<warps = 8>} {
  %true = arith.constant true
  %a = tile.alloc_shared "a" at 1024 : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" at 32768 : !tile.shared<64x64xbf16>
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x64xf32>
  %ab = tile.alloc_ring "ab" at 0 : !tile.ring<2>
  %c = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      tile.await %ab[%c] : !tile.ring<2>
      tile.gemm_in_place %a, %b, %acc if %true : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, !tile.tensor_memory<128x64xf32>
      tile.release %ab[%c] after_products : !tile.ring<2>
    }
    tile.role "other" warps(4) {
    }
  }
  tile.return
}
}
