// RUN: split-file %s %t
// RUN: %tile-opt %t/layouts.mlir --tile-infer-layouts -split-input-file -verify-diagnostics | FileCheck %t/layouts.mlir
// RUN: %tile-opt %t/errors.mlir --tile-infer-layouts -split-input-file -verify-diagnostics

//--- layouts.mlir

// The accumulator decides: its layout goes through the loop, to the initial value, and, rounded to 16 bits, to
// the store. Nothing is converted: that the store were coalesced is a preference only.
// CHECK: #[[ACC:.*]] = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
// CHECK: #[[A:.*]] = #tile.shared_layout<"64x32 16b axis 1 panel 32 swizzle 64 pad 0">
// CHECK: #[[B:.*]] = #tile.shared_layout<"32x64 16b axis 1 panel 64 swizzle 128 pad 0">
// CHECK-LABEL: tile.kernel @product(
// CHECK:       %[[A_BUFFER:.*]] = tile.alloc_shared "a" : !tile.shared<64x32xbf16, #[[A]]>
// CHECK:       %[[B_BUFFER:.*]] = tile.alloc_shared "b" : !tile.shared<32x64xbf16, #[[B]]>
// CHECK:       %[[ZERO:.*]] = tile.splat %{{.*}} : f32 -> tensor<64x64xf32, #[[ACC]]>
// CHECK-NEXT:  scf.for {{.*}} -> (tensor<64x64xf32, #[[ACC]]>)
// CHECK:         tile.gemm {{.*}} : !tile.shared<64x32xbf16, #[[A]]>, !tile.shared<32x64xbf16, #[[B]]>, tensor<64x64xf32, #[[ACC]]>
// CHECK:       tile.convert %{{.*}} : tensor<64x64xf32, #[[ACC]]> to tensor<64x64xbf16, #[[ACC]]>
// CHECK-NOT:   tile.convert_layout
tile.kernel @product(%n: index {program.argument = #program.dimension<"n">},
    %O: !tile.global<64x64xbf16> {program.argument = #program.tensor<"O", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x32xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<32x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %new = tile.gemm %a, %b, %acc atom wgmma : !tile.shared<64x32xbf16>, !tile.shared<32x64xbf16>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  }
  %h = tile.convert %sum : tensor<64x64xf32> to tensor<64x64xbf16>
  %o = tile.slice %O[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.store %h, %o atom simt : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
  tile.return
}

// -----

// A left factor decides which words are loaded where whose halves it has, so that none moves.
// CHECK-DAG: #[[HALVES:.*]] = #tile.layout<"reg(2@1:1, 2@0:8, 4@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
// CHECK-DAG: #[[WORDS:.*]] = #tile.layout<"reg(2@0:8, 4@1:4) lane(4@1:1, 8@0:1) warp(4@0:16)">
// CHECK-LABEL: tile.kernel @halves(
// CHECK-NOT:   tile.convert_layout
// CHECK:       tile.load {{.*}} -> tensor<64x16xui32, #[[WORDS]]>
// CHECK-NOT:   tile.convert_layout
// CHECK:       tile.reshape %{{.*}} : tensor<64x16xui32, #[[WORDS]]> -> tensor<64x32xbf16, #[[HALVES]]>
// CHECK-NOT:   tile.convert_layout
tile.kernel @halves(%O: !tile.global<64x64xf32> {program.argument = #program.tensor<"O", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %w = tile.alloc_shared "w" : !tile.shared<64x16xui32>
  %b = tile.alloc_shared "b" : !tile.shared<32x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %words = tile.load %w : !tile.shared<64x16xui32> -> tensor<64x16xui32>
  %halves = tile.reshape %words : tensor<64x16xui32> -> tensor<64x32xbf16>
  %sum = tile.gemm %halves, %b, %zero atom wgmma : tensor<64x32xbf16>, !tile.shared<32x64xbf16>, tensor<64x64xf32>
  %o = tile.slice %O[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %sum, %o atom simt : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}

// -----

// Columns 5 to 7 of the wanted layout are padding, which has no place in a row: it is converted before the reshape.
// CHECK-DAG: #[[PADDED:.*]] = #tile.layout<"reg() lane(8@1:1, 4@0:1) warp()">
// CHECK-DAG: #[[SQUARE:.*]] = #tile.layout<"reg(5@1:1) lane(4@0:1, 8@*) warp()">
// CHECK-DAG: #[[ROW:.*]] = #tile.layout<"reg(5@0:1) lane(4@0:5, 8@*) warp()">
// CHECK-LABEL: tile.kernel @padded(
// CHECK:       %[[X:.*]] = tile.load {{.*}} -> tensor<3x5xf32, #[[PADDED]]>
// CHECK-NEXT:  %[[Y:.*]] = tile.convert_layout %[[X]] : tensor<3x5xf32, #[[PADDED]]> -> tensor<3x5xf32, #[[SQUARE]]>
// CHECK-NEXT:  tile.reshape %[[Y]] : tensor<3x5xf32, #[[SQUARE]]> -> tensor<15xf32, #[[ROW]]>
tile.kernel @padded(%X: !tile.global<3x5xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>},
    %Y: !tile.global<15xf32> {program.argument = #program.tensor<"Y", output, dims[-1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %s = tile.slice %X[%c0, %c0] : !tile.global<3x5xf32> -> !tile.slice<3x5xf32>
  %t = tile.slice %Y[%c0] : !tile.global<15xf32> -> !tile.slice<15xf32>
  %x = tile.load %s : !tile.slice<3x5xf32> -> tensor<3x5xf32>
  %y = tile.reshape %x : tensor<3x5xf32> -> tensor<15xf32>
  tile.store %y, %t atom simt : tensor<15xf32>, !tile.slice<15xf32>
  tile.return
}

// -----

// Buffers with slots have the layout of one slot; views have their buffer's.
// CHECK: #[[K:.*]] = #tile.shared_layout<"64x128 16b axis 1 panel 64 swizzle 128 pad 0">
// CHECK-LABEL: tile.kernel @views(
// CHECK:       %[[K_BUFFER:.*]] = tile.alloc_shared "k" : !tile.shared<2x64x128xbf16, #[[K]]>
// CHECK:       %[[SLOT:.*]] = tile.slot %[[K_BUFFER]]{{.*}} -> !tile.shared<64x128xbf16, #[[K]]>
// CHECK:       tile.transpose %[[SLOT]] : !tile.shared<64x128xbf16, #[[K]]> -> !tile.shared<128x64xbf16, #[[K]], transposed>
tile.kernel @views() attributes {launch = #program.launch<warps = 4>} {
  %k = tile.alloc_shared "k" : !tile.shared<2x64x128xbf16>
  %c = tile.cursor : !tile.cursor<2>
  %slot = tile.slot %k[%c] : !tile.shared<2x64x128xbf16>, !tile.cursor<2> -> !tile.shared<64x128xbf16>
  %t = tile.transpose %slot : !tile.shared<64x128xbf16> -> !tile.shared<128x64xbf16, transposed>
  tile.return
}

// -----

// What lies in the order of accumulators is read as one, by any number of warps.
// CHECK: #[[ROWS:.*]] = #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8) lane(4@1:2, 8@0:1) warp(2@0:16)">
// CHECK-LABEL: tile.kernel @in_pieces(
// CHECK:       tile.load %{{.*}} -> tensor<32x16xf32, #[[ROWS]]>
tile.kernel @in_pieces(%X: !tile.global<32x16xf32> {program.argument = #program.tensor<"X", workspace, dims[-1, -1], alignment = 16, order = accumulator>}) attributes {launch = #program.launch<warps = 2>} {
  %c0 = arith.constant 0 : index
  %x = tile.slice %X[%c0, %c0] : !tile.global<32x16xf32> -> !tile.slice<32x16xf32>
  %v = tile.load %x : !tile.slice<32x16xf32> -> tensor<32x16xf32>
  tile.store %v, %x atom simt : tensor<32x16xf32>, !tile.slice<32x16xf32>
  tile.return
}

// -----

// A scan keeps the layout of what it scans.
// CHECK: #[[ACC:.*]] = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
// CHECK-LABEL: tile.kernel @scan(
// CHECK-NOT:   tile.convert_layout
// CHECK:       tile.scan sum %{{.*}} axis(1) : tensor<64x64xf32, #[[ACC]]>
// CHECK-NOT:   tile.convert_layout
// CHECK:       tile.store %{{.*}} : tensor<64x64xf32, #[[ACC]]>
tile.kernel @scan(%L: !tile.global<64x64xf32> {program.argument = #program.tensor<"L", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %k = tile.alloc_shared "k" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %s = tile.gemm %k, %k, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %m = tile.scan sum %s axis(1) : tensor<64x64xf32>
  %l = tile.slice %L[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %m, %l atom simt : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}

// -----

// A softmax step needs no conversion: rows are reduced and broadcast in the accumulator's layout, and for 16-bit
// factors this is the layout of operand A, too. Row sums sit in all four lanes of a row.
// CHECK: #[[ACC:.*]] = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
// CHECK: #[[ROW:.*]] = #tile.layout<"rank 2 reg(2@0:8) lane(4@*, 8@0:1) warp(4@0:16)">
// CHECK-LABEL: tile.kernel @softmax(
// CHECK:       tile.reduce max %{{.*}} axis(1) : tensor<64x64xf32, #[[ACC]]> -> tensor<64x1xf32, #[[ROW]]>
// CHECK:       tile.broadcast %{{.*}} : tensor<64x1xf32, #[[ROW]]> -> tensor<64x64xf32, #[[ACC]]>
// CHECK:       tile.gemm %{{.*}} : tensor<64x64xbf16, #[[ACC]]>
// CHECK-NOT:   tile.convert_layout
tile.kernel @softmax(%L: !tile.global<64x1xf32> {program.argument = #program.tensor<"L", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %k = tile.alloc_shared "k" : !tile.shared<64x64xbf16>
  %v = tile.alloc_shared "v" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %s = tile.gemm %k, %k, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %m = tile.reduce max %s axis(1) : tensor<64x64xf32> -> tensor<64x1xf32>
  %mb = tile.broadcast %m : tensor<64x1xf32> -> tensor<64x64xf32>
  %d = arith.subf %s, %mb : tensor<64x64xf32>
  %p = math.exp2 %d : tensor<64x64xf32>
  %h = tile.convert %p : tensor<64x64xf32> to tensor<64x64xbf16>
  %o = tile.gemm %h, %v, %zero atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %l = tile.slice %L[%c0, %c0] : !tile.global<64x1xf32> -> !tile.slice<64x1xf32>
  tile.store %m, %l atom simt : tensor<64x1xf32>, !tile.slice<64x1xf32>
  tile.return
}

// -----

// Without products coalesced loads decide. Where loads and stores prefer different vectors, the value that is
// larger has its way; no conversion is made for a preference.
// CHECK: #[[LOADS:.*]] = #tile.layout<"reg(4@1:1, 4@0:2) lane(32@1:4) warp(2@1:128, 2@0:1)">
// CHECK-LABEL: tile.kernel @coalesced(
// CHECK:       tile.load %{{.*}} -> tensor<8x256xf32, #[[LOADS]]>
// CHECK:       tile.convert %{{.*}} to tensor<8x256xbf16, #[[LOADS]]>
// CHECK-NOT:   tile.convert_layout
tile.kernel @coalesced(%X: !tile.global<8x256xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1], alignment = 16>},
    %Y: !tile.global<8x256xbf16> {program.argument = #program.tensor<"Y", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %x = tile.slice %X[%c0, %c0] : !tile.global<8x256xf32> -> !tile.slice<8x256xf32>
  %f = tile.load %x : !tile.slice<8x256xf32> -> tensor<8x256xf32>
  %h = tile.convert %f : tensor<8x256xf32> to tensor<8x256xbf16>
  %y = tile.slice %Y[%c0, %c0] : !tile.global<8x256xbf16> -> !tile.slice<8x256xbf16>
  tile.store %h, %y atom simt : tensor<8x256xbf16>, !tile.slice<8x256xbf16>
  tile.return
}

// -----

// A vector is as long as the tensor's alignment allows: of 4 bytes, and of one element where nothing is known.
// CHECK: #[[PAIRS:.*]] = #tile.layout<"reg(2@1:1, 8@0:1) lane(32@1:2) warp(4@1:64)">
// CHECK: #[[ELEMENTS:.*]] = #tile.layout<"reg(2@1:128, 8@0:1) lane(32@1:1) warp(4@1:32)">
// CHECK-LABEL: tile.kernel @unaligned(
// CHECK:       tile.load %{{.*}} -> tensor<8x256xbf16, #[[PAIRS]]>
// CHECK:       tile.load %{{.*}} -> tensor<8x256xbf16, #[[ELEMENTS]]>
tile.kernel @unaligned(%X: !tile.global<8x256xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1], alignment = 4>},
    %Y: !tile.global<8x256xbf16> {program.argument = #program.tensor<"Y", input, dims[-1, -1]>}, %Z: !tile.global<8x256xbf16> {program.argument = #program.tensor<"Z", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %x = tile.slice %X[%c0, %c0] : !tile.global<8x256xbf16> -> !tile.slice<8x256xbf16>
  %f = tile.load %x : !tile.slice<8x256xbf16> -> tensor<8x256xbf16>
  %y = tile.slice %Y[%c0, %c0] : !tile.global<8x256xbf16> -> !tile.slice<8x256xbf16>
  %g = tile.load %y : !tile.slice<8x256xbf16> -> tensor<8x256xbf16>
  %z = tile.slice %Z[%c0, %c0] : !tile.global<8x256xbf16> -> !tile.slice<8x256xbf16>
  tile.store %f, %z atom simt : tensor<8x256xbf16>, !tile.slice<8x256xbf16>
  tile.store %g, %z atom simt : tensor<8x256xbf16>, !tile.slice<8x256xbf16>
  tile.return
}

// -----

// Constants, splats and coordinates are made once per use: two products of different warps' shares have one zero
// each, a mask follows its user.
// CHECK: #[[ROWS:.*]] = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(8@0:16)">
// CHECK: #[[COLUMNS:.*]] = #tile.layout<"reg(2@1:1, 2@0:8, 4@1:8, 2@0:64) lane(4@1:2, 8@0:1) warp(4@0:16, 2@1:32)">
// CHECK-LABEL: tile.kernel @uses(
// CHECK:       %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<128x64xf32, #[[ROWS]]>
// CHECK-NEXT:  tile.gemm %a, %b, %[[ONE]] atom wgmma
// CHECK:       %[[OTHER:.*]] = arith.constant dense<1.000000e+00> : tensor<128x64xf32, #[[COLUMNS]]>
// CHECK-NEXT:  %[[SECOND:.*]] = tile.gemm %a, %b, %[[OTHER]] policy full_col atom wgmma
// CHECK:       %[[AT:.*]] = tile.coordinates 1 : tensor<128x64xindex, #[[COLUMNS]]>
// CHECK-NEXT:  %[[END:.*]] = tile.splat %{{.*}} : index -> tensor<128x64xindex, #[[COLUMNS]]>
// CHECK-NEXT:  arith.cmpi ult, %[[AT]], %[[END]] : tensor<128x64xindex, #[[COLUMNS]]>
// CHECK-NOT:   tile.convert_layout
tile.kernel @uses(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8>} {
  %one = arith.constant dense<1.0> : tensor<128x64xf32>
  %at = tile.coordinates 1 : tensor<128x64xindex>
  %end = tile.splat %n : index -> tensor<128x64xindex>
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %first = tile.gemm %a, %b, %one atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
  %second = tile.gemm %a, %b, %one policy full_col atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
  %inside = arith.cmpi ult, %at, %end : tensor<128x64xindex>
  %masked = arith.select %inside, %second, %one : tensor<128x64xi1>, tensor<128x64xf32>
  tile.return
}

// -----

// Also across roles: each has the constant in its own number of warps.
// CHECK-DAG: #[[FOUR:.*]] = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
// CHECK-DAG: #[[EIGHT:.*]] = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(8@0:16)">
// CHECK-LABEL: tile.kernel @constant_in_roles(
// CHECK:       tile.role "four"
// CHECK:         arith.constant dense<1.000000e+00> : tensor<64x64xf32, #[[FOUR]]>
// CHECK:       tile.role "eight"
// CHECK:         arith.constant dense<1.000000e+00> : tensor<128x64xf32, #[[EIGHT]]>
tile.kernel @constant_in_roles() attributes {launch = #program.launch<warps = 12>} {
  %one = arith.constant dense<1.0> : tensor<64x64xf32>
  %two = arith.constant dense<1.0> : tensor<128x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "four" warps(4) {
      %0 = tile.gemm %b, %b, %one atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    }
    tile.role "eight" warps(8) {
      %0 = tile.gemm %a, %b, %two atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    }
  }
  tile.return
}

// -----

// Two required layouts that differ: one conversion, where it moves the fewest bits, in the loop's result rather
// than in its body, after the rounding rather than before. Through shared memory it is worth a remark.
// CHECK: #[[COLUMNS:.*]] = #tile.layout<"reg(2@1:1, 2@0:8, 4@1:8, 2@0:64) lane(4@1:2, 8@0:1) warp(4@0:16, 2@1:32)">
// CHECK: #[[ROWS:.*]] = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(8@0:16)">
// CHECK-LABEL: tile.kernel @conversion(
// CHECK:       scf.for {{.*}} -> (tensor<128x64xf32, #[[COLUMNS]]>)
// CHECK:         tile.gemm
// CHECK-NEXT:    scf.yield
// CHECK:       %[[H:.*]] = tile.convert %{{.*}} to tensor<128x64xbf16, #[[COLUMNS]]>
// CHECK:       %[[P:.*]] = tile.convert_layout %[[H]] : tensor<128x64xbf16, #[[COLUMNS]]> -> tensor<128x64xbf16, #[[ROWS]]>
// CHECK:       tile.gemm %[[P]]
// CHECK-NOT:   tile.convert_layout
tile.kernel @conversion(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
    %new = tile.gemm %a, %b, %acc policy full_col atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    scf.yield %new : tensor<128x64xf32>
  }
  %h = tile.convert %sum : tensor<128x64xf32> to tensor<128x64xbf16>
  // expected-remark @below {{[layout-conversion] 'to' (128x64, 16 bits) is converted at operand A of wgmma, which takes a round trip through shared memory: it comes in the layout of the accumulator of wgmma, but the layout of operand A of wgmma is needed}}
  %o = tile.gemm %h, %b, %zero atom wgmma : tensor<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
  tile.return
}

// -----

// A left factor of two products in different layouts is converted before the first of them, which has its registers
// while the second begins.
// CHECK-LABEL: tile.kernel @shared_factor(
// CHECK:         %[[H:.*]] = tile.convert %
// CHECK:         tile.convert_layout %[[H]]
// CHECK:         tile.gemm_async
// CHECK-NOT:     tile.convert_layout
// CHECK:         tile.gemm_async
// CHECK-NOT:     tile.convert_layout
tile.kernel @shared_factor(%X: !tile.global<128x32xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %b = tile.alloc_shared "b" : !tile.shared<32x32xf8E4M3FN>
  %across = tile.transpose %b : !tile.shared<32x32xf8E4M3FN> -> !tile.shared<32x32xf8E4M3FN, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<128x32xf32>
  %from = tile.slice %X[%c0, %c0] : !tile.global<128x32xf32> -> !tile.slice<128x32xf32>
  %x = tile.load %from : !tile.slice<128x32xf32> -> tensor<128x32xf32>
  %h = tile.convert %x saturate : tensor<128x32xf32> to tensor<128x32xf8E4M3FN>
  %rows = tile.gemm_async %h, %across, %zero atom wgmma : tensor<128x32xf8E4M3FN>, !tile.shared<32x32xf8E4M3FN, transposed>, tensor<128x32xf32>
  // expected-remark @below {{[layout-conversion] 'to' (128x32, 8 bits) is converted at operand A of wgmma, which takes a round trip through shared memory: it comes in the layout of operand A of wgmma, but the layout of operand A of wgmma is needed}}
  %columns = tile.gemm_async %h, %across, %zero policy full_col atom wgmma : tensor<128x32xf8E4M3FN>, !tile.shared<32x32xf8E4M3FN, transposed>, tensor<128x32xf32>
  %r = tile.gemm_wait %rows pending(1) : tensor<128x32xf32>
  %c = tile.gemm_wait %columns pending(0) : tensor<128x32xf32>
  tile.return
}

// -----

// A mask in two layouts is converted without a remark: it is soon made twice instead (tile-fold-relayouts).
// CHECK-LABEL: tile.kernel @cheap_conversion(
// CHECK:       arith.cmpi
// CHECK:       tile.convert_layout
tile.kernel @cheap_conversion(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8>} {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %at = tile.coordinates 1 : tensor<128x64xindex>
  %end = tile.splat %n : index -> tensor<128x64xindex>
  %inside = arith.cmpi ult, %at, %end : tensor<128x64xindex>
  %first = tile.gemm %a, %b, %zero atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
  %second = tile.gemm %a, %b, %zero policy full_col atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
  %x = arith.select %inside, %first, %zero : tensor<128x64xi1>, tensor<128x64xf32>
  %y = arith.select %inside, %second, %zero : tensor<128x64xi1>, tensor<128x64xf32>
  tile.return
}

// -----

// A store through the TMA takes whole rows per warpgroup, so that an accumulator that is split along columns is
// converted for it; the loop's own values stay.
// CHECK-LABEL: tile.kernel @tma_store(
// CHECK:       %[[H:.*]] = tile.convert
// CHECK:       %[[ROWS:.*]] = tile.convert_layout %[[H]]
// CHECK:       tile.store %[[ROWS]], {{.*}} atom tma
tile.kernel @tma_store(%O: !tile.global<128x64xbf16> {program.argument = #program.tensor<"O", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %staging = tile.alloc_shared "O.staging" : !tile.shared<2x2x64x64xbf16>
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %sum = tile.gemm %a, %b, %zero policy full_col atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
  %h = tile.convert %sum : tensor<128x64xf32> to tensor<128x64xbf16>
  %o = tile.slice %O[%c0, %c0] : !tile.global<128x64xbf16> -> !tile.slice<128x64xbf16>
  // expected-remark @below {{[layout-conversion] 'to' (128x64, 16 bits) is converted at the panels of a store through shared memory, which takes a round trip through shared memory: it comes in the layout of the accumulator of wgmma, but the layout of the panels of a store through shared memory is needed}}
  tile.store %h, %o staging %staging : !tile.shared<2x2x64x64xbf16> atom tma : tensor<128x64xbf16>, !tile.slice<128x64xbf16>
  tile.return
}

// -----

// mma.sync has its own layouts; a factor that is loaded for it is loaded as the product wants it.
// CHECK: #[[A:.*]] = #tile.layout<"reg(2@1:1, 2@0:8, 4@1:8) lane(4@1:2, 8@0:1) warp(2@0:16)">
// CHECK: #[[ACC:.*]] = #tile.layout<"reg(2@1:1, 2@0:8, 3@1:8) lane(4@1:2, 8@0:1) warp(2@0:16)">
// CHECK-LABEL: tile.kernel @mma_sync(
// CHECK:       %[[P:.*]] = tile.load %{{.*}} -> tensor<32x32xbf16, #[[A]]>
// CHECK:       tile.gemm %[[P]], {{.*}} atom mma_sync : {{.*}}, tensor<32x24xf32, #[[ACC]]>
// CHECK-NOT:   tile.convert_layout
tile.kernel @mma_sync() attributes {launch = #program.launch<warps = 2>} {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<32x32xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<32x24xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<32x24xf32>
  %p = tile.load %a : !tile.shared<32x32xbf16> -> tensor<32x32xbf16>
  %0 = tile.gemm %p, %b, %zero atom mma_sync : tensor<32x32xbf16>, !tile.shared<32x24xbf16>, tensor<32x24xf32>
  tile.return
}

// -----

// Products by single elements ask for nothing: what stores prefer reaches them.
// CHECK: #[[STORES:.*]] = #tile.layout<"reg(4@1:1) lane(2@1:4, 16@0:1) warp(2@0:16, 2@*)">
// CHECK-LABEL: tile.kernel @fma(
// CHECK:       tile.gemm {{.*}} atom fma : {{.*}}, tensor<{{.*}}xf32, #[[STORES]]>
tile.kernel @fma(%O: !tile.global<20x8xf32> {program.argument = #program.tensor<"O", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<20x8xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<8x8xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<20x8xf32>
  %sum = tile.gemm %a, %b, %zero atom fma : !tile.shared<20x8xbf16>, !tile.shared<8x8xbf16>, tensor<20x8xf32>
  %o = tile.slice %O[%c0, %c0] : !tile.global<20x8xf32> -> !tile.slice<20x8xf32>
  tile.store %sum, %o atom simt : tensor<20x8xf32>, !tile.slice<20x8xf32>
  tile.return
}

// -----

// A broadcast along two axes is two, one relation each; both sides of a branch agree with its result.
// CHECK: #[[ACC:.*]] = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
// CHECK-LABEL: tile.kernel @broadcast_and_branch(
// CHECK:       %[[ROWS:.*]] = tile.broadcast %{{.*}} : tensor<1x1xf32, #{{.*}}> -> tensor<64x1xf32, #{{.*}}>
// CHECK:       %[[ALL:.*]] = tile.broadcast %[[ROWS]] : tensor<64x1xf32, #{{.*}}> -> tensor<64x64xf32, #[[ACC]]>
// CHECK:       scf.if %{{.*}} -> (tensor<64x64xf32, #[[ACC]]>) {
// CHECK-NEXT:    scf.yield %[[ALL]]
// CHECK-NOT:   tile.convert_layout
tile.kernel @broadcast_and_branch(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<1x1xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<1x1xf32> -> !tile.slice<1x1xf32>
  %f = tile.load %x : !tile.slice<1x1xf32> -> tensor<1x1xf32>
  %all = tile.broadcast %f : tensor<1x1xf32> -> tensor<64x64xf32>
  %p = arith.cmpi ugt, %n, %c0 : index
  %start = scf.if %p -> (tensor<64x64xf32>) {
    scf.yield %all : tensor<64x64xf32>
  } else {
    %minus = arith.negf %all : tensor<64x64xf32>
    scf.yield %minus : tensor<64x64xf32>
  }
  %0 = tile.gemm %a, %a, %start atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  tile.return
}

// -----

// Deep nests weigh no more than the solver can count.
// CHECK-LABEL: tile.kernel @deep(
// CHECK:       arith.negf %{{.*}} : tensor<8xf32, #
tile.kernel @deep(%n: index {program.argument = #program.dimension<"n">}, %x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %1 = %c0 to %n step %c1 {
  scf.for %2 = %c0 to %n step %c1 {
  scf.for %3 = %c0 to %n step %c1 {
  scf.for %4 = %c0 to %n step %c1 {
  scf.for %5 = %c0 to %n step %c1 {
  scf.for %6 = %c0 to %n step %c1 {
  scf.for %7 = %c0 to %n step %c1 {
  scf.for %8 = %c0 to %n step %c1 {
    %s = tile.splat %x : f32 -> tensor<8xf32>
    %y = arith.negf %s : tensor<8xf32>
  } } } } } } } }
  tile.return
}

// -----

// Scores become 8-bit weights where they are: the buffer that they meet, which nothing fills but a copy, lies in the order
// that they have. Each thread renames its registers, and no more.
// CHECK-DAG: #[[ACC:.*]] = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
// CHECK-DAG: #[[P:.*]] = #tile.layout<"reg(2@1:1, 2@1:8, 2@0:8, 4@1:16) lane(4@1:2, 8@0:1) warp(4@0:16)">
// CHECK-DAG: #[[NATURAL:.*]] = #tile.shared_layout<"64x64 8b axis 1 panel 64 swizzle 64 pad 0">
// CHECK-DAG: #[[INTERLEAVED:.*]] = #tile.shared_layout<"64x64 8b axis 1 panel 64 swizzle 64 pad 0 interleaved">
// CHECK-LABEL: tile.kernel @weights_of_bytes(
// CHECK:         tile.alloc_shared "v" : !tile.shared<64x64xf8E4M3FN, #[[NATURAL]]>
// CHECK:         tile.alloc_shared "vt" : !tile.shared<64x64xf8E4M3FN, #[[INTERLEAVED]]>
// CHECK:         tile.convert_layout %{{.*}} : tensor<64x64x{{.*}}, #[[ACC]]> -> tensor<64x64x{{.*}}, #[[P]]>
// CHECK-NOT:     tile.convert_layout
// CHECK:         tile.gemm %{{.*}} : tensor<64x64xf8E4M3FN, #[[P]]>,
tile.kernel @weights_of_bytes(%X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %q = tile.alloc_shared "q" : !tile.shared<64x64xf8E4M3FN>
  %v = tile.alloc_shared "v" : !tile.shared<64x64xf8E4M3FN>
  %vt = tile.alloc_shared "vt" : !tile.shared<64x64xf8E4M3FN>
  %vView = tile.transpose %v : !tile.shared<64x64xf8E4M3FN> -> !tile.shared<64x64xf8E4M3FN, transposed>
  tile.copy %vView, %vt atom simt : !tile.shared<64x64xf8E4M3FN, transposed>, !tile.shared<64x64xf8E4M3FN>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %qView = tile.transpose %q : !tile.shared<64x64xf8E4M3FN> -> !tile.shared<64x64xf8E4M3FN, transposed>
  %s = tile.gemm %q, %qView, %zero atom wgmma : !tile.shared<64x64xf8E4M3FN>, !tile.shared<64x64xf8E4M3FN, transposed>, tensor<64x64xf32>
  %p = tile.convert %s saturate : tensor<64x64xf32> to tensor<64x64xf8E4M3FN>
  %vtView = tile.transpose %vt : !tile.shared<64x64xf8E4M3FN> -> !tile.shared<64x64xf8E4M3FN, transposed>
  %o = tile.gemm %p, %vtView, %zero atom wgmma : tensor<64x64xf8E4M3FN>, !tile.shared<64x64xf8E4M3FN, transposed>, tensor<64x64xf32>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %o, %x : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}

// -----

// A buffer that is also a factor with one from memory keeps the natural order, which that one has.
// CHECK: #[[ORDERED:.*]] = #tile.shared_layout<"64x64 8b axis 1 panel 64 swizzle 64 pad 0">
// CHECK-LABEL: tile.kernel @shared_factor(
// CHECK:         tile.alloc_shared "vt" : !tile.shared<64x64xf8E4M3FN, #[[ORDERED]]>
tile.kernel @shared_factor(%X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %q = tile.alloc_shared "q" : !tile.shared<64x64xf8E4M3FN>
  %vt = tile.alloc_shared "vt" : !tile.shared<64x64xf8E4M3FN>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %view = tile.transpose %vt : !tile.shared<64x64xf8E4M3FN> -> !tile.shared<64x64xf8E4M3FN, transposed>
  %s = tile.gemm %q, %view, %zero atom wgmma : !tile.shared<64x64xf8E4M3FN>, !tile.shared<64x64xf8E4M3FN, transposed>, tensor<64x64xf32>
  %p = tile.convert %s saturate : tensor<64x64xf32> to tensor<64x64xf8E4M3FN>
  %o = tile.gemm %p, %view, %zero atom wgmma : tensor<64x64xf8E4M3FN>, !tile.shared<64x64xf8E4M3FN, transposed>, tensor<64x64xf32>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %o, %x : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}

// -----

// What a warp decides is about what it holds: stores of 16 bits would like another layout, but the choice has that of its
// condition.
// CHECK: #[[WIDE:.*]] = #tile.layout<
// CHECK-LABEL: tile.kernel @decision(
// CHECK: tile.any_in_warp %{{.*}} : tensor<64x64xi1, #[[WIDE]]>
// CHECK: arith.select %{{.*}} : tensor<64x64xf16, #[[WIDE]]>
tile.kernel @decision(%X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>},
    %Y: !tile.global<64x64xf16> {program.argument = #program.tensor<"Y", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  %f = tile.load %x : !tile.slice<64x64xf32> -> tensor<64x64xf32>
  %p = arith.cmpf ogt, %f, %f : tensor<64x64xf32>
  %any = tile.any_in_warp %p : tensor<64x64xi1>
  %a = arith.constant dense<1.0> : tensor<64x64xf16>
  %b = arith.constant dense<0.0> : tensor<64x64xf16>
  %c = arith.select %any, %a, %b : tensor<64x64xf16>
  %y = tile.slice %Y[%c0, %c0] : !tile.global<64x64xf16> -> !tile.slice<64x64xf16>
  tile.store %c, %y : tensor<64x64xf16>, !tile.slice<64x64xf16>
  tile.return
}

// -----

// A wait that leaves a product in flight has completed the one before it, whose sums another policy may move.
// CHECK-LABEL: tile.kernel @completed(
// CHECK: %[[DONE:.*]] = tile.gemm_wait %{{.*}} pending(1)
// CHECK: %[[MOVED:.*]] = tile.convert_layout %[[DONE]]
// CHECK: tile.gemm_async %{{.*}}, %{{.*}}, %[[MOVED]] policy full_col
tile.kernel @completed() attributes {launch = #program.launch<warps = 8>} {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %first = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
  %other = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
  %done = tile.gemm_wait %first pending(1) : tensor<128x64xf32>
  // expected-remark @below {{[layout-conversion] 'gemmWait' (128x64, 32 bits) is converted at the accumulator of the product, which takes a round trip through shared memory: it comes in the layout of the accumulator of wgmma, but the layout of the accumulator of wgmma is needed}}
  %second = tile.gemm_async %a, %b, %done policy full_col atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
  %sum = tile.gemm_wait %second pending(0) : tensor<128x64xf32>
  tile.return
}

//--- errors.mlir

// expected-error @below {{expected a number of warps; run 'tile-select-products' before 'tile-infer-layouts'}}
tile.kernel @no_warps() {
  tile.return
}

// -----

// An accumulator in flight cannot be moved: the products must share it in one way.
tile.kernel @in_flight() attributes {launch = #program.launch<warps = 8>} {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  // expected-note @below {{one of the layouts comes from here}}
  %first = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
  // expected-error @below {{expected one layout for 'gemmAsync' because the accumulator of wgmma permits no conversion, but the accumulator of wgmma gives 'reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(8@0:16)' and the accumulator of wgmma needs 'reg(2@1:1, 2@0:8, 4@1:8, 2@0:64) lane(4@1:2, 8@0:1) warp(4@0:16, 2@1:32)'}}
  %second = tile.gemm_async %a, %b, %first policy full_col atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
  %sum = tile.gemm_wait %second pending(0) : tensor<128x64xf32>
  tile.return
}

// -----

// The same around a loop.
tile.kernel @in_flight_in_loop(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  // expected-error @below {{expected one layout for 'gemmAsync' because the accumulator of wgmma permits no conversion}}
  %first = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %first) -> (tensor<128x64xf32>) {
    // expected-note @below {{one of the layouts comes from here}}
    %second = tile.gemm_async %a, %b, %acc policy full_col atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    %flying = tile.gemm_wait %second pending(1) : tensor<128x64xf32>
    scf.yield %flying : tensor<128x64xf32>
  }
  tile.return
}

// -----

// Registers are a role's own.
tile.kernel @other_role(%X: !tile.global<64xf32> {program.argument = #program.tensor<"X", input, dims[-1]>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %x = tile.slice %X[%c0] : !tile.global<64xf32> -> !tile.slice<64xf32>
  // expected-note @below {{it is computed here}}
  %f = tile.load %x : !tile.slice<64xf32> -> tensor<64xf32>
  tile.roles {
    tile.role "one" warps(4) {
      // expected-error @below {{expected fragments of the role that uses them because each role has its own registers, but got one from outside}}
      %g = arith.negf %f : tensor<64xf32>
    }
    tile.role "two" warps(4) {
    }
  }
  tile.return
}

// -----

tile.kernel @coprime(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4>} {
  %f = tile.splat %x : f32 -> tensor<97x64xf32>
  // expected-error @below {{expected extents that divide each other's, so that elements stay in their threads, but those of 97x64 and 64x97 leave 6208 registers of them in each thread; store the fragment to a shared tile and load it from there by positions, tile.tile(...)}}
  %g = tile.reshape %f : tensor<97x64xf32> -> tensor<64x97xf32>
  tile.return
}

// -----

tile.kernel @too_large(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4>} {
  // expected-error @below {{expected fragments of at most 1024 elements per thread because they live in registers, but 1024x1024 has 8192 for each thread of 4 warps}}
  %s = tile.splat %x : f32 -> tensor<1024x1024xf32>
  %y = arith.negf %s : tensor<1024x1024xf32>
  tile.return
}

// -----

tile.kernel @table() attributes {launch = #program.launch<warps = 4>} {
  // expected-error @below {{expected constant fragments of one number, but got several; load them from a tensor}}
  %t = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = arith.negf %t : tensor<2xf32>
  tile.return
}

// -----

tile.kernel @part_of_warpgroup() attributes {launch = #program.launch<warps = 2>} {
  %f0 = arith.constant 0.0 : f32
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  // expected-error @below {{expected whole warpgroups because the product's atom is wgmma, but got 2 warps}}
  %0 = tile.gemm %b, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  tile.return
}

// -----

// A tile that is added to a tensor in the order of accumulators lies as that does, if nobody wants it otherwise and it has
// whole pieces.
// CHECK-DAG: #[[PIECES:.*]] = #tile.shared_layout<"64x32 32b axis 1 panel 32 swizzle none pad 0 accumulator">
// CHECK-DAG: #[[ROWS:.*]] = #tile.shared_layout<"64x32 32b axis 1 panel 32 swizzle 128 pad 0">
// CHECK-DAG: #[[PLAIN:.*]] = #tile.shared_layout<"8x32 32b axis 1 panel 32 swizzle 128 pad 0">
// CHECK-LABEL: tile.kernel @added(
// CHECK:         tile.alloc_shared "a" : !tile.shared<64x32xf32, #[[PIECES]]>
// CHECK:         tile.alloc_shared "b" : !tile.shared<64x32xf32, #[[ROWS]]>
// CHECK:         tile.alloc_shared "c" : !tile.shared<8x32xf32, #[[PLAIN]]>
// CHECK:         tile.alloc_shared "d" : !tile.shared<64x32xf32, #[[ROWS]]>
// CHECK:         tile.alloc_shared "e" : !tile.shared<2x64x32xf32, #[[PIECES]]>
tile.kernel @added(
    %X: !tile.global<64x32xf32> {program.argument = #program.tensor<"X", workspace, dims[-1, -1], alignment = 16, order = accumulator>},
    %Y: !tile.global<64x32xf32> {program.argument = #program.tensor<"Y", inout, dims[-1, -1], alignment = 16>},
    %f: f32 {program.argument = #program.scalar<"f">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x32xf32>
  %b = tile.alloc_shared "b" : !tile.shared<64x32xf32>
  %c = tile.alloc_shared "c" : !tile.shared<8x32xf32>
  %d = tile.alloc_shared "d" : !tile.shared<64x32xf32>
  %e = tile.alloc_shared "e" : !tile.shared<2x64x32xf32>
  %at = tile.cursor : !tile.cursor<2>
  %v = tile.splat %f : f32 -> tensor<64x32xf32>
  %few = tile.splat %f : f32 -> tensor<8x32xf32>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x32xf32> -> !tile.slice<64x32xf32>
  %xs = tile.slice %X[%c0, %c0] : !tile.global<64x32xf32> -> !tile.slice<8x32xf32>
  %y = tile.slice %Y[%c0, %c0] : !tile.global<64x32xf32> -> !tile.slice<64x32xf32>
  tile.store %v, %a : tensor<64x32xf32>, !tile.shared<64x32xf32>
  tile.copy_reduce add %a, %x : !tile.shared<64x32xf32>, !tile.slice<64x32xf32>
  tile.store %v, %b : tensor<64x32xf32>, !tile.shared<64x32xf32>
  tile.copy_reduce add %b, %x : !tile.shared<64x32xf32>, !tile.slice<64x32xf32>
  tile.copy_reduce add %b, %y : !tile.shared<64x32xf32>, !tile.slice<64x32xf32>
  tile.store %few, %c : tensor<8x32xf32>, !tile.shared<8x32xf32>
  tile.copy_reduce add %c, %xs : !tile.shared<8x32xf32>, !tile.slice<8x32xf32>
  %rows = tile.rows %d[8] : !tile.shared<64x32xf32> -> !tile.shared<8x32xf32>
  tile.store %few, %rows : tensor<8x32xf32>, !tile.shared<8x32xf32>
  tile.copy_reduce add %d, %x : !tile.shared<64x32xf32>, !tile.slice<64x32xf32>
  %slot = tile.slot %e[%at] : !tile.shared<2x64x32xf32>, !tile.cursor<2> -> !tile.shared<64x32xf32>
  tile.store %v, %slot : tensor<64x32xf32>, !tile.shared<64x32xf32>
  tile.copy_reduce add %slot, %x : !tile.shared<64x32xf32>, !tile.slice<64x32xf32>
  tile.return
}
