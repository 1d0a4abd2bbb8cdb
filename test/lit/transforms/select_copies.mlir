// RUN: split-file %s %t
// RUN: %tile-opt %t/best.mlir --tile-select-products --tile-assign-roles --tile-select-copies -split-input-file -verify-diagnostics | FileCheck %t/best.mlir
// RUN: %tile-opt %t/best.mlir --tile-select-products=wgmma=false --tile-assign-roles --tile-select-copies -split-input-file 2> %t/no-wgmma.txt | FileCheck %t/best.mlir --check-prefix=NO-WGMMA
// RUN: FileCheck %t/best.mlir --check-prefix=NO-WGMMA-REMARK --input-file=%t/no-wgmma.txt
// RUN: %tile-opt %t/best.mlir --tile-select-products --tile-assign-roles=tma=false --tile-select-copies=tma=false -split-input-file 2> %t/no-tma.txt | FileCheck %t/best.mlir --check-prefix=NO-TMA
// RUN: FileCheck %t/best.mlir --check-prefix=NO-TMA-REMARK --input-file=%t/no-tma.txt
// RUN: %tile-opt %t/missed.mlir --tile-select-products --tile-assign-roles --tile-select-copies -split-input-file -verify-diagnostics | FileCheck %t/missed.mlir
// RUN: %tile-opt %t/roles.mlir --tile-select-products --tile-assign-roles --tile-select-copies -split-input-file -verify-diagnostics | FileCheck %t/roles.mlir
// RUN: %tile-opt %t/errors.mlir --tile-select-products --tile-assign-roles --tile-select-copies -split-input-file -verify-diagnostics

//--- best.mlir

// Everything fits: two warpgroups for 128 rows, wgmma, the TMA both ways; the store gets two of its four panels per
// warpgroup as staging, as many as fit beside four stages. No remark.
// CHECK-LABEL: tile.kernel @gemm(
// CHECK-SAME:    warps = 8
// CHECK:       %[[STAGING:.*]] = tile.alloc_shared "C.staging" : !tile.shared<2x2x64x64xbf16>
// CHECK-COUNT-2: tile.copy {{.*}} atom tma
// CHECK:       tile.gemm {{.*}} atom wgmma
// CHECK:       tile.store %{{.*}} staging %[[STAGING]] : {{.*}} atom tma

// Without wgmma the kernel is not specialised, so that no copy goes through the TMA either.
// NO-WGMMA-REMARK: remark: [gemm-without-wgmma] product uses mma.sync, not wgmma: wgmma is switched off
// NO-WGMMA-REMARK: remark: [copy-without-tma] threads make this copy, not the TMA: the product of 'a' and 'b' uses mma.sync, and a role loads ahead only of wgmma unless k.loadRole() asks for it ({{.*}}best.mlir:{{[0-9]+}}:12)
// NO-WGMMA-LABEL: tile.kernel @gemm(
// NO-WGMMA-SAME:    warps = 8
// NO-WGMMA-NOT:   C.staging
// NO-WGMMA-COUNT-2: tile.copy {{.*}} atom cp_async {tile.channel = "a.b", tile.role = "all"}
// NO-WGMMA:       tile.gemm {{.*}} atom mma_sync
// NO-WGMMA:       tile.store {{.*}} atom simt
// NO-WGMMA-LABEL: tile.kernel @three_warpgroups(

// NO-TMA-REMARK: remark: [copy-without-tma] threads make this copy, not the TMA: the TMA is switched off
// NO-TMA-LABEL: tile.kernel @gemm(
// NO-TMA-NOT:   C.staging
// NO-TMA-COUNT-2: tile.copy {{.*}} atom cp_async {tile.channel = "a.b", tile.role = "load"}
// NO-TMA:       tile.gemm {{.*}} atom wgmma
// NO-TMA:       tile.store {{.*}} atom simt
// NO-TMA-LABEL: tile.kernel @three_warpgroups(
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @gemm(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<128x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 16>},
    %B: !tile.global<256x?xbf16> {program.argument = #program.tensor<"B", input, dims[-1, 0], alignment = 16>},
    %C: !tile.global<128x256xbf16> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<256x64xbf16>
  %bt = tile.transpose %b : !tile.shared<256x64xbf16> -> !tile.shared<64x256xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<128x256xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x256xf32>) {
    %sa = tile.slice %A[%c0, %kk] : !tile.global<128x?xbf16> -> !tile.slice<128x64xbf16>
    tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
    %sb = tile.slice %B[%c0, %kk] : !tile.global<256x?xbf16> -> !tile.slice<256x64xbf16>
    tile.copy %sb, %b : !tile.slice<256x64xbf16>, !tile.shared<256x64xbf16>
    %new = tile.gemm %a, %bt, %acc : !tile.shared<128x64xbf16>, !tile.shared<64x256xbf16, transposed>, tensor<128x256xf32>
    scf.yield %new : tensor<128x256xf32>
  } {tile.pipeline = #tile.pipeline<stages = 4>}
  %h = tile.convert %sum : tensor<128x256xf32> to tensor<128x256xbf16>
  %sc = tile.slice %C[%c0, %c0] : !tile.global<128x256xbf16> -> !tile.slice<128x256xbf16>
  tile.store %h, %sc : tensor<128x256xbf16>, !tile.slice<128x256xbf16>
  tile.return
}
}

// -----

// 192 rows are three warpgroups; factors from registers fit, too; a fill of zero is what the TMA does, and an
// f32 tile is stored by ordinary stores without a remark.
// CHECK-LABEL: tile.kernel @three_warpgroups(
// CHECK-SAME:    warps = 12
// CHECK:       tile.copy {{.*}} atom tma
// CHECK:       tile.gemm {{.*}} atom wgmma
// CHECK:       tile.store {{.*}} atom simt
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @three_warpgroups(%A: !tile.global<192x64xbf16> {program.argument = #program.tensor<"A", input, dims[-1, -1], alignment = 16>},
    %B: !tile.global<64x128xbf16> {program.argument = #program.tensor<"B", input, dims[-1, -1], alignment = 16>},
    %C: !tile.global<192x128xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<192x128xf32>
  %sa = tile.slice %A[%c0, %c0] : !tile.global<192x64xbf16> -> !tile.slice<192x64xbf16>
  %a = tile.load %sa : !tile.slice<192x64xbf16> -> tensor<192x64xbf16>
  %sum = scf.for %i = %c0 to %c1 step %c1 iter_args(%acc = %zero) -> (tensor<192x128xf32>) {
    %sb = tile.slice %B[%c0, %c0] fill %h0 : bf16 : !tile.global<64x128xbf16> -> !tile.slice<64x128xbf16>
    tile.copy %sb, %b : !tile.slice<64x128xbf16>, !tile.shared<64x128xbf16>
    %new = tile.gemm %a, %b, %acc : tensor<192x64xbf16>, !tile.shared<64x128xbf16>, tensor<192x128xf32>
    scf.yield %new : tensor<192x128xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %sc = tile.slice %C[%c0, %c0] : !tile.global<192x128xf32> -> !tile.slice<192x128xf32>
  tile.store %sum, %sc : tensor<192x128xf32>, !tile.slice<192x128xf32>
  tile.return
}
}

// -----

// mma.sync and ordinary loads are the best that this target has: no remark. 32 rows are two warps' work.
// CHECK-LABEL: tile.kernel @ampere(
// CHECK-SAME:    warps = 2
// CHECK:       tile.copy {{.*}} atom simt
// CHECK:       tile.gemm {{.*}} atom mma_sync
module attributes {program.target = #program.target<"sm_80">} {
tile.kernel @ampere(%B: !tile.global<32x64xbf16> {program.argument = #program.tensor<"B", input, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<32x32xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<32x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<32x64xf32>
  %sb = tile.slice %B[%c0, %c0] : !tile.global<32x64xbf16> -> !tile.slice<32x64xbf16>
  tile.copy %sb, %b : !tile.slice<32x64xbf16>, !tile.shared<32x64xbf16>
  %new = tile.gemm %a, %b, %zero : !tile.shared<32x32xbf16>, !tile.shared<32x64xbf16>, tensor<32x64xf32>
  tile.return
}
}

// -----

// The TMA loads; copies the other way, and between buffers, are not its subject: no remark, whatever is required.
// CHECK-LABEL: tile.kernel @other_copies(
// CHECK-SAME:    warps = 4
// CHECK:       tile.copy {{.*}} atom simt
// CHECK:       tile.copy {{.*}} atom simt
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @other_copies(%O: !tile.global<64x64xbf16> {program.argument = #program.tensor<"O", output, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  tile.require tma
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.copy %a, %b : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>
  %o = tile.slice %O[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.copy %b, %o : !tile.shared<64x64xbf16>, !tile.slice<64x64xbf16>
  tile.return
}
}

// -----

// A limit along rows is the TMA's, too, for loads and stores.
// CHECK-LABEL: tile.kernel @limited(
// CHECK:       tile.copy {{.*}} atom tma
// CHECK:       tile.store {{.*}} staging {{.*}} atom tma
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @limited(%m: index {program.argument = #program.dimension<"m">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>},
    %C: !tile.global<?x64xbf16> {program.argument = #program.tensor<"C", output, dims[0, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %i = %c0 to %m step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %sa = tile.slice %A[%i, %c0] limit %i along 0 : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sa, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %new = tile.gemm %a, %a, %acc : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %h = tile.convert %sum : tensor<64x64xf32> to tensor<64x64xbf16>
  %sc = tile.slice %C[%c0, %c0] limit %m along 0 : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
  tile.store %h, %sc : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
  tile.return
}
}

//--- missed.mlir

// Each reason against wgmma. Its neighbours use it all the same.
// CHECK-LABEL: tile.kernel @shapes(
// CHECK-SAME:    warps = 4
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @shapes() {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x12xbf16>
  %c = tile.alloc_shared "c" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x12xf32>
  %zero64 = tile.splat %f0 : f32 -> tensor<64x64xf32>
  // CHECK: tile.gemm {{.*}} atom fma
  // expected-remark @below {{[gemm-without-wgmma] product uses multiply-add of single elements, not wgmma: n = 12 is not a multiple of 8; not mma.sync: 64x12x64 is not a multiple of 16x8x16}}
  %0 = tile.gemm %a, %b, %zero : !tile.shared<64x64xbf16>, !tile.shared<64x12xbf16>, tensor<64x12xf32>
  // CHECK: tile.gemm {{.*}} atom wgmma
  %1 = tile.gemm %a, %c, %zero64 : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  tile.return
}

// 16 rows are one warp's work.
// CHECK-LABEL: tile.kernel @rows(
// CHECK-SAME:    warps = 1
tile.kernel @rows() {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<16x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<16x64xf32>
  // CHECK: tile.gemm {{.*}} atom mma_sync
  // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not wgmma: m = 16 is not a multiple of 64}}
  %0 = tile.gemm %a, %b, %zero : !tile.shared<16x64xbf16>, !tile.shared<64x64xbf16>, tensor<16x64xf32>
  tile.return
}

// CHECK-LABEL: tile.kernel @reduction_extent(
tile.kernel @reduction_extent() {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x24xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<24x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  // CHECK: tile.gemm {{.*}} atom fma
  // expected-remark @below {{[gemm-without-wgmma] product uses multiply-add of single elements, not wgmma: k = 24 is not a multiple of 16; not mma.sync: 64x64x24 is not a multiple of 16x8x16}}
  %0 = tile.gemm %a, %b, %zero : !tile.shared<64x24xbf16>, !tile.shared<24x64xbf16>, tensor<64x64xf32>
  tile.return
}

// The author's number of warps stays.
// CHECK-LABEL: tile.kernel @warps(
// CHECK-SAME:    warps = 6
tile.kernel @warps() attributes {launch = #program.launch<warps = 6>} {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<96x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<96x64xf32>
  // CHECK: tile.gemm {{.*}} atom mma_sync
  // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not wgmma: 6 warps are not whole warpgroups}}
  %0 = tile.gemm %a, %b, %zero : !tile.shared<96x64xbf16>, !tile.shared<64x64xbf16>, tensor<96x64xf32>
  tile.return
}

// Warpgroups that cannot share rows share columns, without being asked.
// CHECK-LABEL: tile.kernel @too_many_warpgroups(
// CHECK-SAME:    warps = 8
tile.kernel @too_many_warpgroups() attributes {launch = #program.launch<warps = 8>} {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  // CHECK: tile.gemm {{.*}} policy full_col atom wgmma
  %0 = tile.gemm %a, %b, %zero : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  // CHECK: tile.gemm_async {{.*}} policy full_col atom wgmma
  %1 = tile.gemm_async %a, %b, %zero : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  %2 = tile.gemm_wait %1 pending(0) : tensor<64x64xf32>
  // Neither divides.
  %c = tile.alloc_shared "c" : !tile.shared<64x72xbf16>
  %wide = tile.splat %f0 : f32 -> tensor<64x72xf32>
  // CHECK: tile.gemm {{.*}} atom fma
  // expected-remark @below {{[gemm-without-wgmma] product uses multiply-add of single elements, not wgmma: 64x72 does not divide among 2 warpgroups; not mma.sync: 64x72 does not divide among 8 warps}}
  %3 = tile.gemm %a, %c, %wide : !tile.shared<64x64xbf16>, !tile.shared<64x72xbf16>, tensor<64x72xf32>
  tile.return
}

// A factor that runs along n lies in panels of 16 columns here, and a descriptor steps from panel to panel.
// CHECK-LABEL: tile.kernel @part_of_panels(
tile.kernel @part_of_panels() attributes {launch = #program.launch<warps = 8>} {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x80xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x80xf32>
  // CHECK: tile.gemm {{.*}} policy full_col atom fma
  // expected-remark @below {{[gemm-without-wgmma] product uses multiply-add of single elements, not wgmma: a warpgroup's 40 columns end within a panel of 16; k.warps(4) would do; not mma.sync: 64x80 does not divide among 8 warps}}
  %0 = tile.gemm %a, %b, %zero policy full_col : !tile.shared<64x64xbf16>, !tile.shared<64x80xbf16>, tensor<64x80xf32>
  tile.return
}

// The compiler's number of warps suits the first product; the second one's columns are shared.
// CHECK-LABEL: tile.kernel @no_share(
tile.kernel @no_share() {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x256xbf16>
  %ds = tile.alloc_shared "ds" : !tile.shared<64x64xbf16>
  %k = tile.alloc_shared "k" : !tile.shared<64x128xbf16>
  %large = tile.splat %f0 : f32 -> tensor<128x256xf32>
  %dq = tile.splat %f0 : f32 -> tensor<64x128xf32>
  // CHECK: tile.gemm {{.*}} atom wgmma
  %0 = tile.gemm %a, %b, %large : !tile.shared<128x64xbf16>, !tile.shared<64x256xbf16>, tensor<128x256xf32>
  // CHECK: tile.gemm {{.*}} policy full_col atom wgmma
  %1 = tile.gemm %ds, %k, %dq : !tile.shared<64x64xbf16>, !tile.shared<64x128xbf16>, tensor<64x128xf32>
  tile.return
}

// A number of warps that suits wgmma, but for which the other product has no matrix instruction at all, suits nobody.
// CHECK-LABEL: tile.kernel @few_rows(
// CHECK-SAME:    warps = 2
tile.kernel @few_rows() {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %c = tile.alloc_shared "c" : !tile.shared<32x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %few = tile.splat %f0 : f32 -> tensor<32x64xf32>
  // CHECK: tile.gemm {{.*}} atom mma_sync
  // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not wgmma: 2 warps are not whole warpgroups}}
  %0 = tile.gemm %a, %b, %zero policy full_row : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  // CHECK: tile.gemm {{.*}} atom mma_sync
  // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not wgmma: m = 32 is not a multiple of 64}}
  %1 = tile.gemm %c, %b, %few policy full_row : !tile.shared<32x64xbf16>, !tile.shared<64x64xbf16>, tensor<32x64xf32>
  tile.return
}

// Multiply-adds of single elements find a factor that is in registers in shared memory.
// CHECK-LABEL: tile.kernel @staged_factor(
// CHECK:       %[[STAGING:.*]] = tile.alloc_shared "factor.staging" : !tile.shared<12x64xbf16>
tile.kernel @staged_factor() {
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.splat %h0 : bf16 -> tensor<12x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<12x64xf32>
  // CHECK:      tile.store %{{.*}}, %[[STAGING]] atom simt
  // CHECK-NEXT: tile.gemm %[[STAGING]], %{{.*}} atom fma
  // expected-remark @below {{[gemm-without-wgmma] product uses multiply-add of single elements, not wgmma: m = 12 is not a multiple of 64; not mma.sync: 12x64x64 is not a multiple of 16x8x16; the left factor is copied through shared memory}}
  %0 = tile.gemm %a, %b, %zero : tensor<12x64xbf16>, !tile.shared<64x64xbf16>, tensor<12x64xf32>
  tile.return
}

// mma.sync takes it from registers.
// CHECK-LABEL: tile.kernel @register_factor(
// CHECK-NOT:   factor.staging
tile.kernel @register_factor() {
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.splat %h0 : bf16 -> tensor<16x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<16x64xf32>
  // CHECK: tile.gemm {{.*}} atom mma_sync
  // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not wgmma: m = 16 is not a multiple of 64}}
  %0 = tile.gemm %a, %b, %zero : tensor<16x64xbf16>, !tile.shared<64x64xbf16>, tensor<16x64xf32>
  tile.return
}

// Rows of 24 bytes fill no swizzle span, so that wgmma cannot read the operand.
// CHECK-LABEL: tile.kernel @operand(
tile.kernel @operand() {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x24xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x24xf32>
  // CHECK: tile.gemm {{.*}} atom mma_sync
  // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not wgmma: expected panels of 8 elements because wgmma reads 16 bytes per row of an atom with swizzle none, but got 24}}
  %0 = tile.gemm %a, %b, %zero : !tile.shared<64x64xbf16>, !tile.shared<64x24xbf16>, tensor<64x24xf32>
  tile.return
}
}

// -----

// Blackwell has no wgmma: mma.sync is the best here, and copies are not specialised.
module attributes {program.target = #program.target<"sm_100a">} {
// CHECK-LABEL: tile.kernel @blackwell(
tile.kernel @blackwell(%B: !tile.global<64x64xbf16> {program.argument = #program.tensor<"B", input, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<32x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<32x64xf32>
  %sb = tile.slice %B[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  // expected-remark @below {{[copy-without-tma] threads make this copy, not the TMA: no loop of the kernel is pipelined, and a role loads ahead only in pipelined loops}}
  tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
  // CHECK: tile.gemm {{.*}} atom mma_sync
  // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not tcgen05: m = 32 is not 64 or 128}}
  %0 = tile.gemm %a, %b, %zero : !tile.shared<32x64xbf16>, !tile.shared<64x64xbf16>, tensor<32x64xf32>
  tile.return
}
}

// -----

// A pipelined loop does not help where its products are not wgmma,
module attributes {program.target = #program.target<"sm_100a">} {
// CHECK-LABEL: tile.kernel @blackwell_loop(
tile.kernel @blackwell_loop(%B: !tile.global<64x64xbf16> {program.argument = #program.tensor<"B", input, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<32x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<32x64xf32>
  %sum = scf.for %i = %c0 to %c1 step %c1 iter_args(%acc = %zero) -> (tensor<32x64xf32>) {
    %s = tile.slice %B[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark-re @below {{[copy-without-tma] threads make this copy, not the TMA: the product of 'a' and 'b' uses mma.sync, and a role loads ahead only of tcgen05.mma unless k.loadRole() asks for it ({{.*}}missed.mlir:{{[0-9]+}}:12)}}
    tile.copy %s, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    // expected-remark @+2 {{[gemm-without-wgmma] product uses mma.sync, not tcgen05: m = 32 is not 64 or 128}}
    // expected-remark @below {{[not-warp-specialised] kernel 'blackwell_loop' is not warp-specialised: the product of 'a' and 'b' uses mma.sync, and a role loads ahead only of tcgen05.mma}}
    %new = tile.gemm %a, %b, %acc : !tile.shared<32x64xbf16>, !tile.shared<64x64xbf16>, tensor<32x64xf32>
    scf.yield %new : tensor<32x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// nor where there is no product.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @no_product(
// CHECK:         tile.copy {{.*}} atom cp_async
tile.kernel @no_product(%B: !tile.global<64x64xbf16> {program.argument = #program.tensor<"B", input, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  // expected-remark @below {{[not-warp-specialised] kernel 'no_product' is not warp-specialised: the kernel has no product, and a role loads ahead only of products by wgmma}}
  scf.for %i = %c0 to %c1 step %c1 {
    %s = tile.slice %B[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark-re @below {{[copy-without-tma] threads make this copy, not the TMA: the kernel has no product, and a role loads ahead only of products by wgmma unless k.loadRole() asks for it ({{.*}}missed.mlir:{{[0-9]+}}:3)}}
    tile.copy %s, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %b : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// A shared tile that leaves for a tensor takes nothing from those that come: the warps that compute store it.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @copy_out(
// CHECK:         tile.copy {{.*}} atom tma
// CHECK:         tile.copy {{.*}} atom simt
tile.kernel @copy_out(%B: !tile.global<64x64xbf16> {program.argument = #program.tensor<"B", input, dims[-1, -1], alignment = 16>},
    %Y: !tile.global<64x64xbf16> {program.argument = #program.tensor<"Y", output, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %c = tile.alloc_shared "c" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %i = %c0 to %c1 step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %s = tile.slice %B[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %s, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %new = tile.gemm %b, %b, %acc : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %y = tile.slice %Y[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.copy %c, %y : !tile.shared<64x64xbf16>, !tile.slice<64x64xbf16>
  tile.return
}
}

// -----

// Rows that the TMA cannot write leave through panels as well, from which the threads write them, where the fragment is an
// accumulator; of another shape it stays where it is.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @unaligned_rows(
// CHECK:         %[[STAGING:.*]] = tile.alloc_shared "Y.staging" : !tile.shared<1x1x64x64xbf16>
// CHECK-NOT:     staging"
// CHECK:         tile.store %{{.*}} staging %[[STAGING]] : {{.*}} atom simt
// CHECK:         tile.store %{{[^ ]*}}, %{{[^ ]*}} atom simt
tile.kernel @unaligned_rows(%B: !tile.global<64x64xbf16> {program.argument = #program.tensor<"B", input, dims[-1, -1], alignment = 16>},
    %Y: !tile.global<64x65xbf16> {program.argument = #program.tensor<"Y", output, dims[-1, -1], alignment = 2>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %i = %c0 to %c1 step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %s = tile.slice %B[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %s, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %new = tile.gemm %b, %b, %acc : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %h = tile.convert %sum : tensor<64x64xf32> to tensor<64x64xbf16>
  %y = tile.slice %Y[%c0, %c0] : !tile.global<64x65xbf16> -> !tile.slice<64x64xbf16>
  tile.store %h, %y : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
  %other = arith.constant dense<0.0> : tensor<64x128xbf16>
  %z = tile.slice %Y[%c0, %c0] : !tile.global<64x65xbf16> -> !tile.slice<64x128xbf16>
  tile.store %other, %z : tensor<64x128xbf16>, !tile.slice<64x128xbf16>
  tile.return
}
}

// -----

// Panels of threads take what those of the TMA leave, and not the memory of a tensor in another order, or of another
// role than the product's.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @order_of_stores(
// CHECK-DAG:     %[[Z:.*]] = tile.alloc_shared "Z.staging" : !tile.shared<1x1x64x64xbf16>
// CHECK-DAG:     %[[Y:.*]] = tile.alloc_shared "Y.staging" : !tile.shared<1x1x64x64xbf16>
// CHECK-NOT:     staging"
// CHECK:         tile.store %{{.*}} staging %[[Y]] : {{.*}} atom simt
// CHECK:         tile.store %{{.*}} staging %[[Z]] : {{.*}} atom tma
// CHECK:         tile.store %{{[^ ]*}}, %{{[^ ]*}} atom simt
tile.kernel @order_of_stores(%B: !tile.global<64x64xbf16> {program.argument = #program.tensor<"B", input, dims[-1, -1], alignment = 16>},
    %Y: !tile.global<64x65xbf16> {program.argument = #program.tensor<"Y", output, dims[-1, -1], alignment = 2>},
    %Z: !tile.global<64x64xbf16> {program.argument = #program.tensor<"Z", output, dims[-1, -1], alignment = 16>},
    %W: !tile.global<64x64xbf16> {program.argument = #program.tensor<"W", workspace, dims[-1, -1], order = accumulator>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %i = %c0 to %c1 step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %s = tile.slice %B[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %s, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %new = tile.gemm %b, %b, %acc : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %h = tile.convert %sum : tensor<64x64xf32> to tensor<64x64xbf16>
  %y = tile.slice %Y[%c0, %c0] : !tile.global<64x65xbf16> -> !tile.slice<64x64xbf16>
  tile.store %h, %y : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
  %z = tile.slice %Z[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.store %h, %z : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
  %w = tile.slice %W[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.store %h, %w : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
  tile.return
}
}

// -----

// Each reason against the TMA, which takes the other copies all the same.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @copies(
// CHECK-COUNT-1: tile.copy {{.*}} atom tma
// CHECK-COUNT-9: tile.copy {{.*}} atom simt
tile.kernel @copies(
    %Good: !tile.global<64x64xbf16> {program.argument = #program.tensor<"Good", input, dims[-1, -1], alignment = 16>},
    %Loose: !tile.global<64x64xbf16> {program.argument = #program.tensor<"Loose", input, dims[-1, -1], alignment = 8>},
    %Deep: !tile.global<1x1x1x1x64x64xbf16> {program.argument = #program.tensor<"Deep", input, dims[-1, -1, -1, -1, -1, -1], alignment = 16>},
    %Five: !tile.global<1x1x1x64x64xbf16> {program.argument = #program.tensor<"Five", input, dims[-1, -1, -1, -1, -1], alignment = 16>},
    %Apart: !tile.global<64x64xbf16> {program.argument = #program.tensor<"Apart", input, dims[-1, -1], alignment = 16, strided = true>},
    %Turned: !tile.global<64x64x1xbf16> {program.argument = #program.tensor<"Turned", input, dims[-1, -1, -1], alignment = 16>},
    %O: !tile.global<64x64xbf16> {program.argument = #program.tensor<"O", output, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h1 = arith.constant 1.0 : bf16
  %good = tile.alloc_shared "good" : !tile.shared<64x64xbf16>
  %loose = tile.alloc_shared "loose" : !tile.shared<64x64xbf16>
  %ones = tile.alloc_shared "ones" : !tile.shared<64x64xbf16>
  %deep = tile.alloc_shared "deep" : !tile.shared<64x64xbf16>
  %turned = tile.alloc_shared "turned" : !tile.shared<64x64xbf16>
  %narrow = tile.alloc_shared "narrow" : !tile.shared<64x4xbf16>
  %shifted = tile.alloc_shared "shifted" : !tile.shared<64x64xbf16>
  %columns = tile.alloc_shared "columns" : !tile.shared<64x64xbf16>
  %five = tile.alloc_shared "five" : !tile.shared<64x64xbf16>
  %apart = tile.alloc_shared "apart" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %i = %c0 to %c1 step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %0 = tile.slice %Good[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %0, %good : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %1 = tile.slice %Loose[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark @below {{[copy-without-tma] threads make this copy, not the TMA: 'Loose' is not known to be aligned to 16 bytes}}
    tile.copy %1, %loose : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %2 = tile.slice %Good[%c0, %c0] fill %h1 : bf16 : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark @below {{[copy-without-tma] threads make this copy, not the TMA: the TMA fills with zeros only}}
    tile.copy %2, %ones : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %3 = tile.slice %Deep[%c0, %c0, %c0, %c0, %c0, %c0] : !tile.global<1x1x1x1x64x64xbf16> -> !tile.slice<1x1x1x1x64x64xbf16>
    // expected-remark @below {{[copy-without-tma] threads make this copy, not the TMA: 'Deep' has more than 5 axes}}
    tile.copy %3, %deep : !tile.slice<1x1x1x1x64x64xbf16>, !tile.shared<64x64xbf16>
    %4 = tile.slice %Turned[%c0, %c0, %c0] : !tile.global<64x64x1xbf16> -> !tile.slice<64x64x1xbf16>
    // expected-remark @below {{[copy-without-tma] threads make this copy, not the TMA: the tile's rows do not run along the last axis of 'Turned'}}
    tile.copy %4, %turned : !tile.slice<64x64x1xbf16>, !tile.shared<64x64xbf16>
    %5 = tile.slice %Good[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x4xbf16>
    // expected-remark @below {{[copy-without-tma] threads make this copy, not the TMA: expected rows of a multiple of 16 bytes because TMA moves no less, but got 4 elements of 16 bits}}
    tile.copy %5, %narrow : !tile.slice<64x4xbf16>, !tile.shared<64x4xbf16>
    %6 = tile.slice %Good[%c0, %i] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark @below {{[copy-without-tma] threads make this copy, not the TMA: the slice of 'Good' is not known to begin at a multiple of 8 elements along its last axis}}
    tile.copy %6, %shifted : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %7 = tile.slice %Good[%c0, %c0] limit %i along 1 : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark @below {{[copy-without-tma] threads make this copy, not the TMA: the limit is along the last axis of 'Good', whose elements are adjacent}}
    tile.copy %7, %columns : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %8 = tile.slice %Five[%c0, %c0, %c0, %c0, %c0] limit %i along 3 : !tile.global<1x1x1x64x64xbf16> -> !tile.slice<1x1x1x64x64xbf16>
    // expected-remark @below {{[copy-without-tma] threads make this copy, not the TMA: 'Five' has 5 axes, and a limit takes one more of the TMA's 5}}
    tile.copy %8, %five : !tile.slice<1x1x1x64x64xbf16>, !tile.shared<64x64xbf16>
    %9 = tile.slice %Apart[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark @below {{[copy-without-tma] threads make this copy, not the TMA: the last stride of 'Apart' may be any}}
    tile.copy %9, %apart : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    // CHECK: tile.gemm {{.*}} atom wgmma
    %new = tile.gemm %good, %good, %acc : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %h = tile.convert %sum : tensor<64x64xf32> to tensor<64x64xbf16>
  %o = tile.slice %O[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  // A store is not required to go through the TMA: no remark.
  tile.store %h, %o : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
  tile.return
}
}

// -----

// Blocks of a cluster load a tile together by the TMA alone: one that it cannot load, the threads of each block do.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @alone_in_cluster(
// CHECK:         tile.copy {{.*}} atom cp_async {tile.channel = "a.b", tile.role = "load"}
// CHECK:         tile.copy {{.*}} atom tma {tile.channel = "a.b", tile.multicast, tile.role = "load"}
tile.kernel @alone_in_cluster(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0], alignment = 8>},
    %B: !tile.global<?x64xbf16> {program.argument = #program.tensor<"B", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<cluster = 2>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %sa = tile.slice %A[%c0, %kk] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark @below {{[copy-without-tma] threads make this copy, not the TMA: 'A' is not known to be aligned to 16 bytes}}
    tile.copy %sa, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %sb = tile.slice %B[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %new = tile.gemm %a, %b, %acc : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    scf.yield %new : tensor<64x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

//--- roles.mlir

// The explicit form: the roles' warps add up, products and stores go by the warps of their own role.
// CHECK-LABEL: tile.kernel @explicit(
// CHECK-SAME:    warps = 9
// CHECK:       tile.alloc_shared "O.staging" : !tile.shared<1x1x64x64xbf16>
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @explicit(%B: !tile.global<64x64xbf16> {program.argument = #program.tensor<"B", input, dims[-1, -1], alignment = 16>},
    %O: !tile.global<64x64xbf16> {program.argument = #program.tensor<"O", output, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      // CHECK: tile.gemm_async {{.*}} atom wgmma
      %f = tile.gemm_async %a, %b, %zero : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      %sum = tile.gemm_wait %f pending(0) : tensor<64x64xf32>
      %h = tile.convert %sum : tensor<64x64xf32> to tensor<64x64xbf16>
      %o = tile.slice %O[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
      // CHECK: tile.store {{.*}} atom tma
      tile.store %h, %o : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
    }
    tile.role "more" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      // CHECK: tile.gemm {{.*}} atom wgmma
      %sum = tile.gemm %a, %b, %zero : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    }
    tile.role "load" warps(1) {
      %sb = tile.slice %B[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
      // CHECK: tile.copy {{.*}} atom simt
      // expected-remark @below {{[copy-without-tma] threads make this copy, not the TMA: in a role the TMA makes the copies in a put into a channel, if their bytes do not depend on the device}}
      tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    }
  }
  tile.return
}
}

// -----

// Where the roles' buffers leave no memory for it, a store does without.
// CHECK-LABEL: tile.kernel @no_room(
// CHECK-NOT:   O.staging
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @no_room(
    %O: !tile.global<64x64xbf16> {program.argument = #program.tensor<"O", output, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x1664xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<1664x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %f = tile.gemm_async %a, %b, %zero : !tile.shared<64x1664xbf16>, !tile.shared<1664x64xbf16>, tensor<64x64xf32>
      %sum = tile.gemm_wait %f pending(0) : tensor<64x64xf32>
      %h = tile.convert %sum : tensor<64x64xf32> to tensor<64x64xbf16>
      %o = tile.slice %O[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
      // CHECK: tile.store {{.*}} atom simt
      // expected-remark @below {{[store-without-tma] store uses ordinary stores, not the TMA: the TMA needs 8192 bytes of shared memory, but the roles' buffers leave 0}}
      tile.store %h, %o : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
    }
  }
  tile.return
}
}

// -----

// A role of two warps takes mma.sync; the asynchronous product of its neighbour is wgmma nevertheless.
// CHECK-LABEL: tile.kernel @small_role(
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @small_role() {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "small" warps(2) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      // CHECK: tile.gemm {{.*}} atom mma_sync
      // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not wgmma: 2 warps are not whole warpgroups; .warps = 4 of the role would do}}
      %sum = tile.gemm %a, %b, %zero : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    }
    tile.role "large" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      // CHECK: tile.gemm_async {{.*}} atom wgmma
      %f = tile.gemm_async %a, %b, %zero : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      %sum = tile.gemm_wait %f pending(0) : tensor<64x64xf32>
    }
  }
  tile.return
}
}

//--- errors.mlir

// expected-error @below {{the module has no 'program.target'}}
tile.kernel @no_target() {
  tile.return
}

// -----

// What the author requires is an error where it is missed, with the place of the demand.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @require_wgmma() {
  %f0 = arith.constant 0.0 : f32
  // expected-note @below {{required here}}
  tile.require wgmma
  %a = tile.alloc_shared "a" : !tile.shared<48x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<48x64xf32>
  // expected-error @below {{product uses mma.sync, not wgmma: m = 48 is not a multiple of 64}}
  %0 = tile.gemm %a, %b, %zero : !tile.shared<48x64xbf16>, !tile.shared<64x64xbf16>, tensor<48x64xf32>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_80">} {
tile.kernel @combine(%B: !tile.global<64x64xf32> {program.argument = #program.tensor<"B", inout, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %b = tile.alloc_shared "b" : !tile.shared<64x64xf32>
  %sb = tile.slice %B[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  // expected-error @below {{expected a target with a TMA because nothing else combines a tile with a tensor, but sm_80 has none; add a fragment}}
  tile.copy_reduce add %b, %sb : !tile.shared<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}
}

// -----

// Also where the target has no such instruction, and from inside a loop.
module attributes {program.target = #program.target<"sm_80">} {
tile.kernel @require_tma(%B: !tile.global<64x64xbf16> {program.argument = #program.tensor<"B", input, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  scf.for %i = %c0 to %c1 step %c1 {
    // expected-note @below {{required here}}
    tile.require tma
    %sb = tile.slice %B[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-error @below {{threads make this copy, not the TMA: sm_80 has no TMA}}
    tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
  }
  tile.return
}
}

// -----

// Nothing can stand in for an asynchronous product.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @async_shape() {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<32x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<32x64xf32>
      // expected-error @below {{expected a product that wgmma can make because no other matrix instruction is asynchronous, but m = 32 is not a multiple of 64}}
      %f = tile.gemm_async %a, %b, %zero : !tile.shared<32x64xbf16>, !tile.shared<64x64xbf16>, tensor<32x64xf32>
      %sum = tile.gemm_wait %f pending(0) : tensor<32x64xf32>
    }
  }
  tile.return
}
}

// -----

// Of interleaved elements only whole tiles make sense, as they lie.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @interleaved(%V: !tile.global<64x128xf8E4M3FN> {program.argument = #program.tensor<"V", workspace, dims[-1, -1], alignment = 16, order = interleaved>}) {
  %c0 = arith.constant 0 : index
  %slice = tile.slice %V[%c0, %c0] : !tile.global<64x128xf8E4M3FN> -> !tile.slice<64x128xf8E4M3FN>
  // expected-error @below {{expected the TMA to move elements of 'V' because they are interleaved, but this is another access; copy whole tiles of shared memory in roles}}
  %v = tile.load %slice : !tile.slice<64x128xf8E4M3FN> -> tensor<64x128xf8E4M3FN>
  tile.return
}
}

// -----

// What has its atoms already was meant for a later pass.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @chosen_before(%Y: !tile.global<64x64xbf16> {program.argument = #program.tensor<"Y", output, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %h = arith.constant dense<0.0> : tensor<64x64xbf16>
  %c = tile.alloc_shared "c" : !tile.shared<1x1x64x64xbf16>
  %y = tile.slice %Y[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  // expected-error @below {{'tile.store' op expected no staging buffer because atoms are yet to be chosen}}
  tile.store %h, %y staging %c : !tile.shared<1x1x64x64xbf16> atom simt : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
  tile.return
}
}
