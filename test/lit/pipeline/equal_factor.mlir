// RUN: %tlc compile %s --start-from simt | FileCheck %s

// The sums begin with the bits of the left factor. Its registers are not theirs: the product writes those while it reads
// the factor, and the check of the emitted PTX would refuse it.
// CHECK: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {[[SUM:%r[0-9]+]], [[SUM2:%r[0-9]+]], [[SUM3:%r[0-9]+]], [[SUM4:%r[0-9]+]]}, {[[FACTOR:%r[0-9]+]], [[FACTOR]], [[FACTOR]], [[FACTOR]]},
module attributes {program.target = #program.target<"sm_90a">} {
simt.kernel @equal(%out: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.tensor<"X", output, dims[-1, -1]>],
      schema_types = [tensor<128x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %a = arith.constant dense<0> : vector<4xi32>
  %b = arith.constant 0 : i64
  simt.wgmma_fence
  %sum = simt.wgmma %zero, %a, %b {n = 8 : i64, a_element = bf16, b_element = bf16} : vector<4xf32>, vector<4xi32>
  simt.wgmma_commit
  %done = simt.wgmma_wait 0 for %sum : vector<4xf32>
  simt.store %done, %out : vector<4xf32>, !llvm.ptr<1>
  simt.return
}
}
