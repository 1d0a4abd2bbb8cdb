// RUN: %tlc-opt %s --simt-to-nvvm | FileCheck %s

// Fragments become single registers: no vector is carried by a block, and none is computed with but pairs of 16 bits.
module attributes {program.target = #program.target<"sm_90a">} {

// CHECK-LABEL: llvm.func @fragments(
// CHECK-NOT:     ^{{.*}}: vector<
// CHECK-NOT:     llvm.f{{(add|mul)}} {{.*}}vector
simt.kernel @fragments(%x: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>},
                       %n: i32 {program.parameter = #program.parameter<dimension, 0>})
    attributes {launch = #program.launch<warps = 1>, schema = [#program.dimension<"n">, #program.tensor<"X", inout, dims[0]>],
      schema_types = [index, tensor<?xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // CHECK: llvm.mlir.constant(2.5{{.*}} : f32) : f32
  %two = arith.constant dense<2.5> : vector<4xf32>
  // CHECK: %[[V:.*]] = llvm.load
  %v = simt.load %x : !llvm.ptr<1> -> vector<4xf32>
  // CHECK: ^{{.*}}(%{{.*}}: i32, %[[R0:.*]]: f32, %[[R1:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32):
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %v) -> (vector<4xf32>) : i32 {
    // CHECK: %[[M0:.*]] = llvm.fmul %[[R0]], %{{.*}} : f32
    // CHECK: %[[M1:.*]] = llvm.fmul %[[R1]], %{{.*}} : f32
    %m = arith.mulf %acc, %two {fastmath = #arith.fastmath<contract>} : vector<4xf32>
    %odd = arith.andi %i, %c1 : i32
    %isOdd = arith.cmpi ne, %odd, %c0 : i32
    %s = scf.if %isOdd -> (vector<4xf32>) {
      %positive = arith.cmpf ogt, %m, %two : vector<4xf32>
      // CHECK-COUNT-4: llvm.select %{{.*}}, %{{.*}}, %{{.*}} : i1, f32
      %kept = arith.select %positive, %m, %acc : vector<4xi1>, vector<4xf32>
      scf.yield %kept : vector<4xf32>
    } else {
      // Changing places costs nothing.
      %low = vector.extract_strided_slice %m {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %swapped = vector.shuffle %low, %low [1, 0] : vector<2xf32>, vector<2xf32>
      %put = vector.insert_strided_slice %swapped, %m {offsets = [2], strides = [1]} : vector<2xf32> into vector<4xf32>
      scf.yield %put : vector<4xf32>
    }
    scf.yield %s : vector<4xf32>
  }
  simt.store %r, %x : vector<4xf32>, !llvm.ptr<1>
  simt.return
}

// Blocks carry elements of 16 bits in pairs, and sums, products, minima and maxima are those of pairs. Others are of one
// element, and so is all that an odd number of elements has.
// CHECK-LABEL: llvm.func @pairs(
simt.kernel @pairs(%x: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>},
                   %n: i32 {program.parameter = #program.parameter<dimension, 0>})
    attributes {launch = #program.launch<warps = 1>, schema = [#program.dimension<"n">, #program.tensor<"X", inout, dims[0]>],
      schema_types = [index, tensor<?xbf16>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %v = simt.load %x : !llvm.ptr<1> -> vector<4xbf16>
  // CHECK: ^{{.*}}(%{{.*}}: i32, %[[LOW:.*]]: i32, %[[HIGH:.*]]: i32):
  // CHECK: %[[PAIR:.*]] = llvm.bitcast %[[LOW]] : i32 to vector<2xbf16>
  // CHECK: llvm.fadd %[[PAIR]], %{{.*}} : vector<2xbf16>
  // CHECK: llvm.fadd {{.*}} : vector<2xbf16>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %v) -> (vector<4xbf16>) : i32 {
    %sum = arith.addf %acc, %v : vector<4xbf16>
    scf.yield %sum : vector<4xbf16>
  }
  // CHECK-COUNT-2: llvm.fsub {{.*}} : vector<2xbf16>
  %difference = arith.subf %r, %v : vector<4xbf16>
  // CHECK-COUNT-2: llvm.fmul {{.*}} : vector<2xbf16>
  %product = arith.mulf %difference, %v : vector<4xbf16>
  // CHECK-COUNT-2: llvm.intr.maxnum{{.*}} -> vector<2xbf16>
  %max = arith.maxnumf %product, %v : vector<4xbf16>
  // CHECK-COUNT-2: llvm.intr.minimum{{.*}} -> vector<2xbf16>
  %min = arith.minimumf %max, %v : vector<4xbf16>
  // CHECK-COUNT-2: llvm.intr.fma{{.*}} -> vector<2xbf16>
  %fused = math.fma %min, %v, %max : vector<4xbf16>
  // CHECK-COUNT-4: llvm.intr.fabs{{.*}} -> bf16
  %abs = math.absf %fused : vector<4xbf16>
  %three = vector.extract_strided_slice %abs {offsets = [0], sizes = [3], strides = [1]} : vector<4xbf16> to vector<3xbf16>
  // CHECK-COUNT-3: llvm.fadd {{.*}} : bf16
  %twice = arith.addf %three, %three : vector<3xbf16>
  %all = vector.insert_strided_slice %twice, %abs {offsets = [0], strides = [1]} : vector<3xbf16> into vector<4xbf16>
  simt.store %all, %x : vector<4xbf16>, !llvm.ptr<1>
  simt.return
}

// Two numbers are narrowed by one instruction, into the word that is stored.
// CHECK-LABEL: llvm.func @narrow(
simt.kernel @narrow(%x: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 1, shared_bytes = 1024>, schema = [#program.tensor<"X", inout, dims[-1]>],
      schema_types = [tensor<8xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %base = simt.shared_base
  %v = simt.load %x : !llvm.ptr<1> -> vector<8xf32>
  // CHECK-COUNT-4: %[[PAIR:.*]] = llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"(%{{.*}}, %{{.*}}) : (f32, f32) -> vector<2xbf16>
  // CHECK: llvm.bitcast %[[PAIR]] : vector<2xbf16> to i32
  %h = arith.truncf %v : vector<8xf32> to vector<8xbf16>
  %words = vector.bitcast %h : vector<8xbf16> to vector<4xi32>
  // CHECK: nvvm.stmatrix
  simt.stmatrix %words, %base : vector<4xi32>
  // CHECK-COUNT-4: llvm.call_intrinsic "llvm.nvvm.ff2f16x2.rn"
  %f16 = arith.truncf %v : vector<8xf32> to vector<8xf16>
  simt.store %f16, %x : vector<8xf16>, !llvm.ptr<1>
  simt.return
}
}
