// RUN: %tile-opt %s --tile-place-fences | FileCheck %s

// Atomic operations of one kind need no meeting among themselves, in a loop either; others, stores before them
// and loads after them do.
// CHECK-LABEL: tile.kernel @counts(
// CHECK:         tile.store
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      tile.scatter combine add
// CHECK-NEXT:      tile.atomic add
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.atomic max
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.load
// CHECK-NEXT:    tile.load
// CHECK-NEXT:    tile.return
tile.kernel @counts(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x32xi32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = arith.constant 1 : i32
  %x = arith.constant dense<1> : tensor<256xi32>
  %at = tile.coordinates 0 : tensor<256xindex>
  %a = tile.alloc_shared "a" : !tile.shared<256xi32>
  %s = tile.slice_shared %a[%c0] gathered [0] : !tile.shared<256xi32> -> !tile.slice<256xi32>
  %b = tile.slice_shared %a[%n] : !tile.shared<256xi32> -> !tile.slice<256xi32>
  %e = tile.slice_shared %a[%n] : !tile.shared<256xi32> -> !tile.slice<1xi32>
  tile.store %x, %a atom simt : tensor<256xi32>, !tile.shared<256xi32>
  scf.for %j = %c0 to %n step %c1 {
    tile.scatter combine add %x, %s[%at] : tensor<256xi32>, !tile.slice<256xi32>, tensor<256xindex>
    tile.atomic add %i, %e : i32, !tile.slice<1xi32>
  }
  tile.atomic max %x, %b : tensor<256xi32>, !tile.slice<256xi32>
  %v = tile.load %b : !tile.slice<256xi32> -> tensor<256xi32>
  %w = tile.load %a : !tile.shared<256xi32> -> tensor<256xi32>
  tile.return
}

// Old values are those that the operation before left behind, also of the round before.
// CHECK-LABEL: tile.kernel @old(
// CHECK:         scf.for
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      tile.atomic_fetch
// CHECK-NEXT:    }
tile.kernel @old(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x32xi32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = arith.constant dense<1> : tensor<256xi32>
  %a = tile.alloc_shared "a" : !tile.shared<256xi32>
  %s = tile.slice_shared %a[%n] : !tile.shared<256xi32> -> !tile.slice<256xi32>
  scf.for %j = %c0 to %n step %c1 {
    %o = tile.atomic_fetch combine add %x, %s : tensor<256xi32>, !tile.slice<256xi32>
  }
  tile.return
}

// Boxes of a tile begin anywhere: that threads have the same fragment says nothing of what they store.
// CHECK-LABEL: tile.kernel @stores(
// CHECK:         tile.store
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.store
tile.kernel @stores(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x32xi32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %x = arith.constant dense<1.0> : tensor<64x64xf32>
  %a = tile.alloc_shared "a" : !tile.shared<128x64xf32>
  %s = tile.slice_shared %a[%n, %c0] : !tile.shared<128x64xf32> -> !tile.slice<64x64xf32>
  %t = tile.slice_shared %a[%c0, %n] : !tile.shared<128x64xf32> -> !tile.slice<64x64xf32>
  tile.store %x, %s atom simt : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.store %x, %t atom simt : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}

// The TMA is told of what threads have added.
// CHECK-LABEL: tile.kernel @stored(
// CHECK:         tile.atomic add
// CHECK-NEXT:    tile.proxy_fence
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.copy
tile.kernel @stored(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x32xi32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %x = arith.constant dense<1> : tensor<16x16xi32>
  %a = tile.alloc_shared "a" : !tile.shared<64x32xi32>
  %s = tile.slice_shared %a[%n, %c0] : !tile.shared<64x32xi32> -> !tile.slice<16x16xi32>
  %y = tile.slice %X[%c0, %c0] : !tile.global<64x32xi32> -> !tile.slice<64x32xi32>
  tile.atomic add %x, %s : tensor<16x16xi32>, !tile.slice<16x16xi32>
  tile.copy %a, %y atom tma : !tile.shared<64x32xi32>, !tile.slice<64x32xi32>
  tile.return
}
