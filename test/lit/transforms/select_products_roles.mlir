// RUN: %tile-opt %s --tile-select-products --tile-promote-variables -split-input-file -verify-diagnostics | FileCheck %s

// Products that a role starts add in tensor memory. What enters the sum first is stored there; a wait is for all of the role's products,
// and who computes with the sum loads it after that. The barrier has a phase for each wait.
// CHECK-LABEL: tile.kernel @started(
// CHECK-DAG:     %[[SUM:.*]] = tile.alloc_tensor_memory "math.sum" : !tile.tensor_memory<128x64xf32>
// CHECK-DAG:     %[[DONE:.*]] = tile.alloc_barrier "math.products" count(1)
// CHECK:         tile.role "math" warps(4) {
// CHECK:           %[[ZERO:.*]] = tile.splat
// CHECK:           tile.store %[[ZERO]], %[[SUM]]
// CHECK:           %[[LOOP:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %[[ZERO]], %[[PHASE:.*]] = %{{.*}}) -> (tensor<128x64xf32>, index)
// CHECK:             tile.gemm_in_place %a, %b, %[[SUM]] if %true
// CHECK-NOT:         tile.gemm_async
// CHECK:             tile.sync
// CHECK-NEXT:        tile.arrive %[[DONE]] after_products
// CHECK-NEXT:        tile.wait %[[DONE]] phase(%[[PHASE]])
// CHECK:             arith.addi %[[PHASE]], %{{.*}} : index
// CHECK:           tile.wait %[[DONE]] phase(%[[LOOP]]#1)
// CHECK:           %[[RESULT:.*]] = tile.load %[[SUM]]
// CHECK:           tile.store %[[RESULT]], %{{.*}}
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @started(%k: index {program.argument = #program.dimension<"k">},
    %C: !tile.global<128x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) {
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %f0 = arith.constant 0.0 : f32
      %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
      %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
        %new = tile.gemm_async %a, %b, %acc : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
        %old = tile.gemm_wait %new pending(1) : tensor<128x64xf32>
        scf.yield %old : tensor<128x64xf32>
      }
      %done = tile.gemm_wait %sum pending(0) : tensor<128x64xf32>
      %sc = tile.slice %C[%c0, %c0] : !tile.global<128x64xf32> -> !tile.slice<128x64xf32>
      tile.store %done, %sc : tensor<128x64xf32>, !tile.slice<128x64xf32>
    }
    tile.role "load" warps(4) {
    }
  }
  tile.return
}
}

// -----

// From zeros a product overwrites. A left factor in registers is stored first; one that is complete at once is waited for.
// CHECK-LABEL: tile.kernel @factor(
// CHECK-DAG:     %[[FACTOR:.*]] = tile.alloc_tensor_memory "math.factor" : !tile.tensor_memory<64x64xbf16>
// CHECK-DAG:     %[[ONE:.*]] = tile.alloc_tensor_memory "math.sum2" : !tile.tensor_memory<64x64xf32>
// CHECK:           tile.gemm_in_place %a, %b, %[[ONE]] if %false
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      tile.arrive
// CHECK-NEXT:      tile.wait
// CHECK:           %[[S:.*]] = tile.load %[[ONE]]
// CHECK:           %[[P:.*]] = tile.convert %[[S]]
// CHECK:           tile.store %[[P]], %[[FACTOR]]
// CHECK:           tile.gemm_in_place %[[FACTOR]], %b
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @factor(%C: !tile.global<64x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) {
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %c0 = arith.constant 0 : index
      %f0 = arith.constant 0.0 : f32
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %s = tile.gemm %a, %b, %zero : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      %p = tile.convert %s : tensor<64x64xf32> to tensor<64x64xbf16>
      %o = tile.gemm_async %p, %b, %zero : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      %done = tile.gemm_wait %o pending(0) : tensor<64x64xf32>
      %sc = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
      tile.store %done, %sc : tensor<64x64xf32>, !tile.slice<64x64xf32>
    }
    tile.role "load" warps(4) {
    }
  }
  tile.return
}
}

// -----

// Two products add to one sum: each would need a tile of its own.
// CHECK-LABEL: tile.kernel @two_ways(
// CHECK-NOT:     tile.gemm_in_place
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @two_ways(%C: !tile.global<64x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) {
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %c0 = arith.constant 0 : index
      %f0 = arith.constant 0.0 : f32
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      // expected-remark @below {{product uses mma.sync, not tcgen05: two operations continue one sum}}
      %s = tile.gemm %a, %b, %zero : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      // expected-remark @below {{product uses mma.sync, not tcgen05: two operations continue one sum}}
      %x = tile.gemm %a, %b, %s : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      // expected-remark @below {{product uses mma.sync, not tcgen05: two operations continue one sum}}
      %y = tile.gemm %a, %b, %s : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      %z = arith.addf %x, %y : tensor<64x64xf32>
      %sc = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
      tile.store %z, %sc : tensor<64x64xf32>, !tile.slice<64x64xf32>
    }
    tile.role "load" warps(4) {
    }
  }
  tile.return
}
}

// -----

// Two sums from the same zeros, both in flight, are two tiles; what a loop exchanges would be one.
// CHECK-LABEL: tile.kernel @same_zeros(
// CHECK-DAG:     %[[ONE:.*]] = tile.alloc_tensor_memory "math.sum" : !tile.tensor_memory<64x64xf32>
// CHECK-DAG:     %[[TWO:.*]] = tile.alloc_tensor_memory "math.sum2" : !tile.tensor_memory<64x64xf32>
// CHECK:           tile.gemm_in_place %a, %b, %[[ONE]] if %false
// CHECK:           tile.gemm_in_place %a, %b, %[[TWO]] if %false
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @same_zeros(%C: !tile.global<64x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) {
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %c0 = arith.constant 0 : index
      %f0 = arith.constant 0.0 : f32
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %x = tile.gemm_async %a, %b, %zero : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      %y = tile.gemm_async %a, %b, %zero : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      %dx = tile.gemm_wait %x pending(0) : tensor<64x64xf32>
      %dy = tile.gemm_wait %y pending(0) : tensor<64x64xf32>
      %z = arith.addf %dx, %dy : tensor<64x64xf32>
      %sc = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
      tile.store %z, %sc : tensor<64x64xf32>, !tile.slice<64x64xf32>
    }
    tile.role "load" warps(4) {
    }
  }
  tile.return
}
}

// -----

// CHECK-LABEL: tile.kernel @exchanged(
// CHECK-NOT:     tile.gemm_in_place
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @exchanged(%k: index {program.argument = #program.dimension<"k">},
    %C: !tile.global<64x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) {
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %f0 = arith.constant 0.0 : f32
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %r:2 = scf.for %i = %c0 to %k step %c1 iter_args(%x = %zero, %y = %zero) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
        // expected-remark @below {{product uses mma.sync, not tcgen05: two values of a loop or a branch are one sum}}
        %new = tile.gemm %a, %b, %x : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        scf.yield %y, %new : tensor<64x64xf32>, tensor<64x64xf32>
      }
      %sc = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
      tile.store %r#0, %sc : tensor<64x64xf32>, !tile.slice<64x64xf32>
    }
    tile.role "load" warps(4) {
    }
  }
  tile.return
}
}
