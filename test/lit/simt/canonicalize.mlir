// RUN: %simt-opt %s --canonicalize | FileCheck %s

// An access that never happens is none, and what hangs on it is gone: the machine's compiler must not find a product in
// a loop that cannot run, for it leaves the sums undefined after it.
// CHECK-LABEL: llvm.func @never(
// CHECK-NEXT:    %[[ONES:.*]] = arith.constant dense<1.000000e+00> : vector<4xf32>
// CHECK-NEXT:    llvm.return %[[ONES]] : vector<4xf32>
llvm.func @never(%x: !llvm.ptr<1>, %number: f32, %b: i64) -> vector<4xf32> {
  %false = arith.constant false
  %ones = arith.constant dense<1.0> : vector<4xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %steps = simt.load %x if %false : !llvm.ptr<1> -> i32
  simt.store %number, %x if %false : f32, !llvm.ptr<1>
  %sums = scf.for %i = %c0 to %steps step %c1 iter_args(%acc = %ones) -> (vector<4xf32>) : i32 {
    simt.wgmma_fence
    %next = simt.wgmma %acc, %b, %b {n = 8 : i64, a_element = bf16, b_element = bf16} : vector<4xf32>, i64
    simt.wgmma_commit
    %done = simt.wgmma_wait 0 for %next : vector<4xf32>
    scf.yield %done : vector<4xf32>
  }
  llvm.return %sums : vector<4xf32>
}

// CHECK-LABEL: llvm.func @always(
// CHECK:         simt.load %{{.*}} : !llvm.ptr<1> -> vector<4xi8>
// CHECK:         simt.store %{{.*}}, %{{.*}} : vector<4xi8>, !llvm.ptr<1>
llvm.func @always(%x: !llvm.ptr<1>) {
  %true = arith.constant true
  %value = simt.load %x if %true : !llvm.ptr<1> -> vector<4xi8>
  simt.store %value, %x if %true : vector<4xi8>, !llvm.ptr<1>
  llvm.return
}
