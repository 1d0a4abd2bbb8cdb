// RUN: %tlc-opt %s -split-input-file -tile-to-simt -verify-diagnostics

// multimem accesses 4 bytes at least: an element of 16 bits needs a neighbour.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @alone(
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<128xbf16> {program.argument = #program.tensor<"X", inout, dims[-1], symmetric = true>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %x = tile.slice %X of_all[%c0] : !tile.global<128xbf16> -> !tile.slice<128xbf16>
  // expected-error @below {{expected pairs of elements of 'X' because multimem accesses 4 bytes at least, but they are not known to be adjacent and aligned; declare the tensor with .alignment = 16, and use boxes whose last position and extent are even}}
  %v = tile.load combine add %x : !tile.slice<128xbf16> -> tensor<128xbf16, #tile.layout<"reg() lane(32@0:1) warp(4@0:32)">>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @half(%n: index {program.argument = #program.dimension<"n">},
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<?xf16> {program.argument = #program.tensor<"X", inout, dims[0], alignment = 16, symmetric = true>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %v = arith.constant dense<1.0> : tensor<256xf16, #tile.layout<"reg(2@0:1) lane(32@0:2) warp(4@0:64)">>
  %x = tile.slice %X of_all[%c0] : !tile.global<?xf16> -> !tile.slice<256xf16>
  // expected-error @below {{expected pairs of elements of 'X' because multimem accesses 4 bytes at least, but the tensor may end inside of a pair; give its last extent a multiple, as in k.dim("n", {.multipleOf = 8})}}
  tile.store %v, %x : tensor<256xf16, #tile.layout<"reg(2@0:1) lane(32@0:2) warp(4@0:64)">>, !tile.slice<256xf16>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @limited(%n: index {program.argument = #program.dimension<"n">},
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<1024xf16> {program.argument = #program.tensor<"X", inout, dims[-1], alignment = 16, symmetric = true>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %v = arith.constant dense<1.0> : tensor<256xf16, #tile.layout<"reg(2@0:1) lane(32@0:2) warp(4@0:64)">>
  %x = tile.slice %X of_all[%c0] limit %n along 0 : !tile.global<1024xf16> -> !tile.slice<256xf16>
  // expected-error @below {{expected pairs of elements of 'X' because multimem accesses 4 bytes at least, but the limit of the slice may be inside of a pair; give it a multiple of 2}}
  tile.store %v, %x : tensor<256xf16, #tile.layout<"reg(2@0:1) lane(32@0:2) warp(4@0:64)">>, !tile.slice<256xf16>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @strided(%n: index {program.argument = #program.dimension<"n">},
    // expected-note @below {{'X' is declared here}}
    %X: !tile.global<1024xf16> {program.argument = #program.tensor<"X", inout, dims[-1], alignment = 16, symmetric = true, strided = true>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %v = arith.constant dense<1.0> : tensor<256xf16, #tile.layout<"reg(2@0:1) lane(32@0:2) warp(4@0:64)">>
  %x = tile.slice %X of_all[%c0] : !tile.global<1024xf16> -> !tile.slice<256xf16>
  // expected-error @below {{expected pairs of elements of 'X' because multimem accesses 4 bytes at least, but the tensor may have any stride; declare it with LastStride::one}}
  tile.store %v, %x : tensor<256xf16, #tile.layout<"reg(2@0:1) lane(32@0:2) warp(4@0:64)">>, !tile.slice<256xf16>
  tile.return
}
}
