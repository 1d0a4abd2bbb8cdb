// RUN: %tile-opt %s -split-input-file -verify-diagnostics
// Types and attributes of the dialect.

// expected-error @below {{expected a shared buffer to have at least one axis}}
tile.kernel @no_axes() attributes {t = !tile.shared<f32>} { tile.return }

// -----

// expected-error @below {{expected a slice of fixed extents, but axis 0 has a runtime extent}}
tile.kernel @runtime_extent() attributes {t = !tile.slice<?x8xf32>} { tile.return }

// -----

// expected-error @below {{expected extents from 1 to 2147483647, but axis 1 of a global tensor has 0}}
tile.kernel @no_extent() attributes {t = !tile.global<?x0xf32>} { tile.return }

// -----

// expected-error @below {{expected an element type that memory can hold (i8, i32, i64, f16, bf16, f32, f64, f8E4M3FN, f8E5M2, ui8, ui32, i4, ui4, f4E2M1FN), but got 'index'}}
tile.kernel @element_type() attributes {t = !tile.shared<8xindex>} { tile.return }

// -----

// expected-error @below {{expected a transposed view to have at least two axes, but got 1}}
tile.kernel @transposed() attributes {t = !tile.shared<8xf32, transposed>} { tile.return }

// -----

// expected-error @below {{expected 'transposed' after the layout}}
tile.kernel @two_layouts() attributes {t = !tile.shared<64x64xbf16, #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">, #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">>} { tile.return }

// -----

// expected-error @below {{expected a layout of the buffer's extents 4x64x32, of one of its slots or of a larger tile, but got one of 64x64}}
tile.kernel @layout_extents() attributes {t = !tile.shared<4x64x32xbf16, #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">>} { tile.return }

// -----

// The layout of a view is that of its buffer: 64x32, seen as 32x64.
// expected-error @below {{expected a layout of the buffer's extents 64x32, of one of its slots or of a larger tile, but got one of 32x64}}
tile.kernel @layout_of_view() attributes {t = !tile.shared<32x64xbf16, #tile.shared_layout<"32x64 16b axis 1 panel 64 swizzle 128 pad 0">, transposed>} { tile.return }

// -----

// expected-error @below {{expected a layout of 32-bit elements because the element type is 'f32', but got one of 16 bits}}
tile.kernel @layout_bits() attributes {t = !tile.shared<64x64xf32, #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">>} { tile.return }

// -----

// expected-error @below {{expected a ring of 1 to 2147483647 slots, but got 0}}
tile.kernel @ring() attributes {t = !tile.ring<0>} { tile.return }

// -----

// expected-error @below {{expected a cursor of 1 to 2147483647 slots, but got -1}}
tile.kernel @cursor() attributes {t = !tile.cursor<-1>} { tile.return }

// -----

// expected-error @below {{expected a slice of at most 2147483647 elements because positions are 32 bits, but got 65536x65536}}
tile.kernel @too_large() attributes {t = !tile.slice<65536x65536xf32>} { tile.return }

// -----

tile.kernel @fragment(%x: f32 {program.argument = #program.scalar<"x">}) {
  // expected-error @below {{'tile.splat' op result #0 must be fragment (tensor of static shape, fewer than 2^31 elements), but got 'tensor<65536x65536xf32>'}}
  %f = tile.splat %x : f32 -> tensor<65536x65536xf32>
  tile.return
}

// -----

tile.kernel @runtime_fragment(%x: f32 {program.argument = #program.scalar<"x">}) {
  // expected-error @below {{'tile.splat' op result #0 must be fragment (tensor of static shape, fewer than 2^31 elements), but got 'tensor<?xf32>'}}
  %f = tile.splat %x : f32 -> tensor<?xf32>
  tile.return
}

// -----

// expected-error @below {{expected the text form of a shared layout, but got 'nonsense'}}
tile.kernel @shared_layout() attributes {t = #tile.shared_layout<"nonsense">} { tile.return }

// -----

// expected-error @below {{expected a tile of at most 1099511627776 bytes, but panels of 549755813888 elements with 549755813888 rows take about}}
tile.kernel @huge_panels() attributes {t = #tile.shared_layout<"2x549755813888x1 128b axis 2 panel 549755813888 swizzle none pad 0">} { tile.return }

// -----

// expected-error @below {{expected the text form of a layout, but got 'reg(2@0:2)'}}
tile.kernel @layout() attributes {t = #tile.layout<"reg(2@0:2)">} { tile.return }

// -----

// expected-error @below {{expected a layout of 1 axes because the fragment is 64, but got one of 2}}
tile.kernel @fragment_rank() attributes {t = tensor<64xf32, #tile.layout<"reg(32@1:1) lane(32@0:1) warp(2@0:32)">>} { tile.return }

// -----

// expected-error @below {{expected a layout that covers the fragment's 64x64, but got one of 64x32}}
tile.kernel @fragment_extent() attributes {t = tensor<64x64xf32, #tile.layout<"reg(32@1:1) lane(32@0:1) warp(2@0:32)">>} { tile.return }

// -----

// expected-error @below {{expected from 1 to 2147483647 stages, but got 0}}
tile.kernel @stages() attributes {t = #tile.pipeline<stages = 0>} { tile.return }

// -----

// expected-error @below {{expected stage and order to be at least 0, but got 1 and -1}}
tile.kernel @order() attributes {t = #tile.stage<stage = 1, order = -1>} { tile.return }

// -----

tile.kernel @pipeline_op() {
  // expected-error @below {{expected 'tile.pipeline' on an 'scf.for' because it says how iterations overlap, but got 'tile.sync'}}
  tile.sync {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}

// -----

tile.kernel @pipeline_type() {
  // expected-error @below {{expected 'tile.pipeline' to be a #tile.pipeline, but got 2 : i64}}
  tile.sync {tile.pipeline = 2}
  tile.return
}

// -----

tile.kernel @stage_place() {
  // expected-error @below {{expected 'tile.stage' on an operation of an 'scf.for' because it is its place in that loop's schedule}}
  tile.sync {tile.stage = #tile.stage<stage = 0, order = 0>}
  tile.return
}

// -----

tile.kernel @stage_type() {
  // expected-error @below {{expected 'tile.stage' to be a #tile.stage, but got 0 : i64}}
  tile.sync {tile.stage = 0}
  tile.return
}

// -----

tile.kernel @unknown() {
  // expected-error @below {{expected 'tile.pipeline', 'tile.stage', 'tile.role_plan', 'tile.role', 'tile.channel', 'tile.multicast', 'tile.without_role' or 'tile.wait_limit', but the tile dialect has no attribute 'tile.unroll'}}
  tile.sync {tile.unroll = 2}
  tile.return
}

// -----

tile.kernel @wait_limit() {
  // expected-error @below {{expected 'tile.wait_limit' to be a positive number of nanoseconds on a kernel, but got 5 : i64 of 'tile.sync'}}
  tile.sync {tile.wait_limit = 5}
  tile.return
}

// -----

// expected-error @below {{expected 'tile.wait_limit' to be a positive number of nanoseconds on a kernel, but got 0 : i64 of 'tile.kernel'}}
tile.kernel @no_time() attributes {tile.wait_limit = 0} { tile.return }

// -----

// expected-error @below {{expected a multiple of 2 elements along axis 1 of a slice because as many i4 share a byte, but got 31}}
tile.kernel @packed_slice() attributes {t = !tile.slice<16x31xi4>} { tile.return }

// -----

// expected-error @below {{expected a multiple of 2 elements along axis 0 of a shared buffer because as many e2m1 share a byte, but got 15}}
tile.kernel @packed_view() attributes {t = !tile.shared<15x32xf4E2M1FN, transposed>} { tile.return }

// -----

// expected-error @below {{expected elements of at least 8 bits in tensor memory, but got 'ui4'; convert them}}
tile.kernel @packed_columns() attributes {t = !tile.tensor_memory<128x64xui4>} { tile.return }

// -----

// The driver of this dialect knows nothing below it.
// expected-error @below {{Dialect `simt' not found for custom op 'simt.kernel'}}
// expected-note @below {{Available dialects:}}
simt.kernel @simt() {
  simt.return
}
