// RUN: %tile-opt %s -split-input-file -verify-diagnostics

// slice_c5
tile.kernel @axis(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<100x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected gathered axes from 0 to 1 because 'X' has 2 axes, but got axis 2}}
  %s = tile.slice %X[%c0, %c0] gathered [2] : !tile.global<100x64xf32> -> !tile.slice<16x64xf32>
  tile.return
}

// -----

// slice_c5
tile.kernel @order(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<100x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected gathered axes of 'X' in ascending order, but got axis 0 after axis 1}}
  %s = tile.slice %X[%c0, %c0] gathered [1, 0] : !tile.global<100x64xf32> -> !tile.slice<16x64xf32>
  tile.return
}

// -----

// slice_c1
tile.kernel @boxes(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<9x100x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1, -1]>}) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected a slice of at least 2 extents because 'X' has 2 axes without positions per element, but got 1}}
  %s = tile.slice %X[%c0, %c0, %c0] gathered [1] : !tile.global<9x100x64xf32> -> !tile.slice<64xf32>
  tile.return
}

// -----

// slice_c1
tile.kernel @apart(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<9x100x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1, -1]>}) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected a slice of 3 extents because 'X' has 3 axes, and those with positions per element do not follow one another, but got 2}}
  %s = tile.slice %X[%c0, %c0, %c0] gathered [0, 2] : !tile.global<9x100x64xf32> -> !tile.slice<16x64xf32>
  tile.return
}

// -----

// slice_c5
tile.kernel @packed(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<100x64xi4> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected elements of whole bytes because each is found by itself, but 'X' has 'i4'}}
  %s = tile.slice %X[%c0, %c0] gathered [0] : !tile.global<100x64xi4> -> !tile.slice<16x64xi4>
  tile.return
}

// -----

// slice_c6
tile.kernel @box(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<100x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  %s = tile.slice %X[%c0, %c0] gathered [0] : !tile.global<100x64xf32> -> !tile.slice<16x64xf32>
  // expected-error @below {{expected the box of a slice, but the slice of 'X' has a position per element}}
  %v = tile.load %s : !tile.slice<16x64xf32> -> tensor<16x64xf32>
  tile.return
}

// -----

// gather_c1
tile.kernel @extents(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<100x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  %rows = tile.coordinates 0 : tensor<8x64xindex>
  %s = tile.slice %X[%c0, %c0] gathered [0] : !tile.global<100x64xf32> -> !tile.slice<16x64xf32>
  // expected-error @below {{expected 'X' and the fragment to have the same extents, those of 1 aside, but got 16x64 and 8x64}}
  %v = tile.gather %s[%rows] : !tile.slice<16x64xf32>, tensor<8x64xindex> -> tensor<8x64xf32>
  tile.return
}

// -----

// gather_c2
tile.kernel @indices(
    %X: !tile.global<100x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  %rows = tile.coordinates 0 : tensor<16x1xindex>
  %s = tile.slice %X[%c0, %c0] gathered [0] : !tile.global<100x64xf32> -> !tile.slice<16x64xf32>
  // expected-error @below {{expected an index for each element of the fragment of 16x64, but got 16x1 of 'index'}}
  %v = tile.gather %s[%rows] : !tile.slice<16x64xf32>, tensor<16x1xindex> -> tensor<16x64xf32>
  tile.return
}

// -----

// gather_c2
tile.kernel @count(
    %X: !tile.global<100x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  %rows = tile.coordinates 0 : tensor<16xindex>
  %s = tile.slice %X[%c0, %c0] gathered [0, 1] : !tile.global<100x64xf32> -> !tile.slice<16xf32>
  // expected-error @below {{expected a fragment of positions for each of the 2 gathered axes of 'X', but got 1}}
  %v = tile.gather %s[%rows] : !tile.slice<16xf32>, tensor<16xindex> -> tensor<16xf32>
  tile.return
}

// -----

// gather_c2
tile.kernel @plain(
    %X: !tile.global<100x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  %rows = tile.coordinates 0 : tensor<16x64xindex>
  %s = tile.slice %X[%c0, %c0] : !tile.global<100x64xf32> -> !tile.slice<16x64xf32>
  // expected-error @below {{expected a slice with gathered axes because there are positions for it, but got a box}}
  %v = tile.gather %s[%rows] : !tile.slice<16x64xf32>, tensor<16x64xindex> -> tensor<16x64xf32>
  tile.return
}

// -----

// scatter_c2
tile.kernel @added(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<100x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  %rows = tile.coordinates 0 : tensor<16x64xindex>
  %v = arith.constant dense<1.0> : tensor<16x64xbf16>
  %s = tile.slice %X[%c0, %c0] gathered [0] : !tile.global<100x64xbf16> -> !tile.slice<16x64xbf16>
  // expected-error @below {{expected f32, f64, i32, u32 or i64 because narrower elements are too inexact for sums, but 'X' has 'bf16'}}
  tile.scatter combine add %v, %s[%rows] : tensor<16x64xbf16>, !tile.slice<16x64xbf16>, tensor<16x64xindex>
  tile.return
}
