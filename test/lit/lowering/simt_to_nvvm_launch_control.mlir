// RUN: %tlc-opt %s --simt-to-nvvm | FileCheck %s

module attributes {program.target = #program.target<"sm_100a">} {

// The query is guarded by its own predicate, in one piece of assembly: of a failed request the number is undefined.
// CHECK-LABEL: llvm.func @cancel(
simt.kernel @cancel()
    attributes {launch = #program.launch<warps = 4, shared_bytes = 1024>, schema = [], schema_types = [],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  // CHECK: %[[RESPONSE:.*]] = llvm.mlir.addressof @dynamic_shared
  %response = simt.shared_base
  // CHECK: nvvm.clusterlaunchcontrol.try.cancel %[[RESPONSE]], %[[RESPONSE]]
  simt.cancel_block %response arrives(%response)
  // CHECK: %[[HALVES:.*]] = llvm.load %[[RESPONSE]] {alignment = 16 : i64} : !llvm.ptr<3> -> vector<2xi64>
  // CHECK: llvm.inline_asm has_side_effects "{ {{.*}}query_cancel.is_canceled.pred.b128 canceled, response; mov.b32 $0, -1; @canceled clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 $0, response; }", "=&r,l,l"
  %number = simt.canceled_block %response
  // CHECK: llvm.store
  simt.store %number, %response : i32, !llvm.ptr<3>
  simt.return
}

}
