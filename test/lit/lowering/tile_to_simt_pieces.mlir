// RUN: %tlc-opt %s -tile-to-simt -split-input-file -verify-diagnostics | FileCheck %s

// Tensors in the order of accumulators, and additions of vectors.

#acc = #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8) lane(4@1:2, 8@0:1) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// The thread's place is computed once; the next piece along the rows is 128 elements further. What is added may reach
// to the end of a piece: one test for four elements, and one branch around all additions with the same test.
// CHECK-LABEL: simt.kernel @add(
// CHECK-SAME:    %[[M:arg[0-9]+]]: i32 {program.parameter = #program.parameter<dimension, 0>},
// CHECK-SAME:    %[[PITCH:arg[0-9]+]]: i64 {program.parameter = #program.parameter<tensor_stride, 0>})
// CHECK:         %[[ROW:.*]] = arith.shrui %{{.*}}, %c2_i32
// CHECK:         arith.addi %[[M]], %c15_i32
// CHECK:         %[[END:.*]] = arith.andi %{{.*}}, %c-16_i32
// CHECK:         %[[INSIDE:.*]] = arith.cmpi ult, %[[ROW]], %[[END]]
// CHECK:         %[[FIRST:.*]] = llvm.getelementptr %{{.*}} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
// CHECK:         %[[NEXT:.*]] = llvm.getelementptr %[[FIRST]][128]
// CHECK:         scf.if %[[INSIDE]] {
// CHECK-NEXT:      simt.atomic addf %{{.*}}, %[[FIRST]] : vector<4xf32>
// CHECK-NEXT:      simt.atomic addf %{{.*}}, %[[NEXT]] : vector<4xf32>
// CHECK-NEXT:    }
// CHECK-NOT:     simt.atomic addf
tile.kernel @add(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x16xf32> {program.argument = #program.tensor<"X", workspace, dims[0, -1], alignment = 16, order = accumulator>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %s = tile.slice %X[%c0, %c0] : !tile.global<?x16xf32> -> !tile.slice<16x16xf32>
  %ones = tile.splat %one : f32 -> tensor<16x16xf32, #acc>
  tile.atomic add %ones, %s : tensor<16x16xf32, #acc>, !tile.slice<16x16xf32>
  tile.return
}
}

// -----

#acc = #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8) lane(4@1:2, 8@0:1) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// What is read outside of the tensor is 0, so a tile at its edge is read by elements.
// CHECK-LABEL: simt.kernel @load(
// CHECK:         scf.if
// CHECK-COUNT-2:   simt.load %{{.*}} : !llvm.ptr<1> -> vector<4xf32>
// CHECK:         } else {
// CHECK-COUNT-8:   simt.load %{{.*}} if %{{.*}} : !llvm.ptr<1> -> f32
// CHECK:         }
tile.kernel @load(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x16xf32> {program.argument = #program.tensor<"X", workspace, dims[0, -1], alignment = 16, order = accumulator>},
    %Y: !tile.global<16x16xf32> {program.argument = #program.tensor<"Y", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %s = tile.slice %X[%c0, %c0] : !tile.global<?x16xf32> -> !tile.slice<16x16xf32>
  %v = tile.load %s : !tile.slice<16x16xf32> -> tensor<16x16xf32, #acc>
  %y = tile.slice %Y[%c0, %c0] : !tile.global<16x16xf32> -> !tile.slice<16x16xf32>
  tile.store %v, %y atom simt : tensor<16x16xf32, #acc>, !tile.slice<16x16xf32>
  tile.return
}
}

// -----

#rows = #tile.layout<"reg(4@1:1) lane(2@1:4, 16@0:1) warp()">
#acc = #tile.layout<"reg(2@1:1, 2@0:8) lane(4@1:2, 8@0:1) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: simt.kernel @scattered(
// CHECK-COUNT-2: simt.store %{{.*}} : vector<2xf32>
// CHECK-COUNT-4: simt.load %{{.*}} : !llvm.ptr<1> -> f32
tile.kernel @scattered(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x8xf32> {program.argument = #program.tensor<"X", workspace, dims[0, -1], alignment = 16, order = accumulator>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %s = tile.slice %X[%c0, %c0] : !tile.global<?x8xf32> -> !tile.slice<16x8xf32>
  %ones = tile.splat %one : f32 -> tensor<16x8xf32, #rows>
  // expected-remark @below {{[scattered-elements] copy takes pairs of elements of 'X', which is in the order of accumulators, not four at once: the fragment is not spread over threads as an accumulator is}}
  tile.store %ones, %s atom simt : tensor<16x8xf32, #rows>, !tile.slice<16x8xf32>
  %t = tile.slice %X[%m, %c0] : !tile.global<?x8xf32> -> !tile.slice<16x8xf32>
  // expected-remark @below {{[scattered-elements] copy takes single elements of 'X', which is in the order of accumulators, not four at once: the slice is not known to begin at a multiple of 16 rows and 8 columns}}
  %v = tile.load %t : !tile.slice<16x8xf32> -> tensor<16x8xf32, #acc>
  tile.return
}
}

// -----

#wide = #tile.layout<"reg(8@1:1) lane(8@1:8, 4@0:1) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// In the natural order four elements of a row are added at once, on a target that can.
// CHECK-LABEL: simt.kernel @rows(
// CHECK-COUNT-2: simt.atomic addf %{{.*}}, %{{.*}} : vector<4xf32>
// CHECK-NOT:     simt.atomic addf
tile.kernel @rows(%X: !tile.global<4x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %s = tile.slice %X[%c0, %c0] : !tile.global<4x64xf32> -> !tile.slice<4x64xf32>
  %ones = tile.splat %one : f32 -> tensor<4x64xf32, #wide>
  tile.atomic add %ones, %s : tensor<4x64xf32, #wide>, !tile.slice<4x64xf32>
  tile.return
}
}

// -----

#wide = #tile.layout<"reg(2@1:1) lane(8@1:2, 4@0:1) warp()">
module attributes {program.target = #program.target<"sm_80">} {
// CHECK-LABEL: simt.kernel @older(
// CHECK-COUNT-2: simt.atomic addf %{{.*}}, %{{.*}} : f32
// CHECK-NOT:     simt.atomic addf
tile.kernel @older(%X: !tile.global<4x16xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %s = tile.slice %X[%c0, %c0] : !tile.global<4x16xf32> -> !tile.slice<4x16xf32>
  %ones = tile.splat %one : f32 -> tensor<4x16xf32, #wide>
  tile.atomic add %ones, %s : tensor<4x16xf32, #wide>, !tile.slice<4x16xf32>
  tile.return
}
}
