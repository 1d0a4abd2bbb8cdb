// RUN: %tile-opt %s | %tile-opt | FileCheck %s
// RUN: %tile-opt %s --mlir-print-op-generic | %tile-opt | FileCheck %s

// CHECK-LABEL: tile.kernel @members(
// CHECK-SAME:    #program.tensor<"X", input, dims[0], members = <input, bf16, axes = 2, alignment = 16>>
// CHECK-SAME:    #program.tensor<"Y", input, dims[-1], members = <output, f32, axes = 1, alignment = 4>>
tile.kernel @members(%g: index {program.argument = #program.dimension<"g">},
    %X: !tile.global<?xi64> {program.argument = #program.tensor<"X", input, dims[0], members = <input, bf16, axes = 2, alignment = 16>>},
    %Y: !tile.global<3xi64> {program.argument = #program.tensor<"Y", input, dims[-1], members = <output, f32, axes = 1, alignment = 4>>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[A:.*]] = tile.member %X[%{{.*}}] extents(%g, %g) strides(%{{.*}}) : !tile.global<?xi64> -> !tile.global<?x?xbf16>
  %a = tile.member %X[%c1] extents(%g, %g) strides(%c1) : !tile.global<?xi64> -> !tile.global<?x?xbf16>
  // CHECK: tile.slice %[[A]][%{{.*}}, %{{.*}}] : !tile.global<?x?xbf16> -> !tile.slice<32x16xbf16>
  %s = tile.slice %a[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<32x16xbf16>
  // CHECK: tile.member %X[%{{.*}}] extents(%g) strides(%{{.*}}) : !tile.global<?xi64> -> !tile.global<?x64xbf16>
  %b = tile.member %X[%c0] extents(%g) strides(%c1) : !tile.global<?xi64> -> !tile.global<?x64xbf16>
  // CHECK: tile.member %Y[%{{.*}}] extents() strides() : !tile.global<3xi64> -> !tile.global<32xf32>
  %y = tile.member %Y[%c1] extents() strides() : !tile.global<3xi64> -> !tile.global<32xf32>
  %t = tile.slice %b[%c0, %c0] : !tile.global<?x64xbf16> -> !tile.slice<32x16xbf16>
  %u = tile.slice %y[%c0] : !tile.global<32xf32> -> !tile.slice<32xf32>
  tile.return
}
