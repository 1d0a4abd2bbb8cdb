// RUN: %tile-opt %s -split-input-file -verify-diagnostics

// member_c1
tile.kernel @no_table(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<4xi64> {program.argument = #program.tensor<"X", input, dims[-1]>}) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected an argument of the kernel that holds addresses, but 'X' does not}}
  %x = tile.member %X[%c0] extents() strides() : !tile.global<4xi64> -> !tile.global<32xf32>
  tile.return
}

// -----

// member_c2: the element type.
tile.kernel @other_type(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<4xi64> {program.argument = #program.tensor<"X", input, dims[-1], members = <input, bf16, axes = 1, alignment = 2>>}) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected a tensor of 'bf16' with 1 axes because the members of 'X' are declared so, but got '!tile.global<32xf32>'}}
  %x = tile.member %X[%c0] extents() strides() : !tile.global<4xi64> -> !tile.global<32xf32>
  tile.return
}

// -----

// member_c2: the axes.
tile.kernel @other_axes(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<4xi64> {program.argument = #program.tensor<"X", input, dims[-1], members = <input, f32, axes = 2, alignment = 4>>}) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected a tensor of 'f32' with 2 axes because the members of 'X' are declared so, but got '!tile.global<32xf32>'}}
  %x = tile.member %X[%c0] extents() strides(%c0) : !tile.global<4xi64> -> !tile.global<32xf32>
  tile.return
}

// -----

// member_c3: extents.
tile.kernel @extents(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<4xi64> {program.argument = #program.tensor<"X", input, dims[-1], members = <input, f32, axes = 1, alignment = 4>>}) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected an extent for each of the 1 open axes of '!tile.global<?xf32>', but got 0}}
  %x = tile.member %X[%c0] extents() strides() : !tile.global<4xi64> -> !tile.global<?xf32>
  tile.return
}

// -----

// member_c3: strides.
tile.kernel @strides(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<4xi64> {program.argument = #program.tensor<"X", input, dims[-1], members = <input, f32, axes = 2, alignment = 4>>}) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected 1 strides because that of the last axis is 1, but got 0}}
  %x = tile.member %X[%c0] extents() strides() : !tile.global<4xi64> -> !tile.global<8x8xf32>
  tile.return
}

// -----

// slice_c3
tile.kernel @slice_of_table(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<4xi64> {program.argument = #program.tensor<"X", input, dims[-1], members = <input, f32, axes = 2, alignment = 4>>}) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected a member of 'X', which holds addresses}}
  %x = tile.slice %X[%c0] : !tile.global<4xi64> -> !tile.slice<1xi64>
  tile.return
}

// -----

// slice_c7: a member has no ranks.
tile.kernel @rank(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<4xi64> {program.argument = #program.tensor<"X", input, dims[-1], members = <input, f32, axes = 1, alignment = 4>>}) {
  %c0 = arith.constant 0 : index
  %x = tile.member %X[%c0] extents() strides() : !tile.global<4xi64> -> !tile.global<8xf32>
  // expected-error @below {{expected no rank because 'X' is this rank's alone; declare it symmetric}}
  %s = tile.slice %x of %c0[%c0] : !tile.global<8xf32> -> !tile.slice<8xf32>
  tile.return
}

// -----

// kernel_c2: addresses have 64 bits.
// expected-error @below {{expected 'X' to have elements of i64 because it holds addresses, but got 'i32'}}
tile.kernel @addresses(%X: !tile.global<4xi32> {program.argument = #program.tensor<"X", input, dims[-1], members = <input, f32, axes = 1, alignment = 4>>}) {
  tile.return
}
