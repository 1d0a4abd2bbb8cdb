// RUN: split-file %s %t
// RUN: %tile-opt %t/copies.mlir --tile-assign-roles=strategies=copies --tile-select-copies --tile-pipeline-copies -split-input-file -verify-diagnostics | FileCheck %t/copies.mlir
// RUN: %tile-opt %t/copies.mlir --tile-select-copies --tile-pipeline-copies -split-input-file | FileCheck %t/copies.mlir --check-prefix=OFF
// RUN: %tile-opt %t/plans.mlir --tile-pipeline-copies -split-input-file -verify-diagnostics

//--- copies.mlir

// Both copies of an iteration fill a slot of three, and are one group. What reads them comes after all threads have
// met.
// CHECK-LABEL: tile.kernel @gemm(
// CHECK-DAG:     %[[A:.*]] = tile.alloc_shared "a" : !tile.shared<3x64x64xbf16>
// CHECK-DAG:     %[[B:.*]] = tile.alloc_shared "b" : !tile.shared<3x64x64xbf16>
// CHECK:         scf.for %{{.*}} iter_args(%{{.*}} = %{{.*}}, %[[FILL:.*]] = %[[FIRST:.*]], %[[READ:.*]] = %[[FIRST]])
// CHECK-NEXT:      %[[FROM_A:.*]] = tile.slice %A
// CHECK-NEXT:      %[[INTO_A:.*]] = tile.slot %[[A]][%[[FILL]]]
// CHECK-NEXT:      tile.copy %[[FROM_A]], %[[INTO_A]] atom cp_async
// CHECK-NEXT:      %[[FROM_B:.*]] = tile.slice %B
// CHECK-NEXT:      %[[INTO_B:.*]] = tile.slot %[[B]][%[[FILL]]]
// CHECK-NEXT:      tile.copy %[[FROM_B]], %[[INTO_B]] atom cp_async
// CHECK-NEXT:      tile.commit_copies
// CHECK-NEXT:      tile.await_copies pending(0)
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      %[[TILE_A:.*]] = tile.slot %[[A]][%[[READ]]]
// CHECK-NEXT:      %[[TILE_B:.*]] = tile.slot %[[B]][%[[READ]]]
// CHECK-NEXT:      %[[RIGHT:.*]] = tile.transpose %[[TILE_B]]
// CHECK-NEXT:      tile.gemm %[[TILE_A]], %[[RIGHT]]
// CHECK-NOT:     tile.pipeline
// OFF-LABEL: tile.kernel @gemm(
// OFF-COUNT-2: tile.copy {{.*}} atom simt
// OFF-NOT:     tile.pipeline
module attributes {program.target = #program.target<"sm_80">} {
tile.kernel @gemm(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 16>},
    %B: !tile.global<64x?xbf16> {program.argument = #program.tensor<"B", input, dims[-1, 0], alignment = 16>},
    %C: !tile.global<64x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %bt = tile.transpose %b : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %sa = tile.slice %A[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sa, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %sb = tile.slice %B[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %new = tile.gemm %a, %bt, %acc atom mma_sync : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 3>}
  %sc = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %sum, %sc : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}
}

// -----

// What cp.async cannot copy stays where it is: rows of 'A' may begin at any 2 bytes.
module attributes {program.target = #program.target<"sm_80">} {
// CHECK-LABEL: tile.kernel @one_cannot(
// CHECK:         tile.copy {{.*}} atom cp_async
// CHECK-NEXT:    tile.commit_copies
// CHECK:         tile.sync
// CHECK:         tile.copy {{.*}} atom simt
tile.kernel @one_cannot(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0]>},
    %B: !tile.global<64x?xbf16> {program.argument = #program.tensor<"B", input, dims[-1, 0], alignment = 16>},
    %C: !tile.global<64x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %bt = tile.transpose %b : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %sa = tile.slice %A[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark @below {{[copy-not-ahead] copy does not run ahead of its loop: 'A' is not known to be read in units of 4 bytes}}
    tile.copy %sa, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %sb = tile.slice %B[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %new = tile.gemm %a, %bt, %acc atom mma_sync : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 3>}
  %sc = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %sum, %sc : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}
}

// -----

// Slots are as many as fit.
module attributes {program.target = #program.target<"sm_80">} {
// CHECK-LABEL: tile.kernel @too_many(
// CHECK:         tile.alloc_shared "b" : !tile.shared<10x64x64xbf16>
tile.kernel @too_many(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 16>},
    %B: !tile.global<64x?xbf16> {program.argument = #program.tensor<"B", input, dims[-1, 0], alignment = 16>},
    %C: !tile.global<64x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %bt = tile.transpose %b : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %sa = tile.slice %A[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark @below {{[fewer-stages] 10 stages instead of 30: more do not fit the 166912 bytes of shared memory}}
    tile.copy %sa, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %sb = tile.slice %B[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %new = tile.gemm %a, %bt, %acc atom mma_sync : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 30>}
  %sc = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %sum, %sc : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}
}

// -----

// One stage is a loop like others.
module attributes {program.target = #program.target<"sm_80">} {
// CHECK-LABEL: tile.kernel @one_stage(
// CHECK-NOT:     cp_async
// CHECK-NOT:     tile.pipeline
tile.kernel @one_stage(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 16>},
    %B: !tile.global<64x?xbf16> {program.argument = #program.tensor<"B", input, dims[-1, 0], alignment = 16>},
    %C: !tile.global<64x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %bt = tile.transpose %b : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %sa = tile.slice %A[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sa, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %sb = tile.slice %B[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %new = tile.gemm %a, %bt, %acc atom mma_sync : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 1>}
  %sc = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %sum, %sc : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}
}

// -----

// A view in the loop is one of the slot, too.
module attributes {program.target = #program.target<"sm_80">} {
// CHECK-LABEL: tile.kernel @view_inside(
// CHECK:         tile.sync
// CHECK-NEXT:    tile.slot
// CHECK-NEXT:    %[[TILE_B:.*]] = tile.slot
// CHECK-NEXT:    tile.transpose %[[TILE_B]]
// CHECK-NEXT:    tile.gemm
tile.kernel @view_inside(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 16>},
    %B: !tile.global<64x?xbf16> {program.argument = #program.tensor<"B", input, dims[-1, 0], alignment = 16>},
    %C: !tile.global<64x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %sa = tile.slice %A[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sa, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %sb = tile.slice %B[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %bt = tile.transpose %b : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
    %new = tile.gemm %a, %bt, %acc atom mma_sync : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 3>}
  %sc = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %sum, %sc : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}
}

//--- plans.mlir

// What runs ahead does so of a loop,
#plan = #tile.role_plan<roles = [<"all", warps = 4>], channels = [<"a", from = "all", to = "all", slots = 2>]>
module attributes {program.target = #program.target<"sm_80">} {
tile.kernel @branch(%n: index {program.argument = #program.dimension<"n">},
    %A: !tile.global<64x64xbf16> {program.argument = #program.tensor<"A", input, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>, tile.role_plan = #plan} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %p = arith.cmpi ne, %n, %c0 : index
  scf.if %p {
    %s = tile.slice %A[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-error @below {{expected the copies of channel 'a' in a loop because they run ahead of its iterations}}
    tile.copy %s, %a atom cp_async {tile.channel = "a", tile.role = "all"} : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %a {tile.role = "all"} : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  }
  tile.return
}
}

// -----

// and all equally far.
#plan = #tile.role_plan<roles = [<"all", warps = 4>], channels = [<"a", from = "all", to = "all", slots = 2>, <"b", from = "all", to = "all", slots = 3>]>
module attributes {program.target = #program.target<"sm_80">} {
tile.kernel @slots(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x64xbf16> {program.argument = #program.tensor<"A", input, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>, tile.role_plan = #plan} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-error @below {{expected channels 'a' and 'b' to have the same number of slots because their copies run ahead of one loop, but got 2 and 3}}
    tile.copy %s, %a atom cp_async {tile.channel = "a", tile.role = "all"} : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %a {tile.role = "all"} : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    tile.copy %s, %b atom cp_async {tile.channel = "b", tile.role = "all"} : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %y = tile.load %b {tile.role = "all"} : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  }
  tile.return
}
}
