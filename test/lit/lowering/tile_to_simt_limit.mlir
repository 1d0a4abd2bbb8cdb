// RUN: %tlc-opt %s -tile-to-simt -split-input-file | FileCheck %s

// Through the TMA: the maps have an axis more, and where a box begins and how many of its rows are inside
// is two of its coordinates. The map that begins before the tensor is for boxes that end less than their rows after
// its begin, of which something is inside along every axis. A box of the other slice, without a limit, has the tensor's own.
#p = #tile.shared_layout<"64x128 16b axis 1 panel 64 swizzle 128 pad 0">
// CHECK-LABEL: simt.kernel @boxes(
// CHECK-SAME:    %[[N:.*]]: i32 {program.parameter = #program.parameter<dimension, 0>}
// CHECK-SAME:    %[[END:.*]]: i32 {program.parameter = #program.parameter<dimension, 1>}
// CHECK-SAME:    %[[AT:.*]]: !llvm.ptr {program.parameter = #program.parameter<tensor_map, 0>}
// CHECK-SAME:    %[[BEFORE:.*]]: !llvm.ptr {program.parameter = #program.parameter<tensor_map, 1>}
// CHECK-SAME:    %[[PLAIN:.*]]: !llvm.ptr {program.parameter = #program.parameter<tensor_map, 2>}
// CHECK-SAME:    tensor_maps = [#program.tensor_map<0, box[1, 64, 64], bytes128, limited_axis = 1>,
// CHECK-SAME:                   #program.tensor_map<0, box[1, 64, 64], bytes128, limited_axis = 1, before = 64>,
// CHECK-SAME:                   #program.tensor_map<0, box[1, 64, 64], bytes128>,
// CHECK-SAME:                   #program.tensor_map<1, box[64, 64], bytes128, limited_axis = 0>,
// CHECK-SAME:                   #program.tensor_map<1, box[64, 64], bytes128, limited_axis = 0, before = 64>]
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @boxes(%n: index {program.argument = #program.dimension<"n">}, %end: index {program.argument = #program.dimension<"end">},
    %X: !tile.global<3x?x128xbf16> {program.argument = #program.tensor<"X", input, dims[-1, 0, -1], alignment = 16>},
    %Y: !tile.global<?x128xbf16> {program.argument = #program.tensor<"Y", output, dims[0, -1], alignment = 16>})
    attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %r = tile.alloc_ring "r" at 0 : !tile.ring<1>
  %p = tile.alloc_shared "p" at 1024 : !tile.shared<64x128xbf16, #p>
  %c = tile.cursor : !tile.cursor<1>
  tile.roles {
    tile.role "load" warps(4) one_thread {
      tile.acquire %r[%c] : !tile.ring<1>
      tile.expect %r[%c] bytes(32768) : !tile.ring<1>
      // Before the tensor is beyond its end; the limit is at most that.
      // CHECK: %[[BEGIN:.*]] = arith.minui %[[END]], %[[N]] : i32
      // CHECK: %[[POSITIVE:.*]] = arith.maxsi %[[END]], %c0_i32 : i32
      // CHECK: %[[LIMIT:.*]] = arith.minsi %[[POSITIVE]], %[[N]] : i32
      %s = tile.slice %X[%end, %end, %c0] limit %end along 1 : !tile.global<3x?x128xbf16> -> !tile.slice<1x64x128xbf16>
      // CHECK: %[[LEFT:.*]] = arith.subi %[[LIMIT]], %[[BEGIN]] : i32
      // CHECK: %[[ANY:.*]] = arith.maxsi %[[LEFT]], %c0_i32 : i32
      // CHECK: %[[INSIDE:.*]] = arith.minsi %[[ANY]], %c64_i32 : i32
      // CHECK: %[[LAST:.*]] = arith.addi %[[BEGIN]], %[[INSIDE]] : i32
      // CHECK: %[[TO:.*]] = arith.addi %[[LAST]], %c-64_i32 : i32
      // CHECK: %[[SHORT:.*]] = arith.cmpi slt, %[[TO]], %c0_i32 : i32
      // CHECK: %[[SOME:.*]] = arith.cmpi ult, %c0_i32, %[[INSIDE]] : i32
      // CHECK: %[[BOTH:.*]] = arith.andi %[[SHORT]], %[[SOME]] : i1
      // CHECK: %[[OUTER:.*]] = arith.cmpi ult, %[[END]], %c3_i32 : i32
      // CHECK: %[[NEAR:.*]] = arith.andi %[[BOTH]], %[[OUTER]] : i1
      // CHECK: %[[FROM:.*]] = arith.subi %c64_i32, %[[INSIDE]] : i32
      // CHECK: %[[ATLEAST:.*]] = arith.maxsi %[[TO]], %c0_i32 : i32
      // CHECK: %[[PLACE:.*]] = arith.select %[[NEAR]], %[[LAST]], %[[ATLEAST]] : i32
      // CHECK: %[[MAP:.*]] = arith.select %[[NEAR]], %[[BEFORE]], %[[AT]] : !llvm.ptr
      // CHECK: simt.tma_load %[[MAP]][%c0_i32, %[[FROM]], %[[END]], %[[PLACE]]]
      // CHECK: simt.tma_load %{{.*}}[%c64_i32, %{{.*}}, %[[END]], %{{.*}}]
      tile.copy_async %s, %p, %r[%c] : !tile.slice<1x64x128xbf16>, !tile.shared<64x128xbf16, #p>, !tile.ring<1>
      %t = tile.slice %X[%c0, %end, %c0] : !tile.global<3x?x128xbf16> -> !tile.slice<1x64x128xbf16>
      // CHECK: simt.tma_load %[[PLAIN]][%c0_i32, %[[END]], %c0_i32]
      tile.copy_async %t, %p, %r[%c] : !tile.slice<1x64x128xbf16>, !tile.shared<64x128xbf16, #p>, !tile.ring<1>
    }
    tile.role "store" warps(4) one_thread {
      tile.await %r[%c] : !tile.ring<1>
      %s = tile.slice %Y[%end, %c0] limit %n along 0 : !tile.global<?x128xbf16> -> !tile.slice<64x128xbf16>
      // CHECK: simt.tma_store {{.*}}[%c0_i32, %{{[0-9]+}}, %{{[0-9]+}}]
      tile.copy %p, %s atom tma : !tile.shared<64x128xbf16, #p>, !tile.slice<64x128xbf16>
      tile.release %r[%c] : !tile.ring<1>
    }
  }
  tile.return
}
}

// -----

// By threads: the limit takes the place of the extent, also where the box is known to be inside the tensor,
// and other axes have no guard then.
#rows = #tile.layout<"reg(8@1:1, 4@0:16) lane(2@1:8, 16@0:1) warp()">
// CHECK-LABEL: simt.kernel @threads(
// CHECK-SAME:    %[[END:.*]]: i32 {program.parameter = #program.parameter<dimension, 0>}
// CHECK:         %[[POSITIVE:.*]] = arith.maxsi %[[END]], %c0_i32 : i32
// CHECK:         %[[LIMIT:.*]] = arith.minsi %[[POSITIVE]], %c64_i32 : i32
// CHECK:         %[[INSIDE:.*]] = arith.cmpi ult, %{{.*}}, %[[LIMIT]] : i32
// CHECK-NOT:     arith.andi %{{.*}} : i1
// CHECK:         simt.load %{{.*}} if %[[INSIDE]]
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @threads(%end: index {program.argument = #program.dimension<"end">},
    %X: !tile.global<64x16xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1], alignment = 16>},
    %Y: !tile.global<64x16xbf16> {program.argument = #program.tensor<"Y", output, dims[-1, -1], alignment = 16>})
    attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %s = tile.slice %X[%c0, %c0] limit %end along 0 unchecked "proven" : !tile.global<64x16xbf16> -> !tile.slice<64x16xbf16>
  %v = tile.load %s : !tile.slice<64x16xbf16> -> tensor<64x16xbf16, #rows>
  %t = tile.slice %Y[%c0, %c0] unchecked "proven" : !tile.global<64x16xbf16> -> !tile.slice<64x16xbf16>
  tile.store %v, %t atom simt : tensor<64x16xbf16, #rows>, !tile.slice<64x16xbf16>
  tile.return
}
}
