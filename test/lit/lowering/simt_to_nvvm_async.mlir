// RUN: %tlc-opt %s --simt-to-nvvm | FileCheck %s

module attributes {program.target = #program.target<"sm_90a">} {

// CHECK-LABEL: llvm.func @barriers(
// CHECK-SAME:    %[[PARITY:[^:]*]]: i32
simt.kernel @barriers(%parity: i32 {program.parameter = #program.parameter<dimension, 0>})
    attributes {launch = #program.launch<warps = 4, shared_bytes = 1024>, schema = [#program.dimension<"m">], schema_types = [index],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  // CHECK: %[[BAR:.*]] = llvm.mlir.addressof @dynamic_shared
  %bar = simt.shared_base
  // CHECK: nvvm.mbarrier.arrive.expect_tx %[[BAR]], %{{.*}} : !llvm.ptr<3>, i32 -> i64
  simt.barrier_expect %bar bytes(49152)
  // CHECK: nvvm.mbarrier.arrive %[[BAR]], %{{.*}} : !llvm.ptr<3> -> i64
  simt.barrier_arrive %bar
  // CHECK: nvvm.cp.async.mbarrier.arrive %{{.*}} {noinc = true}
  simt.barrier_arrive_after_copies %bar
  // An arrival in another block has the scope of this one: the wider one would fence all memory.
  // A rank outside of the cluster has no address, not even for threads that never arrive there: assembly stays in its branch.
  // CHECK: %[[OWN:.*]] = llvm.ptrtoint %[[BAR]]
  // CHECK: %[[MAPPED:.*]] = llvm.inline_asm "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r" %[[OWN]], %[[PARITY]] : (i32, i32) -> i32
  // CHECK: %[[REMOTE:.*]] = llvm.inttoptr %[[MAPPED]] : i32 to !llvm.ptr<7>
  // CHECK: nvvm.mbarrier.arrive %[[REMOTE]], %{{[0-9]+}} : !llvm.ptr<7>
  simt.barrier_arrive %bar rank %parity
  // A wait is a block that tries again.
  // CHECK: llvm.br ^[[TRY:.*]]
  // CHECK: ^[[TRY]]:
  // CHECK: %[[DONE:.*]] = nvvm.mbarrier.try_wait %[[BAR]], %[[PARITY]] : !llvm.ptr<3>, i32 -> i1
  // CHECK: llvm.cond_br %[[DONE]], ^[[AFTER:.*]], ^[[TRY]]
  // CHECK: ^[[AFTER]]:
  simt.barrier_wait %bar parity(%parity)
  // A try is one instruction, of a parity at the scope of the block.
  // CHECK: nvvm.mbarrier.try_wait %[[BAR]], %[[PARITY]] : !llvm.ptr<3>, i32 -> i1
  %complete = simt.barrier_try_wait %bar phase(%parity) : i32
  // CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  simt.proxy_fence
  // CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}
  simt.proxy_fence global
  simt.return
}

// CHECK-LABEL: llvm.func @copies(
// CHECK-SAME:    %[[MAP:[^:]*]]: !llvm.ptr
simt.kernel @copies(%map: !llvm.ptr {program.parameter = #program.parameter<tensor_map, 0>},
                    %at: i32 {program.parameter = #program.parameter<dimension, 0>})
    attributes {launch = #program.launch<warps = 4, shared_bytes = 16384>,
      schema = [#program.dimension<"m">, #program.tensor<"X", inout, dims[0, -1], alignment = 16>],
      schema_types = [index, tensor<?x64xbf16>], grid = [#program.host_expr<"1">],
      tensor_maps = [#program.tensor_map<0, box[64, 64], bytes128>]} {
  %base = simt.shared_base
  %bar = llvm.getelementptr %base[8192] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %blocks = arith.constant 3 : i16
  // CHECK: %[[TO:.*]] = llvm.addrspacecast %{{.*}} : !llvm.ptr<3> to !llvm.ptr<7>
  // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %[[TO]], %[[MAP]], %{{.*}}, box[%{{.*}}, %{{[^ ]*}}] : !llvm.ptr<7>, !llvm.ptr
  simt.tma_load %map[%at, %at] to %base on %bar
  // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} multicast_mask = %{{.*}} : !llvm.ptr<7>, !llvm.ptr
  simt.tma_load %map[%at, %at] to %base on %bar multicast %blocks
  // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}}, box[%{{.*}}, %{{.*}}, %{{.*}}] im2col[%{{[^ ]*}}] {mode = #nvvm.tma_load_mode<im2col>} : !llvm.ptr<7>, !llvm.ptr
  simt.tma_load %map[%at, %at, %at] offsets[%blocks] to %base on %bar
  // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[MAP]], %{{.*}}, box[%{{.*}}, %{{[^ ]*}}] : !llvm.ptr, <3>
  simt.tma_store %base to %map[%at, %at]
  // CHECK: nvvm.cp.async.bulk.commit.group
  simt.bulk_commit
  // CHECK: nvvm.cp.async.bulk.wait_group 1 {read}
  simt.bulk_wait 1 read
  // CHECK: nvvm.cp.async.bulk.wait_group 0
  simt.bulk_wait 0
  simt.return
}

// Threads copy 16 bytes past L1; at a tensor's end they read less than they write.
// CHECK-LABEL: llvm.func @groups(
// CHECK:         nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg
// CHECK-NEXT:    nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 4, cache = ca, %{{.*}} :
// CHECK:         nvvm.cp.async.commit.group
// CHECK:         nvvm.cp.async.wait.group 2
simt.kernel @groups(%from: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4, shared_bytes = 4096>, schema = [#program.tensor<"A", input, dims[-1]>],
    schema_types = [tensor<64xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %to = simt.shared_base
  %lane = nvvm.read.ptx.sreg.laneid : i32
  simt.copy_async %from to %to bytes(16)
  simt.copy_async %from to %to bytes(4) read %lane
  simt.commit_copies
  simt.await_copies pending(2)
  simt.return
}

}
