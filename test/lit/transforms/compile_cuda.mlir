// REQUIRES: cuda-toolkit
// RUN: %tile-opt %s --tile-compile-cuda -split-input-file -verify-diagnostics | FileCheck %s

// Registers are the block's own, arguments and result its operands. A table of the source joins the module once.
// CHECK:         module attributes {program.ptx = #program.ptx<{{[0-9]+}}, "{{[0-9]+[.][0-9]+}}", "{{.*}}.global .align 4 .b8 {{.*}}table
// CHECK-NOT:     .visible
// CHECK-LABEL:   tile.kernel @functions(
// CHECK:         tile.cuda "twice"(%{{.*}}) {ptx = "{{[{]}}{{.*}}mov.f32 {{.*}}%tlc_f1, $1;{{.*}}mov.f32 {{.*}}$0, %tlc_f2;{{.*}}}", source
// CHECK:         tile.cuda "pick"(%{{.*}}, %{{.*}}) {{.*}}mov.u32 {{.*}}$2;{{.*}} : (tensor<64x16xf32>, tensor<64x16xi32>) -> tensor<64x16xf32>
// CHECK:         tile.cuda "collatz"(%{{.*}}) {{.*}}$$L__BB{{[0-9]+}}_{{[0-9]+}}_${:uid}:
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @functions() attributes {launch = #program.launch<warps = 4>} {
  %x = arith.constant 1.5 : f32
  %i = arith.constant 2 : i32
  %s = tile.splat %x : f32 -> tensor<64x16xf32>
  %n = tile.splat %i : i32 -> tensor<64x16xi32>
  %0 = tile.cuda "twice"(%s) {source = "float twice(float x) { return x + x; }"} : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %1 = tile.cuda "pick"(%s, %n) {source = "__device__ const float table[4] = {1, 2, 3, 4};\nfloat pick(float x, int i) { return x * table[i & 3]; }"} : (tensor<64x16xf32>, tensor<64x16xi32>) -> tensor<64x16xf32>
  %2 = tile.cuda "collatz"(%n) {source = "#include <cuda_fp16.h>\nint collatz(int n) { int steps = 0; while (n > 1) { n = n & 1 ? 3 * n + 1 : n / 2; ++steps; } return steps; }"} : (tensor<64x16xi32>) -> tensor<64x16xi32>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @mistakes() attributes {launch = #program.launch<warps = 4>} {
  %x = arith.constant 1.5 : f32
  %s = tile.splat %x : f32 -> tensor<64x16xf32>
  // expected-error @below {{expected 'one' to be a function in CUDA C++ that NVRTC compiles, but it reports line 2 of its source: identifier "xx" is undefined}}
  %0 = tile.cuda "one"(%s) {source = "float one(float x) {\n  return xx; }"} : (tensor<64x16xf32>) -> tensor<64x16xf32>
  // expected-error-re @below {{expected 'three' to be a function in CUDA C++ that NVRTC compiles, but it reports {{.*}}has no member "three"}}
  %1 = tile.cuda "three"(%s) {source = "float two(float x) { return x; }"} : (tensor<64x16xf32>) -> tensor<64x16xf32>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @prints() attributes {launch = #program.launch<warps = 4>} {
  %x = arith.constant 1.5 : f32
  %s = tile.splat %x : f32 -> tensor<64x16xf32>
  // expected-error @below {{expected 'f' in CUDA C++ to need nothing else, but it uses 'vprintf', which is not in it: functions and memory of other modules cannot be reached from here}}
  %0 = tile.cuda "f"(%s) {source = "float f(float x) { printf(\"%f\", x); return x; }"} : (tensor<64x16xf32>) -> tensor<64x16xf32>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @calls() attributes {launch = #program.launch<warps = 4>} {
  %x = arith.constant 1.5 : f32
  %s = tile.splat %x : f32 -> tensor<64x16xf32>
  // expected-error @below {{expected 'f' in CUDA C++ to need nothing else, but it calls 'half' and does not inline it: declare it __forceinline__, and without recursion}}
  %0 = tile.cuda "f"(%s) {source = "__noinline__ float half(float x) { return x / 2; }\nfloat f(float x) { return half(x); }"} : (tensor<64x16xf32>) -> tensor<64x16xf32>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @shares() attributes {launch = #program.launch<warps = 4>} {
  %x = arith.constant 1.5 : f32
  %s = tile.splat %x : f32 -> tensor<64x16xf32>
  // expected-error @below {{expected 'f' in CUDA C++ to need nothing else, but 'memory' is shared memory: what a block shares is declared with k.shared}}
  %0 = tile.cuda "f"(%s) {source = "float f(float x) { __shared__ float memory[32]; memory[threadIdx.x % 32] = x; return memory[(threadIdx.x + 1) % 32]; }"} : (tensor<64x16xf32>) -> tensor<64x16xf32>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @calls_library() attributes {launch = #program.launch<warps = 4>} {
  %x = arith.constant 1.5 : f64
  %s = tile.splat %x : f64 -> tensor<64x16xf64>
  // expected-error @below {{expected 'f' in CUDA C++ to need nothing else, but it calls '__internal_accurate_pow' of CUDA's library, which is not inlined: compute in float, or otherwise}}
  %0 = tile.cuda "f"(%s) {source = "double f(double x) { return pow(x, 1.5); }"} : (tensor<64x16xf64>) -> tensor<64x16xf64>
  tile.return
}
}
