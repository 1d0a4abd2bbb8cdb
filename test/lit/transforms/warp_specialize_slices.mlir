// RUN: %tile-opt %s --tile-assign-roles --tile-select-copies --tile-warp-specialize --tile-lower-channels --tile-promote-variables --tile-merge-cursors --canonicalize --cse | FileCheck %s --check-prefix=ROLES
// RUN: %tile-opt %s --tile-assign-roles=strategies=copies --tile-select-copies --tile-pipeline-copies | FileCheck %s --check-prefix=AHEAD

// Tiles that run ahead of a loop get slots, and their slices become slices of the slot. What a position is made
// of may come after the first read of the slot: a slice is made with its access.

// ROLES-LABEL: tile.kernel @by_tma(
// ROLES:       tile.role "load"
// ROLES-NOT:     tile.slice_shared
// ROLES:       tile.role
// ROLES:         tile.await
// ROLES-NEXT:    %[[SLOT:.*]] = tile.slot
// ROLES-NEXT:    %[[FIRST:.*]] = tile.slice_shared %[[SLOT]][%c0, %c0]
// ROLES-NEXT:    %[[X:.*]] = tile.load %[[FIRST]]
// ROLES:         %[[AT:.*]] = arith.fptosi
// ROLES:         %[[BOX:.*]] = tile.slice_shared %[[SLOT]][%{{.*}}, %c0] gathered [1]
// ROLES-NEXT:    tile.gather %[[BOX]]
// ROLES:         tile.release
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @by_tma(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x?xf32> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 16>},
    %C: !tile.global<64x1xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x32xf32>
  %first = tile.slice_shared %a[%c0, %c0] : !tile.shared<64x32xf32> -> !tile.slice<64x1xf32>
  %zero = arith.constant dense<0.0> : tensor<64x1xf32>
  %sum = scf.for %kk = %c0 to %k step %c32 iter_args(%acc = %zero) -> (tensor<64x1xf32>) {
    %sa = tile.slice %A[%c0, %kk] : !tile.global<64x?xf32> -> !tile.slice<64x32xf32>
    tile.copy %sa, %a : !tile.slice<64x32xf32>, !tile.shared<64x32xf32>
    %x = tile.load %first : !tile.slice<64x1xf32> -> tensor<64x1xf32>
    %i = arith.fptosi %x : tensor<64x1xf32> to tensor<64x1xi32>
    %at = arith.index_cast %i : tensor<64x1xi32> to tensor<64x1xindex>
    %box = tile.slice_shared %a[%c0, %c0] gathered [1] : !tile.shared<64x32xf32> -> !tile.slice<64x1xf32>
    %y = tile.gather %box[%at] : !tile.slice<64x1xf32>, tensor<64x1xindex> -> tensor<64x1xf32>
    %new = arith.addf %acc, %y : tensor<64x1xf32>
    scf.yield %new : tensor<64x1xf32>
  } {tile.pipeline = #tile.pipeline<stages = 3>}
  %sc = tile.slice %C[%c0, %c0] : !tile.global<64x1xf32> -> !tile.slice<64x1xf32>
  tile.store %sum, %sc : tensor<64x1xf32>, !tile.slice<64x1xf32>
  tile.return
}

// AHEAD-LABEL: tile.kernel @by_threads(
// AHEAD:         tile.await_copies
// AHEAD-NEXT:    tile.sync
// AHEAD-NEXT:    %[[SLOT:.*]] = tile.slot
// AHEAD-NEXT:    %[[FIRST:.*]] = tile.slice_shared %[[SLOT]][%c0, %c0]
// AHEAD-NEXT:    tile.load %[[FIRST]]
// AHEAD:         %[[BOX:.*]] = tile.slice_shared %[[SLOT]][%c0, %c0] gathered [1]
// AHEAD-NEXT:    tile.gather %[[BOX]]
tile.kernel @by_threads(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x?xf32> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 16>},
    %C: !tile.global<64x1xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x32xf32>
  %first = tile.slice_shared %a[%c0, %c0] : !tile.shared<64x32xf32> -> !tile.slice<64x1xf32>
  %zero = arith.constant dense<0.0> : tensor<64x1xf32>
  %sum = scf.for %kk = %c0 to %k step %c32 iter_args(%acc = %zero) -> (tensor<64x1xf32>) {
    %sa = tile.slice %A[%c0, %kk] : !tile.global<64x?xf32> -> !tile.slice<64x32xf32>
    tile.copy %sa, %a : !tile.slice<64x32xf32>, !tile.shared<64x32xf32>
    %x = tile.load %first : !tile.slice<64x1xf32> -> tensor<64x1xf32>
    %i = arith.fptosi %x : tensor<64x1xf32> to tensor<64x1xi32>
    %at = arith.index_cast %i : tensor<64x1xi32> to tensor<64x1xindex>
    %box = tile.slice_shared %a[%c0, %c0] gathered [1] : !tile.shared<64x32xf32> -> !tile.slice<64x1xf32>
    %y = tile.gather %box[%at] : !tile.slice<64x1xf32>, tensor<64x1xindex> -> tensor<64x1xf32>
    %new = arith.addf %acc, %y : tensor<64x1xf32>
    scf.yield %new : tensor<64x1xf32>
  } {tile.pipeline = #tile.pipeline<stages = 3>}
  %sc = tile.slice %C[%c0, %c0] : !tile.global<64x1xf32> -> !tile.slice<64x1xf32>
  tile.store %sum, %sc : tensor<64x1xf32>, !tile.slice<64x1xf32>
  tile.return
}
}
