// RUN: %simt-opt %s | %simt-opt | FileCheck %s
// RUN: %simt-opt %s --mlir-print-op-generic | %simt-opt | FileCheck %s

module attributes {program.target = #program.target<"sm_90a">} {

// CHECK-LABEL: simt.kernel @parameters(
// CHECK-SAME:    %{{.*}}: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>},
// CHECK-SAME:    %{{.*}}: i64 {program.parameter = #program.parameter<tensor_stride, 0>},
// CHECK-SAME:    %{{.*}}: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 1>},
// CHECK-SAME:    %{{.*}}: i32 {program.parameter = #program.parameter<dimension, 0>},
// CHECK-SAME:    %{{.*}}: f32 {program.parameter = #program.parameter<scalar, 0>},
// CHECK-SAME:    %{{.*}}: !llvm.ptr {program.parameter = #program.parameter<tensor_map, 0>})
// CHECK-SAME:    attributes {grid = [#program.host_expr<"d0 64 ceildiv">, #program.host_expr<"sms">],
// CHECK-SAME:      launch = #program.launch<warps = 4, shared_bytes = 1024>,
// CHECK-SAME:      schema = [#program.dimension<"m">, #program.tensor<"X", inout, dims[0, -1]>, #program.scalar<"scale">],
// CHECK-SAME:      schema_types = [index, tensor<?x64xf32>, f32],
// CHECK-SAME:      tensor_maps = [#program.tensor_map<0, box[64, 32], bytes128>]} {
simt.kernel @parameters(
    %x: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>},
    %row: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
    %column: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 1>},
    %m: i32 {program.parameter = #program.parameter<dimension, 0>},
    %scale: f32 {program.parameter = #program.parameter<scalar, 0>},
    %map: !llvm.ptr {program.parameter = #program.parameter<tensor_map, 0>})
    attributes {launch = #program.launch<warps = 4, shared_bytes = 1024>,
      schema = [#program.dimension<"m">, #program.tensor<"X", inout, dims[0, -1]>, #program.scalar<"scale">],
      schema_types = [index, tensor<?x64xf32>, f32],
      grid = [#program.host_expr<"d0 64 ceildiv">, #program.host_expr<"sms">],
      tensor_maps = [#program.tensor_map<0, box[64, 32], bytes128>]} {
  // CHECK-NEXT: simt.return
  simt.return
}

// CHECK-LABEL: simt.kernel @control()
// CHECK-SAME:    launch = #program.launch<warps = 12, cluster = 2>,
simt.kernel @control() attributes {launch = #program.launch<warps = 12, cluster = 2>, schema = [],
    schema_types = [], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %one = arith.constant 1 : i32
  // CHECK: simt.shared_base
  %base = simt.shared_base
  // CHECK: simt.warp_index
  %warp = simt.warp_index
  // CHECK: simt.opaque %{{.*}}
  %again = simt.opaque %warp
  // CHECK: %[[ELECTED:.*]] = simt.elect
  %elected = simt.elect
  // CHECK: simt.cluster_rank
  %rank = simt.cluster_rank
  // CHECK: scf.if %[[ELECTED]] {
  scf.if %elected {
    // CHECK: simt.set_registers 40
    simt.set_registers 40
  } else {
    // CHECK: simt.set_registers 232 increase
    simt.set_registers 232 increase
  }
  // CHECK: simt.warp_sync
  simt.warp_sync
  // CHECK: simt.sync %{{.*}}
  simt.sync %one
  // CHECK: simt.sync %{{.*}} threads 256
  simt.sync %one threads 256
  // CHECK: simt.sync %{{.*}} threads 256 arrive
  simt.sync %one threads 256 arrive
  // CHECK: simt.cluster_sync{{$}}
  simt.cluster_sync
  // CHECK: simt.cluster_sync relaxed
  simt.cluster_sync relaxed
  %shared = simt.shared_base
  // CHECK: %[[THERE:.*]] = simt.address_in_block %{{.*}} of %{{.*}}
  %there = simt.address_in_block %shared of %rank
  // CHECK: simt.load %[[THERE]] : !llvm.ptr<7> -> vector<4xf32>
  %far = simt.load %there : !llvm.ptr<7> -> vector<4xf32>
  // CHECK: simt.store %{{.*}}, %[[THERE]] : vector<4xf32>, !llvm.ptr<7>
  simt.store %far, %there : vector<4xf32>, !llvm.ptr<7>
  // CHECK: %[[STATE:.*]] = simt.barrier_state %{{.*}}
  %state = simt.barrier_state %shared
  // CHECK: simt.cluster_arrive %{{.*}} of %{{.*}}
  simt.cluster_arrive %shared of %rank
  // CHECK: simt.cluster_wait %{{.*}} state(%[[STATE]])
  simt.cluster_wait %shared state(%state)
  // What nvvm has right is used as it is.
  // CHECK: nvvm.read.ptx.sreg.tid.x : i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  simt.return
}

// CHECK-LABEL: simt.kernel @asynchronous(
simt.kernel @asynchronous(%map: !llvm.ptr {program.parameter = #program.parameter<tensor_map, 0>})
    attributes {launch = #program.launch<warps = 4, shared_bytes = 4096>, schema = [#program.tensor<"X", inout, dims[-1, -1]>],
      schema_types = [tensor<64x64xbf16>], grid = [#program.host_expr<"1">],
      tensor_maps = [#program.tensor_map<0, box[64, 32], bytes128>]} {
  %x = arith.constant 0 : i32
  %mask = arith.constant 3 : i16
  %b = simt.shared_base
  // CHECK: simt.barrier_init %[[B:.*]] count(2)
  simt.barrier_init %b count(2)
  // CHECK: simt.barrier_init_fence
  simt.barrier_init_fence
  // CHECK: simt.barrier_arrive %[[B]]
  simt.barrier_arrive %b
  // CHECK: simt.barrier_arrive %[[B]] rank %[[X:.*]]
  simt.barrier_arrive %b rank %x
  // CHECK: simt.barrier_arrive_after_copies %[[B]]
  simt.barrier_arrive_after_copies %b
  // CHECK: simt.barrier_expect %[[B]] bytes(4096)
  simt.barrier_expect %b bytes(4096)
  // CHECK: simt.barrier_wait %[[B]] parity(%[[X]])
  simt.barrier_wait %b parity(%x)
  // CHECK: simt.barrier_try_wait %[[B]] phase(%[[X]]) : i32
  %complete = simt.barrier_try_wait %b phase(%x) : i32
  // CHECK: simt.tma_prefetch %[[MAP:.*]]
  simt.tma_prefetch %map
  // CHECK: simt.tma_load %[[MAP]][%[[X]], %[[X]]] to %[[B]] on %[[B]]
  simt.tma_load %map[%x, %x] to %b on %b
  // CHECK: simt.tma_load %[[MAP]][%[[X]], %[[X]]] to %[[B]] on %[[B]] multicast %{{.*}}
  simt.tma_load %map[%x, %x] to %b on %b multicast %mask
  // CHECK: simt.tma_load %[[MAP]][%[[X]], %[[X]], %[[X]], %[[X]]] offsets[%{{.*}}, %{{.*}}] to %[[B]] on %[[B]]
  simt.tma_load %map[%x, %x, %x, %x] offsets[%mask, %mask] to %b on %b
  // CHECK: simt.tma_store %[[B]] to %[[MAP]][%[[X]], %[[X]]]
  simt.tma_store %b to %map[%x, %x]
  // CHECK: simt.bulk_commit
  simt.bulk_commit
  // CHECK: simt.bulk_wait 0
  simt.bulk_wait 0
  // CHECK: simt.bulk_wait 1 read
  simt.bulk_wait 1 read
  // CHECK: simt.commit_copies
  simt.commit_copies
  // CHECK: simt.await_copies pending(1)
  simt.await_copies pending(1)
  // CHECK: simt.proxy_fence{{$}}
  simt.proxy_fence
  // CHECK: simt.proxy_fence global
  simt.proxy_fence global
  simt.return
}

// CHECK-LABEL: simt.kernel @matrices()
simt.kernel @matrices() attributes {launch = #program.launch<warps = 4, shared_bytes = 4096>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  %yes = arith.constant true
  %acc = arith.constant dense<0.0> : vector<64xf32>
  %four = arith.constant dense<0> : vector<4xi32>
  %two = arith.constant dense<0> : vector<2xi32>
  %small = arith.constant dense<0.0> : vector<4xf32>
  %p = simt.shared_base
  // CHECK: %[[D:.*]] = simt.matrix_descriptor %{{.*}} leading(16) stride(1024) swizzle bytes128
  %d = simt.matrix_descriptor %p leading(16) stride(1024) swizzle bytes128
  // CHECK: simt.permute_bytes %{{.*}}, %{{.*}}, %{{.*}}
  %selector = arith.constant 0x6420 : i32
  %permuted = simt.permute_bytes %selector, %selector, %selector
  // CHECK: %[[BYTES:.*]] = simt.encode %{{.*}} as f8E4M3FN : vector<64xf32> -> vector<64xi8>
  %bytes = simt.encode %acc as f8E4M3FN : vector<64xf32> -> vector<64xi8>
  // CHECK: simt.decode %[[BYTES]] as f8E4M3FN : vector<64xi8> -> vector<64xf32>
  %numbers = simt.decode %bytes as f8E4M3FN : vector<64xi8> -> vector<64xf32>
  // CHECK: simt.wgmma_fence
  simt.wgmma_fence
  // CHECK: %[[FIRST:.*]] = simt.wgmma %{{.*}}, %[[D]], %[[D]] zero %{{.*}} {a_element = bf16, b_element = bf16, n = 128 : i64, transpose_b} : vector<64xf32>, i64
  %0 = simt.wgmma %acc, %d, %d zero %yes {n = 128 : i64, a_element = bf16, b_element = bf16, transpose_b} : vector<64xf32>, i64
  // CHECK: %[[SECOND:.*]] = simt.wgmma %[[FIRST]], %{{.*}}, %[[D]] {a_element = f16, b_element = f16, n = 128 : i64} : vector<64xf32>, vector<4xi32>
  %1 = simt.wgmma %0, %four, %d {n = 128 : i64, a_element = f16, b_element = f16} : vector<64xf32>, vector<4xi32>
  // CHECK: simt.wgmma %{{.*}}, %[[D]], %[[D]] zero %{{.*}} metadata %{{.*}} {a_element = bf16, b_element = bf16, n = 128 : i64, selector = 1 : i64} : vector<64xf32>, i64
  %sparse = simt.wgmma %acc, %d, %d zero %yes metadata %selector {n = 128 : i64, a_element = bf16, b_element = bf16, selector = 1 : i64} : vector<64xf32>, i64
  // CHECK: simt.wgmma_commit
  simt.wgmma_commit
  // CHECK: simt.wgmma_wait 0 for %[[SECOND]] : vector<64xf32>
  %2 = simt.wgmma_wait 0 for %1 : vector<64xf32>
  // CHECK: simt.wgmma_wait 1
  simt.wgmma_wait 1
  // CHECK: simt.mma_sync %{{.*}}, %{{.*}}, %{{.*}} {a_element = bf16, b_element = bf16} : vector<4xf32>, vector<4xi32>, vector<2xi32>
  %3 = simt.mma_sync %small, %four, %two {a_element = bf16, b_element = bf16} : vector<4xf32>, vector<4xi32>, vector<2xi32>
  // CHECK: simt.mma_sync %{{.*}}, %{{.*}}, %{{.*}} {a_element = ui8, b_element = i8} : vector<4xi32>, vector<4xi32>, vector<2xi32>
  %integers = simt.mma_sync %four, %four, %two {a_element = ui8, b_element = i8} : vector<4xi32>, vector<4xi32>, vector<2xi32>
  // CHECK: simt.ldmatrix %{{.*}} : vector<4xi32>
  %4 = simt.ldmatrix %p : vector<4xi32>
  // CHECK: simt.ldmatrix %{{.*}} transpose : vector<2xi32>
  %5 = simt.ldmatrix %p transpose : vector<2xi32>
  // CHECK: simt.stmatrix %{{.*}}, %{{.*}} : vector<4xi32>
  simt.stmatrix %4, %p : vector<4xi32>
  // CHECK: simt.stmatrix %{{.*}}, %{{.*}} transpose : vector<2xi32>
  simt.stmatrix %5, %p transpose : vector<2xi32>
  simt.return
}

// CHECK-LABEL: simt.kernel @memory(
simt.kernel @memory(%g: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 1, shared_bytes = 64>, schema = [#program.tensor<"X", inout, dims[-1]>],
      schema_types = [tensor<64xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %yes = arith.constant true
  %s = simt.shared_base
  // CHECK: simt.load %{{.*}} : !llvm.ptr<1> -> vector<4xf32>
  %0 = simt.load %g : !llvm.ptr<1> -> vector<4xf32>
  // CHECK: simt.load %{{.*}} if %{{.*}} : !llvm.ptr<3> -> f32
  %1 = simt.load %s if %yes : !llvm.ptr<3> -> f32
  // CHECK: simt.store %{{.*}}, %{{.*}} : vector<4xf32>, !llvm.ptr<3>
  simt.store %0, %s : vector<4xf32>, !llvm.ptr<3>
  // CHECK: simt.store %{{.*}}, %{{.*}} if %{{.*}} : f32, !llvm.ptr<1>
  simt.store %1, %g if %yes : f32, !llvm.ptr<1>
  // CHECK: simt.atomic addf %{{.*}}, %{{.*}} : f32
  simt.atomic addf %1, %g : f32, !llvm.ptr<1>
  // CHECK: simt.atomic addf %{{.*}}, %{{.*}} : vector<4xf32>
  simt.atomic addf %0, %g : vector<4xf32>, !llvm.ptr<1>
  %bits = arith.constant 5 : i32
  // CHECK: simt.atomic xori %{{.*}}, %{{.*}} : i32
  simt.atomic xori %bits, %g : i32, !llvm.ptr<1>
  // CHECK: simt.atomic xori %{{.*}}, %{{.*}} system : i32
  simt.atomic xori %bits, %g system : i32, !llvm.ptr<1>
  // CHECK: simt.atomic addi %{{.*}}, %{{.*}} : i32, !llvm.ptr<3>
  simt.atomic addi %bits, %s : i32, !llvm.ptr<3>
  // CHECK: simt.multicast_load addf %{{.*}} : !llvm.ptr<1> -> vector<4xf32>
  %all = simt.multicast_load addf %g : !llvm.ptr<1> -> vector<4xf32>
  // CHECK: simt.multicast_load maxnumf %{{.*}} if %{{.*}} : !llvm.ptr<1> -> vector<2xbf16>
  %halves = simt.multicast_load maxnumf %g if %yes : !llvm.ptr<1> -> vector<2xbf16>
  // CHECK: simt.multicast_store %{{.*}}, %{{.*}} if %{{.*}} : vector<2xbf16>, !llvm.ptr<1>
  simt.multicast_store %halves, %g if %yes : vector<2xbf16>, !llvm.ptr<1>
  // CHECK: simt.multicast_atomic addi %{{.*}}, %{{.*}} release : i32, !llvm.ptr<1>
  simt.multicast_atomic addi %bits, %g release : i32, !llvm.ptr<1>
  // CHECK: simt.alias_fence
  simt.alias_fence
  // CHECK: simt.end_waits
  simt.end_waits
  // CHECK: simt.waits_end
  %ends = simt.waits_end
  // CHECK: simt.vote_any %{{.*}}
  %any = simt.vote_any %yes
  // CHECK: simt.shuffle_xor %{{.*}} mask(16) : f32
  %2 = simt.shuffle_xor %1 mask(16) : f32
  simt.return
}

// CHECK-LABEL: simt.kernel @policies(
simt.kernel @policies(%g: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>},
                      %map: !llvm.ptr {program.parameter = #program.parameter<tensor_map, 0>})
    attributes {launch = #program.launch<warps = 1, shared_bytes = 2048>,
      schema = [#program.tensor<"X", inout, dims[-1, -1], alignment = 16>], schema_types = [tensor<64x64xf32>],
      grid = [#program.host_expr<"1">], tensor_maps = [#program.tensor_map<0, box[8, 32], bytes128>]} {
  %yes = arith.constant true
  %at = arith.constant 5 : i32
  %blocks = arith.constant 3 : i16
  %s = simt.shared_base
  // CHECK: %[[FIRST:.*]] = simt.cache_policy evict first
  %first = simt.cache_policy evict first
  // CHECK: %[[LAST:.*]] = simt.cache_policy evict last
  %last = simt.cache_policy evict last
  // CHECK: simt.load %{{.*}} policy %[[FIRST]] : !llvm.ptr<1> -> vector<4xf32>
  %0 = simt.load %g policy %first : !llvm.ptr<1> -> vector<4xf32>
  // CHECK: simt.load %{{.*}} if %{{.*}} policy %[[LAST]] : !llvm.ptr<1> -> f32
  %1 = simt.load %g if %yes policy %last : !llvm.ptr<1> -> f32
  // CHECK: simt.store %{{.*}}, %{{.*}} policy %[[FIRST]] : vector<4xf32>, !llvm.ptr<1>
  simt.store %0, %g policy %first : vector<4xf32>, !llvm.ptr<1>
  // CHECK: simt.store %{{.*}}, %{{.*}} if %{{.*}} policy %[[LAST]] : f32, !llvm.ptr<1>
  simt.store %1, %g if %yes policy %last : f32, !llvm.ptr<1>
  // CHECK: simt.tma_load %{{.*}}[%{{.*}}] to %{{.*}} on %{{.*}} policy %[[FIRST]]
  simt.tma_load %map[%at, %at] to %s on %s policy %first
  // CHECK: simt.tma_load %{{.*}}[%{{.*}}] to %{{.*}} on %{{.*}} multicast %{{.*}} policy %[[FIRST]]
  simt.tma_load %map[%at, %at] to %s on %s multicast %blocks policy %first
  // CHECK: simt.tma_store %{{.*}} to %{{.*}}[%{{.*}}] policy %[[LAST]]
  simt.tma_store %s to %map[%at, %at] policy %last
  simt.return
}
}
