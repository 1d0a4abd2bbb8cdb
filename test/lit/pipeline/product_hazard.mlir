// RUN: not %tlc compile %s --start-from simt 2>&1 | FileCheck %s

// The emitted PTX itself is checked: a left factor that is loaded again while a product in flight reads its registers is
// no program, whichever pass came to it.
// CHECK: product_hazard.mlir:[[#@LINE+12]]:{{[0-9]+}}: error: internal error: 'in_flight' has register %r{{[0-9]+}} written by 'ld.global
// CHECK-SAME: while the product of line {{[0-9]+}}, of which it is a factor, is in flight: no wgmma.wait_group between them covers it
module attributes {program.target = #program.target<"sm_90a">} {
simt.kernel @in_flight(%n: i32 {program.parameter = #program.parameter<dimension, 0>},
                       %out: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.dimension<"n">, #program.tensor<"X", output, dims[0, -1]>],
      schema_types = [index, tensor<?x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %b = arith.constant 0 : i64
  %c1 = arith.constant 1 : i32
  %last = scf.for %i = %c1 to %n step %c1 iter_args(%acc = %zero) -> (vector<4xf32>) : i32 {
    %a = simt.load %out : !llvm.ptr<1> -> vector<4xi32>
    simt.wgmma_fence
    %next = simt.wgmma %acc, %a, %b {n = 8 : i64, a_element = bf16, b_element = bf16} : vector<4xf32>, vector<4xi32>
    simt.wgmma_commit
    %passed = simt.wgmma_wait 1 for %next : vector<4xf32>
    scf.yield %passed : vector<4xf32>
  }
  %sum = simt.wgmma_wait 0 for %last : vector<4xf32>
  simt.store %sum, %out : vector<4xf32>, !llvm.ptr<1>
  simt.return
}
}
