// RUN: %tlc-opt %s -tile-to-simt | FileCheck %s
// RUN: %tlc-opt %s --pass-pipeline="builtin.module(tile-to-simt,simt.kernel(simt-prune-alignment))" 2>&1 | FileCheck %s --check-prefix=PRUNED

#lanes = #tile.layout<"reg(4@1:1) lane(8@1:4, 4@0:1) warp(4@0:4)">
module attributes {program.target = #program.target<"sm_90a">} {

// The address is an element of the table, null outside of it; vectors follow from the stated alignment.
// CHECK-LABEL: simt.kernel @member(
// CHECK-SAME:    %[[TABLE:[^:]*]]: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>}
// CHECK:         %[[ENTRY:.*]] = llvm.getelementptr %[[TABLE]][%{{.*}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i64
// CHECK:         %[[IS_THERE:.*]] = arith.cmpi ult, %{{.*}}, %{{.*}} : i32
// CHECK:         %[[ADDRESS:.*]] = simt.load %[[ENTRY]] if %[[IS_THERE]] : !llvm.ptr<1> -> i64
// CHECK:         %[[X:.*]] = llvm.inttoptr %[[ADDRESS]] : i64 to !llvm.ptr<1>
// CHECK:         llvm.getelementptr %[[X]]
// CHECK:         simt.load %{{.*}} : !llvm.ptr<1> -> vector<4xf32>
// Nothing is asked of the launcher for it, nor of the tensor beside it that is accessed one element at a time.
// PRUNED:        schema = [#program.dimension<"n">, #program.tensor<"X", input, dims[0], members = <input, f32, axes = 2, alignment = 16>>,
// PRUNED-SAME:     #program.tensor<"Y", output, dims[-1, -1]>
tile.kernel @member(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?xi64> {program.argument = #program.tensor<"X", input, dims[0], members = <input, f32, axes = 2, alignment = 16>>},
    %Y: !tile.global<16x33xf32> {program.argument = #program.tensor<"Y", output, dims[-1, -1], alignment = 4>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %x = tile.member %X[%n] extents(%n) strides(%n) : !tile.global<?xi64> -> !tile.global<?x32xf32>
  %s = tile.slice %x[%c0, %c0] : !tile.global<?x32xf32> -> !tile.slice<16x32xf32>
  %y = tile.slice %Y[%c0, %c0] : !tile.global<16x33xf32> -> !tile.slice<16x32xf32>
  %v = tile.load %s : !tile.slice<16x32xf32> -> tensor<16x32xf32, #lanes>
  tile.store %v, %y : tensor<16x32xf32, #lanes>, !tile.slice<16x32xf32>
  tile.return
}

}
