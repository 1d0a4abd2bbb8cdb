// RUN: %tlc-opt %s --simt-to-nvvm | FileCheck %s

module attributes {program.target = #program.target<"sm_90a">} {

// CHECK-LABEL: llvm.func @functions(
simt.kernel @functions(%out: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>},
                       %x: f32 {program.parameter = #program.parameter<scalar, 0>},
                       %h: f16 {program.parameter = #program.parameter<scalar, 1>})
    attributes {launch = #program.launch<warps = 1>,
      schema = [#program.tensor<"X", output, dims[-1]>, #program.scalar<"x">, #program.scalar<"h">],
      schema_types = [tensor<4xf32>, f32, f16], grid = [#program.host_expr<"1">], tensor_maps = []} {
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[X:[^)]*]])
  %0 = math.exp2 %x : f32
  // CHECK: %[[SCALED:.*]] = llvm.fmul %[[X]], %{{.*}} : f32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[SCALED]])
  %1 = math.exp %x : f32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
  %2 = math.log2 %1 : f32
  // CHECK: %[[LOG:.*]] = llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
  // CHECK: llvm.fmul %[[LOG]]
  %3 = math.log %2 : f32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"
  %4 = math.rsqrt %3 : f32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.sqrt.rn.f"
  %5 = math.sqrt %4 : f32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.sqrt.approx.ftz.f"
  %6 = math.sqrt %5 fastmath<afn> : f32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.div.full"
  %7 = arith.divf %6, %x : f32
  // CHECK: llvm.intr.maxnum
  %9 = arith.maxnumf %7, %x : f32
  // What has no instruction is a formula over those.
  // CHECK-NOT: llvm.intr.tanh
  // CHECK-NOT: llvm.intr.sin
  // CHECK-NOT: llvm.intr.pow
  %10 = math.tanh %9 : f32
  %11 = math.sin %10 : f32
  %12 = math.erf %11 : f32
  %13 = math.powf %12, %x : f32
  // 16-bit numbers are computed with in f32.
  // CHECK: %[[WIDE:.*]] = llvm.fpext %{{.*}} : f16 to f32
  // CHECK: %[[POWER:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[WIDE]])
  // CHECK: llvm.fptrunc %[[POWER]] : f32 to f16
  %14 = math.exp2 %h : f16
  // Fast forms are instructions, by way of f32 for 16-bit numbers.
  // CHECK: llvm.call_intrinsic "llvm.nvvm.sin.approx.ftz.f"
  %15 = math.sin %13 fastmath<afn> : f32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.cos.approx.ftz.f"
  %16 = math.cos %15 fastmath<afn> : f32
  // CHECK: llvm.intr.tanh({{.*}}) {fastmathFlags = #llvm.fastmath<afn>}
  %17 = math.tanh %16 fastmath<afn> : f32
  // CHECK: %[[LOG:.*]] = llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
  // CHECK: %[[EXPONENT:.*]] = llvm.fmul %{{.*}}, %[[LOG]]
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[EXPONENT]])
  %18 = math.powf %17, %x fastmath<afn> : f32
  // An angle loses its multiples of pi / 2 in three steps.
  // CHECK: %[[QUARTERS:.*]] = llvm.intr.roundeven
  // CHECK-COUNT-3: llvm.intr.fma(%[[QUARTERS]],
  // CHECK-NOT: llvm.nvvm.sin
  %19 = math.sin %18 : f32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.div.full"
  %20 = math.tan %19 : f32
  // CHECK-NOT: llvm.intr.tan
  // CHECK-NOT: llvm.intr.log
  // CHECK-NOT: llvm.intr.atan
  %21 = math.expm1 %20 : f32
  %22 = math.log1p %21 : f32
  %23 = math.atan %22 : f32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
  %24 = math.log10 %23 : f32
  // CHECK: llvm.intr.fma(%{{.*}}, %{{.*}}, %{{.*}}) : (f16, f16, f16) -> f16
  %25 = math.fma %h, %h, %h : f16
  simt.store %24, %out : f32, !llvm.ptr<1>
  simt.store %25, %out : f16, !llvm.ptr<1>
  simt.store %14, %out : f16, !llvm.ptr<1>
  simt.return
}
}
