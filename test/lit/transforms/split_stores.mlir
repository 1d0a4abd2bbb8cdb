// RUN: %tile-opt %s --tile-split-stores -split-input-file | FileCheck %s

// 128 columns of a sum, each scaled by a number of its row and moved by one of its column, are stored in two parts. Columns of a
// tensor that the kernel only reads are loaded with their part.
// CHECK-LABEL: tile.kernel @scaled(
// CHECK:         %[[ONE:.*]] = scf.if %{{.*}} -> (tensor<128x64xf32>) {
// CHECK-NEXT:      %[[FIRST:.*]] = tile.columns %sum from 0 : !tile.tensor_memory<128x128xf32> -> !tile.tensor_memory<128x64xf32>
// CHECK-NEXT:      %[[LOADED:.*]] = tile.load %[[FIRST]]
// CHECK-NEXT:      scf.yield %[[LOADED]]
// CHECK:           scf.yield %{{.*}} : tensor<128x64xf32>
// CHECK:         %[[ROWS:.*]] = tile.broadcast %{{.*}} : tensor<128x1xf32> -> tensor<128x64xf32>
// CHECK-NEXT:    %[[SCALED:.*]] = arith.mulf %[[ONE]], %[[ROWS]]
// CHECK:         tile.slice %Bias[%{{.*}}] : !tile.global<128xf32> -> !tile.slice<64xf32>
// CHECK-NEXT:    %[[BIAS:.*]] = tile.load
// CHECK-NEXT:    %[[WIDE:.*]] = tile.broadcast %[[BIAS]] : tensor<1x64xf32> -> tensor<128x64xf32>
// CHECK-NEXT:    %[[MOVED:.*]] = arith.addf %[[SCALED]], %[[WIDE]]
// CHECK-NEXT:    %[[HALF:.*]] = tile.convert %[[MOVED]] : tensor<128x64xf32> to tensor<128x64xbf16>
// CHECK:         %[[BOX:.*]] = tile.slice %C[{{.*}}] : !tile.global<128x128xbf16> -> !tile.slice<128x64xbf16>
// CHECK-NEXT:    tile.store %[[HALF]], %[[BOX]]
// CHECK:         tile.columns %sum from 64
// CHECK:         %[[C64:.*]] = arith.constant 64 : index
// CHECK-NEXT:    %[[AT:.*]] = arith.addi %c0, %[[C64]] : index
// CHECK-NEXT:    tile.slice %Bias[%[[AT]]]
// CHECK:         tile.slice %C[%c0, %{{.*}}]
// CHECK-NEXT:    tile.store
// CHECK-NOT:     tile.store
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @scaled(%n: index {program.argument = #program.dimension<"n">},
    %Bias: !tile.global<128xf32> {program.argument = #program.tensor<"Bias", input, dims[-1], alignment = 16>},
    %C: !tile.global<128x128xbf16> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %sum = tile.alloc_tensor_memory "sum" : !tile.tensor_memory<128x128xf32>
  %any = arith.cmpi sgt, %n, %c0 : index
  %zero = tile.splat %f0 : f32 -> tensor<128x128xf32>
  %rows = tile.splat %f0 : f32 -> tensor<128x1xf32>
  %all = scf.if %any -> (tensor<128x128xf32>) {
    %loaded = tile.load %sum : !tile.tensor_memory<128x128xf32> -> tensor<128x128xf32>
    scf.yield %loaded : tensor<128x128xf32>
  } else {
    scf.yield %zero : tensor<128x128xf32>
  }
  %wide = tile.broadcast %rows : tensor<128x1xf32> -> tensor<128x128xf32>
  %scaled = arith.mulf %all, %wide : tensor<128x128xf32>
  %b = tile.slice %Bias[%c0] : !tile.global<128xf32> -> !tile.slice<128xf32>
  %bias = tile.load %b : !tile.slice<128xf32> -> tensor<1x128xf32>
  %columns = tile.broadcast %bias : tensor<1x128xf32> -> tensor<128x128xf32>
  %moved = arith.addf %scaled, %columns : tensor<128x128xf32>
  %half = tile.convert %moved : tensor<128x128xf32> to tensor<128x128xbf16>
  %c = tile.slice %C[%c0, %c0] : !tile.global<128x128xbf16> -> !tile.slice<128x128xbf16>
  tile.store %half, %c : tensor<128x128xbf16>, !tile.slice<128x128xbf16>
  tile.return
}
}

// -----

// Whole: what a reduction needs, too, 64 columns of each of two warpgroups, and what an author orders.
// CHECK-LABEL: tile.kernel @used_twice(
// CHECK-NOT:     tile.columns
// CHECK-LABEL: tile.kernel @two_warpgroups(
// CHECK-NOT:     tile.columns
// CHECK-LABEL: tile.kernel @by_hand(
// CHECK-NOT:     tile.columns
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @used_twice(
    %C: !tile.global<128x128xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>},
    %D: !tile.global<128x1xf32> {program.argument = #program.tensor<"D", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %sum = tile.alloc_tensor_memory "sum" : !tile.tensor_memory<128x128xf32>
  %all = tile.load %sum : !tile.tensor_memory<128x128xf32> -> tensor<128x128xf32>
  %most = tile.reduce max %all axis(1) : tensor<128x128xf32> -> tensor<128x1xf32>
  %c = tile.slice %C[%c0, %c0] : !tile.global<128x128xf32> -> !tile.slice<128x128xf32>
  tile.store %all, %c : tensor<128x128xf32>, !tile.slice<128x128xf32>
  %d = tile.slice %D[%c0, %c0] : !tile.global<128x1xf32> -> !tile.slice<128x1xf32>
  tile.store %most, %d : tensor<128x1xf32>, !tile.slice<128x1xf32>
  tile.return
}
tile.kernel @two_warpgroups(
    %C: !tile.global<128x128xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>},
    %D: !tile.global<128x1xf32> {program.argument = #program.tensor<"D", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %sum = tile.alloc_tensor_memory "sum" : !tile.tensor_memory<128x128xf32>
  %all = tile.load %sum : !tile.tensor_memory<128x128xf32> -> tensor<128x128xf32>
  %c = tile.slice %C[%c0, %c0] : !tile.global<128x128xf32> -> !tile.slice<128x128xf32>
  tile.store %all, %c : tensor<128x128xf32>, !tile.slice<128x128xf32>
  tile.return
}
tile.kernel @by_hand(
    %C: !tile.global<128x128xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>},
    %D: !tile.global<128x1xf32> {program.argument = #program.tensor<"D", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %done = tile.alloc_barrier "done" count(1)
  %sum = tile.alloc_tensor_memory "sum" : !tile.tensor_memory<128x128xf32>
  %all = tile.load %sum : !tile.tensor_memory<128x128xf32> -> tensor<128x128xf32>
  %c = tile.slice %C[%c0, %c0] : !tile.global<128x128xf32> -> !tile.slice<128x128xf32>
  tile.store %all, %c : tensor<128x128xf32>, !tile.slice<128x128xf32>
  tile.return
}
}
