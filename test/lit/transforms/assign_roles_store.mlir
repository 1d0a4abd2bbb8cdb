// RUN: %tile-opt %s --tile-assign-roles -split-input-file 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARKS --input-file %t.remarks
// REMARKS-NOT:   @stored
// REMARKS:       [store-without-role] the warps that compute store this tile themselves: another operation of the kernel accesses 'C'
// REMARKS:       [store-without-role] the warps that compute store this tile themselves: threads make some of the loads and need all warps of the role that loads
// REMARKS:       [store-without-role] the warps that compute store this tile themselves: no loop has a next tile to go on with
// REMARKS:       [store-without-role] the warps that compute store this tile themselves: shared memory has no room for it beside all stages
// REMARKS:       [store-without-role] the warps that compute store this tile themselves: where it is stored, or whether, depends on computed data
// RUN: %tile-opt %s --tile-assign-roles --tile-select-copies --tile-warp-specialize --tile-lower-channels --tile-promote-variables --tile-merge-cursors --tile-assign-registers --canonicalize --cse -split-input-file | FileCheck %s --check-prefix=ROLES
// RUN: %tile-opt %s --tile-assign-roles=store-role=false -split-input-file | FileCheck %s --check-prefix=OFF

// A role of its own stores the tile, from a buffer that the math role fills. The roles that load and store share a warpgroup.
// CHECK-LABEL: tile.kernel @stored(
// CHECK-SAME:    roles = [<"load", warps = 2>, <"store", warps = 2>, <"math", warps = 8>],
// CHECK-SAME:    channels = [<"a", from = "load", to = "math", slots = 3>, <"C.tile", from = "math", to = "store", slots = 1>]>
// CHECK-NOT:     staging
// CHECK:         tile.store %{{.*}}, %C.tile {tile.channel = "C.tile", tile.role = "math"}
// CHECK-NEXT:    tile.slice %C
// CHECK-NEXT:    tile.copy %C.tile, %{{.*}} {tile.role = "store"}
// ROLES-LABEL: tile.kernel @stored(
// ROLES-DAG:     %[[RING:.*]] = tile.alloc_ring "C.tile" : !tile.ring<1>
// ROLES-DAG:     %[[TILE:.*]] = tile.alloc_shared "C.tile" : !tile.shared<1x128x128xbf16>
// ROLES:         tile.role "load" warps(2) registers([[FEW:[0-9]+]]) {
// ROLES-NOT:       C.tile
// ROLES:         tile.role "store" warps(2) registers([[FEW]]) {
// ROLES:           scf.for {{.*}} iter_args(%[[AT:.*]] = %{{.*}}) -> (!tile.cursor<1>) {
// ROLES:             %[[TO:.*]] = tile.slice %C
// ROLES:             tile.await %[[RING]][%[[AT]]]
// ROLES-NEXT:        %[[SLOT:.*]] = tile.slot %[[TILE]][%[[AT]]]
// ROLES-NEXT:        tile.copy %[[SLOT]], %[[TO]] atom tma :
// ROLES-NEXT:        tile.release %[[RING]][%[[AT]]]
// ROLES-NEXT:        %[[NEXT:.*]] = tile.advance %[[AT]]
// ROLES-NEXT:        scf.yield %[[NEXT]]
// ROLES:         tile.role "math" warps(8) registers(
// ROLES:           tile.gemm_async
// ROLES:           %[[HALF:.*]] = tile.convert
// ROLES:           tile.acquire %[[RING]][%[[TO:.*]]]
// ROLES-NEXT:      %[[MINE:.*]] = tile.slot %[[TILE]][%[[TO]]]
// ROLES-NEXT:      tile.store %[[HALF]], %[[MINE]] atom simt :
// ROLES-NEXT:      tile.publish %[[RING]][%[[TO]]]
// ROLES-NEXT:      tile.advance %[[TO]]
// OFF-LABEL: tile.kernel @stored(
// OFF-SAME:    roles = [<"load", warps = 4>, <"math", warps = 8>]
// OFF:         tile.store {{.*}} {tile.role = "math"}
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @stored(%m: index {program.argument = #program.dimension<"m">}, %k: index {program.argument = #program.dimension<"k">},
    %n: index {program.argument = #program.dimension<"n">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 1], alignment = 16>},
    %C: !tile.global<?x256xbf16> {program.argument = #program.tensor<"C", inout, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, store_role} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  scf.for %t = %c0 to %m step %c1 {
    %row = arith.muli %t, %c128 : index
    %zero = tile.splat %f0 : f32 -> tensor<128x128xf32>
    %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
      %sa = tile.slice %A[%row, %kk] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
      tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
      %new = tile.gemm %a, %b, %acc atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, tensor<128x128xf32>
      scf.yield %new : tensor<128x128xf32>
    } {tile.pipeline = #tile.pipeline<stages = 3>}
    %h = tile.convert %sum : tensor<128x128xf32> to tensor<128x128xbf16>
    %sc = tile.slice %C[%row, %c0] : !tile.global<?x256xbf16> -> !tile.slice<128x128xbf16>
    tile.store %h, %sc : tensor<128x128xbf16>, !tile.slice<128x128xbf16>
  }
  tile.return
}
}

// -----

// The TMA stores whole 16 bytes, and would write beyond rows of any length. Threads store what is left of those.
// CHECK-LABEL: tile.kernel @any_extent(
// CHECK-SAME:    roles = [<"load", warps = 4>, <"math", warps = 8>]
// CHECK:         tile.store {{.*}} {tile.role = "math"}
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @any_extent(%m: index {program.argument = #program.dimension<"m">}, %k: index {program.argument = #program.dimension<"k">},
    %n: index {program.argument = #program.dimension<"n">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 1], alignment = 16>},
    %C: !tile.global<?x?xbf16> {program.argument = #program.tensor<"C", inout, dims[0, 2], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, store_role} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  scf.for %t = %c0 to %m step %c1 {
    %row = arith.muli %t, %c128 : index
    %zero = tile.splat %f0 : f32 -> tensor<128x128xf32>
    %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
      %sa = tile.slice %A[%row, %kk] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
      tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
      %new = tile.gemm %a, %b, %acc atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, tensor<128x128xf32>
      scf.yield %new : tensor<128x128xf32>
    } {tile.pipeline = #tile.pipeline<stages = 3>}
    %h = tile.convert %sum : tensor<128x128xf32> to tensor<128x128xbf16>
    %sc = tile.slice %C[%row, %c0] : !tile.global<?x?xbf16> -> !tile.slice<128x128xbf16>
    tile.store %h, %sc : tensor<128x128xbf16>, !tile.slice<128x128xbf16>
  }
  tile.return
}
}

// -----

// What another role reads, nothing would order with the store.
// CHECK-LABEL: tile.kernel @read(
// CHECK-SAME:    roles = [<"load", warps = 4>, <"math", warps = 8>]
// CHECK:         tile.store {{.*}} {tile.role = "math"}
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @read(%m: index {program.argument = #program.dimension<"m">}, %k: index {program.argument = #program.dimension<"k">},
    %n: index {program.argument = #program.dimension<"n">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 1], alignment = 16>},
    %C: !tile.global<?x256xbf16> {program.argument = #program.tensor<"C", inout, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, store_role} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  scf.for %t = %c0 to %m step %c1 {
    %row = arith.muli %t, %c128 : index
    %zero = tile.splat %f0 : f32 -> tensor<128x128xf32>
    %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
      %sa = tile.slice %A[%row, %kk] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
      tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
      %new = tile.gemm %a, %b, %acc atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, tensor<128x128xf32>
      scf.yield %new : tensor<128x128xf32>
    } {tile.pipeline = #tile.pipeline<stages = 3>}
    %h = tile.convert %sum : tensor<128x128xf32> to tensor<128x128xbf16>
    %sc = tile.slice %C[%row, %c0] : !tile.global<?x256xbf16> -> !tile.slice<128x128xbf16>
    %old = tile.load %sc : !tile.slice<128x128xbf16> -> tensor<128x128xbf16>
    tile.store %h, %sc : tensor<128x128xbf16>, !tile.slice<128x128xbf16>
  }
  tile.return
}
}

// -----

// Threads load: they need all warps of the role that loads.
// CHECK-LABEL: tile.kernel @by_threads(
// CHECK-SAME:    roles = [<"load", warps = 4>, <"math", warps = 8>]
// CHECK:         tile.store {{.*}} {tile.role = "math"}
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @by_threads(%m: index {program.argument = #program.dimension<"m">}, %k: index {program.argument = #program.dimension<"k">},
    %n: index {program.argument = #program.dimension<"n">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 1], alignment = 8>},
    %C: !tile.global<?x256xbf16> {program.argument = #program.tensor<"C", inout, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, store_role} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  scf.for %t = %c0 to %m step %c1 {
    %row = arith.muli %t, %c128 : index
    %zero = tile.splat %f0 : f32 -> tensor<128x128xf32>
    %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
      %sa = tile.slice %A[%row, %kk] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
      tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
      %new = tile.gemm %a, %b, %acc atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, tensor<128x128xf32>
      scf.yield %new : tensor<128x128xf32>
    } {tile.pipeline = #tile.pipeline<stages = 3>}
    %h = tile.convert %sum : tensor<128x128xf32> to tensor<128x128xbf16>
    %sc = tile.slice %C[%row, %c0] : !tile.global<?x256xbf16> -> !tile.slice<128x128xbf16>
    tile.store %h, %sc : tensor<128x128xbf16>, !tile.slice<128x128xbf16>
  }
  tile.return
}
}

// -----

// There is no next tile to go on with meanwhile.
// CHECK-LABEL: tile.kernel @one_tile(
// CHECK-SAME:    roles = [<"load", warps = 4>, <"math", warps = 8>]
// CHECK:         tile.store {{.*}} {tile.role = "math"}
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @one_tile(%m: index {program.argument = #program.dimension<"m">}, %k: index {program.argument = #program.dimension<"k">},
    %n: index {program.argument = #program.dimension<"n">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 1], alignment = 16>},
    %C: !tile.global<?x256xbf16> {program.argument = #program.tensor<"C", inout, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, store_role} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  %row = arith.muli %m, %c128 : index
  %zero = tile.splat %f0 : f32 -> tensor<128x128xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %sa = tile.slice %A[%row, %kk] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
    tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
    %new = tile.gemm %a, %b, %acc atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, tensor<128x128xf32>
    scf.yield %new : tensor<128x128xf32>
  } {tile.pipeline = #tile.pipeline<stages = 3>}
  %h = tile.convert %sum : tensor<128x128xf32> to tensor<128x128xbf16>
  %sc = tile.slice %C[%row, %c0] : !tile.global<?x256xbf16> -> !tile.slice<128x128xbf16>
  tile.store %h, %sc : tensor<128x128xbf16>, !tile.slice<128x128xbf16>
  tile.return
}
}

// -----

// Stages come first: memory for the tile beside them is not there.
// CHECK-LABEL: tile.kernel @full(
// CHECK-SAME:    roles = [<"load", warps = 4>, <"math", warps = 8>]
// CHECK:         tile.store {{.*}} {tile.role = "math"}
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @full(%m: index {program.argument = #program.dimension<"m">}, %k: index {program.argument = #program.dimension<"k">},
    %n: index {program.argument = #program.dimension<"n">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 1], alignment = 16>},
    %C: !tile.global<?x256xbf16> {program.argument = #program.tensor<"C", inout, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, store_role} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  scf.for %t = %c0 to %m step %c1 {
    %row = arith.muli %t, %c128 : index
    %zero = tile.splat %f0 : f32 -> tensor<128x128xf32>
    %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
      %sa = tile.slice %A[%row, %kk] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
      tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
      %new = tile.gemm %a, %b, %acc atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, tensor<128x128xf32>
      scf.yield %new : tensor<128x128xf32>
    } {tile.pipeline = #tile.pipeline<stages = 12>}
    %h = tile.convert %sum : tensor<128x128xf32> to tensor<128x128xbf16>
    %sc = tile.slice %C[%row, %c0] : !tile.global<?x256xbf16> -> !tile.slice<128x128xbf16>
    tile.store %h, %sc : tensor<128x128xbf16>, !tile.slice<128x128xbf16>
  }
  tile.return
}
}

// -----

// A role that stores does not have what the warps that compute read.
// CHECK-LABEL: tile.kernel @computed_condition(
// CHECK-SAME:    roles = [<"load", warps = 4>, <"math", warps = 8>]
// CHECK:         tile.store {{.*}} {tile.role = "math"}
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @computed_condition(%m: index {program.argument = #program.dimension<"m">}, %k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 1], alignment = 16>},
    %C: !tile.global<?x256xbf16> {program.argument = #program.tensor<"C", inout, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, store_role} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  %flags = tile.alloc_shared "flags" : !tile.shared<1xi32>
  scf.for %t = %c0 to %m step %c1 {
    %row = arith.muli %t, %c128 : index
    tile.store_index %t, %flags[%c0] : !tile.shared<1xi32>
    %zero = tile.splat %f0 : f32 -> tensor<128x128xf32>
    %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
      %sa = tile.slice %A[%row, %kk] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
      tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
      %new = tile.gemm %a, %b, %acc atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, tensor<128x128xf32>
      scf.yield %new : tensor<128x128xf32>
    } {tile.pipeline = #tile.pipeline<stages = 3>}
    %h = tile.convert %sum : tensor<128x128xf32> to tensor<128x128xbf16>
    %sc = tile.slice %C[%row, %c0] : !tile.global<?x256xbf16> -> !tile.slice<128x128xbf16>
    %flag = tile.load_index %flags[%c0] : !tile.shared<1xi32>
    %stores = arith.cmpi ne, %flag, %c0 : index
    scf.if %stores {
      tile.store %h, %sc : tensor<128x128xbf16>, !tile.slice<128x128xbf16>
    }
  }
  tile.return
}
}

// -----

// Also a fragment that a loop carries, from one round to the store of the next one.
// CHECK-LABEL: tile.kernel @carried(
// CHECK-SAME:    channels = [<"a", from = "load", to = "math", slots = 3>, <"C.tile", from = "math", to = "store", slots = 1>]>
// CHECK:         tile.store %{{.*}}, %C.tile {tile.channel = "C.tile", tile.role = "math"}
// CHECK:         tile.copy %C.tile, %{{.*}} {tile.role = "store"}
// ROLES-LABEL: tile.kernel @carried(
// ROLES:         tile.role "store"
// ROLES:           tile.copy {{.*}} atom tma
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @carried(%m: index {program.argument = #program.dimension<"m">}, %k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 1], alignment = 16>},
    %C: !tile.global<?x256xbf16> {program.argument = #program.tensor<"C", inout, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, store_role} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  %none = tile.splat %h0 : bf16 -> tensor<128x128xbf16>
  %last = scf.for %t = %c0 to %m step %c1 iter_args(%before = %none) -> (tensor<128x128xbf16>) {
    %row = arith.muli %t, %c128 : index
    %sc = tile.slice %C[%row, %c0] : !tile.global<?x256xbf16> -> !tile.slice<128x128xbf16>
    tile.store %before, %sc : tensor<128x128xbf16>, !tile.slice<128x128xbf16>
    %zero = tile.splat %f0 : f32 -> tensor<128x128xf32>
    %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
      %sa = tile.slice %A[%row, %kk] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
      tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
      %new = tile.gemm %a, %b, %acc atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, tensor<128x128xf32>
      scf.yield %new : tensor<128x128xf32>
    } {tile.pipeline = #tile.pipeline<stages = 3>}
    %h = tile.convert %sum : tensor<128x128xf32> to tensor<128x128xbf16>
    scf.yield %h : tensor<128x128xbf16>
  }
  tile.return
}
}
