// RUN: %tlc-opt %s --simt-to-nvvm | FileCheck %s

// The sites are the module's, each once; the buffer is a variable that the host finds by its name.
// CHECK: module attributes {
// CHECK-SAME: program.reports = [#program.report<check, "{} {}", "a.cpp:1:2", [f32, i64], axes = 1>, #program.report<print, "here", "a.cpp:3:2", []>]
module attributes {program.target = #program.target<"sm_90a">} {

// CHECK: llvm.mlir.global external @reports$(#llvm.zero) {addr_space = 1 : i32, alignment = 16 : i64} : !llvm.array<458768 x i8>
// CHECK-LABEL: llvm.func @reports(
simt.kernel @reports(%x: f32 {program.parameter = #program.parameter<scalar, 0>},
                     %i: i64 {program.parameter = #program.parameter<scalar, 1>})
    attributes {launch = #program.launch<warps = 1>, schema = [#program.scalar<"x">, #program.scalar<"i">],
      schema_types = [f32, i64], grid = [#program.host_expr<"1">], tensor_maps = []} {
  // CHECK: %[[BUFFER:.*]] = llvm.mlir.addressof @reports$
  // CHECK: %[[RECORDS:.*]] = llvm.getelementptr %[[BUFFER]][0]
  // CHECK: %[[PLACE:.*]] = llvm.atomicrmw add %[[RECORDS]], %{{.*}} syncscope("device") monotonic
  // CHECK: %[[ROOM:.*]] = llvm.icmp "ult" %[[PLACE]], %[[CAPACITY:.*]] :
  // A check without room is counted, so that it is an error all the same.
  // CHECK: %[[LOST:.*]] = llvm.icmp "uge" %[[PLACE]], %[[CAPACITY]]
  // CHECK: %[[ONE:.*]] = llvm.zext %[[LOST]]
  // CHECK: %[[LOST_CHECKS:.*]] = llvm.getelementptr %[[BUFFER]][4]
  // CHECK: llvm.atomicrmw add %[[LOST_CHECKS]], %[[ONE]] syncscope("device") monotonic
  // CHECK: llvm.mlir.constant(112 : i64)
  // Three vectors of where it is, one of the two values.
  // CHECK-COUNT-4: llvm.inline_asm has_side_effects "@$1 st.global.v4.b32 [$0], {$2, $3, $4, $5};"{{.*}} %[[ROOM]]
  // CHECK-NOT: st.global
  %at = arith.constant 5 : i32
  simt.report #program.report<check, "{} {}", "a.cpp:1:2", [f32, i64], axes = 1> at [%at] values (%x, %i : f32, i64)
  // CHECK-COUNT-2: llvm.atomicrmw
  // CHECK-NOT: llvm.atomicrmw
  simt.report #program.report<print, "here", "a.cpp:3:2", []>
  simt.report #program.report<print, "here", "a.cpp:3:2", []>
  // CHECK: llvm.return
  simt.return
}

}
