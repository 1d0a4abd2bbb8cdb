// RUN: split-file %s %t
// RUN: %tile-opt %t/stores.mlir --tile-select-products --tile-place-sums --tile-assign-roles=strategies=load-matrix-math | FileCheck %t/stores.mlir
// RUN: %tile-opt %t/others.mlir --tile-select-products -split-input-file -verify-diagnostics

//--- stores.mlir

// An author's role stands beside those that load, start products and load their sums.
// CHECK: roles = [<"load", warps = 2>, <"matrix", warps = 2>, <"out", warps = 4>, <"math", warps = 4>]
// CHECK-SAME: <"sum", from = "matrix", to = "math", slots = 2>, <"C.tile", from = "math", to = "out", slots = 1>]
// CHECK: tile.gemm_in_place {{.*}} {tile.role = "matrix"}
// CHECK: tile.load %sum {tile.role = "math"}
// CHECK: tile.copy %C.tile, {{.*}} {tile.role = "out"}
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @stores(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 16>},
    %C: !tile.global<64x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %at = tile.transpose %a : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %sa = tile.slice %A[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sa, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %new = tile.gemm %a, %at, %acc : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.begin_role "out" warps(4)
  %sc = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %sum, %sc : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.end_role
  tile.return
}
}

//--- others.mlir

module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @warps(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 16>},
    %C: !tile.global<64x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %at = tile.transpose %a : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %sa = tile.slice %A[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sa, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    // expected-remark @below {{product uses mma.sync, not tcgen05: role 'out' has 1 warps, but 4 load sums from tensor memory}}
    %new = tile.gemm %a, %at, %acc : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.begin_role "out" warps(1)
  %sc = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %sum, %sc : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.end_role
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @tile(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 16>},
    %C: !tile.global<64x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %at = tile.transpose %a : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %bt = tile.transpose %b : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %sb = tile.slice %A[%c0, %c0] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
  tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %sa = tile.slice %A[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sa, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    // expected-remark @below {{product uses mma.sync, not tcgen05: role 'out' uses a shared tile}}
    %new = tile.gemm %a, %at, %acc : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.begin_role "out" warps(4)
  %sc = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  %own = tile.load %b : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  tile.store %sum, %sc : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.end_role
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @product(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 16>},
    %C: !tile.global<64x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %at = tile.transpose %a : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %bt = tile.transpose %b : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %sb = tile.slice %A[%c0, %c0] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
  tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %sa = tile.slice %A[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sa, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    // expected-remark @below {{product uses mma.sync, not tcgen05: role 'out' multiplies}}
    %new = tile.gemm %a, %at, %acc : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.begin_role "out" warps(4)
  %sc = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  // expected-remark @below {{product uses mma.sync, not tcgen05: role 'out' multiplies}}
  %other = tile.gemm %b, %bt, %zero : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
  tile.store %sum, %sc : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.end_role
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @tensor(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 16>},
    %C: !tile.global<64x64xf32> {program.argument = #program.tensor<"C", inout, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %at = tile.transpose %a : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sd = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  %was = tile.load %sd : !tile.slice<64x64xf32> -> tensor<64x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %sa = tile.slice %A[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sa, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    // expected-remark @below {{product uses mma.sync, not tcgen05: it accesses 'C', as role 'out' does, and no channel orders accesses to tensors}}
    %new = tile.gemm %a, %at, %acc : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.begin_role "out" warps(4)
  %sc = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %sum, %sc : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.end_role
  tile.return
}
}

// -----

// A tile that a role loads is its channel only if nothing else writes it.
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @twice(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 16>},
    %C: !tile.global<64x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %at = tile.transpose %a : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %sa = tile.slice %A[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sa, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    tile.begin_role "part" warps(1)
    tile.copy %sa, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    tile.end_role
    tile.copy %sa, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %loaded = tile.load %b : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    // expected-remark @below {{product uses mma.sync, not tcgen05: 'b', which role 'part' loads, is written here, too}}
    %new = tile.gemm %a, %at, %acc : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %sc = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %sum, %sc : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}
}
