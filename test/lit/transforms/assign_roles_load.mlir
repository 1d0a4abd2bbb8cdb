// RUN: split-file %s %t
// RUN: %tile-opt %t/plan.mlir --tile-assign-roles=strategies=load-math,load-compute,copies -split-input-file 2> %t/remarks.txt | FileCheck %t/plan.mlir
// RUN: FileCheck %t/plan.mlir --check-prefix=REMARK < %t/remarks.txt
// RUN: %tile-opt %t/plan.mlir --tile-assign-roles=strategies=load-math,load-compute,copies --tile-select-copies --tile-warp-specialize --tile-lower-channels --canonicalize --cse -split-input-file 2> %t/more.txt | FileCheck %t/plan.mlir --check-prefix=ROLES
// RUN: %tile-opt %t/plan.mlir --tile-assign-roles=strategies=load-compute -split-input-file 2> %t/named.txt | FileCheck %t/plan.mlir --check-prefix=NAMED
// RUN: %tile-opt %t/plan.mlir --tile-assign-roles=strategies=load-math,load-compute,copies --tile-select-copies --tile-warp-specialize --tile-pipeline-copies -split-input-file 2> %t/ahead.txt | FileCheck %t/plan.mlir --check-prefix=AHEAD
// RUN: %tile-opt %t/obstacles.mlir --tile-assign-roles=strategies=load-math,load-compute,copies -split-input-file -verify-diagnostics

//--- plan.mlir

// One warp loads for those that compute, and the TMA stores from the slots that it has filled.
// CHECK-LABEL: tile.kernel @copied(
// CHECK-SAME:    tile.role_plan = #tile.role_plan<roles = [<"load", warps = 1>, <"math", warps = 2>], channels = [<"x", from = "load", to = "math", slots = 3>]>
// CHECK:         tile.copy %{{.*}}, %x {tile.channel = "x", tile.role = "load"}
// CHECK:         tile.copy %x, %{{.*}} {tile.role = "math"}
// ROLES-LABEL: tile.kernel @copied(
// ROLES:         tile.role "load" warps(1)
// ROLES:         tile.acquire
// ROLES:         tile.expect %{{.*}} bytes(8192)
// ROLES:         tile.copy_async
// ROLES:         tile.role "math" warps(2)
// ROLES:         tile.await
// ROLES:         tile.copy {{.*}} atom tma
// ROLES:         tile.release
// NAMED-LABEL: tile.kernel @copied(
// NAMED-SAME:    <"load", warps = 1>
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @copied(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", input, dims[0, -1], alignment = 16>},
    %Y: !tile.global<?x64xf32> {program.argument = #program.tensor<"Y", output, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 2>, load_role} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %x = tile.alloc_shared "x" : !tile.shared<32x64xf32>
  scf.for %i = %c0 to %m step %c32 {
    %from = tile.slice %X[%i, %c0] : !tile.global<?x64xf32> -> !tile.slice<32x64xf32>
    tile.copy %from, %x : !tile.slice<32x64xf32>, !tile.shared<32x64xf32>
    %to = tile.slice %Y[%i, %c0] : !tile.global<?x64xf32> -> !tile.slice<32x64xf32>
    tile.copy %x, %to : !tile.shared<32x64xf32>, !tile.slice<32x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 3>}
  tile.return
}
}

// -----

// A kernel that does not ask has none, unless the strategy is named.
// CHECK-LABEL: tile.kernel @unasked(
// CHECK-SAME:    roles = [<"all", warps = 4>]
// REMARK: remark: [not-warp-specialised] kernel 'unasked' is not warp-specialised: the kernel has no product, and a role loads ahead only of products by wgmma unless k.loadRole() asks for it
// NAMED-LABEL: tile.kernel @unasked(
// NAMED-SAME:    roles = [<"math", warps = 4>, <"load", warps = 1>]
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @unasked(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %x = tile.alloc_shared "x" : !tile.shared<32x64xf32>
  scf.for %i = %c0 to %m step %c32 {
    %from = tile.slice %X[%i, %c0] : !tile.global<?x64xf32> -> !tile.slice<32x64xf32>
    tile.copy %from, %x : !tile.slice<32x64xf32>, !tile.shared<32x64xf32>
    %v = tile.load %x : !tile.shared<32x64xf32> -> tensor<32x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// Several copies fill the rows of a tile: one slot, one phase that counts the bytes of all of them. Those that run ahead
// without roles fill one slot, too.
// CHECK-LABEL: tile.kernel @rows(
// CHECK-SAME:    channels = [<"x", from = "load", to = "math", slots = 2>]>
// ROLES-LABEL: tile.kernel @rows(
// ROLES:         tile.role "math" warps(4)
// ROLES:         tile.role "load" warps(1)
// ROLES:         %[[FIRST:.*]] = tile.rows %{{.*}}[0]
// ROLES-NEXT:    tile.expect %{{.*}} bytes(8192)
// ROLES-NEXT:    tile.copy_async %{{.*}}, %[[FIRST]],
// ROLES-NEXT:    %[[SECOND:.*]] = tile.rows %{{.*}}[16]
// ROLES-NEXT:    tile.copy_async %{{.*}}, %[[SECOND]],
// AHEAD-LABEL: tile.kernel @rows_ahead(
// AHEAD:         scf.for
// AHEAD:         %[[FIRST:.*]] = tile.rows %{{.*}}[0]
// AHEAD:         tile.copy %{{.*}}, %[[FIRST]] atom cp_async
// AHEAD:         %[[SECOND:.*]] = tile.rows %{{.*}}[16]
// AHEAD:         tile.copy %{{.*}}, %[[SECOND]] atom cp_async
// AHEAD-COUNT-1: tile.commit_copies
// AHEAD:         tile.await_copies
// AHEAD:         %[[SLOT:.*]] = tile.slot
// AHEAD:         tile.load %[[SLOT]]
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @rows(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>, load_role} {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %c32 = arith.constant 32 : index
  %x = tile.alloc_shared "x" : !tile.shared<32x64xf32>
  scf.for %i = %c0 to %m step %c32 {
    %first = tile.rows %x[0] : !tile.shared<32x64xf32> -> !tile.shared<16x64xf32>
    %second = tile.rows %x[16] : !tile.shared<32x64xf32> -> !tile.shared<16x64xf32>
    %a = tile.slice %X[%i, %c0] : !tile.global<?x64xf32> -> !tile.slice<16x64xf32>
    tile.copy %a, %first : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
    %j = arith.addi %i, %c5 : index
    %b = tile.slice %X[%j, %c0] : !tile.global<?x64xf32> -> !tile.slice<16x64xf32>
    tile.copy %b, %second : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
    %v = tile.load %x : !tile.shared<32x64xf32> -> tensor<32x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_80">} {
tile.kernel @rows_ahead(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %c32 = arith.constant 32 : index
  %x = tile.alloc_shared "x" : !tile.shared<32x64xf32>
  scf.for %i = %c0 to %m step %c32 {
    %first = tile.rows %x[0] : !tile.shared<32x64xf32> -> !tile.shared<16x64xf32>
    %second = tile.rows %x[16] : !tile.shared<32x64xf32> -> !tile.shared<16x64xf32>
    %a = tile.slice %X[%i, %c0] : !tile.global<?x64xf32> -> !tile.slice<16x64xf32>
    tile.copy %a, %first : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
    %j = arith.addi %i, %c5 : index
    %b = tile.slice %X[%j, %c0] : !tile.global<?x64xf32> -> !tile.slice<16x64xf32>
    tile.copy %b, %second : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
    %v = tile.load %x : !tile.shared<32x64xf32> -> tensor<32x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

//--- obstacles.mlir

// What the TMA cannot copy in a pipelined loop keeps a kernel from the role: one thread would make it.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @unaligned(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", input, dims[0, -1], alignment = 8>}) attributes {launch = #program.launch<warps = 4>, load_role} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %x = tile.alloc_shared "x" : !tile.shared<32x64xf32>
  scf.for %i = %c0 to %m step %c32 {
    %from = tile.slice %X[%i, %c0] : !tile.global<?x64xf32> -> !tile.slice<32x64xf32>
    // expected-remark @below {{[not-warp-specialised] kernel 'unaligned' is not warp-specialised: one thread loads ahead only what the TMA can, and 'X' is not known to be aligned to 16 bytes}}
    tile.copy %from, %x : !tile.slice<32x64xf32>, !tile.shared<32x64xf32>
    %v = tile.load %x : !tile.shared<32x64xf32> -> tensor<32x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// The author asks, but no loop is pipelined.
module attributes {program.target = #program.target<"sm_90a">} {
// expected-remark @below {{kernel 'no_pipeline' is not warp-specialised: no loop of the kernel is pipelined}}
tile.kernel @no_pipeline(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>, load_role} {
  %c0 = arith.constant 0 : index
  %x = tile.alloc_shared "x" : !tile.shared<32x64xf32>
  %from = tile.slice %X[%c0, %c0] : !tile.global<?x64xf32> -> !tile.slice<32x64xf32>
  tile.copy %from, %x : !tile.slice<32x64xf32>, !tile.shared<32x64xf32>
  %v = tile.load %x : !tile.shared<32x64xf32> -> tensor<32x64xf32>
  tile.return
}
}

// -----

// A row that two copies fill would have the later one's elements: the TMA keeps no such order.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @overlapping(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>, load_role} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %x = tile.alloc_shared "x" : !tile.shared<32x64xf32>
  %first = tile.rows %x[0] : !tile.shared<32x64xf32> -> !tile.shared<16x64xf32>
  %second = tile.rows %x[8] : !tile.shared<32x64xf32> -> !tile.shared<24x64xf32>
  scf.for %i = %c0 to %m step %c32 {
    %a = tile.slice %X[%i, %c0] : !tile.global<?x64xf32> -> !tile.slice<16x64xf32>
    // expected-remark @+2 {{[not-warp-specialised] kernel 'overlapping' is not warp-specialised: several copies fill row 8 of 'x'}}
    // expected-remark @+1 {{[copy-not-ahead] copy does not run ahead of its loop: several copies fill row 8 of 'x'}}
    tile.copy %a, %first : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
    %b = tile.slice %X[%i, %c0] : !tile.global<?x64xf32> -> !tile.slice<24x64xf32>
    // expected-remark @below {{[copy-not-ahead] copy does not run ahead of its loop: several copies fill row 8 of 'x'}}
    tile.copy %b, %second : !tile.slice<24x64xf32>, !tile.shared<24x64xf32>
    %v = tile.load %x : !tile.shared<32x64xf32> -> tensor<32x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// All rows or none: a place that follows from computed data keeps the others from running ahead.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @some_rows(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", input, dims[0, -1], alignment = 16>},
    %P: !tile.global<?xi32> {program.argument = #program.tensor<"P", inout, dims[0], alignment = 16>}) attributes {launch = #program.launch<warps = 4>, load_role} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %x = tile.alloc_shared "x" : !tile.shared<32x64xf32>
  %first = tile.rows %x[0] : !tile.shared<32x64xf32> -> !tile.shared<16x64xf32>
  %second = tile.rows %x[16] : !tile.shared<32x64xf32> -> !tile.shared<16x64xf32>
  scf.for %i = %c0 to %m step %c32 {
    %a = tile.slice %X[%i, %c0] : !tile.global<?x64xf32> -> !tile.slice<16x64xf32>
    // expected-remark @+2 {{[not-warp-specialised] kernel 'some_rows' is not warp-specialised: the position of the copy to 'x' depends on computed data}}
    // expected-remark @+1 {{[copy-not-ahead] copy does not run ahead of its loop: the position of the copy to 'x' depends on computed data}}
    tile.copy %a, %first : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
    %number = tile.slice %P[%c0] : !tile.global<?xi32> -> !tile.slice<1xi32>
    %p = tile.load_index %number[] : !tile.slice<1xi32>
    %b = tile.slice %X[%p, %c0] : !tile.global<?x64xf32> -> !tile.slice<16x64xf32>
    // expected-remark @below {{[copy-not-ahead] copy does not run ahead of its loop: the position of the copy to 'x' depends on computed data}}
    tile.copy %b, %second : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
    %v = tile.load %x : !tile.shared<32x64xf32> -> tensor<32x64xf32>
    %one = arith.constant 1 : i32
    %next = tile.splat %one : i32 -> tensor<1xi32>
    tile.store %next, %number : tensor<1xi32>, !tile.slice<1xi32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// Copies in different branches fill no slot together.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @apart(%m: index {program.argument = #program.dimension<"m">}, %n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>, load_role} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %x = tile.alloc_shared "x" : !tile.shared<32x64xf32>
  %first = tile.rows %x[0] : !tile.shared<32x64xf32> -> !tile.shared<16x64xf32>
  %second = tile.rows %x[16] : !tile.shared<32x64xf32> -> !tile.shared<16x64xf32>
  scf.for %i = %c0 to %m step %c32 {
    %a = tile.slice %X[%i, %c0] : !tile.global<?x64xf32> -> !tile.slice<16x64xf32>
    // expected-remark @+2 {{[not-warp-specialised] kernel 'apart' is not warp-specialised: rows of 'x' are filled by several copies in different loops, branches or roles}}
    // expected-remark @+1 {{[copy-not-ahead] copy does not run ahead of its loop: rows of 'x' are filled by several copies in different loops, branches or roles}}
    tile.copy %a, %first : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
    %isMore = arith.cmpi slt, %i, %n : index
    scf.if %isMore {
      tile.copy %a, %second : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
    }
    %v = tile.load %x : !tile.shared<32x64xf32> -> tensor<32x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}
