// RUN: %tlc-opt %s -tile-to-simt --canonicalize | FileCheck %s

// A constant position before a tensor is outside, however large the tensor is: nothing is loaded there.
// CHECK-LABEL: simt.kernel @before(
// CHECK-NOT:     simt.load
// CHECK:         simt.return
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @before(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?xi32> {program.argument = #program.tensor<"X", input, dims[0]>})
    attributes {warps = 4 : i64} {
  %before = arith.constant -1 : index
  %x = tile.slice %X[%before] : !tile.global<?xi32> -> !tile.slice<1xi32>
  %position = tile.load_index %x[] : !tile.slice<1xi32>
  tile.return
}
}
