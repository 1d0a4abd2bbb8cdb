// RUN: %tlc-opt %s -split-input-file -tile-to-simt | FileCheck %s

// The number after a loop's last position may need more than 32 bits. Of a step of 1 it does not.
// CHECK-LABEL: simt.kernel @by_one(
// CHECK:         scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} : i32
// A loop to 2^31 - 1 from 0 on is counted without a sign.
// CHECK-LABEL: simt.kernel @from_zero(
// CHECK:         scf.for unsigned %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} : i32
// An end from memory may be negative.
// CHECK:         %[[END:.*]] = arith.maxsi %{{.*}}, %{{.*}} : i32
// CHECK:         scf.for unsigned %{{.*}} = %{{.*}} to %[[END]] step
#one = #tile.shared_layout<"1 32b axis 0 panel 1 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @by_one(%n: index {program.argument = #program.dimension<"n">})
    attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c-5 = arith.constant -5 : index
  %t = tile.alloc_shared "t" at 0 : !tile.shared<1xi32, #one>
  scf.for %i = %c-5 to %n step %c1 {
    tile.store_index %i, %t[%c0] : !tile.shared<1xi32, #one>
  }
  tile.return
}
tile.kernel @from_zero(%n: index {program.argument = #program.dimension<"n">})
    attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %t = tile.alloc_shared "t" at 0 : !tile.shared<1xi32, #one>
  scf.for %i = %c0 to %n step %c64 {
    tile.store_index %i, %t[%c0] : !tile.shared<1xi32, #one>
  }
  %end = tile.load_index %t[%c0] : !tile.shared<1xi32, #one>
  scf.for %i = %c0 to %end step %c64 {
    tile.store_index %i, %t[%c0] : !tile.shared<1xi32, #one>
  }
  tile.return
}
}

// -----

// Where the first position may be negative, iterations are counted.
// CHECK-LABEL: simt.kernel @from_memory(
// CHECK:         %[[RUNS:.*]] = arith.cmpi slt, %[[FROM:.*]], %[[TO:.*]] : i32
// CHECK:         %[[DISTANCE:.*]] = arith.subi %[[TO]], %[[FROM]] : i32
// CHECK:         %[[LAST:.*]] = arith.subi %[[DISTANCE]], %[[ONE:.*]] : i32
// CHECK:         %[[STEPS:.*]] = arith.divui %[[LAST]], %[[STEP:.*]] : i32
// CHECK:         %[[COUNT:.*]] = arith.addi %[[STEPS]], %[[ONE]] : i32
// CHECK:         %[[END:.*]] = arith.select %[[RUNS]], %[[COUNT]], %[[ZERO:.*]] : i32
// CHECK:         scf.for unsigned %[[NUMBER:.*]] = %[[ZERO]] to %[[END]] step %[[ONE]] : i32
// CHECK:           %[[OFFSET:.*]] = arith.muli %[[NUMBER]], %[[STEP]] : i32
// CHECK:           arith.addi %[[FROM]], %[[OFFSET]] : i32
#two = #tile.shared_layout<"2 32b axis 0 panel 2 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @from_memory() attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %t = tile.alloc_shared "t" at 0 : !tile.shared<2xi32, #two>
  %from = tile.load_index %t[%c0] : !tile.shared<2xi32, #two>
  %to = tile.load_index %t[%c1] : !tile.shared<2xi32, #two>
  scf.for %i = %from to %to step %c3 {
    tile.store_index %i, %t[%c0] : !tile.shared<2xi32, #two>
  }
  tile.return
}
}

// -----

// A count is divided without a sign. A number from memory may be negative: its quotient is rounded up, too.
// CHECK-LABEL: simt.kernel @rounded_up(
// CHECK:         %[[SUM:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
// CHECK:         arith.shrui %[[SUM]], %{{.*}} : i32
// CHECK:         %[[QUOTIENT:.*]] = arith.shrsi %[[A:.*]], %{{.*}} : i32
// CHECK:         %[[BITS:.*]] = arith.andi %[[A]], %{{.*}} : i32
// CHECK:         %[[ROUNDED:.*]] = arith.cmpi ne, %[[BITS]], %{{.*}} : i32
// CHECK:         %[[MORE:.*]] = arith.extui %[[ROUNDED]] : i1 to i32
// CHECK:         arith.addi %[[QUOTIENT]], %[[MORE]] : i32
// CHECK:         %[[THIRDS:.*]] = arith.divsi %[[A]], %{{.*}} : i32
// CHECK:         %[[REST:.*]] = arith.remsi %[[A]], %{{.*}} : i32
// CHECK:         %[[ABOVE:.*]] = arith.cmpi sgt, %[[REST]], %{{.*}} : i32
#one = #tile.shared_layout<"1 32b axis 0 panel 1 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @rounded_up(%n: index {program.argument = #program.dimension<"n">})
    attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %t = tile.alloc_shared "t" at 0 : !tile.shared<1xi32, #one>
  %count = arith.ceildivsi %n, %c64 : index
  tile.store_index %count, %t[%c0] : !tile.shared<1xi32, #one>
  %a = tile.load_index %t[%c0] : !tile.shared<1xi32, #one>
  %b = arith.ceildivsi %a, %c64 : index
  tile.store_index %b, %t[%c0] : !tile.shared<1xi32, #one>
  %c = arith.ceildivsi %a, %c3 : index
  tile.store_index %c, %t[%c0] : !tile.shared<1xi32, #one>
  tile.return
}
}
