// RUN: %tile-opt %s -split-input-file -verify-diagnostics

// tensor_memory_c1
// expected-error @below {{expected 64 or 128 rows because products that add in tensor memory have as many, and axes of columns and at most of slots beside them, but got 32x64}}
tile.kernel @type1() attributes {t = !tile.tensor_memory<32x64xf32>} { tile.return }

// -----

// tensor_memory_c1
// expected-error @below {{expected 64 or 128 rows because products that add in tensor memory have as many, and axes of columns and at most of slots beside them, but got 128}}
tile.kernel @type2() attributes {t = !tile.tensor_memory<128xf32>} { tile.return }

// -----

// tensor_memory_c2
// expected-error @below {{expected rows that fill whole columns of 32 bits because tensor memory is made of these, but got 33 of 'bf16'}}
tile.kernel @type3() attributes {t = !tile.tensor_memory<128x33xbf16>} { tile.return }

// -----

// tensor_memory_c2
// expected-error @below {{expected rows that fill whole columns of 32 bits because tensor memory is made of these, but got 32 of 'f64'}}
tile.kernel @type4() attributes {t = !tile.tensor_memory<128x32xf64>} { tile.return }

// -----

// tensor_memory_c2
// expected-error @below {{expected at most 512 columns because tensor memory has no more, but got 768 for 3x128x256 of 'f32'}}
tile.kernel @type5() attributes {t = !tile.tensor_memory<3x128x256xf32>} { tile.return }

// -----

// columns_c1
tile.kernel @columns_beyond() {
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x64xf32>
  // expected-error @below {{expected columns of 'acc', which is '!tile.tensor_memory<128x64xf32>', but got '!tile.tensor_memory<128x32xf32>' from column 48}}
  %part = tile.columns %acc from 48 : !tile.tensor_memory<128x64xf32> -> !tile.tensor_memory<128x32xf32>
  tile.return
}

// -----

// columns_c2
tile.kernel @columns_within_one() {
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x64xbf16>
  // expected-error @below {{expected a first element that begins 32 bits of tensor memory, but got 3 of 16 bits}}
  %part = tile.columns %acc from 3 : !tile.tensor_memory<128x64xbf16> -> !tile.tensor_memory<128x32xbf16>
  tile.return
}

// -----

// alloc_tensor_memory_c1
tile.kernel @beyond() {
  // expected-error @below {{expected the 128 columns of 'acc' to lie within the 512 of tensor memory, but got them from column 400}}
  %acc = tile.alloc_tensor_memory "acc" at 400 : !tile.tensor_memory<128x128xf32>
  tile.return
}

// -----

// alloc_tensor_memory_c2
tile.kernel @upper_lanes() {
  // expected-error @below {{expected 'acc' to begin at lane 0 of each warp, or with 64 rows at lane 16, but got lane 16 for 128 rows}}
  %acc = tile.alloc_tensor_memory "acc" at 0 lane 16 : !tile.tensor_memory<128x128xf32>
  tile.return
}

// -----

// alloc_tensor_memory_c2
tile.kernel @lane() {
  // expected-error @below {{expected 'acc' to begin at lane 0 of each warp, or with 64 rows at lane 16, but got lane 8 for 64 rows}}
  %acc = tile.alloc_tensor_memory "acc" at 0 lane 8 : !tile.tensor_memory<64x128xf32>
  tile.return
}

// -----

// reserve_tensor_memory_c1
tile.kernel @part() {
  // expected-error @below {{expected a power of two from 32 to 512 columns because tensor memory is reserved in such parts, but got 96}}
  tile.reserve_tensor_memory "columns" columns(96)
  tile.return
}

// -----

// reserve_tensor_memory_c2
tile.kernel @offset() {
  // expected-error @below {{expected an offset that is a multiple of 4 bytes, at least 0, because an address of tensor memory is written there, but got 2}}
  tile.reserve_tensor_memory "columns" columns(32) at 2
  tile.return
}

// -----

// slot_c1
tile.kernel @slots() {
  // expected-note @below {{'acc' is declared here}}
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x128xf32>
  %at = tile.cursor : !tile.cursor<2>
  // expected-error @below {{expected 'acc' to have a leading axis of 2 because the channel has 2 slots, but got 128x128}}
  %slot = tile.slot %acc[%at] : !tile.tensor_memory<128x128xf32>, !tile.cursor<2> -> !tile.tensor_memory<128x128xf32>
  tile.return
}

// -----

// load_c2
tile.kernel @load_axes() {
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x64xf32>
  // expected-error @below {{expected a fragment of 128x64 because warps hold rows of tensor memory, but got 1x128x64}}
  %loaded = tile.load %acc : !tile.tensor_memory<128x64xf32> -> tensor<1x128x64xf32>
  tile.return
}

// -----

// store_c3
tile.kernel @store_axes(%x: f32 {program.argument = #program.scalar<"x">}) {
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x64xf32>
  %f = tile.splat %x : f32 -> tensor<128x1x64xf32>
  // expected-error @below {{expected a fragment of 128x64 because warps hold rows of tensor memory, but got 128x1x64}}
  tile.store %f, %acc : tensor<128x1x64xf32>, !tile.tensor_memory<128x64xf32>
  tile.return
}

// -----

// gemm_in_place_c1
tile.kernel @product_extents() {
  %true = arith.constant true
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  // expected-note @below {{'b' is declared here}}
  %b = tile.alloc_shared "b" : !tile.shared<64x32xbf16>
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x64xf32>
  // expected-error @below {{expected an accumulator of 128x32 because 'a' is 128x64 and 'b' is 64x32, but got 128x64}}
  tile.gemm_in_place %a, %b, %acc if %true : !tile.shared<128x64xbf16>, !tile.shared<64x32xbf16>, !tile.tensor_memory<128x64xf32>
  tile.return
}

// -----

// gemm_in_place_c1
tile.kernel @product_types() {
  %true = arith.constant true
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x32xbf16>
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x32xbf16>
  // expected-error @below {{expected an accumulator of 'f32' because products of 'bf16' are summed in 'f32', but got 'bf16'}}
  tile.gemm_in_place %a, %b, %acc if %true : !tile.shared<128x64xbf16>, !tile.shared<64x32xbf16>, !tile.tensor_memory<128x32xbf16>
  tile.return
}
