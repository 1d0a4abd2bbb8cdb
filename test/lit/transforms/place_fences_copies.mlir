// RUN: %tile-opt %s --tile-place-fences -split-input-file | FileCheck %s

module attributes {program.target = #program.target<"sm_90a">} {

// Threads that copy by cp.async are elsewhere when their copies are complete. So those who await the slot tell the asynchronous
// proxy, once, before wgmma reads it.
// CHECK-LABEL: tile.kernel @by_copies(
// CHECK:         tile.role "load"
// CHECK:           tile.copy
// CHECK-NEXT:      tile.publish %{{.*}} after_copies
// CHECK-NOT:       tile.proxy_fence
// CHECK:         tile.role "math"
// CHECK:           tile.await
// CHECK:           tile.proxy_fence
// CHECK-NEXT:      tile.gemm_async
// CHECK-NEXT:      tile.gemm_async
// CHECK-NEXT:      tile.gemm_wait
// CHECK-NEXT:      tile.release
tile.kernel @by_copies(%n: index {program.argument = #program.dimension<"n">},
    %A: !tile.global<64x64xbf16> {program.argument = #program.tensor<"A", input, dims[-1, -1], alignment = 8>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %ring = tile.alloc_ring "a" : !tile.ring<2>
  %a = tile.alloc_shared "a" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "load" warps(4) {
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%c = %first) -> (!tile.cursor<2>) {
        tile.acquire %ring[%c] : !tile.ring<2>
        %s = tile.slice %A[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
        %slot = tile.slot %a[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        tile.copy %s, %slot atom cp_async : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
        tile.publish %ring[%c] after_copies : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
    }
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
        tile.await %ring[%c] : !tile.ring<2>
        %slot = tile.slot %a[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %0 = tile.gemm_async %slot, %slot, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %1 = tile.gemm_async %slot, %slot, %0 atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %2 = tile.gemm_wait %1 pending(0) : tensor<64x64xf32>
        tile.release %ring[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %2, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {

// Threads that load and store are there, and tell it themselves. Each round has its slot, so that they need not meet.
// CHECK-LABEL: tile.kernel @by_stores(
// CHECK:         tile.role "load"
// CHECK-NOT:       tile.sync
// CHECK:           tile.copy
// CHECK-NEXT:      tile.proxy_fence
// CHECK-NEXT:      tile.publish
// CHECK-NOT:       tile.sync
// CHECK:         tile.role "math"
// CHECK-NOT:       tile.proxy_fence
// CHECK:           tile.release
tile.kernel @by_stores(%n: index {program.argument = #program.dimension<"n">},
    %A: !tile.global<64x64xbf16> {program.argument = #program.tensor<"A", input, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %ring = tile.alloc_ring "a" : !tile.ring<2>
  %a = tile.alloc_shared "a" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "load" warps(4) {
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%c = %first) -> (!tile.cursor<2>) {
        tile.acquire %ring[%c] : !tile.ring<2>
        %s = tile.slice %A[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
        %slot = tile.slot %a[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        tile.copy %s, %slot atom simt : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
        tile.publish %ring[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
    }
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
        tile.await %ring[%c] : !tile.ring<2>
        %slot = tile.slot %a[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %0 = tile.gemm_async %slot, %slot, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %1 = tile.gemm_wait %0 pending(0) : tensor<64x64xf32>
        tile.release %ring[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %1, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {

// What threads read needs no fence, whoever has written it.
// CHECK-LABEL: tile.kernel @read_by_threads(
// CHECK-NOT:     tile.proxy_fence
// CHECK:         tile.return
tile.kernel @read_by_threads(
    %A: !tile.global<64x64xbf16> {program.argument = #program.tensor<"A", input, dims[-1, -1], alignment = 8>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %ring = tile.alloc_ring "a" : !tile.ring<1>
  %a = tile.alloc_shared "a" : !tile.shared<1x64x64xbf16>
  %c = tile.cursor : !tile.cursor<1>
  tile.roles {
    tile.role "load" warps(4) {
      tile.acquire %ring[%c] : !tile.ring<1>
      %s = tile.slice %A[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
      %slot = tile.slot %a[%c] : !tile.shared<1x64x64xbf16>, !tile.cursor<1> -> !tile.shared<64x64xbf16>
      tile.copy %s, %slot atom cp_async : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
      tile.publish %ring[%c] after_copies : !tile.ring<1>
    }
    tile.role "math" warps(4) {
      tile.await %ring[%c] : !tile.ring<1>
      %slot = tile.slot %a[%c] : !tile.shared<1x64x64xbf16>, !tile.cursor<1> -> !tile.shared<64x64xbf16>
      %t = tile.load %slot : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
      tile.release %ring[%c] : !tile.ring<1>
    }
  }
  tile.return
}
}
