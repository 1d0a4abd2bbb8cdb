// RUN: %tlc compile %s --emit ptx | FileCheck %s
// RUN: %tlc compile %s --emit ptx | FileCheck %s --check-prefix=TILE
// RUN: %tlc compile %s --emit ptx --variant general | FileCheck %s --check-prefix=GENERAL
// RUN: %tlc compile %s --emit simt | FileCheck %s --check-prefix=SIMT

// A GEMM as a user writes it, without a word about threads, barriers or instructions.

// CHECK: .version 8.7
// CHECK: .target sm_90a{{$}}
// CHECK: .visible .entry gemm(
// CHECK: .param .align 64 .b8 gemm_param_{{[0-9]}}[128]
// CHECK: .maxntid 384, 1, 1
// CHECK: .minnctapersm 1
// Source lines are those of this file.
// CHECK: .loc 1
// The one role loads.
// CHECK: setmaxnreg.dec.sync.aligned.u32 40
// CHECK: mbarrier.arrive.expect_tx.shared.b64
// CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// The other multiplies: the first step is peeled, and under its products the tile before is stored.
// CHECK: setmaxnreg.inc.sync.aligned.u32 232
// CHECK: wgmma.fence.sync.aligned
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// CHECK: wgmma.commit_group.sync.aligned
// CHECK: stmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: fence.proxy.async.shared::cta
// CHECK: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group
// In the loop one batch is always in flight.
// CHECK: mbarrier.try_wait.parity.shared.b64
// CHECK: wgmma.fence.sync.aligned
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// CHECK: wgmma.commit_group.sync.aligned
// CHECK: wgmma.wait_group.sync.aligned 1
// CHECK: mbarrier.arrive.shared.b64
// Two sums become one register before the next tile's products take theirs.
// TILE-DAG: wgmma.wait_group.sync.aligned 0
// TILE-DAG: cvt.rn.bf16x2.f32
// Nothing is kept in memory that belongs in registers.
// CHECK-NOT: .local

// Tensors of any alignment are read and written element by element.
// GENERAL-NOT: cp.async.bulk
// GENERAL-NOT: ld.global.v
// GENERAL-DAG: ld.global.b16
// GENERAL-DAG: wgmma.mma_async
// GENERAL-DAG: st.global.b16
// GENERAL-NOT: cp.async.bulk

// Only what relies on alignment asks for it.
// SIMT: #program.tensor<"A", input, dims[0, 2], alignment = 16>
// SIMT-SAME: #program.tensor<"C", output, dims[0, 1], alignment = 16>

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @gemm(
    %m: index {program.argument = #program.dimension<"m">},
    %n: index {program.argument = #program.dimension<"n">},
    %k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 2]>},
    %B: !tile.global<?x?xbf16> {program.argument = #program.tensor<"B", input, dims[1, 2]>},
    %C: !tile.global<?x?xbf16> {program.argument = #program.tensor<"C", output, dims[0, 1]>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %rows = arith.ceildivsi %m, %c128 : index
  %columns = arith.ceildivsi %n, %c256 : index
  %steps = arith.ceildivsi %k, %c64 : index
  tile.persistent (%i, %j) in (%rows, %columns) group(16) {
    %row = arith.muli %i, %c128 : index
    %column = arith.muli %j, %c256 : index
    %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
    %b = tile.alloc_shared "b" : !tile.shared<256x64xbf16>
    %start = tile.splat %zero : f32 -> tensor<128x256xf32>
    %acc = tile.variable %start "acc" : !tile.variable<tensor<128x256xf32>>
    scf.for %step = %c0 to %steps step %c1 {
      %at = arith.muli %step, %c64 : index
      %aTile = tile.slice %A[%row, %at] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
      tile.copy %aTile, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
      %bTile = tile.slice %B[%column, %at] : !tile.global<?x?xbf16> -> !tile.slice<256x64xbf16>
      tile.copy %bTile, %b : !tile.slice<256x64xbf16>, !tile.shared<256x64xbf16>
      %bt = tile.transpose %b : !tile.shared<256x64xbf16> -> !tile.shared<64x256xbf16, transposed>
      %old = tile.read %acc : !tile.variable<tensor<128x256xf32>>
      %next = tile.gemm %a, %bt, %old : !tile.shared<128x64xbf16>, !tile.shared<64x256xbf16, transposed>, tensor<128x256xf32>
      tile.write %next, %acc : !tile.variable<tensor<128x256xf32>>
    } {tile.pipeline = #tile.pipeline<stages = 4>}
    %sum = tile.read %acc : !tile.variable<tensor<128x256xf32>>
    %c = tile.convert %sum : tensor<128x256xf32> to tensor<128x256xbf16>
    %cTile = tile.slice %C[%row, %column] : !tile.global<?x?xbf16> -> !tile.slice<128x256xbf16>
    tile.store %c, %cTile : tensor<128x256xbf16>, !tile.slice<128x256xbf16>
  }
  tile.return
}
}
