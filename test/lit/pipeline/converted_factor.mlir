// RUN: %tlc compile %s --emit laid-out | FileCheck %s

// The left factor comes from memory before the loop, in the layout that the stores in deeper loops want. The loop keeps a product in flight
// when an iteration ends: the factor is converted before the first product, not while that one has the registers.
// CHECK:     %[[LOADED:.*]] = tile.load
// CHECK:     %[[FACTOR:.*]] = tile.convert_layout %[[LOADED]]
// CHECK-NOT: tile.convert_layout %[[LOADED]]
// CHECK:     tile.gemm_async
// CHECK:     scf.for
// CHECK-NOT:   tile.convert_layout
// CHECK:       tile.gemm_async %[[FACTOR]]
// CHECK:       tile.gemm_wait %{{.*}} pending(1)
tile.kernel @converted(%A: !tile.global<100x90xf8E4M3FN> {program.argument = #program.tensor<"A", input, dims[-1, -1]>},
                       %B: !tile.global<24x128xf8E4M3FN> {program.argument = #program.tensor<"B", input, dims[-1, -1], alignment = 16>},
                       %Y: !tile.global<128x128xbf16> {program.argument = #program.tensor<"Y", output, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %b = tile.alloc_shared "b" : !tile.shared<2x8x128xf8E4M3FN>
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  tile.roles {
    tile.role "load" warps(4) {
      %first = tile.cursor : !tile.cursor<2>
      %end = scf.for %i = %c0 to %c3 step %c1 iter_args(%at = %first) -> (!tile.cursor<2>) {
        tile.acquire %ring[%at] : !tile.ring<2>
        tile.expect %ring[%at] bytes(1024) : !tile.ring<2>
        %from = tile.slice %B[%c0, %c0] : !tile.global<24x128xf8E4M3FN> -> !tile.slice<8x128xf8E4M3FN>
        %slot = tile.slot %b[%at] : !tile.shared<2x8x128xf8E4M3FN>, !tile.cursor<2> -> !tile.shared<8x128xf8E4M3FN>
        tile.copy_async %from, %slot, %ring[%at] : !tile.slice<8x128xf8E4M3FN>, !tile.shared<8x128xf8E4M3FN>, !tile.ring<2>
        %next = tile.advance %at : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
    }
    tile.role "math" warps(8) {
      %first = tile.cursor : !tile.cursor<2>
      %from = tile.slice %A[%c0, %c0] : !tile.global<100x90xf8E4M3FN> -> !tile.slice<128x128xf8E4M3FN>
      %loaded = tile.load %from : !tile.slice<128x128xf8E4M3FN> -> tensor<128x128xf8E4M3FN>
      %none = tile.splat %zero : f32 -> tensor<128x8xf32>
      %end:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %none, %at = %first) -> (tensor<128x8xf32>, !tile.cursor<2>) {
        tile.await %ring[%at] : !tile.ring<2>
        %slot = tile.slot %b[%at] : !tile.shared<2x8x128xf8E4M3FN>, !tile.cursor<2> -> !tile.shared<8x128xf8E4M3FN>
        %across = tile.transpose %slot : !tile.shared<8x128xf8E4M3FN> -> !tile.shared<128x8xf8E4M3FN, transposed>
        %started = tile.gemm_async %loaded, %across, %sum : tensor<128x128xf8E4M3FN>, !tile.shared<128x8xf8E4M3FN, transposed>, tensor<128x8xf32>
        %done = tile.gemm_wait %started pending(0) : tensor<128x8xf32>
        tile.release %ring[%at] : !tile.ring<2>
        %next = tile.advance %at : !tile.cursor<2>
        scf.yield %done, %next : tensor<128x8xf32>, !tile.cursor<2>
      }
      scf.for %i = %c0 to %c3 step %c1 {
        scf.for %j = %c0 to %c3 step %c1 {
          %wide = tile.convert %loaded : tensor<128x128xf8E4M3FN> to tensor<128x128xbf16>
          %to = tile.slice %Y[%c0, %c0] : !tile.global<128x128xbf16> -> !tile.slice<128x128xbf16>
          tile.store %wide, %to : tensor<128x128xbf16>, !tile.slice<128x128xbf16>
        }
      }
    }
  }
  tile.return
}
