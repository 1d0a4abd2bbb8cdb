// RUN: %tile-opt %s | %tile-opt | FileCheck %s
// RUN: %tile-opt %s --mlir-print-op-generic | %tile-opt | FileCheck %s
// RUN: %tile-opt %s -canonicalize -cse -loop-invariant-code-motion | FileCheck %s --check-prefix=OPTIMIZED

// CHECK-DAG: #[[A:.*]] = #tile.shared_layout<"128x64 16b axis 1 panel 64 swizzle 128 pad 0">

// One GEMM, first as the user writes it, then with its roles and rings explicit.
module attributes {program.target = #program.target<"sm_90a">} {

// CHECK-LABEL: tile.kernel @plain(
// CHECK-SAME:    %m: index {program.argument = #program.dimension<"m">}
// CHECK-SAME:    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 2], alignment = 16>}
// CHECK-SAME:    attributes {launch = #program.launch<warps = 8>}
tile.kernel @plain(
    %m: index {program.argument = #program.dimension<"m">},
    %n: index {program.argument = #program.dimension<"n", multiple_of = 8>},
    %k: index {program.argument = #program.dimension<"k", multiple_of = 8>},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 2], alignment = 16>},
    %B: !tile.global<?x?xbf16> {program.argument = #program.tensor<"B", input, dims[2, 1], alignment = 16>},
    %C: !tile.global<?x?xbf16> {program.argument = #program.tensor<"C", output, dims[0, 1], alignment = 16>})
    attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %rows = arith.ceildivsi %m, %c128 : index
  %columns = arith.ceildivsi %n, %c256 : index
  %steps = arith.ceildivsi %k, %c64 : index
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x256xbf16>
  // CHECK: tile.persistent (%{{.*}}, %{{.*}}) in (%{{.*}}, %{{.*}}) group(16) {
  tile.persistent (%i, %j) in (%rows, %columns) group(16) {
    %row = arith.muli %i, %c128 : index
    %column = arith.muli %j, %c256 : index
    %start = tile.splat %zero : f32 -> tensor<128x256xf32>
    // CHECK: %[[SUM:[^ ]*]] = scf.for %{{.*}} iter_args(%[[ACC:[^ ]*]] = %{{.*}}) -> (tensor<128x256xf32>) {
    %sum = scf.for %step = %c0 to %steps step %c1 iter_args(%acc = %start) -> (tensor<128x256xf32>) {
      %at = arith.muli %step, %c64 : index
      // CHECK: tile.slice %A[%{{.*}}, %{{.*}}] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
      %aTile = tile.slice %A[%row, %at] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
      tile.copy %aTile, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
      %bTile = tile.slice %B[%at, %column] : !tile.global<?x?xbf16> -> !tile.slice<64x256xbf16>
      tile.copy %bTile, %b : !tile.slice<64x256xbf16>, !tile.shared<64x256xbf16>
      // CHECK: tile.gemm %a, %b, %[[ACC]] : !tile.shared<128x64xbf16>, !tile.shared<64x256xbf16>, tensor<128x256xf32>
      %next = tile.gemm %a, %b, %acc : !tile.shared<128x64xbf16>, !tile.shared<64x256xbf16>, tensor<128x256xf32>
      scf.yield %next : tensor<128x256xf32>
    // CHECK: } {tile.pipeline = #tile.pipeline<stages = 4>}
    } {tile.pipeline = #tile.pipeline<stages = 4>}
    %c = tile.convert %sum : tensor<128x256xf32> to tensor<128x256xbf16>
    %cTile = tile.slice %C[%row, %column] : !tile.global<?x?xbf16> -> !tile.slice<128x256xbf16>
    tile.store %c, %cTile : tensor<128x256xbf16>, !tile.slice<128x256xbf16>
  }
  tile.return
}
}


// Optimisations of others leave copies, products and their order alone.
// OPTIMIZED-LABEL: tile.kernel @plain(
// OPTIMIZED:         scf.for
// OPTIMIZED-COUNT-2:   tile.copy
// OPTIMIZED:           tile.gemm
// OPTIMIZED:         tile.store

module attributes {program.target = #program.target<"sm_90a">} {

// Four slots; each of the two consumer warpgroups releases a slot once.
// CHECK-LABEL: tile.kernel @specialized(
// CHECK-SAME:    attributes {launch = #program.launch<warps = 12>}
tile.kernel @specialized(
    %m: index {program.argument = #program.dimension<"m">},
    %n: index {program.argument = #program.dimension<"n", multiple_of = 8>},
    %k: index {program.argument = #program.dimension<"k", multiple_of = 8>},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 2], alignment = 16>},
    %B: !tile.global<?x?xbf16> {program.argument = #program.tensor<"B", input, dims[2, 1], alignment = 16>},
    %C: !tile.global<?x?xbf16> {program.argument = #program.tensor<"C", output, dims[0, 1], alignment = 16>})
    attributes {launch = #program.launch<warps = 12>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %rows = arith.ceildivsi %m, %c128 : index
  %columns = arith.ceildivsi %n, %c256 : index
  %steps = arith.ceildivsi %k, %c64 : index
  %tiles = arith.muli %rows, %columns : index
  %count = tile.multiprocessors
  %blocks = arith.minsi %tiles, %count : index
  // CHECK: tile.grid %{{.*}} : index
  %block = tile.grid %blocks : index
  %stride = tile.blocks
  // CHECK: tile.alloc_shared "a" at 1024 : !tile.shared<4x128x64xbf16, #[[A]]>
  %a = tile.alloc_shared "a" at 1024 : !tile.shared<4x128x64xbf16, #tile.shared_layout<"128x64 16b axis 1 panel 64 swizzle 128 pad 0">>
  %b = tile.alloc_shared "b" at 66560 : !tile.shared<4x64x256xbf16, #tile.shared_layout<"64x256 16b axis 1 panel 64 swizzle 128 pad 0">>
  %c = tile.alloc_shared "c" at 197632 : !tile.shared<256x64xbf16>
  // CHECK: %slots = tile.alloc_ring "slots" at 0 : !tile.ring<4>
  %ring = tile.alloc_ring "slots" at 0 : !tile.ring<4>
  %first = tile.cursor : !tile.cursor<4>
  // CHECK: tile.roles {
  tile.roles {
    // CHECK: tile.role "load" warps(4) registers(40) {
    tile.role "load" warps(4) registers(40) {
      %done = scf.for %tile = %block to %tiles step %stride iter_args(%outer = %first) -> (!tile.cursor<4>) {
        %i = arith.remsi %tile, %rows : index
        %j = arith.divsi %tile, %rows : index
        %row = arith.muli %i, %c128 : index
        %column = arith.muli %j, %c256 : index
        // The cursor counts on from tile to tile.
        // CHECK: scf.for %{{.*}} iter_args(%[[OUTER:[^ ]*]] = %{{.*}}) -> (!tile.cursor<4>) {
        // CHECK: scf.for %{{.*}} iter_args(%[[AT:[^ ]*]] = %[[OUTER]]) -> (!tile.cursor<4>) {
        %last = scf.for %step = %c0 to %steps step %c1 iter_args(%cursor = %outer) -> (!tile.cursor<4>) {
          // CHECK: tile.acquire %slots[%[[AT]]] : !tile.ring<4>
          tile.acquire %ring[%cursor] : !tile.ring<4>
          // CHECK: tile.expect %slots[%[[AT]]] bytes(49152) : !tile.ring<4>
          tile.expect %ring[%cursor] bytes(49152) : !tile.ring<4>
          %at = arith.muli %step, %c64 : index
          %aTile = tile.slice %A[%row, %at] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
          %aSlot = tile.slot %a[%cursor] : !tile.shared<4x128x64xbf16, #tile.shared_layout<"128x64 16b axis 1 panel 64 swizzle 128 pad 0">>, !tile.cursor<4> -> !tile.shared<128x64xbf16, #tile.shared_layout<"128x64 16b axis 1 panel 64 swizzle 128 pad 0">>
          // CHECK: tile.copy_async %{{.*}}, %{{.*}}, %slots[%[[AT]]] : !tile.slice<128x64xbf16>,
          tile.copy_async %aTile, %aSlot, %ring[%cursor] : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16, #tile.shared_layout<"128x64 16b axis 1 panel 64 swizzle 128 pad 0">>, !tile.ring<4>
          %bTile = tile.slice %B[%at, %column] : !tile.global<?x?xbf16> -> !tile.slice<64x256xbf16>
          %bSlot = tile.slot %b[%cursor] : !tile.shared<4x64x256xbf16, #tile.shared_layout<"64x256 16b axis 1 panel 64 swizzle 128 pad 0">>, !tile.cursor<4> -> !tile.shared<64x256xbf16, #tile.shared_layout<"64x256 16b axis 1 panel 64 swizzle 128 pad 0">>
          tile.copy_async %bTile, %bSlot, %ring[%cursor] : !tile.slice<64x256xbf16>, !tile.shared<64x256xbf16, #tile.shared_layout<"64x256 16b axis 1 panel 64 swizzle 128 pad 0">>, !tile.ring<4>
          %next = tile.advance %cursor : !tile.cursor<4>
          scf.yield %next : !tile.cursor<4>
        }
        scf.yield %last : !tile.cursor<4>
      }
    }
    // CHECK: tile.role "math" warps(8) registers(232) {
    tile.role "math" warps(8) registers(232) {
      %zero = arith.constant 0.0 : f32
      %done = scf.for %tile = %block to %tiles step %stride iter_args(%outer = %first) -> (!tile.cursor<4>) {
        %i = arith.remsi %tile, %rows : index
        %j = arith.divsi %tile, %rows : index
        %row = arith.muli %i, %c128 : index
        %column = arith.muli %j, %c256 : index
        %start = tile.splat %zero : f32 -> tensor<128x256xf32>
        %more = arith.cmpi sgt, %steps, %c0 : index
        // One product is in flight while the slot before it is released.
        %sum, %last, %open = scf.for %step = %c0 to %steps step %c1
            iter_args(%acc = %start, %cursor = %outer, %previous = %outer) -> (tensor<128x256xf32>, !tile.cursor<4>, !tile.cursor<4>) {
          // CHECK: tile.await %slots[%{{.*}}] : !tile.ring<4>
          tile.await %ring[%cursor] : !tile.ring<4>
          %aSlot = tile.slot %a[%cursor] : !tile.shared<4x128x64xbf16, #tile.shared_layout<"128x64 16b axis 1 panel 64 swizzle 128 pad 0">>, !tile.cursor<4> -> !tile.shared<128x64xbf16, #tile.shared_layout<"128x64 16b axis 1 panel 64 swizzle 128 pad 0">>
          %bSlot = tile.slot %b[%cursor] : !tile.shared<4x64x256xbf16, #tile.shared_layout<"64x256 16b axis 1 panel 64 swizzle 128 pad 0">>, !tile.cursor<4> -> !tile.shared<64x256xbf16, #tile.shared_layout<"64x256 16b axis 1 panel 64 swizzle 128 pad 0">>
          // CHECK: %[[FLYING:[^ ]*]] = tile.gemm_async %{{.*}}, %{{.*}}, %{{.*}} atom wgmma :
          %flying = tile.gemm_async %aSlot, %bSlot, %acc atom wgmma : !tile.shared<128x64xbf16, #tile.shared_layout<"128x64 16b axis 1 panel 64 swizzle 128 pad 0">>, !tile.shared<64x256xbf16, #tile.shared_layout<"64x256 16b axis 1 panel 64 swizzle 128 pad 0">>, tensor<128x256xf32>
          // CHECK: tile.gemm_wait %[[FLYING]] pending(1) : tensor<128x256xf32>
          %settled = tile.gemm_wait %flying pending(1) : tensor<128x256xf32>
          %later = arith.cmpi sgt, %step, %c0 : index
          scf.if %later {
            // CHECK: tile.release %slots[%{{.*}}] : !tile.ring<4>
            tile.release %ring[%previous] : !tile.ring<4>
          }
          %next = tile.advance %cursor : !tile.cursor<4>
          scf.yield %settled, %next, %cursor : tensor<128x256xf32>, !tile.cursor<4>, !tile.cursor<4>
        }
        // CHECK: %[[DONE:[^ ]*]] = tile.gemm_wait %{{.*}} pending(0) : tensor<128x256xf32>
        %product = tile.gemm_wait %sum pending(0) : tensor<128x256xf32>
        scf.if %more {
          tile.release %ring[%open] : !tile.ring<4>
        }
        // CHECK: tile.convert %[[DONE]]
        %narrow = tile.convert %product : tensor<128x256xf32> to tensor<128x256xbf16>
        %cTile = tile.slice %C[%row, %column] : !tile.global<?x?xbf16> -> !tile.slice<128x256xbf16>
        // CHECK: tile.store %{{.*}}, %{{.*}} staging %{{.*}} : !tile.shared<256x64xbf16> atom tma :
        tile.store %narrow, %cTile staging %c : !tile.shared<256x64xbf16> atom tma : tensor<128x256xbf16>, !tile.slice<128x256xbf16>
        scf.yield %last : !tile.cursor<4>
      }
    }
  }
  tile.return
}
}

// OPTIMIZED-LABEL: tile.kernel @specialized(
// OPTIMIZED:         tile.role "load"
// OPTIMIZED:           tile.acquire
// OPTIMIZED:           tile.expect
// OPTIMIZED-COUNT-2:   tile.copy_async
// OPTIMIZED:         tile.role "math"
// OPTIMIZED:           tile.await
// OPTIMIZED:           tile.gemm_async
// OPTIMIZED:           tile.gemm_wait
// OPTIMIZED:           tile.release
// OPTIMIZED:           tile.gemm_wait
// OPTIMIZED:           tile.release
// OPTIMIZED:           tile.store
