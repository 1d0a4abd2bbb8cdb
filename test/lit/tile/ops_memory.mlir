// RUN: %tile-opt %s | %tile-opt | FileCheck %s
// RUN: %tile-opt %s --mlir-print-op-generic | %tile-opt | FileCheck %s

// Layouts are printed once, under a short name.
// CHECK: #[[K:.*]] = #tile.shared_layout<"128x64 16b axis 1 panel 64 swizzle 128 pad 0">

// CHECK-LABEL: tile.kernel @buffers()
tile.kernel @buffers() {
  // CHECK: %q = tile.alloc_shared "q" : !tile.shared<128x64xbf16>
  %q = tile.alloc_shared "q" : !tile.shared<128x64xbf16>
  // CHECK: %k = tile.alloc_shared "k" at 16384 : !tile.shared<4x128x64xbf16, #[[K]]>
  %k = tile.alloc_shared "k" at 16384 : !tile.shared<4x128x64xbf16, #tile.shared_layout<"128x64 16b axis 1 panel 64 swizzle 128 pad 0">>
  %c = tile.cursor : !tile.cursor<4>
  // CHECK: %[[SLOT:.*]] = tile.slot %k[%{{.*}}] : !tile.shared<4x128x64xbf16, #{{.*}}>, !tile.cursor<4> -> !tile.shared<128x64xbf16, #[[K]]>
  %slot = tile.slot %k[%c] : !tile.shared<4x128x64xbf16, #tile.shared_layout<"128x64 16b axis 1 panel 64 swizzle 128 pad 0">>, !tile.cursor<4> -> !tile.shared<128x64xbf16, #tile.shared_layout<"128x64 16b axis 1 panel 64 swizzle 128 pad 0">>
  // CHECK: tile.transpose %[[SLOT]] : !tile.shared<128x64xbf16, #{{.*}}> -> !tile.shared<64x128xbf16, #[[K]], transposed>
  %kt = tile.transpose %slot : !tile.shared<128x64xbf16, #tile.shared_layout<"128x64 16b axis 1 panel 64 swizzle 128 pad 0">> -> !tile.shared<64x128xbf16, #tile.shared_layout<"128x64 16b axis 1 panel 64 swizzle 128 pad 0">, transposed>
  // CHECK: %[[QT:.*]] = tile.transpose %q : !tile.shared<128x64xbf16> -> !tile.shared<64x128xbf16, transposed>
  %qt = tile.transpose %q : !tile.shared<128x64xbf16> -> !tile.shared<64x128xbf16, transposed>
  // CHECK: tile.transpose %[[QT]] : !tile.shared<64x128xbf16, transposed> -> !tile.shared<128x64xbf16>
  %back = tile.transpose %qt : !tile.shared<64x128xbf16, transposed> -> !tile.shared<128x64xbf16>
  tile.return
}

// CHECK-LABEL: tile.kernel @copies(
module {
tile.kernel @copies(
    %n: index {program.argument = #program.dimension<"n">},
    %A: !tile.global<2x?x64xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0, -1]>},
    %S: !tile.global<?xf32> {program.argument = #program.tensor<"S", output, dims[0]>},
    %I: !tile.global<64xi32> {program.argument = #program.tensor<"I", inout, dims[-1]>},
    %T: !tile.global<?xi32> {program.argument = #program.tensor<"T", input, dims[0]>})
    attributes {launch = #program.launch<cluster = 2>} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : bf16
  %x = arith.constant 1.0 : f32
  // CHECK: %[[SLICE:.*]] = tile.slice %A[%{{.*}}, %n, %{{.*}}] : !tile.global<2x?x64xbf16> -> !tile.slice<1x128x64xbf16>
  %t = tile.slice %A[%c0, %n, %c0] : !tile.global<2x?x64xbf16> -> !tile.slice<1x128x64xbf16>
  // CHECK: tile.slice %A[{{.*}}] fill %{{.*}} : bf16 : !tile.global<2x?x64xbf16> -> !tile.slice<1x128x64xbf16>
  %filled = tile.slice %A[%c0, %n, %c0] fill %one : bf16 : !tile.global<2x?x64xbf16> -> !tile.slice<1x128x64xbf16>
  // CHECK: tile.slice %A[{{.*}}] limit %n along 1 : !tile.global<2x?x64xbf16> -> !tile.slice<1x128x64xbf16>
  %limited = tile.slice %A[%c0, %n, %c0] limit %n along 1 : !tile.global<2x?x64xbf16> -> !tile.slice<1x128x64xbf16>
  // CHECK: tile.slice %A[{{.*}}] limit %n along 0 fill %{{.*}} : bf16 unchecked "inside" : !tile.global
  %all = tile.slice %A[%c0, %n, %c0] limit %n along 0 fill %one : bf16 unchecked "inside" : !tile.global<2x?x64xbf16> -> !tile.slice<1x128x64xbf16>
  // CHECK: tile.slice %A[{{.*}}] unchecked "inside" evict first : !tile.global
  %first = tile.slice %A[%c0, %n, %c0] unchecked "inside" evict first : !tile.global<2x?x64xbf16> -> !tile.slice<1x128x64xbf16>
  // CHECK: tile.slice %A[{{.*}}] evict last : !tile.global
  %last = tile.slice %A[%c0, %n, %c0] evict last : !tile.global<2x?x64xbf16> -> !tile.slice<1x128x64xbf16>
  // CHECK: tile.slice %S[{{.*}}] disjoint "once" : !tile.global
  %once = tile.slice %S[%n] disjoint "once" : !tile.global<?xf32> -> !tile.slice<128xf32>
  // CHECK: %[[SAFE:.*]] = tile.slice %S[{{.*}}] unchecked "n is a multiple of 128" : !tile.global<?xf32> -> !tile.slice<128xf32>
  %safe = tile.slice %S[%n] unchecked "n is a multiple of 128" : !tile.global<?xf32> -> !tile.slice<128xf32>
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<128x64xbf16>
  // Extents of 1 do not count.
  // CHECK: tile.copy %[[SLICE]], %a : !tile.slice<1x128x64xbf16>, !tile.shared<128x64xbf16>
  tile.copy %t, %a : !tile.slice<1x128x64xbf16>, !tile.shared<128x64xbf16>
  // CHECK: tile.copy %a, %[[SLICE]] atom tma :
  tile.copy %a, %t atom tma : !tile.shared<128x64xbf16>, !tile.slice<1x128x64xbf16>
  // CHECK: tile.copy %a, %[[SLICE]] atom tma until_read :
  tile.copy %a, %t atom tma until_read : !tile.shared<128x64xbf16>, !tile.slice<1x128x64xbf16>
  // CHECK: tile.copy %a, %b atom simt :
  tile.copy %a, %b atom simt : !tile.shared<128x64xbf16>, !tile.shared<128x64xbf16>
  %ring = tile.alloc_ring "slots" : !tile.ring<2>
  %at = tile.cursor : !tile.cursor<2>
  // CHECK: tile.copy_async %[[SLICE]], %a, %slots[%{{.*}}] : !tile.slice<1x128x64xbf16>, !tile.shared<128x64xbf16>, !tile.ring<2>
  tile.copy_async %t, %a, %ring[%at] : !tile.slice<1x128x64xbf16>, !tile.shared<128x64xbf16>, !tile.ring<2>
  // CHECK: tile.copy_async %[[SLICE]], %a, %slots[%{{.*}}] multicast :
  tile.copy_async %t, %a, %ring[%at] multicast : !tile.slice<1x128x64xbf16>, !tile.shared<128x64xbf16>, !tile.ring<2>
  // CHECK: %[[F:.*]] = tile.load %[[SLICE]] : !tile.slice<1x128x64xbf16> -> tensor<128x64xbf16>
  %f = tile.load %t : !tile.slice<1x128x64xbf16> -> tensor<128x64xbf16>
  // CHECK: tile.store %[[F]], %a : tensor<128x64xbf16>, !tile.shared<128x64xbf16>
  tile.store %f, %a : tensor<128x64xbf16>, !tile.shared<128x64xbf16>
  // CHECK: tile.store %[[F]], %[[SLICE]] staging %b : !tile.shared<128x64xbf16> atom tma : tensor<128x64xbf16>, !tile.slice<1x128x64xbf16>
  tile.store %f, %t staging %b : !tile.shared<128x64xbf16> atom tma : tensor<128x64xbf16>, !tile.slice<1x128x64xbf16>
  %r = tile.splat %x : f32 -> tensor<128x1xf32>
  // CHECK: tile.atomic add %{{.*}}, %[[SAFE]] : tensor<128x1xf32>, !tile.slice<128xf32>
  tile.atomic add %r, %safe : tensor<128x1xf32>, !tile.slice<128xf32>
  %cell = tile.slice %S[%c0] : !tile.global<?xf32> -> !tile.slice<1xf32>
  // CHECK: tile.atomic add %{{.*}}, %{{.*}} : f32, !tile.slice<1xf32>
  tile.atomic add %x, %cell : f32, !tile.slice<1xf32>
  %flags = arith.constant dense<5> : tensor<64xi32>
  %bits = tile.slice %I[%c0] : !tile.global<64xi32> -> !tile.slice<64xi32>
  // CHECK: tile.atomic bit_xor %{{.*}}, %{{.*}} : tensor<64xi32>, !tile.slice<64xi32>
  tile.atomic bit_xor %flags, %bits : tensor<64xi32>, !tile.slice<64xi32>
  %sums = tile.alloc_shared "sums" : !tile.shared<128xf32>
  // CHECK: tile.copy_reduce add %sums, %[[SAFE]] : !tile.shared<128xf32>, !tile.slice<128xf32>
  tile.copy_reduce add %sums, %safe : !tile.shared<128xf32>, !tile.slice<128xf32>
  // CHECK: tile.copy_reduce min %a, %[[SLICE]] : !tile.shared<128x64xbf16>, !tile.slice<1x128x64xbf16>
  tile.copy_reduce min %a, %t : !tile.shared<128x64xbf16>, !tile.slice<1x128x64xbf16>
  // CHECK: tile.copy_reduce max %a, %[[SLICE]] until_read : !tile.shared<128x64xbf16>, !tile.slice<1x128x64xbf16>
  tile.copy_reduce max %a, %t until_read : !tile.shared<128x64xbf16>, !tile.slice<1x128x64xbf16>
  %counts = tile.alloc_shared "counts" : !tile.shared<2x4xi32>
  // CHECK: tile.store_index %n, %counts[%{{.*}}, %n] : !tile.shared<2x4xi32>
  tile.store_index %n, %counts[%c0, %n] : !tile.shared<2x4xi32>
  // CHECK: tile.load_index %counts[%{{.*}}, %n] : !tile.shared<2x4xi32>
  %count = tile.load_index %counts[%c0, %n] : !tile.shared<2x4xi32>
  %entry = tile.slice %T[%n] : !tile.global<?xi32> -> !tile.slice<1xi32>
  // CHECK: tile.load_index %{{.*}}[] : !tile.slice<1xi32>
  %length = tile.load_index %entry[] : !tile.slice<1xi32>
  // CHECK: tile.rows %a[16] : !tile.shared<128x64xbf16> -> !tile.shared<32x64xbf16>
  %some = tile.rows %a[16] : !tile.shared<128x64xbf16> -> !tile.shared<32x64xbf16>
  %wide = tile.alloc_shared "wide" : !tile.shared<32x256xbf16>
  %across = tile.transpose %wide : !tile.shared<32x256xbf16> -> !tile.shared<256x32xbf16, transposed>
  // CHECK: tile.rows %{{.*}}[64] : !tile.shared<256x32xbf16, transposed> -> !tile.shared<128x32xbf16, transposed>
  %columns = tile.rows %across[64] : !tile.shared<256x32xbf16, transposed> -> !tile.shared<128x32xbf16, transposed>
  tile.return
}
}
