// RUN: %tlc compile %s --start-from simt | FileCheck %s

// The left factor is the same in every round of the loop, and the product of the round before may read it still. So its
// registers are not copied for each round, nor is their constant part computed again: that would write them under that
// product.
// CHECK: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{{.*}}}, [[FACTOR:{.*}]], %rd
// CHECK: wgmma.fence.sync.aligned;
// CHECK: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{{.*}}}, [[FACTOR]], %rd
// CHECK: wgmma.wait_group.sync.aligned 1;
module attributes {program.target = #program.target<"sm_90a">} {
simt.kernel @invariant(%out: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.tensor<"X", output, dims[-1, -1]>],
      schema_types = [tensor<128x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %loaded = simt.load %out : !llvm.ptr<1> -> vector<4xi32>
  %word = arith.constant 7 : i32
  %a = vector.insert %word, %loaded[1] : i32 into vector<4xi32>
  %b = arith.constant 0 : i64
  %first = arith.constant 0 : i32
  %last = arith.constant 3 : i32
  %step = arith.constant 1 : i32
  simt.wgmma_fence
  %start = simt.wgmma %zero, %a, %b {n = 8 : i64, a_element = bf16, b_element = bf16} : vector<4xf32>, vector<4xi32>
  simt.wgmma_commit
  %sum = scf.for %i = %first to %last step %step iter_args(%acc = %start) -> (vector<4xf32>) : i32 {
    simt.wgmma_fence
    %next = simt.wgmma %acc, %a, %b {n = 8 : i64, a_element = bf16, b_element = bf16} : vector<4xf32>, vector<4xi32>
    simt.wgmma_commit
    %going = simt.wgmma_wait 1 for %next : vector<4xf32>
    scf.yield %going : vector<4xf32>
  }
  %done = simt.wgmma_wait 0 for %sum : vector<4xf32>
  simt.store %done, %out : vector<4xf32>, !llvm.ptr<1>
  simt.return
}
}
