// RUN: %tlc compile %s --emit planned | FileCheck %s --check-prefix=PLANNED
// RUN: %tlc compile %s --emit ptx | FileCheck %s
// RUN: sed s/sm_100a/sm_103a/ %s > %t.b300.mlir
// RUN: %tlc compile %t.b300.mlir --emit ptx | FileCheck %s --check-prefixes=B300,RELATIVE
// RUN: sed s/sm_100a/sm_110a/ %s > %t.thor.mlir
// RUN: %tlc compile %t.thor.mlir --emit ptx | FileCheck %s --check-prefixes=THOR,RELATIVE
// RUN: sed s/sm_100a/sm_100f/ %s > %t.family.mlir
// RUN: %tlc compile %t.family.mlir --emit ptx | FileCheck %s --check-prefixes=FAMILY,RELATIVE
// RUN: sed s/sm_100a/sm_120a/ %s > %t.rtx.mlir
// RUN: not %tlc compile %t.rtx.mlir --emit ptx 2>&1 | FileCheck %s --check-prefix=RTX

// A GEMM on Blackwell with roles by hand: warps that store, a thread that loads, a thread that multiplies into tensor memory.

// B300: .target sm_103a{{$}}
// THOR: .target sm_110a{{$}}
// FAMILY: .target sm_100f{{$}}
// RELATIVE-COUNT-4: tcgen05.mma.cta_group::1.kind::f16
// RTX: error: expected a target with tensor memory because 'accs' lies there, but got sm_120a

// Columns are reserved for two accumulators. Fences of tensor memory stand where roles meet.
// PLANNED:     tile.reserve_tensor_memory "tensor memory" columns(256) at {{[0-9]+}}
// PLANNED:     tile.alloc_tensor_memory "accs" at 0 : !tile.tensor_memory<2x128x128xf32>
// PLANNED:     tile.role "store" warps(4)
// PLANNED:       tile.await
// PLANNED:       tile.tensor_memory_fence after
// PLANNED-NEXT:  tile.load
// PLANNED-NEXT:  tile.tensor_memory_fence{{$}}
// PLANNED-NEXT:  tile.release
// PLANNED:     tile.role "multiply" warps(1)
// PLANNED:       tile.await
// PLANNED:       tile.tensor_memory_fence after
// PLANNED-NEXT:  tile.gemm_in_place
// PLANNED-NEXT:  tile.release %{{.*}} after_products
// PLANNED:     tile.publish %{{.*}} after_products

// CHECK: .target sm_100a{{$}}
// The first warp reserves the columns, and hands their address to the others.
// CHECK: tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [{{.*}}], %r{{[0-9]+}};
// CHECK: tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned
// CHECK: tcgen05.fence::before_thread_sync
// CHECK: tcgen05.fence::after_thread_sync
// The role that stores reads its lanes at once.
// CHECK: mbarrier.try_wait
// CHECK: tcgen05.fence::after_thread_sync
// CHECK: tcgen05.ld.sync.aligned.32x32b.x128.b32
// CHECK: tcgen05.wait::ld.sync.aligned
// CHECK: tcgen05.fence::before_thread_sync
// One thread multiplies: the depth of 64 is four instructions. The tensor core says when the accumulator is there, and
// releases slots.
// CHECK: tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64
// CHECK: tcgen05.fence::after_thread_sync
// CHECK-COUNT-4: tcgen05.mma.cta_group::1.kind::f16
// CHECK: tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64
// CHECK: tcgen05.dealloc.cta_group::1.sync.aligned.b32
// Nothing is kept in memory that belongs in registers.
// CHECK-NOT: .local

module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @gemm(
    %m: index {program.argument = #program.dimension<"m">},
    %n: index {program.argument = #program.dimension<"n">},
    %k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 2], alignment = 16>},
    %B: !tile.global<?x?xbf16> {program.argument = #program.tensor<"B", input, dims[1, 2], alignment = 16>},
    %C: !tile.global<?x?xf32> {program.argument = #program.tensor<"C", output, dims[0, 1]>}) attributes {launch = #program.launch<warps = 6>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %rows = arith.ceildivui %m, %c128 : index
  %columns = arith.ceildivui %n, %c128 : index
  %steps = arith.ceildivui %k, %c64 : index
  %i, %blocks_of_columns = tile.grid %rows, %c1 : index, index
  %row = arith.muli %i, %c128 : index
  %a = tile.alloc_shared "a" : !tile.shared<3x128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<3x128x64xbf16>
  %accs = tile.alloc_tensor_memory "accs" : !tile.tensor_memory<2x128x128xf32>
  %ab = tile.alloc_ring "ab" : !tile.ring<3>
  %sums = tile.alloc_ring "sums" : !tile.ring<2>
  %first = tile.cursor : !tile.cursor<3>
  %firstSum = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "store" warps(4) {
      scf.for %j = %c0 to %columns step %c1 iter_args(%at = %firstSum) -> (!tile.cursor<2>) {
        %column = arith.muli %j, %c128 : index
        tile.await %sums[%at] : !tile.ring<2>
        %acc = tile.slot %accs[%at] : !tile.tensor_memory<2x128x128xf32>, !tile.cursor<2> -> !tile.tensor_memory<128x128xf32>
        %sum = tile.load %acc : !tile.tensor_memory<128x128xf32> -> tensor<128x128xf32>
        tile.release %sums[%at] : !tile.ring<2>
        %out = tile.slice %C[%row, %column] : !tile.global<?x?xf32> -> !tile.slice<128x128xf32>
        tile.store %sum, %out : tensor<128x128xf32>, !tile.slice<128x128xf32>
        %next = tile.advance %at : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
    }
    tile.role "load" warps(1) {
      scf.for %j = %c0 to %columns step %c1 iter_args(%outer = %first) -> (!tile.cursor<3>) {
        %column = arith.muli %j, %c128 : index
        %end = scf.for %s = %c0 to %steps step %c1 iter_args(%at = %outer) -> (!tile.cursor<3>) {
          %depth = arith.muli %s, %c64 : index
          tile.acquire %ab[%at] : !tile.ring<3>
          tile.expect %ab[%at] bytes(32768) : !tile.ring<3>
          %aSlot = tile.slot %a[%at] : !tile.shared<3x128x64xbf16>, !tile.cursor<3> -> !tile.shared<128x64xbf16>
          %bSlot = tile.slot %b[%at] : !tile.shared<3x128x64xbf16>, !tile.cursor<3> -> !tile.shared<128x64xbf16>
          %fromA = tile.slice %A[%row, %depth] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
          %fromB = tile.slice %B[%column, %depth] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
          tile.copy_async %fromA, %aSlot, %ab[%at] : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>, !tile.ring<3>
          tile.copy_async %fromB, %bSlot, %ab[%at] : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>, !tile.ring<3>
          %next = tile.advance %at : !tile.cursor<3>
          scf.yield %next : !tile.cursor<3>
        }
        scf.yield %end : !tile.cursor<3>
      }
    }
    tile.role "multiply" warps(1) {
      scf.for %j = %c0 to %columns step %c1 iter_args(%outer = %first, %sum = %firstSum) -> (!tile.cursor<3>, !tile.cursor<2>) {
        tile.acquire %sums[%sum] : !tile.ring<2>
        %acc = tile.slot %accs[%sum] : !tile.tensor_memory<2x128x128xf32>, !tile.cursor<2> -> !tile.tensor_memory<128x128xf32>
        %end = scf.for %s = %c0 to %steps step %c1 iter_args(%at = %outer) -> (!tile.cursor<3>) {
          %accumulate = arith.cmpi sgt, %s, %c0 : index
          %aSlot = tile.slot %a[%at] : !tile.shared<3x128x64xbf16>, !tile.cursor<3> -> !tile.shared<128x64xbf16>
          %bSlot = tile.slot %b[%at] : !tile.shared<3x128x64xbf16>, !tile.cursor<3> -> !tile.shared<128x64xbf16>
          %bView = tile.transpose %bSlot : !tile.shared<128x64xbf16> -> !tile.shared<64x128xbf16, transposed>
          tile.await %ab[%at] : !tile.ring<3>
          tile.gemm_in_place %aSlot, %bView, %acc if %accumulate : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16, transposed>, !tile.tensor_memory<128x128xf32>
          tile.release %ab[%at] after_products : !tile.ring<3>
          %next = tile.advance %at : !tile.cursor<3>
          scf.yield %next : !tile.cursor<3>
        }
        tile.publish %sums[%sum] after_products : !tile.ring<2>
        %nextSum = tile.advance %sum : !tile.cursor<2>
        scf.yield %end, %nextSum : !tile.cursor<3>, !tile.cursor<2>
      }
    }
  }
  tile.return
}
}
