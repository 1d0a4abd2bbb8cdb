// RUN: %tile-opt %s -split-input-file -verify-diagnostics

// windows_c1: the launcher knows the extents.
tile.kernel @of_windows(
    %n: index {program.argument = #program.dimension<"n">},
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<?x8x8xf32> {program.argument = #program.tensor<"X", input, dims[0, -1, -1]>}) {
  %w = tile.windows %X <taps[2], strides[1], dilations[1], before[0], after[0]>
    : !tile.global<?x8x8xf32> -> !tile.global<?x2x8xf32>
  // expected-error @below {{expected an argument of the kernel that is one tensor because the launcher knows its extents, but 'X' is what a window sees}}
  %v = tile.windows %w <taps[2], strides[1], dilations[1], before[0], after[0]>
    : !tile.global<?x2x8xf32> -> !tile.global<?x2x8xf32>
  tile.return
}

// -----

// windows_c1
tile.kernel @of_ranks(
    %n: index {program.argument = #program.dimension<"n">},
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<?x8x8xf32> {program.argument = #program.tensor<"X", input, dims[0, -1, -1], symmetric = true>}) {
  // expected-error @below {{expected an argument of the kernel that is one tensor because the launcher knows its extents, but 'X' is symmetric}}
  %w = tile.windows %X <taps[2], strides[1], dilations[1], before[0], after[0]>
    : !tile.global<?x8x8xf32> -> !tile.global<?x2x8xf32>
  tile.return
}

// -----

// windows_c1
tile.kernel @of_an_order(
    %n: index {program.argument = #program.dimension<"n">},
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<?x8x8xf32> {program.argument = #program.tensor<"X", workspace, dims[0, -1, -1], order = accumulator>}) {
  // expected-error @below {{expected a tensor in its natural order because windows begin anywhere, but 'X' is in another}}
  %w = tile.windows %X <taps[2], strides[1], dilations[1], before[0], after[0]>
    : !tile.global<?x8x8xf32> -> !tile.global<?x2x8xf32>
  tile.return
}

// -----

// windows_c2
tile.kernel @axes(
    %n: index {program.argument = #program.dimension<"n">},
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<?x8x8xf32> {program.argument = #program.tensor<"X", input, dims[0, -1, -1]>}) {
  // expected-error @below {{expected a tensor of 4 axes, of images, those that the window moves along and channels, because the window has taps along 2, but 'X' has 3}}
  %w = tile.windows %X <taps[2, 2], strides[1, 1], dilations[1, 1], before[0, 0], after[0, 0]>
    : !tile.global<?x8x8xf32> -> !tile.global<?x2x2x8xf32>
  tile.return
}

// -----

// windows_c3
tile.kernel @result(
    %n: index {program.argument = #program.dimension<"n">},
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<?x8x8xf32> {program.argument = #program.tensor<"X", input, dims[0, -1, -1]>}) {
  // expected-error @below {{expected a result of type '!tile.global<?x2x8xf32>' because 'X' is '!tile.global<?x8x8xf32>', but got '!tile.global<?x3x8xf32>'}}
  %w = tile.windows %X <taps[2], strides[1], dilations[1], before[0], after[0]>
    : !tile.global<?x8x8xf32> -> !tile.global<?x3x8xf32>
  tile.return
}

// -----

// slice_c8
tile.kernel @write(
    %n: index {program.argument = #program.dimension<"n">},
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<?x8x8xf32> {program.argument = #program.tensor<"X", inout, dims[0, -1, -1]>}) {
  %c0 = arith.constant 0 : index
  %w = tile.windows %X <taps[2], strides[1], dilations[1], before[0], after[0]>
    : !tile.global<?x8x8xf32> -> !tile.global<?x2x8xf32>
  %s = tile.slice %w[%c0, %c0, %c0] : !tile.global<?x2x8xf32> -> !tile.slice<16x1x8xf32>
  %t = tile.alloc_shared "t" : !tile.shared<16x8xf32>
  // expected-error @below {{expected a copy from the windows of 'X' because they share elements, but got another access; access 'X' itself}}
  tile.copy %t, %s : !tile.shared<16x8xf32>, !tile.slice<16x1x8xf32>
  tile.return
}

// -----

// slice_c8
tile.kernel @gathered(
    %n: index {program.argument = #program.dimension<"n">},
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<?x8x8xf32> {program.argument = #program.tensor<"X", input, dims[0, -1, -1]>}) {
  %c0 = arith.constant 0 : index
  %w = tile.windows %X <taps[2], strides[1], dilations[1], before[0], after[0]>
    : !tile.global<?x8x8xf32> -> !tile.global<?x2x8xf32>
  // expected-error @below {{expected a box of the windows of 'X' because their positions follow one another, but got a position per element}}
  %s = tile.slice %w[%c0, %c0, %c0] gathered [0] : !tile.global<?x2x8xf32> -> !tile.slice<16x1x8xf32>
  tile.return
}
