// RUN: split-file %s %t
// RUN: %tile-opt %t/taken.mlir --tile-assign-roles -split-input-file | FileCheck %t/taken.mlir
// RUN: %tile-opt %t/taken.mlir --tile-assign-roles --tile-select-copies --tile-warp-specialize -split-input-file | FileCheck %t/taken.mlir --check-prefix=ROLES
// RUN: %tile-opt %t/obstacles.mlir --tile-assign-roles -split-input-file -verify-diagnostics

//--- taken.mlir

// The role that loads counts the tiles, and hands their positions on. Each role reads them, and repeats what follows from them.
// CHECK-LABEL: tile.kernel @taken(
// CHECK-SAME:    channels = [<"a", from = "load", to = "math", slots = 2>, <"taken", from = "load", to = "math", slots = 1>]
// CHECK:         tile.take {{.*}} {tile.channel = "taken", tile.role = "load"}
// CHECK-NEXT:    tile.load_index %taken[%{{.*}}] :
// ROLES-LABEL: tile.kernel @taken(
// ROLES:         tile.role "load" warps(4) {
// ROLES:           %[[PUT:.*]] = tile.put %taken(
// ROLES:             tile.take
// ROLES:           %[[OWN:.*]] = tile.slot %taken_1[%[[PUT]]]
// ROLES:           tile.load_index %[[OWN]]
// ROLES:           scf.if
// ROLES:         tile.role "math" warps(4) {
// ROLES:           %[[GOT:.*]] = tile.get %taken
// ROLES:           %[[THEIRS:.*]] = tile.slot %taken_1[%[[GOT]]]
// ROLES:           tile.load_index %[[THEIRS]]
// ROLES-NEXT:      tile.release_oldest
// ROLES:           scf.if
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @taken(%n: index {program.argument = #program.dimension<"n">}, %k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 1], alignment = 16>},
    %C: !tile.global<?x64xf32> {program.argument = #program.tensor<"C", output, dims[0, -1], alignment = 16>},
    %N: !tile.global<1xi32> {program.argument = #program.tensor<"N", workspace, dims[-1], alignment = 4>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %true = arith.constant true
  %false = arith.constant false
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %at = tile.transpose %a : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %t = tile.alloc_shared "taken" : !tile.shared<1xi32>
  %count = tile.slice %N[%c0] : !tile.global<1xi32> -> !tile.slice<1xi32>
  %more = scf.for %i = %c0 to %n step %c1 iter_args(%goes = %true) -> (i1) {
    %still = scf.if %goes -> (i1) {
      tile.take %count, %t[%c0] : !tile.slice<1xi32>, !tile.shared<1xi32>
      %tile = tile.load_index %t[%c0] : !tile.shared<1xi32>
      %is = arith.cmpi ult, %tile, %n : index
      scf.if %is {
        %row = arith.muli %tile, %c64 : index
        %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
        %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
          %sa = tile.slice %A[%row, %kk] : !tile.global<?x?xbf16> -> !tile.slice<64x64xbf16>
          tile.copy %sa, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
          %new = tile.gemm %a, %at, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
          scf.yield %new : tensor<64x64xf32>
        } {tile.pipeline = #tile.pipeline<stages = 2>}
        %sc = tile.slice %C[%row, %c0] : !tile.global<?x64xf32> -> !tile.slice<64x64xf32>
        tile.store %sum, %sc : tensor<64x64xf32>, !tile.slice<64x64xf32>
      }
      scf.yield %is : i1
    } else {
      scf.yield %false : i1
    }
    scf.yield %still : i1
  }
  tile.return
}
}

//--- obstacles.mlir

// A number of a tensor is no tile that a role could hand on.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @tensor(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1], alignment = 16>},
    %N: !tile.global<1xi32> {program.argument = #program.tensor<"N", inout, dims[-1], alignment = 4>},
    %Y: !tile.global<?x64xf32> {program.argument = #program.tensor<"Y", output, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : i32
  %sn = tile.slice %N[%c0] : !tile.global<1xi32> -> !tile.slice<1xi32>
  // expected-remark @below {{[not-warp-specialised] kernel 'tensor' is not warp-specialised: role 'out' needs what role 'math' reads of 'N'}}
  %row = tile.load_index %sn[] : !tile.slice<1xi32>
  tile.atomic add %c1, %sn : i32, !tile.slice<1xi32>
  %sx = tile.slice %X[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  %x = tile.load %sx : !tile.slice<64x64xf32> -> tensor<64x64xf32>
  tile.begin_role "out" warps(4)
  %sy = tile.slice %Y[%row, %c0] : !tile.global<?x64xf32> -> !tile.slice<64x64xf32>
  tile.store %x, %sy : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.end_role
  tile.return
}
}
