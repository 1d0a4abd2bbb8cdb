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
