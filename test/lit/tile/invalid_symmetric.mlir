// RUN: %tile-opt %s -split-input-file -verify-diagnostics

// slice_c7
tile.kernel @no_rank(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<64xf32> {program.argument = #program.tensor<"X", input, dims[-1], symmetric = true>}) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected a rank because each has a tensor 'X' of its own}}
  %x = tile.slice %X[%c0] : !tile.global<64xf32> -> !tile.slice<32xf32>
  tile.return
}

// -----

tile.kernel @rank_of_one(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<64xf32> {program.argument = #program.tensor<"X", input, dims[-1]>}) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected no rank because 'X' is this rank's alone; declare it symmetric}}
  %x = tile.slice %X of %c0[%c0] : !tile.global<64xf32> -> !tile.slice<32xf32>
  tile.return
}

// -----

// copy_reduce_c4
tile.kernel @reduce(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1], symmetric = true>}) {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" : !tile.shared<64x64xf32>
  %x = tile.slice %X of %c0[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  // expected-error @below {{expected a tensor of this device alone because what the TMA combines is not atomic for others, but 'X' is symmetric; combine a fragment with it}}
  tile.copy_reduce add %p, %x : !tile.shared<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}

// -----

// slice_c7
tile.kernel @one_and_all(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1], symmetric = true>}) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected a rank of 'X' or all of them, but got both}}
  %x = tile.slice %X of %c0 of_all[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<32x32xf32>
  tile.return
}

// -----

tile.kernel @all_of_one(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1], symmetric = false>}) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected a slice of one tensor because 'X' is this rank's alone; declare it symmetric}}
  %x = tile.slice %X of_all[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<32x32xf32>
  tile.return
}

// -----

// slice_c9
tile.kernel @bytes_of_all(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<64x64xf8E4M3FN> {program.argument = #program.tensor<"X", inout, dims[-1, -1], symmetric = true>}) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected elements of 16, 32 or 64 bits because multimem accesses no others, but 'X' has 'f8E4M3FN'}}
  %x = tile.slice %X of_all[%c0, %c0] : !tile.global<64x64xf8E4M3FN> -> !tile.slice<32x32xf8E4M3FN>
  tile.return
}

// -----

tile.kernel @hint_of_all(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1], symmetric = true>}) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected no hint for L2 because multimem takes none, but the slice of 'X' on all ranks has one}}
  %x = tile.slice %X of_all[%c0, %c0] evict first : !tile.global<64x64xf32> -> !tile.slice<32x32xf32>
  tile.return
}

// -----

tile.kernel @copy_of_all(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1], symmetric = true>}) {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" : !tile.shared<32x32xf32>
  %x = tile.slice %X of_all[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<32x32xf32>
  // expected-error @below {{expected a copy from or to a fragment, an atomic operation without an old value, or announce because multimem has no others, but this is another access of 'X' on all ranks; access it by way of a fragment, or one rank's by .of(rank)}}
  tile.copy %p, %x : !tile.shared<32x32xf32>, !tile.slice<32x32xf32>
  tile.return
}

// -----

// load_c3
tile.kernel @load_without_kind(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1], symmetric = true>}) {
  %c0 = arith.constant 0 : index
  %x = tile.slice %X of_all[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<32x32xf32>
  // expected-error @below {{expected a kind because the elements of all ranks become one, but 'X' on all ranks is only copied; use loadSum, loadMin, loadMax, loadAnd, loadOr or loadXor}}
  %v = tile.load %x : !tile.slice<32x32xf32> -> tensor<32x32xf32>
  tile.return
}

// -----

tile.kernel @sum_of_one(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1], symmetric = true>}) {
  %c0 = arith.constant 0 : index
  %x = tile.slice %X of %c0[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<32x32xf32>
  // expected-error @below {{expected a slice of all ranks' tensors to combine them, but this one is of 'X' alone; take it with .ofAll()}}
  %v = tile.load combine add %x : !tile.slice<32x32xf32> -> tensor<32x32xf32>
  tile.return
}

// -----

tile.kernel @sum_of_an_ordinary_one(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<32x32xf32>
  // expected-error @below {{expected a slice of all ranks' tensors to combine them, but this one is of 'X' alone; declare it symmetric}}
  %v = tile.load combine add %x : !tile.slice<32x32xf32> -> tensor<32x32xf32>
  tile.return
}

// -----

// load_c4
tile.kernel @max_of_floats(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1], symmetric = true>}) {
  %c0 = arith.constant 0 : index
  %x = tile.slice %X of_all[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<32x32xf32>
  // expected-error @below {{expected f16, bf16, i32, u32 or i64 because multimem combines no others so, but 'X' has 'f32'; load one rank's after the other and combine the fragments}}
  %v = tile.load combine max %x : !tile.slice<32x32xf32> -> tensor<32x32xf32>
  tile.return
}

// -----

tile.kernel @bits_of_floats(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1], symmetric = true>}) {
  %c0 = arith.constant 0 : index
  %x = tile.slice %X of_all[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<32x32xbf16>
  // expected-error @below {{expected i32, u32 or i64 because multimem combines no others so, but 'X' has 'bf16'; load one rank's after the other and combine the fragments}}
  %v = tile.load combine bit_xor %x : !tile.slice<32x32xbf16> -> tensor<32x32xbf16>
  tile.return
}
