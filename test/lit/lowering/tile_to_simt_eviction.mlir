// RUN: %tlc-opt %s -tile-to-simt -split-input-file -verify-diagnostics | FileCheck %s

// Each role makes the policies of its own hints once, where it begins.
#p = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: simt.kernel @roles(
// CHECK:         simt.launch_order
// CHECK-NOT:     simt.cache_policy
// CHECK:         scf.if
// CHECK-NEXT:      %[[FIRST:.*]] = simt.cache_policy evict first
// CHECK-NOT:       simt.cache_policy
// CHECK:           scf.for
// CHECK:             simt.tma_load {{.*}} policy %[[FIRST]]
// CHECK:         } else {
// CHECK:           %[[LAST:.*]] = simt.cache_policy evict last
// CHECK-NOT:       simt.cache_policy
// CHECK:           simt.tma_store {{.*}} policy %[[LAST]]
tile.kernel @roles(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x64xbf16> {program.argument = #program.tensor<"X", input, dims[0, -1], alignment = 16>},
    %Y: !tile.global<?x64xbf16> {program.argument = #program.tensor<"Y", output, dims[0, -1], alignment = 16>})
    attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = tile.alloc_ring "r" at 0 : !tile.ring<1>
  %p = tile.alloc_shared "p" at 1024 : !tile.shared<64x64xbf16, #p>
  %c = tile.cursor : !tile.cursor<1>
  tile.roles {
    tile.role "load" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %s = tile.slice %X[%c0, %c0] evict first : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
        tile.copy_async %s, %p, %r[%c] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16, #p>, !tile.ring<1>
      }
    }
    tile.role "store" warps(4) {
      %s = tile.slice %Y[%c0, %c0] evict last : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
      tile.copy %p, %s atom tma : !tile.shared<64x64xbf16, #p>, !tile.slice<64x64xbf16>
    }
  }
  tile.return
}
}

// -----

// Without roles the kernel does. Threads' loads and stores have the hint as well, cp.async has not: ptxas assembles it
// wrongly. A target with a TMA has another way.
#l = #tile.layout<"reg(4@1:1) lane(8@1:4, 4@0:1) warp()">
#p = #tile.shared_layout<"4x32 32b axis 1 panel 32 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_80">} {
// CHECK-LABEL: simt.kernel @threads(
// CHECK-DAG:     %[[LAST:.*]] = simt.cache_policy evict last
// CHECK-DAG:     %[[FIRST:.*]] = simt.cache_policy evict first
// CHECK:         simt.copy_async %{{.*}} to %{{.*}} bytes(16){{$}}
// CHECK:         simt.load {{.*}} policy %[[FIRST]] : !llvm.ptr<1> -> vector<4xf32>
// CHECK:         simt.load {{.*}} : !llvm.ptr<3> -> vector<4xf32>
// CHECK:         simt.store {{.*}} policy %[[LAST]] : vector<4xf32>, !llvm.ptr<1>
tile.kernel @threads(%X: !tile.global<4x32xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1], alignment = 16>},
    %Y: !tile.global<4x32xf32> {program.argument = #program.tensor<"Y", output, dims[-1, -1], alignment = 16>})
    attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" at 0 : !tile.shared<4x32xf32, #p>
  %s = tile.slice %X[%c0, %c0] evict first : !tile.global<4x32xf32> -> !tile.slice<4x32xf32>
  %d = tile.slice %Y[%c0, %c0] evict last : !tile.global<4x32xf32> -> !tile.slice<4x32xf32>
  // expected-remark @below {{[hint-without-effect] hint 'evict first' of the slice of 'X' has no effect because a copy by cp.async gets no policy for L2}}
  tile.copy %s, %p atom cp_async : !tile.slice<4x32xf32>, !tile.shared<4x32xf32, #p>
  %v = tile.load %s : !tile.slice<4x32xf32> -> tensor<4x32xf32, #l>
  tile.copy %p, %d atom simt : !tile.shared<4x32xf32, #p>, !tile.slice<4x32xf32>
  tile.store %v, %d atom simt : tensor<4x32xf32, #l>, !tile.slice<4x32xf32>
  tile.return
}
}

// -----

// Reductions by the TMA have the hint. Atomic operations of threads, and counts, have none.
#l = #tile.layout<"reg(4@1:1) lane(8@1:4, 4@0:1) warp()">
#p = #tile.shared_layout<"4x32 32b axis 1 panel 32 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: simt.kernel @sums(
// CHECK:         %[[FIRST:.*]] = simt.cache_policy evict first
// CHECK:         nvvm.cp.async.bulk.tensor.reduce {{.*}} l2_cache_hint = %[[FIRST]]
// CHECK-NOT:     policy
tile.kernel @sums(%X: !tile.global<4x32xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1], alignment = 16>},
    %C: !tile.global<1xi32> {program.argument = #program.tensor<"C", inout, dims[-1]>})
    attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %p = tile.alloc_shared "p" at 0 : !tile.shared<4x32xf32, #p>
  %s = tile.slice %X[%c0, %c0] evict first : !tile.global<4x32xf32> -> !tile.slice<4x32xf32>
  tile.copy_reduce add %p, %s : !tile.shared<4x32xf32, #p>, !tile.slice<4x32xf32>
  %ones = tile.splat %one : f32 -> tensor<4x32xf32, #l>
  // expected-remark @below {{[hint-without-effect] hint 'evict first' of the slice of 'X' has no effect because an atomic operation has no policy for L2}}
  tile.atomic add %ones, %s : tensor<4x32xf32, #l>, !tile.slice<4x32xf32>
  %count = tile.slice %C[%c0] evict last : !tile.global<1xi32> -> !tile.slice<1xi32>
  // expected-remark @below {{[hint-without-effect] hint 'evict last' of the slice of 'C' has no effect because a count has no policy for L2}}
  tile.announce %count by %c1 : !tile.slice<1xi32>
  tile.return
}
}

// -----

#p = #tile.shared_layout<"4x32 32b axis 1 panel 32 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: simt.kernel @ahead(
// CHECK-NOT:     policy
tile.kernel @ahead(%X: !tile.global<4x32xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1], alignment = 16>})
    attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" at 0 : !tile.shared<4x32xf32, #p>
  %s = tile.slice %X[%c0, %c0] evict last : !tile.global<4x32xf32> -> !tile.slice<4x32xf32>
  // expected-remark @below {{[hint-without-effect] hint 'evict last' of the slice of 'X' has no effect because a copy by cp.async gets no policy for L2; one by the TMA does}}
  tile.copy %s, %p atom cp_async : !tile.slice<4x32xf32>, !tile.shared<4x32xf32, #p>
  tile.return
}
}
