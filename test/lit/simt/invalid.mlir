// RUN: %simt-opt %s -split-input-file -verify-diagnostics

// kernel_c1
// expected-error @below {{expected 'program.parameter' on every argument because the launcher fills them, but argument 0 has none}}
simt.kernel @no_parameter(%m: i32) attributes {launch = #program.launch<warps = 1>, schema = [#program.dimension<"m">],
    schema_types = [index], grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}

// -----

// kernel_c1
// expected-error @below {{expected argument 0 to be of type 'i32' because it is a dimension, but got 'i64'}}
simt.kernel @parameter_type(%m: i64 {program.parameter = #program.parameter<dimension, 0>})
    attributes {launch = #program.launch<warps = 1>, schema = [#program.dimension<"m">],
      schema_types = [index], grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}

// -----

// kernel_c1
// expected-error @below {{expected argument 0 to be of type 'f16' because it is a scalar, but got 'f32'}}
simt.kernel @scalar_type(%x: f32 {program.parameter = #program.parameter<scalar, 0>})
    attributes {launch = #program.launch<warps = 1>, schema = [#program.scalar<"x">],
      schema_types = [f16], grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}

// -----

// kernel_c1
// expected-error @below {{expected argument 0 to be of type '!llvm.ptr<1>' because it is a tensor_pointer, but got '!llvm.ptr'}}
simt.kernel @pointer_type(%x: !llvm.ptr {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 1>, schema = [#program.tensor<"X", input, dims[-1]>],
      schema_types = [tensor<8xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}

// -----

// kernel_c1
// expected-error @below {{expected the index of argument 0, a tensor_map, to be below 0 because there are that many, but got 0}}
simt.kernel @parameter_index(%map: !llvm.ptr {program.parameter = #program.parameter<tensor_map, 0>})
    attributes {launch = #program.launch<warps = 1>, schema = [], schema_types = [],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}

// -----

// kernel_c1
// expected-error @below {{expected the axis of argument 0 to be below 1 because the tensor has that many, but got 1}}
simt.kernel @parameter_axis(%s: i64 {program.parameter = #program.parameter<tensor_stride, 0, axis = 1>})
    attributes {launch = #program.launch<warps = 1>, schema = [#program.tensor<"X", input, dims[-1]>],
      schema_types = [tensor<8xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}

// -----

// kernel_c2
// expected-error @below {{expected 'launch' to have at least one warp because they are chosen before this dialect, but got #program.launch<>}}
simt.kernel @warps() attributes {launch = #program.launch<>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}

// -----

// kernel_c2
// expected-error @below {{expected at least 0 bytes of shared memory, but 'negative_bytes' has -1}}
simt.kernel @negative_bytes() attributes {launch = #program.launch<warps = 1, shared_bytes = -1>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
// kernel_c2
// expected-error @below {{expected at least 0 bytes of shared memory and at most 232448 because sm_90a has that many per block, but 'bytes' has 232449}}
simt.kernel @bytes() attributes {launch = #program.launch<warps = 1, shared_bytes = 232449>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}
}

// -----

// kernel_c3
// expected-error @below {{expected one type per entry of 'schema', but got 0 types for 1 entries}}
simt.kernel @schema_size() attributes {launch = #program.launch<warps = 1>, schema = [#program.dimension<"m">],
    schema_types = [], grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}

// -----

// kernel_c3
// expected-error @below {{expected entry 0 of 'schema' to be a #program.dimension because its type is 'index', but got #program.scalar<"m">}}
simt.kernel @schema_dimension() attributes {launch = #program.launch<warps = 1>, schema = [#program.scalar<"m">],
    schema_types = [index], grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}

// -----

// kernel_c3
// expected-error @below {{expected entry 0 of 'schema' to be a #program.tensor because its type is 'tensor<8xf32>', but got #program.scalar<"m">}}
simt.kernel @schema_tensor() attributes {launch = #program.launch<warps = 1>, schema = [#program.scalar<"m">],
    schema_types = [tensor<8xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}

// -----

// kernel_c3
// expected-error @below {{expected 'dims' of 'X' to have 2 entries because its type is 'tensor<8x8xf32>', but got 1}}
simt.kernel @schema_dims() attributes {launch = #program.launch<warps = 1>,
    schema = [#program.tensor<"X", input, dims[-1]>], schema_types = [tensor<8x8xf32>],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}

// -----

// kernel_c3
// expected-error @below {{expected entry 0 of 'schema' to be a #program.scalar because its type is 'f32', but got #program.dimension<"m">}}
simt.kernel @schema_scalar() attributes {launch = #program.launch<warps = 1>, schema = [#program.dimension<"m">],
    schema_types = [f32], grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}

// -----

// kernel_c3
// expected-error @below {{expected 'schema_types' to be index, tensors and numbers, but got '!llvm.ptr'}}
simt.kernel @schema_type() attributes {launch = #program.launch<warps = 1>, schema = [#program.dimension<"m">],
    schema_types = [!llvm.ptr], grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}

// -----

// kernel_c4
// expected-error @below {{expected 'grid' to have one to three axes because a launch has that many, but got 0}}
simt.kernel @grid_axes() attributes {launch = #program.launch<warps = 1>, schema = [], schema_types = [],
    grid = [], tensor_maps = []} {
  simt.return
}

// -----

// kernel_c4
// expected-error @below {{expected 'grid' to be made of #program.host_expr because the host computes it, but got 4 : i64}}
simt.kernel @grid() attributes {launch = #program.launch<warps = 1>, schema = [], schema_types = [],
    grid = [4], tensor_maps = []} {
  simt.return
}

// -----

// kernel_c4
// expected-error @below {{expected 'tensor_maps' to be made of #program.tensor_map, but got 4 : i64}}
simt.kernel @maps() attributes {launch = #program.launch<warps = 1>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = [4]} {
  simt.return
}

// -----

// kernel_c4
// expected-error @below {{expected 'roles' to be made of #program.role, but got 4 : i64}}
simt.kernel @roles() attributes {launch = #program.launch<warps = 1>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = [], roles = [4]} {
  simt.return
}

// -----

// kernel_c4
// expected-error @below {{expected 'shared' to be made of #program.shared, but got 4 : i64}}
simt.kernel @shared() attributes {launch = #program.launch<warps = 1>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = [], shared = [4]} {
  simt.return
}

// -----

// kernel_c2
// expected-error @below {{expected a cluster of at least 1 block, but 'no_cluster' has 0}}
simt.kernel @no_cluster() attributes {launch = #program.launch<warps = 1, cluster = 0>, schema = [],
    schema_types = [], grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}

// -----

module attributes {program.target = #program.target<"sm_80">} {
// kernel_c2
// expected-error @below {{expected a cluster of at least 1 block and at most 1 because that is the limit of sm_80, but 'cluster' has 2}}
simt.kernel @cluster() attributes {launch = #program.launch<warps = 1, cluster = 2>, schema = [],
    schema_types = [], grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}
}

// -----

// kernel_c2
// expected-error @below {{but 'no_residents' wants 0}}
simt.kernel @no_residents() attributes {launch = #program.launch<warps = 1, residents = 0>, schema = [],
    schema_types = [], grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
// kernel_c2
// expected-error @below {{expected at most 115712 bytes of shared memory because 2 blocks share a multiprocessor of sm_90a, but 'residents' has 115713}}
simt.kernel @residents() attributes {launch = #program.launch<warps = 1, residents = 2, shared_bytes = 115713>, schema = [],
    schema_types = [], grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}
}

// -----

// expected-error @below {{expected no results because a kernel writes to its tensors, but got 1}}
simt.kernel @result() -> i32 attributes {launch = #program.launch<warps = 1>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}

// -----

// set_registers_c1
simt.kernel @registers() attributes {launch = #program.launch<warps = 4>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  // expected-error @below {{expected a multiple of 8 registers from 24 to 256, but got 20}}
  simt.set_registers 20
  simt.return
}

// -----

// atomic_c2: of floats only sums.
simt.kernel @atomic_of_floats(%x: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 1>, schema = [#program.tensor<"X", inout, dims[-1]>],
      schema_types = [tensor<64xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %f = simt.load %x : !llvm.ptr<1> -> f32
  // expected-error @below {{expected a kind that the machine has for 'f32', but got xori}}
  simt.atomic xori %f, %x : f32, !llvm.ptr<1>
  simt.return
}

// -----

// atomic_c2: sums of integers have a kind of their own.
simt.kernel @atomic_of_integers(%x: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 1>, schema = [#program.tensor<"X", inout, dims[-1]>],
      schema_types = [tensor<64xi32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %n = simt.load %x : !llvm.ptr<1> -> i32
  // expected-error @below {{expected a kind that the machine has for 'i32', but got addf}}
  simt.atomic addf %n, %x : i32, !llvm.ptr<1>
  simt.return
}

// -----

// atomic_c3: other devices do not reach shared memory.
simt.kernel @atomic_of_system() attributes {launch = #program.launch<warps = 1, shared_bytes = 64>, schema = [],
    schema_types = [], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %s = simt.shared_base
  %n = simt.load %s : !llvm.ptr<3> -> i32
  // expected-error @below {{expected one number at the scope of the block in shared memory, but got 'i32' at that of the system}}
  simt.atomic addi %n, %s system : i32, !llvm.ptr<3>
  simt.return
}

// -----

// atomic_c3: one number.
simt.kernel @vector_in_shared() attributes {launch = #program.launch<warps = 1, shared_bytes = 64>, schema = [],
    schema_types = [], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %s = simt.shared_base
  %w = simt.load %s : !llvm.ptr<3> -> vector<2xf32>
  // expected-error @below {{expected one number at the scope of the block in shared memory, but got 'vector<2xf32>'}}
  simt.atomic addf %w, %s : vector<2xf32>, !llvm.ptr<3>
  simt.return
}

// -----

// multicast_load_c1
simt.kernel @maximum_of_floats(%x: !llvm.ptr<1> {program.parameter = #program.parameter<multicast_pointer, 0>})
    attributes {launch = #program.launch<warps = 1>, schema = [#program.tensor<"X", inout, dims[-1], symmetric = true>],
      schema_types = [tensor<64xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  // expected-error @below {{expected a kind that the machine has for 'f32', but got maxnumf}}
  %f = simt.multicast_load maxnumf %x : !llvm.ptr<1> -> f32
  simt.return
}

// -----

// multicast_store_c1
simt.kernel @store_of_a_half(%x: !llvm.ptr<1> {program.parameter = #program.parameter<multicast_pointer, 0>})
    attributes {launch = #program.launch<warps = 1>, schema = [#program.tensor<"X", inout, dims[-1], symmetric = true>],
      schema_types = [tensor<64xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %h = arith.constant 1.0 : bf16
  // expected-error @below {{expected 4, 8 or 16 bytes because multimem.st stores no others, but got 'bf16'}}
  simt.multicast_store %h, %x : bf16, !llvm.ptr<1>
  simt.return
}

// -----

// multicast_atomic_c1
simt.kernel @largest_of_floats(%x: !llvm.ptr<1> {program.parameter = #program.parameter<multicast_pointer, 0>})
    attributes {launch = #program.launch<warps = 1>, schema = [#program.tensor<"X", inout, dims[-1], symmetric = true>],
      schema_types = [tensor<64xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %f = arith.constant 1.0 : f32
  // expected-error @below {{expected a kind that the machine has for 'f32', but got maxnumf}}
  simt.multicast_atomic maxnumf %f, %x : f32, !llvm.ptr<1>
  simt.return
}

// -----

module attributes {program.target = #program.target<"sm_80">} {
// atomic_c1
simt.kernel @wide_addition(%x: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 1>, schema = [#program.tensor<"X", inout, dims[-1]>],
      schema_types = [tensor<64xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %w = simt.load %x : !llvm.ptr<1> -> vector<2xf32>
  // expected-error @below {{expected at most 1 numbers because sm_80 adds no more at once, but got 'vector<2xf32>'}}
  simt.atomic addf %w, %x : vector<2xf32>, !llvm.ptr<1>
  simt.return
}
}

// -----

module attributes {program.target = #program.target<"sm_80">} {
// set_registers_c1
simt.kernel @no_reallocation() attributes {launch = #program.launch<warps = 4>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  // expected-error @below {{expected a target with setmaxnreg, but got sm_80}}
  simt.set_registers 24
  simt.return
}
}

// -----

// wgmma_c1
simt.kernel @wgmma_n(%a: i64 {program.parameter = #program.parameter<scalar, 0>})
    attributes {launch = #program.launch<warps = 4>, schema = [#program.scalar<"a">], schema_types = [i64],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  %acc = arith.constant dense<0.0> : vector<2xf32>
  // expected-error @below {{expected 'n' to be a multiple of 8 from 8 to 256, but got 4}}
  %r = simt.wgmma %acc, %a, %a {n = 4 : i64, a_element = bf16, b_element = bf16} : vector<2xf32>, i64
  simt.return
}

// -----

// wgmma_c1
simt.kernel @wgmma_acc(%a: i64 {program.parameter = #program.parameter<scalar, 0>})
    attributes {launch = #program.launch<warps = 4>, schema = [#program.scalar<"a">], schema_types = [i64],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  %acc = arith.constant dense<0.0> : vector<128xf32>
  // expected-error @below {{expected an accumulator of 64 registers because each of the warpgroup's threads holds n / 2 numbers of 64x128, but got 'vector<128xf32>'}}
  %r = simt.wgmma %acc, %a, %a {n = 128 : i64, a_element = bf16, b_element = bf16} : vector<128xf32>, i64
  simt.return
}

// -----

// encode_c1
simt.kernel @encode_element(%a: i64 {program.parameter = #program.parameter<scalar, 0>})
    attributes {launch = #program.launch<warps = 4>, schema = [#program.scalar<"a">], schema_types = [i64],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  %x = arith.constant dense<0.0> : vector<4xf32>
  // expected-error @below {{expected 'element' to be a float of 8 or 4 bits, but got 'f16'}}
  %r = simt.encode %x as f16 : vector<4xf32> -> vector<4xi8>
  simt.return
}

// -----

// decode_c1
simt.kernel @decode_element(%a: i64 {program.parameter = #program.parameter<scalar, 0>})
    attributes {launch = #program.launch<warps = 4>, schema = [#program.scalar<"a">], schema_types = [i64],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  %x = arith.constant dense<0> : vector<4xi8>
  // expected-error @below {{expected 'element' to be a float of 8 or 4 bits, but got 'i8'}}
  %r = simt.decode %x as i8 : vector<4xi8> -> vector<4xf32>
  simt.return
}

// -----

// wgmma_c2
simt.kernel @wgmma_element(%a: i64 {program.parameter = #program.parameter<scalar, 0>})
    attributes {launch = #program.launch<warps = 4>, schema = [#program.scalar<"a">], schema_types = [i64],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  %acc = arith.constant dense<0.0> : vector<4xf32>
  // expected-error @below {{expected elements that wgmma multiplies, but got 'f64' and 'f64' with sums of 'f32'}}
  %r = simt.wgmma %acc, %a, %a {n = 8 : i64, a_element = f64, b_element = f64} : vector<4xf32>, i64
  simt.return
}

// -----

// wgmma_c1
simt.kernel @wgmma_n_of_integers(%a: i64 {program.parameter = #program.parameter<scalar, 0>})
    attributes {launch = #program.launch<warps = 4>, schema = [#program.scalar<"a">], schema_types = [i64],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  %acc = arith.constant dense<0> : vector<20xi32>
  // expected-error @below {{expected 'n' to be a multiple of 16 from 16 to 256, but got 40}}
  %r = simt.wgmma %acc, %a, %a {n = 40 : i64, a_element = i8, b_element = ui8} : vector<20xi32>, i64
  simt.return
}

// -----

// wgmma_c2
simt.kernel @wgmma_integer_sums(%a: i64 {program.parameter = #program.parameter<scalar, 0>})
    attributes {launch = #program.launch<warps = 4>, schema = [#program.scalar<"a">], schema_types = [i64],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  %acc = arith.constant dense<0.0> : vector<8xf32>
  // expected-error @below {{expected elements that wgmma multiplies, but got 'i8' and 'i8' with sums of 'f32'}}
  %r = simt.wgmma %acc, %a, %a {n = 16 : i64, a_element = i8, b_element = i8} : vector<8xf32>, i64
  simt.return
}

// -----

// wgmma_c3
simt.kernel @wgmma_integers_transposed(%a: i64 {program.parameter = #program.parameter<scalar, 0>})
    attributes {launch = #program.launch<warps = 4>, schema = [#program.scalar<"a">], schema_types = [i64],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  %acc = arith.constant dense<0> : vector<8xi32>
  // expected-error @below {{expected factors along k because those of 8 bits cannot be read transposed, but 'a' is}}
  %r = simt.wgmma %acc, %a, %a {n = 16 : i64, a_element = i8, b_element = i8, transpose_a} : vector<8xi32>, i64
  simt.return
}

// -----

// wgmma_c3
simt.kernel @wgmma_tf32_transposed(%a: i64 {program.parameter = #program.parameter<scalar, 0>})
    attributes {launch = #program.launch<warps = 4>, schema = [#program.scalar<"a">], schema_types = [i64],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  %acc = arith.constant dense<0.0> : vector<4xf32>
  // expected-error @below {{expected factors along k because those of 32 bits cannot be read transposed, but 'b' is}}
  %r = simt.wgmma %acc, %a, %a {n = 8 : i64, a_element = f32, b_element = f32, transpose_b} : vector<4xf32>, i64
  simt.return
}

// -----

// wgmma_c4
simt.kernel @wgmma_sparse_registers(%b: i64 {program.parameter = #program.parameter<scalar, 0>})
    attributes {launch = #program.launch<warps = 4>, schema = [#program.scalar<"b">], schema_types = [i64],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  %acc = arith.constant dense<0.0> : vector<4xf32>
  %a = arith.constant dense<0> : vector<4xi32>
  %e = arith.constant 0x44444444 : i32
  // expected-error @below {{expected 'a' to be a descriptor because it is sparse, but got 'vector<4xi32>'}}
  %r = simt.wgmma %acc, %a, %b metadata %e {n = 8 : i64, a_element = f16, b_element = f16} : vector<4xf32>, vector<4xi32>
  simt.return
}

// -----

// wgmma_c4
simt.kernel @wgmma_selector(%a: i64 {program.parameter = #program.parameter<scalar, 0>})
    attributes {launch = #program.launch<warps = 4>, schema = [#program.scalar<"a">], schema_types = [i64],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  %acc = arith.constant dense<0.0> : vector<4xf32>
  %e = arith.constant 0x44444444 : i32
  // expected-error @below {{expected 'selector' 0 or 1, but got 2}}
  %r = simt.wgmma %acc, %a, %a metadata %e {n = 8 : i64, a_element = f16, b_element = f16, selector = 2 : i64} : vector<4xf32>, i64
  simt.return
}

// -----

// wgmma_c4
simt.kernel @wgmma_selector_of_bytes(%a: i64 {program.parameter = #program.parameter<scalar, 0>})
    attributes {launch = #program.launch<warps = 4>, schema = [#program.scalar<"a">], schema_types = [i64],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  %acc = arith.constant dense<0> : vector<8xi32>
  %e = arith.constant 0x44444444 : i32
  // expected-error @below {{expected 'selector' 0 because no other threads have metadata, but got 1}}
  %r = simt.wgmma %acc, %a, %a metadata %e {n = 16 : i64, a_element = i8, b_element = i8, selector = 1 : i64} : vector<8xi32>, i64
  simt.return
}

// -----

// mma_sync_c1
simt.kernel @mma_sync_elements() attributes {launch = #program.launch<warps = 1>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  %acc = arith.constant dense<0> : vector<4xi32>
  %a = arith.constant dense<0> : vector<4xi32>
  %b = arith.constant dense<0> : vector<2xi32>
  // expected-error @below {{expected elements that mma.sync multiplies, but got 'i8' and 'bf16' with sums of 'i32'}}
  %r = simt.mma_sync %acc, %a, %b {a_element = i8, b_element = bf16} : vector<4xi32>, vector<4xi32>, vector<2xi32>
  simt.return
}

// -----

// mma_sync_c2
module attributes {program.target = #program.target<"sm_80">} {
simt.kernel @mma_sync_target() attributes {launch = #program.launch<warps = 1>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  %acc = arith.constant dense<0.0> : vector<4xf32>
  %a = arith.constant dense<0> : vector<4xi32>
  %b = arith.constant dense<0> : vector<2xi32>
  // expected-error @below {{expected elements that the target multiplies, but sm_80 has no mma.sync for e4m3 and e5m2 with sums of f32}}
  %r = simt.mma_sync %acc, %a, %b {a_element = f8E4M3FN, b_element = f8E5M2} : vector<4xf32>, vector<4xi32>, vector<2xi32>
  simt.return
}
}

// -----

// wgmma_c3
simt.kernel @wgmma_bytes_transposed(%a: i64 {program.parameter = #program.parameter<scalar, 0>})
    attributes {launch = #program.launch<warps = 4>, schema = [#program.scalar<"a">], schema_types = [i64],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  %acc = arith.constant dense<0.0> : vector<4xf32>
  // expected-error @below {{expected factors along k because those of 8 bits cannot be read transposed, but 'b' is}}
  %r = simt.wgmma %acc, %a, %a {n = 8 : i64, a_element = f8E4M3FN, b_element = f8E4M3FN, transpose_b} : vector<4xf32>, i64
  simt.return
}

// -----

// wgmma_c2
simt.kernel @wgmma_transpose(%b: i64 {program.parameter = #program.parameter<scalar, 0>})
    attributes {launch = #program.launch<warps = 4>, schema = [#program.scalar<"b">], schema_types = [i64],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  %acc = arith.constant dense<0.0> : vector<4xf32>
  %a = arith.constant dense<0> : vector<4xi32>
  // expected-error @below {{expected 'a' to be a descriptor because only shared memory can be read transposed, but got 'vector<4xi32>'}}
  %r = simt.wgmma %acc, %a, %b {n = 8 : i64, a_element = f16, b_element = f16, transpose_a} : vector<4xf32>, vector<4xi32>
  simt.return
}

// -----

// load_c1
simt.kernel @load_policy() attributes {launch = #program.launch<warps = 1, shared_bytes = 64>, schema = [], schema_types = [],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  %s = simt.shared_base
  %first = simt.cache_policy evict first
  // expected-error @below {{expected no policy because shared memory is no part of L2, but got one for '!llvm.ptr<3>'}}
  %0 = simt.load %s policy %first : !llvm.ptr<3> -> f32
  simt.return
}

// -----

// store_c1
simt.kernel @store_policy() attributes {launch = #program.launch<warps = 1, shared_bytes = 64>, schema = [], schema_types = [],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  %s = simt.shared_base
  %one = arith.constant 1 : i32
  %last = simt.cache_policy evict last
  // expected-error @below {{expected no policy because shared memory is no part of L2, but got one for '!llvm.ptr<3>'}}
  simt.store %one, %s policy %last : i32, !llvm.ptr<3>
  simt.return
}

// -----

// The driver of this dialect knows no other kernels.
// expected-error @below {{Dialect `tile' not found for custom op 'tile.kernel'}}
// expected-note @below {{Available dialects: arith, builtin, cf, llvm, math, nvvm, program, scf, simt, vector}}
tile.kernel @tile() {
  tile.return
}

// -----

// tma_load_c1
simt.kernel @offsets(%map: !llvm.ptr {program.parameter = #program.parameter<tensor_map, 0>},
                     %at: i32 {program.parameter = #program.parameter<dimension, 0>})
    attributes {launch = #program.launch<warps = 1>,
      schema = [#program.dimension<"m">, #program.tensor<"X", input, dims[0, 0, -1], alignment = 16>],
      schema_types = [index, tensor<?x?x64xbf16>], grid = [#program.host_expr<"1">],
      tensor_maps = [#program.tensor_map<0, box[64, 1, 64], bytes128, window = <taps[3], strides[1], dilations[1], before[1], after[1]>>]} {
  %base = simt.shared_base
  %offset = arith.constant 1 : i16
  // expected-error @below {{expected an offset for each coordinate but the first and the last of 3 to 5, or none, but got 2 offsets and 3 coordinates}}
  simt.tma_load %map[%at, %at, %at] offsets[%offset, %offset] to %base on %base
  simt.return
}
