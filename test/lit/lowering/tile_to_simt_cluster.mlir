// RUN: %tlc-opt %s -tile-to-simt | FileCheck %s

// Two blocks of a cluster work on neighbouring rows of one column: each loads half of B's tile for both.
#acc = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
#a = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
#b = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">

module attributes {program.target = #program.target<"sm_90a">} {

// A's map has the whole tile's rows, B's half of them.
// CHECK-LABEL: simt.kernel @cluster(
// CHECK-SAME:    %[[A:arg[0-9]+]]: !llvm.ptr {program.parameter = #program.parameter<tensor_map, 0>}
// CHECK-SAME:    %[[B:arg[0-9]+]]: !llvm.ptr {program.parameter = #program.parameter<tensor_map, 1>}
// CHECK-SAME:    grid = [#program.host_expr<"d0 128 ceildiv 2 mul">, #program.host_expr<"d1 64 ceildiv">]
// CHECK-SAME:    launch = #program.launch<warps = 8, cluster = 2, shared_bytes = 49200>
// CHECK-SAME:    tensor_maps = [#program.tensor_map<0, box[64, 64], bytes128>, #program.tensor_map<1, box[32, 64], bytes128>]
// All blocks' barriers exist before any block loads.
// CHECK:           simt.barrier_init_fence
// CHECK-NEXT:    }
// CHECK-NEXT:    simt.cluster_sync relaxed
// CHECK:         simt.barrier_expect %{{.*}} bytes(16384)
// CHECK:         simt.tma_load %[[A]][%{{.*}}, %{{.*}}] to %{{.*}} on %{{[^ ]*$}}
// CHECK:         %[[RANK:.*]] = simt.cluster_rank
// CHECK:         %[[SHARE:.*]] = arith.muli %[[RANK]], %c32_i32
// CHECK:         %[[BYTES:.*]] = arith.muli %[[SHARE]], %c128_i32
// CHECK:         %[[ROW:.*]] = arith.addi %{{.*}}, %[[SHARE]]
// CHECK:         %[[TO:.*]] = llvm.getelementptr %{{.*}}[%[[BYTES]]]
// CHECK:         simt.tma_load %[[B]][%{{.*}}, %[[ROW]]] to %[[TO]] on %{{.*}} multicast %c3_i16
// Each block hears of each release.
// CHECK:         simt.wgmma_wait 0
// CHECK:         %[[MINE:.*]] = arith.cmpi ult, %[[THREAD:.*]], %c2_i32
// CHECK:         scf.if %[[MINE]] {
// CHECK-NEXT:      simt.barrier_arrive %{{.*}} rank %[[THREAD]]
// No block ends while another may still write to it or arrive at its barriers.
// CHECK:         simt.cluster_sync{{$}}
// CHECK-NEXT:    simt.return
tile.kernel @cluster(
    %m: index {program.argument = #program.dimension<"m">},
    %n: index {program.argument = #program.dimension<"n">},
    %k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 2], alignment = 16>},
    %B: !tile.global<?x?xbf16> {program.argument = #program.tensor<"B", input, dims[1, 2], alignment = 16>},
    %C: !tile.global<?x?xbf16> {program.argument = #program.tensor<"C", output, dims[0, 1]>})
    attributes {launch = #program.launch<warps = 8, cluster = 2, shared_bytes = 49200>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %pairs = arith.ceildivui %m, %c128 : index
  %rows = arith.muli %pairs, %c2 : index
  %columns = arith.ceildivui %n, %c64 : index
  %steps = arith.ceildivui %k, %c64 : index
  %i, %j = tile.grid %rows, %columns : index, index
  %row = arith.muli %i, %c64 : index
  %column = arith.muli %j, %c64 : index
  %ring = tile.alloc_ring "ab" at 49152 : !tile.ring<3>
  %a = tile.alloc_shared "a" at 0 : !tile.shared<3x64x64xbf16, #a>
  %b = tile.alloc_shared "b" at 24576 : !tile.shared<3x64x64xbf16, #b>
  tile.roles {
    tile.role "load" warps(4) one_thread {
      %start = tile.cursor : !tile.cursor<3>
      %last = scf.for %s = %c0 to %steps step %c1 iter_args(%at = %start) -> (!tile.cursor<3>) {
        %kk = arith.muli %s, %c64 : index
        tile.acquire %ring[%at] : !tile.ring<3>
        tile.expect %ring[%at] bytes(16384) : !tile.ring<3>
        %sa = tile.slice %A[%row, %kk] : !tile.global<?x?xbf16> -> !tile.slice<64x64xbf16>
        %as = tile.slot %a[%at] : !tile.shared<3x64x64xbf16, #a>, !tile.cursor<3> -> !tile.shared<64x64xbf16, #a>
        tile.copy_async %sa, %as, %ring[%at] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16, #a>, !tile.ring<3>
        %sb = tile.slice %B[%column, %kk] : !tile.global<?x?xbf16> -> !tile.slice<64x64xbf16>
        %bs = tile.slot %b[%at] : !tile.shared<3x64x64xbf16, #b>, !tile.cursor<3> -> !tile.shared<64x64xbf16, #b>
        tile.copy_async %sb, %bs, %ring[%at] multicast : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16, #b>, !tile.ring<3>
        %next = tile.advance %at : !tile.cursor<3>
        scf.yield %next : !tile.cursor<3>
      }
    }
    tile.role "math" warps(4) {
      %start = tile.cursor : !tile.cursor<3>
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32, #acc>
      %sum, %last = scf.for %s = %c0 to %steps step %c1 iter_args(%old = %zero, %at = %start) -> (tensor<64x64xf32, #acc>, !tile.cursor<3>) {
        tile.await %ring[%at] : !tile.ring<3>
        %as = tile.slot %a[%at] : !tile.shared<3x64x64xbf16, #a>, !tile.cursor<3> -> !tile.shared<64x64xbf16, #a>
        %bs = tile.slot %b[%at] : !tile.shared<3x64x64xbf16, #b>, !tile.cursor<3> -> !tile.shared<64x64xbf16, #b>
        %bt = tile.transpose %bs : !tile.shared<64x64xbf16, #b> -> !tile.shared<64x64xbf16, #b, transposed>
        %new = tile.gemm %as, %bt, %old atom wgmma : !tile.shared<64x64xbf16, #a>, !tile.shared<64x64xbf16, #b, transposed>, tensor<64x64xf32, #acc>
        tile.release %ring[%at] : !tile.ring<3>
        %next = tile.advance %at : !tile.cursor<3>
        scf.yield %new, %next : tensor<64x64xf32, #acc>, !tile.cursor<3>
      }
      %h = tile.convert %sum : tensor<64x64xf32, #acc> to tensor<64x64xbf16, #acc>
      %sc = tile.slice %C[%row, %column] : !tile.global<?x?xbf16> -> !tile.slice<64x64xbf16>
      tile.store %h, %sc atom simt : tensor<64x64xbf16, #acc>, !tile.slice<64x64xbf16>
    }
  }
  tile.return
}
}
