// RUN: %tile-opt %s --tile-assign-roles --tile-select-copies --tile-warp-specialize --tile-lower-channels --tile-promote-variables --tile-merge-cursors --tile-assign-registers --canonicalize --cse -split-input-file -verify-diagnostics | FileCheck %s
// RUN: %tile-opt %s --tile-assign-roles=strategies=copies --tile-select-copies --tile-warp-specialize --tile-pipeline-copies -split-input-file 2> %t.off | FileCheck %s --check-prefix=OFF
// RUN: FileCheck %s --check-prefix=OFF-REMARK --input-file=%t.off

// One loop, nothing around it: two copies that one product reads share a ring of four slots, released once by
// each of the two warpgroups that multiply.
// CHECK-LABEL: tile.kernel @one_loop(
// CHECK-SAME:    warps = 12
// CHECK-DAG:   %[[RING:.*]] = tile.alloc_ring "a.b" : !tile.ring<4>
// CHECK-DAG:   %[[A:.*]] = tile.alloc_shared "a" : !tile.shared<4x128x64xbf16>
// CHECK-DAG:   %[[B:.*]] = tile.alloc_shared "b" : !tile.shared<4x64x64xbf16>
// CHECK:       tile.role "load" warps(4) registers(40) {
// CHECK:         %[[FIRST:.*]] = tile.cursor : !tile.cursor<4>
// CHECK:         scf.for %[[KK:.*]] = %{{.*}} iter_args(%[[C:.*]] = %[[FIRST]]) -> (!tile.cursor<4>) {
// CHECK-DAG:       %[[TILE_A:.*]] = tile.slice %A[%{{.*}}, %[[KK]]]
// CHECK-DAG:       tile.acquire %[[RING]][%[[C]]]
// CHECK:           %[[SLOT_A:.*]] = tile.slot %[[A]][%[[C]]]
// CHECK-NEXT:      tile.expect %[[RING]][%[[C]]] bytes(24576)
// CHECK-NEXT:      tile.copy_async %[[TILE_A]], %[[SLOT_A]], %[[RING]][%[[C]]]
// CHECK:           %[[SLOT_B:.*]] = tile.slot %[[B]][%[[C]]]
// CHECK-NEXT:      tile.copy_async %{{.*}}, %[[SLOT_B]], %[[RING]][%[[C]]]
// CHECK-NEXT:      %[[NEXT:.*]] = tile.advance %[[C]]
// CHECK-NEXT:      scf.yield %[[NEXT]]
// CHECK-NOT:     tile.store
// CHECK:       tile.role "math" warps(8) registers(232) {
// CHECK:         %[[SUM:.*]]:2 = scf.for %{{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[C:.*]] = %{{.*}}) -> (tensor<128x64xf32>, !tile.cursor<4>) {
// CHECK-NEXT:      tile.await %[[RING]][%[[C]]]
// CHECK-NEXT:      %[[SLOT_A:.*]] = tile.slot %[[A]][%[[C]]]
// CHECK-NEXT:      %[[SLOT_B:.*]] = tile.slot %[[B]][%[[C]]]
// CHECK-NEXT:      %[[STARTED:.*]] = tile.gemm_async %[[SLOT_A]], %[[SLOT_B]], %[[ACC]] atom wgmma
// CHECK-NEXT:      %[[DONE:.*]] = tile.gemm_wait %[[STARTED]] pending(0)
// CHECK-NEXT:      tile.release %[[RING]][%[[C]]]
// CHECK-NEXT:      %[[NEXT:.*]] = tile.advance %[[C]]
// CHECK-NEXT:      scf.yield %[[DONE]], %[[NEXT]]
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[ROUNDED:.*]] = tile.convert %[[SUM]]#0
// CHECK:         tile.store %[[ROUNDED]]
// CHECK-NOT:   tile.pipeline

// Switched off, all warps are one program, whose threads store rows of panels.
// OFF-REMARK: remark: [not-warp-specialised] kernel 'one_loop' is not warp-specialised: warp specialisation is switched off
// OFF-LABEL: tile.kernel @one_loop(
// OFF-SAME:    warps = 8
// OFF:       tile.alloc_shared "C.staging"
// OFF-COUNT-2: tile.copy {{.*}} atom cp_async
// OFF:       tile.gemm {{.*}} atom wgmma
// OFF-NOT:   tile.pipeline
// OFF:       tile.store {{.*}} atom simt
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @one_loop(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<128x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 16>},
    %B: !tile.global<?x64xbf16> {program.argument = #program.tensor<"B", input, dims[0, -1], alignment = 16>},
    %C: !tile.global<128x64xbf16> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
    %sa = tile.slice %A[%c0, %kk] : !tile.global<128x?xbf16> -> !tile.slice<128x64xbf16>
    tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
    %sb = tile.slice %B[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %new = tile.gemm %a, %b, %acc atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    scf.yield %new : tensor<128x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 4>}
  %h = tile.convert %sum : tensor<128x64xf32> to tensor<128x64xbf16>
  %sc = tile.slice %C[%c0, %c0] : !tile.global<128x64xbf16> -> !tile.slice<128x64xbf16>
  tile.store %h, %sc : tensor<128x64xbf16>, !tile.slice<128x64xbf16>
  tile.return
}
}

// -----

// A tile that is loaded once per block and read in the loop has a ring of one slot, awaited before the loop and
// released after it. In the loop, two products read two buffers: two rings, each with its own cursor. One
// warpgroup multiplies, so that no registers need to move.
// CHECK-LABEL: tile.kernel @attention(
// CHECK-SAME:    warps = 8
// CHECK-DAG:   %[[RQ:.*]] = tile.alloc_ring "q" : !tile.ring<1>
// CHECK-DAG:   %[[RK:.*]] = tile.alloc_ring "k" : !tile.ring<2>
// CHECK-DAG:   %[[RV:.*]] = tile.alloc_ring "v" : !tile.ring<2>
// CHECK:       tile.role "load" warps(4) {
// CHECK:         scf.for {{.*}} iter_args(%[[CQ:.*]] = %{{.*}}, %[[CK:.*]] = %{{.*}}, %[[CV:.*]] = %{{.*}}) -> (!tile.cursor<1>, !tile.cursor<2>, !tile.cursor<2>) {
// CHECK:           tile.acquire %[[RQ]][%[[CQ]]]
// CHECK:           tile.copy_async
// CHECK:           %[[NEXT_Q:.*]] = tile.advance %[[CQ]]
// CHECK:           %[[INNER:.*]]:2 = scf.for {{.*}} iter_args(%[[CKI:.*]] = %[[CK]], %[[CVI:.*]] = %[[CV]])
// CHECK:             tile.acquire %[[RK]][%[[CKI]]]
// CHECK:             tile.acquire %[[RV]][%[[CVI]]]
// CHECK:           scf.yield %[[NEXT_Q]], %[[INNER]]#0, %[[INNER]]#1
// CHECK:       tile.role "math" warps(4) {
// CHECK:         scf.for {{.*}} iter_args(%[[CK:.*]] = %{{.*}}, %[[CV:.*]] = %{{.*}}, %[[CQ:.*]] = %{{.*}}) -> (!tile.cursor<2>, !tile.cursor<2>, !tile.cursor<1>) {
// CHECK:           tile.await %[[RQ]][%[[CQ]]]
// CHECK:           scf.for
// CHECK:             tile.await %[[RK]]
// CHECK:             tile.gemm_async
// CHECK:             tile.release %[[RK]]
// CHECK:             tile.await %[[RV]]
// CHECK:             tile.gemm_async
// CHECK:             tile.release %[[RV]]
// CHECK:           tile.release %[[RQ]][%[[CQ]]]
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @attention(%s: index {program.argument = #program.dimension<"s">},
    %Q: !tile.global<?x64xbf16> {program.argument = #program.tensor<"Q", input, dims[0, -1], alignment = 16>},
    %K: !tile.global<?x64xbf16> {program.argument = #program.tensor<"K", input, dims[0, -1], alignment = 16>},
    %V: !tile.global<?x64xbf16> {program.argument = #program.tensor<"V", input, dims[0, -1], alignment = 16>},
    %O: !tile.global<?x64xf32> {program.argument = #program.tensor<"O", output, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %q = tile.alloc_shared "q" : !tile.shared<64x64xbf16>
  %k = tile.alloc_shared "k" : !tile.shared<64x64xbf16>
  %v = tile.alloc_shared "v" : !tile.shared<64x64xbf16>
  %block = tile.grid %s : index
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  scf.for %row = %block to %s step %c64 {
    %sq = tile.slice %Q[%row, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sq, %q : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %sum = scf.for %kk = %c0 to %s step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
      %sk = tile.slice %K[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
      tile.copy %sk, %k : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
      %sv = tile.slice %V[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
      tile.copy %sv, %v : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
      %kt = tile.transpose %k : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
      %scores = tile.gemm %q, %kt, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
      %p = tile.convert %scores : tensor<64x64xf32> to tensor<64x64xbf16>
      %new = tile.gemm %p, %v, %acc atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      scf.yield %new : tensor<64x64xf32>
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    %so = tile.slice %O[%row, %c0] : !tile.global<?x64xf32> -> !tile.slice<64x64xf32>
    tile.store %sum, %so : tensor<64x64xf32>, !tile.slice<64x64xf32>
  }
  tile.return
}
}

// -----

// Loops around each other can both be pipelined: what a tile needs once is loaded a tile ahead.
// CHECK-LABEL: tile.kernel @tile_ahead(
// CHECK:       %[[RQ:.*]] = tile.alloc_ring "q" : !tile.ring<2>
// CHECK:       %[[Q:.*]] = tile.alloc_shared "q" : !tile.shared<2x64x64xbf16>
// CHECK:       tile.role "load" warps(4) {
// CHECK:         scf.for {{.*}} iter_args(%[[CQ:.*]] = %{{.*}}, %[[CK:.*]] = %{{.*}}) -> (!tile.cursor<2>, !tile.cursor<3>) {
// CHECK:           tile.acquire %[[RQ]][%[[CQ]]]
// CHECK:           %[[NEXT_Q:.*]] = tile.advance %[[CQ]]
// CHECK:           %[[NEXT_K:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[CK]]) -> (!tile.cursor<3>) {
// CHECK:           scf.yield %[[NEXT_Q]], %[[NEXT_K]]
// CHECK:       tile.role "math" warps(4) {
// CHECK:         scf.for {{.*}} iter_args(%[[CK:.*]] = %{{.*}}, %[[CQ:.*]] = %{{.*}}) -> (!tile.cursor<3>, !tile.cursor<2>) {
// CHECK:           tile.await %[[RQ]][%[[CQ]]]
// CHECK:           tile.slot %[[Q]][%[[CQ]]]
// CHECK:           scf.for
// CHECK:           tile.release %[[RQ]][%[[CQ]]]
// CHECK-NOT:   tile.pipeline
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @tile_ahead(%s: index {program.argument = #program.dimension<"s">},
    %Q: !tile.global<?x64xbf16> {program.argument = #program.tensor<"Q", input, dims[0, -1], alignment = 16>},
    %K: !tile.global<?x64xbf16> {program.argument = #program.tensor<"K", input, dims[0, -1], alignment = 16>},
    %O: !tile.global<?x64xf32> {program.argument = #program.tensor<"O", output, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %q = tile.alloc_shared "q" : !tile.shared<64x64xbf16>
  %k = tile.alloc_shared "k" : !tile.shared<64x64xbf16>
  %block = tile.grid %s : index
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  scf.for %row = %block to %s step %c64 {
    %sq = tile.slice %Q[%row, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sq, %q : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %sum = scf.for %kk = %c0 to %s step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
      %sk = tile.slice %K[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
      tile.copy %sk, %k : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
      %kt = tile.transpose %k : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
      %new = tile.gemm %q, %kt, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
      scf.yield %new : tensor<64x64xf32>
    } {tile.pipeline = #tile.pipeline<stages = 3>}
    %so = tile.slice %O[%row, %c0] : !tile.global<?x64xf32> -> !tile.slice<64x64xf32>
    tile.store %sum, %so : tensor<64x64xf32>, !tile.slice<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// Three warpgroups that multiply need the registers more.
// CHECK-LABEL: tile.kernel @three_warpgroups(
// CHECK-SAME:    warps = 16
// CHECK:       tile.alloc_ring "b"
// CHECK:       tile.role "load" warps(4) registers(32)
// CHECK:       tile.role "math" warps(12) registers(160)
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @three_warpgroups(%k: index {program.argument = #program.dimension<"k">},
    %B: !tile.global<?x64xbf16> {program.argument = #program.tensor<"B", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 12>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<192x64xf32>
  %a = tile.splat %h0 : bf16 -> tensor<192x64xbf16>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<192x64xf32>) {
    %sb = tile.slice %B[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %new = tile.gemm %a, %b, %acc atom wgmma : tensor<192x64xbf16>, !tile.shared<64x64xbf16>, tensor<192x64xf32>
    scf.yield %new : tensor<192x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// In a cluster, a tile whose position is the same in all blocks is loaded by multicast, and its slots are
// released by all blocks' warpgroups. The other tile of the ring is each block's own, and so is a tile of 8 rows,
// which do not divide among two blocks. All are read first by one operation, the inner loop.
// CHECK-LABEL: tile.kernel @cluster(
// CHECK:       tile.alloc_ring "a.b.c" : !tile.ring<2>
// CHECK:       tile.role "load"
// CHECK:         %[[A:.*]] = tile.slot %a
// CHECK:         tile.expect {{.*}} bytes(25600)
// CHECK:         tile.copy_async %{{.*}}, %[[A]], %{{.*}}[%{{.*}}] : !tile.slice<128x64xbf16>
// CHECK:         %[[B:.*]] = tile.slot %b
// CHECK:         tile.copy_async %{{.*}}, %[[B]], %{{.*}}[%{{.*}}] multicast
// CHECK:         %[[C:.*]] = tile.slot %c
// CHECK:         tile.copy_async %{{.*}}, %[[C]], %{{.*}}[%{{.*}}] : !tile.slice<8x64xbf16>
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @cluster(%m: index {program.argument = #program.dimension<"m">}, %k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 1], alignment = 16>},
    %B: !tile.global<?x64xbf16> {program.argument = #program.tensor<"B", input, dims[1, -1], alignment = 16>},
    %O: !tile.global<128x64xf32> {program.argument = #program.tensor<"O", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8, cluster = 2>} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %c = tile.alloc_shared "c" : !tile.shared<8x64xbf16>
  %block = tile.grid %m : index
  %blocks = tile.blocks
  %rank = tile.block_rank
  %first = arith.divui %block, %c2 : index
  %step = arith.divui %blocks, %c2 : index
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  scf.for %unit = %first to %m step %step {
    %i = arith.addi %unit, %rank : index
    %row = arith.muli %i, %c128 : index
    %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
      %sa = tile.slice %A[%row, %kk] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
      tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
      %sb = tile.slice %B[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
      tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
      %sc = tile.slice %B[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<8x64xbf16>
      tile.copy %sc, %c : !tile.slice<8x64xbf16>, !tile.shared<8x64xbf16>
      %next = scf.for %t = %c0 to %c2 step %c2 iter_args(%inner = %acc) -> (tensor<128x64xf32>) {
        %bias = tile.load %c : !tile.shared<8x64xbf16> -> tensor<8x64xbf16>
        %new = tile.gemm %a, %b, %inner atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
        scf.yield %new : tensor<128x64xf32>
      }
      scf.yield %next : tensor<128x64xf32>
    } {tile.pipeline = #tile.pipeline<stages = 2>}
  }
  tile.return
}
}

// -----

// Blocks of a cluster that make different numbers of rounds cannot share a tile, wherever it lies: here rows
// further down have longer loops.
// CHECK-LABEL: tile.kernel @causal_cluster(
// CHECK:       tile.alloc_ring "b"
// CHECK-NOT:   multicast
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @causal_cluster(%m: index {program.argument = #program.dimension<"m">},
    %B: !tile.global<?x64xbf16> {program.argument = #program.tensor<"B", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8, cluster = 2>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %block = tile.grid %m : index
  %end = arith.muli %block, %c64 : index
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %a = tile.splat %h0 : bf16 -> tensor<128x64xbf16>
  %sum = scf.for %kk = %c0 to %end step %c64 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
    %sb = tile.slice %B[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %new = tile.gemm %a, %b, %acc atom wgmma : tensor<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    scf.yield %new : tensor<128x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// Nor can blocks share a tile that ends elsewhere for each.
// CHECK-LABEL: tile.kernel @limited_cluster(
// CHECK:         tile.slice %B{{.*}} limit %{{[0-9]+}} along 0
// CHECK:         tile.copy_async {{.*}} : !tile.slice<64x64xbf16>
// CHECK:         tile.slice %C{{.*}} limit %m along 0
// CHECK:         tile.copy_async {{.*}} multicast
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @limited_cluster(%m: index {program.argument = #program.dimension<"m">},
    %B: !tile.global<?x64xbf16> {program.argument = #program.tensor<"B", input, dims[0, -1], alignment = 16>},
    %C: !tile.global<?x64xbf16> {program.argument = #program.tensor<"C", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8, cluster = 2>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %c = tile.alloc_shared "c" : !tile.shared<64x64xbf16>
  %block = tile.grid %m : index
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %a = tile.splat %h0 : bf16 -> tensor<128x64xbf16>
  %sum = scf.for %kk = %c0 to %m step %c64 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
    %sb = tile.slice %B[%kk, %c0] limit %block along 0 : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %sc = tile.slice %C[%kk, %c0] limit %m along 0 : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sc, %c : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %half = tile.gemm %a, %b, %acc atom wgmma : tensor<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    %new = tile.gemm %a, %c, %half atom wgmma : tensor<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    scf.yield %new : tensor<128x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// A block's position along the grid's second axis is the same in all blocks of a cluster, which lies along the first.
// CHECK-LABEL: tile.kernel @second_grid_axis(
// CHECK:       tile.copy_async {{.*}} multicast
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @second_grid_axis(%m: index {program.argument = #program.dimension<"m">}, %k: index {program.argument = #program.dimension<"k">},
    %B: !tile.global<?x?xbf16> {program.argument = #program.tensor<"B", input, dims[1, 0], alignment = 16>}) attributes {launch = #program.launch<warps = 8, cluster = 2>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %block:2 = tile.grid %m, %m : index, index
  %column = arith.muli %block#1, %c64 : index
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %a = tile.splat %h0 : bf16 -> tensor<128x64xbf16>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
    %sb = tile.slice %B[%kk, %column] : !tile.global<?x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %new = tile.gemm %a, %b, %acc atom wgmma : tensor<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    scf.yield %new : tensor<128x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// A copy under a condition: the cursor moves in the branch alone, and both roles follow the condition. Positions
// that a loop without copies counts out, and a position that the loop carries next to fragments, are repeated
// where copies are issued.
// CHECK-LABEL: tile.kernel @branch(
// CHECK:       tile.role "load"
// CHECK:         %[[COUNTED:.*]] = scf.for {{.*}} -> (index) {
// CHECK:         scf.for {{.*}} iter_args(%[[AT:.*]] = %[[COUNTED]], %[[C:.*]] = %{{.*}}) -> (index, !tile.cursor<1>) {
// CHECK:           %[[AFTER:.*]] = scf.if %{{.*}} -> (!tile.cursor<1>) {
// CHECK:             tile.slice %B[%[[AT]],
// CHECK:             tile.acquire %b[%[[C]]]
// CHECK:             %[[NEXT:.*]] = tile.advance %[[C]]
// CHECK:             scf.yield %[[NEXT]]
// CHECK:           } else {
// CHECK-NEXT:        scf.yield %[[C]]
// CHECK:           scf.yield %{{.*}}, %[[AFTER]] : index, !tile.cursor<1>
// CHECK:       tile.role "math"
// CHECK:         scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{[^,]*}}, %{{[^,]*}} = %{{[^,]*}}, %[[C:.*]] = %{{[^,]*}}) -> (tensor<128x64xf32>, index, !tile.cursor<1>) {
// CHECK:           scf.if %{{.*}} -> (tensor<128x64xf32>, !tile.cursor<1>) {
// CHECK:             tile.await %b[%[[C]]]
// CHECK:             tile.release %b[%[[C]]]
// CHECK:           } else {
// CHECK-NEXT:        scf.yield %[[ACC]], %[[C]]
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @branch(%k: index {program.argument = #program.dimension<"k">},
    %B: !tile.global<?x64xbf16> {program.argument = #program.tensor<"B", input, dims[0, -1], alignment = 16>},
    %O: !tile.global<128x64xf32> {program.argument = #program.tensor<"O", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %a = tile.splat %h0 : bf16 -> tensor<128x64xbf16>
  %start = scf.for %i = %c0 to %k step %c64 iter_args(%x = %c0) -> (index) {
    %y = arith.addi %x, %i : index
    scf.yield %y : index
  }
  %sum:2 = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero, %at = %start) -> (tensor<128x64xf32>, index) {
    %p = arith.cmpi ugt, %kk, %c64 : index
    %new = scf.if %p -> (tensor<128x64xf32>) {
      %sb = tile.slice %B[%at, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
      tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
      %next = tile.gemm %a, %b, %acc atom wgmma : tensor<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
      scf.yield %next : tensor<128x64xf32>
    } else {
      scf.yield %acc : tensor<128x64xf32>
    }
    %then = arith.addi %at, %c64 : index
    scf.yield %new, %then : tensor<128x64xf32>, index
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %so = tile.slice %O[%c0, %c0] : !tile.global<128x64xf32> -> !tile.slice<128x64xf32>
  tile.store %sum#0, %so : tensor<128x64xf32>, !tile.slice<128x64xf32>
  tile.return
}
}

// -----

// Eight stages of 64 KiB do not fit; the other loop's two keep what they asked for.
// CHECK-LABEL: tile.kernel @fewer_stages(
// CHECK-DAG:   tile.alloc_shared "large" : !tile.shared<2x512x64xbf16>
// CHECK-DAG:   tile.alloc_shared "small" : !tile.shared<2x64x64xbf16>
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @fewer_stages(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 0], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %large = tile.alloc_shared "large" : !tile.shared<512x64xbf16>
  %small = tile.alloc_shared "small" : !tile.shared<64x64xbf16>
  %other = tile.alloc_shared "other" : !tile.shared<512x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%c0, %kk] : !tile.global<?x?xbf16> -> !tile.slice<512x64xbf16>
    // expected-remark @below {{[fewer-stages] 2 stages instead of 8: more do not fit the 232448 bytes of shared memory}}
    tile.copy %s, %large : !tile.slice<512x64xbf16>, !tile.shared<512x64xbf16>
    %x = tile.load %large : !tile.shared<512x64xbf16> -> tensor<512x64xbf16>
    tile.store %x, %other : tensor<512x64xbf16>, !tile.shared<512x64xbf16>
  } {tile.pipeline = #tile.pipeline<stages = 8>}
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%c0, %kk] : !tile.global<?x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %s, %small : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %small : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// A tile that is read twice is awaited before the first and released after the last of its readers, one of them in
// a branch; the other buffer of the loop is read first by another operation and so has a ring of its own.
// CHECK-LABEL: tile.kernel @read_twice(
// CHECK:       tile.role "math"
// CHECK:           tile.await %b[
// CHECK-NEXT:      %[[B:.*]] = tile.slot %b
// CHECK-NEXT:      tile.gemm_async %{{.*}}, %[[B]],
// CHECK-NEXT:      tile.gemm_wait
// CHECK:           tile.await %c[
// CHECK-NEXT:      %[[C:.*]] = tile.slot %c
// CHECK-NEXT:      tile.gemm_async %{{.*}}, %[[C]],
// CHECK-NEXT:      tile.gemm_wait
// CHECK-NEXT:      tile.release %c[
// CHECK:           scf.if
// CHECK-NEXT:        tile.gemm_async %{{.*}}, %[[B]],
// CHECK:           } else {
// CHECK-NEXT:        scf.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      tile.release %b[
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @read_twice(%k: index {program.argument = #program.dimension<"k">},
    %B: !tile.global<?x64xbf16> {program.argument = #program.tensor<"B", input, dims[0, -1], alignment = 16>},
    %O: !tile.global<128x64xf32> {program.argument = #program.tensor<"O", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %c = tile.alloc_shared "c" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %a = tile.splat %h0 : bf16 -> tensor<128x64xbf16>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
    %s = tile.slice %B[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %s, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    tile.copy %s, %c : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %0 = tile.gemm %a, %b, %acc atom wgmma : tensor<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    %1 = tile.gemm %a, %c, %0 atom wgmma : tensor<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    %p = arith.cmpi ugt, %kk, %c64 : index
    %2 = scf.if %p -> (tensor<128x64xf32>) {
      %3 = tile.gemm %a, %b, %1 atom wgmma : tensor<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
      scf.yield %3 : tensor<128x64xf32>
    } else {
      scf.yield %1 : tensor<128x64xf32>
    }
    scf.yield %2 : tensor<128x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %so = tile.slice %O[%c0, %c0] : !tile.global<128x64xf32> -> !tile.slice<128x64xf32>
  tile.store %sum, %so : tensor<128x64xf32>, !tile.slice<128x64xf32>
  tile.return
}
}

// -----

// A view of a buffer that is made outside the loop becomes one of the slot, inside.
// CHECK-LABEL: tile.kernel @view_outside(
// CHECK-NOT:   tile.transpose
// CHECK:       tile.role "math"
// CHECK:           tile.await
// CHECK-NEXT:      %[[SLOT:.*]] = tile.slot %b
// CHECK-NEXT:      %[[VIEW:.*]] = tile.transpose %[[SLOT]]
// CHECK-NEXT:      tile.gemm_async %{{.*}}, %[[VIEW]],
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @view_outside(%k: index {program.argument = #program.dimension<"k">},
    %B: !tile.global<64x?xbf16> {program.argument = #program.tensor<"B", input, dims[-1, 0], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %bt = tile.transpose %b : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %a = tile.splat %h0 : bf16 -> tensor<128x64xbf16>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
    %sb = tile.slice %B[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %new = tile.gemm %a, %bt, %acc atom wgmma : tensor<128x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<128x64xf32>
    scf.yield %new : tensor<128x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// The explicit form stays as it was written.
// CHECK-LABEL: tile.kernel @explicit(
// CHECK:       tile.roles
// CHECK-COUNT-1: tile.role
// CHECK-NOT:   tile.role
// OFF-LABEL: tile.kernel @explicit(
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @explicit() attributes {launch = #program.launch<warps = 4>} {
  tile.roles {
    tile.role "one" warps(4) {
    }
  }
  tile.return
}
}

// -----

// What the TMA cannot load, threads of the role do: by cp.async where rows are known to be aligned for it, else by loads
// and stores; after the TMA's copies of the slot, which are on their way meanwhile. A slot is full after the arrival that
// announces what the TMA brings, those of 128 threads for what they have started, and one for what they have stored.
// CHECK-LABEL: tile.kernel @mixed(
// CHECK-DAG:   %[[RING:.*]] = tile.alloc_ring "even.b" : !tile.ring<3>
// CHECK-DAG:   %[[LAST:.*]] = tile.alloc_ring "odd.other" : !tile.ring<3>
// CHECK:       tile.role "load" warps(4) registers(72) {
// CHECK:         scf.for {{.*}} iter_args(%[[C:.*]] = %{{.*}}, %[[D:.*]] = %{{.*}}) -> (!tile.cursor<3>, !tile.cursor<3>) {
// CHECK:           tile.acquire %[[RING]][%[[C]]]
// CHECK:           tile.expect %[[RING]][%[[C]]] bytes(8192)
// CHECK-NEXT:      tile.copy_async %{{.*}}, %{{.*}}, %[[RING]][%[[C]]]
// CHECK-NEXT:      %[[EVEN:.*]] = tile.slot %even{{.*}}[%[[C]]]
// CHECK-NEXT:      tile.copy %{{.*}}, %[[EVEN]] atom cp_async
// CHECK-NEXT:      tile.publish %[[RING]][%[[C]]] after_copies
// CHECK-NEXT:      tile.advance %[[C]]
// CHECK:           tile.acquire %[[LAST]][%[[D]]]
// CHECK:           tile.expect %[[LAST]][%[[D]]] bytes(8192)
// CHECK-NEXT:      tile.copy_async %{{.*}}, %{{.*}}, %[[LAST]][%[[D]]]
// CHECK-NEXT:      %[[ODD:.*]] = tile.slot %odd{{.*}}[%[[D]]]
// CHECK-NEXT:      tile.copy %{{.*}}, %[[ODD]] atom simt
// CHECK-NEXT:      tile.publish %[[LAST]][%[[D]]] : !tile.ring<3>
// CHECK-NEXT:      tile.advance %[[D]]
// CHECK:       tile.role "math" warps(8) registers(216) {
// CHECK:           tile.await %[[RING]]
// CHECK:           tile.gemm_async
// CHECK:           tile.release %[[RING]]
// CHECK:           tile.await %[[LAST]]
// CHECK:           tile.gemm_async
// CHECK:           tile.release %[[LAST]]
// OFF-LABEL: tile.kernel @mixed(
// OFF-COUNT-3: tile.copy {{.*}} atom cp_async
// OFF:         tile.copy {{.*}} atom simt
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @mixed(%k: index {program.argument = #program.dimension<"k">},
    %Odd: !tile.global<128x?xbf16> {program.argument = #program.tensor<"Odd", input, dims[-1, 0]>},
    %Even: !tile.global<128x?xbf16> {program.argument = #program.tensor<"Even", input, dims[-1, 0], alignment = 4>},
    %B: !tile.global<?x64xbf16> {program.argument = #program.tensor<"B", input, dims[0, -1], alignment = 16>},
    %C: !tile.global<128x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %odd = tile.alloc_shared "odd" : !tile.shared<128x64xbf16>
  %other = tile.alloc_shared "other" : !tile.shared<64x64xbf16>
  %even = tile.alloc_shared "even" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
    %se = tile.slice %Even[%c0, %kk] : !tile.global<128x?xbf16> -> !tile.slice<128x64xbf16>
    // expected-remark @below {{[copy-without-tma] threads make this copy, not the TMA: 'Even' is not known to be aligned to 16 bytes}}
    tile.copy %se, %even : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
    %sb = tile.slice %B[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %so = tile.slice %Odd[%c0, %kk] : !tile.global<128x?xbf16> -> !tile.slice<128x64xbf16>
    // expected-remark @below {{[copy-without-tma] threads make this copy, not the TMA: 'Odd' is not known to be aligned to 16 bytes}}
    tile.copy %so, %odd : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
    tile.copy %sb, %other : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %both = tile.gemm %even, %b, %acc atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    %new = tile.gemm %odd, %other, %both atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    scf.yield %new : tensor<128x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 3>}
  %sc = tile.slice %C[%c0, %c0] : !tile.global<128x64xf32> -> !tile.slice<128x64xf32>
  tile.store %sum, %sc : tensor<128x64xf32>, !tile.slice<128x64xf32>
  tile.return
}
}

// -----

// A copy that cannot run ahead stays with those who compute, and so does one that reads shared memory.
// CHECK-LABEL: tile.kernel @stays(
// CHECK:       tile.alloc_ring "b"
// CHECK:       tile.role "load"
// CHECK-COUNT-1: tile.copy_async
// CHECK-NOT:   tile.copy
// CHECK:       tile.role "math"
// CHECK:         scf.for
// CHECK:           tile.copy %{{.*}}, %a atom simt
// CHECK:           tile.await %b
// CHECK:         tile.copy %a, %{{.*}} atom simt
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @stays(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 16>},
    %B: !tile.global<?x64xbf16> {program.argument = #program.tensor<"B", input, dims[0, -1], alignment = 16>},
    %C: !tile.global<64x64xbf16> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %sa = tile.slice %A[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark @below {{[copy-without-tma] threads make this copy, not the TMA: 'a' is used outside the loop that fills it}}
    tile.copy %sa, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %sb = tile.slice %B[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %new = tile.gemm %a, %b, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 3>}
  %sc = tile.slice %C[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.copy %a, %sc : !tile.shared<64x64xbf16>, !tile.slice<64x64xbf16>
  tile.return
}
}

// -----

// So does one by threads, where its position follows from what is computed.
// CHECK-LABEL: tile.kernel @stays_by_threads(
// CHECK:       tile.role "math"
// CHECK:           tile.copy %{{.*}}, %a atom simt
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @stays_by_threads(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0]>},
    %B: !tile.global<?x64xbf16> {program.argument = #program.tensor<"B", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %places = tile.alloc_shared "places" : !tile.shared<4xi32>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %at = tile.load_index %places[%c0] : !tile.shared<4xi32>
    %sa = tile.slice %A[%c0, %at] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark @below {{[copy-without-tma] threads make this copy, not the TMA: 'A' is not known to be aligned to 16 bytes; also, the position of the copy to 'a' depends on computed data}}
    tile.copy %sa, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %sb = tile.slice %B[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %new = tile.gemm %a, %b, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 3>}
  tile.return
}
}

// -----

// Without the TMA, threads load everything.
// CHECK-LABEL: tile.kernel @ordinary(
// CHECK:       tile.alloc_ring "a"
// CHECK:       tile.role "load" warps(4) {
// CHECK-NOT:     tile.expect
// CHECK:         tile.copy {{.*}} atom cp_async
// CHECK-NEXT:    tile.publish {{.*}} after_copies
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @ordinary(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 8>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark @below {{[copy-without-tma] threads make this copy, not the TMA: 'A' is not known to be aligned to 16 bytes}}
    tile.copy %s, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %new = tile.gemm %a, %a, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// What is read from an input is known to both roles, before they part or in each.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @packed(
// CHECK:       %[[END:.*]] = tile.load_index
// CHECK:       tile.role "load"
// CHECK:         scf.for %[[KK:.*]] = %{{.*}} to %[[END]]
// CHECK:           %[[AT:.*]] = tile.load_index
// CHECK:           tile.slice %A[%[[AT]], %{{.*}}] limit %[[END]] along 0
// CHECK:           tile.copy_async
// CHECK:       tile.role "math"
// CHECK:         scf.for %{{.*}} = %{{.*}} to %[[END]]
tile.kernel @packed(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>},
    %E: !tile.global<?xi32> {program.argument = #program.tensor<"E", input, dims[0]>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %e = tile.slice %E[%c0] : !tile.global<?xi32> -> !tile.slice<1xi32>
  %end = tile.load_index %e[] : !tile.slice<1xi32>
  scf.for %kk = %c0 to %end step %c64 {
    %p = tile.slice %E[%kk] : !tile.global<?xi32> -> !tile.slice<1xi32>
    %at = tile.load_index %p[] : !tile.slice<1xi32>
    %s = tile.slice %A[%at, %c0] limit %end along 0 : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %s, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    %out = tile.alloc_shared "out" : !tile.shared<64x64xbf16>
    tile.store %x, %out : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// What an earlier launch has left in a workspace is known to both roles, too.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @planned(
// CHECK:       tile.role "load"
// CHECK:           %[[AT:.*]] = tile.load_index
// CHECK:           tile.slice %A[%[[AT]], %{{.*}}]
// CHECK:           tile.copy_async
// CHECK:       tile.role "math"
tile.kernel @planned(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>},
    %W: !tile.global<?xi32> {program.argument = #program.tensor<"W", workspace, dims[0]>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %p = tile.slice %W[%kk] : !tile.global<?xi32> -> !tile.slice<1xi32>
    %at = tile.load_index %p[] : !tile.slice<1xi32>
    %s = tile.slice %A[%at, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %s, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    %out = tile.alloc_shared "out" : !tile.shared<64x64xbf16>
    tile.store %x, %out : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// A slot is released after the wait for the products that read it, also where the program waits by hand.
// CHECK-LABEL: tile.kernel @by_hand(
// CHECK:       tile.role "math"
// CHECK:         tile.gemm_async
// CHECK-NEXT:    tile.gemm_async
// CHECK-NEXT:    tile.gemm_wait %{{.*}} pending(1)
// CHECK-NEXT:    tile.gemm_wait %{{.*}} pending(0)
// CHECK-NEXT:    tile.release
// OFF-LABEL: tile.kernel @by_hand(
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @by_hand(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 16>},
    %C: !tile.global<64x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %at = tile.transpose %a : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sums:2 = scf.for %kk = %c0 to %k step %c64 iter_args(%x = %zero, %y = %zero) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %s = tile.slice %A[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %s, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %first = tile.gemm_async %a, %at, %x atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
    %second = tile.gemm_async %a, %at, %y atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
    %x1 = tile.gemm_wait %first pending(1) : tensor<64x64xf32>
    %y1 = tile.gemm_wait %second pending(0) : tensor<64x64xf32>
    scf.yield %x1, %y1 : tensor<64x64xf32>, tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %sum = arith.addf %sums#0, %sums#1 : tensor<64x64xf32>
  %sc = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %sum, %sc : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}
}
