// RUN: %tlc-opt %s -tile-to-simt -split-input-file | FileCheck %s

// Loads, stores and elementwise operations on fragments: registers in the order of the layout.

#mma = #tile.layout<"reg(2@1:1, 2@0:8) lane(4@1:2, 8@0:1) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// A thread's registers: two of row lane / 4 and two of the row 8 below, each checked by itself.
// CHECK-LABEL: simt.kernel @guarded(
// CHECK-SAME:    %[[M:arg[0-9]+]]: i32 {program.parameter = #program.parameter<dimension, 0>},
// CHECK-SAME:    %[[N:arg[0-9]+]]: i32 {program.parameter = #program.parameter<dimension, 1>},
// CHECK-SAME:    %[[X:arg[0-9]+]]: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>},
// CHECK-SAME:    %[[PITCH:arg[0-9]+]]: i64 {program.parameter = #program.parameter<tensor_stride, 0>})
// CHECK-SAME:    grid = [#program.host_expr<"1">]
// CHECK:         %[[ONES:.*]] = arith.constant dense<1.000000e+00> : vector<4xf32>
// CHECK:         %[[LANE:.*]] = arith.andi %{{.*}}, %c31_i32
// CHECK:         %[[ROW:.*]] = arith.shrui %[[LANE]], %c2_i32
// CHECK:         %[[PAIR:.*]] = arith.andi %[[LANE]], %c3_i32
// CHECK:         %[[COLUMN:.*]] = arith.muli %[[PAIR]], %c2_i32
// CHECK:         %[[ROW_INSIDE:.*]] = arith.cmpi ult, %[[ROW]], %[[M]]
// CHECK:         %[[COLUMN_INSIDE:.*]] = arith.cmpi ult, %[[COLUMN]], %[[N]]
// CHECK:         %[[INSIDE:.*]] = arith.andi %[[ROW_INSIDE]], %[[COLUMN_INSIDE]]
// CHECK:         %[[ROW64:.*]] = arith.extsi %[[ROW]] : i32 to i64
// CHECK:         %[[START:.*]] = arith.muli %[[ROW64]], %[[PITCH]]
// CHECK:         %[[AT:.*]] = arith.addi %[[START]], %{{.*}} : i64
// CHECK:         %[[FIRST:.*]] = llvm.getelementptr %[[X]][%[[AT]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
// CHECK:         simt.load %[[FIRST]] if %[[INSIDE]] : !llvm.ptr<1> -> f32
// CHECK:         %[[SECOND:.*]] = llvm.getelementptr %[[FIRST]][1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
// CHECK:         simt.load %[[SECOND]] if
// CHECK:         arith.muli %[[PITCH]], %c8_i64
// CHECK:         simt.load
// CHECK:         simt.load
// CHECK-NOT:     simt.load
// CHECK:         vector.from_elements {{.*}} : vector<4xf32>
tile.kernel @guarded(%m: index {program.argument = #program.dimension<"m">}, %n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x?xf32> {program.argument = #program.tensor<"X", inout, dims[0, 1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %s = tile.slice %X[%c0, %c0] : !tile.global<?x?xf32> -> !tile.slice<16x8xf32>
  %v = tile.load %s : !tile.slice<16x8xf32> -> tensor<16x8xf32, #mma>
  // CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %[[ONES]] fastmath<contract> : vector<4xf32>
  %ones = tile.splat %one : f32 -> tensor<16x8xf32, #mma>
  %w = arith.addf %v, %ones fastmath<contract> : tensor<16x8xf32, #mma>
  // CHECK: %[[R0:.*]] = vector.extract %[[SUM]][0]
  // CHECK: simt.store %[[R0]], %{{.*}} if %{{.*}} : f32
  tile.store %w, %s atom simt : tensor<16x8xf32, #mma>, !tile.slice<16x8xf32>
  tile.return
}
}

// -----

#wide = #tile.layout<"reg(8@1:1) lane(8@1:8, 4@0:1) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// Eight elements of 16 bits at once; a row ends at a multiple of 8, so one test per vector.
// CHECK-LABEL: simt.kernel @vectors(
// CHECK:         simt.load %{{.*}} if %{{.*}} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK-NOT:     simt.load
// CHECK:         simt.store %{{.*}} if %{{.*}} : vector<8xbf16>
tile.kernel @vectors(%n: index {program.argument = #program.dimension<"n", multiple_of = 8>},
    %X: !tile.global<4x?xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, 0], alignment = 16>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %columns = arith.ceildivui %n, %c64 : index
  %j = tile.grid %columns : index
  %column = arith.muli %j, %c64 : index
  %s = tile.slice %X[%c0, %column] : !tile.global<4x?xbf16> -> !tile.slice<4x64xbf16>
  %v = tile.load %s : !tile.slice<4x64xbf16> -> tensor<4x64xbf16, #wide>
  tile.store %v, %s atom simt : tensor<4x64xbf16, #wide>, !tile.slice<4x64xbf16>
  tile.return
}
}

// -----

#wide = #tile.layout<"reg(8@1:1) lane(8@1:8, 4@0:1) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// Where a row may end within a vector, a tile takes vectors if it ends at one, or after the tile; otherwise single elements.
// CHECK-LABEL: simt.kernel @straddling(
// CHECK-SAME:    %[[N:arg[0-9]+]]: i32
// CHECK:         %[[LAST:.*]] = arith.addi %[[N]], %c-64_i32
// CHECK:         %[[AFTER:.*]] = arith.cmpi sle, %c0_i32, %[[LAST]]
// CHECK:         %[[REST:.*]] = arith.andi %[[N]], %c7_i32
// CHECK:         %[[WHOLE:.*]] = arith.cmpi eq, %[[REST]], %c0_i32
// CHECK:         %[[VECTORS:.*]] = arith.ori %[[WHOLE]], %[[AFTER]]
// CHECK:         scf.if %[[VECTORS]] -> (vector<8xbf16>) {
// CHECK:           simt.load %{{.*}} if %{{.*}} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK:         } else {
// CHECK-COUNT-8:   simt.load %{{.*}} if %{{.*}} : !llvm.ptr<1> -> bf16
// CHECK:           vector.from_elements {{.*}} : vector<8xbf16>
// CHECK:         }
// CHECK:         arith.ori
// CHECK:         scf.if
// CHECK:           simt.store %{{.*}} if %{{.*}} : vector<8xbf16>
// CHECK:         } else {
// CHECK-COUNT-8:   simt.store %{{.*}} if %{{.*}} : bf16
// CHECK:         }
tile.kernel @straddling(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<4x?xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, 0], alignment = 16>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %s = tile.slice %X[%c0, %c0] : !tile.global<4x?xbf16> -> !tile.slice<4x64xbf16>
  %v = tile.load %s : !tile.slice<4x64xbf16> -> tensor<4x64xbf16, #wide>
  tile.store %v, %s atom simt : tensor<4x64xbf16, #wide>, !tile.slice<4x64xbf16>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
// Outside reads as the fill value; a slice known to be inside is not tested.
// CHECK-LABEL: simt.kernel @fill(
// CHECK-SAME:    %[[FILL:arg[0-9]+]]: f32 {program.parameter = #program.parameter<scalar, 0>}
// CHECK:         %[[LOADED:.*]] = simt.load %{{.*}} if %[[INSIDE:.*]] : !llvm.ptr<1> -> f32
// CHECK:         arith.select %[[INSIDE]], %[[LOADED]], %[[FILL]]
// CHECK:         simt.store %{{[^ ]*}}, %{{[^ ]*}} : f32
tile.kernel @fill(%f: f32 {program.argument = #program.scalar<"f">}, %n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?xf32> {program.argument = #program.tensor<"X", inout, dims[1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %s = tile.slice %X[%c0] fill %f : f32 : !tile.global<?xf32> -> !tile.slice<32xf32>
  %v = tile.load %s : !tile.slice<32xf32> -> tensor<32xf32, #tile.layout<"reg() lane(32@0:1) warp()">>
  %t = tile.slice %X[%c0] unchecked "n is at least 32" : !tile.global<?xf32> -> !tile.slice<32xf32>
  tile.store %v, %t atom simt : tensor<32xf32, #tile.layout<"reg() lane(32@0:1) warp()">>, !tile.slice<32xf32>
  tile.return
}
}

// -----

#mma = #tile.layout<"reg(2@1:1, 2@0:8) lane(4@1:2, 8@0:1) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// An index is 32 bits: positions are a thread's own plus a constant per register.
// CHECK-LABEL: simt.kernel @coordinates(
// CHECK:         %[[STEPS:.*]] = arith.constant dense<[0, 0, 8, 8]> : vector<4xi32>
// CHECK:         %[[OWN:.*]] = arith.shrui %{{.*}}, %c2_i32
// CHECK:         %[[SPLAT:.*]] = vector.broadcast %[[OWN]] : i32 to vector<4xi32>
// CHECK:         %[[ROWS:.*]] = arith.addi %[[SPLAT]], %[[STEPS]]
// CHECK:         arith.cmpi ult, %[[ROWS]], %{{.*}} : vector<4xi32>
// CHECK:         arith.select %{{.*}} : vector<4xi1>, vector<4xf32>
// CHECK:         math.exp2 %{{.*}} : vector<4xf32>
tile.kernel @coordinates(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<16x8xf32> {program.argument = #program.tensor<"X", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %rows = tile.coordinates 0 : tensor<16x8xindex, #mma>
  %limit = tile.splat %n : index -> tensor<16x8xindex, #mma>
  %below = arith.cmpi ult, %rows, %limit : tensor<16x8xindex, #mma>
  %zeros = tile.splat %zero : f32 -> tensor<16x8xf32, #mma>
  %ones = tile.splat %one : f32 -> tensor<16x8xf32, #mma>
  %v = arith.select %below, %ones, %zeros : tensor<16x8xi1, #mma>, tensor<16x8xf32, #mma>
  %w = math.exp2 %v : tensor<16x8xf32, #mma>
  %s = tile.slice %X[%c0, %c0] : !tile.global<16x8xf32> -> !tile.slice<16x8xf32>
  tile.store %w, %s atom simt : tensor<16x8xf32, #mma>, !tile.slice<16x8xf32>
  tile.return
}
}

// -----

#mma = #tile.layout<"reg(2@1:1, 2@0:8) lane(4@1:2, 8@0:1) warp()">
#row = #tile.layout<"rank 2 reg(2@0:8) lane(4@*, 8@0:1) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// Registers of a row, then the four lanes of a group; the broadcast is a choice of registers.
// CHECK-LABEL: simt.kernel @rowSum(
// CHECK:         %[[V:.*]] = vector.from_elements
// CHECK:         %[[LEFT:.*]] = vector.shuffle %[[V]], %[[V]] [0, 2]
// CHECK:         %[[RIGHT:.*]] = vector.shuffle %[[V]], %[[V]] [1, 3]
// CHECK:         %[[SUM:.*]] = arith.addf %[[LEFT]], %[[RIGHT]] : vector<2xf32>
// CHECK:         %[[OTHER:.*]] = simt.shuffle_xor %[[SUM]] mask(1) : vector<2xf32>
// CHECK:         %[[SUM2:.*]] = arith.addf %[[SUM]], %[[OTHER]]
// CHECK:         %[[OTHER2:.*]] = simt.shuffle_xor %[[SUM2]] mask(2)
// CHECK:         %[[SUM4:.*]] = arith.addf %[[SUM2]], %[[OTHER2]]
// CHECK:         vector.shuffle %[[SUM4]], %[[SUM4]] [0, 0, 1, 1] : vector<2xf32>, vector<2xf32>
tile.kernel @rowSum(%X: !tile.global<16x8xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %s = tile.slice %X[%c0, %c0] : !tile.global<16x8xf32> -> !tile.slice<16x8xf32>
  %v = tile.load %s : !tile.slice<16x8xf32> -> tensor<16x8xf32, #mma>
  %r = tile.reduce sum %v axis(1) : tensor<16x8xf32, #mma> -> tensor<16x1xf32, #row>
  %e = tile.broadcast %r : tensor<16x1xf32, #row> -> tensor<16x8xf32, #mma>
  tile.store %e, %s atom simt : tensor<16x8xf32, #mma>, !tile.slice<16x8xf32>
  // Only one of the four lanes that hold a row's sum adds it.
  // CHECK: simt.store
  // CHECK: simt.store
  // CHECK: simt.store
  // CHECK: simt.store
  // CHECK: %[[REPLICA:.*]] = arith.andi %{{.*}}, %c3_i32
  // CHECK: %[[OWNER:.*]] = arith.cmpi eq, %[[REPLICA]], %c0_i32
  // CHECK: scf.if %[[OWNER]] {
  // CHECK:   simt.atomic addf %{{.*}}, %{{.*}} : f32
  %t = tile.slice %X[%c0, %c0] : !tile.global<16x8xf32> -> !tile.slice<16x1xf32>
  tile.atomic add %r, %t : tensor<16x1xf32, #row>, !tile.slice<16x1xf32>
  tile.return
}
}

// -----

#mma = #tile.layout<"reg(2@1:1, 2@0:8) lane(4@1:2, 8@0:1) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// A thread's elements, then the lanes. Each warp takes the branch or not.
// CHECK-LABEL: simt.kernel @anyInWarp(
// CHECK:         %[[LARGE:.*]] = arith.cmpf ogt, %{{.*}} : vector<4xf32>
// CHECK-COUNT-4: vector.extract %[[LARGE]]
// CHECK-DAG:     arith.ori
// CHECK:         %[[ANY:.*]] = simt.vote_any %{{.*}}
// CHECK:         scf.if %[[ANY]] -> (vector<4xf32>)
tile.kernel @anyInWarp(%X: !tile.global<16x8xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %s = tile.slice %X[%c0, %c0] : !tile.global<16x8xf32> -> !tile.slice<16x8xf32>
  %v = tile.load %s : !tile.slice<16x8xf32> -> tensor<16x8xf32, #mma>
  %one = arith.constant 1.0 : f32
  %ones = tile.splat %one : f32 -> tensor<16x8xf32, #mma>
  %large = arith.cmpf ogt, %v, %ones : tensor<16x8xf32, #mma>
  %any = tile.any_in_warp %large : tensor<16x8xi1, #mma>
  %r = scf.if %any -> tensor<16x8xf32, #mma> {
    %m = arith.minnumf %v, %ones : tensor<16x8xf32, #mma>
    scf.yield %m : tensor<16x8xf32, #mma>
  } else {
    scf.yield %v : tensor<16x8xf32, #mma>
  }
  tile.store %r, %s atom simt : tensor<16x8xf32, #mma>, !tile.slice<16x8xf32>
  tile.return
}
}
