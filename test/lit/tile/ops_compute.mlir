// RUN: %tile-opt %s | %tile-opt | FileCheck %s
// RUN: %tile-opt %s --mlir-print-op-generic | %tile-opt | FileCheck %s

// CHECK-DAG: #[[ACC:.*]] = #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
// CHECK-DAG: #[[ROWS:.*]] = #tile.layout<"reg(8@1:1) lane(2@1:8, 16@0:1) warp(4@0:16)">

// CHECK-LABEL: tile.kernel @products()
tile.kernel @products() {
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x32xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<32x128xbf16>
  %acc = tile.splat %zero : f32 -> tensor<64x128xf32>
  // CHECK: tile.gemm %a, %b, %{{.*}} : !tile.shared<64x32xbf16>, !tile.shared<32x128xbf16>, tensor<64x128xf32>
  %0 = tile.gemm %a, %b, %acc : !tile.shared<64x32xbf16>, !tile.shared<32x128xbf16>, tensor<64x128xf32>
  // The left factor may be in registers.
  // CHECK: %[[P:.*]] = tile.load %a : !tile.shared<64x32xbf16> -> tensor<64x32xbf16>
  %p = tile.load %a : !tile.shared<64x32xbf16> -> tensor<64x32xbf16>
  // CHECK: tile.gemm %[[P]], %b, %{{.*}} policy square atom mma_sync : tensor<64x32xbf16>, !tile.shared<32x128xbf16>, tensor<64x128xf32>
  %1 = tile.gemm %p, %b, %0 policy square atom mma_sync : tensor<64x32xbf16>, !tile.shared<32x128xbf16>, tensor<64x128xf32>
  // CHECK: tile.gemm %a, %b, %{{.*}} policy full_col atom fma :
  %2 = tile.gemm %a, %b, %1 policy full_col atom fma : !tile.shared<64x32xbf16>, !tile.shared<32x128xbf16>, tensor<64x128xf32>
  // CHECK: %[[FIRST:.*]] = tile.gemm_async %a, %b, %{{.*}} atom wgmma :
  %3 = tile.gemm_async %a, %b, %2 atom wgmma : !tile.shared<64x32xbf16>, !tile.shared<32x128xbf16>, tensor<64x128xf32>
  // One in flight may be the accumulator of the next.
  // CHECK: %[[SECOND:.*]] = tile.gemm_async %{{.*}}, %b, %[[FIRST]] :
  %4 = tile.gemm_async %p, %b, %3 : tensor<64x32xbf16>, !tile.shared<32x128xbf16>, tensor<64x128xf32>
  // CHECK: tile.gemm_wait %[[SECOND]] pending(0) : tensor<64x128xf32>
  %5 = tile.gemm_wait %4 pending(0) : tensor<64x128xf32>
  // A sparse left factor, and which of its elements are stored.
  %deep = tile.alloc_shared "deep" : !tile.shared<64x128xbf16>
  %e = tile.alloc_shared "e" : !tile.shared<64x8xui8>
  %places = tile.load %e : !tile.shared<64x8xui8> -> tensor<64x8xui8>
  // CHECK: %[[SPARSE:.*]] = tile.gemm %a, %{{.*}}, %{{.*}} metadata %{{.*}} atom wgmma : !tile.shared<64x32xbf16>, !tile.shared<64x128xbf16>, tensor<64x128xf32>, tensor<64x8xui8>
  %6 = tile.gemm %a, %deep, %5 metadata %places atom wgmma : !tile.shared<64x32xbf16>, !tile.shared<64x128xbf16>, tensor<64x128xf32>, tensor<64x8xui8>
  // CHECK: tile.gemm_async %a, %{{.*}}, %[[SPARSE]] metadata %{{.*}} : !tile.shared<64x32xbf16>, !tile.shared<64x128xbf16>, tensor<64x128xf32>, tensor<64x8xui8>
  %7 = tile.gemm_async %a, %deep, %6 metadata %places : !tile.shared<64x32xbf16>, !tile.shared<64x128xbf16>, tensor<64x128xf32>, tensor<64x8xui8>
  %8 = tile.gemm_wait %7 pending(0) : tensor<64x128xf32>
  tile.return
}

// CHECK-LABEL: tile.kernel @shapes()
tile.kernel @shapes() {
  %x = arith.constant 1.5 : f32
  // CHECK: tile.splat %{{.*}} : f32 -> tensor<16x24xf32>
  %s = tile.splat %x : f32 -> tensor<16x24xf32>
  // CHECK: tile.reduce max %{{.*}} axis(1) : tensor<16x24xf32> -> tensor<16x1xf32>
  %max = tile.reduce max %s axis(1) : tensor<16x24xf32> -> tensor<16x1xf32>
  // CHECK: tile.reduce sum %{{.*}} axis(0) : tensor<16x24xf32> -> tensor<1x24xf32>
  %sum = tile.reduce sum %s axis(0) : tensor<16x24xf32> -> tensor<1x24xf32>
  // CHECK: tile.reduce min %{{.*}} axis(0) : tensor<1x24xf32> -> tensor<1x24xf32>
  %min = tile.reduce min %sum axis(0) : tensor<1x24xf32> -> tensor<1x24xf32>
  %scratch = tile.alloc_shared "scratch" : !tile.shared<2x24xf32>
  // CHECK: tile.reduce sum %{{.*}} axis(0) scratch %scratch : !tile.shared<2x24xf32> : tensor<16x24xf32> -> tensor<1x24xf32>
  %across = tile.reduce sum %s axis(0) scratch %scratch : !tile.shared<2x24xf32> : tensor<16x24xf32> -> tensor<1x24xf32>
  // CHECK: tile.reduce product %{{.*}} axis(1) : tensor<16x24xf32> -> tensor<16x1xf32>
  %product = tile.reduce product %s axis(1) : tensor<16x24xf32> -> tensor<16x1xf32>
  // CHECK: tile.reduce max_or_nan %{{.*}} axis(1) : tensor<16x24xf32> -> tensor<16x1xf32>
  %maxOrNaN = tile.reduce max_or_nan %s axis(1) : tensor<16x24xf32> -> tensor<16x1xf32>
  // CHECK: tile.reduce bit_xor %{{.*}} axis(1) : tensor<16x24xi32> -> tensor<16x1xi32>
  %bits = arith.constant dense<5> : tensor<16x24xi32>
  %parity = tile.reduce bit_xor %bits axis(1) : tensor<16x24xi32> -> tensor<16x1xi32>
  // CHECK: tile.scan bit_or %{{.*}} axis(0) : tensor<16x24xi32>
  %seen = tile.scan bit_or %bits axis(0) : tensor<16x24xi32>
  // CHECK: tile.scan sum %{{.*}} axis(1) : tensor<16x24xf32>
  %sums = tile.scan sum %s axis(1) : tensor<16x24xf32>
  // CHECK: tile.scan product %{{.*}} axis(0) reverse scratch %scratch : !tile.shared<2x24xf32> : tensor<16x24xf32>
  %products = tile.scan product %s axis(0) reverse scratch %scratch : !tile.shared<2x24xf32> : tensor<16x24xf32>
  // CHECK: tile.cuda "f"(%{{.*}}, %{{.*}}) {options = ["--use_fast_math"], source = "{{.*}}"} : (tensor<16x24xf32>, tensor<16x24xf32>) -> tensor<16x24xi32>
  %function = tile.cuda "f"(%s, %sums) {options = ["--use_fast_math"], source = "int f(float x, float y) { return x < y; }"} : (tensor<16x24xf32>, tensor<16x24xf32>) -> tensor<16x24xi32>
  // CHECK: tile.reshape %{{.*}} : tensor<16x24xf32> -> tensor<4x96xf32>
  %long = tile.reshape %s : tensor<16x24xf32> -> tensor<4x96xf32>
  // CHECK: tile.reshape %{{.*}} : tensor<16x24xf32> -> tensor<16x48xbf16>
  %halves = tile.reshape %s : tensor<16x24xf32> -> tensor<16x48xbf16>
  // CHECK: tile.broadcast %{{.*}} : tensor<16x1xf32> -> tensor<16x24xf32>
  %wide = tile.broadcast %max : tensor<16x1xf32> -> tensor<16x24xf32>
  // CHECK: tile.coordinates 1 : tensor<16x24xindex>
  %column = tile.coordinates 1 : tensor<16x24xindex>
  // Element-wise arithmetic is upstream's.
  // CHECK: arith.subf %{{.*}}, %{{.*}} : tensor<16x24xf32>
  %d = arith.subf %s, %wide : tensor<16x24xf32>
  // CHECK: math.exp2 %{{.*}} : tensor<16x24xf32>
  %e = math.exp2 %d : tensor<16x24xf32>
  %larger = arith.cmpf ogt, %e, %wide : tensor<16x24xf32>
  // CHECK: %[[ANY:.*]] = tile.any_in_warp %{{.*}} : tensor<16x24xi1>
  %any = tile.any_in_warp %larger : tensor<16x24xi1>
  // Two branches, one in the other, become one; one that only chooses between fragments becomes a choice.
  // CHECK: %[[BOTH:.*]] = arith.andi %[[ANY]], %[[ANY]] : i1
  %both = arith.andi %any, %any : i1
  // CHECK: arith.select %[[BOTH]], %{{.*}}, %{{.*}} : tensor<16x24xf32>
  %chosen = arith.select %both, %e, %wide : tensor<16x24xf32>
  // CHECK: scf.if %[[ANY]] -> (tensor<16x24xf32>)
  %f = scf.if %any -> tensor<16x24xf32> {
    %g = arith.addf %e, %wide : tensor<16x24xf32>
    scf.yield %g : tensor<16x24xf32>
  } else {
    scf.yield %e : tensor<16x24xf32>
  }
  tile.return
}

// CHECK-LABEL: tile.kernel @layouts()
tile.kernel @layouts() {
  %x = arith.constant 1.5 : f32
  // CHECK: tile.splat %{{.*}} : f32 -> tensor<64x16xf32, #[[ACC]]>
  %s = tile.splat %x : f32 -> tensor<64x16xf32, #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">>
  // CHECK: tile.convert_layout %{{.*}} : tensor<64x16xf32, #[[ACC]]> -> tensor<64x16xf32, #[[ROWS]]>
  %c = tile.convert_layout %s : tensor<64x16xf32, #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">> -> tensor<64x16xf32, #tile.layout<"reg(8@1:1) lane(2@1:8, 16@0:1) warp(4@0:16)">>
  %scratch = tile.alloc_shared "scratch" : !tile.shared<64x16xf32>
  // CHECK: tile.convert_layout %{{.*}} scratch %scratch : !tile.shared<64x16xf32> : tensor<64x16xf32,
  %back = tile.convert_layout %c scratch %scratch : !tile.shared<64x16xf32> : tensor<64x16xf32, #tile.layout<"reg(8@1:1) lane(2@1:8, 16@0:1) warp(4@0:16)">> -> tensor<64x16xf32, #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">>
  tile.return
}

// CHECK-LABEL: tile.kernel @conversions(
tile.kernel @conversions() {
  %x = arith.constant 1.5 : f32
  // CHECK: tile.convert %{{.*}} : f32 to bf16
  %0 = tile.convert %x : f32 to bf16
  // CHECK: tile.convert %{{.*}} rounding zero : f32 to i32
  %1 = tile.convert %x rounding zero : f32 to i32
  %s = tile.splat %x : f32 -> tensor<64x16xf32>
  // CHECK: tile.convert %{{.*}} saturate : tensor<64x16xf32> to tensor<64x16xf8E4M3FN>
  %2 = tile.convert %s rounding nearest saturate : tensor<64x16xf32> to tensor<64x16xf8E4M3FN>
  // CHECK: tile.convert %{{.*}} rounding down saturate : tensor<64x16xf32> to tensor<64x16xi8>
  %3 = tile.convert %s rounding down saturate : tensor<64x16xf32> to tensor<64x16xi8>
  tile.return
}
