// RUN: %tlc-opt %s --simt-to-nvvm | FileCheck %s

// Accesses with a policy for L2. NVVM has it of tensor copies alone; the other instructions are assembly, of the same
// width as without one.
module attributes {program.target = #program.target<"sm_90a">} {

// CHECK-LABEL: llvm.func @policies(
// CHECK-SAME:    %[[X:[^:]*]]: !llvm.ptr<1>, %[[MAP:[^:]*]]: !llvm.ptr {{.*}}, %[[N:[^:]*]]: i32
simt.kernel @policies(%x: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>},
                      %map: !llvm.ptr {program.parameter = #program.parameter<tensor_map, 0>},
                      %n: i32 {program.parameter = #program.parameter<dimension, 0>})
    attributes {launch = #program.launch<warps = 1, shared_bytes = 2048>,
      schema = [#program.dimension<"n">, #program.tensor<"X", inout, dims[0, -1], alignment = 16>],
      schema_types = [index, tensor<?x64xf32>], grid = [#program.host_expr<"1">],
      tensor_maps = [#program.tensor_map<0, box[8, 32], bytes128>]} {
  %shared = simt.shared_base
  %zero = arith.constant 0 : i32
  // CHECK: %[[IN:.*]] = llvm.icmp
  %in = arith.cmpi sgt, %n, %zero : i32
  // It is of no memory, so that it may be repeated or left out.
  // CHECK: %[[FIRST:.*]] = llvm.inline_asm "createpolicy.fractional.L2::evict_first.b64 $0;", "=l" : () -> i64
  %first = simt.cache_policy evict first
  // CHECK: %[[LAST:.*]] = llvm.inline_asm "createpolicy.fractional.L2::evict_last.b64 $0;", "=l" : () -> i64
  %last = simt.cache_policy evict last

  // CHECK: llvm.inline_asm has_side_effects "ld.global.L2::cache_hint.v4.b32 {$0, $1, $2, $3}, [$4], $5;", "=r,=r,=r,=r,l,l,~{memory}" %[[X]], %[[FIRST]]
  %v = simt.load %x policy %first : !llvm.ptr<1> -> vector<8xbf16>
  // CHECK: llvm.inline_asm has_side_effects "mov.b16 $0, 0;\0A\09@$2 ld.global.L2::cache_hint.b8 $0, [$1], $3;", "=&h,l,b,l,~{memory}" %[[X]], %[[IN]], %[[LAST]]
  %byte = simt.load %x if %in policy %last : !llvm.ptr<1> -> i8
  // CHECK: llvm.inline_asm has_side_effects "st.global.L2::cache_hint.v4.b32 [$0], {$1, $2, $3, $4}, $5;", "l,r,r,r,r,l,~{memory}" %[[X]], {{.*}}, %[[FIRST]]
  simt.store %v, %x policy %first : vector<8xbf16>, !llvm.ptr<1>
  // CHECK: llvm.inline_asm has_side_effects "@$1 st.global.L2::cache_hint.b8 [$0], $2, $3;", "l,b,h,l,~{memory}" %[[X]], %[[IN]], {{.*}}, %[[LAST]]
  simt.store %byte, %x if %in policy %last : i8, !llvm.ptr<1>

  // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} l2_cache_hint = %[[FIRST]]
  simt.tma_load %map[%n, %n] to %shared on %shared policy %first
  // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[MAP]], {{.*}} l2_cache_hint = %[[LAST]]
  simt.tma_store %shared to %map[%n, %n] policy %last
  simt.return
}

}
