// RUN: %tile-opt %s | %tile-opt | FileCheck %s

// CHECK-LABEL: tile.kernel @windows
tile.kernel @windows(
    %n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x?x56x64xbf16> {program.argument = #program.tensor<"X", input, dims[0, 0, -1, -1]>},
    %L: !tile.global<?x?x8xf32> {program.argument = #program.tensor<"L", input, dims[0, 0, -1]>}) {
  %c0 = arith.constant 0 : index
  // CHECK: %[[W:.*]] = tile.windows %X <taps[3, 5], strides[1, 2], dilations[2, 1], before[2, 1], after[2, 0]> : !tile.global<?x?x56x64xbf16> -> !tile.global<?x3x5x64xbf16>
  %w = tile.windows %X <taps[3, 5], strides[1, 2], dilations[2, 1], before[2, 1], after[2, 0]>
    : !tile.global<?x?x56x64xbf16> -> !tile.global<?x3x5x64xbf16>
  // CHECK: %[[S:.*]] = tile.slice %[[W]][%n, %{{.*}}, %{{.*}}, %{{.*}}] : !tile.global<?x3x5x64xbf16> -> !tile.slice<128x1x1x64xbf16>
  %s = tile.slice %w[%n, %c0, %c0, %c0] : !tile.global<?x3x5x64xbf16> -> !tile.slice<128x1x1x64xbf16>
  %t = tile.alloc_shared "t" : !tile.shared<128x64xbf16>
  // CHECK: tile.copy %[[S]], %{{.*}} : !tile.slice<128x1x1x64xbf16>
  tile.copy %s, %t : !tile.slice<128x1x1x64xbf16>, !tile.shared<128x64xbf16>
  // CHECK: %[[OF_LINES:.*]] = tile.windows %L <taps[4], strides[1], dilations[1], before[0], after[0]>
  %l = tile.windows %L <taps[4], strides[1], dilations[1], before[0], after[0]>
    : !tile.global<?x?x8xf32> -> !tile.global<?x4x8xf32>
  // CHECK: %[[ALL:.*]] = tile.slice %[[OF_LINES]][%n, %{{.*}}, %{{.*}}] limit %n along 0 unchecked "inside"
  %all = tile.slice %l[%n, %c0, %c0] limit %n along 0 unchecked "inside" : !tile.global<?x4x8xf32> -> !tile.slice<16x4x8xf32>
  // CHECK: tile.load %[[ALL]]
  %x = tile.load %all : !tile.slice<16x4x8xf32> -> tensor<16x4x8xf32>
  tile.return
}
