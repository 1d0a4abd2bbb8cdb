// RUN: %tlc-opt %s -tile-to-simt -split-input-file -verify-diagnostics | FileCheck %s

#rows = #tile.layout<"reg(2@1:1) lane(2@1:2, 16@0:1) warp(4@0:16)">

// One piece of inline assembly for each register; numbers of 16 bits are integers in it.
// CHECK-LABEL: simt.kernel @functions(
// CHECK-COUNT-2: llvm.inline_asm asm_dialect = att "{ add.f32 $0, $1, $1; }", "=f,f" %{{.*}} : (f32) -> f32
// CHECK:         arith.bitcast %{{.*}} : bf16 to i16
// CHECK:         llvm.inline_asm asm_dialect = att "{ cvt.rn.bf16.f32 $0, $2; }", "=h,h,f" %{{.*}}, %{{.*}} : (i16, f32) -> i16
// CHECK-NEXT:    arith.bitcast %{{.*}} : i16 to bf16
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @functions(%x: f32 {program.argument = #program.scalar<"x">},
    %Y: !tile.global<64x4xbf16> {program.argument = #program.tensor<"Y", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %s = tile.splat %x : f32 -> tensor<64x4xf32, #rows>
  %h = tile.convert %s : tensor<64x4xf32, #rows> to tensor<64x4xbf16, #rows>
  %0 = tile.cuda "twice"(%s) {ptx = "{ add.f32 $0, $1, $1; }", source = ""} : (tensor<64x4xf32, #rows>) -> tensor<64x4xf32, #rows>
  %1 = tile.cuda "second"(%h, %0) {ptx = "{ cvt.rn.bf16.f32 $0, $2; }", source = ""} : (tensor<64x4xbf16, #rows>, tensor<64x4xf32, #rows>) -> tensor<64x4xbf16, #rows>
  %c0 = arith.constant 0 : index
  %y = tile.slice %Y[%c0, %c0] : !tile.global<64x4xbf16> -> !tile.slice<64x4xbf16>
  tile.store %1, %y atom simt : tensor<64x4xbf16, #rows>, !tile.slice<64x4xbf16>
  tile.return
}
}

// -----

#rows = #tile.layout<"reg(2@1:1) lane(2@1:2, 16@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @not_compiled(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4>} {
  %s = tile.splat %x : f32 -> tensor<64x4xf32, #rows>
  // expected-error @below {{expected 'twice' to be compiled, but it is not; run 'tile-compile-cuda' before 'tile-to-simt'}}
  %0 = tile.cuda "twice"(%s) {source = "float twice(float x) { return x + x; }"} : (tensor<64x4xf32, #rows>) -> tensor<64x4xf32, #rows>
  tile.return
}
}
