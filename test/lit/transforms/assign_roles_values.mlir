// RUN: split-file %s %t
// RUN: %tile-opt %t/values.mlir --tile-assign-roles=strategies=load-scores-output -split-input-file | FileCheck %t/values.mlir
// RUN: %tile-opt %t/values.mlir --tile-assign-roles=strategies=load-scores-output --tile-select-copies --tile-warp-specialize -split-input-file | FileCheck %t/values.mlir --check-prefix=ROLES
// RUN: %tile-opt %t/obstacles.mlir --tile-assign-roles=strategies=load-scores-output -split-input-file -verify-diagnostics

//--- values.mlir

// Where a warp of the role "scores" decides on a branch, and "output" computes in it, too, the first says for which rows, eight in a byte. A
// product takes the fragment that the other role computed from its tile; what both read gets a channel to both; constants each
// makes for itself.
// CHECK-LABEL: tile.kernel @decided(
// CHECK-SAME:    roles = [<"load", warps = 4>, <"output", warps = 4>, <"scores", warps = 4>],
// CHECK-SAME:    channels = [<"k", from = "load", to = "scores", slots = 2>, <"v", from = "load", to = ["output", "scores"], slots = 2>,
// CHECK:         %[[ZERO:.*]] = tile.splat %{{.*}} {tile.role = "scores"} : f32 -> tensor<64x64xf32>
// CHECK-NEXT:    %[[OWN:.*]] = tile.splat %{{.*}} {tile.role = "output"} : f32 -> tensor<64x64xf32>
// CHECK:         scf.for {{.*}} iter_args(%[[SUM:.*]] = %[[OWN]])
// CHECK:           tile.gemm %k, %{{.*}}, %[[ZERO]] atom wgmma {tile.role = "scores"}
// CHECK:           %[[ANY:.*]] = tile.any_in_warp %{{.*}} {tile.role = "scores"}
// CHECK:           %[[TAKEN:.*]]:2 = scf.if %[[ANY]] -> (tensor<64x1xi1>, tensor<64x1xf32>) {
// CHECK:             %[[TRUE:.*]] = tile.splat %{{.*}} {tile.role = "scores"} : i1
// CHECK:             scf.yield %[[TRUE]], %{{.*}}
// CHECK:           } else {
// CHECK:             %[[FALSE:.*]] = tile.splat %{{.*}} {tile.role = "scores"} : i1
// CHECK:           tile.store %[[TAKEN]]#1, %[[FACTOR:.*]] {tile.channel = "fragment'", tile.role = "scores"}
// CHECK:           %[[THERE:.*]] = tile.load %[[FACTOR]] {tile.role = "output"}
// CHECK:           %[[BITS:.*]] = tile.reshape %[[TAKEN]]#0 {tile.role = "scores"} : tensor<64x1xi1> -> tensor<8x8x1xi1>
// CHECK:           arith.select %[[BITS]], {{.*}} {tile.role = "scores"}
// CHECK:           tile.reduce bit_or {{.*}} axis(1) {tile.role = "scores"}
// CHECK:           tile.store {{.*}} {tile.channel = "fragment", tile.role = "scores"} : tensor<8x1x1xi8>
// CHECK:           tile.load {{.*}} {tile.role = "output"} : {{.*}} -> tensor<8x1x1xi8>
// CHECK:           arith.cmpi ne, {{.*}} {tile.role = "output"} : tensor<8x8x1xi32>
// CHECK:           %[[ROWS:.*]] = tile.reshape {{.*}} {tile.role = "output"} : tensor<8x8x1xi1> -> tensor<64x1xi1>
// CHECK:           tile.any_in_warp %[[ROWS]] {tile.role = "output"}
// CHECK:           scf.if
// CHECK:             tile.broadcast %[[THERE]] {tile.role = "output"}
// CHECK:             %[[SCALED:.*]] = arith.mulf %[[SUM]], %{{.*}} {tile.role = "output"}
// CHECK:             %[[WIDE:.*]] = tile.broadcast %[[ROWS]] {tile.role = "output"} : tensor<64x1xi1> -> tensor<64x64xi1>
// CHECK:             arith.select %[[WIDE]], %[[SCALED]], %[[SUM]] {tile.role = "output"}
// CHECK:           tile.gemm %factor, %v, %{{.*}} atom wgmma {tile.role = "output"}
// ROLES-LABEL: tile.kernel @decided(
// ROLES:         tile.role "load" warps(4) {
// ROLES:           tile.put %v
// ROLES-NOT:       tile.get
// ROLES:         tile.role "output" warps(4) {
// ROLES-NOT:       tile.put
// ROLES-DAG:       tile.get %v
// ROLES-DAG:       tile.get %factor
// ROLES-DAG:       tile.release_oldest %v
// ROLES:         tile.role "scores" warps(4) {
// ROLES:           tile.get %v
// ROLES:           tile.release_oldest %v
// ROLES:           tile.put %factor
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @decided(%n: index {program.argument = #program.dimension<"n">},
    %K: !tile.global<?x64xbf16> {program.argument = #program.tensor<"K", input, dims[0, -1], alignment = 16>},
    %V: !tile.global<?x64xbf16> {program.argument = #program.tensor<"V", input, dims[0, -1], alignment = 16>},
    %O: !tile.global<64x64xf32> {program.argument = #program.tensor<"O", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %f1 = arith.constant 1.0 : f32
  %k = tile.alloc_shared "k" : !tile.shared<64x64xbf16>
  %v = tile.alloc_shared "v" : !tile.shared<64x64xbf16>
  %kt = tile.transpose %k : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %one = tile.splat %f1 : f32 -> tensor<64x1xf32>
  %sum = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %sk = tile.slice %K[%i, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sk, %k : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %sv = tile.slice %V[%i, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sv, %v : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %s = tile.gemm %k, %kt, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
    %first = tile.load %v : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    %p = tile.convert %s : tensor<64x64xf32> to tensor<64x64xbf16>
    %q = arith.addf %p, %first : tensor<64x64xbf16>
    %most = tile.reduce max %s axis(1) : tensor<64x64xf32> -> tensor<64x1xf32>
    %large = arith.cmpf ogt, %most, %one : tensor<64x1xf32>
    %any = tile.any_in_warp %large : tensor<64x1xi1>
    %scaled = scf.if %any -> (tensor<64x64xf32>) {
      %factor = math.exp2 %most : tensor<64x1xf32>
      %wide = tile.broadcast %factor : tensor<64x1xf32> -> tensor<64x64xf32>
      %product = arith.mulf %acc, %wide : tensor<64x64xf32>
      scf.yield %product : tensor<64x64xf32>
    } else {
      scf.yield %acc : tensor<64x64xf32>
    }
    %new = tile.gemm %q, %v, %scaled atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %so = tile.slice %O[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %sum, %so : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}
}

// -----

// The program's own tile goes from role to role, as long as one operation fills it. The role that stores it reads it again.
// CHECK-LABEL: tile.kernel @own_tile(
// CHECK-SAME:    <"p", from = "scores", to = "output", slots = 1>
// CHECK:         tile.store %{{.*}}, %p {tile.channel = "p", tile.role = "scores"}
// CHECK-NEXT:    tile.load %p {tile.role = "scores"}
// CHECK:         tile.gemm %p, %k, %{{.*}} atom wgmma {tile.role = "output"}
// ROLES-LABEL: tile.kernel @own_tile(
// ROLES:         tile.role "scores"
// ROLES:           %[[PUT:.*]] = tile.put %p
// ROLES:           %[[MINE:.*]] = tile.slot %{{.*}}[%[[PUT]]]
// ROLES:           tile.load %[[MINE]]
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @own_tile(%n: index {program.argument = #program.dimension<"n">},
    %K: !tile.global<?x64xbf16> {program.argument = #program.tensor<"K", input, dims[0, -1], alignment = 16>},
    %O: !tile.global<64x64xf32> {program.argument = #program.tensor<"O", output, dims[-1, -1], alignment = 16>},
    %R: !tile.global<64x64xbf16> {program.argument = #program.tensor<"R", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %k = tile.alloc_shared "k" : !tile.shared<64x64xbf16>
  %p = tile.alloc_shared "p" : !tile.shared<64x64xbf16>
  %kt = tile.transpose %k : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %sk = tile.slice %K[%i, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sk, %k : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %s = tile.gemm %k, %kt, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
    %w = tile.convert %s : tensor<64x64xf32> to tensor<64x64xbf16>
    tile.store %w, %p : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
    %again = tile.load %p : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    %sr = tile.slice %R[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
    tile.store %again, %sr : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
    %x = arith.addf %w, %w : tensor<64x64xbf16>
    %one = tile.gemm %x, %k, %acc atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    %new = tile.gemm %p, %k, %one atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %so = tile.slice %O[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %sum, %so : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}
}

//--- obstacles.mlir

// Two operations fill the tile: which of them a role reads is not said.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @filled_twice(%n: index {program.argument = #program.dimension<"n">},
    %K: !tile.global<?x64xbf16> {program.argument = #program.tensor<"K", input, dims[0, -1], alignment = 16>},
    %O: !tile.global<64x64xf32> {program.argument = #program.tensor<"O", output, dims[-1, -1], alignment = 16>},
    %R: !tile.global<64x64xbf16> {program.argument = #program.tensor<"R", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %k = tile.alloc_shared "k" : !tile.shared<64x64xbf16>
  %p = tile.alloc_shared "p" : !tile.shared<64x64xbf16>
  %kt = tile.transpose %k : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %sk = tile.slice %K[%i, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sk, %k : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %s = tile.gemm %k, %kt, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
    %w = tile.convert %s : tensor<64x64xf32> to tensor<64x64xbf16>
    tile.store %w, %p : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
    tile.store %w, %p : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
    %again = tile.load %p : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    %sr = tile.slice %R[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
    tile.store %again, %sr : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
    %x = arith.addf %w, %w : tensor<64x64xbf16>
    %one = tile.gemm %x, %k, %acc atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    // expected-remark @below {{kernel 'filled_twice' is not warp-specialised: 'p' is used by roles 'scores' and 'output', and no single operation fills it before}}
    %new = tile.gemm %p, %k, %one atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %so = tile.slice %O[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %sum, %so : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}
}

// -----

// The condition says it for each element, but the other role computes one number for a row.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @no_rows(%n: index {program.argument = #program.dimension<"n">},
    %K: !tile.global<?x64xbf16> {program.argument = #program.tensor<"K", input, dims[0, -1], alignment = 16>},
    %V: !tile.global<?x64xbf16> {program.argument = #program.tensor<"V", input, dims[0, -1], alignment = 16>},
    %O: !tile.global<64x64xf32> {program.argument = #program.tensor<"O", output, dims[-1, -1], alignment = 16>},
    %N: !tile.global<64x1xf32> {program.argument = #program.tensor<"N", output, dims[-1, -1], alignment = 4>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %f1 = arith.constant 1.0 : f32
  %k = tile.alloc_shared "k" : !tile.shared<64x64xbf16>
  %v = tile.alloc_shared "v" : !tile.shared<64x64xbf16>
  %kt = tile.transpose %k : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %one = tile.splat %f1 : f32 -> tensor<64x1xf32>
  %sum = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %sk = tile.slice %K[%i, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sk, %k : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %sv = tile.slice %V[%i, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sv, %v : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %s = tile.gemm %k, %kt, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
    %first = tile.load %v : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    %p = tile.convert %s : tensor<64x64xf32> to tensor<64x64xbf16>
    %q = arith.addf %p, %first : tensor<64x64xbf16>
    %most = tile.reduce max %s axis(1) : tensor<64x64xf32> -> tensor<64x1xf32>
    %large = arith.cmpf ogt, %s, %zero : tensor<64x64xf32>
    %any = tile.any_in_warp %large : tensor<64x64xi1>
    // expected-remark @below {{kernel 'no_rows' is not warp-specialised: the condition of k.whenAny does not say for which elements of what role 'output' computes the warps of role 'scores' take the branch}}
    %scaled:2 = scf.if %any -> (tensor<64x64xf32>, tensor<64x1xf32>) {
      %factor = math.exp2 %most : tensor<64x1xf32>
      %wide = tile.broadcast %factor : tensor<64x1xf32> -> tensor<64x64xf32>
      %product = arith.mulf %acc, %wide : tensor<64x64xf32>
      %rows = tile.reduce sum %product axis(1) : tensor<64x64xf32> -> tensor<64x1xf32>
      scf.yield %product, %rows : tensor<64x64xf32>, tensor<64x1xf32>
    } else {
      scf.yield %acc, %one : tensor<64x64xf32>, tensor<64x1xf32>
    }
    %new = tile.gemm %q, %v, %scaled#0 atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    %sn = tile.slice %N[%c0, %c0] : !tile.global<64x1xf32> -> !tile.slice<64x1xf32>
    tile.store %scaled#1, %sn : tensor<64x1xf32>, !tile.slice<64x1xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %so = tile.slice %O[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %sum, %so : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}
}

