// RUN: %tlc-opt %s -tile-to-simt | FileCheck %s
// RUN: %tlc-opt %s -tile-to-simt -simt-to-nvvm | FileCheck %s --check-prefix=LLVM

module attributes {program.target = #program.target<"sm_90a">} {

// The pointers of all ranks are a parameter; what is accessed follows from the one of the slice's rank.
// CHECK-LABEL: simt.kernel @pointers(
// CHECK-SAME:    %[[TABLE:[^:]*]]: !llvm.ptr {program.parameter = #program.parameter<tensor_pointers, 0>}
// CHECK:         %[[WIDE:.*]] = arith.extsi
// CHECK:         %[[ENTRY:.*]] = llvm.getelementptr %[[TABLE]][%[[WIDE]]] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr<1>
// CHECK:         %[[X:.*]] = llvm.load %[[ENTRY]] : !llvm.ptr -> !llvm.ptr<1>
// CHECK:         llvm.getelementptr %[[X]]
// LLVM-LABEL:  llvm.func @pointers(
// LLVM-SAME:     llvm.align = 8 : i64, llvm.byval = !llvm.array<64 x i8>, nvvm.grid_constant
tile.kernel @pointers(%other: index {program.argument = #program.dimension<"k.rank", source = rank>},
    %X: !tile.global<128xf32> {program.argument = #program.tensor<"X", input, dims[-1], symmetric = true>},
    %Y: !tile.global<128xf32> {program.argument = #program.tensor<"Y", output, dims[-1]>},
    %C: !tile.global<8xi32> {program.argument = #program.tensor<"C", inout, dims[-1], symmetric = true>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %x = tile.slice %X of %other[%c0] : !tile.global<128xf32> -> !tile.slice<128xf32>
  %y = tile.slice %Y[%c0] : !tile.global<128xf32> -> !tile.slice<128xf32>
  %v = tile.load %x : !tile.slice<128xf32> -> tensor<128xf32, #tile.layout<"reg() lane(32@0:1) warp(4@0:32)">>
  tile.store %v, %y : tensor<128xf32, #tile.layout<"reg() lane(32@0:1) warp(4@0:32)">>, !tile.slice<128xf32>
  tile.return
}

// What other devices see has the scope of the system.
// CHECK-LABEL: simt.kernel @counts(
// CHECK:         llvm.load {{.*}} atomic acquire
// CHECK:         "red.release.sys.global.add.u32 [$0], $1;"
// CHECK:         simt.atomic addi %{{.*}}, %{{.*}} system : i32
// LLVM-LABEL:  llvm.func @counts(
// LLVM:          "red.relaxed.sys.global.add.u32 [$0], $1;"
tile.kernel @counts(%other: index {program.argument = #program.dimension<"k.rank", source = rank>},
    %X: !tile.global<128xf32> {program.argument = #program.tensor<"X", input, dims[-1], symmetric = true>},
    %Y: !tile.global<128xf32> {program.argument = #program.tensor<"Y", output, dims[-1]>},
    %C: !tile.global<8xi32> {program.argument = #program.tensor<"C", inout, dims[-1], symmetric = true>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %count = tile.slice %C of %other[%c0] unchecked "it is there" : !tile.global<8xi32> -> !tile.slice<1xi32>
  %sum = tile.slice %C of %other[%c1] unchecked "it is there" : !tile.global<8xi32> -> !tile.slice<1xi32>
  tile.wait_for %count at_least %c1 : !tile.slice<1xi32>
  tile.announce %count by %c1 : !tile.slice<1xi32>
  tile.atomic add %one, %sum : i32, !tile.slice<1xi32>
  tile.return
}

}
