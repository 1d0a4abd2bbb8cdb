// RUN: split-file %s %t
// RUN: %tile-opt %t/plan.mlir --tile-assign-roles -split-input-file | FileCheck %t/plan.mlir
// RUN: %tile-opt %t/plan.mlir --tile-assign-roles=strategies=copies -split-input-file 2> %t/off.txt | FileCheck %t/plan.mlir --check-prefix=OFF
// RUN: %tile-opt %t/decline.mlir --tile-assign-roles=strategies=load-math -split-input-file -verify-diagnostics | FileCheck %t/decline.mlir
// RUN: %tile-opt %t/errors.mlir --tile-assign-roles=strategies=load-math --tile-select-copies -split-input-file -verify-diagnostics

//--- plan.mlir

// The plan names the roles and the channels between them; what is loaded by threads is on its way beside them where cp.async
// can. Each operation that one role executes says which; positions, slices and views belong to every role that needs them.
// CHECK-LABEL: tile.kernel @planned(
// CHECK-SAME:    launch = #program.launch<warps = 8>, tile.role_plan = #tile.role_plan<roles = [<"load", warps = 4>, <"math", warps = 8>],
// CHECK-SAME:    channels = [<"a.b", from = "load", to = "math", slots = 3>]>
// CHECK-NOT:     tile.slice {{.*}}tile.role
// CHECK:         tile.copy %{{.*}}, %a {tile.channel = "a.b", tile.role = "load"}
// CHECK:         tile.copy %{{.*}}, %b {tile.channel = "a.b", tile.role = "load"}
// CHECK-NOT:     tile.transpose {{.*}}tile.role
// CHECK:         tile.gemm {{.*}} {tile.role = "math"}
// CHECK:         tile.store {{.*}} {tile.role = "math"}
// OFF-LABEL: tile.kernel @planned(
// OFF-SAME:    tile.role_plan = #tile.role_plan<roles = [<"all", warps = 8>], channels = [<"a.b", from = "all", to = "all", slots = 3>]>
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @planned(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<128x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 8>},
    %B: !tile.global<64x?xbf16> {program.argument = #program.tensor<"B", input, dims[-1, 0], alignment = 16>},
    %C: !tile.global<128x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %bt = tile.transpose %b : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
    %sa = tile.slice %A[%c0, %kk] : !tile.global<128x?xbf16> -> !tile.slice<128x64xbf16>
    tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
    %sb = tile.slice %B[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %new = tile.gemm %a, %bt, %acc atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<128x64xf32>
    scf.yield %new : tensor<128x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 3>}
  %sc = tile.slice %C[%c0, %c0] : !tile.global<128x64xf32> -> !tile.slice<128x64xf32>
  tile.store %sum, %sc : tensor<128x64xf32>, !tile.slice<128x64xf32>
  tile.return
}
}

// -----

// Buffers of one name have channels of different ones.
// CHECK-LABEL: tile.kernel @one_name(
// CHECK-SAME:    channels = [<"a", from = "load", to = "math", slots = 2>, <"a'", from
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @one_name(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %first = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %second = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %s, %first : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    tile.copy %s, %second : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %first : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    %y = tile.load %second : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

//--- decline.mlir

// Nothing to split off.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @no_copy(
// CHECK-NOT:   tile.role_plan
tile.kernel @no_copy(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", inout, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  // expected-remark @below {{[not-warp-specialised] kernel 'no_copy' is not warp-specialised: the kernel has no product, and a role loads ahead only of products by wgmma}}
  scf.for %kk = %c0 to %k step %c64 {
    %x = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// What keeps the copies from the TMA is named where it stands: a product,
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @product(
// CHECK-NOT:   tile.role_plan
tile.kernel @product(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %s, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    // expected-remark @below {{[not-warp-specialised] kernel 'product' is not warp-specialised: the product of 'a' and 'a' uses mma.sync, and a role loads ahead only of wgmma}}
    %new = tile.gemm %a, %a, %acc atom mma_sync : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// that there is nothing to load.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @nothing_to_load(
// CHECK-NOT:   tile.role_plan
tile.kernel @nothing_to_load(%k: index {program.argument = #program.dimension<"k">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  // expected-remark @below {{[not-warp-specialised] kernel 'nothing_to_load' is not warp-specialised: no copy fills a shared tile from a tensor}}
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %new = tile.gemm %a, %a, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// A view is filled: TMA boxes are those of whole buffers.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @view(
// CHECK-NOT:   tile.role_plan
tile.kernel @view(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", inout, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    %t = tile.transpose %a : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
    // expected-remark @below {{[not-warp-specialised] kernel 'view' is not warp-specialised: the copy to shared tile 'a' does not fill a whole shared tile from a tensor}}
    tile.copy %s, %t : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16, transposed>
    %x = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// Where the copy reads is known only to who computes it.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @position(
// CHECK-NOT:   tile.role_plan
tile.kernel @position(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", inout, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %v = tile.variable %c0 : !tile.variable<index>
  scf.for %kk = %c0 to %k step %c64 {
    %at = tile.read %v : !tile.variable<index>
    %s = tile.slice %A[%at, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark @below {{[not-warp-specialised] kernel 'position' is not warp-specialised: the position of the copy to 'a' depends on computed data}}
    tile.copy %s, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// An element of a workspace where the kernel itself counts.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @counted(
// CHECK-NOT:   tile.role_plan
tile.kernel @counted(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>},
    %W: !tile.global<?xi32> {program.argument = #program.tensor<"W", workspace, dims[0]>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %first = tile.slice %W[%c0] : !tile.global<?xi32> -> !tile.slice<1xi32>
  tile.announce %first by %c64 : !tile.slice<1xi32>
  scf.for %kk = %c0 to %k step %c64 {
    %p = tile.slice %W[%kk] : !tile.global<?xi32> -> !tile.slice<1xi32>
    %at = tile.load_index %p[] : !tile.slice<1xi32>
    %s = tile.slice %A[%at, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark @below {{[not-warp-specialised] kernel 'counted' is not warp-specialised: the position of the copy to 'a' depends on computed data}}
    tile.copy %s, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// The same for whether it reads at all: through a loop whose trip count is computed, and the condition made of its result.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @condition(
// CHECK-NOT:   tile.role_plan
tile.kernel @condition(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", inout, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %v = tile.variable %c0 : !tile.variable<index>
  %end = tile.read %v : !tile.variable<index>
  %count = scf.for %i = %c0 to %end step %c64 iter_args(%n = %c0) -> (index) {
    %more = arith.addi %n, %c64 : index
    scf.yield %more : index
  }
  %p = arith.cmpi ugt, %count, %c0 : index
  scf.for %kk = %c0 to %k step %c64 {
    scf.if %p {
      %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
      // expected-remark @below {{[not-warp-specialised] kernel 'condition' is not warp-specialised: the position of the copy to 'a' depends on a loop or branch that follows computed data}}
      tile.copy %s, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
      %x = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// Two copies in turn: one ring cannot serve both.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @two_copies(
// CHECK-NOT:   tile.role_plan
tile.kernel @two_copies(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", inout, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark-re @below {{[not-warp-specialised] kernel 'two_copies' is not warp-specialised: 'a' is also filled by the copy to shared tile 'a' at {{.*}}decline.mlir:{{[0-9]+}}:5}}
    tile.copy %s, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    tile.copy %s, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %y = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// Changed where it lies, through a view: the roles would need an order for that, too.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @changed_in_place(
// CHECK-NOT:   tile.role_plan
tile.kernel @changed_in_place(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", inout, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark-re @below {{[not-warp-specialised] kernel 'changed_in_place' is not warp-specialised: 'a' is also filled by the copy to shared tile 'a' at {{.*}}decline.mlir:{{[0-9]+}}:5}}
    tile.copy %s, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    %t = tile.transpose %a : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
    tile.store %x, %t : tensor<64x64xbf16>, !tile.shared<64x64xbf16, transposed>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// Filled in two loops.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @two_loops(
// CHECK-NOT:   tile.role_plan
tile.kernel @two_loops(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", inout, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark-re @below {{[not-warp-specialised] kernel 'two_loops' is not warp-specialised: 'a' is also filled by the copy to shared tile 'a' at {{.*}}decline.mlir:{{[0-9]+}}:5}}
    tile.copy %s, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %s, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  }
  tile.return
}
}

// -----

// A role that runs ahead would read what the other has not yet written.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @feeds_itself(
// CHECK-NOT:   tile.role_plan
tile.kernel @feeds_itself(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", inout, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark-re @below {{[not-warp-specialised] kernel 'feeds_itself' is not warp-specialised: 'A', from where 'a' is filled, is also written, by the copy to 'A' at {{.*}}decline.mlir:{{[0-9]+}}:5}}
    tile.copy %s, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    tile.store %x, %s : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// The last tile outlives the loop, but its slot does not.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @used_later(
// CHECK-NOT:   tile.role_plan
tile.kernel @used_later(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", inout, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark @below {{[not-warp-specialised] kernel 'used_later' is not warp-specialised: 'a' is used outside the loop that fills it}}
    tile.copy %s, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %y = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  tile.return
}
}

// -----

// Nobody would release the slots.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @never_read(
// CHECK-NOT:   tile.role_plan
tile.kernel @never_read(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", inout, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark @below {{[not-warp-specialised] kernel 'never_read' is not warp-specialised: 'a' is never read}}
    tile.copy %s, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// A ring hands slots over in a block: no other block reads one.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @of_cluster(
// CHECK-NOT:   tile.role_plan
tile.kernel @of_cluster(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>},
    %Y: !tile.global<64x64xbf16> {program.argument = #program.tensor<"Y", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 8, cluster = 2>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %y = tile.slice %Y[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark @below {{[not-warp-specialised] kernel 'of_cluster' is not warp-specialised: 'a' is also accessed by other blocks of the cluster, which no ring orders}}
    tile.copy %s, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load_from_block %a of %c0 : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    tile.store %x, %y : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// Double buffering by hand: the loop reads the tile of the iteration before.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @read_before(
// CHECK-NOT:   tile.role_plan
tile.kernel @read_before(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", inout, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %x = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark @below {{[not-warp-specialised] kernel 'read_before' is not warp-specialised: 'a' is read before it is filled}}
    tile.copy %s, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// No warps are left.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @full_block(
// CHECK-NOT:   tile.role_plan
// expected-remark @below {{[not-warp-specialised] kernel 'full_block' is not warp-specialised: 32 warps leave no room for a role of 4 that loads}}
tile.kernel @full_block(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", inout, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 32>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %s, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// A loop in a role has its rings already; the explicit form keeps its atoms.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @in_role(
// CHECK-NOT:   tile.pipeline
// expected-remark @below {{[not-warp-specialised] kernel 'in_role' keeps its pipelined loops synchronous: it has roles already}}
tile.kernel @in_role(%k: index {program.argument = #program.dimension<"k">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  tile.roles {
    tile.role "one" warps(4) {
      scf.for %kk = %c0 to %k step %c1 {
      } {tile.pipeline = #tile.pipeline<stages = 2>}
    }
  }
  tile.return
}
}

// -----

// Without pipelined loops there is nothing to remark on. Buffers lie at the top in any case.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @no_pipeline(
// CHECK-NEXT:    tile.alloc_shared "a"
tile.kernel @no_pipeline(%k: index {program.argument = #program.dimension<"k">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %kk = %c0 to %k step %c1 {
    %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  }
  tile.return
}
}

//--- errors.mlir

// expected-error @below {{the module has no 'program.target'}}
tile.kernel @no_target() {
  tile.return
}

// -----

// What the author requires is an error where it is missed.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @require_roles(%k: index {program.argument = #program.dimension<"k">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{kernel 'require_roles' is not warp-specialised: the kernel has no product, and a role loads ahead only of products by wgmma}}
  scf.for %kk = %c0 to %k step %c1 {
    // expected-note @below {{required here}}
    tile.require warp_specialized
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// A kernel that cannot be split loses the TMA, too.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @require_tma(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  // expected-note @below {{required here}}
  tile.require tma
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark @below {{kernel 'require_tma' is not warp-specialised: 'a' is never read}}
    // expected-error @below {{threads make this copy, not the TMA: 'a' is never read}}
    tile.copy %s, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// Not even one stage fits.
module attributes {program.target = #program.target<"sm_90a">} {
// expected-error @below {{kernel 'too_large': expected at least one stage to fit into 232448 bytes of shared memory, but it takes 270352 bytes, 8192 of them outside the stages; use smaller tiles}}
tile.kernel @too_large(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pf = arith.constant 0.0 : f32
  %pz = tile.splat %pf : f32 -> tensor<64x64xf32>
  %pw = tile.alloc_shared "w" : !tile.shared<64x64xbf16>
  %pp = tile.gemm %pw, %pw, %pz atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<2048x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<2048x64xbf16>
    tile.copy %s, %a : !tile.slice<2048x64xbf16>, !tile.shared<2048x64xbf16>
    %x = tile.load %a : !tile.shared<2048x64xbf16> -> tensor<2048x64xbf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}
