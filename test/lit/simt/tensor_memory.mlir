// RUN: %simt-opt %s | %simt-opt | FileCheck %s
// RUN: %simt-opt %s --mlir-print-op-generic | %simt-opt | FileCheck %s

module attributes {program.target = #program.target<"sm_100a">} {

// CHECK-LABEL: simt.kernel @tcgen05(
simt.kernel @tcgen05(%d: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
    %n: i32 {program.parameter = #program.parameter<dimension, 0>},
    %out: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.dimension<"n">, #program.tensor<"X", output, dims[0, -1]>],
      schema_types = [index, tensor<?x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %base = simt.shared_base
  %true = arith.constant true
  // CHECK: simt.tcgen05_alloc 64 to %[[BASE:.*]]
  simt.tcgen05_alloc 64 to %base
  // CHECK: simt.tcgen05_fence{{$}}
  simt.tcgen05_fence
  // CHECK: simt.tcgen05_fence after
  simt.tcgen05_fence after
  // CHECK: %[[LOADED:.*]] = simt.tcgen05_load %[[N:.*]] : vector<32xi32>
  %loaded = simt.tcgen05_load %n : vector<32xi32>
  // CHECK: %[[VALUES:.*]] = simt.tcgen05_wait_load %[[LOADED]] : vector<32xi32>
  %values = simt.tcgen05_wait_load %loaded : vector<32xi32>
  // CHECK: simt.tcgen05_store %[[VALUES]] to %[[N]] : vector<32xi32>
  simt.tcgen05_store %values to %n : vector<32xi32>
  // CHECK: simt.tcgen05_wait_store
  simt.tcgen05_wait_store
  // CHECK: %[[B:.*]] = simt.tcgen05_descriptor %[[BASE]] leading(16) stride(1024) swizzle bytes128
  %b = simt.tcgen05_descriptor %base leading(16) stride(1024) swizzle bytes128
  // CHECK: simt.tcgen05_mma %[[N]], %[[B]], %[[B]] if %true {a_element = bf16, b_element = bf16, m = 128 : i64, n = 64 : i64, transpose_a} : i64
  simt.tcgen05_mma %n, %b, %b if %true {a_element = bf16, b_element = bf16, m = 128 : i64, n = 64 : i64, transpose_a} : i64
  // CHECK: simt.tcgen05_mma %[[N]], %[[N]], %[[B]] if %true {a_element = f16, b_element = f16, m = 128 : i64, n = 16 : i64, transpose_b} : i32
  simt.tcgen05_mma %n, %n, %b if %true {a_element = f16, b_element = f16, m = 128 : i64, n = 16 : i64, transpose_b} : i32
  // CHECK: simt.tcgen05_commit %[[BASE]]
  simt.tcgen05_commit %base
  // CHECK: simt.tcgen05_dealloc 64 at %[[N]]
  simt.tcgen05_dealloc 64 at %n
  simt.return
}
}
