// RUN: %tlc-opt %s --split-input-file --verify-diagnostics --simt-to-nvvm

module attributes {program.target = #program.target<"sm_90a">} {
simt.kernel @double(%x: f64 {program.parameter = #program.parameter<scalar, 0>})
    attributes {launch = #program.launch<warps = 1>, schema = [#program.scalar<"x">], schema_types = [f64],
      grid = [#program.host_expr<"1">], tensor_maps = []} {
  // expected-error @+1 {{expected elements of f32, f16 or bf16 because no target has this function for 'f64': convert before and after}}
  %0 = math.exp2 %x : f64
  simt.return
}
}

// -----

module attributes {program.target = #program.target<"sm_80">} {
simt.kernel @later() attributes {launch = #program.launch<warps = 1, shared_bytes = 16>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  %base = simt.shared_base
  // expected-error @+1 {{expected a target with mbarriers that count bytes, but got 'sm_80'}}
  simt.barrier_init %base count(1)
  simt.return
}
}

// -----

// expected-error @+1 {{expected 'program.target' on the module}}
module {
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
// expected-error @+1 {{expected a name of letters, digits and '_' that begins with a letter because it is the entry's name in PTX, but got 'my-kernel'}}
simt.kernel @"my-kernel"() attributes {launch = #program.launch<warps = 1>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}
}
