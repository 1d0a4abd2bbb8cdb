// RUN: %tile-opt %s --split-input-file | %tile-opt --split-input-file | FileCheck %s
// RUN: %tile-opt %s --split-input-file --mlir-print-op-generic | %tile-opt --split-input-file | FileCheck %s

// Defaults are not printed.
// CHECK-LABEL: tile.kernel @empty() {
tile.kernel @empty() attributes {launch = #program.launch<>} {
  // CHECK-NEXT: tile.return
  tile.return
}

// -----

// CHECK-LABEL: tile.kernel @arguments(
// CHECK-SAME:    %m: index {program.argument = #program.dimension<"m", multiple_of = 64, fixed = 128>},
// CHECK-SAME:    %X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", inout, dims[0, -1], alignment = 16, zero_fill = true>},
// CHECK-SAME:    %W: !tile.global<8xi32> {program.argument = #program.tensor<"W", workspace, dims[-1]>},
// CHECK-SAME:    %scale: f32 {program.argument = #program.scalar<"scale">})
// CHECK-SAME:    attributes {launch = #program.launch<warps = 4, cluster = 2>} {
tile.kernel @arguments(
    %m: index {program.argument = #program.dimension<"m", multiple_of = 64, fixed = 128>},
    %X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", inout, dims[0, -1], alignment = 16, zero_fill = true>},
    %W: !tile.global<8xi32> {program.argument = #program.tensor<"W", workspace, dims[-1]>},
    %scale: f32 {program.argument = #program.scalar<"scale">})
    attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  // CHECK: %{{.*}}:2 = tile.grid %m, %m : index, index
  %i:2 = tile.grid %m, %m : index, index
  // CHECK: tile.blocks
  %blocks = tile.blocks
  // CHECK: tile.block_rank
  %rank = tile.block_rank
  // CHECK: tile.multiprocessors
  %count = tile.multiprocessors
  // CHECK: tile.require tma
  tile.require tma
  // CHECK: tile.require wgmma
  tile.require wgmma
  // CHECK: tile.require warp_specialized
  tile.require warp_specialized
  tile.return
}

// The second kernel of a program takes the same arguments.
// CHECK-LABEL: tile.kernel @second(
tile.kernel @second(
    %m: index {program.argument = #program.dimension<"m", multiple_of = 64, fixed = 128>},
    %X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", inout, dims[0, -1], alignment = 16, zero_fill = true>},
    %W: !tile.global<8xi32> {program.argument = #program.tensor<"W", workspace, dims[-1]>},
    %scale: f32 {program.argument = #program.scalar<"scale">}) {
  tile.return
}

// -----

// CHECK-LABEL: tile.kernel @tiles(
tile.kernel @tiles(%m: index {program.argument = #program.dimension<"m">}) {
  // The group is printed even where it is the usual one.
  // CHECK: tile.persistent (%[[I:.*]], %[[J:.*]], %[[K:[^ ]*]]) in (%m, %m, %m) group(8) attributes {note} {
  tile.persistent (%i, %j, %k) in (%m, %m, %m) attributes {note} {
    // CHECK: arith.addi %[[I]], %[[K]]
    %s = arith.addi %i, %k : index
  }
  tile.return
}

// -----

// A body without operations is still a body.
// CHECK-LABEL: tile.kernel @nothing(
tile.kernel @nothing(%m: index {program.argument = #program.dimension<"m">}) {
  // CHECK: tile.persistent (%{{.*}}) in (%m) group(1) {
  // CHECK-NEXT: }
  tile.persistent (%i) in (%m) group(1) {
  }
  tile.return
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @roles()
tile.kernel @roles() attributes {launch = #program.launch<warps = 12>} {
  // CHECK: tile.roles {
  tile.roles {
    // CHECK: tile.role "load" warps(4) registers(24) {
    // CHECK-NEXT: }
    tile.role "load" warps(4) registers(24) {
    }
    // CHECK: tile.role "math" warps(8) registers(240) {
    tile.role "math" warps(8) registers(240) {
      // CHECK-NEXT: tile.sync
      tile.sync
    }
  }
  // CHECK: tile.role "load" warps(4) registers(24) one_thread {
  // CHECK: tile.role "math" warps(8) one_thread {
  tile.roles {
    tile.role "load" warps(4) registers(24) one_thread {
    }
    tile.role "math" warps(8) one_thread {
    }
  }
  // CHECK: tile.rematerialise dimensions{{$}}
  // CHECK: tile.rematerialise dimensions, warp
  tile.rematerialise dimensions
  tile.rematerialise dimensions, warp
  tile.return
}
}

// -----

// CHECK-LABEL: tile.kernel @variables(
tile.kernel @variables(%m: index {program.argument = #program.dimension<"m">}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %start = tile.splat %zero : f32 -> tensor<8x8xf32>
  // CHECK: %acc = tile.variable %{{.*}} "acc" : !tile.variable<tensor<8x8xf32>>
  %acc = tile.variable %start "acc" : !tile.variable<tensor<8x8xf32>>
  // CHECK: tile.variable %m : !tile.variable<index>
  %last = tile.variable %m : !tile.variable<index>
  // CHECK: scf.for
  scf.for %i = %c0 to %m step %c1 {
    // CHECK: %[[OLD:.*]] = tile.read %acc : !tile.variable<tensor<8x8xf32>>
    %old = tile.read %acc : !tile.variable<tensor<8x8xf32>>
    // CHECK: %[[NEW:.*]] = arith.addf %[[OLD]], %[[OLD]] {tile.stage = #tile.stage<stage = 1, order = 3>}
    %new = arith.addf %old, %old {tile.stage = #tile.stage<stage = 1, order = 3>} : tensor<8x8xf32>
    // CHECK: tile.write %[[NEW]], %acc : !tile.variable<tensor<8x8xf32>>
    tile.write %new, %acc : !tile.variable<tensor<8x8xf32>>
    tile.write %i, %last : !tile.variable<index>
  // CHECK: } {tile.pipeline = #tile.pipeline<stages = 2>}
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}

// -----

// CHECK-LABEL: tile.kernel @planned(
// CHECK-SAME:    tile.role_plan = #tile.role_plan<roles = [<"load", warps = 4>, <"math", warps = 8>], channels = [<"a", from = "load", to = "math", slots = 2>]>
tile.kernel @planned(%m: index {program.argument = #program.dimension<"m">}) attributes {tile.role_plan = #tile.role_plan<roles = [<"load", warps = 4>, <"math", warps = 8>], channels = [<"a", from = "load", to = "math", slots = 2>]>} {
  // CHECK: tile.sync {tile.role = "math"}
  tile.sync {tile.role = "math"}
  tile.return
}
