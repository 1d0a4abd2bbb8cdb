// RUN: %tlc-opt %s --split-input-file --simt-to-nvvm | FileCheck %s

// A kernel is an entry point, a tensor map the parameter's own memory, and the launch facts stay with the function.
module attributes {program.target = #program.target<"sm_90a">} {

// CHECK: llvm.mlir.global external @dynamic_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// CHECK-LABEL: llvm.func @whole(
// CHECK-SAME:    !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant},
// CHECK-SAME:    !llvm.ptr<1>,
// CHECK-SAME:    i32)
// CHECK-SAME:    nvvm.cluster_dim = array<i32: 2, 1, 1>, nvvm.kernel, nvvm.maxntid = array<i32: 256, 1, 1>, nvvm.minctasm = 2 : i32
// CHECK-SAME:    program.entry = #program.entry<launch = <warps = 8, cluster = 2, residents = 2, shared_bytes = 1024>, schema = [#program.dimension<"m">, #program.tensor<"X", input, dims[0, -1], alignment = 16>],
// CHECK-SAME:      grid = [#program.host_expr<"d0">], tensor_maps = [#program.tensor_map<0, box[64, 64], bytes128>],
// CHECK-SAME:      parameters = [#program.parameter<tensor_map, 0>, #program.parameter<tensor_pointer, 0>, #program.parameter<dimension, 0>],
// CHECK-SAME:      roles = [#program.role<"all", first_warp = 0, warps = 8>],
// CHECK-SAME:      shared = [#program.shared<"ready", barrier, offset = 0, slots = 1, slot_bytes = 8>]>
simt.kernel @whole(
    %map: !llvm.ptr {program.parameter = #program.parameter<tensor_map, 0>},
    %x: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>},
    %m: i32 {program.parameter = #program.parameter<dimension, 0>})
    attributes {launch = #program.launch<warps = 8, cluster = 2, residents = 2, shared_bytes = 1024>,
      schema = [#program.dimension<"m">, #program.tensor<"X", input, dims[0, -1], alignment = 16>],
      schema_types = [index, tensor<?x64xbf16>], grid = [#program.host_expr<"d0">],
      tensor_maps = [#program.tensor_map<0, box[64, 64], bytes128>],
      roles = [#program.role<"all", first_warp = 0, warps = 8>],
      shared = [#program.shared<"ready", barrier, offset = 0, slots = 1, slot_bytes = 8>]} {
  // CHECK: %[[BASE:.*]] = llvm.mlir.addressof @dynamic_shared : !llvm.ptr<3>
  %base = simt.shared_base
  // CHECK: nvvm.mbarrier.init %[[BASE]]
  simt.barrier_init %base count(1)
  // CHECK: nvvm.fence.mbarrier.init
  simt.barrier_init_fence
  // CHECK: nvvm.cluster.arrive.relaxed {aligned}
  // CHECK-NEXT: nvvm.cluster.wait {aligned}
  simt.cluster_sync relaxed
  // CHECK: nvvm.cluster.arrive {aligned}
  // CHECK-NEXT: nvvm.cluster.wait {aligned}
  simt.cluster_sync
  // The warp's number comes from lane 0.
  // CHECK: %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
  // CHECK: %[[WARP:.*]] = llvm.lshr %[[THREAD]], %{{.*}} : i32
  // CHECK: %[[UNIFORM:.*]] = nvvm.shfl.sync idx %{{.*}}, %[[WARP]], %{{.*}}, %{{.*}} : i32 -> i32
  %warp = simt.warp_index
  // CHECK: llvm.inline_asm has_side_effects {{.*}}"mov.b32 $0, $1;", "=r,r" %[[UNIFORM]]
  %again = simt.opaque %warp
  // CHECK: nvvm.read.ptx.sreg.cluster.ctarank
  %rank = simt.cluster_rank
  %c4 = arith.constant 4 : i32
  %first = arith.cmpi ult, %again, %c4 : i32
  // CHECK: llvm.cond_br
  scf.if %first {
    // CHECK: nvvm.setmaxregister decrease 40
    simt.set_registers 40
    // CHECK: nvvm.elect.sync -> i1
    %one = simt.elect
    scf.if %one {
      simt.tma_prefetch %map
    }
    // CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"
    simt.sync %c4 threads 160 arrive
  } else {
    // CHECK: nvvm.setmaxregister increase 232
    simt.set_registers 232 increase
    // CHECK: nvvm.barrier id = %{{.*}} number_of_threads = %{{.*}}
    simt.sync %rank threads 128
  }
  // CHECK: nvvm.barrier id = %{{[0-9]+$}}
  simt.sync %c4
  // CHECK: nvvm.bar.warp.sync
  simt.warp_sync
  // CHECK: llvm.return
  simt.return
}
}

// -----

// The array of shared memory makes room for a kernel of its name.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK: llvm.mlir.global external @[[ARRAY:dynamic_shared_[0-9]+]]()
// CHECK: llvm.func @dynamic_shared()
simt.kernel @dynamic_shared() attributes {launch = #program.launch<warps = 1, shared_bytes = 16>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  // CHECK: llvm.mlir.addressof @[[ARRAY]]
  %base = simt.shared_base
  simt.barrier_init %base count(1)
  simt.return
}
}
