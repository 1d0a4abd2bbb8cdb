// RUN: %tile-opt %s --tile-place-fences -split-input-file -verify-diagnostics | FileCheck %s

// Counting meets by itself. What one thread has written of the number, all read after a barrier.
// CHECK-LABEL: tile.kernel @by_threads(
// CHECK:         tile.take
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.load_index
// CHECK-NEXT:    tile.wait_for
// CHECK-NEXT:    tile.load
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.store
// CHECK-NEXT:    tile.announce
// CHECK-NEXT:    tile.return
#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">
tile.kernel @by_threads(
    %C: !tile.global<2xi32> {program.argument = #program.tensor<"C", inout, dims[-1]>},
    %X: !tile.global<128x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = tile.alloc_shared "taken" : !tile.shared<1xi32>
  %started = tile.slice %C[%c0] : !tile.global<2xi32> -> !tile.slice<1xi32>
  %done = tile.slice %C[%c1] : !tile.global<2xi32> -> !tile.slice<1xi32>
  %x = tile.slice %X[%c0, %c0] : !tile.global<128x64xf32> -> !tile.slice<128x64xf32>
  tile.take %started, %tile[%c0] : !tile.slice<1xi32>, !tile.shared<1xi32>
  %n = tile.load_index %tile[%c0] : !tile.shared<1xi32>
  tile.wait_for %done at_least %n : !tile.slice<1xi32>
  %a = tile.load %x : !tile.slice<128x64xf32> -> tensor<128x64xf32, #rows>
  tile.store %a, %x atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  tile.announce %done by %c0 : !tile.slice<1xi32>
  tile.return
}

// -----

// Other blocks may read with the TMA what threads store, and a store through the TMA is complete before they know.
// Their boxes are not compared: block 1 may load where block 0 stores.
// CHECK-LABEL: tile.kernel @by_engine(
// CHECK:         tile.role "math"
// CHECK:           tile.store {{.*}} staging
// CHECK:           tile.await_stores
// CHECK-NEXT:      tile.proxy_fence tensors
// CHECK-NEXT:      tile.announce
// CHECK:           tile.store {{.*}} atom simt
// CHECK-NEXT:      tile.proxy_fence tensors
// CHECK-NEXT:      tile.announce
// CHECK:         tile.role "load"
#rows = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
#natural = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
tile.kernel @by_engine(
    %C: !tile.global<2xi32> {program.argument = #program.tensor<"C", inout, dims[-1]>},
    %X: !tile.global<128x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1], alignment = 16>},
    %Y: !tile.global<128x64xbf16> {program.argument = #program.tensor<"Y", inout, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %h0 = arith.constant 0.0 : bf16
  %ring = tile.alloc_ring "r" : !tile.ring<1>
  %tile = tile.alloc_shared "tile" : !tile.shared<1x64x64xbf16, #natural>
  %staging = tile.alloc_shared "staging" : !tile.shared<2x64x64xbf16, #natural>
  %done = tile.slice %C[%c0] : !tile.global<2xi32> -> !tile.slice<1xi32>
  %x = tile.slice %X[%c0, %c0] : !tile.global<128x64xbf16> -> !tile.slice<64x64xbf16>
  %below = tile.slice %X[%c64, %c0] : !tile.global<128x64xbf16> -> !tile.slice<64x64xbf16>
  %y = tile.slice %Y[%c0, %c0] : !tile.global<128x64xbf16> -> !tile.slice<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %f = tile.splat %h0 : bf16 -> tensor<64x64xbf16, #rows>
      tile.store %f, %y staging %staging : !tile.shared<2x64x64xbf16, #natural> atom tma : tensor<64x64xbf16, #rows>, !tile.slice<64x64xbf16>
      tile.announce %done by %c0 : !tile.slice<1xi32>
      tile.store %f, %x atom simt : tensor<64x64xbf16, #rows>, !tile.slice<64x64xbf16>
      tile.announce %done by %c0 : !tile.slice<1xi32>
    }
    tile.role "load" warps(4) {
      %at = tile.cursor : !tile.cursor<1>
      %slot = tile.slot %tile[%at] : !tile.shared<1x64x64xbf16, #natural>, !tile.cursor<1> -> !tile.shared<64x64xbf16, #natural>
      tile.acquire %ring[%at] : !tile.ring<1>
      tile.expect %ring[%at] bytes(8192) : !tile.ring<1>
      tile.copy_async %below, %slot, %ring[%at] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16, #natural>, !tile.ring<1>
    }
  }
  tile.return
}
