// RUN: %tlc-opt %s --simt-to-nvvm | FileCheck %s

module attributes {program.target = #program.target<"sm_100a">} {

// CHECK-LABEL: llvm.func @tcgen05(
simt.kernel @tcgen05(%n: i32 {program.parameter = #program.parameter<dimension, 0>},
    %out: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4, shared_bytes = 64>,
      schema = [#program.dimension<"n">, #program.tensor<"X", output, dims[0, -1]>],
      schema_types = [index, tensor<?x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %base = simt.shared_base
  %true = arith.constant true
  // The columns, and the right of other blocks to theirs.
  // CHECK: nvvm.tcgen05.alloc %{{.*}}, %{{.*}} : !llvm.ptr<3>, i32
  // CHECK-NEXT: nvvm.tcgen05.relinquish_alloc_permit
  simt.tcgen05_alloc 64 to %base
  // CHECK: nvvm.tcgen05.fence  <before>
  simt.tcgen05_fence
  // CHECK: nvvm.tcgen05.fence  <after>
  simt.tcgen05_fence after
  // What was loaded passes through the wait.
  // CHECK: %[[ADDRESS:.*]] = llvm.inttoptr %{{.*}} : i32 to !llvm.ptr<6>
  // CHECK: nvvm.tcgen05.ld %[[ADDRESS]] {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<2xi32>
  // CHECK: llvm.inline_asm has_side_effects "tcgen05.wait::ld.sync.aligned;", "=r,=r,0,1,~{memory}"
  %loaded = simt.tcgen05_load %n : vector<2xi32>
  %values = simt.tcgen05_wait_load %loaded : vector<2xi32>
  // CHECK: nvvm.tcgen05.st %{{.*}}, %{{.*}} {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<2xi32>
  simt.tcgen05_store %values to %n : vector<2xi32>
  // CHECK: nvvm.tcgen05.wait <store>
  simt.tcgen05_wait_store
  // One register is a number.
  // CHECK: nvvm.tcgen05.ld %{{.*}} : i32
  // CHECK: nvvm.tcgen05.st %{{.*}} : i32
  %one = simt.tcgen05_load %n : vector<1xi32>
  %first = simt.tcgen05_wait_load %one : vector<1xi32>
  simt.tcgen05_store %first to %n : vector<1xi32>
  // The version 1 at bit 46, swizzle 128 as 2 at bit 61: 2 << 61 | 1 << 46 | 64 << 32 | 1 << 16.
  // CHECK: llvm.mlir.constant(4611756662049538048 : i64)
  %b = simt.tcgen05_descriptor %base leading(16) stride(1024) swizzle bytes128
  // Sums of f32, factors of bf16, the left one transposed, n = 64, m = 128.
  // CHECK: llvm.mlir.constant(135300240 : i32)
  // CHECK: nvvm.tcgen05.mma %{{.*}} {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, i64, i64, i32, i1)
  simt.tcgen05_mma %n, %b, %b if %true {a_element = bf16, b_element = bf16, m = 128 : i64, n = 64 : i64, transpose_a} : i64
  // CHECK: nvvm.tcgen05.mma %{{.*}} {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f8f6f4>} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1)
  simt.tcgen05_mma %n, %n, %b if %true {a_element = f8E4M3FN, b_element = f8E4M3FN, m = 128 : i64, n = 16 : i64} : i32
  // CHECK: nvvm.tcgen05.commit %{{.*}} : !llvm.ptr<3>
  simt.tcgen05_commit %base
  // CHECK: nvvm.tcgen05.dealloc %{{.*}}, %{{.*}} : !llvm.ptr<6>, i32
  simt.tcgen05_dealloc 64 at %n
  simt.return
}
}
