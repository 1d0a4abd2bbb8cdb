// RUN: %tile-opt %s --tile-rematerialise-values -verify-diagnostics

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @no_layout(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  // expected-error @below {{expected a layout of each fragment that the loop carries, but got 'tensor<64x64xf32>'; run 'tile-infer-layouts' before 'tile-rematerialise-values'}}
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (tensor<64x64xf32>) {
    scf.yield %a : tensor<64x64xf32>
  }
  tile.return
}
}
