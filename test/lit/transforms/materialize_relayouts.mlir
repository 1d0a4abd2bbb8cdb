// RUN: %tile-opt %s --tile-materialize-relayouts -split-input-file -verify-diagnostics | FileCheck %s

#rows = #tile.layout<"reg(2@1:1) lane(32@1:2) warp(4@0:1)">
#other_rows = #tile.layout<"reg(2@1:32) lane(32@1:1) warp(4@0:1)">
#columns = #tile.layout<"reg(4@0:1) lane(16@1:1, 2@*) warp(4@1:16)">
#accumulator = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
#whole_rows = #tile.layout<"reg(8@1:1, 4@0:16) lane(8@1:8, 4@0:1) warp(4@0:4)">
#row = #tile.layout<"rank 2 reg() lane(32@*) warp(4@0:1)">
#column = #tile.layout<"rank 2 reg(4@0:1) lane(32@*) warp(4@*)">

// CHECK-DAG: #[[F32:.*]] = #tile.shared_layout<"4x64 32b axis 1 panel 64 swizzle none pad 0">
// CHECK-DAG: #[[I8:.*]] = #tile.shared_layout<"4x64 8b axis 1 panel 64 swizzle none pad 0">
// CHECK-DAG: #[[SWIZZLED:.*]] = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
// CHECK-DAG: #[[SUMS:.*]] = #tile.shared_layout<"4x4 32b axis 1 panel 4 swizzle none pad 0">

// Data moves between warps: through memory of the tile's shape, allocated at the kernel's top wherever the
// conversion is. Each conversion has a buffer; `tile-plan-shared-memory` gives them the same bytes.
// CHECK-LABEL: tile.kernel @between_warps(
// CHECK-DAG:     %[[FIRST:.*]] = tile.alloc_shared "relayout.0" : !tile.shared<4x64xf32, #[[F32]]>
// CHECK-DAG:     %[[SECOND:.*]] = tile.alloc_shared "relayout.1" : !tile.shared<4x64xf32, #[[F32]]>
// CHECK:         scf.for
// CHECK:           tile.convert_layout %{{.*}} scratch %[[FIRST]] :
// CHECK:           tile.convert_layout %{{.*}} scratch %[[SECOND]] :
tile.kernel @between_warps(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f = tile.splat %x : f32 -> tensor<4x64xf32, #rows>
  scf.for %i = %c0 to %c1 step %c1 {
    %g = tile.convert_layout %f : tensor<4x64xf32, #rows> -> tensor<4x64xf32, #columns>
    %h = tile.convert_layout %g : tensor<4x64xf32, #columns> -> tensor<4x64xf32, #rows>
  }
  tile.return
}

// The memory lies so that neither side's accesses meet in a bank: here an accumulator becomes whole rows.
// CHECK-LABEL: tile.kernel @without_conflicts(
// CHECK:         tile.alloc_shared "relayout.0" : !tile.shared<64x64xbf16, #[[SWIZZLED]]>
tile.kernel @without_conflicts(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4>} {
  %h = tile.convert %x : f32 to bf16
  %f = tile.splat %h : bf16 -> tensor<64x64xbf16, #accumulator>
  %g = tile.convert_layout %f : tensor<64x64xbf16, #accumulator> -> tensor<64x64xbf16, #whole_rows>
  tile.return
}

// Within a warp lanes exchange the values themselves; scratch that is there without need goes.
// CHECK-LABEL: tile.kernel @within_warp(
// CHECK-NOT:     relayout
// CHECK-NOT:     scratch %
// CHECK:         tile.return
tile.kernel @within_warp(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4>} {
  %needless = tile.alloc_shared "needless" : !tile.shared<4x64xf32>
  %f = tile.splat %x : f32 -> tensor<4x64xf32, #rows>
  %g = tile.convert_layout %f scratch %needless : !tile.shared<4x64xf32> : tensor<4x64xf32, #rows> -> tensor<4x64xf32, #other_rows>
  %sum = tile.reduce sum %f axis(1) scratch %needless : !tile.shared<4x64xf32> : tensor<4x64xf32, #rows> -> tensor<4x1xf32, #row>
  tile.return
}

// Memory holds no single bits and no `index`.
// CHECK-LABEL: tile.kernel @element_types(
// CHECK-DAG:     tile.alloc_shared "relayout.0" : !tile.shared<4x64xi8, #[[I8]]>
// CHECK-DAG:     tile.alloc_shared "relayout.1" : !tile.shared<4x64xi32, #[[F32]]>
tile.kernel @element_types(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4>} {
  %at = tile.coordinates 1 : tensor<4x64xindex, #rows>
  %p = arith.cmpi ugt, %at, %at : tensor<4x64xindex, #rows>
  %q = tile.convert_layout %p : tensor<4x64xi1, #rows> -> tensor<4x64xi1, #columns>
  %to = tile.convert_layout %at : tensor<4x64xindex, #rows> -> tensor<4x64xindex, #columns>
  tile.return
}

// Four warps share the rows: each brings a partial result, side by side along the reduced axis. Another reduction
// has memory of its own; one inside a warp needs none.
// CHECK-LABEL: tile.kernel @reductions(
// CHECK-DAG:     %[[MAX:.*]] = tile.alloc_shared "reduce.0" : !tile.shared<4x4xf32, #[[SUMS]]>
// CHECK-DAG:     %[[SUM:.*]] = tile.alloc_shared "reduce.1" : !tile.shared<4x4xf32, #[[SUMS]]>
// CHECK:         tile.reduce max %{{.*}} axis(1) scratch %[[MAX]] :
// CHECK:         tile.reduce sum %{{.*}} axis(1) scratch %[[SUM]] :
// CHECK:         tile.reduce sum %{{.*}} axis(1) : tensor
tile.kernel @reductions(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4>} {
  %f = tile.splat %x : f32 -> tensor<4x64xf32, #columns>
  %g = tile.splat %x : f32 -> tensor<4x64xf32, #rows>
  %max = tile.reduce max %f axis(1) : tensor<4x64xf32, #columns> -> tensor<4x1xf32, #column>
  %sum = tile.reduce sum %f axis(1) : tensor<4x64xf32, #columns> -> tensor<4x1xf32, #column>
  %own = tile.reduce sum %g axis(1) : tensor<4x64xf32, #rows> -> tensor<4x1xf32, #row>
  tile.return
}

// Four warps share the rows: each brings a sum of its own elements, or, where warps alternate every 4 elements, one of
// every such 4. A scan inside a warp needs no memory.
// CHECK-LABEL: tile.kernel @scans(
// CHECK-DAG:     %[[PARTS:.*]] = tile.alloc_shared "scan.0" : !tile.shared<4x4xf32,
// CHECK-DAG:     %[[MANY:.*]] = tile.alloc_shared "scan.1" : !tile.shared<4x16xf32,
// CHECK:         tile.scan sum %{{.*}} axis(1) scratch %[[PARTS]] :
// CHECK:         tile.scan max %{{.*}} axis(1) reverse scratch %[[MANY]] :
// CHECK:         tile.scan sum %{{.*}} axis(1) : tensor
tile.kernel @scans(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4>} {
  %f = tile.splat %x : f32 -> tensor<4x64xf32, #columns>
  %g = tile.splat %x : f32 -> tensor<4x64xf32, #rows>
  %h = tile.splat %x : f32 -> tensor<4x64xf32, #tile.layout<"reg(4@1:1, 4@1:16) lane(4@0:1, 8@*) warp(4@1:4)">>
  %parts = tile.scan sum %f axis(1) : tensor<4x64xf32, #columns>
  %many = tile.scan max %h axis(1) reverse : tensor<4x64xf32, #tile.layout<"reg(4@1:1, 4@1:16) lane(4@0:1, 8@*) warp(4@1:4)">>
  %own = tile.scan sum %g axis(1) : tensor<4x64xf32, #rows>
  tile.return
}

// -----

tile.kernel @no_layout(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4>} {
  %f = tile.splat %x : f32 -> tensor<4x64xf32>
  // expected-error @below {{expected fragments with a layout, but got 'tensor<4x64xf32>'; run 'tile-infer-layouts' before 'tile-materialize-relayouts'}}
  %max = tile.reduce max %f axis(1) : tensor<4x64xf32> -> tensor<4x1xf32>
  tile.return
}

// -----

#columns = #tile.layout<"reg(4@0:1) lane(16@1:1, 2@*) warp(4@1:16)">
#column = #tile.layout<"rank 2 reg(4@0:1) lane(32@*) warp(4@*)">
// A warp that takes a branch by itself would wait for the others.
tile.kernel @branch_of_warps(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4>} {
  %f = tile.splat %x : f32 -> tensor<4x64xf32, #columns>
  %p = arith.cmpf ogt, %f, %f : tensor<4x64xf32, #columns>
  // expected-note @below {{decided here}}
  %any = tile.any_in_warp %p : tensor<4x64xi1, #columns>
  scf.if %any {
    // expected-error @below {{expected a reduction that stays within a warp because each warp decides by itself whether it comes here, but 4 warps share axis 1 of 4x64; reduce before k.whenAny}}
    %max = tile.reduce max %f axis(1) : tensor<4x64xf32, #columns> -> tensor<4x1xf32, #column>
  }
  tile.return
}

// -----

#columns = #tile.layout<"reg(4@0:1) lane(16@1:1, 2@*) warp(4@1:16)">
tile.kernel @scan_in_branch_of_warps(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4>} {
  %f = tile.splat %x : f32 -> tensor<4x64xf32, #columns>
  %p = arith.cmpf ogt, %f, %f : tensor<4x64xf32, #columns>
  // expected-note @below {{decided here}}
  %any = tile.any_in_warp %p : tensor<4x64xi1, #columns>
  scf.if %any {
    // expected-error @below {{expected a cumulative operation that stays within a warp because each warp decides by itself whether it comes here, but 4 warps share axis 1 of 4x64; compute it before k.whenAny}}
    %sums = tile.scan sum %f axis(1) : tensor<4x64xf32, #columns>
  }
  tile.return
}

// -----

#columns = #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8) lane(4@1:2, 8@0:1) warp(4@1:16)">
#column = #tile.layout<"rank 2 reg(2@0:8) lane(4@*, 8@0:1) warp(4@*)">
#left = #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8) lane(4@1:2, 8@0:1) warp(4@*)">
// Where a product spreads the rows, its author may have them otherwise.
tile.kernel @rows_of_product(%x: f32 {program.argument = #program.scalar<"x">}, %y: bf16 {program.argument = #program.scalar<"y">}) attributes {launch = #program.launch<warps = 4>} {
  %b = tile.alloc_shared "b" : !tile.shared<16x64xbf16>
  %a = tile.splat %y : bf16 -> tensor<16x16xbf16, #left>
  %zero = tile.splat %x : f32 -> tensor<16x64xf32, #columns>
  %f = tile.gemm %a, %b, %zero policy full_col atom mma_sync : tensor<16x16xbf16, #left>, !tile.shared<16x64xbf16>, tensor<16x64xf32, #columns>
  %p = arith.cmpf ogt, %f, %f : tensor<16x64xf32, #columns>
  // expected-note @below {{decided here}}
  %any = tile.any_in_warp %p : tensor<16x64xi1, #columns>
  scf.if %any {
    // expected-error @below {{but 4 warps share axis 1 of 16x64; reduce before k.whenAny or let products use WarpPolicy::fullRow}}
    %max = tile.reduce max %f axis(1) : tensor<16x64xf32, #columns> -> tensor<16x1xf32, #column>
  }
  tile.return
}

// -----

#rows = #tile.layout<"reg(4@1:16) lane(16@1:1, 2@0:1) warp(2@0:2)">
#others = #tile.layout<"reg(4@1:16) lane(16@1:1, 2@0:2) warp(2@0:1)">
// A conversion that crosses warps waits as well.
tile.kernel @conversion_of_warps(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 2>} {
  %f = tile.splat %x : f32 -> tensor<4x64xf32, #rows>
  %p = arith.cmpf ogt, %f, %f : tensor<4x64xf32, #rows>
  // expected-note @below {{decided here}}
  %any = tile.any_in_warp %p : tensor<4x64xi1, #rows>
  scf.if %any {
    // expected-error @below {{expected fragments that stay within their warps because each warp decides by itself whether it comes here, but this one of 4x64 moves to other warps; compute it before k.whenAny}}
    %g = tile.convert_layout %f : tensor<4x64xf32, #rows> -> tensor<4x64xf32, #others>
  }
  tile.return
}

// -----

#four = #tile.layout<"reg(8@0:8, 4@1:1) lane(16@1:4, 2@0:1) warp(4@0:2)">
#eight = #tile.layout<"reg(4@0:16, 8@1:1) lane(8@1:8, 4@0:1) warp(4@0:4)">
// What a warp decides must be about what it holds: here rows 2 and 3 are decided by warp 1 and held by warp 0.
tile.kernel @other_warps(%x: f32 {program.argument = #program.scalar<"x">}, %y: f16 {program.argument = #program.scalar<"y">}) attributes {launch = #program.launch<warps = 4>} {
  %f = tile.splat %x : f32 -> tensor<64x64xf32, #four>
  %p = arith.cmpf ogt, %f, %f : tensor<64x64xf32, #four>
  // expected-note @below {{decided here}}
  %any = tile.any_in_warp %p : tensor<64x64xi1, #four>
  %a = tile.splat %y : f16 -> tensor<64x64xf16, #eight>
  %b = arith.addf %a, %a : tensor<64x64xf16, #eight>
  // expected-error @below {{expected the assigned value to be distributed over warps like the condition, because each warp decides by itself, but other warps hold it; compute the condition from the assigned value, or use 'where' instead}}
  %c = arith.select %any, %a, %b : tensor<64x64xf16, #eight>
  tile.return
}
