// RUN: %simt-opt %s -split-input-file -verify-diagnostics | %simt-opt -split-input-file | FileCheck %s

// CHECK-LABEL: simt.kernel @reports(
simt.kernel @reports() attributes {launch = #program.launch<warps = 1>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  %x = arith.constant 1.0 : f32
  %i = arith.constant 1 : i32
  // CHECK: simt.report #program.report<print, "here", "a.cpp:1:2", []>
  simt.report #program.report<print, "here", "a.cpp:1:2", []>
  // CHECK: simt.report #program.report<check, "{} {}", "a.cpp:1:2", [f32, i32], axes = 2> at[%{{.*}}, %{{.*}}] values(%{{.*}}, %{{.*}} : f32, i32)
  simt.report #program.report<check, "{} {}", "a.cpp:1:2", [f32, i32], axes = 2> at [%i, %i] values (%x, %i : f32, i32)
  simt.return
}

// -----

simt.kernel @axes() attributes {launch = #program.launch<warps = 1>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  // expected-error @below {{expected a position along each of the site's 2 axes, but got 0}}
  simt.report #program.report<print, "here", "a.cpp:1:2", [], axes = 2>
  simt.return
}

// -----

simt.kernel @values() attributes {launch = #program.launch<warps = 1>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  %x = arith.constant 1.0 : f32
  // expected-error @below {{expected values of the types that the site has because the host reads them so, but got 'f32'}}
  simt.report #program.report<print, "{}", "a.cpp:1:2", [i32]> values (%x : f32)
  simt.return
}
