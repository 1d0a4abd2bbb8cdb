// RUN: %tile-opt %s --tile-select-products --tile-place-sums --tile-assign-roles=strategies=load-math,load-matrix-math --tile-select-copies -split-input-file | FileCheck %s
// RUN: %tile-opt %s --tile-select-products --tile-place-sums --tile-assign-roles=strategies=load-matrix-math --tile-select-copies --tile-warp-specialize -split-input-file | FileCheck %s --check-prefix=ROLES

// One thread loads, one starts the products, a warpgroup loads the sums, of which there are two: one is stored while the next one
// is added up. A loop of products fills a slot, with the gets of its factors in it.
// CHECK-LABEL: tile.kernel @gemm(
// CHECK-SAME:    roles = [<"load", warps = 2>, <"matrix", warps = 2>, <"math", warps = 4>],
// CHECK-SAME:    channels = [<"a.b", from = "load", to = "matrix", slots = 3>, <"sum", from = "matrix", to = "math", slots = 2>]>
// CHECK:         tile.alloc_shared "C.staging" : !tile.shared<1x2x128x64xbf16>
// CHECK:         tile.gemm_in_place {{.*}} {tile.role = "matrix"}
// CHECK:         } {tile.channel = "sum", tile.pipeline
// CHECK:         tile.load %sum {tile.role = "math"}
// CHECK:         tile.store {{.*}} staging %C.staging {{.*}} atom tma {tile.role = "math"}
// ROLES-LABEL: tile.kernel @gemm(
// ROLES:         tile.alloc_tensor_memory "sum" : !tile.tensor_memory<2x128x128xf32>
// ROLES:         tile.role "matrix" warps(2) {
// ROLES:           scf.for
// ROLES:             tile.put %sum(%[[AT:.*]]) : !tile.channel<2> {
// ROLES:               %[[SUM:.*]] = tile.slot %{{.*}}[%[[AT]]] : !tile.tensor_memory
// ROLES:               scf.for
// ROLES:                 tile.get %a.b
// ROLES:                 tile.gemm_in_place %{{.*}}, %{{.*}}, %[[SUM]] if
// ROLES-NEXT:            tile.release_oldest %a.b after_products
// ROLES:         tile.role "math" warps(4) {
// ROLES:           tile.get %sum
// ROLES:           tile.load
// ROLES:           tile.release_oldest %sum :
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @gemm(%m: index {program.argument = #program.dimension<"m">}, %k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 1], alignment = 16>},
    %C: !tile.global<?x128xbf16> {program.argument = #program.tensor<"C", output, dims[0, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<128x64xbf16>
  %bt = tile.transpose %b : !tile.shared<128x64xbf16> -> !tile.shared<64x128xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<128x128xf32>
  scf.for %t = %c0 to %m step %c1 {
    %row = arith.muli %t, %c128 : index
    %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
      %sa = tile.slice %A[%row, %kk] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
      tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
      %sb = tile.slice %A[%c0, %kk] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
      tile.copy %sb, %b : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
      %new = tile.gemm %a, %bt, %acc : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16, transposed>, tensor<128x128xf32>
      scf.yield %new : tensor<128x128xf32>
    } {tile.pipeline = #tile.pipeline<stages = 3>}
    %h = tile.convert %sum : tensor<128x128xf32> to tensor<128x128xbf16>
    %sc = tile.slice %C[%row, %c0] : !tile.global<?x128xbf16> -> !tile.slice<128x128xbf16>
    tile.store %h, %sc : tensor<128x128xbf16>, !tile.slice<128x128xbf16>
  }
  tile.return
}
}

// -----

// An author who orders accesses keeps the kernel as it is.
// CHECK-LABEL: tile.kernel @by_hand(
// CHECK-NOT:     tile.role
// CHECK:         tile.gemm_in_place
// CHECK-NOT:     tile.role
// ROLES-LABEL: tile.kernel @by_hand(
// ROLES-NOT:     tile.roles
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @by_hand(%A: !tile.global<128x64xbf16> {program.argument = #program.tensor<"A", input, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %false = arith.constant false
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x128xf32>
  %done = tile.alloc_barrier "done" count(1)
  %sa = tile.slice %A[%c0, %c0] : !tile.global<128x64xbf16> -> !tile.slice<128x64xbf16>
  tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
  %at = tile.transpose %a : !tile.shared<128x64xbf16> -> !tile.shared<64x128xbf16, transposed>
  tile.gemm_in_place %a, %at, %acc if %false : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16, transposed>, !tile.tensor_memory<128x128xf32>
  tile.arrive %done after_products
  tile.wait %done phase(%c0)
  %c = tile.load %acc : !tile.tensor_memory<128x128xf32> -> tensor<128x128xf32>
  tile.return
}
}

// -----

// Attention: the scores go from the role of products to that which computes, the output and the weights go back by one channel. The two
// roles alternate on the output: the branch that scales it fills the only slot, then the weights for the product, which releases that, and
// after the loop the role that computes takes it back.
// CHECK-LABEL: tile.kernel @attention(
// CHECK-SAME:    <"product", from = "matrix", to = "math", slots = 2>
// CHECK-SAME:    <"sum", from = "math", to = "matrix", slots = 1>
// CHECK-NOT:     <"factor"
// ROLES-LABEL: tile.kernel @attention(
// ROLES:         tile.role "matrix"
// ROLES:           tile.put %product(
// ROLES:           tile.get %sum
// ROLES-NOT:       tile.get
// ROLES:           tile.gemm_in_place
// ROLES:           tile.release_oldest %sum after_products
// ROLES:         tile.role "math"
// ROLES:           scf.for
// ROLES:             tile.get %product
// ROLES:             tile.put %sum(%[[AT:.*]])
// ROLES:               %[[SUM:.*]] = tile.slot %{{.*}}[%[[AT]]]
// ROLES:               tile.columns %[[SUM]] from
// ROLES:               scf.if
// ROLES:                 tile.store
// ROLES:               } else {
// ROLES:                 tile.load
// ROLES:                 tile.store
// ROLES:               }
// ROLES:               tile.store
// ROLES:           %[[MINE:.*]] = tile.reclaim %sum
// ROLES:           %[[ALL:.*]] = tile.slot %{{.*}}[%[[MINE]]]
// ROLES:           scf.if
// ROLES:             tile.load %[[ALL]]
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @attention(%n: index {program.argument = #program.dimension<"n">},
    %Q: !tile.global<128x64xbf16> {program.argument = #program.tensor<"Q", input, dims[-1, -1], alignment = 16>},
    %K: !tile.global<?x64xbf16> {program.argument = #program.tensor<"K", input, dims[0, -1], alignment = 16>},
    %O: !tile.global<128x64xf32> {program.argument = #program.tensor<"O", output, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %f2 = arith.constant 2.0 : f32
  %q = tile.alloc_shared "q" : !tile.shared<128x64xbf16>
  %k = tile.alloc_shared "k" : !tile.shared<64x64xbf16>
  %v = tile.alloc_shared "v" : !tile.shared<64x64xbf16>
  %kt = tile.transpose %k : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %sq = tile.slice %Q[%c0, %c0] : !tile.global<128x64xbf16> -> !tile.slice<128x64xbf16>
  tile.copy %sq, %q : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %o = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
    %sk = tile.slice %K[%i, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sk, %k : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %sv = tile.slice %K[%c0, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sv, %v : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %s = tile.gemm %q, %kt, %zero : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<128x64xf32>
    %p = tile.convert %s : tensor<128x64xf32> to tensor<128x64xbf16>
    %two = tile.splat %f2 : f32 -> tensor<128x64xf32>
    %scaled = arith.mulf %acc, %two : tensor<128x64xf32>
    %next = tile.gemm %p, %v, %scaled : tensor<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    scf.yield %next : tensor<128x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %so = tile.slice %O[%c0, %c0] : !tile.global<128x64xf32> -> !tile.slice<128x64xf32>
  tile.store %o, %so : tensor<128x64xf32>, !tile.slice<128x64xf32>
  tile.return
}
}

// -----

// A role that stores takes a thread of the warpgroup of those. It has both stores: they are apart.
// CHECK-LABEL: tile.kernel @stored(
// CHECK-SAME:    roles = [<"load", warps = 1>, <"store", warps = 1>, <"matrix", warps = 2>, <"math", warps = 4>],
// CHECK-SAME:    <"C.tile", from = "math", to = "store", slots = 1>]>
// CHECK:         tile.store %{{.*}}, %C.tile atom simt {tile.channel = "C.tile", tile.role = "math"}
// CHECK:         tile.copy %C.tile, %{{.*}} atom tma {tile.role = "store"}
// CHECK:         tile.copy %C.tile, %{{.*}} atom tma {tile.role = "store"}
// ROLES-LABEL: tile.kernel @stored(
// ROLES:         tile.role "load" warps(1) {
// ROLES:         tile.role "store" warps(1) {
// ROLES:         tile.role "matrix" warps(2) {
// ROLES:         tile.role "math" warps(4) {
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @stored(%m: index {program.argument = #program.dimension<"m">}, %k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 1], alignment = 16>},
    %C: !tile.global<?x256xbf16> {program.argument = #program.tensor<"C", output, dims[0, -1], alignment = 16>}) attributes {store_role} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<128x64xbf16>
  %bt = tile.transpose %b : !tile.shared<128x64xbf16> -> !tile.shared<64x128xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<128x128xf32>
  scf.for %t = %c0 to %m step %c1 {
    %row = arith.muli %t, %c128 : index
    %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
      %sa = tile.slice %A[%row, %kk] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
      tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
      %sb = tile.slice %A[%c0, %kk] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
      tile.copy %sb, %b : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
      %new = tile.gemm %a, %bt, %acc : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16, transposed>, tensor<128x128xf32>
      scf.yield %new : tensor<128x128xf32>
    } {tile.pipeline = #tile.pipeline<stages = 3>}
    %h = tile.convert %sum : tensor<128x128xf32> to tensor<128x128xbf16>
    %sc = tile.slice %C[%row, %c0] : !tile.global<?x256xbf16> -> !tile.slice<128x128xbf16>
    tile.store %h, %sc : tensor<128x128xbf16>, !tile.slice<128x128xbf16>
    %sd = tile.slice %C[%row, %c128] : !tile.global<?x256xbf16> -> !tile.slice<128x128xbf16>
    tile.store %h, %sd : tensor<128x128xbf16>, !tile.slice<128x128xbf16>
  }
  tile.return
}
}
