// RUN: %tlc compile %s --emit ptx -o - | FileCheck %s

// Two numbers of 4 bits of each word become a pair of bf16 and, as they are, a part of the left factor: nothing packs,
// unpacks, chooses or moves elements between the words and the product.
// CHECK-LABEL: .entry pairs(
// CHECK:       ldmatrix
// CHECK-NOT:   {{prmt|selp|shfl|mov.b32 .*{|cvt.rn|st.shared}}
// CHECK:       add.bf16x2
// CHECK-NOT:   {{prmt|selp|shfl|mov.b32 .*{|cvt.rn|st.shared}}
// CHECK:       wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @pairs(%W: !tile.global<64x16xui32> {program.argument = #program.tensor<"W", input, dims[-1, -1], alignment = 16>},
    %B: !tile.global<32x64xbf16> {program.argument = #program.tensor<"B", input, dims[-1, -1], alignment = 16>},
    %O: !tile.global<64x64xf32> {program.argument = #program.tensor<"O", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %bits = arith.constant dense<983055> : tensor<64x16xi32>
  %exponents = arith.constant dense<1124090624> : tensor<64x16xi32>
  %offset = arith.constant dense<128.0> : tensor<64x32xbf16>
  %w = tile.alloc_shared "w" : !tile.shared<64x16xui32>
  %b = tile.alloc_shared "b" : !tile.shared<32x64xbf16>
  %sw = tile.slice %W[%c0, %c0] : !tile.global<64x16xui32> -> !tile.slice<64x16xui32>
  %sb = tile.slice %B[%c0, %c0] : !tile.global<32x64xbf16> -> !tile.slice<32x64xbf16>
  tile.copy %sw, %w : !tile.slice<64x16xui32>, !tile.shared<64x16xui32>
  tile.copy %sb, %b : !tile.slice<32x64xbf16>, !tile.shared<32x64xbf16>
  %x = tile.load %w : !tile.shared<64x16xui32> -> tensor<64x16xui32>
  %words = tile.convert %x : tensor<64x16xui32> to tensor<64x16xi32>
  %0 = arith.andi %words, %bits : tensor<64x16xi32>
  %1 = arith.ori %0, %exponents : tensor<64x16xi32>
  %2 = tile.reshape %1 : tensor<64x16xi32> -> tensor<64x32xbf16>
  %3 = arith.subf %2, %offset : tensor<64x32xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = tile.gemm %3, %b, %zero : tensor<64x32xbf16>, !tile.shared<32x64xbf16>, tensor<64x64xf32>
  %o = tile.slice %O[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %sum, %o : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}
}
