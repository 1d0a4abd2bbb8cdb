// RUN: %tlc-opt %s --split-input-file --simt-record-times="records=8 block=5" | FileCheck %s
// RUN: not %tlc-opt %s --simt-record-times="records=6" 2>&1 | FileCheck %s --check-prefix=RECORDS
// RUN: not %tlc-opt %s --split-input-file --simt-record-times="launch=1" 2>&1 | FileCheck %s --check-prefix=LAUNCH
// RECORDS: expected 'records' to be a power of two up to 65536, but got 6
// LAUNCH: expected 'launch' to be below 1 because the program makes that many launches, but got 1

// Two warps: their headers, and eight records of 16 bytes each.
// CHECK: llvm.mlir.global external @profile$(#llvm.zero) {addr_space = 1 : i32, alignment = 16 : i64} : !llvm.array<320 x i8>
// CHECK-LABEL: simt.kernel @waits
// CHECK-SAME: marks = [#program.mark<mbarrier, "", "{{.*}}record_times.mlir:[[#WAIT:]]:5">, #program.mark<barrier, "", {{.*}}>, #program.mark<wait, "bulk copies", {{.*}}>, #program.mark<loop, "", {{.*}}>]
module attributes {program.target = #program.target<"sm_90a">} {
simt.kernel @waits(%n: i32 {program.parameter = #program.parameter<dimension, 0>})
    attributes {launch = #program.launch<warps = 2>, schema = [#program.dimension<"n">],
      schema_types = [index], grid = [#program.host_expr<"d0">], tensor_maps = []} {
  // CHECK: %[[POSITION:.*]] = llvm.alloca
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %base = simt.shared_base
  // Nothing is recorded before the order among launches is kept.
  // CHECK: simt.sync
  // CHECK-NOT: %clock
  simt.sync %c0
  // CHECK: simt.launch_order
  simt.launch_order
  // CHECK: %[[BLOCK:.*]] = llvm.inline_asm has_side_effects {{.*}}"mov.u32 $0, %ctaid.x;"
  // CHECK: simt.elect
  // CHECK: llvm.store %{{.*}}, %[[POSITION]]
  // CHECK: llvm.inline_asm has_side_effects {{.*}}"mov.u64 $0, %globaltimer;"
  // CHECK-COUNT-2: simt.store {{.*}} if
  scf.for %i = %c0 to %n step %c1 : i32 {
    // An iteration begins.
    // CHECK: scf.for %[[I:.*]] =
    // CHECK-NEXT: %[[NOW:.*]] = llvm.inline_asm has_side_effects {{.*}}"mov.u32 $0, %clock;"
    // CHECK: vector.from_elements %[[NOW]], %[[NOW]], %{{.*}}, %[[I]]
    // CHECK: %[[BEGIN:.*]] = llvm.inline_asm has_side_effects {{.*}}"mov.u32 $0, %clock;"
    // CHECK-NEXT: simt.barrier_wait
    // CHECK-NEXT: %[[END:.*]] = llvm.inline_asm has_side_effects {{.*}}"mov.u32 $0, %clock;"
    // CHECK: %[[AT:.*]] = llvm.load %[[POSITION]]
    // CHECK: %[[ROOM:.*]] = arith.cmpi sge, %[[AT]]
    // CHECK: vector.from_elements %[[BEGIN]], %[[END]]
    // CHECK: simt.store {{.*}} if %[[ROOM]]
    // CHECK: llvm.store %{{.*}}, %[[POSITION]]
    simt.barrier_wait %base parity(%c0)
  }
  // Threads that do not wait record nothing.
  // CHECK: simt.sync %{{.*}} threads 64 arrive
  // CHECK-NOT: %clock
  // CHECK: %[[BEGIN:.*]] = llvm.inline_asm has_side_effects {{.*}}"mov.u32 $0, %clock;"
  // CHECK: simt.sync
  simt.sync %c1 threads 64 arrive
  simt.sync %c1
  simt.bulk_wait 0
  // CHECK: simt.bulk_wait
  // CHECK: llvm.inline_asm has_side_effects {{.*}}"mov.u64 $0, %globaltimer;"
  // CHECK: simt.return
  simt.return
}
}
