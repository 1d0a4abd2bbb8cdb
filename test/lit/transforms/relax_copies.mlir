// RUN: %tile-opt %s --tile-relax-copies -split-input-file | FileCheck %s

// Nothing meets what the first copy writes: the rows of one iteration are no other's. Those of the second are read later, the
// third one's are written again in the next iteration.
// CHECK-LABEL: tile.kernel @stores(
// CHECK:         tile.copy {{.*}} atom tma until_read :
// CHECK:         tile.copy {{.*}} atom tma : !tile.shared
// CHECK:         tile.copy {{.*}} atom tma : !tile.shared
// CHECK:         tile.load
tile.kernel @stores(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x64xbf16> {program.argument = #program.tensor<"X", output, dims[0, -1]>},
    %Y: !tile.global<?x64xbf16> {program.argument = #program.tensor<"Y", inout, dims[0, -1]>},
    %Z: !tile.global<?x64xbf16> {program.argument = #program.tensor<"Z", output, dims[0, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %p = tile.alloc_shared "p" : !tile.shared<64x64xbf16>
  scf.for %i = %c0 to %n step %c1 {
    %row = arith.muli %i, %c64 : index
    %x = tile.slice %X[%row, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %p, %x atom tma : !tile.shared<64x64xbf16>, !tile.slice<64x64xbf16>
    %y = tile.slice %Y[%row, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %p, %y atom tma : !tile.shared<64x64xbf16>, !tile.slice<64x64xbf16>
    %z = tile.slice %Z[%c0, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %p, %z atom tma : !tile.shared<64x64xbf16>, !tile.slice<64x64xbf16>
  }
  %last = tile.slice %Y[%n, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
  %v = tile.load %last : !tile.slice<64x64xbf16> -> tensor<64x64xbf16>
  tile.return
}

// -----

// Loads, and copies by threads, are waited for as a whole.
// CHECK-LABEL: tile.kernel @others(
// CHECK-NOT:     until_read
// CHECK:         tile.return
tile.kernel @others(%X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1]>},
    %Y: !tile.global<64x64xbf16> {program.argument = #program.tensor<"Y", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" : !tile.shared<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.copy %x, %p atom tma : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
  %y = tile.slice %Y[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.copy %p, %y atom simt : !tile.shared<64x64xbf16>, !tile.slice<64x64xbf16>
  tile.return
}

// -----

// Additions to one tensor have no order among themselves, but one that is read later is complete before.
// CHECK-LABEL: tile.kernel @sums(
// CHECK:         tile.copy_reduce add %{{.*}}, %{{.*}} until_read :
// CHECK:         tile.copy_reduce add %{{.*}}, %{{.*}} until_read :
// CHECK:         tile.copy_reduce add %{{.*}}, %{{.*}} : !tile.shared
// CHECK:         tile.copy_reduce max %{{.*}}, %{{.*}} : !tile.shared
// CHECK:         tile.copy_reduce min %{{.*}}, %{{.*}} : !tile.shared
tile.kernel @sums(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", inout, dims[0, -1]>},
    %Y: !tile.global<?x64xf32> {program.argument = #program.tensor<"Y", inout, dims[0, -1]>},
    %Z: !tile.global<?x64xbf16> {program.argument = #program.tensor<"Z", inout, dims[0, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = tile.alloc_shared "p" : !tile.shared<64x64xf32>
  %q = tile.alloc_shared "q" : !tile.shared<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<?x64xf32> -> !tile.slice<64x64xf32>
  %y = tile.slice %Y[%c0, %c0] : !tile.global<?x64xf32> -> !tile.slice<64x64xf32>
  %z = tile.slice %Z[%c0, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
  scf.for %i = %c0 to %n step %c1 {
    tile.copy_reduce add %p, %x : !tile.shared<64x64xf32>, !tile.slice<64x64xf32>
    tile.copy_reduce add %p, %x : !tile.shared<64x64xf32>, !tile.slice<64x64xf32>
    tile.copy_reduce add %p, %y : !tile.shared<64x64xf32>, !tile.slice<64x64xf32>
    tile.copy_reduce max %q, %z : !tile.shared<64x64xbf16>, !tile.slice<64x64xbf16>
    tile.copy_reduce min %q, %z : !tile.shared<64x64xbf16>, !tile.slice<64x64xbf16>
  }
  %v = tile.load %y : !tile.slice<64x64xf32> -> tensor<64x64xf32>
  tile.return
}

// -----

// Another rank may read what a symmetric tensor gets, as soon as it is told.
// CHECK-LABEL: tile.kernel @symmetric(
// CHECK-NOT:     until_read
// CHECK:         tile.return
tile.kernel @symmetric(%other: index {program.argument = #program.dimension<"k.rank", source = rank>},
    %Y: !tile.global<64x64xbf16> {program.argument = #program.tensor<"Y", output, dims[-1, -1], symmetric = true>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" : !tile.shared<64x64xbf16>
  %y = tile.slice %Y of %other[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.copy %p, %y atom tma : !tile.shared<64x64xbf16>, !tile.slice<64x64xbf16>
  tile.return
}
