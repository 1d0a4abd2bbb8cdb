// RUN: %tile-opt %s --tile-remove-proven-guards -split-input-file | FileCheck %s

// Fixed extents: constants, loops and arithmetic of both.
// CHECK-LABEL: tile.kernel @fixed(
tile.kernel @fixed(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<128x64xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c7 = arith.constant 7 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c96 = arith.constant 96 : index
  %c97 = arith.constant 97 : index
  %c128 = arith.constant 128 : index
  %m1 = arith.constant -1 : index
  // The last box that fits, and one row further.
  // CHECK: tile.slice {{.*}} unchecked "proven"
  %0 = tile.slice %X[%c96, %c0] : !tile.global<128x64xf32> -> !tile.slice<32x64xf32>
  // CHECK: tile.slice {{[^"]+$}}
  %1 = tile.slice %X[%c97, %c0] : !tile.global<128x64xf32> -> !tile.slice<32x64xf32>
  // A limit is kept where the box is inside the tensor.
  // CHECK: tile.slice {{.*}} limit %{{.*}} along 0 unchecked "proven"
  %limited = tile.slice %X[%c96, %c0] limit %n along 0 : !tile.global<128x64xf32> -> !tile.slice<32x64xf32>
  // Before the tensor.
  // CHECK: tile.slice {{[^"]+$}}
  %2 = tile.slice %X[%m1, %c0] : !tile.global<128x64xf32> -> !tile.slice<32x64xf32>
  // Each axis counts.
  // CHECK: tile.slice {{[^"]+$}}
  %3 = tile.slice %X[%c0, %c1] : !tile.global<128x64xf32> -> !tile.slice<32x64xf32>
  // Four tiles of 32 rows are the tensor; a loop to the fifth goes beyond it.
  // CHECK: scf.for
  scf.for %i = %c0 to %c4 step %c1 {
    %row = arith.muli %i, %c32 : index
    // CHECK: tile.slice {{.*}} unchecked "proven"
    %4 = tile.slice %X[%row, %c0] : !tile.global<128x64xf32> -> !tile.slice<32x64xf32>
    // CHECK: tile.slice {{[^"]+$}}
    %more = arith.addi %row, %c1 : index
    %5 = tile.slice %X[%more, %c0] : !tile.global<128x64xf32> -> !tile.slice<32x64xf32>
  }
  // CHECK: scf.for
  scf.for %i = %c0 to %c5 step %c1 {
    // CHECK: tile.slice {{[^"]+$}}
    %row = arith.muli %i, %c32 : index
    %6 = tile.slice %X[%row, %c0] : !tile.global<128x64xf32> -> !tile.slice<32x64xf32>
    // What is left of a division is below the divisor; quotients and minima are bounded, too.
    // CHECK: tile.slice {{.*}} unchecked "proven"
    %rest = arith.remui %i, %c4 : index
    %rest32 = arith.muli %rest, %c32 : index
    %7 = tile.slice %X[%rest32, %c0] : !tile.global<128x64xf32> -> !tile.slice<32x64xf32>
    // CHECK: tile.slice {{.*}} unchecked "proven"
    %half = arith.divui %i, %c2 : index
    %half32 = arith.muli %half, %c32 : index
    %8 = tile.slice %X[%half32, %c0] : !tile.global<128x64xf32> -> !tile.slice<32x64xf32>
    // CHECK: tile.slice {{.*}} unchecked "proven"
    %clamped = arith.minui %row, %c96 : index
    %9 = tile.slice %X[%clamped, %c0] : !tile.global<128x64xf32> -> !tile.slice<32x64xf32>
    // A difference that may be negative is not known.
    // CHECK: tile.slice {{[^"]+$}}
    %difference = arith.subi %i, %c1 : index
    %10 = tile.slice %X[%difference, %c0] : !tile.global<128x64xf32> -> !tile.slice<32x64xf32>
    // CHECK: tile.slice {{.*}} unchecked "proven"
    %down = arith.subi %c96, %i : index
    %11 = tile.slice %X[%down, %c0] : !tile.global<128x64xf32> -> !tile.slice<32x64xf32>
  }
  // A step that leaves out the end: 0, 16, ..., 96 in [0, 97).
  // CHECK: scf.for
  scf.for %i = %c0 to %c97 step %c16 {
    // CHECK: tile.slice {{.*}} unchecked "proven"
    %12 = tile.slice %X[%i, %c0] : !tile.global<128x64xf32> -> !tile.slice<32x64xf32>
  }
  // A loop without a known end.
  // CHECK: scf.for
  scf.for %i = %c0 to %n step %c1 {
    // CHECK: tile.slice {{[^"]+$}}
    %13 = tile.slice %X[%i, %c0] : !tile.global<128x64xf32> -> !tile.slice<32x64xf32>
  }
  tile.return
}

// -----

// Where an index would overflow its 32 bits on the way, nothing is proven.
// CHECK-LABEL: tile.kernel @overflow(
// CHECK:         tile.slice {{[^"]+$}}
tile.kernel @overflow(%X: !tile.global<128xf32> {program.argument = #program.tensor<"X", input, dims[-1]>}) {
  %c3 = arith.constant 3 : index
  %large = arith.constant 2000000000 : index
  %product = arith.muli %large, %c3 : index
  %small = arith.divui %product, %large : index
  %0 = tile.slice %X[%small] : !tile.global<128xf32> -> !tile.slice<32xf32>
  tile.return
}

// -----

// The grid bounds a block's position.
// CHECK-LABEL: tile.kernel @grid(
// CHECK:         tile.slice {{.*}} unchecked "proven"
// CHECK:         tile.slice {{[^"]+$}}
tile.kernel @grid(%X: !tile.global<128xf32> {program.argument = #program.tensor<"X", input, dims[-1]>}) {
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %c33 = arith.constant 33 : index
  %i = tile.grid %c4 : index
  %at = arith.muli %i, %c32 : index
  %0 = tile.slice %X[%at] : !tile.global<128xf32> -> !tile.slice<32xf32>
  %beyond = arith.muli %i, %c33 : index
  %1 = tile.slice %X[%beyond] : !tile.global<128xf32> -> !tile.slice<32xf32>
  tile.return
}

// -----

// Runtime extents that are multiples of the tile: each of ceil(m / 32) tiles is whole, and an axis that a loop
// counts through one by one is never left.
// CHECK-LABEL: tile.kernel @multiples(
tile.kernel @multiples(%m: index {program.argument = #program.dimension<"m", multiple_of = 64>},
    %b: index {program.argument = #program.dimension<"b">},
    %X: !tile.global<?x?xf32> {program.argument = #program.tensor<"X", input, dims[1, 0]>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %m1 = arith.constant -1 : index
  %tiles = arith.ceildivui %m, %c32 : index
  %large_tiles = arith.ceildivui %m, %c128 : index
  %block:2 = tile.grid %b, %tiles : index, index
  %blocks = tile.blocks
  // CHECK: tile.slice {{.*}} unchecked "proven"
  %at = arith.muli %block#1, %c32 : index
  %0 = tile.slice %X[%block#0, %at] : !tile.global<?x?xf32> -> !tile.slice<1x32xf32>
  // The other axis's bound is no bound of this one.
  // CHECK: tile.slice {{[^"]+$}}
  %1 = tile.slice %X[%block#1, %at] : !tile.global<?x?xf32> -> !tile.slice<1x32xf32>
  // Two rows may be one too many.
  // CHECK: tile.slice {{[^"]+$}}
  %2 = tile.slice %X[%block#0, %at] : !tile.global<?x?xf32> -> !tile.slice<2x32xf32>
  // A wider box than the tile.
  // CHECK: tile.slice {{[^"]+$}}
  %3 = tile.slice %X[%block#0, %at] : !tile.global<?x?xf32> -> !tile.slice<1x64xf32>
  // A loop over the tiles, also from the block's own position in strides of all blocks.
  // CHECK: scf.for
  scf.for %i = %block#1 to %tiles step %blocks {
    // CHECK: tile.slice {{.*}} unchecked "proven"
    %position = arith.muli %i, %c32 : index
    %4 = tile.slice %X[%block#0, %position] : !tile.global<?x?xf32> -> !tile.slice<1x32xf32>
  }
  // From before the tensor.
  // CHECK: scf.for
  scf.for %i = %m1 to %tiles step %c1 {
    // CHECK: tile.slice {{[^"]+$}}
    %position = arith.muli %i, %c32 : index
    %5 = tile.slice %X[%block#0, %position] : !tile.global<?x?xf32> -> !tile.slice<1x32xf32>
  }
  // 64 divides the extent, 128 may not.
  // CHECK: scf.for
  scf.for %i = %c0 to %large_tiles step %c1 {
    // CHECK: tile.slice {{[^"]+$}}
    %position = arith.muli %i, %c128 : index
    %6 = tile.slice %X[%block#0, %position] : !tile.global<?x?xf32> -> !tile.slice<1x128xf32>
    // Whole tiles of another number.
    // CHECK: tile.slice {{[^"]+$}}
    %other = arith.muli %i, %c64 : index
    %7 = tile.slice %X[%block#0, %other] : !tile.global<?x?xf32> -> !tile.slice<1x64xf32>
  }
  tile.return
}

// -----

// What the author knows keeps the author's words.
// CHECK-LABEL: tile.kernel @authors_word(
// CHECK:         tile.slice {{.*}} unchecked "by the block table"
tile.kernel @authors_word(%X: !tile.global<128xf32> {program.argument = #program.tensor<"X", input, dims[-1]>}) {
  %c0 = arith.constant 0 : index
  %0 = tile.slice %X[%c0] unchecked "by the block table" : !tile.global<128xf32> -> !tile.slice<32xf32>
  tile.return
}

// -----

// Slices of shared tiles, too: a loop's positions that stay inside, and others.
// CHECK-LABEL: tile.kernel @shared(
// CHECK:         tile.slice_shared {{.*}} unchecked "proven"
// CHECK:         tile.slice_shared {{[^"]+$}}
// CHECK:         tile.slice_shared {{[^"]+$}}
tile.kernel @shared(%n: index {program.argument = #program.dimension<"n">}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x32xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    %row = arith.muli %i, %c16 : index
    %0 = tile.slice_shared %a[%row, %c0] : !tile.shared<64x32xf32> -> !tile.slice<16x32xf32>
    %1 = tile.slice_shared %a[%row, %c0] : !tile.shared<64x32xf32> -> !tile.slice<17x32xf32>
    %2 = tile.slice_shared %a[%c0, %n] : !tile.shared<64x32xf32> -> !tile.slice<16x32xf32>
  }
  tile.return
}

// -----

// What is known of an origin is not known of positions per element, along however many axes.
// CHECK-LABEL: tile.kernel @gathered(
// CHECK:         tile.slice {{.*}} gathered [0] : {{[^"]+$}}
// CHECK:         tile.slice {{.*}} gathered [0, 1] : {{[^"]+$}}
// CHECK:         tile.slice_shared {{.*}} gathered [0, 1] : {{[^"]+$}}
tile.kernel @gathered(
    %X: !tile.global<128x64xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x32xf32>
  %0 = tile.slice %X[%c0, %c0] gathered [0] : !tile.global<128x64xf32> -> !tile.slice<16x64xf32>
  %1 = tile.slice %X[%c0, %c0] gathered [0, 1] : !tile.global<128x64xf32> -> !tile.slice<16xf32>
  %2 = tile.slice_shared %a[%c0, %c0] gathered [0, 1] : !tile.shared<64x32xf32> -> !tile.slice<4x2x2xf32>
  tile.return
}
