// RUN: %tlc-opt %s -tile-to-simt | FileCheck %s
// RUN: %tlc-opt %s -tile-to-simt -simt-to-nvvm | FileCheck %s --check-prefix=LLVM

module attributes {program.target = #program.target<"sm_90a">} {

// All threads meet; one of them counts, or waits, and then all meet again.
// CHECK-LABEL: simt.kernel @counts(
// CHECK:         simt.sync
// CHECK-NEXT:    arith.cmpi
// CHECK-NEXT:    scf.if
// CHECK:           simt.elect
// CHECK:             %[[NUMBER:.*]] = llvm.inline_asm has_side_effects {{.*}}"atom.acq_rel.gpu.global.add.u32 $0, [$1], 1;"
// CHECK:             simt.store %[[NUMBER]]
// CHECK:         simt.elect
// CHECK:           scf.while
// CHECK-NEXT:        %[[COUNT:.*]] = llvm.load {{.*}} atomic syncscope("device") acquire
// CHECK-NEXT:        %[[LESS:.*]] = arith.cmpi slt, %[[COUNT]]
// CHECK-NEXT:        scf.condition(%[[LESS]])
// CHECK:         simt.sync
// CHECK:         simt.sync
// CHECK:         simt.elect
// CHECK:           llvm.inline_asm has_side_effects {{.*}}"red.release.gpu.global.add.u32 [$0], $1;"
// LLVM-LABEL: llvm.func @counts(
// LLVM:         llvm.load {{.*}} atomic syncscope("device") acquire {alignment = 4 : i64}
tile.kernel @counts(%n: index {program.argument = #program.dimension<"n">},
    %C: !tile.global<?xi32> {program.argument = #program.tensor<"C", inout, dims[0]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = tile.alloc_shared "taken" at 0 : !tile.shared<1xi32, #tile.shared_layout<"1 32b axis 0 panel 1 swizzle none pad 0">>
  %started = tile.slice %C[%c0] unchecked "it is there" : !tile.global<?xi32> -> !tile.slice<1xi32>
  %done = tile.slice %C[%c1] unchecked "it is there" : !tile.global<?xi32> -> !tile.slice<1xi32>
  tile.take %started, %tile[%c0] : !tile.slice<1xi32>, !tile.shared<1xi32, #tile.shared_layout<"1 32b axis 0 panel 1 swizzle none pad 0">>
  tile.wait_for %done at_least %n : !tile.slice<1xi32>
  tile.announce %done by %c0 : !tile.slice<1xi32>
  tile.return
}

// Outside of the tensor nothing is counted, and the number is 0.
// CHECK-LABEL: simt.kernel @outside(
// CHECK:         simt.elect
// CHECK:           scf.if
// CHECK:             atom.acq_rel
// CHECK:           } else {
// CHECK:             simt.store %c0_i32
tile.kernel @outside(%n: index {program.argument = #program.dimension<"n">},
    %C: !tile.global<?xi32> {program.argument = #program.tensor<"C", inout, dims[0]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %tile = tile.alloc_shared "taken" at 0 : !tile.shared<1xi32, #tile.shared_layout<"1 32b axis 0 panel 1 swizzle none pad 0">>
  %count = tile.slice %C[%c0] : !tile.global<?xi32> -> !tile.slice<1xi32>
  tile.take %count, %tile[%c0] : !tile.slice<1xi32>, !tile.shared<1xi32, #tile.shared_layout<"1 32b axis 0 panel 1 swizzle none pad 0">>
  tile.return
}

}
