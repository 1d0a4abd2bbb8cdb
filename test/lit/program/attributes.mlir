// RUN: %tile-opt %s | %tile-opt | FileCheck %s
// RUN: %simt-opt %s | %simt-opt | FileCheck %s

// CHECK: module attributes {
// CHECK-SAME: program.target = #program.target<"sm_90a">
// CHECK-SAME: t.a = #program.host_expr<"d0 128 ceildiv d1 256 ceildiv mul sms min">
// CHECK-SAME: t.b = #program.host_expr<"d2 -1 add 3 div d0 rem d1 max 4 sub">
// CHECK-SAME: t.c = #program.dimension<"m">
// CHECK-SAME: t.d = #program.dimension<"m", multiple_of = 8>
// CHECK-SAME: t.d2 = #program.dimension<"m", least = 8, most = 256>
// CHECK-SAME: t.e = #program.dimension<"m", fixed = 0>
// CHECK-SAME: t.e2 = #program.dimension<"k.ranks", source = ranks>
// CHECK-SAME: t.e3 = #program.dimension<"k.ranks", fixed = 3, source = ranks>
// CHECK-SAME: t.f = #program.tensor<"A", input, dims[0, -1]>
// CHECK-SAME: t.g = #program.tensor<"W", workspace, dims[-1], alignment = 256, zero_fill = true>
// CHECK-SAME: t.g2 = #program.tensor<"W", workspace, dims[-1, -1], order = accumulator>
// CHECK-SAME: t.g3 = #program.tensor<"K", inout, dims[-1], symmetric = true>
// CHECK-SAME: t.g4 = #program.tensor<"S", input, dims[-1], strided = true>
// CHECK-SAME: t.g5 = #program.tensor<"W", input, dims[-1], members = <inout, bf16, axes = 3, alignment = 16>>
// CHECK-SAME: t.h = #program.scalar<"scale">
// CHECK-SAME: t.i = #program.tensor_map<2, box[64, 128], bytes128>
// CHECK-SAME: t.j = #program.parameter<tensor_pointer, 3>
// CHECK-SAME: t.k = #program.parameter<tensor_stride, 3, axis = 1>
// CHECK-SAME: t.k2 = #program.parameter<tensor_pointers, 3>
// CHECK-SAME: t.k3 = #program.parameter<tensor_maps, 0>
// CHECK-SAME: t.l = #program<swizzle bytes64>
// CHECK-SAME: t.m = #program.role<"load", first_warp = 0, warps = 4>
// CHECK-SAME: t.n = #program.shared<"a", buffer, offset = 8192, slots = 8, slot_bytes = 1024>
// CHECK-SAME: t.o = #program.shared<"a.b", ring, offset = 16384, slots = 8, slot_bytes = 16>
// CHECK-SAME: t.o2 = #program.tensor_map<2, box[64, 128], bytes128, limited_axis = 0>
// CHECK-SAME: t.o3 = #program.tensor_map<2, box[64, 128], bytes128, limited_axis = 0, before = 64>
// CHECK-SAME: t.o4 = #program.tensor_map<2, box[64, 1, 64], bytes128, window = <taps[3], strides[2], dilations[1], before[1], after[0]>>
// CHECK-SAME: t.p = #program.entry<launch = <warps = 4>, schema = [#program.dimension<"m">], schema_types = [index], grid = [#program.host_expr<"d0">], tensor_maps = [], parameters = [#program.parameter<dimension, 0>], roles = [#program.role<"math", first_warp = 0, warps = 4>]>
// CHECK-SAME: t.q = #program.transfer<"gather", copies = [<from = <0, [<"0">], rank = <"d2">>, to = <1, [<"d0 d2 mul">]>, extents = [<"d0">]>], after = 0, until = 1, rounds = <"d1">, sets = <2, [<"d2">], rank = <"d3">>, value = <"1">>
// CHECK-SAME: t.q2 = #program.transfer<"copy", copies = [<from = <0, [<"0">, <"1">]>, to = <1, [<"0">, <"2">]>, extents = [<"d0">, <"3">]>], after = 1, until = 1, rounds = <"1">>
module attributes {
  t.a = #program.host_expr<"d0 128 ceildiv d1 256 ceildiv mul sms min">,
  t.b = #program.host_expr<"d2 -1 add 3 div d0 rem d1 max 4 sub">,
  t.c = #program.dimension<"m">,
  t.d = #program.dimension<"m", multiple_of = 8>,
  t.d2 = #program.dimension<"m", most = 256, least = 8>,
  t.e = #program.dimension<"m", multiple_of = 1, fixed = 0>,
  t.e2 = #program.dimension<"k.ranks", source = ranks>,
  t.e3 = #program.dimension<"k.ranks", fixed = 3, source = ranks>,
  t.f = #program.tensor<"A", input, dims[0, -1]>,
  t.g = #program.tensor<"W", workspace, dims[-1], alignment = 256, zero_fill = true>,
  t.g2 = #program.tensor<"W", workspace, dims[-1, -1], order = accumulator>,
  t.g3 = #program.tensor<"K", inout, dims[-1], symmetric = true>,
  t.g4 = #program.tensor<"S", input, dims[-1], strided = true>,
  t.g5 = #program.tensor<"W", input, dims[-1], members = <inout, bf16, axes = 3, alignment = 16>>,
  t.h = #program.scalar<"scale">,
  t.i = #program.tensor_map<2, box[64, 128], bytes128>,
  t.j = #program.parameter<tensor_pointer, 3>,
  t.k = #program.parameter<tensor_stride, 3, axis = 1>,
  t.k2 = #program.parameter<tensor_pointers, 3>,
  t.k3 = #program.parameter<tensor_maps, 0>,
  t.l = #program<swizzle bytes64>,
  t.m = #program.role<"load", first_warp = 0, warps = 4>,
  t.n = #program.shared<"a", buffer, offset = 8192, slots = 8, slot_bytes = 1024>,
  t.o = #program.shared<"a.b", ring, offset = 16384, slots = 8, slot_bytes = 16>,
  t.o2 = #program.tensor_map<2, box[64, 128], bytes128, limited_axis = 0>,
  t.o3 = #program.tensor_map<2, box[64, 128], bytes128, limited_axis = 0, before = 64>,
  t.o4 = #program.tensor_map<2, box[64, 1, 64], bytes128, window = <taps[3], strides[2], dilations[1], before[1], after[0]>>,
  t.p = #program.entry<launch = <warps = 4>, schema = [#program.dimension<"m">], schema_types = [index], grid = [#program.host_expr<"d0">],
    tensor_maps = [], parameters = [#program.parameter<dimension, 0>],
    roles = [#program.role<"math", first_warp = 0, warps = 4>]>,
  t.q = #program.transfer<"gather", copies = [<from = <0, [<"0">], rank = <"d2">>, to = <1, [<"d0 d2 mul">]>, extents = [<"d0">]>], after = 0, until = 1, rounds = <"d1">, sets = <2, [<"d2">], rank = <"d3">>, value = <"1">>,
  t.q2 = #program.transfer<"copy", copies = [<from = <0, [<"0">, <"1">]>, to = <1, [<"0">, <"2">]>, extents = [<"d0">, <"3">]>], after = 1, until = 1, rounds = <"1">>,
  program.target = #program.target<"sm_90a">
} {}
