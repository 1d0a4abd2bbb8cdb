// RUN: %tlc-opt %s --tile-to-simt -split-input-file | FileCheck %s

// Atomic operations that return the old value.

#own = #tile.layout<"reg() lane(32@0:1) warp(2@0:32)">
module attributes {program.target = #program.target<"sm_90a">} {
// Each thread has an element of its own, inside or not: what is outside was the slice's value.
// CHECK-LABEL: simt.kernel @own(
// CHECK:         %[[OLD:.*]] = scf.if %{{.*}} -> (i32) {
// CHECK-NEXT:      %[[WAS:.*]] = llvm.atomicrmw add %{{.*}}, %{{.*}} syncscope("device") monotonic : !llvm.ptr<1>, i32
// CHECK-NEXT:      scf.yield %[[WAS]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %c-7_i32
// CHECK:         llvm.atomicrmw umin
// CHECK:         llvm.atomicrmw xchg
// CHECK:         %[[BOTH:.*]] = llvm.cmpxchg %{{.*}}, %{{.*}}, %{{.*}} syncscope("device") monotonic monotonic : !llvm.ptr<1>, i32
// CHECK-NEXT:    llvm.extractvalue %[[BOTH]][0]
tile.kernel @own(
    %n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?xi32> {program.argument = #program.tensor<"X", inout, dims[0]>},
    %Y: !tile.global<?xui32> {program.argument = #program.tensor<"Y", inout, dims[0]>}) attributes {launch = #program.launch<warps = 2>} {
  %c0 = arith.constant 0 : index
  %fill = arith.constant -7 : i32
  %one = arith.constant 1 : i32
  %x = tile.splat %one : i32 -> tensor<64xi32, #own>
  %s = tile.slice %X[%c0] fill %fill : i32 : !tile.global<?xi32> -> !tile.slice<64xi32>
  %t = tile.slice %Y[%c0] : !tile.global<?xui32> -> !tile.slice<64xui32>
  %y = tile.load %t : !tile.slice<64xui32> -> tensor<64xui32, #own>
  %a = tile.atomic_fetch combine add %x, %s : tensor<64xi32, #own>, !tile.slice<64xi32>
  %b = tile.atomic_fetch combine min %y, %t : tensor<64xui32, #own>, !tile.slice<64xui32>
  %c = tile.atomic_fetch %a, %s : tensor<64xi32, #own>, !tile.slice<64xi32>
  %d = tile.atomic_fetch %a, %s if %c : tensor<64xi32, #own> : tensor<64xi32, #own>, !tile.slice<64xi32>
  tile.store %b, %t atom simt : tensor<64xui32, #own>, !tile.slice<64xui32>
  tile.store %d, %s atom simt : tensor<64xi32, #own>, !tile.slice<64xi32>
  tile.return
}
}

// -----

#shared = #tile.layout<"reg() lane(8@0:1, 4@*) warp()">
module attributes {program.target = #program.target<"sm_90a">} {
// One of four lanes changes an element; the others get its old value through memory.
// CHECK-LABEL: simt.kernel @shared(
// CHECK:         %[[OWNER:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK:         scf.if %[[OWNER]] -> (i32)
// CHECK-NEXT:      llvm.atomicrmw xchg
// CHECK:         simt.store
// CHECK-NEXT:    simt.sync
// CHECK:         simt.load
tile.kernel @shared(
    %X: !tile.global<8xi32> {program.argument = #program.tensor<"X", inout, dims[-1]>}) attributes {launch = #program.launch<warps = 1, shared_bytes = 32>} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %fetch = tile.alloc_shared "fetch.0" at 0 : !tile.shared<8xi32, #tile.shared_layout<"8 32b axis 0 panel 8 swizzle none pad 0">>
  %x = tile.splat %one : i32 -> tensor<8xi32, #shared>
  %s = tile.slice %X[%c0] : !tile.global<8xi32> -> !tile.slice<8xi32>
  %old = tile.atomic_fetch %x, %s scratch %fetch : !tile.shared<8xi32, #tile.shared_layout<"8 32b axis 0 panel 8 swizzle none pad 0">> : tensor<8xi32, #shared>, !tile.slice<8xi32>
  tile.store %old, %s atom simt : tensor<8xi32, #shared>, !tile.slice<8xi32>
  tile.return
}
}
