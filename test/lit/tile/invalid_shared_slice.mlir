// RUN: %tile-opt %s -split-input-file -verify-diagnostics

// slice_shared_c1
tile.kernel @origin() {
  %c0 = arith.constant 0 : index
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64x128xf32>
  // expected-error @below {{expected 2 positions in the origin because 'a' has 2 axes, but got 1}}
  %s = tile.slice_shared %a[%c0] : !tile.shared<64x128xf32> -> !tile.slice<16x32xf32>
  tile.return
}

// -----

// slice_shared_c1
tile.kernel @extents() {
  %c0 = arith.constant 0 : index
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64x128xf32>
  // expected-error @below {{expected a slice of 2 extents because 'a' has 2 axes (1 for an axis that the tile does not have), but got 1}}
  %s = tile.slice_shared %a[%c0, %c0] : !tile.shared<64x128xf32> -> !tile.slice<32xf32>
  tile.return
}

// -----

// slice_shared_c1
tile.kernel @element() {
  %c0 = arith.constant 0 : index
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64xf32>
  // expected-error @below {{expected a slice of 'f32' because 'a' is, but got 'i32'}}
  %s = tile.slice_shared %a[%c0] : !tile.shared<64xf32> -> !tile.slice<32xi32>
  tile.return
}

// -----

// slice_shared_c2
tile.kernel @fill() {
  %c0 = arith.constant 0 : index
  %i = arith.constant 0 : i32
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64xf32>
  // expected-error @below {{expected a fill value of 'f32' because 'a' is, but got 'i32'}}
  %s = tile.slice_shared %a[%c0] fill %i : i32 : !tile.shared<64xf32> -> !tile.slice<32xf32>
  tile.return
}

// -----

// slice_shared_c3
tile.kernel @limit() {
  %c0 = arith.constant 0 : index
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64xf32>
  // expected-error @below {{expected a limit along axis 0 to 0 because 'a' has 1 axes, but got axis 1}}
  %s = tile.slice_shared %a[%c0] limit %c0 along 1 : !tile.shared<64xf32> -> !tile.slice<32xf32>
  tile.return
}

// -----

// slice_shared_c4
tile.kernel @axis() {
  %c0 = arith.constant 0 : index
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64xf32>
  // expected-error @below {{expected gathered axes from 0 to 0 because 'a' has 1 axes, but got axis 1}}
  %s = tile.slice_shared %a[%c0] gathered [1] : !tile.shared<64xf32> -> !tile.slice<32xf32>
  tile.return
}

// -----

// slice_shared_c1
tile.kernel @extents() {
  %c0 = arith.constant 0 : index
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<8x16x64xf32>
  // expected-error @below {{expected a slice of 3 extents because 'a' has 3 axes, and those with positions per element do not follow one another, but got 4}}
  %s = tile.slice_shared %a[%c0, %c0, %c0] gathered [0, 2] : !tile.shared<8x16x64xf32> -> !tile.slice<2x2x2x2xf32>
  tile.return
}

// -----

// slice_shared_c4
tile.kernel @box() {
  %c0 = arith.constant 0 : index
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64xf32>
  %s = tile.slice_shared %a[%c0] gathered [0] : !tile.shared<64xf32> -> !tile.slice<32xf32>
  // expected-error @below {{expected the box of a slice, but the slice of 'a' has a position per element}}
  %v = tile.load %s : !tile.slice<32xf32> -> tensor<32xf32>
  tile.return
}

// -----

// gather_c2
tile.kernel @plain() {
  %c0 = arith.constant 0 : index
  %at = tile.coordinates 0 : tensor<32xindex>
  %a = tile.alloc_shared "a" : !tile.shared<64xf32>
  %s = tile.slice_shared %a[%c0] : !tile.shared<64xf32> -> !tile.slice<32xf32>
  // expected-error @below {{expected a slice with gathered axes because there are positions for it, but got a box}}
  %v = tile.gather %s[%at] : !tile.slice<32xf32>, tensor<32xindex> -> tensor<32xf32>
  tile.return
}

// -----

// slice_shared_c5
tile.kernel @packed() {
  %c0 = arith.constant 0 : index
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64x64xi4>
  // expected-error @below {{expected elements of whole bytes because threads write them one by one, but 'a' has 'i4'; copy the tile, or whole rows of it, to a fragment}}
  %s = tile.slice_shared %a[%c0, %c0] : !tile.shared<64x64xi4> -> !tile.slice<8x8xi4>
  tile.return
}

// -----

// slice_shared_c6
tile.kernel @slots() {
  %c0 = arith.constant 0 : index
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<2x64x32xf32, #tile.shared_layout<"64x32 32b axis 1 panel 32 swizzle 128 pad 0">>
  // expected-error @below {{expected one slot of 'a', but got all of them}}
  %s = tile.slice_shared %a[%c0, %c0, %c0] : !tile.shared<2x64x32xf32, #tile.shared_layout<"64x32 32b axis 1 panel 32 swizzle 128 pad 0">> -> !tile.slice<1x8x8xf32>
  tile.return
}

// -----

// slice_shared_c7
tile.kernel @copied() {
  %c0 = arith.constant 0 : index
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64x32xf32>
  %b = tile.alloc_shared "b" : !tile.shared<8x32xf32>
  %s = tile.slice_shared %a[%c0, %c0] : !tile.shared<64x32xf32> -> !tile.slice<8x32xf32>
  // expected-error @below {{expected a slice of a tensor because only threads reach slices of shared tiles, but got one of 'a'; copy through a fragment}}
  tile.copy %s, %b : !tile.slice<8x32xf32>, !tile.shared<8x32xf32>
  tile.return
}

// -----

// slice_shared_c7
tile.kernel @combined() {
  %c0 = arith.constant 0 : index
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64x32xf32>
  %b = tile.alloc_shared "b" : !tile.shared<8x32xf32>
  %s = tile.slice_shared %a[%c0, %c0] : !tile.shared<64x32xf32> -> !tile.slice<8x32xf32>
  // expected-error @below {{expected a slice of a tensor because only threads reach slices of shared tiles, but got one of 'a'; copy through a fragment}}
  tile.copy_reduce add %b, %s : !tile.shared<8x32xf32>, !tile.slice<8x32xf32>
  tile.return
}

// -----

// slice_shared_c7
tile.kernel @index() {
  %c0 = arith.constant 0 : index
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64xi32>
  %s = tile.slice_shared %a[%c0] : !tile.shared<64xi32> -> !tile.slice<1xi32>
  // expected-error @below {{expected a slice of a tensor because only threads reach slices of shared tiles, but got one of 'a'; copy through a fragment}}
  %i = tile.load_index %s[] : !tile.slice<1xi32>
  tile.return
}

// -----

// slice_shared_c7
tile.kernel @count() {
  %c0 = arith.constant 0 : index
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64xi32>
  %s = tile.slice_shared %a[%c0] : !tile.shared<64xi32> -> !tile.slice<1xi32>
  // expected-error @below {{expected a slice of a tensor because only threads reach slices of shared tiles, but got one of 'a'; copy through a fragment}}
  tile.announce %s by %c0 : !tile.slice<1xi32>
  tile.return
}

// -----

// atomic_c2
tile.kernel @narrow() {
  %c0 = arith.constant 0 : index
  %x = arith.constant dense<1.0> : tensor<8xf16>
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64xf16>
  %s = tile.slice_shared %a[%c0] : !tile.shared<64xf16> -> !tile.slice<8xf16>
  // expected-error @below {{expected f32, f64, i32, u32 or i64 because narrower elements are too inexact for sums, but 'a' has 'f16'}}
  tile.atomic add %x, %s : tensor<8xf16>, !tile.slice<8xf16>
  tile.return
}
