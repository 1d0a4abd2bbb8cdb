// RUN: split-file %s %t
// RUN: %tile-opt %t/tiles.mlir --tile-defer-stores | FileCheck %t/tiles.mlir
// RUN: %tile-opt %t/tiles.mlir --tile-defer-stores=enable=false | FileCheck %t/tiles.mlir --check-prefix=OFF
// RUN: %tile-opt %t/limited.mlir --tile-defer-stores | FileCheck %t/limited.mlir
// RUN: %tile-opt %t/reports.mlir --tile-defer-stores | FileCheck %t/reports.mlir
// RUN: %tile-opt %t/far.mlir --tile-defer-stores | FileCheck %t/far.mlir
// RUN: %tile-opt %t/stay.mlir --tile-defer-stores -split-input-file | FileCheck %t/stay.mlir

//--- tiles.mlir

// The store of a tile comes after the first product of the next one, also if that tile has no products, and after
// the loop for the last. Before the first tile there is nothing to store.
// CHECK-LABEL: tile.role "math"
// CHECK:         %[[NONE:.*]] = tile.splat %{{.*}} : bf16 -> tensor<128x256xbf16>
// CHECK:         %[[LAST:.*]]:4 = scf.for {{.*}} iter_args(%[[ANY:.*]] = %{{false.*}}, %[[TILE:.*]] = %[[NONE]], %[[ROW:.*]] = %{{.*}}, %[[COLUMN:.*]] = %{{.*}})
// CHECK:           scf.if
// CHECK:             tile.gemm_async
// CHECK-NEXT:        scf.if %[[ANY]] {
// CHECK-NEXT:          %[[AT:.*]] = tile.slice %C[%[[ROW]], %[[COLUMN]]] disjoint "proven"
// CHECK-NEXT:          tile.store %[[TILE]], %[[AT]]
// CHECK:             tile.gemm_wait
// CHECK:           } else {
// CHECK-NEXT:        scf.if %[[ANY]] {
// CHECK:               tile.store %[[TILE]]
// CHECK:           %[[NEXT:.*]] = tile.convert
// CHECK-NOT:       tile.store
// CHECK:           scf.yield %{{true.*}}, %[[NEXT]], %[[I:.*]], %[[J:.*]] :
// CHECK:         scf.if %[[LAST]]#0 {
// CHECK-NEXT:      %[[END:.*]] = tile.slice %C[%[[LAST]]#2, %[[LAST]]#3]
// CHECK-NEXT:      tile.store %[[LAST]]#1, %[[END]]

// The reference stores each tile before the next begins.
// OFF-LABEL: tile.role "math"
// OFF:         scf.for
// OFF-NOT:     tile.store
// OFF:         tile.convert
// OFF:         tile.store
// OFF-NOT:     tile.store
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @tiles(%m: index {program.argument = #program.dimension<"m">}, %n: index {program.argument = #program.dimension<"n">},
    %C: !tile.global<?x?xbf16> {program.argument = #program.tensor<"C", output, dims[0, 1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x256xbf16>
  %staging = tile.alloc_shared "C.staging" : !tile.shared<2x2x64x64xbf16>
  tile.roles {
    tile.role "math" warps(8) {
      scf.for %t = %c0 to %m step %c128 {
        %zero = tile.splat %f0 : f32 -> tensor<128x256xf32>
        %any = arith.cmpi sgt, %n, %c0 : index
        %sum = scf.if %any -> (tensor<128x256xf32>) {
          %f = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x256xbf16>, tensor<128x256xf32>
          %g = tile.gemm_wait %f pending(0) : tensor<128x256xf32>
          scf.yield %g : tensor<128x256xf32>
        } else {
          scf.yield %zero : tensor<128x256xf32>
        }
        %h = tile.convert %sum : tensor<128x256xf32> to tensor<128x256xbf16>
        %at = tile.slice %C[%t, %c0] : !tile.global<?x?xbf16> -> !tile.slice<128x256xbf16>
        tile.store %h, %at staging %staging : !tile.shared<2x2x64x64xbf16> atom tma : tensor<128x256xbf16>, !tile.slice<128x256xbf16>
      }
    }
  }
  tile.return
}
}

//--- limited.mlir

// A limit is the tile's own as its position is.
// CHECK-LABEL: tile.kernel @limited(
// CHECK:         %[[LAST:.*]]:5 = scf.for {{.*}} iter_args(%[[ANY:.*]] = %{{false.*}}, %[[TILE:.*]] = %{{.*}}, %[[ROW:.*]] = %{{.*}}, %[[COLUMN:.*]] = %{{.*}}, %[[END:.*]] = %{{.*}})
// CHECK:           tile.slice %C[%[[ROW]], %[[COLUMN]]] limit %[[END]] along 0
// CHECK:           %[[NEXT:.*]] = arith.addi
// CHECK:           scf.yield %{{true.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[NEXT]] :
// CHECK:         scf.if %[[LAST]]#0 {
// CHECK-NEXT:      tile.slice %C[%[[LAST]]#2, %[[LAST]]#3] limit %[[LAST]]#4 along 0
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @limited(%m: index {program.argument = #program.dimension<"m">},
    %C: !tile.global<?x256xbf16> {program.argument = #program.tensor<"C", output, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x256xbf16>
  %staging = tile.alloc_shared "C.staging" : !tile.shared<2x2x64x64xbf16>
  scf.for %t = %c0 to %m step %c128 {
    %zero = tile.splat %f0 : f32 -> tensor<128x256xf32>
    %f = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x256xbf16>, tensor<128x256xf32>
    %g = tile.gemm_wait %f pending(0) : tensor<128x256xf32>
    %h = tile.convert %g : tensor<128x256xf32> to tensor<128x256xbf16>
    %end = arith.addi %t, %c1 : index
    %at = tile.slice %C[%t, %c0] limit %end along 0 : !tile.global<?x256xbf16> -> !tile.slice<128x256xbf16>
    tile.store %h, %at staging %staging : !tile.shared<2x2x64x64xbf16> atom tma : tensor<128x256xbf16>, !tile.slice<128x256xbf16>
  }
  tile.return
}
}

//--- reports.mlir

// What reports after the store, also in a branch, stays where it is.
// CHECK-LABEL: tile.kernel @reports(
// CHECK:         %[[LAST:.*]]:4 = scf.for {{.*}} iter_args(%[[ANY:.*]] = %{{false.*}},
// CHECK:           tile.gemm_async
// CHECK-NEXT:      scf.if %[[ANY]] {
// CHECK:             tile.store
// CHECK-NOT:       tile.store
// CHECK:           tile.report "stored"
// CHECK:           scf.if
// CHECK-NEXT:        tile.report "also"
// CHECK:         scf.if %[[LAST]]#0 {
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @reports(%m: index {program.argument = #program.dimension<"m">},
    %C: !tile.global<?x256xbf16> {program.argument = #program.tensor<"C", output, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x256xbf16>
  %staging = tile.alloc_shared "C.staging" : !tile.shared<2x2x64x64xbf16>
  scf.for %t = %c0 to %m step %c128 {
    %zero = tile.splat %f0 : f32 -> tensor<128x256xf32>
    %f = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x256xbf16>, tensor<128x256xf32>
    %g = tile.gemm_wait %f pending(0) : tensor<128x256xf32>
    %h = tile.convert %g : tensor<128x256xf32> to tensor<128x256xbf16>
    %at = tile.slice %C[%t, %c0] : !tile.global<?x256xbf16> -> !tile.slice<128x256xbf16>
    tile.store %h, %at staging %staging : !tile.shared<2x2x64x64xbf16> atom tma : tensor<128x256xbf16>, !tile.slice<128x256xbf16>
    tile.report "stored"
    %first = arith.cmpi eq, %t, %c0 : index
    scf.if %first {
      tile.report "also"
    }
  }
  tile.return
}
}

//--- far.mlir

// Tiles that are 2^64 elements apart do not overlap.
// CHECK-LABEL: tile.kernel @far(
// CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %{{false.*}},
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @far(%m: index {program.argument = #program.dimension<"m">},
    %C: !tile.global<?x256xbf16> {program.argument = #program.tensor<"C", output, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 1099511627776 : index
  %factor = arith.constant 16777216 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x256xbf16>
  %staging = tile.alloc_shared "C.staging" : !tile.shared<2x2x64x64xbf16>
  scf.for %t = %c0 to %m step %step {
    %zero = tile.splat %f0 : f32 -> tensor<128x256xf32>
    %f = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x256xbf16>, tensor<128x256xf32>
    %g = tile.gemm_wait %f pending(0) : tensor<128x256xf32>
    %h = tile.convert %g : tensor<128x256xf32> to tensor<128x256xbf16>
    %p = arith.muli %t, %factor : index
    %at = tile.slice %C[%p, %c0] : !tile.global<?x256xbf16> -> !tile.slice<128x256xbf16>
    tile.store %h, %at staging %staging : !tile.shared<2x2x64x64xbf16> atom tma : tensor<128x256xbf16>, !tile.slice<128x256xbf16>
  }
  tile.return
}
}

//--- stay.mlir

// By ordinary stores the threads themselves are busy: nothing to gain.
// CHECK-LABEL: tile.kernel @by_threads(
// CHECK-NOT:     iter_args
// CHECK:         tile.store
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @by_threads(%m: index {program.argument = #program.dimension<"m">},
    %C: !tile.global<?x256xf32> {program.argument = #program.tensor<"C", output, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x256xbf16>
  scf.for %t = %c0 to %m step %c128 {
    %zero = tile.splat %f0 : f32 -> tensor<128x256xf32>
    %f = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x256xbf16>, tensor<128x256xf32>
    %g = tile.gemm_wait %f pending(0) : tensor<128x256xf32>
    %at = tile.slice %C[%t, %c0] : !tile.global<?x256xf32> -> !tile.slice<128x256xf32>
    tile.store %g, %at atom simt : tensor<128x256xf32>, !tile.slice<128x256xf32>
  }
  tile.return
}

}

// -----

// A release after the store hands memory over: the store is not the tile's last effect.
// CHECK-LABEL: tile.kernel @not_last(
// CHECK-NOT:     iter_args(%{{.*}} = %false
// CHECK:         tile.gemm_wait
// CHECK:         tile.store
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @not_last(%m: index {program.argument = #program.dimension<"m">},
    %C: !tile.global<?x256xbf16> {program.argument = #program.tensor<"C", output, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %ring = tile.alloc_ring "ab" : !tile.ring<2>
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x256xbf16>
  %staging = tile.alloc_shared "C.staging" : !tile.shared<2x2x64x64xbf16>
  %start = tile.cursor : !tile.cursor<2>
  %end = scf.for %t = %c0 to %m step %c128 iter_args(%at = %start) -> (!tile.cursor<2>) {
    %zero = tile.splat %f0 : f32 -> tensor<128x256xf32>
    %f = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x256xbf16>, tensor<128x256xf32>
    %g = tile.gemm_wait %f pending(0) : tensor<128x256xf32>
    %h = tile.convert %g : tensor<128x256xf32> to tensor<128x256xbf16>
    %slice = tile.slice %C[%t, %c0] : !tile.global<?x256xbf16> -> !tile.slice<128x256xbf16>
    tile.store %h, %slice staging %staging : !tile.shared<2x2x64x64xbf16> atom tma : tensor<128x256xbf16>, !tile.slice<128x256xbf16>
    tile.release %ring[%at] : !tile.ring<2>
    %next = tile.advance %at : !tile.cursor<2>
    scf.yield %next : !tile.cursor<2>
  }
  tile.return
}
}

// -----

// The next tile reads the tensor that this one is stored to: it must find it there.
// CHECK-LABEL: tile.kernel @read_again(
// CHECK-NOT:     iter_args
// CHECK:         tile.load
// CHECK:         tile.store
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @read_again(%m: index {program.argument = #program.dimension<"m">},
    %C: !tile.global<?x64xbf16> {program.argument = #program.tensor<"C", inout, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %staging = tile.alloc_shared "C.staging" : !tile.shared<1x2x64x64xbf16>
  scf.for %t = %c0 to %m step %c128 {
    %from = tile.slice %C[%c0, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    %a = tile.load %from : !tile.slice<64x64xbf16> -> tensor<64x64xbf16>
    %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
    %f = tile.gemm_async %a, %b, %zero atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    %g = tile.gemm_wait %f pending(0) : tensor<64x64xf32>
    %h = tile.convert %g : tensor<64x64xf32> to tensor<64x64xbf16>
    %slice = tile.slice %C[%t, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.store %h, %slice staging %staging : !tile.shared<1x2x64x64xbf16> atom tma : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
  }
  tile.return
}
}

// -----

// Where warpgroups take turns, one's products run under the other's store anyway.
// CHECK-LABEL: tile.kernel @in_turn(
// CHECK-NOT:     iter_args
// CHECK:         tile.store
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @in_turn(%m: index {program.argument = #program.dimension<"m">},
    %C: !tile.global<?x256xbf16> {program.argument = #program.tensor<"C", output, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x256xbf16>
  %staging = tile.alloc_shared "C.staging" : !tile.shared<2x2x64x64xbf16>
  tile.roles {
    tile.role "math" warps(8) {
      scf.for %t = %c0 to %m step %c128 {
        %zero = tile.splat %f0 : f32 -> tensor<128x256xf32>
        tile.take_turn
        %f = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x256xbf16>, tensor<128x256xf32>
        tile.pass_turn
        %g = tile.gemm_wait %f pending(0) : tensor<128x256xf32>
        %h = tile.convert %g : tensor<128x256xf32> to tensor<128x256xbf16>
        %at = tile.slice %C[%t, %c0] : !tile.global<?x256xbf16> -> !tile.slice<128x256xbf16>
        tile.store %h, %at staging %staging : !tile.shared<2x2x64x64xbf16> atom tma : tensor<128x256xbf16>, !tile.slice<128x256xbf16>
      }
    }
  }
  tile.return
}

}

// -----

// Tiles that overlap are stored in their order, and so are those of a tensor that is stored to elsewhere.
// CHECK-LABEL: tile.kernel @overlapping(
// CHECK-NOT:     iter_args
// CHECK:         tile.store
// CHECK-LABEL: tile.kernel @stored_elsewhere(
// CHECK-NOT:     iter_args
// CHECK:         tile.store
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @overlapping(%m: index {program.argument = #program.dimension<"m">},
    %C: !tile.global<?x256xbf16> {program.argument = #program.tensor<"C", output, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %none = tile.splat %h0 : bf16 -> tensor<128x256xbf16>
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x256xbf16>
  %staging = tile.alloc_shared "C.staging" : !tile.shared<2x2x64x64xbf16>
  scf.for %t = %c0 to %m step %c64 {
    %zero = tile.splat %f0 : f32 -> tensor<128x256xf32>
    %f = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x256xbf16>, tensor<128x256xf32>
    %g = tile.gemm_wait %f pending(0) : tensor<128x256xf32>
    %h = tile.convert %g : tensor<128x256xf32> to tensor<128x256xbf16>
    %at = tile.slice %C[%t, %c0] : !tile.global<?x256xbf16> -> !tile.slice<128x256xbf16>
    tile.store %h, %at staging %staging : !tile.shared<2x2x64x64xbf16> atom tma : tensor<128x256xbf16>, !tile.slice<128x256xbf16>
  }
  tile.return
}
tile.kernel @stored_elsewhere(%m: index {program.argument = #program.dimension<"m">},
    %C: !tile.global<?x256xbf16> {program.argument = #program.tensor<"C", output, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %none = tile.splat %h0 : bf16 -> tensor<128x256xbf16>
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x256xbf16>
  %staging = tile.alloc_shared "C.staging" : !tile.shared<2x2x64x64xbf16>
  scf.for %t = %c0 to %m step %c128 {
    %zero = tile.splat %f0 : f32 -> tensor<128x256xf32>
    %f = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x256xbf16>, tensor<128x256xf32>
    %g = tile.gemm_wait %f pending(0) : tensor<128x256xf32>
    %h = tile.convert %g : tensor<128x256xf32> to tensor<128x256xbf16>
    %at = tile.slice %C[%t, %c0] : !tile.global<?x256xbf16> -> !tile.slice<128x256xbf16>
    tile.store %h, %at staging %staging : !tile.shared<2x2x64x64xbf16> atom tma : tensor<128x256xbf16>, !tile.slice<128x256xbf16>
  }
  %first = tile.slice %C[%c0, %c0] : !tile.global<?x256xbf16> -> !tile.slice<128x256xbf16>
  tile.store %none, %first atom simt : tensor<128x256xbf16>, !tile.slice<128x256xbf16>
  tile.return
}
}
