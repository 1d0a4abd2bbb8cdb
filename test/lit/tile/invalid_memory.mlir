// RUN: %tile-opt %s -split-input-file -verify-diagnostics

// alloc_shared_c1
tile.kernel @transposed() {
  // expected-error @below {{expected buffer 'q' not to be a transposed view because an allocation is no view, but got '!tile.shared<64x32xbf16, transposed>'}}
  %q = tile.alloc_shared "q" : !tile.shared<64x32xbf16, transposed>
  tile.return
}

// -----

tile.kernel @some_rows() {
  // expected-error @below {{expected buffer 'q' not to be a part of another because an allocation is no view}}
  %q = tile.alloc_shared "q" : !tile.shared<16x32xbf16, #tile.shared_layout<"64x32 16b axis 1 panel 32 swizzle 64 pad 0">>
  tile.return
}

// -----

// alloc_shared_c2
tile.kernel @offset() {
  // expected-error @below {{expected the offset of 'q' to be a multiple of 1024 bytes, at least 0, because its layout is aligned to that, but got 512}}
  %q = tile.alloc_shared "q" at 512 : !tile.shared<64x64xbf16, #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">>
  tile.return
}

// -----

// slot_c1: the buffer.
tile.kernel @slots() {
  // expected-note @below {{'k' is declared here}}
  %k = tile.alloc_shared "k" : !tile.shared<3x64x32xbf16>
  %c = tile.cursor : !tile.cursor<4>
  // expected-error @below {{expected 'k' to have a leading axis of 4 because the channel has 4 slots, but got 3x64x32}}
  %s = tile.slot %k[%c] : !tile.shared<3x64x32xbf16>, !tile.cursor<4> -> !tile.shared<64x32xbf16>
  tile.return
}

// -----

// slot_c1: the result.
tile.kernel @slot_type() {
  // expected-note @below {{'k' is declared here}}
  %k = tile.alloc_shared "k" : !tile.shared<4x64x32xbf16>
  %c = tile.cursor : !tile.cursor<4>
  // expected-error @below {{expected a tile of 64x32 with the element type, layout and transposition of 'k' because it is one of its slots, but got '!tile.shared<32x64xbf16, transposed>'}}
  %s = tile.slot %k[%c] : !tile.shared<4x64x32xbf16>, !tile.cursor<4> -> !tile.shared<32x64xbf16, transposed>
  tile.return
}

// -----

// transpose_c1
tile.kernel @transpose_rank() {
  // expected-note @below {{'k' is declared here}}
  %k = tile.alloc_shared "k" : !tile.shared<64xbf16>
  // expected-error @below {{expected 'k' to have at least two axes because the last two are exchanged, but got 64}}
  %t = tile.transpose %k : !tile.shared<64xbf16> -> !tile.shared<64xbf16>
  tile.return
}

// -----

// transpose_c1
tile.kernel @transpose_type() {
  // expected-note @below {{'k' is declared here}}
  %k = tile.alloc_shared "k" : !tile.shared<64x32xbf16>
  // expected-error @below {{expected a view of type '!tile.shared<32x64xbf16, transposed>' because 'k' is '!tile.shared<64x32xbf16>', but got '!tile.shared<32x64xbf16>'}}
  %t = tile.transpose %k : !tile.shared<64x32xbf16> -> !tile.shared<32x64xbf16>
  tile.return
}

// -----

// slice_c1: the origin.
tile.kernel @origin(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?x64xf32> {program.argument = #program.tensor<"A", input, dims[0, -1]>}) {
  // expected-error @below {{expected 2 positions in the origin because 'A' has 2 axes, but got 1}}
  %t = tile.slice %A[%m] : !tile.global<?x64xf32> -> !tile.slice<64x64xf32>
  tile.return
}

// -----

// slice_c1: the rank.
tile.kernel @slice_rank(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?x64xf32> {program.argument = #program.tensor<"A", input, dims[0, -1]>}) {
  // expected-error @below {{expected a slice of 2 extents because 'A' has 2 axes (1 for an axis that the tile does not have), but got 1}}
  %t = tile.slice %A[%m, %m] : !tile.global<?x64xf32> -> !tile.slice<64xf32>
  tile.return
}

// -----

// slice_c1: the element type.
tile.kernel @slice_type(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?x64xf32> {program.argument = #program.tensor<"A", input, dims[0, -1]>}) {
  // expected-error @below {{expected a slice of 'f32' because 'A' is, but got 'bf16'}}
  %t = tile.slice %A[%m, %m] : !tile.global<?x64xf32> -> !tile.slice<64x64xbf16>
  tile.return
}

// -----

// slice_c2
tile.kernel @fill(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?x64xf32> {program.argument = #program.tensor<"A", input, dims[0, -1]>}) {
  // expected-error @below {{expected a fill value of 'f32' because 'A' is, but got 'index'}}
  %t = tile.slice %A[%m, %m] fill %m : index : !tile.global<?x64xf32> -> !tile.slice<64x64xf32>
  tile.return
}

// -----

// slice_c3: facts about alignment and extents hang on arguments.
tile.kernel @chosen_tensor(
    %m: index {program.argument = #program.dimension<"m">},
    %A: !tile.global<?x64xf32> {program.argument = #program.tensor<"A", input, dims[0, -1]>},
    %B: !tile.global<?x64xf32> {program.argument = #program.tensor<"B", input, dims[0, -1]>}) {
  %p = arith.cmpi ugt, %m, %m : index
  // expected-note @below {{it comes from here}}
  %either = arith.select %p, %A, %B : !tile.global<?x64xf32>
  // expected-error @below {{expected an argument of the kernel as tensor because that is what the launcher knows facts of, but got another value}}
  %t = tile.slice %either[%m, %m] : !tile.global<?x64xf32> -> !tile.slice<64x64xf32>
  tile.return
}

// -----

// slice_c4: the axis.
tile.kernel @limit_axis(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?x64xf32> {program.argument = #program.tensor<"A", input, dims[0, -1]>}) {
  // expected-error @below {{expected a limit along axis 0 to 1 because 'A' has 2 axes, but got axis 2}}
  %t = tile.slice %A[%m, %m] limit %m along 2 : !tile.global<?x64xf32> -> !tile.slice<64x64xf32>
  tile.return
}

// -----

// slice_c4: an axis before the first.
tile.kernel @limit_axis_negative(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?x64xf32> {program.argument = #program.tensor<"A", input, dims[0, -1]>}) {
  // expected-error @below {{expected a limit along axis 0 to 1 because 'A' has 2 axes, but got axis -1}}
  %t = tile.slice %A[%m, %m] limit %m along -1 : !tile.global<?x64xf32> -> !tile.slice<64x64xf32>
  tile.return
}

// -----

// slice_c4: an axis alone.
tile.kernel @limit_missing(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?x64xf32> {program.argument = #program.tensor<"A", input, dims[0, -1]>}) {
  // expected-error @below {{expected a limit and the axis that it is along, or neither, but got only the axis}}
  %t = "tile.slice"(%A, %m, %m) <{limited_axis = 0 : i64, operandSegmentSizes = array<i32: 1, 0, 2, 0, 0>}>
    : (!tile.global<?x64xf32>, index, index) -> !tile.slice<64x64xf32>
  tile.return
}

// -----

// slice_c4: a limit alone.
tile.kernel @limit_without_axis(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?x64xf32> {program.argument = #program.tensor<"A", input, dims[0, -1]>}) {
  // expected-error @below {{expected a limit and the axis that it is along, or neither, but got only the limit}}
  %t = "tile.slice"(%A, %m, %m, %m) <{operandSegmentSizes = array<i32: 1, 0, 2, 1, 0>}>
    : (!tile.global<?x64xf32>, index, index, index) -> !tile.slice<64x64xf32>
  tile.return
}

// -----

// copy_c1: extents, with the declarations of both sides.
tile.kernel @copy_extents(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1]>}) {
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %t = tile.slice %A[%m, %m] : !tile.global<?x64xbf16> -> !tile.slice<128x64xbf16>
  // expected-error @below {{expected 'A' and 'a' to have the same extents, those of 1 aside, but got 128x64 and 64x64}}
  tile.copy %t, %a : !tile.slice<128x64xbf16>, !tile.shared<64x64xbf16>
  tile.return
}

// -----

// copy_c1: the element type.
tile.kernel @copy_type() {
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  // expected-note @below {{'b' is declared here}}
  %b = tile.alloc_shared "b" : !tile.shared<64x64xf32>
  // expected-error @below {{expected 'a' and 'b' to have the same element type because copies do not convert, but got 'bf16' and 'f32'}}
  tile.copy %a, %b : !tile.shared<64x64xbf16>, !tile.shared<64x64xf32>
  tile.return
}

// -----

// copy_c2
tile.kernel @global_to_global(
    %m: index {program.argument = #program.dimension<"m">},
    %A: !tile.global<?xf32> {program.argument = #program.tensor<"A", input, dims[0]>},
    %B: !tile.global<?xf32> {program.argument = #program.tensor<"B", output, dims[0]>}) {
  %a = tile.slice %A[%m] : !tile.global<?xf32> -> !tile.slice<64xf32>
  %b = tile.slice %B[%m] : !tile.global<?xf32> -> !tile.slice<64xf32>
  // expected-error @below {{expected a shared buffer as 'A' or 'B' because no instruction copies within global memory, but got two slices}}
  // expected-note @below {{copy through a fragment: load the one, store to the other}}
  tile.copy %a, %b : !tile.slice<64xf32>, !tile.slice<64xf32>
  tile.return
}

// -----

// copy_c3
tile.kernel @copy_atom() {
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  // expected-error @below {{expected a slice as source or destination because the atom tma copies between global and shared memory, but got two shared buffers}}
  tile.copy %a, %b atom tma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>
  tile.return
}

// -----

// copy_c5
tile.kernel @copy_until_read(%A: !tile.global<64x64xbf16> {program.argument = #program.tensor<"A", output, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %t = tile.slice %A[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  // expected-error @below {{expected the atom tma and a slice as destination because only such a copy goes on after its source was read, but got another with 'until_read'}}
  tile.copy %a, %t atom simt until_read : !tile.shared<64x64xbf16>, !tile.slice<64x64xbf16>
  tile.return
}

// -----

// copy_async_c1
tile.kernel @async_extents(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?xf32> {program.argument = #program.tensor<"A", input, dims[0]>}) {
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<32xf32>
  %ring = tile.alloc_ring "slots" : !tile.ring<2>
  %at = tile.cursor : !tile.cursor<2>
  %t = tile.slice %A[%m] : !tile.global<?xf32> -> !tile.slice<64xf32>
  // expected-error @below {{expected 'A' and 'a' to have the same extents, those of 1 aside, but got 64 and 32}}
  tile.copy_async %t, %a, %ring[%at] : !tile.slice<64xf32>, !tile.shared<32xf32>, !tile.ring<2>
  tile.return
}

// -----

// copy_async_c2
tile.kernel @multicast(
    %m: index {program.argument = #program.dimension<"m">},
    %A: !tile.global<?xf32> {program.argument = #program.tensor<"A", input, dims[0]>}) {
  %a = tile.alloc_shared "a" : !tile.shared<64xf32>
  %ring = tile.alloc_ring "slots" : !tile.ring<2>
  %at = tile.cursor : !tile.cursor<2>
  %t = tile.slice %A[%m] : !tile.global<?xf32> -> !tile.slice<64xf32>
  // expected-error @below {{expected a kernel with a cluster of at least 2 blocks because multicast shares a tile among them, but 'multicast' has 1}}
  tile.copy_async %t, %a, %ring[%at] multicast : !tile.slice<64xf32>, !tile.shared<64xf32>, !tile.ring<2>
  tile.return
}

// -----

// load_c1
tile.kernel @load_extents() {
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  // expected-error @below {{expected 'a' and the fragment to have the same extents, those of 1 aside, but got 64x64 and 64x32}}
  %f = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x32xbf16>
  tile.return
}

// -----

// load_c1
tile.kernel @load_type() {
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  // expected-error @below {{expected 'a' and the fragment to have the same element type because copies do not convert, but got 'bf16' and 'f32'}}
  %f = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xf32>
  tile.return
}

// -----

// store_c1
tile.kernel @store_extents() {
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64x64xf32>
  %f = arith.constant dense<0.0> : tensor<64x1xf32>
  // expected-error @below {{expected the fragment and 'a' to have the same extents, those of 1 aside, but got 64x1 and 64x64}}
  tile.store %f, %a : tensor<64x1xf32>, !tile.shared<64x64xf32>
  tile.return
}

// -----

// store_c2: the atom without the buffer.
tile.kernel @no_staging(
    %m: index {program.argument = #program.dimension<"m">},
    %A: !tile.global<?xf32> {program.argument = #program.tensor<"A", output, dims[0]>}) {
  %f = arith.constant dense<0.0> : tensor<64xf32>
  %t = tile.slice %A[%m] : !tile.global<?xf32> -> !tile.slice<64xf32>
  // expected-error @below {{expected a staging buffer because the atom tma reads from shared memory, but got none}}
  tile.store %f, %t atom tma : tensor<64xf32>, !tile.slice<64xf32>
  tile.return
}

// -----

// store_c2: what goes through a buffer goes to a tensor.
tile.kernel @staging() {
  %f = arith.constant dense<0.0> : tensor<64xf32>
  %c = tile.alloc_shared "c" : !tile.shared<64xf32>
  %t = tile.alloc_shared "t" : !tile.shared<64xf32>
  // expected-error @below {{expected a slice as destination because what goes through a staging buffer is written to global memory, but got '!tile.shared<64xf32>'}}
  tile.store %f, %t staging %c : !tile.shared<64xf32> : tensor<64xf32>, !tile.shared<64xf32>
  tile.return
}

// -----

// store_c2: the atom to shared memory.
tile.kernel @store_to_shared() {
  %f = arith.constant dense<0.0> : tensor<64xf32>
  %c = tile.alloc_shared "c" : !tile.shared<64xf32>
  // expected-error @below {{expected a slice as destination because the atom tma writes to global memory, but got '!tile.shared<64xf32>'}}
  tile.store %f, %c staging %c : !tile.shared<64xf32> atom tma : tensor<64xf32>, !tile.shared<64xf32>
  tile.return
}

// -----

// atomic_c1: a fragment.
tile.kernel @atomic_extents(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?xf32> {program.argument = #program.tensor<"A", output, dims[0]>}) {
  %f = arith.constant dense<0.0> : tensor<64xf32>
  %t = tile.slice %A[%m] : !tile.global<?xf32> -> !tile.slice<32xf32>
  // expected-error @below {{expected the fragment and 'A' to have the same extents, those of 1 aside, but got 64 and 32}}
  tile.atomic add %f, %t : tensor<64xf32>, !tile.slice<32xf32>
  tile.return
}

// -----

// atomic_c1: a number.
tile.kernel @atomic_number(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?xf32> {program.argument = #program.tensor<"A", output, dims[0]>}) {
  %x = arith.constant 0.0 : f32
  %t = tile.slice %A[%m] : !tile.global<?xf32> -> !tile.slice<2xf32>
  // expected-error @below {{expected a slice of one element of 'A' because one number is combined with it, but got 2}}
  tile.atomic add %x, %t : f32, !tile.slice<2xf32>
  tile.return
}

// -----

// atomic_c1: the number's type.
tile.kernel @atomic_number_type(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?xf32> {program.argument = #program.tensor<"A", output, dims[0]>}) {
  %t = tile.slice %A[%m] : !tile.global<?xf32> -> !tile.slice<1xf32>
  // expected-error @below {{expected a number of 'f32' because 'A' is, but got 'index'}}
  tile.atomic add %m, %t : index, !tile.slice<1xf32>
  tile.return
}

// -----

// atomic_c2: minima and bits.
tile.kernel @atomic_minimum(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?xf32> {program.argument = #program.tensor<"A", output, dims[0]>}) {
  %f = arith.constant dense<0.0> : tensor<64xf32>
  %t = tile.slice %A[%m] : !tile.global<?xf32> -> !tile.slice<64xf32>
  // expected-error @below {{expected i32, u32 or i64 because other minima, maxima and bits are not combined atomically, but 'A' has 'f32'}}
  tile.atomic min %f, %t : tensor<64xf32>, !tile.slice<64xf32>
  tile.return
}

// -----

// atomic_c2
tile.kernel @atomic_type(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?xbf16> {program.argument = #program.tensor<"A", output, dims[0]>}) {
  %f = arith.constant dense<0.0> : tensor<64xbf16>
  %t = tile.slice %A[%m] : !tile.global<?xbf16> -> !tile.slice<64xbf16>
  // expected-error @below {{expected f32, f64, i32, u32 or i64 because narrower elements are too inexact for sums, but 'A' has 'bf16'}}
  tile.atomic add %f, %t : tensor<64xbf16>, !tile.slice<64xbf16>
  tile.return
}

// -----

// copy_reduce_c1: extents.
tile.kernel @reduce_extents(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?xf32> {program.argument = #program.tensor<"A", output, dims[0]>}) {
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<32xf32>
  %t = tile.slice %A[%m] : !tile.global<?xf32> -> !tile.slice<64xf32>
  // expected-error @below {{expected 'a' and 'A' to have the same extents, those of 1 aside, but got 32 and 64}}
  tile.copy_reduce add %a, %t : !tile.shared<32xf32>, !tile.slice<64xf32>
  tile.return
}

// -----

// copy_reduce_c1: types.
tile.kernel @reduce_types(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?xf32> {program.argument = #program.tensor<"A", output, dims[0]>}) {
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64xbf16>
  %t = tile.slice %A[%m] : !tile.global<?xf32> -> !tile.slice<64xf32>
  // expected-error @below {{expected 'a' and 'A' to have the same element type because copies do not convert, but got 'bf16' and 'f32'}}
  tile.copy_reduce add %a, %t : !tile.shared<64xbf16>, !tile.slice<64xf32>
  tile.return
}

// -----

// copy_reduce_c2: sums.
tile.kernel @reduce_sums(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?xf64> {program.argument = #program.tensor<"A", output, dims[0]>}) {
  %a = tile.alloc_shared "a" : !tile.shared<64xf64>
  %t = tile.slice %A[%m] : !tile.global<?xf64> -> !tile.slice<64xf64>
  // expected-error @below {{expected f32, f16, bf16 or i32 because the TMA adds no others, but 'A' has 'f64'; atomicAdd of a fragment adds f64 and i64, too}}
  tile.copy_reduce add %a, %t : !tile.shared<64xf64>, !tile.slice<64xf64>
  tile.return
}

// -----

// copy_reduce_c2: bits.
tile.kernel @reduce_bits(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?xbf16> {program.argument = #program.tensor<"A", output, dims[0]>}) {
  %a = tile.alloc_shared "a" : !tile.shared<64xbf16>
  %t = tile.slice %A[%m] : !tile.global<?xbf16> -> !tile.slice<64xbf16>
  // expected-error @below {{expected i32 because the TMA combines the bits of no others, but 'A' has 'bf16'}}
  tile.copy_reduce bit_or %a, %t : !tile.shared<64xbf16>, !tile.slice<64xbf16>
  tile.return
}

// -----

// copy_reduce_c2: the smaller.
tile.kernel @reduce_minimum(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?xf32> {program.argument = #program.tensor<"A", output, dims[0]>}) {
  %a = tile.alloc_shared "a" : !tile.shared<64xf32>
  %t = tile.slice %A[%m] : !tile.global<?xf32> -> !tile.slice<64xf32>
  // expected-error @below {{expected f16, bf16 or i32 because the TMA takes the smaller of no others, but 'A' has 'f32'}}
  tile.copy_reduce min %a, %t : !tile.shared<64xf32>, !tile.slice<64xf32>
  tile.return
}

// -----

// copy_reduce_c2: the larger.
tile.kernel @reduce_maximum(
    %m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?xf32> {program.argument = #program.tensor<"A", output, dims[0]>}) {
  %a = tile.alloc_shared "a" : !tile.shared<64xf32>
  %t = tile.slice %A[%m] : !tile.global<?xf32> -> !tile.slice<64xf32>
  // expected-error @below {{expected f16, bf16 or i32 because the TMA takes the larger of no others, but 'A' has 'f32'}}
  tile.copy_reduce max %a, %t : !tile.shared<64xf32>, !tile.slice<64xf32>
  tile.return
}

// -----

// copy_reduce_c3
tile.kernel @reduce_transposed(
    %m: index {program.argument = #program.dimension<"m">},
    %A: !tile.global<?x32xf32> {program.argument = #program.tensor<"A", output, dims[0, -1]>}) {
  %c0 = arith.constant 0 : index
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<32x64xf32>
  %v = tile.transpose %a : !tile.shared<32x64xf32> -> !tile.shared<64x32xf32, transposed>
  %t = tile.slice %A[%m, %c0] : !tile.global<?x32xf32> -> !tile.slice<64x32xf32>
  // expected-error @below {{expected a tile as it lies because the TMA moves whole rows, but 'a' is transposed; copy it through a fragment}}
  tile.copy_reduce add %v, %t : !tile.shared<64x32xf32, transposed>, !tile.slice<64x32xf32>
  tile.return
}

// -----

// load_index_c1
tile.kernel @index_type(%m: index {program.argument = #program.dimension<"m">}) {
  // expected-note @below {{'c' is declared here}}
  %c = tile.alloc_shared "c" : !tile.shared<4xf32>
  // expected-error @below {{expected 'c' to be of i32 because its elements are positions, but got 'f32'}}
  %i = tile.load_index %c[%m] : !tile.shared<4xf32>
  tile.return
}

// -----

tile.kernel @index_slice(%m: index {program.argument = #program.dimension<"m">},
    // expected-note @below {{'A' is declared here}}
    %A: !tile.global<?xi32> {program.argument = #program.tensor<"A", input, dims[0]>}) {
  %t = tile.slice %A[%m] : !tile.global<?xi32> -> !tile.slice<4xi32>
  // expected-error @below {{expected a slice of one element of 'A' and no positions in it because one is read, but got 4 and 0 positions}}
  %i = tile.load_index %t[] : !tile.slice<4xi32>
  tile.return
}

// -----

// rows_c1
tile.kernel @rows_of_view() {
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64x32xbf16>
  %t = tile.transpose %a : !tile.shared<64x32xbf16> -> !tile.shared<32x64xbf16, transposed>
  // expected-error @below {{expected a view with columns of 64 'bf16' and the layout of 'a' because they are its columns, but got '!tile.shared<8x64xbf16>'}}
  %r = tile.rows %t[0] : !tile.shared<32x64xbf16, transposed> -> !tile.shared<8x64xbf16>
  tile.return
}

// -----

// rows_c1: axes.
tile.kernel @rows_of_slots() {
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<2x64x32xbf16>
  // expected-error @below {{expected 'a' to have two axes because a part of a matrix is one, but it has 3}}
  %r = tile.rows %a[0] : !tile.shared<2x64x32xbf16> -> !tile.shared<8x32xbf16>
  tile.return
}

// -----

// rows_c3
tile.kernel @columns_of_panels() {
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<16x128xf32>
  %t = tile.transpose %a : !tile.shared<16x128xf32> -> !tile.shared<128x16xf32, transposed>
  // expected-error @below {{expected columns from the beginning of a panel, of 32 elements of 'f32', because a swizzle mixes the elements of a panel, but the first one is 16; take a tile for each part}}
  %r = tile.rows %t[16] : !tile.shared<128x16xf32, transposed> -> !tile.shared<32x16xf32, transposed>
  tile.return
}

// -----

// rows_c3
tile.kernel @columns_of_vectors() {
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<16x128xf32>
  %t = tile.transpose %a : !tile.shared<16x128xf32> -> !tile.shared<128x16xf32, transposed>
  // expected-error @below {{expected a multiple of 4 columns of 'f32' because a swizzle keeps that many together, but got 34}}
  %r = tile.rows %t[32] : !tile.shared<128x16xf32, transposed> -> !tile.shared<34x16xf32, transposed>
  tile.return
}

// -----

tile.kernel @rows_of_others() {
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64x32xbf16>
  // expected-error @below {{expected a view with rows of 32 'bf16' and the layout of 'a' because they are its rows, but got '!tile.shared<8x16xbf16>'}}
  %r = tile.rows %a[0] : !tile.shared<64x32xbf16> -> !tile.shared<8x16xbf16>
  tile.return
}

// -----

// rows_c2
tile.kernel @rows_between() {
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64x32xbf16>
  // expected-error @below {{expected the first row to be a multiple of 8, after which every swizzle repeats, but got 4}}
  %r = tile.rows %a[4] : !tile.shared<64x32xbf16> -> !tile.shared<8x32xbf16>
  tile.return
}

// -----

tile.kernel @rows_behind() {
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<64x32xbf16>
  // expected-error @below {{expected rows of 'a', which has 64, but got 16 from row 56}}
  %r = tile.rows %a[56] : !tile.shared<64x32xbf16> -> !tile.shared<16x32xbf16>
  tile.return
}

// -----

// store_index_c1
tile.kernel @index_axes(%m: index {program.argument = #program.dimension<"m">}) {
  // expected-note @below {{'c' is declared here}}
  %c = tile.alloc_shared "c" : !tile.shared<2x4xi32>
  // expected-error @below {{expected 2 positions because 'c' has 2 axes, but got 1}}
  tile.store_index %m, %c[%m] : !tile.shared<2x4xi32>
  tile.return
}

// -----

// copy_c4
tile.kernel @copy_group_out(%m: index {program.argument = #program.dimension<"m">},
    %A: !tile.global<?xf32> {program.argument = #program.tensor<"A", output, dims[0]>}) {
  %a = tile.alloc_shared "a" : !tile.shared<64xf32>
  %s = tile.slice %A[%m] : !tile.global<?xf32> -> !tile.slice<64xf32>
  // expected-error @below {{expected a slice as source and a shared buffer as destination because the atom cp_async copies that way only, but got}}
  tile.copy %a, %s atom cp_async : !tile.shared<64xf32>, !tile.slice<64xf32>
  tile.return
}

// -----

// copy_c6
tile.kernel @other_bytes() {
  // expected-note @below {{'a' is declared here}}
  %a = tile.alloc_shared "a" : !tile.shared<32x16xi4>
  // expected-note @below {{'b' is declared here}}
  %b = tile.alloc_shared "b" : !tile.shared<16x32xi4>
  %t = tile.transpose %a : !tile.shared<32x16xi4> -> !tile.shared<16x32xi4, transposed>
  // expected-error @below {{expected 'a' and 'b' to have the same elements side by side because several 'i4' share a byte, but the one has those along axis 0 and the other those along axis 1; copy through a fragment}}
  tile.copy %t, %b : !tile.shared<16x32xi4, transposed>, !tile.shared<16x32xi4>
  tile.return
}
