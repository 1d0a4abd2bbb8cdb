// RUN: %tile-opt %s -canonicalize -cse -loop-invariant-code-motion -split-input-file | FileCheck %s
// What optimisations of others may do with the operations, and what not.

// Two loads of an unchanged buffer are one; a write or a meeting of threads between them keeps both.
// CHECK-LABEL: tile.kernel @loads(
tile.kernel @loads(%O: !tile.global<64xf32> {program.argument = #program.tensor<"O", output, dims[-1]>}) {
  %c0 = arith.constant 0 : index
  %o = tile.slice %O[%c0] : !tile.global<64xf32> -> !tile.slice<64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64xf32>
  // CHECK: %[[FIRST:.*]] = tile.load %a
  %f = tile.load %a : !tile.shared<64xf32> -> tensor<64xf32>
  %g = tile.load %a : !tile.shared<64xf32> -> tensor<64xf32>
  // CHECK-NEXT: tile.store %[[FIRST]],
  tile.store %f, %o : tensor<64xf32>, !tile.slice<64xf32>
  // CHECK-NEXT: %[[SECOND:.*]] = tile.load %a
  // CHECK-NEXT: tile.sync
  // CHECK-NEXT: %[[THIRD:.*]] = tile.load %a
  %h = tile.load %a : !tile.shared<64xf32> -> tensor<64xf32>
  tile.sync
  %i = tile.load %a : !tile.shared<64xf32> -> tensor<64xf32>
  // CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[FIRST]], %[[SECOND]]
  // CHECK-NEXT: arith.addf %[[SUM]], %[[THIRD]]
  %gh = arith.addf %g, %h : tensor<64xf32>
  %ghi = arith.addf %gh, %i : tensor<64xf32>
  tile.store %ghi, %o : tensor<64xf32>, !tile.slice<64xf32>
  tile.return
}

// -----

// A load whose value nobody wants goes; a buffer nobody uses too.
// CHECK-LABEL: tile.kernel @unused()
tile.kernel @unused() {
  %a = tile.alloc_shared "a" : !tile.shared<64xf32>
  %f = tile.load %a : !tile.shared<64xf32> -> tensor<64xf32>
  // CHECK-NEXT: tile.return
  tile.return
}

// -----

// The grid stays though its position is not used: it says how many blocks there are.
// CHECK-LABEL: tile.kernel @grid(
tile.kernel @grid(%m: index {program.argument = #program.dimension<"m">}) {
  // CHECK: tile.grid %m
  %i = tile.grid %m : index
  tile.return
}

// -----

// A load in a loop that writes the buffer stays there, what is pure leaves.
// CHECK-LABEL: tile.kernel @loop(
tile.kernel @loop(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?xf32> {program.argument = #program.tensor<"X", inout, dims[0]>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_shared "a" : !tile.shared<64xf32>
  // CHECK: tile.slice %X[%m]
  // CHECK: scf.for
  scf.for %i = %c0 to %m step %c1 {
    %x = tile.slice %X[%m] : !tile.global<?xf32> -> !tile.slice<64xf32>
    // CHECK-NEXT: tile.copy
    tile.copy %x, %a : !tile.slice<64xf32>, !tile.shared<64xf32>
    // CHECK-NEXT: tile.load
    %f = tile.load %a : !tile.shared<64xf32> -> tensor<64xf32>
    // CHECK-NEXT: tile.atomic add
    tile.atomic add %f, %x : tensor<64xf32>, !tile.slice<64xf32>
  }
  tile.return
}

// -----

// Waits count started gemms: equal ones are not merged, unused ones not removed.
// CHECK-LABEL: tile.kernel @products()
tile.kernel @products() {
  %a = tile.alloc_shared "a" : !tile.shared<64x16xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<16x64xbf16>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // CHECK-COUNT-2: tile.gemm_async
  %p = tile.gemm_async %a, %b, %zero : !tile.shared<64x16xbf16>, !tile.shared<16x64xbf16>, tensor<64x64xf32>
  %q = tile.gemm_async %a, %b, %zero : !tile.shared<64x16xbf16>, !tile.shared<16x64xbf16>, tensor<64x64xf32>
  // CHECK: tile.gemm_wait
  %r = tile.gemm_wait %p pending(1) : tensor<64x64xf32>
  tile.return
}

// -----

// A position read from an input, or from a workspace that another kernel writes, is the same whoever reads it, and goes
// where nobody wants it; one from a tensor that the kernel writes, or may write, stays after what was before it.
// CHECK-LABEL: tile.kernel @positions(
tile.kernel @positions(
    %X: !tile.global<8xi32> {program.argument = #program.tensor<"X", input, dims[-1]>},
    %Y: !tile.global<8xi32> {program.argument = #program.tensor<"Y", inout, dims[-1]>},
    %O: !tile.global<8xf32> {program.argument = #program.tensor<"O", output, dims[-1]>},
    %W: !tile.global<8xi32> {program.argument = #program.tensor<"W", workspace, dims[-1]>}) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %f = tile.splat %one : f32 -> tensor<8xf32>
  %w = tile.slice %W[%c0] : !tile.global<8xi32> -> !tile.slice<1xi32>
  // CHECK-NOT: tile.load_index %{{.*}} {unwanted}
  %unwanted = tile.load_index %w[] {unwanted} : !tile.slice<1xi32>
  %x = tile.slice %X[%c0] : !tile.global<8xi32> -> !tile.slice<1xi32>
  %y = tile.slice %Y[%c0] : !tile.global<8xi32> -> !tile.slice<1xi32>
  // CHECK: %[[X:.*]] = tile.load_index %{{.*}}[] : !tile.slice<1xi32>
  // CHECK: %[[Y:.*]] = tile.load_index %{{.*}}[] : !tile.slice<1xi32>
  %a = tile.load_index %x[] : !tile.slice<1xi32>
  %b = tile.load_index %y[] : !tile.slice<1xi32>
  // CHECK: tile.store
  %o = tile.slice %O[%a] : !tile.global<8xf32> -> !tile.slice<8xf32>
  tile.store %f, %o : tensor<8xf32>, !tile.slice<8xf32>
  // CHECK: %[[AGAIN:.*]] = tile.load_index
  // CHECK-NOT: tile.load_index
  %c = tile.load_index %x[] : !tile.slice<1xi32>
  %d = tile.load_index %y[] : !tile.slice<1xi32>
  // CHECK: %[[SUM:.*]] = arith.addi %[[X]], %[[Y]]
  // CHECK: arith.addi %[[SUM]], %[[AGAIN]]
  %bc = arith.addi %c, %b : index
  %sum = arith.addi %bc, %d : index
  %p = tile.slice %O[%sum] : !tile.global<8xf32> -> !tile.slice<8xf32>
  tile.store %f, %p : tensor<8xf32>, !tile.slice<8xf32>
  tile.return
}
