// RUN: %tlc-opt %s -tile-to-simt -split-input-file | FileCheck %s
// Conversions are arithmetic where the machine computes with both types.

#l = #tile.layout<"rank 1 reg(4@0:1) lane(32@0:4) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: simt.kernel @plain(
// CHECK:         arith.truncf %[[X:.*]] : vector<4xf32> to vector<4xbf16>
// CHECK:         %[[I:.*]] = arith.fptosi %[[X]] : vector<4xf32> to vector<4xi32>
// CHECK:         arith.trunci %[[I]] : vector<4xi32> to vector<4xi8>
tile.kernel @plain(%X: !tile.global<128xf32> {program.argument = #program.tensor<"X", input, dims[-1], alignment = 16>},
    %B: !tile.global<128xbf16> {program.argument = #program.tensor<"B", inout, dims[-1], alignment = 16>},
    %I: !tile.global<128xi8> {program.argument = #program.tensor<"I", inout, dims[-1], alignment = 16>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %x = tile.slice %X[%c0] : !tile.global<128xf32> -> !tile.slice<128xf32>
  %b = tile.slice %B[%c0] : !tile.global<128xbf16> -> !tile.slice<128xbf16>
  %i = tile.slice %I[%c0] : !tile.global<128xi8> -> !tile.slice<128xi8>
  %v = tile.load %x : !tile.slice<128xf32> -> tensor<128xf32, #l>
  %0 = tile.convert %v : tensor<128xf32, #l> to tensor<128xbf16, #l>
  tile.store %0, %b atom simt : tensor<128xbf16, #l>, !tile.slice<128xbf16>
  %1 = tile.convert %v rounding zero : tensor<128xf32, #l> to tensor<128xi32, #l>
  %2 = tile.convert %1 : tensor<128xi32, #l> to tensor<128xi8, #l>
  tile.store %2, %i atom simt : tensor<128xi8, #l>, !tile.slice<128xi8>
  tile.return
}
}

// -----

#l = #tile.layout<"rank 1 reg(4@0:1) lane(32@0:4) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// The instruction rounds to the nearest.
// CHECK-LABEL: simt.kernel @float8(
// CHECK:         simt.encode %{{.*}} as f8E4M3FN : vector<4xf32> -> vector<4xi8>
// CHECK-NOT:     simt.encode
// CHECK:         arith.trunci {{.*}} : vector<4xi32> to vector<4xi8>
// CHECK:         simt.return
tile.kernel @float8(%X: !tile.global<128xf32> {program.argument = #program.tensor<"X", input, dims[-1], alignment = 16>},
    %E: !tile.global<128xf8E4M3FN> {program.argument = #program.tensor<"E", inout, dims[-1], alignment = 16>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %x = tile.slice %X[%c0] : !tile.global<128xf32> -> !tile.slice<128xf32>
  %e = tile.slice %E[%c0] : !tile.global<128xf8E4M3FN> -> !tile.slice<128xf8E4M3FN>
  %v = tile.load %x : !tile.slice<128xf32> -> tensor<128xf32, #l>
  %0 = tile.convert %v saturate : tensor<128xf32, #l> to tensor<128xf8E4M3FN, #l>
  tile.store %0, %e atom simt : tensor<128xf8E4M3FN, #l>, !tile.slice<128xf8E4M3FN>
  %1 = tile.convert %v rounding down saturate : tensor<128xf32, #l> to tensor<128xf8E4M3FN, #l>
  tile.store %1, %e atom simt : tensor<128xf8E4M3FN, #l>, !tile.slice<128xf8E4M3FN>
  tile.return
}
}

// -----

#l = #tile.layout<"rank 1 reg(4@0:1) lane(32@0:4) warp()">
module attributes {program.target = #program.target<"sm_80">} {
// A target without it computes with the bits.
// CHECK-LABEL: simt.kernel @bits(
// CHECK-NOT:     simt.encode
// CHECK-NOT:     simt.decode
// CHECK:         arith.extui {{.*}} : vector<4xi8> to vector<4xi32>
// CHECK:         arith.trunci {{.*}} : vector<4xi32> to vector<4xi8>
// CHECK:         simt.return
tile.kernel @bits(%E: !tile.global<128xf8E4M3FN> {program.argument = #program.tensor<"E", inout, dims[-1], alignment = 16>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %e = tile.slice %E[%c0] : !tile.global<128xf8E4M3FN> -> !tile.slice<128xf8E4M3FN>
  %v = tile.load %e : !tile.slice<128xf8E4M3FN> -> tensor<128xf8E4M3FN, #l>
  %0 = tile.convert %v : tensor<128xf8E4M3FN, #l> to tensor<128xf32, #l>
  %1 = tile.convert %0 saturate : tensor<128xf32, #l> to tensor<128xf8E4M3FN, #l>
  tile.store %1, %e atom simt : tensor<128xf8E4M3FN, #l>, !tile.slice<128xf8E4M3FN>
  tile.return
}
}

// -----

#l = #tile.layout<"rank 1 reg(8@0:1) lane(16@0:8, 2@*) warp()">
module attributes {program.target = #program.target<"sm_100a">} {
// sm_100a converts floats of 4 bits, others compute with their bits.
// CHECK-LABEL: simt.kernel @float4(
// CHECK:         simt.decode %{{.*}} as f4E2M1FN : vector<8xi8> -> vector<8xf32>
// CHECK:         simt.encode %{{.*}} as f4E2M1FN : vector<8xf32> -> vector<8xi8>
// CHECK:         simt.return
tile.kernel @float4(%E: !tile.global<128xf4E2M1FN> {program.argument = #program.tensor<"E", inout, dims[-1], alignment = 16>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %e = tile.slice %E[%c0] : !tile.global<128xf4E2M1FN> -> !tile.slice<128xf4E2M1FN>
  %v = tile.load %e : !tile.slice<128xf4E2M1FN> -> tensor<128xf4E2M1FN, #l>
  %0 = tile.convert %v : tensor<128xf4E2M1FN, #l> to tensor<128xf32, #l>
  %1 = tile.convert %0 saturate : tensor<128xf32, #l> to tensor<128xf4E2M1FN, #l>
  tile.store %1, %e atom simt : tensor<128xf4E2M1FN, #l>, !tile.slice<128xf4E2M1FN>
  tile.return
}
}

// -----

#l = #tile.layout<"rank 1 reg(4@0:1) lane(32@0:4) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// The bits of elements are there, also of types that the machine does not compute with.
// CHECK-LABEL: simt.kernel @bits(
// CHECK:         arith.bitcast %{{.*}} : vector<4xf32> to vector<4xi32>
// CHECK:         arith.bitcast %{{.*}} : vector<4xi8> to vector<4xi8>
// CHECK:         simt.return
tile.kernel @bits(%X: !tile.global<128xf32> {program.argument = #program.tensor<"X", input, dims[-1], alignment = 16>},
    %E: !tile.global<128xf8E4M3FN> {program.argument = #program.tensor<"E", input, dims[-1], alignment = 16>},
    %Y: !tile.global<128xi32> {program.argument = #program.tensor<"Y", output, dims[-1], alignment = 16>},
    %Z: !tile.global<128xi8> {program.argument = #program.tensor<"Z", output, dims[-1], alignment = 16>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %x = tile.slice %X[%c0] : !tile.global<128xf32> -> !tile.slice<128xf32>
  %e = tile.slice %E[%c0] : !tile.global<128xf8E4M3FN> -> !tile.slice<128xf8E4M3FN>
  %y = tile.slice %Y[%c0] : !tile.global<128xi32> -> !tile.slice<128xi32>
  %z = tile.slice %Z[%c0] : !tile.global<128xi8> -> !tile.slice<128xi8>
  %v = tile.load %x : !tile.slice<128xf32> -> tensor<128xf32, #l>
  %w = tile.load %e : !tile.slice<128xf8E4M3FN> -> tensor<128xf8E4M3FN, #l>
  %0 = arith.bitcast %v : tensor<128xf32, #l> to tensor<128xi32, #l>
  %1 = arith.bitcast %w : tensor<128xf8E4M3FN, #l> to tensor<128xi8, #l>
  tile.store %0, %y atom simt : tensor<128xi32, #l>, !tile.slice<128xi32>
  tile.store %1, %z atom simt : tensor<128xi8, #l>, !tile.slice<128xi8>
  tile.return
}
}
