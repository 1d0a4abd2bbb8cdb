// RUN: %tlc-opt %s --simt-to-nvvm | FileCheck %s

// From sm_100 on one instruction computes two numbers of f32: sums, differences, products and fma, not minima and
// maxima, and not the odd one of three.
module attributes {program.target = #program.target<"sm_100a">} {

// CHECK-LABEL: llvm.func @pairs_of_f32(
simt.kernel @pairs_of_f32(%x: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>},
                          %n: i32 {program.parameter = #program.parameter<dimension, 0>})
    attributes {launch = #program.launch<warps = 1>, schema = [#program.dimension<"n">, #program.tensor<"X", inout, dims[0]>],
      schema_types = [index, tensor<?xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %a = simt.load %x : !llvm.ptr<1> -> vector<4xf32>
  // CHECK-COUNT-2: llvm.fadd {{.*}} : vector<2xf32>
  %sum = arith.addf %a, %a : vector<4xf32>
  // CHECK-COUNT-2: llvm.fsub {{.*}} : vector<2xf32>
  %difference = arith.subf %sum, %a : vector<4xf32>
  // CHECK-COUNT-2: llvm.fmul {{.*}} : vector<2xf32>
  %product = arith.mulf %difference, %sum : vector<4xf32>
  // CHECK-COUNT-2: llvm.intr.fma{{.*}} -> vector<2xf32>
  %fma = math.fma %product, %a, %sum : vector<4xf32>
  // CHECK-COUNT-4: llvm.intr.maxnum{{.*}} -> f32
  %most = arith.maxnumf %fma, %a : vector<4xf32>
  %three = vector.extract_strided_slice %most {offsets = [0], sizes = [3], strides = [1]} : vector<4xf32> to vector<3xf32>
  // CHECK-COUNT-3: llvm.fadd {{.*}} : f32
  %odd = arith.addf %three, %three : vector<3xf32>
  %result = vector.insert_strided_slice %odd, %most {offsets = [0], strides = [1]} : vector<3xf32> into vector<4xf32>
  simt.store %result, %x : vector<4xf32>, !llvm.ptr<1>
  simt.return
}
}
