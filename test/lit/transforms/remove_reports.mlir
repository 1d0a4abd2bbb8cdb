// RUN: %tile-opt %s -tile-remove-reports -canonicalize | FileCheck %s

// What is computed for reports alone is gone with them.
// CHECK-LABEL: tile.kernel @reports(
// CHECK-NEXT:    tile.return
tile.kernel @reports(%n: index {program.argument = #program.dimension<"n">}) {
  %c0 = arith.constant 0 : index
  %holds = arith.cmpi sgt, %n, %c0 : index
  %tile = tile.alloc_shared "tile" : !tile.shared<64x8xf32>
  scf.for %i = %c0 to %n step %n {
    %x = tile.load %tile : !tile.shared<64x8xf32> -> tensor<64x8xf32>
    tile.report "x is {}", %x : tensor<64x8xf32>
  }
  scf.if %holds {
    tile.report unless %holds : i1, "never"
  }
  tile.return
}
