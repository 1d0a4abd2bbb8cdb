// RUN: %tlc-opt %s --simt-to-nvvm | FileCheck %s

module attributes {program.target = #program.target<"sm_90a">} {

// CHECK-LABEL: llvm.func @one_warp(
simt.kernel @one_warp() attributes {launch = #program.launch<warps = 1, shared_bytes = 1024>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  %base = simt.shared_base
  // CHECK: nvvm.ldmatrix %{{.*}} {{.*}}layout = #nvvm.mma_layout<row>, num = 4 : i32{{.*}} -> !llvm.struct<(i32, i32, i32, i32)>
  %a = simt.ldmatrix %base : vector<4xi32>
  // CHECK: nvvm.ldmatrix %{{.*}} {{.*}}layout = #nvvm.mma_layout<col>, num = 2 : i32{{.*}} -> !llvm.struct<(i32, i32)>
  %b = simt.ldmatrix %base transpose : vector<2xi32>
  %zero = arith.constant dense<0.0> : vector<4xf32>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.bf16"
  // CHECK-SAME: (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  %c = simt.mma_sync %zero, %a, %b {a_element = bf16, b_element = bf16} : vector<4xf32>, vector<4xi32>, vector<2xi32>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
  // CHECK-SAME: (vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, f32, f32, f32, f32)
  %d = simt.mma_sync %c, %a, %b {a_element = f16, b_element = f16} : vector<4xf32>, vector<4xi32>, vector<2xi32>
  %bits = vector.bitcast %d : vector<4xf32> to vector<4xi32>
  // CHECK: nvvm.stmatrix %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {{.*}}layout = #nvvm.mma_layout<col>
  simt.stmatrix %bits, %base transpose : vector<4xi32>
  simt.return
}

// f32 is read as tf32.
// CHECK-LABEL: llvm.func @tf32(
simt.kernel @tf32() attributes {launch = #program.launch<warps = 1, shared_bytes = 1024>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  %base = simt.shared_base
  %a = simt.ldmatrix %base : vector<4xi32>
  %b = simt.ldmatrix %base : vector<2xi32>
  %zero = arith.constant dense<0.0> : vector<4xf32>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k8.row.col.tf32"(
  // CHECK-SAME: (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  %c = simt.mma_sync %zero, %a, %b {a_element = f32, b_element = f32} : vector<4xf32>, vector<4xi32>, vector<2xi32>
  %words = vector.bitcast %c : vector<4xf32> to vector<4xi32>
  simt.stmatrix %words, %base : vector<4xi32>
  simt.return
}

// Floats of 8 bits.
// CHECK-LABEL: llvm.func @floats(
simt.kernel @floats() attributes {launch = #program.launch<warps = 1, shared_bytes = 1024>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  %base = simt.shared_base
  %a = simt.ldmatrix %base : vector<4xi32>
  %b = simt.ldmatrix %base : vector<2xi32>
  %zero = arith.constant dense<0.0> : vector<4xf32>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.f32.e4m3.e4m3.f32"(
  // CHECK-SAME: (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  %c = simt.mma_sync %zero, %a, %b {a_element = f8E4M3FN, b_element = f8E4M3FN} : vector<4xf32>, vector<4xi32>, vector<2xi32>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.f32.e5m2.e4m3.f32"(
  %d = simt.mma_sync %c, %a, %b {a_element = f8E5M2, b_element = f8E4M3FN} : vector<4xf32>, vector<4xi32>, vector<2xi32>
  %words = vector.bitcast %d : vector<4xf32> to vector<4xi32>
  simt.stmatrix %words, %base : vector<4xi32>
  simt.return
}

// Integers of 8 bits, with sums that wrap around.
// CHECK-LABEL: llvm.func @integers(
simt.kernel @integers() attributes {launch = #program.launch<warps = 1, shared_bytes = 1024>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  %base = simt.shared_base
  %a = simt.ldmatrix %base : vector<4xi32>
  %b = simt.ldmatrix %base : vector<2xi32>
  %zero = arith.constant dense<0> : vector<4xi32>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.s8"(
  // CHECK-SAME: (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
  %c = simt.mma_sync %zero, %a, %b {a_element = i8, b_element = i8} : vector<4xi32>, vector<4xi32>, vector<2xi32>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.s8.u8"(
  %d = simt.mma_sync %c, %a, %b {a_element = i8, b_element = ui8} : vector<4xi32>, vector<4xi32>, vector<2xi32>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.u8.s8"(
  %e = simt.mma_sync %d, %a, %b {a_element = ui8, b_element = i8} : vector<4xi32>, vector<4xi32>, vector<2xi32>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.u8"(
  %f = simt.mma_sync %e, %a, %b {a_element = ui8, b_element = ui8} : vector<4xi32>, vector<4xi32>, vector<2xi32>
  simt.stmatrix %f, %base : vector<4xi32>
  simt.return
}

// CHECK-LABEL: llvm.func @bytes(
simt.kernel @bytes() attributes {launch = #program.launch<warps = 1, shared_bytes = 1024>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  %base = simt.shared_base
  %even = arith.constant 0x6420 : i32
  %words = simt.ldmatrix %base transpose : vector<2xi32>
  %low = vector.extract %words[0] : i32 from vector<2xi32>
  %high = vector.extract %words[1] : i32 from vector<2xi32>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.prmt"(%{{.*}}, %{{.*}}, %{{.*}}) : (i32, i32, i32) -> i32
  // CHECK: nvvm.stmatrix
  %bytes = simt.permute_bytes %low, %high, %even
  %stored = vector.from_elements %bytes : vector<1xi32>
  simt.stmatrix %stored, %base : vector<1xi32>
  simt.return
}

// The constant fields of a descriptor: swizzle 128B, stride 1024, leading 16, in units of 16 bytes.
// CHECK-LABEL: llvm.func @descriptor(
simt.kernel @descriptor(%out: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 1, shared_bytes = 1024>, schema = [#program.tensor<"X", output, dims[-1]>],
      schema_types = [tensor<4xi64>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %base = simt.shared_base
  // CHECK: %[[ADDRESS:.*]] = llvm.ptrtoint %{{.*}} : !llvm.ptr<3> to i32
  // CHECK: %[[UNITS:.*]] = llvm.lshr %[[ADDRESS]]
  // CHECK: %[[START:.*]] = llvm.and %[[UNITS]]
  // CHECK: %[[WIDE:.*]] = llvm.zext %[[START]] : i32 to i64
  // CHECK: %[[FIELDS:.*]] = llvm.mlir.constant(4611686293305360384 : i64) : i64
  // CHECK: llvm.or disjoint %[[WIDE]], %[[FIELDS]] : i64
  %d = simt.matrix_descriptor %base leading(16) stride(1024) swizzle bytes128
  simt.store %d, %out : i64, !llvm.ptr<1>
  simt.return
}
}
