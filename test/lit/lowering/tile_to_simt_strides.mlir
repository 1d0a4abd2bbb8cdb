// RUN: %tlc-opt %s -tile-to-simt -split-input-file -verify-diagnostics | FileCheck %s

// The last stride is a parameter, and elements are loaded and stored one by one, however aligned rows are.
#l = #tile.layout<"reg(4@1:1) lane(8@1:4, 4@0:1) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: simt.kernel @copies(
// CHECK-SAME:    %[[X:.*]]: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>}
// CHECK-SAME:    %[[ROW:.*]]: i64 {program.parameter = #program.parameter<tensor_stride, 0>}
// CHECK-SAME:    %[[LAST:.*]]: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 1>}
// CHECK-SAME:    schema = [#program.tensor<"X", inout, dims[-1, -1], alignment = 16, strided = true>]
// CHECK:         %[[COLUMN:.*]] = arith.muli %{{.*}}, %[[LAST]] : i64
// CHECK:         simt.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK:         %[[THIRD:.*]] = arith.muli %[[LAST]], %c3_i64 : i64
// CHECK:         llvm.getelementptr %{{.*}}[%[[THIRD]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
// CHECK-NEXT:    simt.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK-COUNT-4: simt.store %{{.*}} : f32, !llvm.ptr<1>
tile.kernel @copies(%X: !tile.global<4x32xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1], alignment = 16, strided = true>})
    attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %s = tile.slice %X[%c0, %c0] : !tile.global<4x32xf32> -> !tile.slice<4x32xf32>
  %v = tile.load %s : !tile.slice<4x32xf32> -> tensor<4x32xf32, #l>
  tile.store %v, %s atom simt : tensor<4x32xf32, #l>, !tile.slice<4x32xf32>
  tile.return
}
}

// -----

// The TMA sums no tiles there.
#p = #tile.shared_layout<"4x32 32b axis 1 panel 32 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @sums(%X: !tile.global<4x32xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1], alignment = 16, strided = true>})
    attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" at 0 : !tile.shared<4x32xf32, #p>
  %s = tile.slice %X[%c0, %c0] : !tile.global<4x32xf32> -> !tile.slice<4x32xf32>
  // expected-error @below {{expected a copy that the TMA can make because nothing else combines tiles: expected a tensor whose last stride is 1, but that of 'X' may be any; use a fragment}}
  tile.copy_reduce add %p, %s : !tile.shared<4x32xf32, #p>, !tile.slice<4x32xf32>
  tile.return
}
}
