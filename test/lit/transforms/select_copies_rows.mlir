// RUN: %tile-opt %s --tile-select-copies -verify-diagnostics | FileCheck %s

// Rows of a tile are filled by the TMA or by threads: these do not wait for it.
// CHECK-LABEL: tile.kernel @rows(
// CHECK:         tile.copy %{{.*}}, %{{.*}} atom simt
// CHECK:         tile.copy %{{.*}}, %{{.*}} atom simt
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @rows(%n: index {program.argument = #program.dimension<"n">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>},
    %B: !tile.global<?x64xbf16> {program.argument = #program.tensor<"B", input, dims[0, -1], alignment = 2>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %t = tile.alloc_shared "t" : !tile.shared<32x64xbf16>
  %upper = tile.rows %t[0] : !tile.shared<32x64xbf16> -> !tile.shared<16x64xbf16>
  %lower = tile.rows %t[16] : !tile.shared<32x64xbf16> -> !tile.shared<16x64xbf16>
  %a = tile.slice %A[%c0, %c0] : !tile.global<?x64xbf16> -> !tile.slice<16x64xbf16>
  // expected-remark-re @below {{[copy-without-tma] threads make this copy, not the TMA: threads make the copy to shared tile 't' at {{.*}}select_copies_rows.mlir:20:3 to other rows of the tile because 'B' is not known to be aligned to 16 bytes}}
  tile.copy %a, %upper : !tile.slice<16x64xbf16>, !tile.shared<16x64xbf16>
  %b = tile.slice %B[%c0, %c0] : !tile.global<?x64xbf16> -> !tile.slice<16x64xbf16>
  // expected-remark @below {{[copy-without-tma] threads make this copy, not the TMA: 'B' is not known to be aligned to 16 bytes}}
  tile.copy %b, %lower : !tile.slice<16x64xbf16>, !tile.shared<16x64xbf16>
  tile.return
}
}
