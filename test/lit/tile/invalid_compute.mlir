// RUN: %tile-opt %s -split-input-file -verify-diagnostics

// gemm_c1: matrices.
tile.kernel @rank(%zero: f32 {program.argument = #program.scalar<"zero">}) {
  // expected-note @below {{'q' is declared here}}
  %q = tile.alloc_shared "q" : !tile.shared<2x64x32xbf16>
  // expected-note @below {{'k' is declared here}}
  %k = tile.alloc_shared "k" : !tile.shared<32x64xbf16>
  %acc = tile.splat %zero : f32 -> tensor<64x64xf32>
  // expected-error @below {{expected 'q' to have two axes because it is a matrix, but got 2x64x32}}
  %s = tile.gemm %q, %k, %acc : !tile.shared<2x64x32xbf16>, !tile.shared<32x64xbf16>, tensor<64x64xf32>
  tile.return
}

// -----

// gemm_c1: the inner extents; a slot and a view keep their buffer's name.
tile.kernel @inner(%zero: f32 {program.argument = #program.scalar<"zero">}) {
  // expected-note @below {{'q' is declared here}}
  %q = tile.alloc_shared "q" : !tile.shared<64x32xbf16>
  // expected-note @below {{'k' is declared here}}
  %k = tile.alloc_shared "k" : !tile.shared<2x64x16xbf16>
  %c = tile.cursor : !tile.cursor<2>
  %slot = tile.slot %k[%c] : !tile.shared<2x64x16xbf16>, !tile.cursor<2> -> !tile.shared<64x16xbf16>
  %kt = tile.transpose %slot : !tile.shared<64x16xbf16> -> !tile.shared<16x64xbf16, transposed>
  %acc = tile.splat %zero : f32 -> tensor<64x64xf32>
  // expected-error @below {{expected 'k' to have 32 rows because 'q' has 32 columns, but got 16 (64x32 times 16x64)}}
  %s = tile.gemm %q, %kt, %acc : !tile.shared<64x32xbf16>, !tile.shared<16x64xbf16, transposed>, tensor<64x64xf32>
  tile.return
}

// -----

// gemm_c1: the accumulator; a fragment has no name.
tile.kernel @accumulator(%zero: f32 {program.argument = #program.scalar<"zero">}) {
  // expected-note @below {{'k' is declared here}}
  %k = tile.alloc_shared "k" : !tile.shared<32x128xbf16>
  %q = arith.constant dense<1.0> : tensor<64x32xbf16>
  %acc = tile.splat %zero : f32 -> tensor<64x64xf32>
  // expected-error @below {{expected an accumulator of 64x128 because the left factor is 64x32 and 'k' is 32x128, but got 64x64}}
  %s = tile.gemm %q, %k, %acc : tensor<64x32xbf16>, !tile.shared<32x128xbf16>, tensor<64x64xf32>
  tile.return
}

// -----

// gemm_c2
tile.kernel @types(%acc: f32 {program.argument = #program.scalar<"acc">}) {
  // expected-note @below {{'q' is declared here}}
  %q = tile.alloc_shared "q" : !tile.shared<64x32xbf16>
  // expected-note @below {{'k' is declared here}}
  %k = tile.alloc_shared "k" : !tile.shared<32x64xf16>
  %zero = tile.splat %acc : f32 -> tensor<64x64xf32>
  // expected-error @below {{expected factors of one element type, f16, bf16 or f32, or each of f8E4M3FN or f8E5M2, or each of i8 or ui8, but 'q' has 'bf16' and 'k' has 'f16'}}
  %s = tile.gemm %q, %k, %zero : !tile.shared<64x32xbf16>, !tile.shared<32x64xf16>, tensor<64x64xf32>
  tile.return
}

// -----

// gemm_c2
tile.kernel @not_f32() {
  %q = tile.alloc_shared "q" : !tile.shared<64x32xbf16>
  %k = tile.alloc_shared "k" : !tile.shared<32x64xbf16>
  %zero = arith.constant dense<0.0> : tensor<64x64xbf16>
  // expected-error @below {{expected an accumulator of 'f32' because products of 'bf16' are summed in 'f32', but got 'bf16'}}
  %s = tile.gemm %q, %k, %zero : !tile.shared<64x32xbf16>, !tile.shared<32x64xbf16>, tensor<64x64xbf16>
  tile.return
}

// -----

// gemm_c2: one factor of integers.
tile.kernel @mixed_types() {
  // expected-note @below {{'q' is declared here}}
  %q = tile.alloc_shared "q" : !tile.shared<64x32xi8>
  // expected-note @below {{'k' is declared here}}
  %k = tile.alloc_shared "k" : !tile.shared<32x64xf8E4M3FN>
  %zero = arith.constant dense<0> : tensor<64x64xi32>
  // expected-error @below {{expected factors of one element type, f16, bf16 or f32, or each of f8E4M3FN or f8E5M2, or each of i8 or ui8, but 'q' has 'i8' and 'k' has 'f8E4M3FN'}}
  %s = tile.gemm %q, %k, %zero : !tile.shared<64x32xi8>, !tile.shared<32x64xf8E4M3FN>, tensor<64x64xi32>
  tile.return
}

// -----

// gemm_c2: integers are not summed in floats.
tile.kernel @not_i32() {
  %q = tile.alloc_shared "q" : !tile.shared<64x32xi8>
  %k = tile.alloc_shared "k" : !tile.shared<32x64xui8>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // expected-error @below {{expected an accumulator of 'i32' because products of 'i8' are summed in 'i32', but got 'f32'}}
  %s = tile.gemm %q, %k, %zero : !tile.shared<64x32xi8>, !tile.shared<32x64xui8>, tensor<64x64xf32>
  tile.return
}

// -----

// gemm_c1: a sparse factor has half of its columns.
tile.kernel @sparse_inner() {
  // expected-note @below {{'q' is declared here}}
  %q = tile.alloc_shared "q" : !tile.shared<64x32xbf16>
  // expected-note @below {{'k' is declared here}}
  %k = tile.alloc_shared "k" : !tile.shared<32x64xbf16>
  %e = tile.alloc_shared "e" : !tile.shared<64x8xui8>
  %places = tile.load %e : !tile.shared<64x8xui8> -> tensor<64x8xui8>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // expected-error @below {{expected 'k' to have 64 rows because 'q' has 32 columns and is sparse, but got 32 (64x32 times 32x64)}}
  %s = tile.gemm %q, %k, %zero metadata %places : !tile.shared<64x32xbf16>, !tile.shared<32x64xbf16>, tensor<64x64xf32>, tensor<64x8xui8>
  tile.return
}

// -----

// gemm_c3
tile.kernel @sparse_atom() {
  %q = tile.alloc_shared "q" : !tile.shared<64x32xbf16>
  %k = tile.alloc_shared "k" : !tile.shared<64x64xbf16>
  %e = tile.alloc_shared "e" : !tile.shared<64x8xui8>
  %places = tile.load %e : !tile.shared<64x8xui8> -> tensor<64x8xui8>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // expected-error @below {{expected the atom wgmma because the left factor is sparse, but got mma_sync}}
  %s = tile.gemm %q, %k, %zero metadata %places atom mma_sync : !tile.shared<64x32xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>, tensor<64x8xui8>
  tile.return
}

// -----

// gemm_c4: the element type.
tile.kernel @metadata_type() {
  %q = tile.alloc_shared "q" : !tile.shared<64x32xbf16>
  %k = tile.alloc_shared "k" : !tile.shared<64x64xbf16>
  %places = arith.constant dense<68> : tensor<64x8xi8>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // expected-error @below {{expected metadata of ui8 because each byte has the places of two groups of 'q', but got 'i8'}}
  %s = tile.gemm %q, %k, %zero metadata %places : !tile.shared<64x32xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>, tensor<64x8xi8>
  tile.return
}

// -----

// gemm_c4: the extents; of f32 a byte has the places of fewer elements.
tile.kernel @metadata_extents() {
  // expected-note @below {{'q' is declared here}}
  %q = tile.alloc_shared "q" : !tile.shared<64x32xf32>
  %k = tile.alloc_shared "k" : !tile.shared<64x64xf32>
  %e = tile.alloc_shared "e" : !tile.shared<64x8xui8>
  %places = tile.load %e : !tile.shared<64x8xui8> -> tensor<64x8xui8>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // expected-error @below {{expected metadata of 64x16 because 'q' is 64x32 and a byte has the places of 2 elements of 'f32', but got 64x8}}
  %s = tile.gemm %q, %k, %zero metadata %places : !tile.shared<64x32xf32>, !tile.shared<64x64xf32>, tensor<64x64xf32>, tensor<64x8xui8>
  tile.return
}

// -----

// gemm_c4: whole bytes.
tile.kernel @metadata_bytes() {
  // expected-note @below {{'q' is declared here}}
  %q = tile.alloc_shared "q" : !tile.shared<64x34xbf16>
  %k = tile.alloc_shared "k" : !tile.shared<68x64xbf16>
  %e = tile.alloc_shared "e" : !tile.shared<64x8xui8>
  %places = tile.load %e : !tile.shared<64x8xui8> -> tensor<64x8xui8>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // expected-error @below {{expected 'q' to have a multiple of 4 columns because a byte of metadata has the places of as many elements of 'bf16', but got 64x34}}
  %s = tile.gemm %q, %k, %zero metadata %places : !tile.shared<64x34xbf16>, !tile.shared<68x64xbf16>, tensor<64x64xf32>, tensor<64x8xui8>
  tile.return
}

// -----

// gemm_c4: not in registers.
tile.kernel @sparse_fragment() {
  %q = arith.constant dense<1.0> : tensor<64x32xbf16>
  %k = tile.alloc_shared "k" : !tile.shared<64x64xbf16>
  %e = tile.alloc_shared "e" : !tile.shared<64x8xui8>
  %places = tile.load %e : !tile.shared<64x8xui8> -> tensor<64x8xui8>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // expected-error @below {{expected the sparse left factor in shared memory because the instruction reads it there, but got a fragment}}
  %s = tile.gemm %q, %k, %zero metadata %places : tensor<64x32xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>, tensor<64x8xui8>
  tile.return
}

// -----

// gemm_async_c1
tile.kernel @async_shape() {
  // expected-note @below {{'q' is declared here}}
  %q = tile.alloc_shared "q" : !tile.shared<64x32xbf16>
  // expected-note @below {{'k' is declared here}}
  %k = tile.alloc_shared "k" : !tile.shared<16x64xbf16>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // expected-error @below {{expected 'k' to have 32 rows}}
  %s = tile.gemm_async %q, %k, %zero : !tile.shared<64x32xbf16>, !tile.shared<16x64xbf16>, tensor<64x64xf32>
  tile.return
}

// -----

// gemm_async_c2
tile.kernel @async_atom() {
  %q = tile.alloc_shared "q" : !tile.shared<64x32xbf16>
  %k = tile.alloc_shared "k" : !tile.shared<32x64xbf16>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // expected-error @below {{expected the atom wgmma because no other matrix instruction is asynchronous, but got mma_sync}}
  %s = tile.gemm_async %q, %k, %zero atom mma_sync : !tile.shared<64x32xbf16>, !tile.shared<32x64xbf16>, tensor<64x64xf32>
  tile.return
}

// -----

// gemm_async_c3
tile.kernel @async_use() {
  %q = tile.alloc_shared "q" : !tile.shared<64x32xbf16>
  %k = tile.alloc_shared "k" : !tile.shared<32x64xbf16>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // expected-error @below {{expected 'tile.gemm_wait' before the product is used because it is still in flight, but got a use by 'arith.addf'}}
  %s = tile.gemm_async %q, %k, %zero : !tile.shared<64x32xbf16>, !tile.shared<32x64xbf16>, tensor<64x64xf32>
  // expected-note @below {{used here}}
  %t = arith.addf %s, %s : tensor<64x64xf32>
  tile.return
}

// -----

// gemm_wait_c1
tile.kernel @pending() {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // expected-error @below {{expected 'pending' to be at least 0, but got -1}}
  %s = tile.gemm_wait %zero pending(-1) : tensor<64x64xf32>
  tile.return
}

// -----

// reduce_c1
tile.kernel @reduce_axis() {
  %x = arith.constant dense<0.0> : tensor<64x16xf32>
  // expected-error @below {{expected an axis from 0 to 1 because the fragment has the extents 64x16, but got 2}}
  %m = tile.reduce max %x axis(2) : tensor<64x16xf32> -> tensor<64x1xf32>
  tile.return
}

// -----

// scan_c1
tile.kernel @scan_axis() {
  %x = arith.constant dense<0.0> : tensor<64x16xf32>
  // expected-error @below {{expected an axis from 0 to 1 because the fragment has the extents 64x16, but got 2}}
  %m = tile.scan sum %x axis(2) : tensor<64x16xf32>
  tile.return
}

// -----

// reduce_c2
tile.kernel @bits_of_floats() {
  %x = arith.constant dense<0.0> : tensor<64x16xf32>
  // expected-error @below {{expected integers because 'bit_and' combines bits, but got 'f32'}}
  %m = tile.reduce bit_and %x axis(1) : tensor<64x16xf32> -> tensor<64x1xf32>
  tile.return
}

// -----

// reduce_c2
tile.kernel @nan_of_integers() {
  %x = arith.constant dense<0> : tensor<64x16xi32>
  // expected-error @below {{expected floats because 'max_or_nan' is about NaN, but got 'i32'}}
  %m = tile.reduce max_or_nan %x axis(1) : tensor<64x16xi32> -> tensor<64x1xi32>
  tile.return
}

// -----

// scan_c2
tile.kernel @scan_bits_of_floats() {
  %x = arith.constant dense<0.0> : tensor<64x16xf32>
  // expected-error @below {{expected integers because 'bit_xor' combines bits, but got 'f32'}}
  %m = tile.scan bit_xor %x axis(1) : tensor<64x16xf32>
  tile.return
}

// -----

// reduce_c1
tile.kernel @reduce_extent() {
  %x = arith.constant dense<0.0> : tensor<64x16xf32>
  // expected-error @below {{expected a result of 64x1 because axis 1 of 64x16 is reduced to extent 1, but got 1x16}}
  %m = tile.reduce max %x axis(1) : tensor<64x16xf32> -> tensor<1x16xf32>
  tile.return
}

// -----

// reduce_c1
tile.kernel @reduce_type() {
  %x = arith.constant dense<0.0> : tensor<64x16xf32>
  // expected-error @below {{expected a result of 'f32' because the source is, but got 'bf16'}}
  %m = tile.reduce max %x axis(1) : tensor<64x16xf32> -> tensor<64x1xbf16>
  tile.return
}

// -----

// reshape_c1
tile.kernel @reshape_elements() {
  %x = arith.constant dense<0.0> : tensor<64x16xf32>
  // expected-error @below {{expected as many elements as the source's 1024, but got 1056}}
  %m = tile.reshape %x : tensor<64x16xf32> -> tensor<32x33xf32>
  tile.return
}

// -----

// reshape_c1
tile.kernel @reshape_bits() {
  %x = arith.constant dense<0.0> : tensor<64x16xf32>
  // expected-error @below {{expected as many bits as the source's 32768, but got 16384}}
  %m = tile.reshape %x : tensor<64x16xf32> -> tensor<64x16xbf16>
  tile.return
}

// -----

// reshape_c2
tile.kernel @reshape_type() {
  %x = arith.constant dense<0.0> : tensor<64x16xf32>
  // expected-error @below {{expected elements of one type, or of different widths in whole bytes, but got 'f32' and 'i32'}}
  %m = tile.reshape %x : tensor<64x16xf32> -> tensor<64x16xi32>
  tile.return
}

// -----

// reshape_c2
tile.kernel @reshape_packed() {
  %x = arith.constant dense<0.0> : tensor<64x16xf32>
  // expected-error @below {{expected elements of one type, or of different widths in whole bytes, but got 'f32' and 'i4'}}
  %m = tile.reshape %x : tensor<64x16xf32> -> tensor<64x128xi4>
  tile.return
}

// -----

// broadcast_c1
tile.kernel @broadcast_rank() {
  %x = arith.constant dense<0.0> : tensor<64xf32>
  // expected-error @below {{expected a result of as many axes as the source's 1, but got 64 to 64x16}}
  %m = tile.broadcast %x : tensor<64xf32> -> tensor<64x16xf32>
  tile.return
}

// -----

// broadcast_c1
tile.kernel @broadcast_extent() {
  %x = arith.constant dense<0.0> : tensor<64x2xf32>
  // expected-error @below {{expected axis 1 to keep its extent 2 because only extents of 1 are repeated, but got 16}}
  %m = tile.broadcast %x : tensor<64x2xf32> -> tensor<64x16xf32>
  tile.return
}

// -----

// broadcast_c1
tile.kernel @broadcast_type() {
  %x = arith.constant dense<0.0> : tensor<64x1xf32>
  // expected-error @below {{expected a result of 'f32' because the source is, but got 'f16'}}
  %m = tile.broadcast %x : tensor<64x1xf32> -> tensor<64x16xf16>
  tile.return
}

// -----

// convert_c1
tile.kernel @convert_same(%x: f32 {program.argument = #program.scalar<"x">}) {
  // expected-error @below {{expected numbers of two types that memory can hold (i8, i32, i64, f16, bf16, f32, f64, f8E4M3FN, f8E5M2, ui8, ui32, i4, ui4, f4E2M1FN), but got 'f32' and 'f32'}}
  %y = tile.convert %x : f32 to f32
  tile.return
}

// -----

// convert_c1
tile.kernel @convert_unknown(%x: f32 {program.argument = #program.scalar<"x">}) {
  // expected-error @below {{expected numbers of two types that memory can hold (i8, i32, i64, f16, bf16, f32, f64, f8E4M3FN, f8E5M2, ui8, ui32, i4, ui4, f4E2M1FN), but got 'f32' and 'i7'}}
  %y = tile.convert %x : f32 to i7
  tile.return
}

// -----

// convert_c1
tile.kernel @convert_shapes() {
  %x = arith.constant dense<0.0> : tensor<64x16xf32>
  // expected-error @below {{all non-scalar operands/results must have the same shape and base type}}
  %y = tile.convert %x : tensor<64x16xf32> to tensor<16x64xf16>
  tile.return
}

// -----

// convert_c2
tile.kernel @convert_unsaturated(%x: f32 {program.argument = #program.scalar<"x">}) {
  // expected-error @below {{expected 'saturate' because 'f8E4M3FN' is a float of at most 8 bits}}
  %y = tile.convert %x : f32 to f8E4M3FN
  tile.return
}

// -----

// convert_c3
tile.kernel @convert_rounding(%x: i32 {program.argument = #program.scalar<"x">}) {
  // expected-error @below {{expected rounding to the nearest because 'i32' is an integer, but got 'up'}}
  %y = tile.convert %x rounding up : i32 to f32
  tile.return
}

// -----

// splat_c1
tile.kernel @splat_type(%x: f32 {program.argument = #program.scalar<"x">}) {
  // expected-error @below {{expected a fragment of 'f32' because the number is, but got one of 'bf16'}}
  %s = tile.splat %x : f32 -> tensor<64x16xbf16>
  tile.return
}

// -----

// coordinates_c1
tile.kernel @coordinates_type() {
  // expected-error @below {{expected a fragment of index because positions are, but got one of 'i32'}}
  %s = tile.coordinates 0 : tensor<64x16xi32>
  tile.return
}

// -----

// coordinates_c1
tile.kernel @coordinates_axis() {
  // expected-error @below {{expected an axis from 0 to 1 because the fragment has the extents 64x16, but got -1}}
  %s = tile.coordinates -1 : tensor<64x16xindex>
  tile.return
}

// -----

// convert_layout_c1
tile.kernel @convert_shape() {
  %x = arith.constant dense<0.0> : tensor<64x16xf32, #tile.layout<"reg(32@1:1) lane(32@0:1) warp(2@0:32)">>
  // expected-error @below {{expected a result of 64x16 because only the layout changes, but got 64x32}}
  %y = tile.convert_layout %x : tensor<64x16xf32, #tile.layout<"reg(32@1:1) lane(32@0:1) warp(2@0:32)">> -> tensor<64x32xf32, #tile.layout<"reg(32@1:1) lane(32@0:1) warp(2@0:32)">>
  tile.return
}

// -----

// convert_layout_c1
tile.kernel @convert_type() {
  %x = arith.constant dense<0.0> : tensor<64x16xf32, #tile.layout<"reg(32@1:1) lane(32@0:1) warp(2@0:32)">>
  // expected-error @below {{expected a result of 'f32' because the source is, but got 'f16'}}
  %y = tile.convert_layout %x : tensor<64x16xf32, #tile.layout<"reg(32@1:1) lane(32@0:1) warp(2@0:32)">> -> tensor<64x16xf16, #tile.layout<"reg(32@1:1) lane(32@0:1) warp(2@0:32)">>
  tile.return
}

// -----

// convert_layout_c1
tile.kernel @convert_nothing() {
  %x = arith.constant dense<0.0> : tensor<64x16xf32>
  // expected-error @below {{expected a layout on both sides, but got 'tensor<64x16xf32>'}}
  %y = tile.convert_layout %x : tensor<64x16xf32> -> tensor<64x16xf32, #tile.layout<"reg(32@1:1) lane(32@0:1) warp(2@0:32)">>
  tile.return
}

// -----

// any_in_warp_c1
tile.kernel @any_of_numbers() {
  %x = arith.constant dense<0.0> : tensor<64x16xf32>
  // expected-error @below {{expected a fragment of truth values, but got one of 'f32'}}
  %any = tile.any_in_warp %x : tensor<64x16xf32>
  tile.return
}

// -----

// any_in_warp_c2
tile.kernel @any_as_number() {
  %x = arith.constant dense<true> : tensor<64x16xi1>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // expected-error @below {{expected to be the condition of a branch because warps differ in it}}
  %any = tile.any_in_warp %x : tensor<64x16xi1>
  // expected-note @below {{but it is used here}}
  %n = arith.select %any, %zero, %one : index
  tile.return
}

// -----

// any_in_warp_c2
tile.kernel @any_before_memory() {
  %x = arith.constant dense<true> : tensor<64x16xi1>
  %s = tile.alloc_shared "s" : !tile.shared<64x16xf32>
  // expected-error @below {{expected only arithmetic in its branch because each warp decides by itself whether to run it}}
  %any = tile.any_in_warp %x : tensor<64x16xi1>
  scf.if %any {
    // expected-note @below {{but this accesses memory or synchronises with other warps}}
    %v = tile.load %s : !tile.shared<64x16xf32> -> tensor<64x16xf32>
  }
  tile.return
}

// -----

// cuda_c1
tile.kernel @cuda_without_operands() {
  // expected-error @below {{expected an operand because the result has its extents, but got none}}
  %y = tile.cuda "f"() {source = ""} : () -> tensor<64x16xf32>
  tile.return
}

// -----

// cuda_c1
tile.kernel @cuda_extents() {
  %x = arith.constant dense<1.0> : tensor<64x1xf32>
  // expected-error @below {{expected operands of the result's extents 64x16, but got 64x1}}
  %y = tile.cuda "f"(%x) {source = ""} : (tensor<64x1xf32>) -> tensor<64x16xf32>
  tile.return
}

// -----

// cuda_c2
tile.kernel @cuda_types() {
  %x = arith.constant dense<1> : tensor<64x16xi8>
  // expected-error @below {{expected element types that a function in CUDA C++ takes (i32, i64, f16, bf16, f32, f64, u32), but got 'i8'}}
  %y = tile.cuda "f"(%x) {source = ""} : (tensor<64x16xi8>) -> tensor<64x16xf32>
  tile.return
}
