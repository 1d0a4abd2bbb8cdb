// RUN: not %tlc compile %s 2>&1 | FileCheck %s
// RUN: not %tlc compile %s --start-from simt 2>&1 | FileCheck %s --check-prefix=CLAIM
// RUN: echo 'module {' | not %tlc compile - 2>&1 | FileCheck %s --check-prefix=PARSE

// Errors come with line and column of the source, and with notes.

// PARSE: <stdin>:{{[0-9]+}}:{{[0-9]+}}: error: expected

// A file that claims to be further than it is.
// CLAIM: errors.mlir:{{.*}}: error: phase 'simt' promises no operation of the tile dialect, but here is 'tile.

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @narrow(%x: !tile.global<16x16xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1]>},
                    %y: !tile.global<16x16xf32> {program.argument = #program.tensor<"Y", output, dims[-1, -1]>}) {
  // CHECK: errors.mlir:[[#@LINE+9]]:{{[0-9]+}}: error: {{.*}}wgmma
  // CHECK: errors.mlir:[[#@LINE+1]]:3: note: required here
  tile.require wgmma
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<16x16xbf16>
  %from = tile.slice %x[%c0, %c0] : !tile.global<16x16xbf16> -> !tile.slice<16x16xbf16>
  tile.copy %from, %a : !tile.slice<16x16xbf16>, !tile.shared<16x16xbf16>
  %start = tile.splat %zero : f32 -> tensor<16x16xf32>
  %sum = tile.gemm %a, %a, %start : !tile.shared<16x16xbf16>, !tile.shared<16x16xbf16>, tensor<16x16xf32>
  %to = tile.slice %y[%c0, %c0] : !tile.global<16x16xf32> -> !tile.slice<16x16xf32>
  tile.store %sum, %to : tensor<16x16xf32>, !tile.slice<16x16xf32>
  tile.return
}
}
