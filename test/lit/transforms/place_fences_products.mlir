// RUN: %tile-opt %s --tile-place-fences -split-input-file | FileCheck %s

// A product that the next iteration awaits still reads its factor when the threads meet for another reason:
// they meet again after the wait, before they write the factor.
// CHECK-LABEL: tile.kernel @carried(
// CHECK:         scf.for
// CHECK-NEXT:      %{{.*}} = tile.gemm_wait
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      tile.store %{{.*}}, %a
// CHECK-NEXT:      tile.proxy_fence
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      %{{.*}} = tile.gemm_async
// CHECK-NEXT:      tile.store %{{.*}}, %c
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      %{{.*}} = tile.load %c
// CHECK-NEXT:      scf.yield
tile.kernel @carried(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %c = tile.alloc_shared "c" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %x = tile.splat %h0 : bf16 -> tensor<128x64xbf16>
  %y = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %first = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%in = %first) -> (tensor<128x64xf32>) {
    %done = tile.gemm_wait %in pending(0) : tensor<128x64xf32>
    tile.store %x, %a atom simt : tensor<128x64xbf16>, !tile.shared<128x64xbf16>
    %next = tile.gemm_async %a, %b, %done atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    tile.store %y, %c atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
    %l = tile.load %c : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    scf.yield %next : tensor<128x64xf32>
  }
  %last = tile.gemm_wait %sum pending(0) : tensor<128x64xf32>
  tile.return
}

// -----

// With one product left in flight, a meeting after the wait orders the earlier one alone.
// CHECK-LABEL: tile.kernel @pending(
// CHECK:         tile.gemm_async %a
// CHECK-NEXT:    %{{.*}} = tile.gemm_async %b
// CHECK-NEXT:    %{{.*}} = tile.gemm_wait %{{.*}} pending(1)
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.store %{{.*}}, %a
// CHECK-NEXT:    %{{.*}} = tile.gemm_wait %{{.*}} pending(0)
// CHECK-NEXT:    tile.proxy_fence
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.store %{{.*}}, %b
// CHECK-NEXT:    tile.return
tile.kernel @pending(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8>} {
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<128x64xbf16>
  %c = tile.alloc_shared "c" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %other = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %x = tile.splat %h0 : bf16 -> tensor<128x64xbf16>
  %p = tile.gemm_async %a, %c, %zero atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
  %q = tile.gemm_async %b, %c, %other atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
  %pd = tile.gemm_wait %p pending(1) : tensor<128x64xf32>
  tile.store %x, %a atom simt : tensor<128x64xbf16>, !tile.shared<128x64xbf16>
  %qd = tile.gemm_wait %q pending(0) : tensor<128x64xf32>
  tile.store %x, %b atom simt : tensor<128x64xbf16>, !tile.shared<128x64xbf16>
  tile.return
}
