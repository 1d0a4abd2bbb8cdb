// RUN: %tile-opt %s -split-input-file -verify-diagnostics

// atomic_fetch_c1
tile.kernel @extents(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?xi32> {program.argument = #program.tensor<"A", inout, dims[0]>}) {
  %x = arith.constant dense<0> : tensor<64xi32>
  %t = tile.slice %A[%m] : !tile.global<?xi32> -> !tile.slice<32xi32>
  // expected-error @below {{expected the fragment and 'A' to have the same extents, those of 1 aside, but got 64 and 32}}
  %old = tile.atomic_fetch %x, %t : tensor<64xi32>, !tile.slice<32xi32>
  tile.return
}

// -----

// atomic_fetch_c1: positions.
tile.kernel @positions(
    %m: index {program.argument = #program.dimension<"m">},
    %A: !tile.global<?xi32> {program.argument = #program.tensor<"A", inout, dims[0]>}) {
  %x = arith.constant dense<0> : tensor<64xi32>
  %t = tile.slice %A[%m] gathered [0] : !tile.global<?xi32> -> !tile.slice<64xi32>
  // expected-error @below {{expected a box because there are no positions, but got a slice with gathered axes}}
  %old = tile.atomic_fetch combine add %x, %t : tensor<64xi32>, !tile.slice<64xi32>
  tile.return
}

// -----

// atomic_fetch_c2: what is combined.
tile.kernel @minimum(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?xf32> {program.argument = #program.tensor<"A", inout, dims[0]>}) {
  %x = arith.constant dense<0.0> : tensor<64xf32>
  %t = tile.slice %A[%m] : !tile.global<?xf32> -> !tile.slice<64xf32>
  // expected-error @below {{expected i32, u32 or i64 because other minima, maxima and bits are not combined atomically, but 'A' has 'f32'}}
  %old = tile.atomic_fetch combine min %x, %t : tensor<64xf32>, !tile.slice<64xf32>
  tile.return
}

// -----

// atomic_fetch_c2: what is exchanged.
tile.kernel @exchange(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?xbf16> {program.argument = #program.tensor<"A", inout, dims[0]>}) {
  %x = arith.constant dense<0.0> : tensor<64xbf16>
  %t = tile.slice %A[%m] : !tile.global<?xbf16> -> !tile.slice<64xbf16>
  // expected-error @below {{expected f32, f64, i32, u32 or i64 because no other elements are exchanged atomically, but 'A' has 'bf16'}}
  %old = tile.atomic_fetch %x, %t : tensor<64xbf16>, !tile.slice<64xbf16>
  tile.return
}

// -----

// atomic_fetch_c2: what is compared.
tile.kernel @compare(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?xf32> {program.argument = #program.tensor<"A", inout, dims[0]>}) {
  %x = arith.constant dense<0.0> : tensor<64xf32>
  %t = tile.slice %A[%m] : !tile.global<?xf32> -> !tile.slice<64xf32>
  // expected-error @below {{expected i32, u32 or i64 because no other elements are compared and exchanged atomically, but 'A' has 'f32'}}
  %old = tile.atomic_fetch %x, %t if %x : tensor<64xf32> : tensor<64xf32>, !tile.slice<64xf32>
  tile.return
}

// -----

// atomic_fetch_c3
tile.kernel @both(
    %m: index {program.argument = #program.dimension<"m">},
    %A: !tile.global<?xi32> {program.argument = #program.tensor<"A", inout, dims[0]>}) {
  %x = arith.constant dense<0> : tensor<64xi32>
  %t = tile.slice %A[%m] : !tile.global<?xi32> -> !tile.slice<64xi32>
  // expected-error @below {{expected no numbers to compare with because the elements are combined whatever they are, but got both}}
  %old = tile.atomic_fetch combine add %x, %t if %x : tensor<64xi32> : tensor<64xi32>, !tile.slice<64xi32>
  tile.return
}

// -----

// atomic_fetch_c3: extents.
tile.kernel @expected(
    %m: index {program.argument = #program.dimension<"m">},
    %A: !tile.global<?xi32> {program.argument = #program.tensor<"A", inout, dims[0]>}) {
  %x = arith.constant dense<0> : tensor<64xi32>
  %y = arith.constant dense<0> : tensor<64x1xi32>
  %t = tile.slice %A[%m] : !tile.global<?xi32> -> !tile.slice<64xi32>
  // expected-error @below {{expected numbers to compare with like those that are written, but got 'tensor<64x1xi32>' and 'tensor<64xi32>'}}
  %old = tile.atomic_fetch %x, %t if %y : tensor<64x1xi32> : tensor<64xi32>, !tile.slice<64xi32>
  tile.return
}
