// RUN: %tile-opt %s --tile-fold-relayouts | FileCheck %s

#rows = #tile.layout<"reg(4@1:1, 2@0:16) lane(2@1:4, 16@0:1) warp()">
#columns = #tile.layout<"reg(4@0:1, 2@1:4) lane(8@0:4, 4@1:1) warp()">
// Register moves lead from one to the other.
#renamed = #tile.layout<"reg(2@0:16, 4@1:1) lane(2@1:4, 16@0:1) warp()">

// CHECK-DAG: #[[ROWS:.*]] = #tile.layout<"reg(4@1:1, 2@0:16)
// CHECK-DAG: #[[COLUMNS:.*]] = #tile.layout<"reg(4@0:1, 2@1:4)
// CHECK-LABEL: tile.kernel @made_anywhere(
tile.kernel @made_anywhere(%x: f32 {program.argument = #program.scalar<"x">},
    %X: !tile.global<32x8xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  // A number everywhere is made anew, and its first version goes if nobody else uses it.
  // CHECK-NEXT: %[[SPLAT:.*]] = tile.splat %x : f32 -> tensor<32x8xf32, #[[COLUMNS]]>
  %s = tile.splat %x : f32 -> tensor<32x8xf32, #rows>
  %t = tile.convert_layout %s : tensor<32x8xf32, #rows> -> tensor<32x8xf32, #columns>
  // CHECK-NEXT: arith.negf %[[SPLAT]]
  %use = arith.negf %t : tensor<32x8xf32, #columns>
  // Coordinates that others use in the first layout stay there as well.
  // CHECK-NEXT: %[[AT:.*]] = tile.coordinates 0 : tensor<32x8xindex, #[[ROWS]]>
  // CHECK-NEXT: %[[MOVED:.*]] = tile.coordinates 0 : tensor<32x8xindex, #[[COLUMNS]]>
  %at = tile.coordinates 0 : tensor<32x8xindex, #rows>
  %moved = tile.convert_layout %at : tensor<32x8xindex, #rows> -> tensor<32x8xindex, #columns>
  // CHECK-NEXT: arith.addi %[[AT]], %[[AT]]
  %use1 = arith.addi %at, %at : tensor<32x8xindex, #rows>
  // CHECK-NEXT: arith.addi %[[MOVED]], %[[MOVED]]
  %use2 = arith.addi %moved, %moved : tensor<32x8xindex, #columns>
  // CHECK-NEXT: arith.constant dense<1.000000e+00> : tensor<32x8xf32, #[[COLUMNS]]>
  %one = arith.constant dense<1.0> : tensor<32x8xf32, #rows>
  %other = tile.convert_layout %one : tensor<32x8xf32, #rows> -> tensor<32x8xf32, #columns>
  %use3 = arith.negf %other : tensor<32x8xf32, #columns>
  tile.return
}

// A mask costs less to compute again than to move: coordinates, a broadcast of them, a comparison.
// CHECK-LABEL: tile.kernel @mask(
// CHECK-NEXT:    %[[ROW:.*]] = tile.coordinates 0 : tensor<32x1xindex, #[[ROW_LAYOUT:.*]]>
// CHECK-NEXT:    %[[ROW_ALL:.*]] = tile.broadcast %[[ROW]] : tensor<32x1xindex, #[[ROW_LAYOUT]]> -> tensor<32x8xindex, #[[COLUMNS]]>
// CHECK-NEXT:    %[[COLUMN:.*]] = tile.coordinates 1 : tensor<32x8xindex, #[[COLUMNS]]>
// CHECK-NEXT:    %[[MASK:.*]] = arith.cmpi ult, %[[ROW_ALL]], %[[COLUMN]] : tensor<32x8xindex, #[[COLUMNS]]>
// CHECK-NEXT:    arith.andi %[[MASK]], %[[MASK]]
// CHECK-NOT:     tile.convert_layout
tile.kernel @mask(%x: f32 {program.argument = #program.scalar<"x">},
    %X: !tile.global<32x8xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %row = tile.coordinates 0 : tensor<32x1xindex, #tile.layout<"rank 2 reg(2@0:16) lane(2@*, 16@0:1) warp()">>
  %all = tile.broadcast %row : tensor<32x1xindex, #tile.layout<"rank 2 reg(2@0:16) lane(2@*, 16@0:1) warp()">> -> tensor<32x8xindex, #rows>
  %column = tile.coordinates 1 : tensor<32x8xindex, #rows>
  %mask = arith.cmpi ult, %all, %column : tensor<32x8xindex, #rows>
  %moved = tile.convert_layout %mask : tensor<32x8xi1, #rows> -> tensor<32x8xi1, #columns>
  %use = arith.andi %moved, %moved : tensor<32x8xi1, #columns>
  tile.return
}

// What comes from memory is moved, and so is what follows from it.
// CHECK-LABEL: tile.kernel @data(
// CHECK:         %[[F:.*]] = tile.load
// CHECK:         %[[G:.*]] = arith.addf %[[F]]
// CHECK-NEXT:    tile.convert_layout %[[G]]
tile.kernel @data(%x: f32 {program.argument = #program.scalar<"x">},
    %X: !tile.global<32x8xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<32x8xf32, #rows>
  %tile = tile.slice %X[%c0, %c0] : !tile.global<32x8xf32> -> !tile.slice<32x8xf32>
  %f = tile.load %tile : !tile.slice<32x8xf32> -> tensor<32x8xf32, #rows>
  %g = arith.addf %f, %one : tensor<32x8xf32, #rows>
  %moved = tile.convert_layout %g : tensor<32x8xf32, #rows> -> tensor<32x8xf32, #columns>
  tile.return
}

// Conversions of conversions are one, or none if they lead back; one that changes nothing goes.
// CHECK-LABEL: tile.kernel @chains(
// CHECK:         %[[F:.*]] = tile.load
// CHECK-NEXT:    %[[ONCE:.*]] = tile.convert_layout %[[F]] : {{.*}} -> tensor<32x8xf32, #[[RENAMED:.*]]>
// CHECK-NEXT:    arith.negf %[[ONCE]] : tensor<32x8xf32, #[[RENAMED]]>
// CHECK-NEXT:    math.absf %[[F]] : tensor<32x8xf32, #[[ROWS]]>
// CHECK-NEXT:    math.sqrt %[[F]] : tensor<32x8xf32, #[[ROWS]]>
tile.kernel @chains(%x: f32 {program.argument = #program.scalar<"x">},
    %X: !tile.global<32x8xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %tile = tile.slice %X[%c0, %c0] : !tile.global<32x8xf32> -> !tile.slice<32x8xf32>
  %f = tile.load %tile : !tile.slice<32x8xf32> -> tensor<32x8xf32, #rows>
  %g = tile.convert_layout %f : tensor<32x8xf32, #rows> -> tensor<32x8xf32, #columns>
  %h = tile.convert_layout %g : tensor<32x8xf32, #columns> -> tensor<32x8xf32, #renamed>
  %back = tile.convert_layout %g : tensor<32x8xf32, #columns> -> tensor<32x8xf32, #rows>
  %same = tile.convert_layout %f : tensor<32x8xf32, #rows> -> tensor<32x8xf32, #rows>
  %use1 = arith.negf %h : tensor<32x8xf32, #renamed>
  %use2 = math.absf %back : tensor<32x8xf32, #rows>
  %use3 = math.sqrt %same : tensor<32x8xf32, #rows>
  tile.return
}

// Registers that are merely renamed cost nothing, so that nothing is computed twice for them.
// CHECK-LABEL: tile.kernel @renamed(
// CHECK:         tile.convert_layout
tile.kernel @renamed(%x: f32 {program.argument = #program.scalar<"x">},
    %X: !tile.global<32x8xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %s = tile.splat %x : f32 -> tensor<32x8xf32, #rows>
  %e = math.exp2 %s : tensor<32x8xf32, #rows>
  %t = tile.convert_layout %e : tensor<32x8xf32, #rows> -> tensor<32x8xf32, #renamed>
  %use = arith.negf %t : tensor<32x8xf32, #renamed>
  tile.return
}

// What a branch yields is renamed in the branch, next to what made it: there it may be packed as the use wants it.
// CHECK-LABEL: tile.kernel @branch(
// CHECK:         %[[F:.*]] = tile.load
// CHECK-NEXT:    %[[CHOSEN:.*]]:2 = scf.if %{{.*}} -> (tensor<32x8xf32, #[[RENAMED]]>, tensor<32x8xf32, #[[ROWS]]>) {
// CHECK-NEXT:      %[[E:.*]] = math.absf %[[F]] : tensor<32x8xf32, #[[ROWS]]>
// CHECK-NEXT:      %[[IN_THEN:.*]] = tile.convert_layout %[[E]]
// CHECK-NEXT:      scf.yield %[[IN_THEN]], %[[E]]
// CHECK:           %[[IN_ELSE:.*]] = tile.convert_layout %[[F]]
// CHECK-NEXT:      scf.yield %[[IN_ELSE]], %[[F]]
// CHECK:         arith.negf %[[CHOSEN]]#0 : tensor<32x8xf32, #[[RENAMED]]>
// What others use as well, or other threads have, stays where it is.
// CHECK-NEXT:    arith.negf %[[CHOSEN]]#1 : tensor<32x8xf32, #[[ROWS]]>
// CHECK-NEXT:    tile.convert_layout %[[CHOSEN]]#1
// CHECK:         %[[OTHER:.*]] = scf.if %{{.*}} -> (tensor<32x8xf32, #[[ROWS]]>) {
// CHECK:         tile.convert_layout %[[OTHER]] : tensor<32x8xf32, #[[ROWS]]> -> tensor<32x8xf32, #[[COLUMNS]]>
tile.kernel @branch(%x: f32 {program.argument = #program.scalar<"x">},
    %X: !tile.global<32x8xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %positive = arith.cmpf ogt, %x, %zero : f32
  %tile = tile.slice %X[%c0, %c0] : !tile.global<32x8xf32> -> !tile.slice<32x8xf32>
  %f = tile.load %tile : !tile.slice<32x8xf32> -> tensor<32x8xf32, #rows>
  %chosen:2 = scf.if %positive -> (tensor<32x8xf32, #rows>, tensor<32x8xf32, #rows>) {
    %e = math.absf %f : tensor<32x8xf32, #rows>
    scf.yield %e, %e : tensor<32x8xf32, #rows>, tensor<32x8xf32, #rows>
  } else {
    scf.yield %f, %f : tensor<32x8xf32, #rows>, tensor<32x8xf32, #rows>
  }
  %t = tile.convert_layout %chosen#0 : tensor<32x8xf32, #rows> -> tensor<32x8xf32, #renamed>
  %use1 = arith.negf %t : tensor<32x8xf32, #renamed>
  %use2 = arith.negf %chosen#1 : tensor<32x8xf32, #rows>
  %u = tile.convert_layout %chosen#1 : tensor<32x8xf32, #rows> -> tensor<32x8xf32, #renamed>
  %use3 = arith.negf %u : tensor<32x8xf32, #renamed>
  %other = scf.if %positive -> (tensor<32x8xf32, #rows>) {
    %e = math.absf %f : tensor<32x8xf32, #rows>
    scf.yield %e : tensor<32x8xf32, #rows>
  } else {
    scf.yield %f : tensor<32x8xf32, #rows>
  }
  %v = tile.convert_layout %other : tensor<32x8xf32, #rows> -> tensor<32x8xf32, #columns>
  %use4 = arith.negf %v : tensor<32x8xf32, #columns>
  tile.return
}

// Next to a conversion between threads it stays: they are not to become one in a branch that warps take by themselves.
// CHECK-LABEL: tile.kernel @beside_another(
// CHECK:         %[[F:.*]] = tile.convert_layout
// CHECK:         %[[CHOSEN:.*]] = scf.if
// CHECK-NOT:     tile.convert_layout
// CHECK:           scf.yield %[[F]]
// CHECK:         tile.convert_layout %[[CHOSEN]]
tile.kernel @beside_another(%x: f32 {program.argument = #program.scalar<"x">},
    %X: !tile.global<32x8xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %positive = arith.cmpf ogt, %x, %zero : f32
  %tile = tile.slice %X[%c0, %c0] : !tile.global<32x8xf32> -> !tile.slice<32x8xf32>
  %g = tile.load %tile : !tile.slice<32x8xf32> -> tensor<32x8xf32, #columns>
  %f = tile.convert_layout %g : tensor<32x8xf32, #columns> -> tensor<32x8xf32, #rows>
  %chosen = scf.if %positive -> (tensor<32x8xf32, #rows>) {
    %e = math.absf %f : tensor<32x8xf32, #rows>
    scf.yield %e : tensor<32x8xf32, #rows>
  } else {
    scf.yield %f : tensor<32x8xf32, #rows>
  }
  %t = tile.convert_layout %chosen : tensor<32x8xf32, #rows> -> tensor<32x8xf32, #renamed>
  %use = arith.negf %t : tensor<32x8xf32, #renamed>
  tile.return
}

// A branch that nobody needs goes with all conversions of its results.
// CHECK-LABEL: tile.kernel @unused(
// CHECK-NOT:     scf.if
// CHECK-NOT:     tile.convert_layout
// CHECK:         tile.return
tile.kernel @unused(%x: f32 {program.argument = #program.scalar<"x">},
    %X: !tile.global<32x8xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %zero = arith.constant 0.0 : f32
  %positive = arith.cmpf ogt, %x, %zero : f32
  %s = tile.splat %x : f32 -> tensor<32x8xf32, #rows>
  %chosen:2 = scf.if %positive -> (tensor<32x8xf32, #rows>, tensor<32x8xf32, #rows>) {
    %e = math.sqrt %s : tensor<32x8xf32, #rows>
    scf.yield %e, %s : tensor<32x8xf32, #rows>, tensor<32x8xf32, #rows>
  } else {
    scf.yield %s, %s : tensor<32x8xf32, #rows>, tensor<32x8xf32, #rows>
  }
  %t = tile.convert_layout %chosen#0 : tensor<32x8xf32, #rows> -> tensor<32x8xf32, #renamed>
  %u = tile.convert_layout %chosen#1 : tensor<32x8xf32, #rows> -> tensor<32x8xf32, #rows>
  tile.return
}

// A long computation is not repeated.
// CHECK-LABEL: tile.kernel @long(
// CHECK-COUNT-6: math.exp2
// CHECK:         tile.convert_layout
tile.kernel @long(%x: f32 {program.argument = #program.scalar<"x">},
    %X: !tile.global<32x8xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %0 = tile.splat %x : f32 -> tensor<32x8xf32, #rows>
  %1 = math.exp2 %0 : tensor<32x8xf32, #rows>
  %2 = math.exp2 %1 : tensor<32x8xf32, #rows>
  %3 = math.exp2 %2 : tensor<32x8xf32, #rows>
  %4 = math.exp2 %3 : tensor<32x8xf32, #rows>
  %5 = math.exp2 %4 : tensor<32x8xf32, #rows>
  %6 = math.exp2 %5 : tensor<32x8xf32, #rows>
  %t = tile.convert_layout %6 : tensor<32x8xf32, #rows> -> tensor<32x8xf32, #columns>
  %use = arith.negf %t : tensor<32x8xf32, #columns>
  tile.return
}


// A choice that a warp made is not made again by another one.
// CHECK-LABEL: tile.kernel @decided(
// CHECK:         arith.select
// CHECK-NEXT:    tile.convert_layout
tile.kernel @decided(%x: f32 {program.argument = #program.scalar<"x">},
    %X: !tile.global<32x8xf32> {program.argument = #program.tensor<"X", input, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 1>} {
  %s = tile.splat %x : f32 -> tensor<32x8xf32, #rows>
  %zero = arith.constant dense<0.0> : tensor<32x8xf32, #rows>
  %p = arith.cmpf ogt, %s, %zero : tensor<32x8xf32, #rows>
  %any = tile.any_in_warp %p : tensor<32x8xi1, #rows>
  %chosen = arith.select %any, %s, %zero : tensor<32x8xf32, #rows>
  %t = tile.convert_layout %chosen : tensor<32x8xf32, #rows> -> tensor<32x8xf32, #columns>
  %use = arith.negf %t : tensor<32x8xf32, #columns>
  tile.return
}
