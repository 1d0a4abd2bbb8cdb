// RUN: %tlc-opt %s --pass-pipeline="builtin.module(simt.kernel(simt-prune-alignment))" | FileCheck %s

// The launcher is asked for what instructions rely on: tensor maps, and accesses and copies of several elements.
module attributes {program.target = #program.target<"sm_90a">} {

// CHECK-LABEL: simt.kernel @traced(
// CHECK-SAME: #program.tensor<"map", input, dims[0, -1], alignment = 16>
// CHECK-SAME: #program.tensor<"wide", input, dims[0, -1], alignment = 16>
// CHECK-SAME: #program.tensor<"narrow", output, dims[0, -1]>
// CHECK-SAME: #program.tensor<"sums", inout, dims[0, -1], alignment = 16>
simt.kernel @traced(
    %map: !llvm.ptr {program.parameter = #program.parameter<tensor_map, 0>},
    %wide: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 1>},
    %narrow: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 2>},
    %sums: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 3>},
    %n: i32 {program.parameter = #program.parameter<dimension, 0>})
    attributes {launch = #program.launch<warps = 1>,
      schema = [#program.dimension<"n">, #program.tensor<"map", input, dims[0, -1], alignment = 16>,
                #program.tensor<"wide", input, dims[0, -1], alignment = 16>,
                #program.tensor<"narrow", output, dims[0, -1], alignment = 16>,
                #program.tensor<"sums", inout, dims[0, -1], alignment = 16>],
      schema_types = [index, tensor<?x64xbf16>, tensor<?x64xbf16>, tensor<?x64xbf16>, tensor<?x64xf32>],
      grid = [#program.host_expr<"1">], tensor_maps = [#program.tensor_map<0, box[64, 64], bytes128>]} {
  %at = llvm.getelementptr %wide[%n] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, bf16
  %v = simt.load %at : !llvm.ptr<1> -> vector<8xbf16>
  %e = vector.extract %v[0] : bf16 from vector<8xbf16>
  simt.store %e, %narrow : bf16, !llvm.ptr<1>
  %zeros = arith.constant dense<0.0> : vector<2xf32>
  simt.atomic addf %zeros, %sums : vector<2xf32>, !llvm.ptr<1>
  simt.return
}

// CHECK-LABEL: simt.kernel @copied(
// CHECK-SAME: #program.tensor<"a", input, dims[0], alignment = 16>
simt.kernel @copied(%a: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 1, shared_bytes = 1024>,
      schema = [#program.dimension<"n">, #program.tensor<"a", input, dims[0], alignment = 16>],
      schema_types = [index, tensor<?xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %to = simt.shared_base
  simt.copy_async %a to %to bytes(16)
  simt.return
}

// An address that cannot be followed may be of any tensor.
// CHECK-LABEL: simt.kernel @chosen(
// CHECK-SAME: #program.tensor<"a", input, dims[0], alignment = 16>
// CHECK-SAME: #program.tensor<"b", input, dims[0], alignment = 16>
simt.kernel @chosen(
    %a: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>},
    %b: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 1>},
    %n: i32 {program.parameter = #program.parameter<dimension, 0>})
    attributes {launch = #program.launch<warps = 1>,
      schema = [#program.dimension<"n">, #program.tensor<"a", input, dims[0], alignment = 16>,
                #program.tensor<"b", input, dims[0], alignment = 16>],
      schema_types = [index, tensor<?xf32>, tensor<?xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %zero = arith.constant 0 : i32
  %first = arith.cmpi eq, %n, %zero : i32
  %p = arith.select %first, %a, %b : !llvm.ptr<1>
  %v = simt.load %p : !llvm.ptr<1> -> vector<4xf32>
  simt.store %v, %a : vector<4xf32>, !llvm.ptr<1>
  simt.return
}
}
