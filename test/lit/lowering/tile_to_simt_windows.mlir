// RUN: %tlc-opt %s -tile-to-simt -split-input-file | FileCheck %s

// Through the TMA in im2col mode: coordinates are those of the first tap, and the tap is in the offsets. A window that
// the width and the height keep as large as they are has as many positions as pixels. Taps of which it is known that the
// window has them are not compared.
#p = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
// CHECK-LABEL: simt.kernel @positions(
// CHECK-SAME:    %[[IMAGES:.*]]: i32 {program.parameter = #program.parameter<dimension, 0>}
// CHECK-SAME:    %[[HEIGHT:.*]]: i32 {program.parameter = #program.parameter<dimension, 1>}
// CHECK-SAME:    %[[P:.*]]: i32 {program.parameter = #program.parameter<dimension, 2>}
// CHECK-SAME:    tensor_maps = [#program.tensor_map<0, box[64, 1, 1, 64], bytes128, window = <taps[3, 3], strides[1, 2], dilations[1, 1], before[1, 1], after[1, 1]>>]
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @positions(%n: index {program.argument = #program.dimension<"n">}, %h: index {program.argument = #program.dimension<"h">},
    %p: index {program.argument = #program.dimension<"p">},
    %X: !tile.global<?x?x9x64xbf16> {program.argument = #program.tensor<"X", input, dims[0, 1, -1, -1], alignment = 16>})
    attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  // Of a width of 9 there are 5 positions.
  // CHECK-DAG: %[[OF_IMAGES:.*]] = arith.extui %[[IMAGES]] : i32 to i64
  // CHECK-DAG: %[[OF_HEIGHT:.*]] = arith.extui %[[HEIGHT]] : i32 to i64
  // CHECK: %[[ROWS:.*]] = arith.muli %[[OF_IMAGES]], %[[OF_HEIGHT]] : i64
  // CHECK: %[[SOME:.*]] = arith.minui %[[ROWS]], %c2147483647_i64 : i64
  // CHECK: %[[ALL:.*]] = arith.muli %[[SOME]], %c5_i64 : i64
  // CHECK: %[[MOST:.*]] = arith.minui %[[ALL]], %c2147483647_i64 : i64
  // CHECK: %[[COUNT:.*]] = arith.trunci %[[MOST]] : i64 to i32
  // CHECK: %[[BY:.*]] = arith.maxui %[[HEIGHT]], %c1_i32 : i32
  %w = tile.windows %X <taps [3, 3], strides [1, 2], dilations [1, 1], before [1, 1], after [1, 1]>
    : !tile.global<?x?x9x64xbf16> -> !tile.global<?x3x3x64xbf16>
  %r = tile.alloc_ring "r" at 0 : !tile.ring<1>
  %a = tile.alloc_shared "a" at 1024 : !tile.shared<64x64xbf16, #p>
  %c = tile.cursor : !tile.cursor<1>
  tile.roles {
    tile.role "load" warps(4) one_thread {
      tile.acquire %r[%c] : !tile.ring<1>
      tile.expect %r[%c] bytes(8192) : !tile.ring<1>
      // CHECK: %[[FIRST:.*]] = arith.minui %[[P]], %[[COUNT]] : i32
      %s = tile.slice %w[%p, %c2, %n, %c0] : !tile.global<?x3x3x64xbf16> -> !tile.slice<64x1x1x64xbf16>
      // CHECK: %[[IS_POSITION:.*]] = arith.cmpi ult, %[[FIRST]], %[[COUNT]] : i32
      // CHECK: %[[IS_TAP:.*]] = arith.cmpi ult, %[[IMAGES]], %c3_i32 : i32
      // CHECK: %[[INSIDE:.*]] = arith.andi %[[IS_POSITION]], %[[IS_TAP]] : i1
      // CHECK: %[[POSITION:.*]] = arith.select %[[INSIDE]], %[[FIRST]], %c0_i32 : i32
      // CHECK: %[[ALONG:.*]] = arith.remui %[[POSITION]], %c5_i32 : i32
      // CHECK: %[[LINE:.*]] = arith.divui %[[POSITION]], %c5_i32 : i32
      // CHECK: %[[TWICE:.*]] = arith.muli %[[ALONG]], %c2_i32 : i32
      // CHECK: %[[X:.*]] = arith.addi %[[TWICE]], %c-1_i32 : i32
      // CHECK: %[[ROW:.*]] = arith.remui %[[LINE]], %[[BY]] : i32
      // CHECK: %[[IMAGE:.*]] = arith.divui %[[LINE]], %[[BY]] : i32
      // CHECK: %[[Y:.*]] = arith.addi %[[ROW]], %c-1_i32 : i32
      // CHECK: arith.select %[[IS_TAP]], %c2_i32, %c0_i32 : i32
      // CHECK: %[[TAP:.*]] = arith.select %[[IS_TAP]], %[[IMAGES]], %c0_i32 : i32
      // CHECK: %[[OFFSET:.*]] = arith.trunci %[[TAP]] : i32 to i16
      // CHECK: %[[OF:.*]] = arith.select %[[INSIDE]], %[[IMAGE]], %[[IMAGES]] : i32
      // CHECK: simt.tma_load %{{.*}}[%c0_i32, %[[X]], %[[Y]], %[[OF]]] offsets[%[[OFFSET]], %{{.*}}] to
      tile.copy_async %s, %a, %r[%c] : !tile.slice<64x1x1x64xbf16>, !tile.shared<64x64xbf16, #p>, !tile.ring<1>
      // CHECK-NOT: arith.cmpi
      // CHECK: simt.tma_load %{{.*}} offsets[%{{.*}}, %{{.*}}] to
      %t = tile.slice %w[%p, %c2, %c0, %c0] unchecked "inside" : !tile.global<?x3x3x64xbf16> -> !tile.slice<64x1x1x64xbf16>
      tile.copy_async %t, %a, %r[%c] : !tile.slice<64x1x1x64xbf16>, !tile.shared<64x64xbf16, #p>, !tile.ring<1>
    }
    tile.role "math" warps(4) {
      tile.await %r[%c] : !tile.ring<1>
      tile.release %r[%c] : !tile.ring<1>
    }
  }
  tile.return
}
}
