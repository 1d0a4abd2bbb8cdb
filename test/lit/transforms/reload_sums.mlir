// RUN: %tile-opt %s --tile-reload-sums -split-input-file | FileCheck %s

// Scores, masked in some iterations, are loaded and masked again where few warps need them; numbers of rows and what a special function
// gave are kept.
// CHECK-LABEL: tile.kernel @scores(
// CHECK:         %[[S:.*]] = tile.load %sum
// CHECK:         %[[MASKED:.*]] = scf.if
// CHECK:         math.exp2 %[[MASKED]]
// CHECK:         scf.if %{{.*}} -> (tensor<128x64xf32>) {
// CHECK-NEXT:      %[[AGAIN:.*]] = tile.load %sum
// CHECK-NEXT:      %[[ALSO:.*]] = scf.if
// CHECK:             scf.yield %[[AGAIN]]
// CHECK:           arith.addf %[[ALSO]], %[[WEIGHTS:.*]] :
// CHECK-NOT:       math.exp2
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @scores(%n: index {program.argument = #program.dimension<"n">},
    %C: !tile.global<128x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %sum = tile.alloc_tensor_memory "sum" : !tile.tensor_memory<128x64xf32>
  %s = tile.load %sum : !tile.tensor_memory<128x64xf32> -> tensor<128x64xf32>
  %some = arith.cmpi sgt, %n, %c0 : index
  %masked = scf.if %some -> (tensor<128x64xf32>) {
    %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
    scf.yield %zero : tensor<128x64xf32>
  } else {
    scf.yield %s : tensor<128x64xf32>
  }
  %weights = math.exp2 %masked : tensor<128x64xf32>
  %most = tile.reduce max %weights axis(1) : tensor<128x64xf32> -> tensor<128x1xf32>
  %bound = tile.splat %f0 : f32 -> tensor<128x1xf32>
  %above = arith.cmpf ogt, %most, %bound : tensor<128x1xf32>
  %any = tile.any_in_warp %above : tensor<128x1xi1>
  %result = scf.if %any -> (tensor<128x64xf32>) {
    %both = arith.addf %masked, %weights : tensor<128x64xf32>
    scf.yield %both : tensor<128x64xf32>
  } else {
    scf.yield %weights : tensor<128x64xf32>
  }
  %c = tile.slice %C[%c0, %c0] : !tile.global<128x64xf32> -> !tile.slice<128x64xf32>
  tile.store %result, %c : tensor<128x64xf32>, !tile.slice<128x64xf32>
  tile.return
}
}

// -----

// Kept: what a product changes before the branch, and where an author may have released the sums.
// CHECK-LABEL: tile.kernel @changed(
// CHECK:         tile.load
// CHECK-NOT:     tile.load
// CHECK-LABEL: tile.kernel @by_hand(
// CHECK:         tile.load
// CHECK-NOT:     tile.load
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @changed(%C: !tile.global<128x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %false = arith.constant false
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %sum = tile.alloc_tensor_memory "sum" : !tile.tensor_memory<128x64xf32>
  %s = tile.load %sum : !tile.tensor_memory<128x64xf32> -> tensor<128x64xf32>
  tile.gemm_in_place %a, %b, %sum if %false : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, !tile.tensor_memory<128x64xf32>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %above = arith.cmpf ogt, %s, %zero : tensor<128x64xf32>
  %any = tile.any_in_warp %above : tensor<128x64xi1>
  %result = scf.if %any -> (tensor<128x64xf32>) {
    %twice = arith.addf %s, %s : tensor<128x64xf32>
    scf.yield %twice : tensor<128x64xf32>
  } else {
    scf.yield %zero : tensor<128x64xf32>
  }
  %c = tile.slice %C[%c0, %c0] : !tile.global<128x64xf32> -> !tile.slice<128x64xf32>
  tile.store %result, %c : tensor<128x64xf32>, !tile.slice<128x64xf32>
  tile.return
}
tile.kernel @by_hand(%C: !tile.global<128x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %done = tile.alloc_barrier "done" count(1)
  %sum = tile.alloc_tensor_memory "sum" : !tile.tensor_memory<128x64xf32>
  %s = tile.load %sum : !tile.tensor_memory<128x64xf32> -> tensor<128x64xf32>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %above = arith.cmpf ogt, %s, %zero : tensor<128x64xf32>
  %any = tile.any_in_warp %above : tensor<128x64xi1>
  %result = scf.if %any -> (tensor<128x64xf32>) {
    %twice = arith.addf %s, %s : tensor<128x64xf32>
    scf.yield %twice : tensor<128x64xf32>
  } else {
    scf.yield %zero : tensor<128x64xf32>
  }
  %c = tile.slice %C[%c0, %c0] : !tile.global<128x64xf32> -> !tile.slice<128x64xf32>
  tile.store %result, %c : tensor<128x64xf32>, !tile.slice<128x64xf32>
  tile.return
}
}
