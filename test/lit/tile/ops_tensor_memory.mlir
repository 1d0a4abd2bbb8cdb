// RUN: %tile-opt %s | %tile-opt | FileCheck %s
// RUN: %tile-opt %s --mlir-print-op-generic | %tile-opt | FileCheck %s

// CHECK-LABEL: tile.kernel @tensor_memory()
tile.kernel @tensor_memory() attributes {launch = #program.launch<warps = 4>} {
  %true = arith.constant true
  // CHECK: tile.reserve_tensor_memory "tensor memory" columns(512)
  tile.reserve_tensor_memory "tensor memory" columns(512)
  // CHECK: tile.reserve_tensor_memory "planned" columns(32) at 16
  tile.reserve_tensor_memory "planned" columns(32) at 16
  // CHECK: %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<2x128x128xf32>
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<2x128x128xf32>
  // CHECK: %p = tile.alloc_tensor_memory "p" at 480 : !tile.tensor_memory<128x64xbf16>
  %p = tile.alloc_tensor_memory "p" at 480 : !tile.tensor_memory<128x64xbf16>
  // CHECK: %upper = tile.alloc_tensor_memory "upper" at 0 lane 16 : !tile.tensor_memory<64x64xbf16>
  %upper = tile.alloc_tensor_memory "upper" at 0 lane 16 : !tile.tensor_memory<64x64xbf16>
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  %at = tile.cursor : !tile.cursor<2>
  // CHECK: %[[SLOT:.*]] = tile.slot %acc[%{{.*}}] : !tile.tensor_memory<2x128x128xf32>, !tile.cursor<2> -> !tile.tensor_memory<128x128xf32>
  %slot = tile.slot %acc[%at] : !tile.tensor_memory<2x128x128xf32>, !tile.cursor<2> -> !tile.tensor_memory<128x128xf32>
  // CHECK: tile.columns %[[SLOT]] from 96 : !tile.tensor_memory<128x128xf32> -> !tile.tensor_memory<128x32xf32>
  %columns = tile.columns %slot from 96 : !tile.tensor_memory<128x128xf32> -> !tile.tensor_memory<128x32xf32>
  // CHECK: %[[LOADED:.*]] = tile.load %p : !tile.tensor_memory<128x64xbf16> -> tensor<128x64xbf16>
  %loaded = tile.load %p : !tile.tensor_memory<128x64xbf16> -> tensor<128x64xbf16>
  // CHECK: tile.tensor_memory_fence{{$}}
  tile.tensor_memory_fence
  // CHECK: tile.tensor_memory_fence after
  tile.tensor_memory_fence after
  // CHECK: tile.store %[[LOADED]], %p : tensor<128x64xbf16>, !tile.tensor_memory<128x64xbf16>
  tile.store %loaded, %p : tensor<128x64xbf16>, !tile.tensor_memory<128x64xbf16>
  // CHECK: tile.gemm_in_place %a, %b, %[[SLOT]] if %true : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, !tile.tensor_memory<128x128xf32>
  tile.gemm_in_place %a, %b, %slot if %true : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, !tile.tensor_memory<128x128xf32>
  // CHECK: tile.gemm_in_place %p, %b, %[[SLOT]] if %true : !tile.tensor_memory<128x64xbf16>, !tile.shared<64x128xbf16>, !tile.tensor_memory<128x128xf32>
  tile.gemm_in_place %p, %b, %slot if %true : !tile.tensor_memory<128x64xbf16>, !tile.shared<64x128xbf16>, !tile.tensor_memory<128x128xf32>
  tile.return
}

// Arrivals that products bring about.
// CHECK-LABEL: tile.kernel @after_products()
tile.kernel @after_products() {
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %done = tile.alloc_barrier "done" count(1)
  %at = tile.cursor : !tile.cursor<2>
  // CHECK: tile.publish %ring[%{{.*}}] after_products : !tile.ring<2>
  tile.publish %ring[%at] after_products : !tile.ring<2>
  // CHECK: tile.release %ring[%{{.*}}] after_products : !tile.ring<2>
  tile.release %ring[%at] after_products : !tile.ring<2>
  // CHECK: tile.arrive %done after_products
  tile.arrive %done after_products
  tile.return
}
