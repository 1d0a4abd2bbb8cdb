// RUN: %tlc-opt %s --simt-to-nvvm | FileCheck %s

// A batch, from its fence to its commit, is one statement: LLVM cannot copy accumulators inside of it. The hardware writes
// them until the wait, and what the thread reads passes through that; registers in flight do not.
module attributes {program.target = #program.target<"sm_90a">} {

// Sums that only meet others at the end of a branch on their way to the next product: they are complete when the statement
// ends, so that LLVM may copy them there. A factor in registers stays up to the wait, as it does in the statement.
// CHECK-LABEL: llvm.func @sequential(
simt.kernel @sequential(%a: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
                        %n: i32 {program.parameter = #program.parameter<dimension, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.dimension<"n">, #program.tensor<"X", output, dims[0, -1]>],
      schema_types = [index, tensor<?x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<4xf32>) : i32 {
    %is = arith.cmpi ne, %i, %c0 : i32
    %next = scf.if %is -> (vector<4xf32>) {
      simt.wgmma_fence
      // CHECK: "wgmma.fence.sync.aligned;{{.*}}wgmma.commit_group.sync.aligned;\0A\09wgmma.wait_group.sync.aligned 0;", "=&f,=&f,=&f,=&f,0,1,2,3,l,~{memory}"
      // CHECK-NOT: wgmma.wait
      %sum = simt.wgmma %acc, %a, %a {n = 8 : i64, a_element = bf16, b_element = bf16} : vector<4xf32>, i64
      simt.wgmma_commit
      %low = vector.extract_strided_slice %sum {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %same = vector.insert_strided_slice %low, %sum {offsets = [0], strides = [1]} : vector<2xf32> into vector<4xf32>
      %done = simt.wgmma_wait 0 for %same : vector<4xf32>
      scf.yield %done : vector<4xf32>
    } else {
      scf.yield %acc : vector<4xf32>
    }
    scf.yield %next : vector<4xf32>
  }
  simt.return
}

// A word of metadata is an operand, and stays up to the wait as a factor in registers does.
// CHECK-LABEL: llvm.func @sparse(
simt.kernel @sparse(%a: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
                    %e: i32 {program.parameter = #program.parameter<dimension, 0>},
                    %out: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.dimension<"n">, #program.tensor<"X", output, dims[0, -1]>],
      schema_types = [index, tensor<?x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %zero = arith.constant dense<0.0> : vector<4xf32>
  simt.wgmma_fence
  // CHECK: llvm.inline_asm has_side_effects "wgmma.fence.sync.aligned;{{.*}}setp.ne.b32 p, 1, 0;\0A\09wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16 {$0, $1, $2, $3}, $8, $8, $9, 1, p, 1, 1, 0, 0;\0A\09}
  // CHECK-SAME: wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3 {$0, $1, $2, $3}, $8, $8, $9, 0, p, 1, 1;
  // CHECK-SAME: "=&f,=&f,=&f,=&f,0,1,2,3,l,r,~{memory}"
  %0 = simt.wgmma %zero, %a, %a metadata %e {n = 8 : i64, a_element = bf16, b_element = bf16, selector = 1 : i64} : vector<4xf32>, i64
  %1 = simt.wgmma %0, %a, %a metadata %e {n = 8 : i64, a_element = f8E4M3FN, b_element = f8E4M3FN} : vector<4xf32>, i64
  simt.wgmma_commit
  // CHECK: "wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,0,1,2,3,r,~{memory}"
  %2 = simt.wgmma_wait 0 for %1 : vector<4xf32>
  simt.store %2, %out : vector<4xf32>, !llvm.ptr<1>
  simt.return
}

// CHECK-LABEL: llvm.func @in_flight(
simt.kernel @in_flight(%a: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
                       %n: i32 {program.parameter = #program.parameter<dimension, 0>},
                       %out: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.dimension<"n">, #program.tensor<"X", output, dims[0, -1]>],
      schema_types = [index, tensor<?x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %true = arith.constant true
  %c1 = arith.constant 1 : i32
  simt.wgmma_fence
  // Starting from zero, the old registers are not even written. One descriptor is one operand.
  // CHECK: %[[UNDEFINED:.*]] = llvm.mlir.poison : f32
  // CHECK: llvm.inline_asm has_side_effects "wgmma.fence.sync.aligned;\0A\09{\0A\09.reg .pred p;\0A\09setp.ne.b32 p, 0, 0;\0A\09
  // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, $8, $8, p, 1, 1, 0, 1;\0A\09}\0A\09wgmma.commit_group.sync.aligned;",
  // CHECK-SAME: "=&f,=&f,=&f,=&f,0,1,2,3,l,~{memory}" %[[UNDEFINED]], %[[UNDEFINED]], %[[UNDEFINED]], %[[UNDEFINED]], %{{[a-z0-9]+}} :
  %first = simt.wgmma %zero, %a, %a zero %true {n = 8 : i64, a_element = bf16, b_element = bf16, transpose_b} : vector<4xf32>, i64
  simt.wgmma_commit
  // CHECK: ^{{.*}}(%{{.*}}: i32, %[[ACC0:.*]]: f32, %[[ACC1:.*]]: f32, %[[ACC2:.*]]: f32, %[[ACC3:.*]]: f32)
  %last = scf.for %i = %c1 to %n step %c1 iter_args(%acc = %first) -> (vector<4xf32>) : i32 {
    simt.wgmma_fence
    // CHECK: llvm.inline_asm {{.*}}"wgmma.fence.sync.aligned;{{.*}}setp.ne.b32 p, 1, 0;{{.*}} %[[ACC0]], %[[ACC1]], %[[ACC2]], %[[ACC3]],
    %next = simt.wgmma %acc, %a, %a {n = 8 : i64, a_element = bf16, b_element = bf16} : vector<4xf32>, i64
    simt.wgmma_commit
    // CHECK: nvvm.wgmma.wait.group.sync.aligned 1
    %passed = simt.wgmma_wait 1 for %next : vector<4xf32>
    scf.yield %passed : vector<4xf32>
  }
  // CHECK: %[[DONE:.*]] = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,0,1,2,3,~{memory}"
  // CHECK: %[[SUM:.*]] = llvm.extractvalue %[[DONE]][0]
  %sum = simt.wgmma_wait 0 for %last : vector<4xf32>
  // CHECK: llvm.insertelement %[[SUM]]
  simt.store %sum, %out : vector<4xf32>, !llvm.ptr<1>
  simt.return
}

// CHECK-LABEL: llvm.func @written(
simt.kernel @written(%b: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
                     %in: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>},
                     %n: i32 {program.parameter = #program.parameter<dimension, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.dimension<"n">, #program.tensor<"X", inout, dims[0, -1]>],
      schema_types = [index, tensor<?x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %a = simt.load %in : !llvm.ptr<1> -> vector<4xi32>
  %old = simt.load %in : !llvm.ptr<1> -> vector<4xf32>
  %scaled = arith.mulf %old, %old : vector<4xf32>
  %c0 = arith.constant 0 : i32
  %none = arith.cmpi eq, %n, %c0 : i32
  // Both the accumulators and the operand in registers come from the thread, before the fence. The operand keeps its registers.
  simt.wgmma_fence
  // CHECK: llvm.inline_asm has_side_effects "wgmma.fence.sync.aligned;{{.*}}not.pred p, $9;{{.*}}m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, {$10, $11, $12, $13}, $8, p, 1, 1, 0;
  // CHECK-SAME: "=&f,=&f,=&f,=&f,0,1,2,3,l,b,r,r,r,r,~{memory}" {{.*}}, %[[A:[0-9]+]] :
  %sum = simt.wgmma %scaled, %a, %b zero %none {n = 8 : i64, a_element = f16, b_element = f16} : vector<4xf32>, vector<4xi32>
  simt.wgmma_commit
  // Up to the wait nothing else is written to the registers of the factor.
  // CHECK: "wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,~{memory}" {{.*}}, %[[A]] :
  %done = simt.wgmma_wait 0 for %sum : vector<4xf32>
  simt.store %done, %in : vector<4xf32>, !llvm.ptr<1>
  simt.return
}

// A fragment of several instructions is regrouped around the loop; its registers are in flight all the same.
// CHECK-LABEL: llvm.func @regrouped(
simt.kernel @regrouped(%a: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
                       %n: i32 {program.parameter = #program.parameter<dimension, 0>},
                       %out: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.dimension<"n">, #program.tensor<"X", output, dims[0, -1]>],
      schema_types = [index, tensor<?x8xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %c1 = arith.constant 1 : i32
  %last = scf.for %i = %c1 to %n step %c1 iter_args(%acc = %zero) -> (vector<8xf32>) : i32 {
    // CHECK: "wgmma.fence.sync.aligned;{{.*}}{$0, $1, $2, $3}, $16, $16,{{.*}}{$4, $5, $6, $7}, $16, $16,{{.*}}wgmma.commit_group.sync.aligned;"
    simt.wgmma_fence
    %low = vector.extract_strided_slice %acc {offsets = [0], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
    %high = vector.extract_strided_slice %acc {offsets = [4], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
    %x = simt.wgmma %low, %a, %a {n = 8 : i64, a_element = bf16, b_element = bf16} : vector<4xf32>, i64
    %y = simt.wgmma %high, %a, %a {n = 8 : i64, a_element = bf16, b_element = bf16} : vector<4xf32>, i64
    simt.wgmma_commit
    %xy = vector.insert_strided_slice %x, %acc {offsets = [0], strides = [1]} : vector<4xf32> into vector<8xf32>
    %both = vector.insert_strided_slice %y, %xy {offsets = [4], strides = [1]} : vector<4xf32> into vector<8xf32>
    // CHECK: nvvm.wgmma.wait.group.sync.aligned 1
    %passed = simt.wgmma_wait 1 for %both : vector<8xf32>
    scf.yield %passed : vector<8xf32>
  }
  // CHECK: "wgmma.wait_group.sync.aligned 0;"
  %sum = simt.wgmma_wait 0 for %last : vector<8xf32>
  simt.store %sum, %out : vector<8xf32>, !llvm.ptr<1>
  simt.return
}

// A branch is no reason to leave out a tie: it may be gone when instructions are ordered.
// CHECK-LABEL: llvm.func @branches(
simt.kernel @branches(%a: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
                      %n: i32 {program.parameter = #program.parameter<dimension, 0>},
                      %x: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.dimension<"n">, #program.tensor<"X", inout, dims[0, -1]>],
      schema_types = [index, tensor<?x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %old = simt.load %x : !llvm.ptr<1> -> vector<4xf32>
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %c0 = arith.constant 0 : i32
  %any = arith.cmpi sgt, %n, %c0 : i32
  %start = scf.if %any -> (vector<4xf32>) {
    %scaled = arith.mulf %old, %old : vector<4xf32>
    scf.yield %scaled : vector<4xf32>
  } else {
    scf.yield %zero : vector<4xf32>
  }
  %sum = scf.if %any -> (vector<4xf32>) {
    // CHECK: "wgmma.fence.sync.aligned;{{.*}}", "=&f,=&f,=&f,=&f,0,1,2,3,l,~{memory}"
    simt.wgmma_fence
    %product = simt.wgmma %start, %a, %a {n = 8 : i64, a_element = bf16, b_element = bf16} : vector<4xf32>, i64
    simt.wgmma_commit
    // CHECK: "wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,0,1,2,3,~{memory}"
    %done = simt.wgmma_wait 0 for %product : vector<4xf32>
    scf.yield %done : vector<4xf32>
  } else {
    scf.yield %start : vector<4xf32>
  }
  simt.store %sum, %x : vector<4xf32>, !llvm.ptr<1>
  simt.return
}

// Steps along k add to one set of registers. Their descriptors lie at constant distances, which are added right before each
// product, so that they do not all wait in registers.
// CHECK-LABEL: llvm.func @steps(
// CHECK: "wgmma.fence.sync.aligned;\0A\09{\0A\09.reg .pred p;\0A\09setp.ne.b32 p, 1, 0;\0A\09wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, $8, $9, p, 1, 1, 0, 0;\0A\09}\0A\09
// CHECK-SAME: {\0A\09.reg .pred p;\0A\09.reg .b64 a;\0A\09add.s64 a, $8, 2;\0A\09.reg .b64 b;\0A\09add.s64 b, $9, 128;\0A\09setp.ne.b32 p, 1, 0;\0A\09wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, a, b, p, 1, 1, 0, 0;\0A\09}\0A\09
// CHECK-SAME: wgmma.commit_group.sync.aligned;", "=&f,=&f,=&f,=&f,0,1,2,3,l,l,~{memory}"
// A product that does not follow its batch at once is a statement of its own.
// CHECK: nvvm.barrier
// CHECK: llvm.inline_asm has_side_effects "{\0A\09.reg .pred p;{{[^"]*}}wgmma.commit_group.sync.aligned;"
simt.kernel @steps(%a: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
                   %b: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
                   %x: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.dimension<"n">, #program.tensor<"X", inout, dims[0, -1]>],
      schema_types = [index, tensor<?x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %old = simt.load %x : !llvm.ptr<1> -> vector<4xf32>
  %c2 = arith.constant 2 : i64
  %c128 = arith.constant 128 : i64
  simt.wgmma_fence
  %first = simt.wgmma %old, %a, %b {n = 8 : i64, a_element = bf16, b_element = bf16} : vector<4xf32>, i64
  %nextA = arith.addi %a, %c2 : i64
  %nextB = arith.addi %b, %c128 : i64
  %sum = simt.wgmma %first, %nextA, %nextB {n = 8 : i64, a_element = bf16, b_element = bf16} : vector<4xf32>, i64
  simt.wgmma_commit
  %c0 = arith.constant 0 : i32
  simt.sync %c0
  %third = simt.wgmma %sum, %a, %b {n = 8 : i64, a_element = bf16, b_element = bf16} : vector<4xf32>, i64
  simt.wgmma_commit
  %done = simt.wgmma_wait 0 for %third : vector<4xf32>
  simt.store %done, %x : vector<4xf32>, !llvm.ptr<1>
  simt.return
}

// Floats of 8 bits: 32 of k, no transposes. Numbers are rounded two at a time, and two pairs are a register of the
// left factor, without a step through single bytes.
// CHECK-LABEL: llvm.func @eight_bits(
simt.kernel @eight_bits(%b: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
                        %x: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.dimension<"n">, #program.tensor<"X", inout, dims[0, -1]>],
      schema_types = [index, tensor<?x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %numbers = simt.load %x : !llvm.ptr<1> -> vector<16xf32>
  // CHECK: %[[LOW:.*]] = llvm.call_intrinsic "llvm.nvvm.ff.to.e4m3x2.rn"(%{{.*}}, %{{.*}}) : (f32, f32) -> i16
  // CHECK: %[[HIGH:.*]] = llvm.call_intrinsic "llvm.nvvm.ff.to.e4m3x2.rn"(%{{.*}}, %{{.*}}) : (f32, f32) -> i16
  // CHECK-COUNT-6: llvm.nvvm.ff.to.e4m3x2.rn
  %bytes = simt.encode %numbers as f8E4M3FN : vector<16xf32> -> vector<16xi8>
  // CHECK: llvm.insertelement %[[LOW]], %{{.*}} : vector<2xi16>
  // CHECK: llvm.insertelement %[[HIGH]], %{{.*}} : vector<2xi16>
  // CHECK: llvm.bitcast %{{.*}} : vector<2xi16> to i32
  %words = vector.bitcast %bytes : vector<16xi8> to vector<4xi32>
  simt.wgmma_fence
  // CHECK: wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {$0, $1, $2, $3}, {$9, $10, $11, $12}, $8, p, 1, 1;
  %acc = simt.wgmma %zero, %words, %b {n = 8 : i64, a_element = f8E4M3FN, b_element = f8E4M3FN} : vector<4xf32>, vector<4xi32>
  simt.wgmma_commit
  %done = simt.wgmma_wait 0 for %acc : vector<4xf32>
  simt.store %done, %x : vector<4xf32>, !llvm.ptr<1>
  simt.return
}
// Integers: sums in 32-bit integer registers; factors neither negated nor transposed.
// CHECK-LABEL: llvm.func @integers(
simt.kernel @integers(%b: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
                      %x: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.dimension<"n">, #program.tensor<"X", inout, dims[0, -1]>],
      schema_types = [index, tensor<?x8xi32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %zero = arith.constant dense<0> : vector<8xi32>
  %words = simt.load %x : !llvm.ptr<1> -> vector<4xi32>
  simt.wgmma_fence
  // CHECK: wgmma.mma_async.sync.aligned.m64n16k32.s32.s8.u8 {$0, $1, $2, $3, $4, $5, $6, $7}, $16, $16, p;
  // CHECK: wgmma.mma_async.sync.aligned.m64n16k32.s32.u8.s8 {$0, $1, $2, $3, $4, $5, $6, $7}, {$17, $18, $19, $20}, $16, p;
  // CHECK-SAME: "=&r,=&r,=&r,=&r,=&r,=&r,=&r,=&r,0,1,2,3,4,5,6,7,l,r,r,r,r,~{memory}"
  %first = simt.wgmma %zero, %b, %b {n = 16 : i64, a_element = i8, b_element = ui8} : vector<8xi32>, i64
  %acc = simt.wgmma %first, %words, %b {n = 16 : i64, a_element = ui8, b_element = i8} : vector<8xi32>, vector<4xi32>
  simt.wgmma_commit
  %done = simt.wgmma_wait 0 for %acc : vector<8xi32>
  simt.store %done, %x : vector<8xi32>, !llvm.ptr<1>
  simt.return
}

// f32 is read as tf32: factors are not transposed.
// CHECK-LABEL: llvm.func @tf32(
simt.kernel @tf32(%b: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
                  %x: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.dimension<"n">, #program.tensor<"X", inout, dims[0, -1]>],
      schema_types = [index, tensor<?x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %words = simt.load %x : !llvm.ptr<1> -> vector<4xi32>
  simt.wgmma_fence
  // CHECK: wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {$0, $1, $2, $3}, $8, $8, p, 1, 1;
  // CHECK: wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {$0, $1, $2, $3}, {$9, $10, $11, $12}, $8, p, 1, 1;
  %first = simt.wgmma %zero, %b, %b {n = 8 : i64, a_element = f32, b_element = f32} : vector<4xf32>, i64
  %acc = simt.wgmma %first, %words, %b {n = 8 : i64, a_element = f32, b_element = f32} : vector<4xf32>, vector<4xi32>
  simt.wgmma_commit
  %done = simt.wgmma_wait 0 for %acc : vector<4xf32>
  simt.store %done, %x : vector<4xf32>, !llvm.ptr<1>
  simt.return
}
}
