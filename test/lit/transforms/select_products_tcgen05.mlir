// RUN: %tile-opt %s --tile-select-products -split-input-file -verify-diagnostics | FileCheck %s
// RUN: %tile-opt %s --tile-select-products=tcgen05=false -split-input-file 2>&1 | FileCheck %s --check-prefix=OFF

// A warpgroup loads the rows of a sum.
// CHECK-LABEL: tile.kernel @usual(
// CHECK-SAME:    launch = #program.launch<warps = 4>
// CHECK:         tile.gemm {{.*}} atom tcgen05
// OFF:         [gemm-without-wgmma] product uses mma.sync, not tcgen05: tcgen05 is switched off
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @usual(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 0], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  %sa = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
  tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
  %sb = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x128xbf16>
  tile.copy %sb, %b : !tile.slice<64x128xbf16>, !tile.shared<64x128xbf16>
  %za = tile.splat %f0 : f32 -> tensor<128x128xf32>
  %ra = tile.gemm %a, %b, %za : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, tensor<128x128xf32>
  tile.return
}
}

// -----

// Two do if they are long.
// CHECK-LABEL: tile.kernel @long_rows(
// CHECK-SAME:    launch = #program.launch<warps = 8>
// CHECK:         tile.gemm {{.*}} atom tcgen05
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @long_rows(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 0], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x256xbf16>
  %sa = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
  tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
  %sb = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x256xbf16>
  tile.copy %sb, %b : !tile.slice<64x256xbf16>, !tile.shared<64x256xbf16>
  %za = tile.splat %f0 : f32 -> tensor<128x256xf32>
  %ra = tile.gemm %a, %b, %za : !tile.shared<128x64xbf16>, !tile.shared<64x256xbf16>, tensor<128x256xf32>
  tile.return
}
}

// -----

// CHECK-LABEL: tile.kernel @few_rows(
// CHECK:         tile.gemm {{.*}} atom mma_sync
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @few_rows(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 0], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<96x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %sa = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<96x64xbf16>
  tile.copy %sa, %a : !tile.slice<96x64xbf16>, !tile.shared<96x64xbf16>
  %sb = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x64xbf16>
  tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
  %za = tile.splat %f0 : f32 -> tensor<96x64xf32>
  // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not tcgen05: m = 96 is not 64 or 128}}
  %ra = tile.gemm %a, %b, %za : !tile.shared<96x64xbf16>, !tile.shared<64x64xbf16>, tensor<96x64xf32>
  tile.return
}
}

// -----

// CHECK-LABEL: tile.kernel @wide(
// CHECK:         tile.gemm {{.*}} atom mma_sync
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @wide(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 0], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x264xbf16>
  %sa = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
  tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
  %sb = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x264xbf16>
  tile.copy %sb, %b : !tile.slice<64x264xbf16>, !tile.shared<64x264xbf16>
  %za = tile.splat %f0 : f32 -> tensor<128x264xf32>
  // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not tcgen05: n = 264 is not a multiple of 16 from 16 to 512}}
  %ra = tile.gemm %a, %b, %za : !tile.shared<128x64xbf16>, !tile.shared<64x264xbf16>, tensor<128x264xf32>
  tile.return
}
}

// -----

// Sums beyond the columns of tensor memory are added in registers.
// CHECK-LABEL: tile.kernel @columns(
// CHECK:         tile.gemm %a, {{.*}} atom tcgen05
// CHECK:         tile.gemm %c, {{.*}} atom tcgen05
// CHECK:         tile.gemm %e, {{.*}} atom mma_sync
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @columns(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 0], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x256xbf16>
  %sa = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
  tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
  %sb = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x256xbf16>
  tile.copy %sb, %b : !tile.slice<64x256xbf16>, !tile.shared<64x256xbf16>
  %za = tile.splat %f0 : f32 -> tensor<128x256xf32>
  %ra = tile.gemm %a, %b, %za : !tile.shared<128x64xbf16>, !tile.shared<64x256xbf16>, tensor<128x256xf32>
  %c = tile.alloc_shared "c" : !tile.shared<128x64xbf16>
  %d = tile.alloc_shared "d" : !tile.shared<64x256xbf16>
  %sc = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
  tile.copy %sc, %c : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
  %sd = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x256xbf16>
  tile.copy %sd, %d : !tile.slice<64x256xbf16>, !tile.shared<64x256xbf16>
  %zc = tile.splat %f0 : f32 -> tensor<128x256xf32>
  %rc = tile.gemm %c, %d, %zc : !tile.shared<128x64xbf16>, !tile.shared<64x256xbf16>, tensor<128x256xf32>
  %e = tile.alloc_shared "e" : !tile.shared<128x64xbf16>
  %f = tile.alloc_shared "f" : !tile.shared<64x16xbf16>
  %se = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
  tile.copy %se, %e : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
  %sf = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x16xbf16>
  tile.copy %sf, %f : !tile.slice<64x16xbf16>, !tile.shared<64x16xbf16>
  %ze = tile.splat %f0 : f32 -> tensor<128x16xf32>
  // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not tcgen05: its sum takes 16 columns of tensor memory, those of other products 512, and there are 512; smaller tiles take fewer}}
  %re = tile.gemm %e, %f, %ze : !tile.shared<128x64xbf16>, !tile.shared<64x16xbf16>, tensor<128x16xf32>
  tile.return
}
}

// -----

// A role of its own must know when a factor is there.
// CHECK-LABEL: tile.kernel @filled_nowhere(
// CHECK:         tile.gemm {{.*}} atom mma_sync
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @filled_nowhere(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 0], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %sa = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
  tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
  %za = tile.splat %f0 : f32 -> tensor<128x64xf32>
  // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not tcgen05: 'b' is not filled by one operation as a whole}}
  %ra = tile.gemm %a, %b, %za : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
  tile.return
}
}

// -----

// Where no product with sums in registers is asynchronous, one that an author starts and awaits is complete at once.
// CHECK-LABEL: tile.kernel @started(
// CHECK:         %[[SUM:.*]] = tile.gemm %a, %b, %{{.*}} atom tcgen05
// CHECK-NOT:     tile.gemm_wait
// CHECK:         tile.convert %[[SUM]]
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @started(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 0], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %sa = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
  tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
  %sb = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x64xbf16>
  tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
  %za = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %ra = tile.gemm_async %a, %b, %za : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
  %done = tile.gemm_wait %ra pending(0) : tensor<128x64xf32>
  %h = tile.convert %done : tensor<128x64xf32> to tensor<128x64xbf16>
  %so = tile.slice %A[%c64, %c64] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
  tile.store %h, %so : tensor<128x64xbf16>, !tile.slice<128x64xbf16>
  tile.return
}
}

// -----

// A role that loads hands the tile to threads that read it, too.
// CHECK-LABEL: tile.kernel @reads_a_factor(
// CHECK:         tile.gemm {{.*}} atom tcgen05
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @reads_a_factor(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 0], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  %sa = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
  tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
  %sb = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x128xbf16>
  tile.copy %sb, %b : !tile.slice<64x128xbf16>, !tile.shared<64x128xbf16>
  %za = tile.splat %f0 : f32 -> tensor<128x128xf32>
  %read = tile.load %b : !tile.shared<64x128xbf16> -> tensor<64x128xbf16>
  %ra = tile.gemm %a, %b, %za : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, tensor<128x128xf32>
  tile.return
}
}

// -----

// The role of products does not know what the others compute.
// CHECK-LABEL: tile.kernel @by_computed_data(
// CHECK:         tile.gemm {{.*}} atom mma_sync
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @by_computed_data(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 0], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  %sa = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
  tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
  %sb = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x128xbf16>
  tile.copy %sb, %b : !tile.slice<64x128xbf16>, !tile.shared<64x128xbf16>
  %za = tile.splat %f0 : f32 -> tensor<128x128xf32>
  %counts = tile.alloc_shared "counts" : !tile.shared<1xi32>
  tile.store_index %c64, %counts[%c0] : !tile.shared<1xi32>
  %count = tile.load_index %counts[%c0] : !tile.shared<1xi32>
  %any = arith.cmpi sgt, %count, %c0 : index
  scf.if %any {
    // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not tcgen05: whether it is made, or how often, depends on computed data}}
    %ra = tile.gemm %a, %b, %za : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, tensor<128x128xf32>
  }
  tile.return
}
}

// -----

// An author who orders accesses orders all of them.
// CHECK-LABEL: tile.kernel @by_hand(
// CHECK:         tile.gemm {{.*}} atom mma_sync
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @by_hand(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 0], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  %sa = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
  tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
  %sb = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x128xbf16>
  tile.copy %sb, %b : !tile.slice<64x128xbf16>, !tile.shared<64x128xbf16>
  %za = tile.splat %f0 : f32 -> tensor<128x128xf32>
  %done = tile.alloc_barrier "done" count(1)
  // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not tcgen05: the kernel synchronises by hand}}
  %ra = tile.gemm %a, %b, %za : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, tensor<128x128xf32>
  tile.return
}
}

// -----

// The sums of all products are loaded by whole warpgroups.
// CHECK-LABEL: tile.kernel @two_warps(
// CHECK:         tile.gemm {{.*}} atom mma_sync
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @two_warps(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 0], alignment = 16>}) attributes {launch = #program.launch<warps = 2>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  %sa = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
  tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
  %sb = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x128xbf16>
  tile.copy %sb, %b : !tile.slice<64x128xbf16>, !tile.shared<64x128xbf16>
  %za = tile.splat %f0 : f32 -> tensor<128x128xf32>
  // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not tcgen05: 2 warps cannot load its sums}}
  %ra = tile.gemm %a, %b, %za : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, tensor<128x128xf32>
  tile.return
}
}

// -----

// Roles that load and multiply take a warpgroup each at most.
// CHECK-LABEL: tile.kernel @no_room(
// CHECK:         tile.gemm {{.*}} atom fma
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @no_room(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 0], alignment = 16>}) attributes {launch = #program.launch<warps = 32>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  %sa = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
  tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
  %sb = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x128xbf16>
  tile.copy %sb, %b : !tile.slice<64x128xbf16>, !tile.shared<64x128xbf16>
  %za = tile.splat %f0 : f32 -> tensor<128x128xf32>
  // expected-remark @below {{[gemm-without-wgmma] product uses multiply-add of single elements, not tcgen05: 32 warps leave no room for roles that load and multiply; not mma.sync: 128x128 does not divide among 32 warps}}
  %ra = tile.gemm %a, %b, %za : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, tensor<128x128xf32>
  tile.return
}
}

// -----

// Blocks that share a multiprocessor share its columns.
// CHECK-LABEL: tile.kernel @two_residents(
// CHECK:         tile.gemm %a, {{.*}} atom tcgen05
// CHECK:         tile.gemm %c, {{.*}} atom mma_sync
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @two_residents(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 0], alignment = 16>}) attributes {launch = #program.launch<residents = 2>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  %sa = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
  tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
  %sb = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x128xbf16>
  tile.copy %sb, %b : !tile.slice<64x128xbf16>, !tile.shared<64x128xbf16>
  %za = tile.splat %f0 : f32 -> tensor<128x128xf32>
  %ra = tile.gemm %a, %b, %za : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, tensor<128x128xf32>
  %c = tile.alloc_shared "c" : !tile.shared<128x64xbf16>
  %d = tile.alloc_shared "d" : !tile.shared<64x256xbf16>
  %sc = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
  tile.copy %sc, %c : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
  %sd = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x256xbf16>
  tile.copy %sd, %d : !tile.slice<64x256xbf16>, !tile.shared<64x256xbf16>
  %zc = tile.splat %f0 : f32 -> tensor<128x256xf32>
  // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not tcgen05: its sum takes 256 columns of tensor memory, those of other products 128, and there are 256; smaller tiles take fewer}}
  %rc = tile.gemm %c, %d, %zc : !tile.shared<128x64xbf16>, !tile.shared<64x256xbf16>, tensor<128x256xf32>
  tile.return
}
}

// -----

// Of a product that threads make they wait for its copies, which a role that hands them over does not: no other role loads %a from a
// tensor that is written, too.
// CHECK-LABEL: tile.kernel @shared_with_threads(
// CHECK-COUNT-2: tile.gemm {{.*}} atom mma_sync
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @shared_with_threads(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", inout, dims[0, 0], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  %sa = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
  tile.copy %sa, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
  %sb = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x128xbf16>
  tile.copy %sb, %b : !tile.slice<64x128xbf16>, !tile.shared<64x128xbf16>
  %za = tile.splat %f0 : f32 -> tensor<128x128xf32>
  // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not tcgen05: 'a' is also read by threads}}
  %ra = tile.gemm %a, %b, %za : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, tensor<128x128xf32>
  %d = tile.alloc_shared "d" : !tile.shared<64x24xbf16>
  %zd = tile.splat %f0 : f32 -> tensor<128x24xf32>
  %one = arith.constant 1 : index
  scf.for %i = %c0 to %k step %one {
    %sd = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x24xbf16>
    tile.copy %sd, %d : !tile.slice<64x24xbf16>, !tile.shared<64x24xbf16>
    // expected-remark @below {{[gemm-without-wgmma] product uses mma.sync, not tcgen05: n = 24 is not a multiple of 16 from 16 to 512}}
    %rd = tile.gemm %a, %d, %zd : !tile.shared<128x64xbf16>, !tile.shared<64x24xbf16>, tensor<128x24xf32>
  }
  %h0 = arith.constant 0.0 : bf16
  %h = tile.splat %h0 : bf16 -> tensor<8x8xbf16>
  %sh = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<8x8xbf16>
  tile.store %h, %sh : tensor<8x8xbf16>, !tile.slice<8x8xbf16>
  tile.return
}
}

// -----

// Sums of 64 rows take half of the lanes: two lie in the same columns.
// CHECK-LABEL: tile.kernel @halves(
// CHECK:         tile.gemm %a, {{.*}} atom tcgen05
// CHECK:         tile.gemm %c, {{.*}} atom tcgen05
// CHECK:         tile.gemm %e, {{.*}} atom fma
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @halves(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 0], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x512xbf16>
  %sa = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x64xbf16>
  tile.copy %sa, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
  %sb = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x512xbf16>
  tile.copy %sb, %b : !tile.slice<64x512xbf16>, !tile.shared<64x512xbf16>
  %za = tile.splat %f0 : f32 -> tensor<64x512xf32>
  %ra = tile.gemm %a, %b, %za : !tile.shared<64x64xbf16>, !tile.shared<64x512xbf16>, tensor<64x512xf32>
  %c = tile.alloc_shared "c" : !tile.shared<64x64xbf16>
  %d = tile.alloc_shared "d" : !tile.shared<64x448xbf16>
  %sc = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x64xbf16>
  tile.copy %sc, %c : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
  %sd = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x448xbf16>
  tile.copy %sd, %d : !tile.slice<64x448xbf16>, !tile.shared<64x448xbf16>
  %zc = tile.splat %f0 : f32 -> tensor<64x448xf32>
  %rc = tile.gemm %c, %d, %zc : !tile.shared<64x64xbf16>, !tile.shared<64x448xbf16>, tensor<64x448xf32>
  %e = tile.alloc_shared "e" : !tile.shared<64x64xbf16>
  %f = tile.alloc_shared "f" : !tile.shared<64x128xbf16>
  %se = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x64xbf16>
  tile.copy %se, %e : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
  %sf = tile.slice %A[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x128xbf16>
  tile.copy %sf, %f : !tile.slice<64x128xbf16>, !tile.shared<64x128xbf16>
  %ze = tile.splat %f0 : f32 -> tensor<64x128xf32>
  // expected-remark @below {{[gemm-without-wgmma] product uses multiply-add of single elements, not tcgen05: its sum takes 128 columns of tensor memory, those of other products 512, and there are 512; smaller tiles take fewer; not mma.sync: 64x128 does not divide among 8 warps}}
  %re = tile.gemm %e, %f, %ze : !tile.shared<64x64xbf16>, !tile.shared<64x128xbf16>, tensor<64x128xf32>
  tile.return
}
}
