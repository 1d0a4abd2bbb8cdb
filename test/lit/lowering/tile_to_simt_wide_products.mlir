// RUN: %tlc-opt %s -tile-to-simt -split-input-file | FileCheck %s

// 320 columns of 64 rows: instructions of 192 and 128 columns, cut between panels of 64. Each adds to its own part of
// the registers, and reads the right factor from its first column on: a panel has 2048 bytes, that is 128 units of 16.
#swizzled = #tile.shared_layout<"64x16 16b axis 1 panel 16 swizzle 32 pad 0">
#right = #tile.shared_layout<"16x320 16b axis 1 panel 64 swizzle 128 pad 0">
#wgmma = #tile.layout<"reg(2@1:1, 2@0:8, 40@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: simt.kernel @wide(
// CHECK:         %[[RIGHT:.*]] = simt.matrix_descriptor {{.*}} swizzle bytes128
// CHECK:         %[[LEFT:.*]] = simt.matrix_descriptor {{.*}} swizzle bytes32
// CHECK:         %[[REST:.*]] = arith.addi %[[RIGHT]], %c384_i64
// CHECK-NEXT:    simt.wgmma %{{.*}}, %[[LEFT]], %[[RIGHT]] {{.*}} n = 192 : i64, {{.*}} : vector<96xf32>
// CHECK-NEXT:    simt.wgmma %{{.*}}, %[[LEFT]], %[[REST]] {{.*}} n = 128 : i64, {{.*}} : vector<64xf32>
// CHECK-NEXT:    simt.wgmma_commit
tile.kernel @wide() attributes {launch = #program.launch<warps = 4>} {
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" at 0 : !tile.shared<64x16xbf16, #swizzled>
  %b = tile.alloc_shared "b" at 65536 : !tile.shared<16x320xbf16, #right>
  %acc = tile.splat %zero : f32 -> tensor<64x320xf32, #wgmma>
  %new = tile.gemm %a, %b, %acc atom wgmma : !tile.shared<64x16xbf16, #swizzled>, !tile.shared<16x320xbf16, #right>, tensor<64x320xf32, #wgmma>
  tile.return
}
}

// -----

// 400 columns of tensor memory: 208 and 192, whole steps of 16, one step of k after the other for each.
#left = #tile.shared_layout<"128x32 16b axis 1 panel 32 swizzle 64 pad 0">
#right = #tile.shared_layout<"400x32 16b axis 1 panel 32 swizzle 64 pad 0">
module attributes {program.target = #program.target<"sm_100a">} {
// CHECK-LABEL: simt.kernel @wide_in_place(
// CHECK:         simt.elect
// CHECK:         simt.tcgen05_mma %[[SUMS:.*]], %{{.*}}, %{{.*}} if %{{.*}} {{.*}} n = 208 : i64
// CHECK:         simt.tcgen05_mma %[[SUMS]], %{{.*}}, %{{.*}} if %true {{.*}} n = 208 : i64
// CHECK:         %[[REST:.*]] = arith.addi %[[SUMS]], %c208_i32
// CHECK:         simt.tcgen05_mma %[[REST]], %{{.*}}, %{{.*}} if %{{.*}} {{.*}} n = 192 : i64
// CHECK:         simt.tcgen05_mma %[[REST]], %{{.*}}, %{{.*}} if %true {{.*}} n = 192 : i64
// CHECK-NOT:     simt.tcgen05_mma
tile.kernel @wide_in_place() attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %false = arith.constant false
  tile.reserve_tensor_memory "tensor memory" columns(512) at 65544
  %done = tile.alloc_barrier "done" count(1) at 65536
  %a = tile.alloc_shared "a" at 0 : !tile.shared<128x32xbf16, #left>
  %b = tile.alloc_shared "b" at 16384 : !tile.shared<400x32xbf16, #right>
  %bView = tile.transpose %b : !tile.shared<400x32xbf16, #right> -> !tile.shared<32x400xbf16, #right, transposed>
  %acc = tile.alloc_tensor_memory "acc" at 0 : !tile.tensor_memory<128x400xf32>
  tile.gemm_in_place %a, %bView, %acc if %false : !tile.shared<128x32xbf16, #left>, !tile.shared<32x400xbf16, #right, transposed>, !tile.tensor_memory<128x400xf32>
  tile.arrive %done after_products
  tile.wait %done phase(%c0)
  tile.return
}
}
