// RUN: %tlc compile %s --start-from simt | FileCheck %s

// PTX names the program's own lines, those of a helper in another file as well, so that profilers and the
// emulator can show them.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: .visible .entry lines(
// CHECK: .loc [[HELPER:[0-9]+]] 7 9
// CHECK: ld.global
// CHECK: .loc [[KERNEL:[0-9]+]] 12 3
// CHECK: st.global
// No debug target: the optimiser of the machine compiler would refuse it.
// CHECK-NOT: .section .debug_info
// CHECK-DAG: .file [[HELPER]] "helper.h"
// CHECK-DAG: .file [[KERNEL]] "kernel.cpp"
simt.kernel @lines(%x: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>})
    attributes {launch = #program.launch<warps = 1>, schema = [#program.tensor<"X", inout, dims[-1]>],
      schema_types = [tensor<4xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %v = simt.load %x : !llvm.ptr<1> -> f32 loc(fused["helper.h":7:9, "kernel.cpp":12:3])
  %s = arith.addf %v, %v : f32 loc("sum"("kernel.cpp":12:3))
  simt.store %s, %x : f32, !llvm.ptr<1> loc("kernel.cpp":12:3)
  simt.return loc("kernel.cpp":13:1)
} loc("kernel.cpp":10:1)
}
