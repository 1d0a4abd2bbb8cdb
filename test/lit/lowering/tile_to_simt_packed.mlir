// RUN: %tlc-opt %s -tile-to-simt -split-input-file | FileCheck %s
// Elements that share bytes: memory is that of the bytes.

// Strides, extents and positions count bytes; a thread takes its elements out of four of them.
#l = #tile.layout<"reg(8@1:1) lane(8@1:8, 4@0:1) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: simt.kernel @load(
// CHECK-SAME:      %[[N:arg1]]: i32 {{.*}} %[[STRIDE:arg3]]: i64
// CHECK-DAG:     %[[ROW:.*]] = arith.shrui %[[STRIDE]], %c1_i64 : i64
// CHECK-DAG:     %[[END:.*]] = arith.shrui %[[N]], %c1_i32 : i32
// CHECK:         %[[BYTES:.*]] = simt.load %{{.*}} if %{{.*}} : !llvm.ptr<1> -> vector<4xi8>
// CHECK:         %[[TOP:.*]] = arith.shli %[[V:.*]], %[[FOUR:.*]] : vector<4xi8>
// CHECK:         %[[LOW:.*]] = arith.shrsi %[[TOP]], %[[FOUR]] : vector<4xi8>
// CHECK:         %[[HIGH:.*]] = arith.shrsi %{{.*}}, %[[FOUR]] : vector<4xi8>
// CHECK:         %[[E0:.*]] = vector.extract %[[LOW]][0]
// CHECK:         %[[E1:.*]] = vector.extract %[[HIGH]][0]
// CHECK:         vector.from_elements %[[E0]], %[[E1]], {{.*}} : vector<8xi8>
tile.kernel @load(%m: index {program.argument = #program.dimension<"m">},
    %n: index {program.argument = #program.dimension<"n", multiple_of = 32>},
    %X: !tile.global<?x?xi4> {program.argument = #program.tensor<"X", input, dims[0, 1], alignment = 16>},
    %Y: !tile.global<?x?xi8> {program.argument = #program.tensor<"Y", inout, dims[0, 1], alignment = 16>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %x = tile.slice %X[%c0, %c64] : !tile.global<?x?xi4> -> !tile.slice<4x64xi4>
  %y = tile.slice %Y[%c0, %c64] : !tile.global<?x?xi8> -> !tile.slice<4x64xi8>
  %v = tile.load %x : !tile.slice<4x64xi4> -> tensor<4x64xi4, #l>
  %0 = tile.convert %v : tensor<4x64xi4, #l> to tensor<4x64xi8, #l>
  tile.store %0, %y atom simt : tensor<4x64xi8, #l>, !tile.slice<4x64xi8>
  tile.return
}
}

// -----

// A fill value is that of both elements of a byte; floats are codes, without a sign above.
#l = #tile.layout<"reg(8@1:1) lane(8@1:8, 4@0:1) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: simt.kernel @store(
// CHECK:         %[[LOADED:.*]] = simt.load %{{.*}} if %[[IN:.*]] : !llvm.ptr<1> -> vector<4xi8>
// CHECK:         %[[WORD:.*]] = vector.bitcast %[[LOADED]] : vector<4xi8> to vector<1xi32>
// CHECK:         arith.select %[[IN]], %[[WORD]], %{{.*}} : vector<1xi32>
// CHECK:         arith.shrui %{{.*}} : vector<4xi8>
// CHECK:         %[[LOW:.*]] = arith.andi %{{.*}} : vector<4xi8>
// CHECK:         %[[HIGH:.*]] = arith.shli %{{.*}} : vector<4xi8>
// CHECK:         %[[BYTES:.*]] = arith.ori %[[LOW]], %[[HIGH]] : vector<4xi8>
// CHECK:         simt.store %[[BYTES]], %{{.*}} : vector<4xi8>, !llvm.ptr<3>
tile.kernel @store(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x64xf4E2M1FN> {program.argument = #program.tensor<"X", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %two = arith.constant 2.0 : f4E2M1FN
  %b = tile.alloc_shared "b" at 0 : !tile.shared<4x64xf4E2M1FN, #tile.shared_layout<"4x64 4b axis 1 panel 64 swizzle 32 pad 0">>
  %x = tile.slice %X[%c0, %c0] fill %two : f4E2M1FN : !tile.global<?x64xf4E2M1FN> -> !tile.slice<4x64xf4E2M1FN>
  %v = tile.load %x : !tile.slice<4x64xf4E2M1FN> -> tensor<4x64xf4E2M1FN, #l>
  tile.store %v, %b : tensor<4x64xf4E2M1FN, #l>, !tile.shared<4x64xf4E2M1FN, #tile.shared_layout<"4x64 4b axis 1 panel 64 swizzle 32 pad 0">>
  tile.return
}
}

// -----

// The TMA copies bytes, too.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: simt.kernel @tma(
// CHECK-SAME:      tensor_maps = [#program.tensor_map<0, box[16, 128], bytes128>]
// CHECK:         simt.tma_store %{{.*}} to %{{.*}}[%c32_i32, %c0_i32]
tile.kernel @tma(%Y: !tile.global<64x512xi4> {program.argument = #program.tensor<"Y", inout, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %b = tile.alloc_shared "b" at 0 : !tile.shared<16x256xi4, #tile.shared_layout<"16x256 4b axis 1 panel 256 swizzle 128 pad 0">>
  %y = tile.slice %Y[%c0, %c64] : !tile.global<64x512xi4> -> !tile.slice<16x256xi4>
  tile.copy %b, %y atom tma : !tile.shared<16x256xi4, #tile.shared_layout<"16x256 4b axis 1 panel 256 swizzle 128 pad 0">>, !tile.slice<16x256xi4>
  tile.return
}
}
