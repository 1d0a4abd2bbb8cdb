// RUN: %tile-opt %s -split-input-file -verify-diagnostics

// announce_c1: one element.
tile.kernel @several(
    // expected-note @below {{'C' is declared here}}
    %C: !tile.global<8xi32> {program.argument = #program.tensor<"C", inout, dims[-1]>}) {
  %c0 = arith.constant 0 : index
  %count = tile.slice %C[%c0] : !tile.global<8xi32> -> !tile.slice<2xi32>
  // expected-error @below {{expected one element of i32 because that is what is counted, but 'C' has 2 of 'i32'}}
  tile.announce %count by %c0 : !tile.slice<2xi32>
  tile.return
}

// -----

// wait_for_c1: of i32.
tile.kernel @floats(
    // expected-note @below {{'C' is declared here}}
    %C: !tile.global<8xf32> {program.argument = #program.tensor<"C", inout, dims[-1]>}) {
  %c0 = arith.constant 0 : index
  %count = tile.slice %C[%c0] : !tile.global<8xf32> -> !tile.slice<1xf32>
  // expected-error @below {{expected one element of i32 because that is what is counted, but 'C' has 1 of 'f32'}}
  tile.wait_for %count at_least %c0 : !tile.slice<1xf32>
  tile.return
}

// -----

// wait_for_c2
tile.kernel @no_time(
    %C: !tile.global<8xi32> {program.argument = #program.tensor<"C", inout, dims[-1]>}) {
  %c0 = arith.constant 0 : index
  %count = tile.slice %C[%c0] : !tile.global<8xi32> -> !tile.slice<1xi32>
  // expected-error @below {{expected a positive limit in nanoseconds, but got 0}}
  tile.wait_for %count at_least %c0 within 0 ns : !tile.slice<1xi32>
  tile.return
}

// -----

// take_c1
tile.kernel @take_floats(
    // expected-note @below {{'C' is declared here}}
    %C: !tile.global<8xf32> {program.argument = #program.tensor<"C", inout, dims[-1]>}) {
  %c0 = arith.constant 0 : index
  %tile = tile.alloc_shared "taken" : !tile.shared<1xi32>
  %count = tile.slice %C[%c0] : !tile.global<8xf32> -> !tile.slice<1xf32>
  // expected-error @below {{expected one element of i32 because that is what is counted, but 'C' has 1 of 'f32'}}
  tile.take %count, %tile[%c0] : !tile.slice<1xf32>, !tile.shared<1xi32>
  tile.return
}

// -----

// take_c2: where the number goes.
tile.kernel @nowhere(
    %C: !tile.global<8xi32> {program.argument = #program.tensor<"C", inout, dims[-1]>}) {
  %c0 = arith.constant 0 : index
  // expected-note @below {{'taken' is declared here}}
  %tile = tile.alloc_shared "taken" : !tile.shared<4x4xi32>
  %count = tile.slice %C[%c0] : !tile.global<8xi32> -> !tile.slice<1xi32>
  // expected-error @below {{expected a tile of i32 and a position along each of its axes because the number is written there, but 'taken' has 4x4 of 'i32', and there are 1 positions}}
  tile.take %count, %tile[%c0] : !tile.slice<1xi32>, !tile.shared<4x4xi32>
  tile.return
}

// -----

// take_c2: a tile of another type.
tile.kernel @floats_there(
    %C: !tile.global<8xi32> {program.argument = #program.tensor<"C", inout, dims[-1]>}) {
  %c0 = arith.constant 0 : index
  // expected-note @below {{'taken' is declared here}}
  %tile = tile.alloc_shared "taken" : !tile.shared<4xf32>
  %count = tile.slice %C[%c0] : !tile.global<8xi32> -> !tile.slice<1xi32>
  // expected-error @below {{expected a tile of i32 and a position along each of its axes because the number is written there, but 'taken' has 4 of 'f32', and there are 1 positions}}
  tile.take %count, %tile[%c0] : !tile.slice<1xi32>, !tile.shared<4xf32>
  tile.return
}

// -----

// next_block_c1
tile.kernel @next_nowhere() {
  %c0 = arith.constant 0 : index
  // expected-note @below {{'next_tile' is declared here}}
  %tile = tile.alloc_shared "next_tile" : !tile.shared<4xf32>
  %response = tile.alloc_response "response"
  // expected-error @below {{expected a tile of i32 and a position along each of its axes because the number is written there, but 'next_tile' has 4 of 'f32', and there are 1 positions}}
  tile.next_block %c0, %c0 by %response, %tile[%c0] : !tile.shared<4xf32>
  tile.return
}

// -----

// alloc_response_c1
tile.kernel @unaligned_response() {
  // expected-error @below {{expected an offset that is a multiple of 16 because a response is written to aligned bytes, but got 8}}
  %response = tile.alloc_response "response" at 8
  tile.return
}
