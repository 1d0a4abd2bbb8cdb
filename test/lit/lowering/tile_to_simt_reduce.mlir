// RUN: %tlc-opt %s -tile-to-simt -split-input-file -verify-diagnostics | FileCheck %s

// Tiles that the TMA combines with tensors.

#tile = #tile.shared_layout<"64x32 32b axis 1 panel 32 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
// A box of a tensor map, as a store has; the second is to be read only.
// CHECK-LABEL: simt.kernel @boxes(
// CHECK:         scf.if
// CHECK:           nvvm.cp.async.bulk.tensor.reduce {{.*}} {redKind = #nvvm.tma_redux_kind<add>}
// CHECK-NEXT:      simt.bulk_commit
// CHECK-NEXT:      simt.bulk_wait 0
// CHECK-NOT:       read
// CHECK:         scf.if
// CHECK:           nvvm.cp.async.bulk.tensor.reduce {{.*}} {redKind = #nvvm.tma_redux_kind<add>}
// CHECK-NEXT:      simt.bulk_commit
// CHECK-NEXT:      simt.bulk_wait 0 read
tile.kernel @boxes(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x32xf32> {program.argument = #program.tensor<"X", inout, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x32xf32, #tile>
  %s = tile.slice %X[%c0, %c0] : !tile.global<?x32xf32> -> !tile.slice<64x32xf32>
  tile.copy_reduce add %p, %s : !tile.shared<64x32xf32, #tile>, !tile.slice<64x32xf32>
  tile.copy_reduce add %p, %s until_read : !tile.shared<64x32xf32, #tile>, !tile.slice<64x32xf32>
  tile.return
}
}

// -----

#tile = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: simt.kernel @extrema(
// CHECK:         nvvm.cp.async.bulk.tensor.reduce {{.*}}<min>
// CHECK:         nvvm.cp.async.bulk.tensor.reduce {{.*}}<max>
tile.kernel @extrema(
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x64xbf16, #tile>
  %s = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.copy_reduce min %p, %s : !tile.shared<64x64xbf16, #tile>, !tile.slice<64x64xbf16>
  tile.copy_reduce max %p, %s : !tile.shared<64x64xbf16, #tile>, !tile.slice<64x64xbf16>
  tile.return
}
}

// -----

#pieces = #tile.shared_layout<"64x32 32b axis 1 panel 32 swizzle none pad 0 accumulator">
#acc = #tile.layout<"reg(2@1:1, 2@0:8, 4@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_90a">} {
// Accumulators go to a tile in their order by fours, and from there in one instruction, whose bytes end after the last
// piece that the tensor has.
// CHECK-LABEL: simt.kernel @pieces(
// CHECK-COUNT-4: simt.store %{{.*}} : vector<4xf32>
// CHECK-NOT:     simt.store
// CHECK:         %[[END:.*]] = arith.andi %{{.*}}, %c-16_i32
// CHECK:         arith.muli %{{.*}}, %c128_i32
// CHECK:         llvm.inline_asm has_side_effects "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [$0], [$1], $2;"
// CHECK-NOT:     cp.reduce
tile.kernel @pieces(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x32xf32> {program.argument = #program.tensor<"X", workspace, dims[0, -1], alignment = 16, order = accumulator>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x32xf32, #pieces>
  %v = tile.splat %one : f32 -> tensor<64x32xf32, #acc>
  tile.store %v, %p : tensor<64x32xf32, #acc>, !tile.shared<64x32xf32, #pieces>
  tile.proxy_fence
  tile.sync
  %s = tile.slice %X[%c0, %c0] : !tile.global<?x32xf32> -> !tile.slice<64x32xf32>
  tile.copy_reduce add %p, %s : !tile.shared<64x32xf32, #pieces>, !tile.slice<64x32xf32>
  tile.return
}
}

// -----

#pieces = #tile.shared_layout<"32x64 16b axis 1 panel 64 swizzle none pad 0 accumulator">
module attributes {program.target = #program.target<"sm_90a">} {
// Where the tile has other columns than the tensor, an instruction for each row of pieces.
// CHECK-LABEL: simt.kernel @rows_of_pieces(
// CHECK-COUNT-2: "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [$0], [$1], $2;"
// CHECK-NOT:     cp.reduce.async.bulk.global.shared::cta.bulk_group.add
// CHECK-COUNT-2: "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.bf16 [$0], [$1], $2;"
tile.kernel @rows_of_pieces(
    %X: !tile.global<3x32x40xbf16> {program.argument = #program.tensor<"X", workspace, dims[-1, -1, -1], alignment = 16, order = accumulator>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %p = tile.alloc_shared "p" at 0 : !tile.shared<32x64xbf16, #pieces>
  %s = tile.slice %X[%c2, %c0, %c0] : !tile.global<3x32x40xbf16> -> !tile.slice<1x32x64xbf16>
  tile.copy_reduce add %p, %s : !tile.shared<32x64xbf16, #pieces>, !tile.slice<1x32x64xbf16>
  tile.copy_reduce min %p, %s : !tile.shared<32x64xbf16, #pieces>, !tile.slice<1x32x64xbf16>
  tile.return
}
}

// -----

#tile = #tile.shared_layout<"64x32 32b axis 1 panel 32 swizzle 128 pad 0">
#pieces = #tile.shared_layout<"64x32 32b axis 1 panel 32 swizzle none pad 0 accumulator">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @unaligned(
    %X: !tile.global<64x32xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x32xf32, #tile>
  %s = tile.slice %X[%c0, %c0] : !tile.global<64x32xf32> -> !tile.slice<64x32xf32>
  // expected-error @below {{expected a copy that the TMA can make because nothing else combines tiles: expected 'X' to be aligned to 16 bytes, but it is known to be to 1}}
  tile.copy_reduce add %p, %s : !tile.shared<64x32xf32, #tile>, !tile.slice<64x32xf32>
  tile.return
}
}

// -----

#tile = #tile.shared_layout<"64x32 32b axis 1 panel 32 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @narrow(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x?xf32> {program.argument = #program.tensor<"X", inout, dims[-1, 0], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x32xf32, #tile>
  %s = tile.slice %X[%c0, %c0] : !tile.global<64x?xf32> -> !tile.slice<64x32xf32>
  // expected-error @below {{expected the last extent of 'X' to be a multiple of 4 because the TMA would otherwise write beyond it, but that is not known}}
  tile.copy_reduce add %p, %s : !tile.shared<64x32xf32, #tile>, !tile.slice<64x32xf32>
  tile.return
}
}

// -----

#tile = #tile.shared_layout<"64x32 32b axis 1 panel 32 swizzle 128 pad 0">
#pieces = #tile.shared_layout<"64x32 32b axis 1 panel 32 swizzle none pad 0 accumulator">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @no_pieces(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x32xf32> {program.argument = #program.tensor<"X", workspace, dims[0, -1], alignment = 16, order = accumulator>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x32xf32, #tile>
  %s = tile.slice %X[%c0, %c0] : !tile.global<?x32xf32> -> !tile.slice<64x32xf32>
  // expected-error @below {{expected a tile in the order of accumulators as 'X' is, but another use of it takes no such order}}
  tile.copy_reduce add %p, %s : !tile.shared<64x32xf32, #tile>, !tile.slice<64x32xf32>
  tile.return
}
}

// -----

#pieces = #tile.shared_layout<"64x32 32b axis 1 panel 32 swizzle none pad 0 accumulator">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @limited(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x32xf32> {program.argument = #program.tensor<"X", workspace, dims[0, -1], alignment = 16, order = accumulator>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x32xf32, #pieces>
  %s = tile.slice %X[%c0, %c0] limit %m along 0 : !tile.global<?x32xf32> -> !tile.slice<64x32xf32>
  // expected-error @below {{expected no limit along rows or columns of 'X' because whole pieces of an accumulator are moved; add a fragment}}
  tile.copy_reduce add %p, %s : !tile.shared<64x32xf32, #pieces>, !tile.slice<64x32xf32>
  tile.return
}
}

// -----

#pieces = #tile.shared_layout<"64x32 32b axis 1 panel 32 swizzle none pad 0 accumulator">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @anywhere(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x32xf32> {program.argument = #program.tensor<"X", workspace, dims[0, -1], alignment = 16, order = accumulator>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x32xf32, #pieces>
  %s = tile.slice %X[%m, %c0] : !tile.global<?x32xf32> -> !tile.slice<64x32xf32>
  // expected-error @below {{expected the slice of 'X' to begin at a multiple of 16 rows and 8 columns and to have as many because it is in the order of accumulators, but that is not known; add a fragment}}
  tile.copy_reduce add %p, %s : !tile.shared<64x32xf32, #pieces>, !tile.slice<64x32xf32>
  tile.return
}
}
