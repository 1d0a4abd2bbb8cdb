// RUN: %tlc-opt %s -tile-to-simt -split-input-file -verify-diagnostics | FileCheck %s

#f32 = #tile.layout<"reg(32@1:1) lane(32@0:1) warp(4@0:32, 2@1:32)">
#bf16 = #tile.layout<"reg(64@1:1) lane(32@0:1) warp(4@0:32)">
#tile64 = #tile.shared_layout<"32x64 16b axis 1 panel 64 swizzle 128 pad 0">

// The first warp reserves columns and frees them; their address goes through shared memory. Two warpgroups have the
// columns of a row among them, and each warp of one the rows that it reaches.
// CHECK-LABEL: simt.kernel @fragments(
// CHECK:         %[[BASE:.*]] = simt.shared_base
// CHECK:         %[[WORD:.*]] = {{.*}}%[[BASE]]
// CHECK:         simt.tcgen05_alloc 64 to %[[WORD]]
// CHECK:         simt.tcgen05_fence{{$}}
// CHECK-NEXT:    simt.sync
// CHECK-NEXT:    simt.tcgen05_fence after
// CHECK-NEXT:    %[[COLUMNS:.*]] = simt.load %[[WORD]]
// CHECK-NEXT:    %[[WARP:.*]] = arith.andi %{{.*}}, %c3_i32
// CHECK-NEXT:    %[[LANES:.*]] = arith.muli %[[WARP]], %c2097152_i32
// CHECK-NEXT:    arith.addi %[[COLUMNS]], %[[LANES]]
// CHECK:         simt.tcgen05_load %{{.*}} : vector<32xi32>
// CHECK-NEXT:    simt.tcgen05_wait_load
// CHECK:         simt.tcgen05_store %{{.*}} : vector<32xi32>
// CHECK-NEXT:    simt.tcgen05_wait_store
// CHECK-NEXT:    simt.tcgen05_fence{{$}}
// CHECK-NEXT:    simt.sync
// CHECK-NEXT:    simt.tcgen05_fence after
// CHECK:         simt.tcgen05_dealloc 64 at %[[COLUMNS]]
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @fragments() attributes {launch = #program.launch<warps = 8>} {
  tile.reserve_tensor_memory "tensor memory" columns(64) at 8
  %acc = tile.alloc_tensor_memory "acc" at 0 : !tile.tensor_memory<128x64xf32>
  %f = tile.load %acc : !tile.tensor_memory<128x64xf32> -> tensor<128x64xf32, #f32>
  tile.store %f, %acc atom simt : tensor<128x64xf32, #f32>, !tile.tensor_memory<128x64xf32>
  tile.return
}
}

// -----

// The lane is above the 16 bits of the column.
#half = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
// CHECK-LABEL: simt.kernel @upper_lanes(
// CHECK:         %[[COLUMNS:.*]] = simt.load
// CHECK-NEXT:    %[[TILE:.*]] = arith.addi %[[COLUMNS]], %c1048608_i32
// CHECK:         %[[LANES:.*]] = arith.muli
// CHECK-NEXT:    arith.addi %[[TILE]], %[[LANES]]
// CHECK:         simt.tcgen05_load
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @upper_lanes() attributes {launch = #program.launch<warps = 4>} {
  tile.reserve_tensor_memory "tensor memory" columns(128) at 8
  %acc = tile.alloc_tensor_memory "acc" at 32 lane 16 : !tile.tensor_memory<64x64xf32>
  %f = tile.load %acc : !tile.tensor_memory<64x64xf32> -> tensor<64x64xf32, #half>
  tile.return
}
}

// -----

// Several pieces where one instruction does not move all registers.
#f32 = #tile.layout<"reg(192@1:1) lane(32@0:1) warp(4@0:32)">
// CHECK-LABEL: simt.kernel @pieces(
// CHECK:         simt.tcgen05_load %{{.*}} : vector<128xi32>
// CHECK:         simt.tcgen05_wait_load
// CHECK:         simt.tcgen05_load %{{.*}} : vector<64xi32>
// CHECK:         simt.tcgen05_wait_load
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @pieces() attributes {launch = #program.launch<warps = 4>} {
  tile.reserve_tensor_memory "tensor memory" columns(256) at 8
  %acc = tile.alloc_tensor_memory "acc" at 64 : !tile.tensor_memory<128x192xf32>
  %f = tile.load %acc : !tile.tensor_memory<128x192xf32> -> tensor<128x192xf32, #f32>
  tile.return
}
}

// -----

// A thread of 16 warps has 128 registers when the kernel starts: too few for ptxas to move 128 by one instruction.
#f32 = #tile.layout<"reg(128@1:1) lane(32@0:1) warp(4@0:32)">
// CHECK-LABEL: simt.kernel @few_registers(
// CHECK:         simt.tcgen05_load %{{.*}} : vector<64xi32>
// CHECK:         simt.tcgen05_load %{{.*}} : vector<64xi32>
// CHECK:         simt.tcgen05_store %{{.*}} : vector<64xi32>
// CHECK:         simt.tcgen05_store %{{.*}} : vector<64xi32>
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @few_registers() attributes {launch = #program.launch<warps = 16>} {
  tile.reserve_tensor_memory "tensor memory" columns(128) at 8
  %acc = tile.alloc_tensor_memory "acc" at 0 : !tile.tensor_memory<128x128xf32>
  tile.roles {
    tile.role "load" warps(12) {
    }
    tile.role "math" warps(4) {
      %f = tile.load %acc : !tile.tensor_memory<128x128xf32> -> tensor<128x128xf32, #f32>
      tile.store %f, %acc atom simt : tensor<128x128xf32, #f32>, !tile.tensor_memory<128x128xf32>
    }
  }
  tile.return
}
}

// -----

// A product by one thread: 32 bytes of k in each step, 8 columns of a left factor in tensor memory. The arrival waits for it.
#bf16 = #tile.layout<"reg(32@1:1) lane(32@0:1) warp(4@0:32)">
#b = #tile.shared_layout<"64x32 16b axis 1 panel 32 swizzle 64 pad 0">
// CHECK-LABEL: simt.kernel @products(
// CHECK:         simt.tcgen05_store %{{.*}} : vector<16xi32>
// CHECK:         %[[B:.*]] = simt.tcgen05_descriptor %{{.*}} leading(16) stride(512) swizzle bytes64
// CHECK:         simt.elect
// CHECK:         simt.tcgen05_mma %{{.*}}, %{{.*}}, %[[B]] if %{{.*}} {a_element = bf16, b_element = bf16, m = 128 : i64, n = 64 : i64} : i32
// CHECK:         simt.tcgen05_mma %{{.*}}, %{{.*}}, %{{.*}} if %true {a_element = bf16, b_element = bf16, m = 128 : i64, n = 64 : i64} : i32
// CHECK-NOT:     simt.tcgen05_mma
// CHECK:         simt.elect
// CHECK:         simt.tcgen05_commit
// CHECK:         simt.barrier_wait
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @products(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %false = arith.constant false
  tile.reserve_tensor_memory "tensor memory" columns(128) at 4104
  %done = tile.alloc_barrier "done" count(1) at 4096
  %b = tile.alloc_shared "b" at 0 : !tile.shared<64x32xbf16, #b>
  %bView = tile.transpose %b : !tile.shared<64x32xbf16, #b> -> !tile.shared<32x64xbf16, #b, transposed>
  %a = tile.alloc_tensor_memory "a" at 64 : !tile.tensor_memory<128x32xbf16>
  %acc = tile.alloc_tensor_memory "acc" at 0 : !tile.tensor_memory<128x64xf32>
  %h = arith.constant 1.0 : bf16
  %f = tile.splat %h : bf16 -> tensor<128x32xbf16, #bf16>
  tile.store %f, %a atom simt : tensor<128x32xbf16, #bf16>, !tile.tensor_memory<128x32xbf16>
  tile.gemm_in_place %a, %bView, %acc if %false : !tile.tensor_memory<128x32xbf16>, !tile.shared<32x64xbf16, #b, transposed>, !tile.tensor_memory<128x64xf32>
  tile.arrive %done after_products
  tile.wait %done phase(%c0)
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @no_columns() attributes {launch = #program.launch<warps = 4>} {
  // expected-error @below {{expected columns of tensor memory, but got none; run 'tile-plan-tensor-memory' before 'tile-to-simt'}}
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x64xf32>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @no_word() attributes {launch = #program.launch<warps = 4>} {
  // expected-error @below {{expected an offset in shared memory, but got none; run 'tile-plan-shared-memory' before 'tile-to-simt'}}
  tile.reserve_tensor_memory "tensor memory" columns(64)
  tile.return
}
}

// -----

#f32 = #tile.layout<"reg(64@1:1) lane(32@0:1) warp(4@0:32)">
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @not_whole() attributes {launch = #program.launch<warps = 6>} {
  tile.reserve_tensor_memory "tensor memory" columns(64) at 8
  %acc = tile.alloc_tensor_memory "acc" at 0 : !tile.tensor_memory<128x64xf32>
  tile.roles {
    tile.role "first" warps(2) {
    }
    tile.role "second" warps(4) {
      // expected-error @below {{expected whole warpgroups that begin at a multiple of 4 warps because each warp of one reaches a quarter of the lanes, but role 'second' has 4 warps from warp 2}}
      %f = tile.load %acc : !tile.tensor_memory<128x64xf32> -> tensor<128x64xf32, #f32>
    }
  }
  tile.return
}
}

// -----

#other = #tile.layout<"reg(32@1:1, 2@0:32) lane(32@0:1) warp(2@0:64, 2@1:32)">
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @layout() attributes {launch = #program.launch<warps = 4>} {
  tile.reserve_tensor_memory "tensor memory" columns(64) at 8
  %acc = tile.alloc_tensor_memory "acc" at 0 : !tile.tensor_memory<128x64xf32>
  // expected-error @below {{expected the fragment in the layout reg(64@1:1) lane(32@0:1) warp(4@0:32) because it is one of tensor memory, but got reg(32@1:1, 2@0:32) lane(32@0:1) warp(2@0:64, 2@1:32)}}
  %f = tile.load %acc : !tile.tensor_memory<128x64xf32> -> tensor<128x64xf32, #other>
  tile.return
}
}

// -----

#b = #tile.shared_layout<"128x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @multicast(%B: !tile.global<128x64xbf16> {program.argument = #program.tensor<"B", input, dims[-1, -1], alignment = 16>})
    attributes {launch = #program.launch<warps = 1, cluster = 2>} {
  %c0 = arith.constant 0 : index
  %ring = tile.alloc_ring "ring" at 16384 : !tile.ring<1>
  %b = tile.alloc_shared "b" at 0 : !tile.shared<128x64xbf16, #b>
  %at = tile.cursor : !tile.cursor<1>
  %s = tile.slice %B[%c0, %c0] : !tile.global<128x64xbf16> -> !tile.slice<128x64xbf16>
  tile.copy_async %s, %b, %ring[%at] multicast : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16, #b>, !tile.ring<1>
  // expected-error @below {{expected a channel without multicast because the products of one block arrive at its own barriers alone, but the blocks of the cluster fill this one together; release it with Arrival::now after gemmWait}}
  tile.release %ring[%at] after_products : !tile.ring<1>
  tile.return
}
}

// -----

#b = #tile.shared_layout<"64x128 8b axis 1 panel 64 swizzle 64 pad 0 interleaved">
#a = #tile.shared_layout<"128x128 8b axis 1 panel 64 swizzle 64 pad 0">
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @orders() attributes {launch = #program.launch<warps = 4>} {
  %false = arith.constant false
  tile.reserve_tensor_memory "tensor memory" columns(64) at 24576
  %b = tile.alloc_shared "b" at 0 : !tile.shared<64x128xf8E4M3FN, #b>
  %a = tile.alloc_shared "a" at 8192 : !tile.shared<128x128xf8E4M3FN, #a>
  %bView = tile.transpose %b : !tile.shared<64x128xf8E4M3FN, #b> -> !tile.shared<128x64xf8E4M3FN, #b, transposed>
  %acc = tile.alloc_tensor_memory "acc" at 0 : !tile.tensor_memory<128x64xf32>
  // expected-error @below {{expected factors with one order of elements along the reduced axis because they are multiplied place by place, but got 128x128 8b axis 1 panel 64 swizzle 64 pad 0 and 64x128 8b axis 1 panel 64 swizzle 64 pad 0 interleaved}}
  tile.gemm_in_place %a, %bView, %acc if %false : !tile.shared<128x128xf8E4M3FN, #a>, !tile.shared<128x64xf8E4M3FN, #b, transposed>, !tile.tensor_memory<128x64xf32>
  tile.return
}
}

// -----

// Some columns of a tile begin as many columns of 32 bits further on.
#part = #tile.layout<"reg(16@1:1) lane(32@0:1) warp(4@0:32)">
// CHECK-LABEL: simt.kernel @columns(
// CHECK:         %[[BASE:.*]] = simt.load
// CHECK-NEXT:    %[[TILE:.*]] = arith.addi %[[BASE]], %c64_i32
// CHECK-NEXT:    %[[PART:.*]] = arith.addi %[[TILE]], %c48_i32
// CHECK:         arith.addi %[[PART]],
// CHECK:         simt.tcgen05_load %{{.*}} : vector<16xi32>
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @columns() attributes {launch = #program.launch<warps = 4>} {
  tile.reserve_tensor_memory "tensor memory" columns(256) at 8
  %acc = tile.alloc_tensor_memory "acc" at 64 : !tile.tensor_memory<128x64xf32>
  %part = tile.columns %acc from 48 : !tile.tensor_memory<128x64xf32> -> !tile.tensor_memory<128x16xf32>
  %f = tile.load %part : !tile.tensor_memory<128x16xf32> -> tensor<128x16xf32, #part>
  tile.return
}
}

// -----

// Threads that go on with other columns wait once, for all of their stores.
#f32 = #tile.layout<"reg(32@1:1) lane(32@0:1) warp(4@0:32)">
// CHECK-LABEL: simt.kernel @later_wait(
// CHECK:         simt.tcgen05_store
// CHECK-NOT:     simt.tcgen05_wait_store
// CHECK:         simt.tcgen05_load
// CHECK-NOT:     simt.tcgen05_wait_store
// CHECK:         simt.tcgen05_store
// CHECK-NOT:     simt.tcgen05_wait_store
// CHECK:         simt.tcgen05_store
// CHECK-NEXT:    simt.tcgen05_wait_store
// CHECK-NOT:     simt.tcgen05_wait_store
// CHECK:         simt.tcgen05_dealloc
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @later_wait() attributes {launch = #program.launch<warps = 4>} {
  %f0 = arith.constant 0.0 : f32
  tile.reserve_tensor_memory "tensor memory" columns(128) at 8
  %acc = tile.alloc_tensor_memory "acc" at 0 : !tile.tensor_memory<128x128xf32>
  %a = tile.columns %acc from 0 : !tile.tensor_memory<128x128xf32> -> !tile.tensor_memory<128x32xf32>
  %b = tile.columns %acc from 32 : !tile.tensor_memory<128x128xf32> -> !tile.tensor_memory<128x32xf32>
  %c = tile.columns %acc from 64 : !tile.tensor_memory<128x128xf32> -> !tile.tensor_memory<128x32xf32>
  %zero = tile.splat %f0 : f32 -> tensor<128x32xf32, #f32>
  tile.store %zero, %a atom simt : tensor<128x32xf32, #f32>, !tile.tensor_memory<128x32xf32>
  %x = tile.load %b : !tile.tensor_memory<128x32xf32> -> tensor<128x32xf32, #f32>
  tile.store %x, %b atom simt : tensor<128x32xf32, #f32>, !tile.tensor_memory<128x32xf32>
  tile.store %zero, %c atom simt : tensor<128x32xf32, #f32>, !tile.tensor_memory<128x32xf32>
  tile.return
}
}

// -----

// They wait before they load what they stored, store over it, or let others know.
#f32 = #tile.layout<"reg(32@1:1) lane(32@0:1) warp(4@0:32)">
// CHECK-LABEL: simt.kernel @own_wait(
// CHECK:         simt.tcgen05_store
// CHECK-NEXT:    simt.tcgen05_wait_store
// CHECK:         simt.tcgen05_store
// CHECK-NOT:     simt.tcgen05_wait_store
// CHECK:         simt.tcgen05_load
// CHECK:         simt.tcgen05_store
// CHECK-NEXT:    simt.tcgen05_wait_store
// CHECK:         simt.tcgen05_fence{{$}}
// CHECK:         simt.tcgen05_store
// CHECK-NEXT:    simt.tcgen05_wait_store
// CHECK:         simt.tcgen05_store
// CHECK-NEXT:    simt.tcgen05_wait_store
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @own_wait() attributes {launch = #program.launch<warps = 4>} {
  %f0 = arith.constant 0.0 : f32
  tile.reserve_tensor_memory "tensor memory" columns(128) at 8
  %acc = tile.alloc_tensor_memory "acc" at 0 : !tile.tensor_memory<128x128xf32>
  %a = tile.columns %acc from 0 : !tile.tensor_memory<128x128xf32> -> !tile.tensor_memory<128x32xf32>
  %b = tile.columns %acc from 32 : !tile.tensor_memory<128x128xf32> -> !tile.tensor_memory<128x32xf32>
  %c = tile.columns %acc from 64 : !tile.tensor_memory<128x128xf32> -> !tile.tensor_memory<128x32xf32>
  %zero = tile.splat %f0 : f32 -> tensor<128x32xf32, #f32>
  // The load is of what the first of two stores wrote; the second one waits with the third.
  tile.store %zero, %a atom simt : tensor<128x32xf32, #f32>, !tile.tensor_memory<128x32xf32>
  tile.store %zero, %b atom simt : tensor<128x32xf32, #f32>, !tile.tensor_memory<128x32xf32>
  %x = tile.load %a : !tile.tensor_memory<128x32xf32> -> tensor<128x32xf32, #f32>
  tile.store %x, %c atom simt : tensor<128x32xf32, #f32>, !tile.tensor_memory<128x32xf32>
  tile.tensor_memory_fence
  tile.store %zero, %a atom simt : tensor<128x32xf32, #f32>, !tile.tensor_memory<128x32xf32>
  tile.store %zero, %a atom simt : tensor<128x32xf32, #f32>, !tile.tensor_memory<128x32xf32>
  tile.return
}
}

// -----

// The wait may come after the branch, with the store to another tile, but not where the two have columns in common.
#f32 = #tile.layout<"reg(32@1:1) lane(32@0:1) warp(4@0:32)">
// CHECK-LABEL: simt.kernel @after_branch(
// CHECK:         scf.if
// CHECK:           simt.tcgen05_store
// CHECK-NOT:       simt.tcgen05_wait_store
// CHECK:         simt.tcgen05_fence after
// CHECK:         simt.tcgen05_store
// CHECK-NEXT:    simt.tcgen05_wait_store
// CHECK:         scf.if
// CHECK:           simt.tcgen05_store
// CHECK-NEXT:      simt.tcgen05_wait_store
// CHECK:         simt.tcgen05_store
// CHECK-NEXT:    simt.tcgen05_wait_store
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @after_branch(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %f0 = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %first = arith.cmpi eq, %n, %c1 : index
  tile.reserve_tensor_memory "tensor memory" columns(128) at 8
  %sum = tile.alloc_tensor_memory "sum" at 0 : !tile.tensor_memory<128x32xf32>
  %factor = tile.alloc_tensor_memory "factor" at 32 : !tile.tensor_memory<128x32xf32>
  %over = tile.alloc_tensor_memory "over" at 48 : !tile.tensor_memory<128x32xf32>
  %zero = tile.splat %f0 : f32 -> tensor<128x32xf32, #f32>
  scf.if %first {
    tile.store %zero, %sum atom simt : tensor<128x32xf32, #f32>, !tile.tensor_memory<128x32xf32>
  }
  tile.tensor_memory_fence after
  tile.store %zero, %factor atom simt : tensor<128x32xf32, #f32>, !tile.tensor_memory<128x32xf32>
  tile.tensor_memory_fence
  scf.if %first {
    tile.store %zero, %factor atom simt : tensor<128x32xf32, #f32>, !tile.tensor_memory<128x32xf32>
  }
  tile.store %zero, %over atom simt : tensor<128x32xf32, #f32>, !tile.tensor_memory<128x32xf32>
  tile.return
}
}
