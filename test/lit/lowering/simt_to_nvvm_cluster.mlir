// RUN: %tlc-opt %s --simt-to-nvvm | FileCheck %s

module attributes {program.target = #program.target<"sm_90a">} {

// CHECK-LABEL: llvm.func @blocks(
// CHECK-SAME:    %[[RANK:[^:]*]]: i32
simt.kernel @blocks(%rank: i32 {program.parameter = #program.parameter<dimension, 0>})
    attributes {launch = #program.launch<warps = 4, cluster = 2, shared_bytes = 1024>, schema = [#program.dimension<"m">], schema_types = [index],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  // CHECK: %[[OWN:.*]] = llvm.mlir.addressof @dynamic_shared
  %own = simt.shared_base
  // CHECK: %[[ADDRESS:.*]] = llvm.ptrtoint %[[OWN]]
  // CHECK: %[[MAPPED:.*]] = llvm.inline_asm "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r" %[[ADDRESS]], %[[RANK]] : (i32, i32) -> i32
  // CHECK: %[[THERE:.*]] = llvm.inttoptr %[[MAPPED]] : i32 to !llvm.ptr<7>
  %there = simt.address_in_block %own of %rank
  // CHECK: %[[X:.*]] = llvm.load %[[THERE]] {alignment = 16 : i64} : !llvm.ptr<7> -> vector<4xf32>
  %x = simt.load %there : !llvm.ptr<7> -> vector<4xf32>
  // CHECK: llvm.store %[[X]], %[[THERE]] {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<7>
  simt.store %x, %there : vector<4xf32>, !llvm.ptr<7>
  // CHECK: %[[STATE:.*]] = nvvm.mbarrier.arrive %[[OWN]] : !llvm.ptr<3> -> i64
  %state = simt.barrier_state %own
  // CHECK: llvm.inline_asm "mapa.shared::cluster.u32
  // CHECK: %[[BARRIER:.*]] = llvm.inttoptr
  // CHECK: nvvm.mbarrier.arrive %[[BARRIER]] {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
  simt.cluster_arrive %own of %rank
  // CHECK: llvm.br ^[[TRY:.*]]
  // CHECK: ^[[TRY]]:
  // CHECK: %[[DONE:.*]] = nvvm.mbarrier.try_wait %[[OWN]], %[[STATE]] {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<3>, i64 -> i1
  // CHECK: llvm.cond_br %[[DONE]], ^[[AFTER:.*]], ^[[TRY]]
  // CHECK: ^[[AFTER]]:
  simt.cluster_wait %own state(%state)
  simt.return
}

// Guarded, as where a tile has fewer columns than threads.
// CHECK-LABEL: llvm.func @guarded(
// CHECK:         llvm.inline_asm has_side_effects "mov.b32 $0, 0;\0A\09@$2 ld.shared::cluster.b32 $0, [$1];", "=&r,r,b,~{memory}"
// CHECK:         llvm.inline_asm has_side_effects "@$1 st.shared::cluster.b32 [$0], $2;", "r,b,r,~{memory}"
simt.kernel @guarded(%rank: i32 {program.parameter = #program.parameter<dimension, 0>})
    attributes {launch = #program.launch<warps = 4, cluster = 2, shared_bytes = 1024>, schema = [#program.dimension<"m">], schema_types = [index],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  %own = simt.shared_base
  %c0 = arith.constant 0 : i32
  %there = simt.address_in_block %own of %rank
  %inside = arith.cmpi eq, %rank, %c0 : i32
  %x = simt.load %there if %inside : !llvm.ptr<7> -> f32
  simt.store %x, %there if %inside : f32, !llvm.ptr<7>
  simt.return
}
}
