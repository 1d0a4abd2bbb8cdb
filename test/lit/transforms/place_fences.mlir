// RUN: %tile-opt %s --tile-place-fences -split-input-file -verify-diagnostics | FileCheck %s

// A tile that some threads write and others read: they meet in between, once for several reads.
// CHECK-LABEL: tile.kernel @write_read(
// CHECK:         tile.store
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    %{{.*}} = tile.load
// CHECK-NEXT:    %{{.*}} = tile.load
// CHECK-NEXT:    tile.return
tile.kernel @write_read(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  %l1 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  %l2 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  tile.return
}

// Tiles at one place are one buffer.
// CHECK-LABEL: tile.kernel @one_place(
// CHECK:         tile.store %{{.*}}, %a
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.store %{{.*}}, %b
// CHECK-NEXT:    tile.store %{{.*}}, %c
tile.kernel @one_place(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" at 0 : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" at 0 : !tile.shared<64x64xbf16>
  %c = tile.alloc_shared "c" at 8192 : !tile.shared<64x64xbf16>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  tile.store %h, %b atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  tile.store %h, %c atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  tile.return
}

// A write waits for those who still read, and for another write; reads of another buffer wait for nobody.
// CHECK-LABEL: tile.kernel @conflicts(
// CHECK:         tile.load
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.store
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.store
// CHECK-NEXT:    %{{.*}} = tile.load
// CHECK-NEXT:    tile.return
tile.kernel @conflicts(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  %l3 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  %l4 = tile.load %b : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  tile.return
}

// One meeting serves all buffers.
// CHECK-LABEL: tile.kernel @one_sync(
// CHECK-COUNT-2: tile.store
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    %{{.*}} = tile.load
// CHECK-NEXT:    %{{.*}} = tile.load
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.store
// CHECK-NEXT:    tile.store
// CHECK-NEXT:    tile.return
tile.kernel @one_sync(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  tile.store %h, %b atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  %l5 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  %l6 = tile.load %b : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  tile.store %h, %b atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  tile.return
}

// Ordinary products read by ordinary loads: no proxy is involved.
// CHECK-LABEL: tile.kernel @mma_sync(
// CHECK-COUNT-2: tile.copy
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    %{{.*}} = tile.gemm
// CHECK-NEXT:    tile.return
tile.kernel @mma_sync(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.copy %x, %a atom simt : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
  tile.copy %x, %b atom simt : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
  %g7 = tile.gemm %a, %b, %zero atom mma_sync : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  tile.return
}

// wgmma reads by the asynchronous proxy: every thread tells it of its writes, then they meet. Once is enough.
// CHECK-LABEL: tile.kernel @wgmma(
// CHECK-COUNT-2: tile.copy
// CHECK-NEXT:    tile.proxy_fence
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    %{{.*}} = tile.gemm
// CHECK-NEXT:    %{{.*}} = tile.gemm
// CHECK-NEXT:    tile.return
tile.kernel @wgmma(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.copy %x, %a atom simt : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
  tile.copy %x, %b atom simt : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
  %g8 = tile.gemm %a, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %g9 = tile.gemm %a, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  tile.return
}

// The fence comes with the first meeting after the write, whatever that is for.
// CHECK-LABEL: tile.kernel @fence_with_first_sync(
// CHECK:         tile.store
// CHECK-NEXT:    tile.proxy_fence
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    %{{.*}} = tile.load
// CHECK-NEXT:    %{{.*}} = tile.gemm
// CHECK-NEXT:    tile.return
tile.kernel @fence_with_first_sync(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  %l10 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  %g11 = tile.gemm %a, %a, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  tile.return
}

// What only ordinary accesses touch needs no fence.
// CHECK-LABEL: tile.kernel @no_needless_fence(
// CHECK:         tile.store
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    %{{.*}} = tile.load
// CHECK-NEXT:    %{{.*}} = tile.gemm
// CHECK-NEXT:    tile.return
tile.kernel @no_needless_fence(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  %l12 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  %g13 = tile.gemm %b, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  tile.return
}

// A view is its buffer.
// CHECK-LABEL: tile.kernel @view(
// CHECK:         tile.store
// CHECK-NEXT:    tile.proxy_fence
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    %{{.*}} = tile.gemm
tile.kernel @view(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  %t = tile.transpose %a : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  %g = tile.gemm %b, %t, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
  tile.return
}

// What the author wrote counts.
// CHECK-LABEL: tile.kernel @by_hand(
// CHECK:         tile.store
// CHECK-NEXT:    tile.proxy_fence
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    %{{.*}} = tile.gemm
// CHECK-NEXT:    tile.return
tile.kernel @by_hand(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  tile.proxy_fence
  tile.sync
  %g14 = tile.gemm %a, %a, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  tile.return
}

// The author's meeting misses the fence: it goes before.
// CHECK-LABEL: tile.kernel @sync_by_hand(
// CHECK:         tile.store
// CHECK-NEXT:    tile.proxy_fence
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    %{{.*}} = tile.gemm
// CHECK-NEXT:    tile.return
tile.kernel @sync_by_hand(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  tile.sync
  %g15 = tile.gemm %a, %a, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  tile.return
}

// A synchronous loop: the next copy waits until all are done reading, around the back edge, and the product for the copies.
// CHECK-LABEL: tile.kernel @loop(
// CHECK:         scf.for
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      tile.copy
// CHECK-NEXT:      tile.copy
// CHECK-NEXT:      tile.proxy_fence
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      %{{.*}} = tile.gemm
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.return
tile.kernel @loop(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  scf.for %i = %c0 to %n step %c1 {
    tile.copy %x, %a atom simt : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    tile.copy %x, %b atom simt : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %g16 = tile.gemm %a, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  }
  tile.return
}

// What a loop wrote is read after it, though it may not have run; and its own writes follow one another.
// CHECK-LABEL: tile.kernel @after_loop(
// CHECK:         scf.for
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      tile.store
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    %{{.*}} = tile.load
tile.kernel @after_loop(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  scf.for %i = %c0 to %n step %c1 {
    tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  }
  %l17 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  tile.return
}

// From before two loops, and around the outer one.
// CHECK-LABEL: tile.kernel @nested_loops(
// CHECK:         tile.store
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      %{{.*}} = tile.load
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        %{{.*}} = tile.load
// CHECK-NEXT:      }
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      tile.store
tile.kernel @nested_loops(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  scf.for %i = %c0 to %n step %c1 {
    %l18 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    scf.for %j = %c0 to %n step %c1 {
      %l19 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
    tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  }
  tile.return
}

// A write on one side is a write that may have happened.
// CHECK-LABEL: tile.kernel @branch(
// CHECK:         scf.if
// CHECK-NEXT:      tile.store
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    %{{.*}} = tile.load
tile.kernel @branch(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  %p = arith.cmpi ugt, %n, %c1 : index
  scf.if %p {
    tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  }
  %l20 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  tile.return
}

// Where both sides meet already, what follows need not.
// CHECK-LABEL: tile.kernel @both_branches(
// CHECK:         scf.if
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      %{{.*}} = tile.load
// CHECK-NEXT:    } else {
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      %{{.*}} = tile.load
// CHECK-NEXT:    }
// CHECK-NEXT:    %{{.*}} = tile.load
// CHECK-NEXT:    tile.return
tile.kernel @both_branches(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  %p = arith.cmpi ugt, %n, %c1 : index
  scf.if %p {
    %l21 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  } else {
    %l22 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  }
  %l23 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  tile.return
}

// Where one side does, the other way still has to.
// CHECK-LABEL: tile.kernel @one_branch(
// CHECK:         scf.if
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      %{{.*}} = tile.load
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    %{{.*}} = tile.load
tile.kernel @one_branch(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  %p = arith.cmpi ugt, %n, %c1 : index
  scf.if %p {
    %l24 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  }
  %l25 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  tile.return
}

// Operations with scratch memory meet in it themselves; that serves the others, too, and takes the fence along.
// CHECK-LABEL: tile.kernel @scratch(
// CHECK:         tile.store
// CHECK-NEXT:    tile.proxy_fence
// CHECK-NEXT:    %{{.*}} = tile.reduce
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      %{{.*}} = tile.reduce
// CHECK-NEXT:    }
// CHECK-NEXT:    %{{.*}} = tile.load
// CHECK-NEXT:    %{{.*}} = tile.gemm
// CHECK-NEXT:    tile.return
tile.kernel @scratch(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  %scratch = tile.alloc_shared "scratch" : !tile.shared<64x4xf32>
  tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  %s = tile.reduce sum %zero axis(1) scratch %scratch : !tile.shared<64x4xf32> : tensor<64x64xf32> -> tensor<64x1xf32>
  scf.for %i = %c0 to %n step %c1 {
    %t = tile.reduce sum %zero axis(1) scratch %scratch : !tile.shared<64x4xf32> : tensor<64x64xf32> -> tensor<64x1xf32>
  }
  %l26 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  %g27 = tile.gemm %a, %a, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  tile.return
}

// Slots that the TMA fills and others read are ordered by their ring. Loads by threads may still be under way when a
// barrier lets the TMA fill the slot again: only a fence waits for them. Products are over when they have been awaited.
// CHECK-LABEL: tile.kernel @rings(
// CHECK:         tile.roles
// CHECK-NOT:     tile.sync
// CHECK-NOT:     tile.proxy_fence
// CHECK:         tile.load
// CHECK-NEXT:    tile.proxy_fence
// CHECK-NEXT:    tile.release
// CHECK-NOT:     tile.proxy_fence
// CHECK:         tile.return
tile.kernel @rings(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %slots = tile.alloc_shared "slots" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "load" warps(4) {
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%c = %first) -> (!tile.cursor<2>) {
        tile.acquire %ring[%c] : !tile.ring<2>
        tile.expect %ring[%c] bytes(8192) : !tile.ring<2>
        %slot = tile.slot %slots[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        tile.copy_async %x, %slot, %ring[%c] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>, !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
    }
    tile.role "math" warps(4) {
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%c = %first) -> (!tile.cursor<2>) {
        tile.await %ring[%c] : !tile.ring<2>
        %slot = tile.slot %slots[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %g29 = tile.gemm %slot, %slot, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %l30 = tile.load %slot : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
        tile.release %ring[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
    }
  }
  tile.return
}

// A role that reads a slot after it has published it: the ring does not order the threads of its two warpgroups, which synchronize before they
// read what others of them wrote, and before they write again.
// CHECK-LABEL: tile.kernel @reads_on(
// CHECK:         tile.role "store"
// CHECK:           tile.acquire
// CHECK:           tile.sync
// CHECK-NEXT:      tile.store
// CHECK-NEXT:      tile.publish
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      tile.load
// CHECK:         tile.role "read"
// CHECK-NOT:     tile.sync
// CHECK:         tile.return
tile.kernel @reads_on(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 12>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %h0 = arith.constant 0.0 : bf16
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %slots = tile.alloc_shared "slots" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "store" warps(8) {
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%c = %first) -> (!tile.cursor<2>) {
        tile.acquire %ring[%c] : !tile.ring<2>
        %slot = tile.slot %slots[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        tile.store %h, %slot atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
        tile.publish %ring[%c] : !tile.ring<2>
        %own = tile.load %slot : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
    }
    tile.role "read" warps(4) {
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%c = %first) -> (!tile.cursor<2>) {
        tile.await %ring[%c] : !tile.ring<2>
        %slot = tile.slot %slots[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %other = tile.load %slot : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
        tile.release %ring[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
    }
  }
  tile.return
}

// One warpgroup meets where it publishes, and again only before it writes.
// CHECK-LABEL: tile.kernel @warpgroup_reads_on(
// CHECK:         tile.role "store"
// CHECK:           tile.acquire
// CHECK:           tile.sync
// CHECK-NEXT:      tile.store
// CHECK-NEXT:      tile.publish
// CHECK-NEXT:      tile.load
// CHECK:         tile.role "read"
// CHECK-NOT:     tile.sync
// CHECK:         tile.return
tile.kernel @warpgroup_reads_on(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %h0 = arith.constant 0.0 : bf16
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %slots = tile.alloc_shared "slots" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "store" warps(4) {
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%c = %first) -> (!tile.cursor<2>) {
        tile.acquire %ring[%c] : !tile.ring<2>
        %slot = tile.slot %slots[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        tile.store %h, %slot atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
        tile.publish %ring[%c] : !tile.ring<2>
        %own = tile.load %slot : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
    }
    tile.role "read" warps(4) {
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%c = %first) -> (!tile.cursor<2>) {
        tile.await %ring[%c] : !tile.ring<2>
        %slot = tile.slot %slots[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %other = tile.load %slot : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
        tile.release %ring[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
    }
  }
  tile.return
}

// A slot filled by ordinary stores, for wgmma in another role: the fence goes before the slot is handed over. The
// next round owns its slot when it has acquired it, and meets nobody.
// CHECK-LABEL: tile.kernel @publish(
// CHECK:         tile.role "store"
// CHECK:           tile.acquire
// CHECK:           tile.store
// CHECK-NEXT:      tile.proxy_fence
// CHECK-NEXT:      tile.publish
// CHECK-NOT:     tile.sync
// CHECK:         tile.role "math"
// CHECK-NOT:     tile.sync
// CHECK-NOT:     tile.proxy_fence
// CHECK:         tile.return
tile.kernel @publish(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %slots = tile.alloc_shared "slots" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "store" warps(4) {
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%c = %first) -> (!tile.cursor<2>) {
        tile.acquire %ring[%c] : !tile.ring<2>
        %slot = tile.slot %slots[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        tile.store %h, %slot atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
        tile.publish %ring[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
    }
    tile.role "math" warps(4) {
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%c = %first) -> (!tile.cursor<2>) {
        tile.await %ring[%c] : !tile.ring<2>
        %slot = tile.slot %slots[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %g28 = tile.gemm %slot, %slot, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        tile.release %ring[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
    }
  }
  tile.return
}

// A role that changes a slot which it owns meets like anywhere else, and fences before the TMA fills it again.
// CHECK-LABEL: tile.kernel @in_place(
// CHECK:         tile.role "math"
// CHECK:           tile.load
// CHECK-NEXT:      tile.proxy_fence
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      tile.store
// CHECK-NEXT:      tile.proxy_fence
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      %{{.*}} = tile.gemm
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      tile.store
// CHECK-NEXT:      tile.proxy_fence
// CHECK-NEXT:      tile.release
tile.kernel @in_place(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %slots = tile.alloc_shared "slots" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "load" warps(4) {
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%c = %first) -> (!tile.cursor<2>) {
        tile.acquire %ring[%c] : !tile.ring<2>
        tile.expect %ring[%c] bytes(8192) : !tile.ring<2>
        %slot = tile.slot %slots[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        tile.copy_async %x, %slot, %ring[%c] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>, !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
    }
    tile.role "math" warps(4) {
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%c = %first) -> (!tile.cursor<2>) {
        tile.await %ring[%c] : !tile.ring<2>
        %slot = tile.slot %slots[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %l31 = tile.load %slot : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
        tile.store %h, %slot atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
        %g32 = tile.gemm %slot, %slot, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        tile.store %h, %slot atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
        tile.release %ring[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
    }
  }
  tile.return
}

// The result leaves through the slot of the left factor: each warpgroup writes the rows that it alone has read, so
// they need not meet; before another role has it the writes are fenced.
#rows = #tile.layout<"reg(2@1:1, 2@0:8, 16@1:8) lane(4@1:2, 8@0:1) warp(8@0:16)">
// CHECK-LABEL: tile.kernel @own_rows(
// CHECK:         tile.role "math"
// CHECK-NOT:       tile.sync
// CHECK:           tile.gemm
// CHECK-NOT:       tile.sync
// CHECK:           tile.store
// CHECK-NEXT:      tile.proxy_fence
// CHECK-NEXT:      tile.publish
// CHECK-NOT:       tile.sync
// CHECK:         tile.return
tile.kernel @own_rows(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 12>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %zero = tile.splat %f0 : f32 -> tensor<128x128xf32, #rows>
  %h = tile.splat %h0 : bf16 -> tensor<128x128xbf16, #rows>
  %in = tile.alloc_ring "in" : !tile.ring<2>
  %out = tile.alloc_ring "out" : !tile.ring<2>
  %slots = tile.alloc_shared "slots" : !tile.shared<2x128x128xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<128x128xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "load" warps(4) {
    }
    tile.role "math" warps(8) {
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%c = %first, %d = %first) -> (!tile.cursor<2>, !tile.cursor<2>) {
        tile.await %in[%c] : !tile.ring<2>
        %q = tile.slot %slots[%c] : !tile.shared<2x128x128xbf16>, !tile.cursor<2> -> !tile.shared<128x128xbf16>
        %g = tile.gemm %q, %b, %zero atom wgmma : !tile.shared<128x128xbf16>, !tile.shared<128x128xbf16>, tensor<128x128xf32, #rows>
        %o = tile.slot %slots[%d] : !tile.shared<2x128x128xbf16>, !tile.cursor<2> -> !tile.shared<128x128xbf16>
        tile.store %h, %o atom simt : tensor<128x128xbf16, #rows>, !tile.shared<128x128xbf16>
        tile.publish %out[%d] : !tile.ring<2>
        %nextC = tile.advance %c : !tile.cursor<2>
        %nextD = tile.advance %d : !tile.cursor<2>
        scf.yield %nextC, %nextD : !tile.cursor<2>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// One position in two rings: the second ring's await says nothing of the first one's slot.
// CHECK-LABEL: tile.kernel @shared_cursor(
// CHECK:           tile.store
// CHECK-NEXT:      tile.await %other
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      %{{.*}} = tile.load
tile.kernel @shared_cursor(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  %other = tile.alloc_ring "other" : !tile.ring<2>
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %slots = tile.alloc_shared "slots" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "one" warps(4) {
      tile.await %ring[%first] : !tile.ring<2>
      %slot = tile.slot %slots[%first] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
      tile.store %h, %slot atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
      tile.await %other[%first] : !tile.ring<2>
      %l33 = tile.load %slot : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
  }
  tile.return
}

// What all threads wrote, all threads have to see before they part; the roles themselves need not meet again. After
// the roles the block meets.
// CHECK-LABEL: tile.kernel @before_roles(
// CHECK-COUNT-2: tile.store
// CHECK-NEXT:    tile.proxy_fence
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.roles
// CHECK-NEXT:      tile.role "one"
// CHECK-NEXT:        %{{.*}} = tile.load
// CHECK-NEXT:        %{{.*}} = tile.gemm
// CHECK-NEXT:      }
// CHECK-NEXT:      tile.role "two"
// CHECK-NEXT:        %{{.*}} = tile.load
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.store
tile.kernel @before_roles(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  tile.store %h, %b atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "one" warps(4) {
      %l34 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
      %g35 = tile.gemm %b, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    }
    tile.role "two" warps(4) {
      %l36 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
  }
  tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  tile.return
}

// Between roles the author says who waits for whom; the fence goes before the arrival or the named barrier.
// CHECK-LABEL: tile.kernel @between_roles(
// CHECK:         tile.role "one"
// CHECK-NEXT:      tile.store
// CHECK-NEXT:      tile.proxy_fence
// CHECK-NEXT:      tile.arrive
// CHECK-NEXT:      tile.store
// CHECK-NEXT:      tile.proxy_fence
// CHECK-NEXT:      tile.named_barrier
// CHECK-NOT:     tile.sync
// CHECK:         tile.return
tile.kernel @between_roles(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  %bar = tile.alloc_barrier "bar" count(128)
  tile.roles {
    tile.role "one" warps(4) {
      tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
      tile.arrive %bar
      tile.store %h, %b atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
      tile.named_barrier 1 warps(8)
    }
    tile.role "two" warps(4) {
      tile.wait %bar phase(%c0)
      %g37 = tile.gemm %a, %a, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      tile.named_barrier 1 warps(8)
      %g38 = tile.gemm %b, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    }
  }
  tile.return
}

// A store through the TMA orders its staging buffer itself.
// CHECK-LABEL: tile.kernel @staging(
// CHECK:         scf.for
// CHECK-NEXT:      tile.slice
// CHECK-NEXT:      tile.store
// CHECK-NEXT:    }
tile.kernel @staging(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  %staging = tile.alloc_shared "X.staging" : !tile.shared<1x2x64x64xbf16>
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %n step %c64 {
    %at = tile.slice %X[%i, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
    tile.store %h, %at staging %staging : !tile.shared<1x2x64x64xbf16> atom tma : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
  }
  tile.return
}

// -----

// What threads add to a tensor others may read only after a barrier, and add only after others have read or written.
// Additions are ordered among themselves.
// CHECK-LABEL: tile.kernel @additions(
// CHECK:         tile.load
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.atomic add
// CHECK-NEXT:    tile.atomic add
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.load
// CHECK-NEXT:    tile.load
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.store
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.atomic add
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.store
// CHECK-NEXT:    tile.return
tile.kernel @additions(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  %before = tile.load %x : !tile.slice<64x64xf32> -> tensor<64x64xf32>
  tile.atomic add %h, %x : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.atomic add %h, %x : tensor<64x64xf32>, !tile.slice<64x64xf32>
  %after = tile.load %x : !tile.slice<64x64xf32> -> tensor<64x64xf32>
  %again = tile.load %x : !tile.slice<64x64xf32> -> tensor<64x64xf32>
  tile.store %h, %x atom simt : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.atomic add %h, %x : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.store %h, %x atom simt : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}

// Also around the back edge, and not where a loop only adds.
// CHECK-LABEL: tile.kernel @additions_in_loops(
// CHECK:         scf.for
// CHECK-NEXT:      tile.atomic add
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      tile.load
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      tile.atomic add
// CHECK-NEXT:    }
tile.kernel @additions_in_loops(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  scf.for %i = %c0 to %n step %c1 {
    tile.atomic add %h, %x : tensor<64x64xf32>, !tile.slice<64x64xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %now = tile.load %x : !tile.slice<64x64xf32> -> tensor<64x64xf32>
    tile.atomic add %h, %x : tensor<64x64xf32>, !tile.slice<64x64xf32>
  }
  tile.return
}

// What was added before roles begin, one of them reads.
// CHECK-LABEL: tile.kernel @additions_before_roles(
// CHECK:         tile.atomic add
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.roles
tile.kernel @additions_before_roles(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.atomic add %h, %x : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.roles {
    tile.role "one" warps(4) {
      %later = tile.load %x : !tile.slice<64x64xf32> -> tensor<64x64xf32>
    }
  }
  tile.return
}

// -----

// Silence about an operation that is not known would be a barrier that is missing.
tile.kernel @unknown() attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected an operation whose accesses are known because barriers are placed by them, but got 'tile.variable'}}
  %v = tile.variable %c0 : !tile.variable<index>
  tile.return
}

// -----

// A buffer that a loop carries could be any.
tile.kernel @out_of_sight(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> (!tile.shared<64x64xbf16>) {
    // expected-error @below {{expected shared memory that is a buffer, a slot or a view of one because accesses are ordered by buffer, but got another}}
    %f = tile.load %t : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    scf.yield %t : !tile.shared<64x64xbf16>
  }
  tile.return
}

// -----

// A copy in flight writes its slot when it is awaited: until then reads of other slots need no barrier. Before a product
// by wgmma reads it, its proxy is told.
// CHECK-LABEL: tile.kernel @in_flight(
// CHECK:         scf.for
// CHECK-NEXT:      tile.await_copies pending(1)
// CHECK-NEXT:      tile.proxy_fence
// CHECK-NEXT:      tile.sync
// CHECK-NOT:       tile.sync
// CHECK:           tile.copy {{.*}} atom cp_async
// CHECK-NEXT:      tile.commit_copies
// CHECK-NOT:       tile.sync
// CHECK:           tile.gemm
// CHECK-NOT:       tile.sync
// CHECK:         }
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @in_flight(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<3x64x64xbf16>
  %first = tile.cursor : !tile.cursor<3>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %end:3 = scf.for %i = %c0 to %k step %c64 iter_args(%acc = %zero, %p = %first, %q = %first) -> (tensor<64x64xf32>, !tile.cursor<3>, !tile.cursor<3>) {
    tile.await_copies pending(1)
    tile.sync
    %from = tile.slice %A[%c0, %i] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    %into = tile.slot %a[%p] : !tile.shared<3x64x64xbf16>, !tile.cursor<3> -> !tile.shared<64x64xbf16>
    tile.copy %from, %into atom cp_async : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    tile.commit_copies
    %t = tile.slot %a[%q] : !tile.shared<3x64x64xbf16>, !tile.cursor<3> -> !tile.shared<64x64xbf16>
    %new = tile.gemm %t, %t, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    %p1 = tile.advance %p : !tile.cursor<3>
    %q1 = tile.advance %q : !tile.cursor<3>
    scf.yield %new, %p1, %q1 : tensor<64x64xf32>, !tile.cursor<3>, !tile.cursor<3>
  }
  tile.return
}
}

// -----

// Rounds of a loop that only read need not wait for each other: they meet once, before the loop. Where one writes what
// another one reads, they meet in each round.
// CHECK-LABEL: tile.kernel @rounds(
// CHECK:         tile.store
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      tile.load
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      tile.store
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      tile.load
// CHECK-NEXT:    }
tile.kernel @rounds(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
  tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  scf.for %i = %c0 to %n step %c1 {
    %l = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  }
  scf.for %i = %c0 to %n step %c1 {
    tile.store %h, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
    %l = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  }
  tile.return
}
