// RUN: %tlc-opt %s -split-input-file -tile-to-simt | FileCheck %s
// RUN: %tlc-opt %s -split-input-file -tile-to-simt -simt-to-nvvm | FileCheck %s --check-prefix=LLVM

module attributes {program.target = #program.target<"sm_90a">} {

// One address reaches all ranks; each access is between two fences because the ranks have another one.
// CHECK-LABEL: simt.kernel @halves(
// CHECK-SAME:    %[[ALL:[^:]*]]: !llvm.ptr<1> {program.parameter = #program.parameter<multicast_pointer, 0>}
// CHECK:         simt.alias_fence
// CHECK:         llvm.getelementptr %[[ALL]]
// CHECK:         simt.multicast_load addf %{{.*}} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK:         simt.alias_fence
// CHECK:         simt.alias_fence
// CHECK:         simt.multicast_store %{{.*}}, %{{.*}} : vector<8xbf16>, !llvm.ptr<1>
// CHECK:         simt.alias_fence
// LLVM-LABEL:  llvm.func @halves(
// LLVM:          "fence.proxy.alias;"
// LLVM:          "multimem.ld_reduce.weak.global.add.acc::f32.v4.bf16x2 {$0, $1, $2, $3}, [$4];"
// LLVM:          "fence.proxy.alias;"
// LLVM:          "fence.proxy.alias;"
// LLVM:          "multimem.st.weak.global.v4.f32 [$0], {$1, $2, $3, $4};"
// LLVM:          "fence.proxy.alias;"
tile.kernel @halves(
    %X: !tile.global<1024xbf16> {program.argument = #program.tensor<"X", inout, dims[-1], alignment = 16, symmetric = true>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %x = tile.slice %X of_all[%c0] : !tile.global<1024xbf16> -> !tile.slice<1024xbf16>
  %v = tile.load combine add %x : !tile.slice<1024xbf16> -> tensor<1024xbf16, #tile.layout<"reg(8@0:1) lane(32@0:8) warp(4@0:256)">>
  tile.store %v, %x : tensor<1024xbf16, #tile.layout<"reg(8@0:1) lane(32@0:8) warp(4@0:256)">>, !tile.slice<1024xbf16>
  tile.return
}

}

// -----

module attributes {program.target = #program.target<"sm_90a">} {

// What may be outside has a predicate, and integers are loaded one by one.
// CHECK-LABEL: simt.kernel @integers(
// CHECK:         simt.multicast_load mins %{{.*}} if %{{.*}} : !llvm.ptr<1> -> i32
// CHECK:         simt.multicast_store %{{.*}}, %{{.*}} if %{{.*}} : i32, !llvm.ptr<1>
// CHECK:         simt.multicast_atomic xori %{{.*}}, %{{.*}} : i32, !llvm.ptr<1>
// LLVM-LABEL:  llvm.func @integers(
// LLVM:          "mov.b32 $0, 0;\0A\09@$2 multimem.ld_reduce.weak.global.min.s32 $0, [$1];"
// LLVM:          "@$1 multimem.st.weak.global.b32 [$0], $2;"
// LLVM:          "multimem.red.relaxed.sys.global.xor.b32 [$0], $1;"
tile.kernel @integers(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?xi32> {program.argument = #program.tensor<"X", inout, dims[0], alignment = 16, symmetric = true>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %x = tile.slice %X of_all[%c0] : !tile.global<?xi32> -> !tile.slice<128xi32>
  %v = tile.load combine min %x : !tile.slice<128xi32> -> tensor<128xi32, #tile.layout<"reg() lane(32@0:1) warp(4@0:32)">>
  tile.store %v, %x : tensor<128xi32, #tile.layout<"reg() lane(32@0:1) warp(4@0:32)">>, !tile.slice<128xi32>
  tile.atomic bit_xor %v, %x : tensor<128xi32, #tile.layout<"reg() lane(32@0:1) warp(4@0:32)">>, !tile.slice<128xi32>
  tile.return
}

}

// -----

module attributes {program.target = #program.target<"sm_90a">} {

// A count on all ranks is one instruction.
// CHECK-LABEL: simt.kernel @counts(
// CHECK:         simt.multicast_atomic addi %{{.*}}, %{{.*}} release : i32, !llvm.ptr<1>
// CHECK-NEXT:    simt.alias_fence
// LLVM-LABEL:  llvm.func @counts(
// LLVM:          "multimem.red.release.sys.global.add.u32 [$0], $1;"
tile.kernel @counts(
    %C: !tile.global<8xi32> {program.argument = #program.tensor<"C", inout, dims[-1], symmetric = true>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %count = tile.slice %C of_all[%c0] unchecked "it is there" : !tile.global<8xi32> -> !tile.slice<1xi32>
  tile.announce %count by %c1 : !tile.slice<1xi32>
  tile.return
}

}
