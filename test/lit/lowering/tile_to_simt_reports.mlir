// RUN: %tlc-opt %s -tile-to-simt | FileCheck %s

#layout = #tile.layout<"reg(4@1:1) lane(2@1:4, 16@0:1) warp(4@0:16)">
#replicas = #tile.layout<"reg() lane(2@*, 16@0:1) warp(4@0:16)">

module attributes {program.target = #program.target<"sm_90a">} {

// One thread reports for all; where the check holds there is a branch and no more.
// CHECK-LABEL: simt.kernel @numbers(
// CHECK:         %[[FAILS:.*]] = arith.cmpi eq, %{{.*}}, %false
// CHECK-NEXT:    scf.if %[[FAILS]] {
// CHECK:           simt.elect
// CHECK:             simt.report #program.report<check, "expected n, but got {}", "{{.*}}reports.mlir:[[@LINE+10]]:3", [i32]> values(%{{.*}} : i32)
// CHECK:         simt.elect
// CHECK:           simt.report #program.report<print, "here", "{{.*}}reports.mlir:[[@LINE+9]]:3", []>
tile.kernel @numbers(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x8xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>},
    %Y: !tile.global<64xf32> {program.argument = #program.tensor<"Y", input, dims[-1]>})
    attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %holds = arith.cmpi sgt, %n, %c0 : index
  %number = arith.index_cast %n : index to i32
  tile.report unless %holds : i1, "expected n, but got {}", %number : i32
  tile.report "here"
  tile.return
}

// Each thread looks at its four elements, and reports the first that fails: what it shows is chosen after the
// branch.
// CHECK-LABEL: simt.kernel @elements(
// CHECK-COUNT-2: arith.ori
// CHECK:         %[[SOME:.*]] = arith.ori
// CHECK-NEXT:    scf.if %[[SOME]] {
// CHECK-COUNT-3:   arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK:           simt.report #program.report<check, "{} {}", {{.*}}, [f32, i32], axes = 2> at[%{{.*}}, %{{.*}}] values
tile.kernel @elements(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x8xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>},
    %Y: !tile.global<64xf32> {program.argument = #program.tensor<"Y", input, dims[-1]>})
    attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %slice = tile.slice %X[%c0, %c0] : !tile.global<64x8xf32> -> !tile.slice<64x8xf32>
  %x = tile.load %slice : !tile.slice<64x8xf32> -> tensor<64x8xf32, #layout>
  %less = arith.cmpf olt, %x, %x : tensor<64x8xf32, #layout>
  %number = arith.index_cast %n : index to i32
  tile.report unless %less : tensor<64x8xi1, #layout>, "{} {}", %x, %number : tensor<64x8xf32, #layout>, i32
  tile.return
}

// Of replicas one reports. Rows from 8 on are left out.
// CHECK-LABEL: simt.kernel @replicas(
// CHECK:         %[[OWNER:.*]] = arith.cmpi eq
// CHECK:         %[[SHOWN:.*]] = arith.cmpi ult, %{{.*}}, %c8_i32
// CHECK:         %[[BOTH:.*]] = arith.andi %[[OWNER]], %[[SHOWN]]
// CHECK:         scf.if %[[BOTH]] {
// CHECK:           simt.report #program.report<print, "{}", {{.*}}, [f32], axes = 1>
// CHECK-NOT:       simt.report
tile.kernel @replicas(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x8xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>},
    %Y: !tile.global<64xf32> {program.argument = #program.tensor<"Y", input, dims[-1]>})
    attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %slice = tile.slice %Y[%c0] : !tile.global<64xf32> -> !tile.slice<64xf32>
  %x = tile.load %slice : !tile.slice<64xf32> -> tensor<64xf32, #replicas>
  tile.report "{}", %x : tensor<64xf32, #replicas>
  tile.return
}

}
