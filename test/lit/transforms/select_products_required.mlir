// RUN: %tile-opt %s --tile-select-products -split-input-file -verify-diagnostics

// A requirement makes an error of the remark.
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @required(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 0], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  %sa = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
  tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
  %sb = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x128xbf16>
  tile.copy %sb, %b : !tile.slice<64x128xbf16>, !tile.shared<64x128xbf16>
  %za = tile.splat %f0 : f32 -> tensor<128x128xf32>
  // expected-note @below {{required here}}
  tile.require tcgen05
  %x = tile.alloc_barrier "x" count(1)
  // expected-error @below {{product uses mma.sync, not tcgen05: the kernel synchronises by hand}}
  %ra = tile.gemm %a, %b, %za : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, tensor<128x128xf32>
  tile.return
}
}

// -----

// No other target has the instruction.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @required_elsewhere(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 0], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  %sa = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
  tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
  %sb = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x128xbf16>
  tile.copy %sb, %b : !tile.slice<64x128xbf16>, !tile.shared<64x128xbf16>
  %za = tile.splat %f0 : f32 -> tensor<128x128xf32>
  // expected-error @below {{products of tcgen05 are required, which sm_90a does not have}}
  tile.require tcgen05
  %ra = tile.gemm %a, %b, %za : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, tensor<128x128xf32>
  tile.return
}
}

// -----

// And this one does not have that of Hopper.
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @other_required(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 0], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  %sa = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
  tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
  %sb = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x128xbf16>
  tile.copy %sb, %b : !tile.slice<64x128xbf16>, !tile.shared<64x128xbf16>
  %za = tile.splat %f0 : f32 -> tensor<128x128xf32>
  // expected-error @below {{products of wgmma are required, which sm_100a does not have}}
  tile.require wgmma
  %ra = tile.gemm %a, %b, %za : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, tensor<128x128xf32>
  tile.return
}
}
