// RUN: %simt-opt %s -split-input-file -verify-diagnostics

// tcgen05_alloc_c1
simt.kernel @alloc(%d: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
    %n: i32 {program.parameter = #program.parameter<dimension, 0>},
    %out: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.dimension<"n">, #program.tensor<"X", output, dims[0, -1]>],
      schema_types = [index, tensor<?x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %base = simt.shared_base
  // expected-error @below {{expected a power of two from 32 to 512 columns because tensor memory is reserved in such parts, but got 48}}
  simt.tcgen05_alloc 48 to %base
  simt.return
}

// -----

// tcgen05_dealloc_c1
simt.kernel @dealloc(%d: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
    %n: i32 {program.parameter = #program.parameter<dimension, 0>},
    %out: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.dimension<"n">, #program.tensor<"X", output, dims[0, -1]>],
      schema_types = [index, tensor<?x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  // expected-error @below {{expected a power of two from 32 to 512 columns because tensor memory is reserved in such parts, but got 1024}}
  simt.tcgen05_dealloc 1024 at %n
  simt.return
}

// -----

// tcgen05_load_c1
simt.kernel @load(%d: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
    %n: i32 {program.parameter = #program.parameter<dimension, 0>},
    %out: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.dimension<"n">, #program.tensor<"X", output, dims[0, -1]>],
      schema_types = [index, tensor<?x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  // expected-error @below {{expected a power of two of registers from 1 to 128 because one instruction moves as many, but got 48}}
  %loaded = simt.tcgen05_load %n : vector<48xi32>
  simt.return
}

// -----

// tcgen05_store_c1
simt.kernel @store(%d: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
    %n: i32 {program.parameter = #program.parameter<dimension, 0>},
    %out: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.dimension<"n">, #program.tensor<"X", output, dims[0, -1]>],
      schema_types = [index, tensor<?x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %zero = arith.constant dense<0> : vector<256xi32>
  // expected-error @below {{expected a power of two of registers from 1 to 128 because one instruction moves as many, but got 256}}
  simt.tcgen05_store %zero to %n : vector<256xi32>
  simt.return
}

// -----

// tcgen05_mma_c1
simt.kernel @rows(%d: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
    %n: i32 {program.parameter = #program.parameter<dimension, 0>},
    %out: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.dimension<"n">, #program.tensor<"X", output, dims[0, -1]>],
      schema_types = [index, tensor<?x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %true = arith.constant true
  // expected-error @below {{expected 'm' to be 64 or 128, but got 32}}
  simt.tcgen05_mma %n, %d, %d if %true {a_element = bf16, b_element = bf16, m = 32 : i64, n = 64 : i64} : i64
  simt.return
}

// -----

// tcgen05_mma_c1
simt.kernel @columns(%d: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
    %n: i32 {program.parameter = #program.parameter<dimension, 0>},
    %out: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.dimension<"n">, #program.tensor<"X", output, dims[0, -1]>],
      schema_types = [index, tensor<?x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %true = arith.constant true
  // expected-error @below {{expected 'n' to be a multiple of 16 from 16 to 256, but got 72}}
  simt.tcgen05_mma %n, %d, %d if %true {a_element = bf16, b_element = bf16, m = 128 : i64, n = 72 : i64} : i64
  simt.return
}

// -----

// tcgen05_mma_c2
simt.kernel @element(%d: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
    %n: i32 {program.parameter = #program.parameter<dimension, 0>},
    %out: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.dimension<"n">, #program.tensor<"X", output, dims[0, -1]>],
      schema_types = [index, tensor<?x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %true = arith.constant true
  // expected-error @below {{expected factors of f16, bf16 or f32, or each of f8E4M3FN or f8E5M2, or of i8 or ui8, but got 'f64' and 'f64'}}
  simt.tcgen05_mma %n, %d, %d if %true {a_element = f64, b_element = f64, m = 128 : i64, n = 64 : i64} : i64
  simt.return
}

// -----

// tcgen05_mma_c2
simt.kernel @tf32_transposed(%d: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
    %n: i32 {program.parameter = #program.parameter<dimension, 0>},
    %out: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.dimension<"n">, #program.tensor<"X", output, dims[0, -1]>],
      schema_types = [index, tensor<?x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %true = arith.constant true
  // expected-error @below {{expected factors along k because those of 32 bits cannot be read transposed, but 'b' is}}
  simt.tcgen05_mma %n, %d, %d if %true {a_element = f32, b_element = f32, m = 128 : i64, n = 64 : i64, transpose_b} : i64
  simt.return
}

// -----

// tcgen05_mma_c2
simt.kernel @transposed(%d: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 0>},
    %n: i32 {program.parameter = #program.parameter<dimension, 0>},
    %out: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 4>,
      schema = [#program.dimension<"n">, #program.tensor<"X", output, dims[0, -1]>],
      schema_types = [index, tensor<?x4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %true = arith.constant true
  // expected-error @below {{expected 'a' to be a descriptor because only shared memory can be read transposed, but got 'i32'}}
  simt.tcgen05_mma %n, %n, %d if %true {a_element = bf16, b_element = bf16, m = 128 : i64, n = 64 : i64, transpose_a} : i32
  simt.return
}
