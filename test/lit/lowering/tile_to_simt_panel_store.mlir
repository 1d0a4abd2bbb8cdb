// RUN: %tlc-opt %s -tile-to-simt | FileCheck %s

// Without the TMA: each warp leaves its 16 rows of a panel in shared memory, its lanes meet, and it writes them, 4 at a
// time, its lanes adjacent elements; the next panel is filled when all lanes have read this one.
#acc = #tile.layout<"reg(2@1:1, 2@0:8, 16@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
#c = #tile.shared_layout<"1x1x64x64 16b axis 3 panel 64 swizzle 128 pad 0">
// CHECK-LABEL: simt.kernel @unaligned(
// CHECK-SAME:    tensor_maps = []
// CHECK-NOT:     simt.sync
// CHECK:         simt.warp_sync
// CHECK-COUNT-4: simt.stmatrix
// CHECK-NOT:     simt.proxy_fence
// CHECK:         simt.warp_sync
// CHECK:         scf.for %{{.*}} = %c0_i32 to %c32_i32 step %c8_i32
// CHECK-COUNT-8:   simt.load {{.*}} -> bf16
// CHECK-COUNT-8:   simt.store {{.*}} if {{.*}} : bf16
// CHECK:         simt.warp_sync
// CHECK-COUNT-4: simt.stmatrix
// CHECK:         simt.warp_sync
// CHECK:         scf.for
// CHECK-NOT:     simt.bulk_wait
// CHECK:         simt.return
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @unaligned(%n: index {program.argument = #program.dimension<"n">},
    %C: !tile.global<?x?xbf16> {program.argument = #program.tensor<"C", output, dims[0, 0], alignment = 2>})
    attributes {launch = #program.launch<warps = 4, shared_bytes = 8192>} {
  %c0 = arith.constant 0 : index
  %h = arith.constant dense<1.0> : tensor<64x128xbf16, #acc>
  %staging = tile.alloc_shared "C.staging" at 0 : !tile.shared<1x1x64x64xbf16, #c>
  %s = tile.slice %C[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x128xbf16>
  tile.store %h, %s staging %staging : !tile.shared<1x1x64x64xbf16, #c> atom simt : tensor<64x128xbf16, #acc>, !tile.slice<64x128xbf16>
  tile.return
}
}
