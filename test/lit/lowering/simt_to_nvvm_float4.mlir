// RUN: %tlc-opt %s -simt-to-nvvm | FileCheck %s

module attributes {program.target = #program.target<"sm_100a">} {
// The instruction puts two codes into a byte; registers have each in a byte of its own.
// CHECK-LABEL: llvm.func @codes(
// CHECK:         %[[CODES:.*]] = llvm.call_intrinsic "llvm.nvvm.ff.to.e2m1x2.rn.satfinite"(%{{.*}}, %{{.*}}) : (f32, f32) -> i16
// CHECK:         %[[UP:.*]] = llvm.shl %[[CODES]], %{{.*}} : i16
// CHECK:         %[[BOTH:.*]] = llvm.or %[[CODES]], %[[UP]] : i16
// CHECK:         llvm.and %[[BOTH]], %{{.*}} : i16
// CHECK:         llvm.lshr
// CHECK:         llvm.call_intrinsic "llvm.nvvm.e2m1x2.to.f16x2.rn"(%{{.*}}) : (i16) -> vector<2xf16>
simt.kernel @codes(%x: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 1>, schema = [#program.tensor<"X", inout, dims[-1]>],
      schema_types = [tensor<64xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %v = simt.load %x : !llvm.ptr<1> -> vector<2xf32>
  %codes = simt.encode %v as f4E2M1FN : vector<2xf32> -> vector<2xi8>
  %w = simt.decode %codes as f4E2M1FN : vector<2xi8> -> vector<2xf32>
  simt.store %w, %x : vector<2xf32>, !llvm.ptr<1>
  simt.return
}
}
