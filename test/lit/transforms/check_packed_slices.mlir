// RUN: %tile-opt %s --tile-check-packed-slices -split-input-file -verify-diagnostics

// Multiples of 2 by arithmetic, loops and facts; along other axes anything.
tile.kernel @even(%m: index {program.argument = #program.dimension<"m">},
    %n: index {program.argument = #program.dimension<"n", multiple_of = 2>},
    %W: !tile.global<?x?xi4> {program.argument = #program.tensor<"W", input, dims[0, 1]>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %0 = tile.slice %W[%c1, %c0] : !tile.global<?x?xi4> -> !tile.slice<16x32xi4>
  %1 = tile.slice %W[%m, %n] : !tile.global<?x?xi4> -> !tile.slice<16x32xi4>
  scf.for %i = %c0 to %n step %c64 {
    %2 = tile.slice %W[%c1, %i] limit %m along 0 : !tile.global<?x?xi4> -> !tile.slice<16x32xi4>
    %twice = arith.muli %m, %c2 : index
    %3 = tile.slice %W[%i, %twice] limit %n along 1 : !tile.global<?x?xi4> -> !tile.slice<16x32xi4>
  }
  tile.return
}

// -----

tile.kernel @begin(%m: index {program.argument = #program.dimension<"m">},
    %n: index {program.argument = #program.dimension<"n">},
    // expected-note @below {{'W' is declared here}}
    %W: !tile.global<?x?xi4> {program.argument = #program.tensor<"W", input, dims[0, 1]>}) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  // expected-error @below {{expected the begin of the slice of 'W' to be known to be a multiple of 2 along the last axis because as many 'i4' share a byte, but it is known to be one of 3; write it as 2 times a position}}
  %0 = tile.slice %W[%c0, %c3] : !tile.global<?x?xi4> -> !tile.slice<16x32xi4>
  tile.return
}

// -----

tile.kernel @limit(%m: index {program.argument = #program.dimension<"m">},
    %n: index {program.argument = #program.dimension<"n">},
    // expected-note @below {{'W' is declared here}}
    %W: !tile.global<?x?xf4E2M1FN> {program.argument = #program.tensor<"W", input, dims[0, 1]>}) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected the limit of the slice of 'W' to be known to be a multiple of 2 along the last axis because as many 'f4E2M1FN' share a byte, but it is known to be one of 1}}
  %0 = tile.slice %W[%c0, %c0] limit %m along 1 : !tile.global<?x?xf4E2M1FN> -> !tile.slice<16x32xf4E2M1FN>
  tile.return
}
