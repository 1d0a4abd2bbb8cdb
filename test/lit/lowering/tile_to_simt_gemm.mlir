// RUN: %tlc-opt %s -tile-to-simt | FileCheck %s

// A warp-specialised, pipelined, persistent GEMM: TMA loads into a ring, wgmma, TMA stores.
#acc = #tile.layout<"reg(2@1:1, 2@0:8, 32@1:8) lane(4@1:2, 8@0:1) warp(8@0:16)">
#a = #tile.shared_layout<"128x64 16b axis 1 panel 64 swizzle 128 pad 0">
#b = #tile.shared_layout<"256x64 16b axis 1 panel 64 swizzle 128 pad 0">
#c = #tile.shared_layout<"2x2x64x64 16b axis 3 panel 64 swizzle 128 pad 0">

module attributes {program.target = #program.target<"sm_90a">} {

// Only what is used is a parameter: C's pointer for rows that do not end at 16 bytes, where the TMA would write beyond.
// CHECK-LABEL: simt.kernel @gemm(
// CHECK-SAME:    %[[M:arg0]]: i32 {program.parameter = #program.parameter<dimension, 0>},
// CHECK-SAME:    %[[N:arg1]]: i32 {program.parameter = #program.parameter<dimension, 1>},
// CHECK-SAME:    !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 2>},
// CHECK-SAME:    i64 {program.parameter = #program.parameter<tensor_stride, 2>},
// CHECK-SAME:    %[[A:arg5]]: !llvm.ptr {program.parameter = #program.parameter<tensor_map, 0>},
// CHECK-SAME:    %[[B:arg6]]: !llvm.ptr {program.parameter = #program.parameter<tensor_map, 1>},
// CHECK-SAME:    %[[C:arg7]]: !llvm.ptr {program.parameter = #program.parameter<tensor_map, 2>})
// CHECK-SAME:    grid = [#program.host_expr<"d0 128 ceildiv d1 256 ceildiv mul sms min">]
// CHECK-SAME:    launch = #program.launch<warps = 12, shared_bytes = 229440>
// CHECK-SAME:    roles = [#program.role<"load", first_warp = 0, warps = 4>, #program.role<"math", first_warp = 4, warps = 8>]
// CHECK-SAME:    schema_types = [index, index, index, tensor<?x?xbf16>, tensor<?x?xbf16>, tensor<?x?xbf16>]
// CHECK-SAME:    shared = [#program.shared<"ab", ring, offset = 229376, slots = 4, slot_bytes = 16>, #program.shared<"a", buffer, offset = 0, slots = 4, slot_bytes = 16384>,
// CHECK-SAME:    tensor_maps = [#program.tensor_map<0, box[128, 64], bytes128>, #program.tensor_map<1, box[256, 64], bytes128>, #program.tensor_map<2, box[64, 64], bytes128>]
// CHECK:         %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK:         %[[WARP:.*]] = simt.warp_index
// CHECK:         %[[SHARED:.*]] = simt.shared_base
// CHECK:         %[[FIRST:.*]] = arith.cmpi eq, %[[THREAD]], %c0_i32
// CHECK:         scf.if %[[FIRST]] {
// CHECK-COUNT-3:   simt.tma_prefetch
// CHECK:           %[[FULL0:.*]] = llvm.getelementptr %[[SHARED]][229376]
// CHECK-NEXT:      simt.barrier_init %[[FULL0]] count(1)
// CHECK:           %[[EMPTY0:.*]] = llvm.getelementptr %[[SHARED]][229408]
// CHECK-NEXT:      simt.barrier_init %[[EMPTY0]] count(2)
// CHECK-COUNT-6:   simt.barrier_init %
// CHECK:           simt.barrier_init_fence
// CHECK:         }
// CHECK-NEXT:    simt.sync %c0_i32{{$}}

// The first warps load: one thread runs the loops.
// CHECK:         %[[LOADS:.*]] = arith.cmpi ult, %[[WARP]], %c4_i32
// CHECK:         scf.if %[[LOADS]] {
// CHECK-NEXT:      simt.set_registers 40{{$}}
// CHECK:           %[[ELECTED:.*]] = simt.elect
// CHECK-NEXT:      scf.if %[[ELECTED]] {
// CHECK:             scf.for {{.*}} iter_args(%{{.*}} = %c0_i32, %{{.*}} = %c0_i32) -> (i32, i32)
// CHECK:               scf.for {{.*}} iter_args(%[[SLOT:.*]] = %{{.*}}, %[[PHASE:.*]] = %{{.*}}) -> (i32, i32)
// CHECK:                 %[[K:.*]] = arith.muli %{{.*}}, %c64_i32
// CHECK:                 %[[OTHER:.*]] = arith.xori %[[PHASE]], %c1_i32
// CHECK:                 simt.barrier_wait %{{.*}} parity(%[[OTHER]])
// CHECK:                 simt.barrier_expect %{{.*}} bytes(49152)
// CHECK:                 simt.tma_load %[[A]][%[[K]], %{{.*}}] to %{{.*}} on %
// CHECK:                 simt.tma_load %[[B]][%[[K]], %{{.*}}] to %{{.*}} on %
// CHECK:                 %[[NEXT:.*]] = arith.addi %[[SLOT]], %c1_i32
// CHECK:                 %[[WRAPS:.*]] = arith.cmpi eq, %[[NEXT]], %c4_i32
// CHECK:                 arith.select %[[WRAPS]], %c0_i32, %[[NEXT]]

// The others multiply: descriptors once per product, then steps of 32 bytes.
// CHECK:         } else {
// CHECK:           simt.set_registers 232 increase
// CHECK:           scf.if %{{.*}} -> (vector<128xf32>, i32, i32) {
// CHECK:             simt.barrier_wait
// CHECK:             %[[DB:.*]] = simt.matrix_descriptor %{{.*}} leading(16) stride(1024) swizzle bytes128
// CHECK:             %[[DA:.*]] = simt.matrix_descriptor %{{.*}} leading(16) stride(1024) swizzle bytes128
// CHECK-NEXT:        simt.wgmma_fence
// CHECK-NEXT:        %[[P0:.*]] = simt.wgmma %{{.*}}, %[[DA]], %[[DB]] zero %true {a_element = bf16, b_element = bf16, n = 256 : i64}
// CHECK-NEXT:        %[[DB1:.*]] = arith.addi %[[DB]], %c2_i64
// CHECK-NEXT:        %[[DA1:.*]] = arith.addi %[[DA]], %c2_i64
// CHECK-NEXT:        simt.wgmma %[[P0]], %[[DA1]], %[[DB1]] {a_element = bf16, b_element = bf16, n = 256 : i64}
// CHECK:             simt.wgmma_commit
// CHECK:             scf.for {{.*}} -> (vector<128xf32>, i32, i32, i32, i32)
// CHECK:               simt.barrier_wait
// CHECK:               simt.wgmma_fence
// CHECK-COUNT-4:       simt.wgmma %
// CHECK:               simt.wgmma_commit
// CHECK-NEXT:          %{{.*}} = simt.wgmma_wait 1 for
// CHECK:               %[[IN_GROUP:.*]] = arith.andi %{{.*}}, %c127_i32
// CHECK:               %[[LEADER:.*]] = arith.cmpi eq, %[[IN_GROUP]], %c0_i32
// CHECK:               scf.if %[[LEADER]] {
// CHECK-NEXT:            simt.barrier_arrive
// CHECK:             %[[SUM:.*]] = simt.wgmma_wait 0 for %{{.*}} : vector<128xf32>
// CHECK:             scf.yield %[[SUM]]

// The tile leaves in four panels per warpgroup, through two buffers.
// CHECK:           %[[HALF:.*]] = arith.truncf
// CHECK:           %[[REST:.*]] = arith.andi %[[N]], %c7_i32
// CHECK:           %[[EXACT:.*]] = arith.cmpi eq, %[[REST]], %c0_i32
// CHECK:             simt.bulk_wait 1 read
// CHECK:           simt.sync %{{.*}} threads 128
// CHECK:           vector.shuffle %[[HALF]], %[[HALF]] [0, 1, 2,
// CHECK-COUNT-4:   simt.stmatrix
// CHECK:           simt.proxy_fence
// CHECK:           simt.sync %{{.*}} threads 128
// CHECK:           scf.if %[[EXACT]] {
// CHECK:             simt.tma_store %{{.*}} to %[[C]][%{{.*}}, %{{.*}}]
// CHECK-NEXT:        simt.bulk_commit
// CHECK:           } else {
// CHECK:             scf.for
// CHECK:               simt.load {{.*}} -> bf16
// CHECK:               simt.store {{.*}} if
// CHECK:           vector.shuffle %[[HALF]], %[[HALF]] [32, 33,
// CHECK:             simt.tma_store
// CHECK:           vector.shuffle %[[HALF]], %[[HALF]] [64, 65,
// CHECK:             simt.tma_store
// CHECK:           vector.shuffle %[[HALF]], %[[HALF]] [96, 97,
// CHECK:             simt.tma_store
// CHECK-NOT:       simt.stmatrix
// CHECK:             simt.bulk_wait 0{{$}}
// CHECK:         simt.return
tile.kernel @gemm(
    %m: index {program.argument = #program.dimension<"m">},
    %n: index {program.argument = #program.dimension<"n">},
    %k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 2], alignment = 16>},
    %B: !tile.global<?x?xbf16> {program.argument = #program.tensor<"B", input, dims[1, 2], alignment = 16>},
    %C: !tile.global<?x?xbf16> {program.argument = #program.tensor<"C", output, dims[0, 1], alignment = 16>})
    attributes {launch = #program.launch<warps = 12, shared_bytes = 229440>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %f0 = arith.constant 0.0 : f32
  %rows = arith.ceildivui %m, %c128 : index
  %columns = arith.ceildivui %n, %c256 : index
  %steps = arith.ceildivui %k, %c64 : index
  %tiles = arith.muli %rows, %columns : index
  %sms = tile.multiprocessors
  %blocks = arith.minui %tiles, %sms : index
  %first = tile.grid %blocks : index
  %stride = tile.blocks
  %ring = tile.alloc_ring "ab" at 229376 : !tile.ring<4>
  %a = tile.alloc_shared "a" at 0 : !tile.shared<4x128x64xbf16, #a>
  %b = tile.alloc_shared "b" at 65536 : !tile.shared<4x256x64xbf16, #b>
  %staging = tile.alloc_shared "C.staging" at 196608 : !tile.shared<2x2x64x64xbf16, #c>
  %perGroup = arith.muli %columns, %c16 : index
  tile.roles {
    tile.role "load" warps(4) registers(40) one_thread {
      %start = tile.cursor : !tile.cursor<4>
      %end = scf.for %t = %first to %tiles step %stride iter_args(%outer = %start) -> (!tile.cursor<4>) {
        %group = arith.divui %t, %perGroup : index
        %rest = arith.remui %t, %perGroup : index
        %firstRow = arith.muli %group, %c16 : index
        %left = arith.subi %rows, %firstRow : index
        %height = arith.minui %left, %c16 : index
        %inGroup = arith.remui %rest, %height : index
        %j = arith.divui %rest, %height : index
        %i = arith.addi %firstRow, %inGroup : index
        %row = arith.muli %i, %c128 : index
        %column = arith.muli %j, %c256 : index
        %last = scf.for %s = %c0 to %steps step %c1 iter_args(%at = %outer) -> (!tile.cursor<4>) {
          %kk = arith.muli %s, %c64 : index
          tile.acquire %ring[%at] : !tile.ring<4>
          tile.expect %ring[%at] bytes(49152) : !tile.ring<4>
          %sa = tile.slice %A[%row, %kk] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
          %as = tile.slot %a[%at] : !tile.shared<4x128x64xbf16, #a>, !tile.cursor<4> -> !tile.shared<128x64xbf16, #a>
          tile.copy_async %sa, %as, %ring[%at] : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16, #a>, !tile.ring<4>
          %sb = tile.slice %B[%column, %kk] : !tile.global<?x?xbf16> -> !tile.slice<256x64xbf16>
          %bs = tile.slot %b[%at] : !tile.shared<4x256x64xbf16, #b>, !tile.cursor<4> -> !tile.shared<256x64xbf16, #b>
          tile.copy_async %sb, %bs, %ring[%at] : !tile.slice<256x64xbf16>, !tile.shared<256x64xbf16, #b>, !tile.ring<4>
          %next = tile.advance %at : !tile.cursor<4>
          scf.yield %next : !tile.cursor<4>
        }
        scf.yield %last : !tile.cursor<4>
      }
    }
    tile.role "math" warps(8) registers(232) {
      %start = tile.cursor : !tile.cursor<4>
      %zero = tile.splat %f0 : f32 -> tensor<128x256xf32, #acc>
      %end = scf.for %t = %first to %tiles step %stride iter_args(%outer = %start) -> (!tile.cursor<4>) {
        %group = arith.divui %t, %perGroup : index
        %rest = arith.remui %t, %perGroup : index
        %firstRow = arith.muli %group, %c16 : index
        %left = arith.subi %rows, %firstRow : index
        %height = arith.minui %left, %c16 : index
        %inGroup = arith.remui %rest, %height : index
        %j = arith.divui %rest, %height : index
        %i = arith.addi %firstRow, %inGroup : index
        %row = arith.muli %i, %c128 : index
        %column = arith.muli %j, %c256 : index
        %any = arith.cmpi sgt, %steps, %c0 : index
        %sum, %after = scf.if %any -> (tensor<128x256xf32, #acc>, !tile.cursor<4>) {
          tile.await %ring[%outer] : !tile.ring<4>
          %as0 = tile.slot %a[%outer] : !tile.shared<4x128x64xbf16, #a>, !tile.cursor<4> -> !tile.shared<128x64xbf16, #a>
          %bs0 = tile.slot %b[%outer] : !tile.shared<4x256x64xbf16, #b>, !tile.cursor<4> -> !tile.shared<256x64xbf16, #b>
          %bt0 = tile.transpose %bs0 : !tile.shared<256x64xbf16, #b> -> !tile.shared<64x256xbf16, #b, transposed>
          %p0 = tile.gemm_async %as0, %bt0, %zero atom wgmma : !tile.shared<128x64xbf16, #a>, !tile.shared<64x256xbf16, #b, transposed>, tensor<128x256xf32, #acc>
          %second = tile.advance %outer : !tile.cursor<4>
          %acc, %before, %last = scf.for %s = %c1 to %steps step %c1 iter_args(%old = %p0, %prev = %outer, %at = %second)
              -> (tensor<128x256xf32, #acc>, !tile.cursor<4>, !tile.cursor<4>) {
            tile.await %ring[%at] : !tile.ring<4>
            %as = tile.slot %a[%at] : !tile.shared<4x128x64xbf16, #a>, !tile.cursor<4> -> !tile.shared<128x64xbf16, #a>
            %bs = tile.slot %b[%at] : !tile.shared<4x256x64xbf16, #b>, !tile.cursor<4> -> !tile.shared<256x64xbf16, #b>
            %bt = tile.transpose %bs : !tile.shared<256x64xbf16, #b> -> !tile.shared<64x256xbf16, #b, transposed>
            %p = tile.gemm_async %as, %bt, %old atom wgmma : !tile.shared<128x64xbf16, #a>, !tile.shared<64x256xbf16, #b, transposed>, tensor<128x256xf32, #acc>
            %w = tile.gemm_wait %p pending(1) : tensor<128x256xf32, #acc>
            tile.release %ring[%prev] : !tile.ring<4>
            %next = tile.advance %at : !tile.cursor<4>
            scf.yield %w, %at, %next : tensor<128x256xf32, #acc>, !tile.cursor<4>, !tile.cursor<4>
          }
          %done = tile.gemm_wait %acc pending(0) : tensor<128x256xf32, #acc>
          tile.release %ring[%before] : !tile.ring<4>
          scf.yield %done, %last : tensor<128x256xf32, #acc>, !tile.cursor<4>
        } else {
          scf.yield %zero, %outer : tensor<128x256xf32, #acc>, !tile.cursor<4>
        }
        %h = tile.convert %sum : tensor<128x256xf32, #acc> to tensor<128x256xbf16, #acc>
        %sc = tile.slice %C[%row, %column] : !tile.global<?x?xbf16> -> !tile.slice<128x256xbf16>
        tile.store %h, %sc staging %staging : !tile.shared<2x2x64x64xbf16, #c> atom tma : tensor<128x256xbf16, #acc>, !tile.slice<128x256xbf16>
        scf.yield %after : !tile.cursor<4>
      }
      tile.await_stores
    }
  }
  tile.return
}
}
