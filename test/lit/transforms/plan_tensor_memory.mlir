// RUN: %tile-opt %s --tile-plan-tensor-memory -split-input-file -verify-diagnostics | FileCheck %s

// One buffer after the other; what all take is rounded up to a power of two. Narrow elements share columns.
// CHECK-LABEL: tile.kernel @columns(
// CHECK-NEXT:    tile.reserve_tensor_memory "tensor memory" columns(512){{$}}
// CHECK:         tile.alloc_tensor_memory "s" at 0 :
// CHECK:         tile.alloc_tensor_memory "p" at 256 :
// CHECK:         tile.alloc_tensor_memory "o" at 288 :
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @columns() attributes {launch = #program.launch<warps = 4>} {
  %s = tile.alloc_tensor_memory "s" : !tile.tensor_memory<2x128x128xf32>
  %p = tile.alloc_tensor_memory "p" at 5 : !tile.tensor_memory<128x64xbf16>
  %o = tile.alloc_tensor_memory "o" : !tile.tensor_memory<128x64xf32>
  tile.return
}
}

// -----

// The least reservation, and what an earlier plan said is planned anew.
// CHECK-LABEL: tile.kernel @least(
// CHECK-NEXT:    tile.reserve_tensor_memory "tensor memory" columns(32){{$}}
// CHECK-NOT:     tile.reserve_tensor_memory
tile.kernel @least() attributes {launch = #program.launch<warps = 4>} {
  tile.reserve_tensor_memory "tensor memory" columns(64) at 8
  %a = tile.alloc_tensor_memory "a" : !tile.tensor_memory<128x8xf32>
  tile.return
}

// -----

// CHECK-LABEL: tile.kernel @none(
// CHECK-NEXT:    tile.return
tile.kernel @none() {
  tile.return
}

// -----

module attributes {program.target = #program.target<"sm_100a">} {
// expected-error @below {{kernel 'too_much' needs 1024 columns of tensor memory, of which a power of two is reserved, but sm_100a has 512 per block}}
tile.kernel @too_much() attributes {launch = #program.launch<warps = 4>} {
  // expected-note @below {{'a' takes 512 columns}}
  %a = tile.alloc_tensor_memory "a" : !tile.tensor_memory<2x128x256xf32>
  // expected-note @below {{'b' takes 32 columns}}
  %b = tile.alloc_tensor_memory "b" : !tile.tensor_memory<128x32xf32>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_100a">} {
// expected-error @below {{kernel 'residents' needs 512 columns of tensor memory, of which a power of two is reserved, but sm_100a has 256 per block if 2 share a multiprocessor}}
tile.kernel @residents() attributes {launch = #program.launch<warps = 4, residents = 2>} {
  // expected-note @below {{'a' takes 288 columns}}
  %a = tile.alloc_tensor_memory "a" : !tile.tensor_memory<128x288xf32>
  tile.return
}
}

// -----

// A tile over another one takes no columns of its own.
// CHECK-LABEL: tile.kernel @over(
// CHECK-NEXT:    tile.reserve_tensor_memory "tensor memory" columns(256){{$}}
// CHECK-NEXT:    tile.alloc_tensor_memory "p" over "s" at 128 :
// CHECK-NEXT:    tile.alloc_tensor_memory "o" at 0 :
// CHECK-NEXT:    tile.alloc_tensor_memory "s" at 128 :
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @over() attributes {launch = #program.launch<warps = 4>} {
  %p = tile.alloc_tensor_memory "p" over "s" : !tile.tensor_memory<128x128xbf16>
  %o = tile.alloc_tensor_memory "o" : !tile.tensor_memory<128x128xf32>
  %s = tile.alloc_tensor_memory "s" : !tile.tensor_memory<128x128xf32>
  tile.return
}
}

// -----

tile.kernel @nothing_below() attributes {launch = #program.launch<warps = 4>} {
  // expected-error @below {{expected a tile 's' because 'p' lies over it, but there is none}}
  %p = tile.alloc_tensor_memory "p" over "s" : !tile.tensor_memory<128x128xbf16>
  tile.return
}

// -----

// Tiles of 64 rows have half of the lanes, so that two share columns: which do leaves as few as can be. A factor and its product's
// sum, and what lies over a tile, have the same lanes.
// CHECK-LABEL: tile.kernel @halves(
// CHECK-NEXT:    tile.reserve_tensor_memory "tensor memory" columns(512){{$}}
// CHECK:         tile.alloc_tensor_memory "s" at 0 lane 16 :
// CHECK-NEXT:    tile.alloc_tensor_memory "p" over "s" at 0 lane 16 :
// CHECK-NEXT:    tile.alloc_tensor_memory "o" at 64 lane 16 :
// CHECK-NEXT:    tile.alloc_tensor_memory "t" at 0 :
// CHECK-NEXT:    tile.alloc_tensor_memory "u" at 64 :
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @halves() attributes {launch = #program.launch<warps = 4>} {
  %true = arith.constant true
  %v = tile.alloc_shared "v" : !tile.shared<64x256xbf16>
  %s = tile.alloc_tensor_memory "s" : !tile.tensor_memory<64x64xf32>
  %p = tile.alloc_tensor_memory "p" over "s" : !tile.tensor_memory<64x64xbf16>
  %o = tile.alloc_tensor_memory "o" : !tile.tensor_memory<64x256xf32>
  %t = tile.alloc_tensor_memory "t" : !tile.tensor_memory<64x64xf32>
  %u = tile.alloc_tensor_memory "u" : !tile.tensor_memory<64x256xf32>
  tile.gemm_in_place %p, %v, %o if %true : !tile.tensor_memory<64x64xbf16>, !tile.shared<64x256xbf16>, !tile.tensor_memory<64x256xf32>
  tile.return
}
}

// -----

// 128 rows have all lanes.
// CHECK-LABEL: tile.kernel @mixed(
// CHECK-NEXT:    tile.reserve_tensor_memory "tensor memory" columns(512){{$}}
// CHECK-NEXT:    tile.alloc_tensor_memory "a" at 128 lane 16 :
// CHECK-NEXT:    tile.alloc_tensor_memory "b" at 0 :
// CHECK-NEXT:    tile.alloc_tensor_memory "c" at 128 :
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @mixed() attributes {launch = #program.launch<warps = 4>} {
  %a = tile.alloc_tensor_memory "a" : !tile.tensor_memory<2x64x128xf32>
  %b = tile.alloc_tensor_memory "b" : !tile.tensor_memory<128x128xf32>
  %c = tile.alloc_tensor_memory "c" : !tile.tensor_memory<64x384xf32>
  tile.return
}
}
