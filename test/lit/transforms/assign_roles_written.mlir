// RUN: split-file %s %t
// RUN: %tile-opt %t/plan.mlir --tile-assign-roles -split-input-file 2> %t/remarks.txt | FileCheck %t/plan.mlir
// RUN: FileCheck %t/plan.mlir --check-prefix=REMARK < %t/remarks.txt
// RUN: %tile-opt %t/plan.mlir --tile-assign-roles --tile-select-copies --tile-warp-specialize -split-input-file 2> %t/more.txt | FileCheck %t/plan.mlir --check-prefix=ROLES
// RUN: %tile-opt %t/plan.mlir --tile-assign-roles=strategies=copies -split-input-file 2> %t/off.txt | FileCheck %t/plan.mlir --check-prefix=OFF
// RUN: %tile-opt %t/obstacles.mlir --tile-assign-roles -split-input-file -verify-diagnostics
// RUN: %tile-opt %t/errors.mlir --tile-assign-roles -split-input-file -verify-diagnostics

//--- plan.mlir

// An author's role has what stands between its marks, and the strategy's roles the rest. A role of one warp shares a warpgroup
// with the one that loads.
// CHECK-LABEL: tile.kernel @stores(
// CHECK-SAME:    roles = [<"load", warps = 3>, <"out", warps = 1>, <"math", warps = 4>],
// CHECK-SAME:    channels = [<"a", from = "load", to = "math", slots = 2>, <"C.tile", from = "math", to = "out", slots = 1>]
// CHECK-NOT:     tile.begin_role
// CHECK:         tile.copy %{{.*}}, %a {tile.channel = "a", tile.role = "load"}
// CHECK:         tile.store %{{.*}}, %C.tile {tile.channel = "C.tile", tile.role = "math"}
// CHECK:         tile.copy %C.tile, %{{.*}} {tile.role = "out"}
// CHECK-NOT:     tile.end_role
// ROLES-LABEL: tile.kernel @stores(
// ROLES:         tile.role "out" warps(1) {
// ROLES:           tile.get
// ROLES:           tile.copy %{{.*}}, %{{.*}} atom tma
// ROLES:           tile.release_oldest
// OFF-LABEL: tile.kernel @stores(
// OFF-NOT:     tile.begin_role
// OFF-SAME:    roles = [<"all", warps = 4>]
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @stores(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 16>},
    %C: !tile.global<64x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %at = tile.transpose %a : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %sa = tile.slice %A[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sa, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %new = tile.gemm %a, %at, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.begin_role "out" warps(1)
  %sc = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %sum, %sc : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.end_role
  tile.return
}
}

// -----

// Elements of four bits whose rows are no whole bytes go from role to role as wider ones, others as they are.
// CHECK-LABEL: tile.kernel @fours(
// CHECK:         tile.alloc_shared "S.tile" : !tile.shared<1x2xi4>
// CHECK:         tile.convert %{{.*}} {tile.role = "math"} : tensor<2x1xi4> to tensor<2x1xi8>
// CHECK:         tile.store %{{.*}} {tile.channel = "fragment", tile.role = "math"} : tensor<2x1xi8>, !tile.shared<2x1xi8>
// CHECK:         tile.convert %{{.*}} {tile.role = "out"} : tensor<2x1xi8> to tensor<2x1xi4>
// CHECK:         tile.convert %{{.*}} {tile.role = "math"} : tensor<2x1xf4E2M1FN> to tensor<2x1xf16>
// CHECK:         tile.convert %{{.*}} saturate {tile.role = "out"} : tensor<2x1xf16> to tensor<2x1xf4E2M1FN>
// OFF-LABEL: tile.kernel @fours(
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @fours(%X: !tile.global<2xi4> {program.argument = #program.tensor<"X", input, dims[-1]>},
    %F: !tile.global<2xf4E2M1FN> {program.argument = #program.tensor<"F", input, dims[-1]>},
    %R: !tile.global<1x2xi4> {program.argument = #program.tensor<"R", input, dims[-1, -1]>},
    %Y: !tile.global<2xi4> {program.argument = #program.tensor<"Y", output, dims[-1]>},
    %G: !tile.global<2xf4E2M1FN> {program.argument = #program.tensor<"G", output, dims[-1]>},
    %S: !tile.global<1x2xi4> {program.argument = #program.tensor<"S", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %sx = tile.slice %X[%c0] : !tile.global<2xi4> -> !tile.slice<2xi4>
  %x = tile.load %sx : !tile.slice<2xi4> -> tensor<2x1xi4>
  %sf = tile.slice %F[%c0] : !tile.global<2xf4E2M1FN> -> !tile.slice<2xf4E2M1FN>
  %f = tile.load %sf : !tile.slice<2xf4E2M1FN> -> tensor<2x1xf4E2M1FN>
  %sr = tile.slice %R[%c0, %c0] : !tile.global<1x2xi4> -> !tile.slice<1x2xi4>
  %r = tile.load %sr : !tile.slice<1x2xi4> -> tensor<1x2xi4>
  tile.begin_role "out" warps(4)
  %sy = tile.slice %Y[%c0] : !tile.global<2xi4> -> !tile.slice<2xi4>
  tile.store %x, %sy : tensor<2x1xi4>, !tile.slice<2xi4>
  %sg = tile.slice %G[%c0] : !tile.global<2xf4E2M1FN> -> !tile.slice<2xf4E2M1FN>
  tile.store %f, %sg : tensor<2x1xf4E2M1FN>, !tile.slice<2xf4E2M1FN>
  %ss = tile.slice %S[%c0, %c0] : !tile.global<1x2xi4> -> !tile.slice<1x2xi4>
  tile.store %r, %ss : tensor<1x2xi4>, !tile.slice<1x2xi4>
  tile.end_role
  tile.return
}
}

// -----

// The author's role of that name is the strategy's, and no role is made that executes nothing.
// CHECK-LABEL: tile.kernel @loads(
// CHECK-SAME:    roles = [<"math", warps = 4>, <"load", warps = 1>],
// CHECK-SAME:    channels = [<"a", from = "load", to = "math", slots = 2>]
// CHECK:         tile.copy %{{.*}}, %a {tile.channel = "a", tile.role = "load"}
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @loads(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %at = tile.transpose %a : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    tile.begin_role "load" warps(1)
    %sa = tile.slice %A[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sa, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    tile.end_role
    %new = tile.gemm %a, %at, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// No strategy fits: the author's role and one of the rest.
// CHECK-LABEL: tile.kernel @alone(
// CHECK-SAME:    roles = [<"out", warps = 4>, <"math", warps = 4>], channels = [<"Y.tile", from = "math", to = "out", slots = 1>]
// REMARK: [not-warp-specialised] kernel 'alone' has no roles but its author's: the kernel has neither a pipelined loop nor a product
// OFF-LABEL: tile.kernel @alone(
// OFF-NOT:     tile.role_plan
// OFF-NOT:     tile.role =
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @alone(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", input, dims[0, -1], alignment = 16>},
    %Y: !tile.global<?x64xf32> {program.argument = #program.tensor<"Y", output, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %n step %c64 {
    %sx = tile.slice %X[%i, %c0] : !tile.global<?x64xf32> -> !tile.slice<64x64xf32>
    %x = tile.load %sx : !tile.slice<64x64xf32> -> tensor<64x64xf32>
    %e = math.exp2 %x : tensor<64x64xf32>
    tile.begin_role "out" warps(4)
    %sy = tile.slice %Y[%i, %c0] : !tile.global<?x64xf32> -> !tile.slice<64x64xf32>
    tile.store %e, %sy : tensor<64x64xf32>, !tile.slice<64x64xf32>
    tile.end_role
  }
  tile.return
}
}

//--- obstacles.mlir

// The products' warps are chosen already.
module attributes {program.target = #program.target<"sm_90a">} {
// expected-remark @below {{[not-warp-specialised] kernel 'warps' is not warp-specialised: role 'math' has 8 warps, but what it executes is laid out for 4 (k.warps)}}
tile.kernel @warps(%Y: !tile.global<64x64xf32> {program.argument = #program.tensor<"Y", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  tile.begin_role "math" warps(8)
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %zero, %sy : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.end_role
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
// expected-remark @below {{[not-warp-specialised] kernel 'room' is not warp-specialised: its roles would have 36 warps, and a block has at most 32}}
tile.kernel @room(%Y: !tile.global<64x64xf32> {program.argument = #program.tensor<"Y", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  tile.begin_role "out" warps(32)
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %zero, %sy : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.end_role
  tile.return
}
}

// -----

// Blocks that share a multiprocessor share its threads.
module attributes {program.target = #program.target<"sm_90a">} {
// expected-remark @below {{[not-warp-specialised] kernel 'residents' is not warp-specialised: its roles would have 28 warps, and a block has at most 21}}
tile.kernel @residents(%Y: !tile.global<64x64xf32> {program.argument = #program.tensor<"Y", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4, residents = 3>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  tile.begin_role "out" warps(24)
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %zero, %sy : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.end_role
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
// expected-remark @below {{[not-warp-specialised] kernel 'five' is not warp-specialised: role 'math' would have 5 warps, which are not whole warpgroups}}
tile.kernel @five(%Y: !tile.global<64x64xf32> {program.argument = #program.tensor<"Y", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 5>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  tile.begin_role "out" warps(4)
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %zero, %sy : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.end_role
  tile.return
}
}

// -----

// So are they of a product in an author's role.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @product(%Y: !tile.global<64x64xf32> {program.argument = #program.tensor<"Y", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  tile.begin_role "more" warps(8)
  // expected-remark @below {{[not-warp-specialised] kernel 'product' is not warp-specialised: role 'more' has 8 warps, but the product of 'a' and 'a' is laid out for 4 (k.warps)}}
  %sum = tile.gemm %a, %a, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  tile.end_role
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %sum, %sy : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}
}

// -----

// Eight more warps leave registers for three blocks on a multiprocessor, but not for the product.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @registers(%Y: !tile.global<64x64xf32> {program.argument = #program.tensor<"Y", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4, residents = 3>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  // expected-remark @below {{[not-warp-specialised] kernel 'registers' is not warp-specialised: beside its author's roles}}
  %sum = tile.gemm %a, %a, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  tile.begin_role "out" warps(8)
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %sum, %sy : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.end_role
  tile.return
}
}

// -----

// A tile that its own role uses, too.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @own(%X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1], alignment = 16>},
    %Y: !tile.global<64x64xf32> {program.argument = #program.tensor<"Y", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %t = tile.alloc_shared "t" : !tile.shared<64x64xf32>
  %sx = tile.slice %X[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.begin_role "in" warps(4)
  // expected-remark @below {{[not-warp-specialised] kernel 'own' is not warp-specialised: 't' is used by the role that copies it and by role 'math'}}
  tile.copy %sx, %t : !tile.slice<64x64xf32>, !tile.shared<64x64xf32>
  %x = tile.load %t : !tile.shared<64x64xf32> -> tensor<64x64xf32>
  tile.store %x, %sy : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.end_role
  %y = tile.load %t : !tile.shared<64x64xf32> -> tensor<64x64xf32>
  tile.return
}
}

// -----

// Roles order no accesses to tensors.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @tensor(%Y: !tile.global<64x64xf32> {program.argument = #program.tensor<"Y", inout, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.begin_role "out" warps(4)
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  tile.store %zero, %sy : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.end_role
  // expected-remark @below {{[not-warp-specialised] kernel 'tensor' is not warp-specialised: it accesses 'Y', as role 'out' does, and no channel orders accesses to tensors}}
  %y = tile.load %sy : !tile.slice<64x64xf32> -> tensor<64x64xf32>
  tile.return
}
}

// -----

// Nor what other blocks do.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @counts(%Y: !tile.global<64x64xf32> {program.argument = #program.tensor<"Y", output, dims[-1, -1], alignment = 16>},
    %N: !tile.global<1xi32> {program.argument = #program.tensor<"N", workspace, dims[-1], alignment = 4>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.begin_role "out" warps(4)
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  tile.store %zero, %sy : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.end_role
  %count = tile.slice %N[%c0] : !tile.global<1xi32> -> !tile.slice<1xi32>
  // expected-remark @below {{[not-warp-specialised] kernel 'counts' is not warp-specialised: the announce orders what its block does before and after it, and roles run beside it}}
  tile.announce %count by %c1 : !tile.slice<1xi32>
  tile.return
}
}

//--- errors.mlir

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @open() attributes {launch = #program.launch<warps = 4>} {
  // expected-error @below {{expected a 'tile.end_role' for role 'a' in its block, before another role begins}}
  tile.begin_role "a" warps(4)
  tile.begin_role "b" warps(4)
  tile.end_role
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @differ() attributes {launch = #program.launch<warps = 4>} {
  tile.begin_role "a" warps(4)
  tile.end_role
  // expected-error @below {{expected the same number of warps in all parts of role 'a'}}
  tile.begin_role "a" warps(8)
  tile.end_role
  tile.return
}
}
