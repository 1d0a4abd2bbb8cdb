// RUN: %tlc-opt %s -tile-to-simt -split-input-file | FileCheck %s

// Fragments, copies and products through shared memory.

#acc = #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8) lane(4@1:2, 8@0:1) warp()">
#plain = #tile.shared_layout<"16x16 16b axis 1 panel 16 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
// A matrix fragment moves by stmatrix and ldmatrix, transposed where its rows run the other way.
// CHECK-LABEL: simt.kernel @matrices(
// CHECK:         %[[WORDS:.*]] = vector.bitcast %{{.*}} : vector<8xbf16> to vector<4xi32>
// CHECK:         simt.stmatrix %[[WORDS]], %{{[^ ]*}} : vector<4xi32>
// CHECK:         simt.sync %c0_i32{{$}}
// CHECK:         simt.ldmatrix %{{[^ ]*}} : vector<4xi32>
// CHECK:         simt.ldmatrix %{{[^ ]*}} transpose : vector<4xi32>
tile.kernel @matrices(%X: !tile.global<16x16xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" at 0 : !tile.shared<16x16xbf16, #plain>
  %s = tile.slice %X[%c0, %c0] : !tile.global<16x16xbf16> -> !tile.slice<16x16xbf16>
  %v = tile.load %s : !tile.slice<16x16xbf16> -> tensor<16x16xbf16, #acc>
  tile.store %v, %p atom simt : tensor<16x16xbf16, #acc>, !tile.shared<16x16xbf16, #plain>
  tile.sync
  %u = tile.load %p : !tile.shared<16x16xbf16, #plain> -> tensor<16x16xbf16, #acc>
  %t = tile.transpose %p : !tile.shared<16x16xbf16, #plain> -> !tile.shared<16x16xbf16, #plain, transposed>
  %w = tile.load %t : !tile.shared<16x16xbf16, #plain, transposed> -> tensor<16x16xbf16, #acc>
  %sum = arith.addf %u, %w : tensor<16x16xbf16, #acc>
  tile.store %sum, %s atom simt : tensor<16x16xbf16, #acc>, !tile.slice<16x16xbf16>
  tile.return
}
}

// -----

#wide = #tile.layout<"reg(8@1:1, 2@0:16) lane(2@1:8, 16@0:1) warp()">
#swizzled = #tile.shared_layout<"32x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
// 16 bytes at once; what the swizzle makes of a thread's offset is computed once, rows further down are constants.
// CHECK-LABEL: simt.kernel @vectors(
// CHECK:         %[[ROW:.*]] = arith.muli %{{.*}}, %c128_i32
// CHECK:         %[[OFFSET:.*]] = arith.addi
// CHECK:         %[[UP:.*]] = arith.shrui %[[OFFSET]], %c3_i32
// CHECK:         %[[BITS:.*]] = arith.andi %[[UP]], %c112_i32
// CHECK:         %[[PERMUTED:.*]] = arith.xori %[[OFFSET]], %[[BITS]]
// CHECK:         %[[AT:.*]] = llvm.getelementptr %{{.*}}[%[[PERMUTED]]]
// CHECK:         simt.load %[[AT]] : !llvm.ptr<3> -> vector<8xbf16>
// CHECK:         %[[NEXT:.*]] = llvm.getelementptr %[[AT]][2048]
// CHECK:         simt.load %[[NEXT]] : !llvm.ptr<3> -> vector<8xbf16>
tile.kernel @vectors(%X: !tile.global<32x16xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" at 0 : !tile.shared<32x64xbf16, #swizzled>
  %v = tile.load %p : !tile.shared<32x64xbf16, #swizzled> -> tensor<32x64xbf16, #tile.layout<"reg(8@1:1, 8@0:4) lane(8@1:8, 4@0:1) warp()">>
  %q = tile.alloc_shared "q" at 4096 : !tile.shared<32x16xbf16, #tile.shared_layout<"32x16 16b axis 1 panel 64 swizzle 128 pad 0">>
  %w = tile.load %q : !tile.shared<32x16xbf16, #tile.shared_layout<"32x16 16b axis 1 panel 64 swizzle 128 pad 0">> -> tensor<32x16xbf16, #wide>
  %s = tile.slice %X[%c0, %c0] : !tile.global<32x16xbf16> -> !tile.slice<32x16xbf16>
  tile.store %w, %s atom simt : tensor<32x16xbf16, #wide>, !tile.slice<32x16xbf16>
  tile.return
}
}

// -----

#swizzled = #tile.shared_layout<"32x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
// The threads of the block share a copy: vectors where the tensor is aligned, eight of them in flight.
// CHECK-LABEL: simt.kernel @copy(
// CHECK-COUNT-4: simt.load %{{.*}} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK-COUNT-4: simt.store %{{.*}} : vector<8xbf16>, !llvm.ptr<3>
// CHECK-NOT:     simt.load
tile.kernel @copy(%X: !tile.global<32x64xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 2>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" at 0 : !tile.shared<32x64xbf16, #swizzled>
  %s = tile.slice %X[%c0, %c0] : !tile.global<32x64xbf16> -> !tile.slice<32x64xbf16>
  tile.copy %s, %p atom simt : !tile.slice<32x64xbf16>, !tile.shared<32x64xbf16, #swizzled>
  tile.return
}
}

// -----

#acc = #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8) lane(4@1:2, 8@0:1) warp()">
#swapped = #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8) lane(8@0:1, 4@1:2) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// Registers and lanes change places within the warp; across warps the tile goes through memory.
// CHECK-LABEL: simt.kernel @relayout(
// CHECK:         %[[LANE:.*]] = arith.andi %{{.*}}, %c31_i32
// CHECK:         nvvm.shfl.sync idx %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : i32 -> i32
// CHECK:         vector.from_elements
tile.kernel @relayout(%X: !tile.global<16x16xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %s = tile.slice %X[%c0, %c0] : !tile.global<16x16xf32> -> !tile.slice<16x16xf32>
  %v = tile.load %s : !tile.slice<16x16xf32> -> tensor<16x16xf32, #acc>
  %w = tile.convert_layout %v : tensor<16x16xf32, #acc> -> tensor<16x16xf32, #swapped>
  tile.store %w, %s atom simt : tensor<16x16xf32, #swapped>, !tile.slice<16x16xf32>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: simt.kernel @scratch(
// CHECK:         simt.sync %c0_i32{{$}}
// CHECK:         simt.store {{.*}} : vector<2xf32>, !llvm.ptr<3>
// CHECK:         simt.sync %c0_i32{{$}}
// CHECK:         simt.load {{.*}} : !llvm.ptr<3> -> f32
tile.kernel @scratch(%X: !tile.global<32x16xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 2>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "relayout" at 0 : !tile.shared<32x16xf32, #tile.shared_layout<"32x16 32b axis 1 panel 16 swizzle none pad 0">>
  %s = tile.slice %X[%c0, %c0] : !tile.global<32x16xf32> -> !tile.slice<32x16xf32>
  %v = tile.load %s : !tile.slice<32x16xf32> -> tensor<32x16xf32, #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8) lane(4@1:2, 8@0:1) warp(2@0:16)">>
  %w = tile.convert_layout %v scratch %p : !tile.shared<32x16xf32, #tile.shared_layout<"32x16 32b axis 1 panel 16 swizzle none pad 0">>
      : tensor<32x16xf32, #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8) lane(4@1:2, 8@0:1) warp(2@0:16)">> -> tensor<32x16xf32, #tile.layout<"reg(8@1:2) lane(32@0:1) warp(2@1:1)">>
  tile.store %w, %s atom simt : tensor<32x16xf32, #tile.layout<"reg(8@1:2) lane(32@0:1) warp(2@1:1)">>, !tile.slice<32x16xf32>
  tile.return
}
}

// -----

#acc = #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8) lane(4@1:2, 8@0:1) warp()">
#plain = #tile.shared_layout<"16x16 16b axis 1 panel 16 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
// One m16n8k16 per 8 columns and 16 of k; the right factor's rows run along k, so it is transposed on its way.
// CHECK-LABEL: simt.kernel @mma(
// CHECK:         %[[A:.*]] = simt.ldmatrix %{{[^ ]*}} : vector<4xi32>
// CHECK:         %[[B:.*]] = simt.ldmatrix %{{[^ ]*}} transpose : vector<4xi32>
// CHECK:         simt.mma_sync %{{.*}}, %{{.*}}, %{{.*}} {a_element = bf16, b_element = bf16} : vector<4xf32>, vector<4xi32>, vector<2xi32>
// CHECK:         simt.mma_sync
// CHECK-NOT:     simt.mma_sync
tile.kernel @mma(%X: !tile.global<16x16xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" at 0 : !tile.shared<16x16xbf16, #plain>
  %b = tile.alloc_shared "b" at 512 : !tile.shared<16x16xbf16, #plain>
  %acc = tile.splat %zero : f32 -> tensor<16x16xf32, #acc>
  %new = tile.gemm %a, %b, %acc atom mma_sync : !tile.shared<16x16xbf16, #plain>, !tile.shared<16x16xbf16, #plain>, tensor<16x16xf32, #acc>
  %s = tile.slice %X[%c0, %c0] : !tile.global<16x16xf32> -> !tile.slice<16x16xf32>
  tile.store %new, %s atom simt : tensor<16x16xf32, #acc>, !tile.slice<16x16xf32>
  tile.return
}
}

// -----

#acc = #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8) lane(4@1:2, 8@0:1) warp()">
#bytes = #tile.shared_layout<"16x32 8b axis 1 panel 32 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_80">} {
// Integers of 8 bits: a matrix of ldmatrix has 16 of them in a row, one m16n8k32 takes 32 of k.
// CHECK-LABEL: simt.kernel @mma_of_integers(
// CHECK:         %[[A:.*]] = simt.ldmatrix %{{[^ ]*}} : vector<4xi32>
// CHECK:         %[[B:.*]] = simt.ldmatrix %{{[^ ]*}} : vector<4xi32>
// CHECK:         simt.mma_sync %{{.*}}, %{{.*}}, %{{.*}} {a_element = ui8, b_element = i8} : vector<4xi32>, vector<4xi32>, vector<2xi32>
// CHECK:         simt.mma_sync
// CHECK-NOT:     simt.mma_sync
tile.kernel @mma_of_integers(%X: !tile.global<16x16xi32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %a = tile.alloc_shared "a" at 0 : !tile.shared<16x32xui8, #bytes>
  %b = tile.alloc_shared "b" at 512 : !tile.shared<16x32xi8, #bytes>
  %bt = tile.transpose %b : !tile.shared<16x32xi8, #bytes> -> !tile.shared<32x16xi8, #bytes, transposed>
  %acc = tile.splat %zero : i32 -> tensor<16x16xi32, #acc>
  %new = tile.gemm %a, %bt, %acc atom mma_sync : !tile.shared<16x32xui8, #bytes>, !tile.shared<32x16xi8, #bytes, transposed>, tensor<16x16xi32, #acc>
  %s = tile.slice %X[%c0, %c0] : !tile.global<16x16xi32> -> !tile.slice<16x16xi32>
  tile.store %new, %s atom simt : tensor<16x16xi32, #acc>, !tile.slice<16x16xi32>
  tile.return
}
}

// -----

#acc = #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8) lane(4@1:2, 8@0:1) warp()">
#words = #tile.shared_layout<"16x8 32b axis 1 panel 8 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_80">} {
// f32, read as tf32: a matrix of ldmatrix has 4 of them in a row, one m16n8k8 takes 8 of k.
// CHECK-LABEL: simt.kernel @mma_of_tf32(
// CHECK:         %[[A:.*]] = simt.ldmatrix %{{[^ ]*}} : vector<4xi32>
// CHECK:         %[[B:.*]] = simt.ldmatrix %{{[^ ]*}} : vector<4xi32>
// CHECK:         simt.mma_sync %{{.*}}, %{{.*}}, %{{.*}} {a_element = f32, b_element = f32} : vector<4xf32>, vector<4xi32>, vector<2xi32>
// CHECK:         simt.mma_sync
// CHECK-NOT:     simt.mma_sync
tile.kernel @mma_of_tf32(%X: !tile.global<16x16xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" at 0 : !tile.shared<16x8xf32, #words>
  %b = tile.alloc_shared "b" at 512 : !tile.shared<16x8xf32, #words>
  %bt = tile.transpose %b : !tile.shared<16x8xf32, #words> -> !tile.shared<8x16xf32, #words, transposed>
  %acc = tile.splat %zero : f32 -> tensor<16x16xf32, #acc>
  %new = tile.gemm %a, %bt, %acc atom mma_sync : !tile.shared<16x8xf32, #words>, !tile.shared<8x16xf32, #words, transposed>, tensor<16x16xf32, #acc>
  %s = tile.slice %X[%c0, %c0] : !tile.global<16x16xf32> -> !tile.slice<16x16xf32>
  tile.store %new, %s atom simt : tensor<16x16xf32, #acc>, !tile.slice<16x16xf32>
  tile.return
}
}

// -----

#acc = #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8) lane(4@1:2, 8@0:1) warp()">
#bytes = #tile.shared_layout<"16x32 8b axis 1 panel 32 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_80">} {
// Multiply-adds of integers, each factor extended by its sign or by zeros.
// CHECK-LABEL: simt.kernel @fma_of_integers(
// CHECK:         scf.for %{{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<8xi32>)
// CHECK-DAG:       arith.extui %{{.*}} : vector<2xi8> to vector<2xi32>
// CHECK-DAG:       arith.extsi %{{.*}} : vector<4xi8> to vector<4xi32>
// CHECK:           %[[PRODUCT:.*]] = arith.muli
// CHECK-NEXT:      %[[SUM:.*]] = arith.addi %[[PRODUCT]], %[[ACC]] : vector<8xi32>
// CHECK-NEXT:      scf.yield %[[SUM]]
tile.kernel @fma_of_integers(%X: !tile.global<16x16xi32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %a = tile.alloc_shared "a" at 0 : !tile.shared<16x32xui8, #bytes>
  %b = tile.alloc_shared "b" at 512 : !tile.shared<16x32xi8, #bytes>
  %bt = tile.transpose %b : !tile.shared<16x32xi8, #bytes> -> !tile.shared<32x16xi8, #bytes, transposed>
  %acc = tile.splat %zero : i32 -> tensor<16x16xi32, #acc>
  %new = tile.gemm %a, %bt, %acc atom fma : !tile.shared<16x32xui8, #bytes>, !tile.shared<32x16xi8, #bytes, transposed>, tensor<16x16xi32, #acc>
  %s = tile.slice %X[%c0, %c0] : !tile.global<16x16xi32> -> !tile.slice<16x16xi32>
  tile.store %new, %s atom simt : tensor<16x16xi32, #acc>, !tile.slice<16x16xi32>
  tile.return
}
}

// -----

#acc = #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8) lane(4@1:2, 8@0:1) warp()">
#plain = #tile.shared_layout<"16x16 16b axis 1 panel 16 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
// A loop along k, in each step the elements of the thread's rows and columns.
// CHECK-LABEL: simt.kernel @fma(
// CHECK:         scf.for %{{.*}} = %c0_i32 to %c16_i32 step %c1_i32 iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<8xf32>)
// CHECK:           simt.load {{.*}} : !llvm.ptr<3> -> bf16
// CHECK:           %[[SUM:.*]] = math.fma %{{.*}}, %{{.*}}, %[[ACC]] : vector<8xf32>
// CHECK-NEXT:      scf.yield %[[SUM]]
tile.kernel @fma(%X: !tile.global<16x16xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" at 0 : !tile.shared<16x16xbf16, #plain>
  %b = tile.alloc_shared "b" at 512 : !tile.shared<16x16xbf16, #plain>
  %acc = tile.splat %zero : f32 -> tensor<16x16xf32, #acc>
  %new = tile.gemm %a, %b, %acc atom fma : !tile.shared<16x16xbf16, #plain>, !tile.shared<16x16xbf16, #plain>, tensor<16x16xf32, #acc>
  %s = tile.slice %X[%c0, %c0] : !tile.global<16x16xf32> -> !tile.slice<16x16xf32>
  tile.store %new, %s atom simt : tensor<16x16xf32, #acc>, !tile.slice<16x16xf32>
  tile.return
}
}

// -----

// Bytes change their axes between ldmatrix and stmatrix; the lanes of a matrix' lower rows exchange what they store.
#rows = #tile.shared_layout<"32x32 8b axis 1 panel 32 swizzle 32 pad 0">
#columns = #tile.shared_layout<"32x32 8b axis 0 panel 32 swizzle 32 pad 0 interleaved">
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: simt.kernel @transposed_bytes(
// CHECK-DAG:     %[[ODD:.*]] = arith.constant 30001 : i32
// CHECK-DAG:     %[[EVEN:.*]] = arith.constant 25632 : i32
// CHECK:         %[[UPPER:.*]] = arith.cmpi eq
// CHECK:         %[[FIRST:.*]] = arith.select %[[UPPER]], %[[ODD]], %[[EVEN]] : i32
// CHECK:         %[[SECOND:.*]] = arith.select %[[UPPER]], %[[EVEN]], %[[ODD]] : i32
// CHECK-COUNT-2: simt.ldmatrix %{{[^ ]*}} transpose : vector<4xi32>
// CHECK:         simt.permute_bytes %{{.*}}, %{{.*}}, %[[FIRST]]
// CHECK:         simt.permute_bytes %{{.*}}, %{{.*}}, %[[SECOND]]
// CHECK:         simt.stmatrix %{{[^ ]*}}, %{{[^ ]*}} : vector<4xi32>
tile.kernel @transposed_bytes(%X: !tile.global<32x32xf8E4M3FN> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %p = tile.alloc_shared "p" at 0 : !tile.shared<32x32xf8E4M3FN, #rows>
  %q = tile.alloc_shared "q" at 1024 : !tile.shared<32x32xf8E4M3FN, #columns>
  tile.copy %p, %q atom simt : !tile.shared<32x32xf8E4M3FN, #rows>, !tile.shared<32x32xf8E4M3FN, #columns>
  tile.return
}
}
