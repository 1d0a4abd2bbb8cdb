// RUN: %tile-opt %s --tile-place-fences -split-input-file | FileCheck %s

#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">

// What a rank stores by threads, a later launch of another rank may load by the TMA as soon as it is announced.
// CHECK-LABEL: tile.kernel @pass(
// CHECK:         tile.store
// CHECK:         tile.proxy_fence tensors
// CHECK-NEXT:    tile.announce
// CHECK-LABEL: tile.kernel @take(
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @pass(%rank: index {program.argument = #program.dimension<"k.rank", source = rank>},
    %X: !tile.global<128x64xf32> {program.argument = #program.tensor<"X", output, dims[-1, -1], symmetric = true>},
    %C: !tile.global<1xi32> {program.argument = #program.tensor<"C", workspace, dims[-1], symmetric = true>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %x = tile.slice %X of %rank[%c0, %c0] : !tile.global<128x64xf32> -> !tile.slice<128x64xf32>
  %v = tile.splat %f0 : f32 -> tensor<128x64xf32, #rows>
  tile.store %v, %x atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  %count = tile.slice %C of %rank[%c0] : !tile.global<1xi32> -> !tile.slice<1xi32>
  tile.announce %count by %c0 : !tile.slice<1xi32>
  tile.return
}
tile.kernel @take(%rank: index {program.argument = #program.dimension<"k.rank", source = rank>},
    %X: !tile.global<128x64xf32> {program.argument = #program.tensor<"X", output, dims[-1, -1], symmetric = true>},
    %C: !tile.global<1xi32> {program.argument = #program.tensor<"C", workspace, dims[-1], symmetric = true>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %x = tile.slice %X of %rank[%c0, %c0] : !tile.global<128x64xf32> -> !tile.slice<128x64xf32>
  %v = tile.load %x : !tile.slice<128x64xf32> -> tensor<128x64xf32, #rows>
  tile.return
}
}

// -----

// A launch alone accesses it only by threads: there is nothing to tell.
// CHECK-LABEL: tile.kernel @alone(
// CHECK-NOT:     tile.proxy_fence
// CHECK:         tile.announce
#rows = #tile.layout<"reg(8@1:1, 8@0:1) lane(8@1:8, 4@0:8) warp(4@0:32)">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @alone(%rank: index {program.argument = #program.dimension<"k.rank", source = rank>},
    %X: !tile.global<128x64xf32> {program.argument = #program.tensor<"X", output, dims[-1, -1], symmetric = true>},
    %C: !tile.global<1xi32> {program.argument = #program.tensor<"C", workspace, dims[-1], symmetric = true>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %x = tile.slice %X of %rank[%c0, %c0] : !tile.global<128x64xf32> -> !tile.slice<128x64xf32>
  %v = tile.splat %f0 : f32 -> tensor<128x64xf32, #rows>
  tile.store %v, %x atom simt : tensor<128x64xf32, #rows>, !tile.slice<128x64xf32>
  %count = tile.slice %C of %rank[%c0] : !tile.global<1xi32> -> !tile.slice<1xi32>
  tile.announce %count by %c0 : !tile.slice<1xi32>
  tile.return
}
}
