// RUN: %tile-opt %s --tile-place-sums -split-input-file | FileCheck %s

// What a loop sums up from zeros stays in tensor memory until it ends. The first product overwrites; a loop without iterations
// leaves zeros.
// CHECK-LABEL: tile.kernel @carried(
// CHECK:         %[[SUM:.*]] = tile.alloc_tensor_memory "sum" : !tile.tensor_memory<128x64xf32>
// CHECK:         %[[ZERO:.*]] = tile.splat
// CHECK:         scf.for %[[I:.*]] = %[[FIRST:.*]] to %[[END:.*]] step
// CHECK:           %[[LATER:.*]] = arith.cmpi ne, %[[I]], %[[FIRST]]
// CHECK-NEXT:      tile.gemm_in_place %a, %b, %[[SUM]] if %[[LATER]]
// CHECK-NOT:       tile.load
// CHECK:         }
// CHECK-NEXT:    %[[ANY:.*]] = arith.cmpi slt, %[[FIRST]], %[[END]]
// CHECK-NEXT:    %[[LOADED:.*]] = scf.if %[[ANY]] -> (tensor<128x64xf32>) {
// CHECK-NEXT:      %[[VALUE:.*]] = tile.load %[[SUM]]
// CHECK-NEXT:      scf.yield %[[VALUE]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %[[ZERO]]
// CHECK:         tile.store %[[LOADED]]
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @carried(%k: index {program.argument = #program.dimension<"k">},
    %C: !tile.global<128x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
    %new = tile.gemm %a, %b, %acc atom tcgen05 : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    scf.yield %new : tensor<128x64xf32>
  }
  %sc = tile.slice %C[%c0, %c0] : !tile.global<128x64xf32> -> !tile.slice<128x64xf32>
  tile.store %sum, %sc : tensor<128x64xf32>, !tile.slice<128x64xf32>
  tile.return
}
}

// -----

// Of two products in a loop each is loaded at once, and added to what the loop carries in registers. A left factor in registers
// goes through shared memory. From zeros nothing is added. mma.sync adds in registers.
// CHECK-LABEL: tile.kernel @one_by_one(
// CHECK:         %[[FACTOR:.*]] = tile.alloc_shared "factor" : !tile.shared<128x64xbf16>
// CHECK:         scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}})
// CHECK:           tile.gemm_in_place %a, %b, %[[ONE:.*]] if %false
// CHECK-NEXT:      %[[S:.*]] = tile.load %[[ONE]]
// CHECK-NEXT:      %[[P:.*]] = tile.convert %[[S]]
// CHECK-NEXT:      tile.store %[[P]], %[[FACTOR]]
// CHECK-NEXT:      %[[FALSE:.*]] = arith.constant false
// CHECK-NEXT:      tile.gemm_in_place %[[FACTOR]], %b, %[[TWO:.*]] if %[[FALSE]]
// CHECK-NEXT:      %[[O:.*]] = tile.load %[[TWO]]
// CHECK-NEXT:      %[[ADDED:.*]] = arith.addf %[[ACC]], %[[O]]
// CHECK-NEXT:      %[[LAST:.*]] = tile.gemm %a, %b, %[[ADDED]] atom mma_sync
// CHECK-NEXT:      scf.yield %[[LAST]]
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @one_by_one(%k: index {program.argument = #program.dimension<"k">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
    %s = tile.gemm %a, %b, %zero atom tcgen05 : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    %p = tile.convert %s : tensor<128x64xf32> to tensor<128x64xbf16>
    %o = tile.gemm %p, %b, %acc atom tcgen05 : tensor<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    %last = tile.gemm %a, %b, %o atom mma_sync : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    scf.yield %last : tensor<128x64xf32>
  }
  tile.return
}
}
