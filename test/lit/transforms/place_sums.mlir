// RUN: %tile-opt %s --tile-place-sums -split-input-file | FileCheck %s
// RUN: %tile-opt %s --tile-place-sums=factors=false -split-input-file | FileCheck %s --check-prefix=SHARED

// What a loop sums up from zeros stays in tensor memory until it ends. The first product overwrites; a loop without iterations
// leaves zeros.
// CHECK-LABEL: tile.kernel @carried(
// CHECK:         %[[SUM:.*]] = tile.alloc_tensor_memory "sum" : !tile.tensor_memory<128x64xf32>
// CHECK:         %[[ZERO:.*]] = tile.splat
// CHECK:         scf.for %[[I:.*]] = %[[FIRST:.*]] to %[[END:.*]] step
// CHECK:           %[[LATER:.*]] = arith.cmpi ne, %[[I]], %[[FIRST]]
// CHECK-NEXT:      tile.gemm_in_place %a, %b, %[[SUM]] if %[[LATER]]
// CHECK-NOT:       tile.load
// CHECK:         }
// CHECK-NEXT:    %[[ANY:.*]] = arith.cmpi slt, %[[FIRST]], %[[END]]
// CHECK-NEXT:    %[[LOADED:.*]] = scf.if %[[ANY]] -> (tensor<128x64xf32>) {
// CHECK-NEXT:      %[[VALUE:.*]] = tile.load %[[SUM]]
// CHECK-NEXT:      scf.yield %[[VALUE]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %[[ZERO]]
// CHECK:         tile.store %[[LOADED]]
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @carried(%k: index {program.argument = #program.dimension<"k">},
    %C: !tile.global<128x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
    %new = tile.gemm %a, %b, %acc atom tcgen05 : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    scf.yield %new : tensor<128x64xf32>
  }
  %sc = tile.slice %C[%c0, %c0] : !tile.global<128x64xf32> -> !tile.slice<128x64xf32>
  tile.store %sum, %sc : tensor<128x64xf32>, !tile.slice<128x64xf32>
  tile.return
}
}

// -----

// Of two products in a loop each is loaded at once, and added to what the loop carries in registers. A left factor in registers
// goes through tensor memory. From zeros nothing is added. mma.sync adds in registers.
// CHECK-LABEL: tile.kernel @one_by_one(
// CHECK:         %[[FACTOR:.*]] = tile.alloc_tensor_memory "factor" : !tile.tensor_memory<128x64xbf16>
// SHARED-LABEL: tile.kernel @one_by_one(
// SHARED:        tile.alloc_shared "factor" : !tile.shared<128x64xbf16>
// CHECK:         scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}})
// CHECK:           tile.gemm_in_place %a, %b, %[[ONE:.*]] if %false
// CHECK-NEXT:      %[[S:.*]] = tile.load %[[ONE]]
// CHECK-NEXT:      %[[P:.*]] = tile.convert %[[S]]
// CHECK-NEXT:      %[[FALSE:.*]] = arith.constant false
// CHECK-NEXT:      tile.store %[[P]], %[[FACTOR]]
// CHECK-NEXT:      tile.gemm_in_place %[[FACTOR]], %b, %[[TWO:.*]] if %[[FALSE]]
// CHECK-NEXT:      %[[O:.*]] = tile.load %[[TWO]]
// CHECK-NEXT:      %[[ADDED:.*]] = arith.addf %[[ACC]], %[[O]]
// CHECK-NEXT:      %[[LAST:.*]] = tile.gemm %a, %b, %[[ADDED]] atom mma_sync
// CHECK-NEXT:      scf.yield %[[LAST]]
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @one_by_one(%k: index {program.argument = #program.dimension<"k">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
    %s = tile.gemm %a, %b, %zero atom tcgen05 : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    %p = tile.convert %s : tensor<128x64xf32> to tensor<128x64xbf16>
    %o = tile.gemm %p, %b, %acc atom tcgen05 : tensor<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    %last = tile.gemm %a, %b, %o atom mma_sync : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    scf.yield %last : tensor<128x64xf32>
  }
  tile.return
}
}

// -----

// What a loop changes by numbers and by numbers of rows stays in tensor memory: 32 columns and then the rest are loaded, changed
// and stored before the product. The first iteration changes zeros.
// CHECK-LABEL: tile.kernel @changed(
// CHECK:         %[[SUM:.*]] = tile.alloc_tensor_memory "sum" : !tile.tensor_memory<128x48xf32>
// CHECK:         scf.for %[[I:.*]] = %c0 to
// CHECK:           %[[FIRST:.*]] = arith.cmpi eq, %[[I]], %c0
// CHECK-NEXT:      scf.if %[[FIRST]] {
// CHECK-NEXT:        %[[ONE:.*]] = tile.columns %[[SUM]] from 0 : !tile.tensor_memory<128x48xf32> -> !tile.tensor_memory<128x32xf32>
// CHECK-NEXT:        %[[NOTHING:.*]] = arith.constant 0.0
// CHECK-NEXT:        %[[ZEROS:.*]] = tile.splat %[[NOTHING]]
// CHECK:             arith.mulf %[[ZEROS]],
// CHECK:             tile.store %{{.*}}, %[[ONE]]
// CHECK:           } else {
// CHECK-NEXT:        %[[PART:.*]] = tile.columns %[[SUM]] from 0 : !tile.tensor_memory<128x48xf32> -> !tile.tensor_memory<128x32xf32>
// CHECK-NEXT:        %[[OLD:.*]] = tile.load %[[PART]]
// CHECK-NEXT:        %[[WIDE:.*]] = tile.broadcast %[[ROWS:.*]] : tensor<128x1xf32> -> tensor<128x32xf32>
// CHECK-NEXT:        %[[SCALED:.*]] = arith.mulf %[[OLD]], %[[WIDE]] : tensor<128x32xf32>
// CHECK-NEXT:        %[[TWO:.*]] = tile.splat
// CHECK-NEXT:        %[[NEW:.*]] = arith.subf %[[TWO]], %[[SCALED]]
// CHECK-NEXT:        tile.store %[[NEW]], %[[PART]]
// CHECK-NEXT:        %[[REST:.*]] = tile.columns %[[SUM]] from 32 : !tile.tensor_memory<128x48xf32> -> !tile.tensor_memory<128x16xf32>
// CHECK:             tile.store %{{.*}}, %[[REST]]
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[TRUE:.*]] = arith.constant true
// CHECK-NEXT:      tile.gemm_in_place %a, %b, %[[SUM]] if %[[TRUE]]
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @changed(%k: index {program.argument = #program.dimension<"k">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %f2 = arith.constant 2.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x48xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x48xf32>
  %rows = tile.splat %f2 : f32 -> tensor<128x1xf32>
  %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<128x48xf32>) {
    %wide = tile.broadcast %rows : tensor<128x1xf32> -> tensor<128x48xf32>
    %scaled = arith.mulf %acc, %wide : tensor<128x48xf32>
    %two = tile.splat %f2 : f32 -> tensor<128x48xf32>
    %changed = arith.subf %two, %scaled : tensor<128x48xf32>
    %new = tile.gemm %a, %b, %changed atom tcgen05 : !tile.shared<128x64xbf16>, !tile.shared<64x48xbf16>, tensor<128x48xf32>
    scf.yield %new : tensor<128x48xf32>
  }
  tile.return
}
}

// -----

// In a branch likewise, after zeros in the first iteration. What the branch computes for it, it gives.
// CHECK-LABEL: tile.kernel @changed_in_branch(
// CHECK:         scf.for %[[I:.*]] = %c0 to {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[MOST:.*]] = %{{.*}})
// CHECK:           %[[IF:.*]] = arith.cmpi
// CHECK-NEXT:      %[[GIVEN:.*]]:2 = scf.if %[[IF]] -> (tensor<128x1xf32>, tensor<128x1xf32>) {
// CHECK-NEXT:        %[[SCALE:.*]] = arith.addf
// CHECK:             scf.yield %[[SCALE]], %[[SCALE]]
// CHECK-NEXT:      } else {
// CHECK-NEXT:        %[[NOTHING:.*]] = arith.constant 0.0
// CHECK-NEXT:        %[[NONE:.*]] = tile.splat %[[NOTHING]]
// CHECK-NEXT:        scf.yield %[[MOST]], %[[NONE]]
// CHECK-NEXT:      }
// CHECK:           %[[FIRST:.*]] = arith.cmpi eq, %[[I]], %c0
// CHECK-NEXT:      %[[EITHER:.*]] = arith.ori %[[IF]], %[[FIRST]]
// CHECK-NEXT:      scf.if %[[EITHER]] {
// CHECK-NEXT:        scf.if %[[FIRST]] {
// CHECK:               tile.store
// CHECK:             }
// CHECK-NEXT:        scf.if %[[IF]] {
// CHECK:               tile.load
// CHECK-NEXT:          tile.broadcast %[[GIVEN]]#1 : tensor<128x1xf32> -> tensor<128x32xf32>
// CHECK:               tile.store
// CHECK:           tile.gemm_in_place
// CHECK:           scf.yield %[[ACC]], %[[GIVEN]]#0
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @changed_in_branch(%k: index {program.argument = #program.dimension<"k">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %f2 = arith.constant 2.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x48xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x48xf32>
  %rows = tile.splat %f2 : f32 -> tensor<128x1xf32>
  %sum:2 = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero, %most = %rows) -> (tensor<128x48xf32>, tensor<128x1xf32>) {
    %if = arith.cmpi sgt, %kk, %c64 : index
    %both:2 = scf.if %if -> (tensor<128x48xf32>, tensor<128x1xf32>) {
      %scale = arith.addf %most, %rows : tensor<128x1xf32>
      %wide = tile.broadcast %scale : tensor<128x1xf32> -> tensor<128x48xf32>
      %scaled = arith.mulf %acc, %wide : tensor<128x48xf32>
      scf.yield %scaled, %scale : tensor<128x48xf32>, tensor<128x1xf32>
    } else {
      scf.yield %acc, %most : tensor<128x48xf32>, tensor<128x1xf32>
    }
    %new = tile.gemm %a, %b, %both#0 atom tcgen05 : !tile.shared<128x64xbf16>, !tile.shared<64x48xbf16>, tensor<128x48xf32>
    scf.yield %new, %both#1 : tensor<128x48xf32>, tensor<128x1xf32>
  }
  tile.return
}
}

// -----

// A fragment of other numbers for each column, a second use, or a start from other numbers than zeros: added in registers.
// CHECK-LABEL: tile.kernel @changed_otherwise(
// CHECK-COUNT-3: tile.alloc_tensor_memory "product
// CHECK-NOT:     tile.columns
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @changed_otherwise(%k: index {program.argument = #program.dimension<"k">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %f2 = arith.constant 2.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x48xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x48xf32>
  %rows = tile.splat %f2 : f32 -> tensor<128x1xf32>
  %twos = tile.splat %f2 : f32 -> tensor<128x48xf32>
  %sum:3 = scf.for %kk = %c0 to %k step %c64 iter_args(%x = %zero, %y = %zero, %z = %twos) -> (tensor<128x48xf32>, tensor<128x48xf32>, tensor<128x48xf32>) {
    %columns = tile.coordinates 1 : tensor<128x48xindex>
    %numbers = arith.index_cast %columns : tensor<128x48xindex> to tensor<128x48xi32>
    %floats = arith.sitofp %numbers : tensor<128x48xi32> to tensor<128x48xf32>
    %x1 = arith.mulf %x, %floats : tensor<128x48xf32>
    %x2 = tile.gemm %a, %b, %x1 atom tcgen05 : !tile.shared<128x64xbf16>, !tile.shared<64x48xbf16>, tensor<128x48xf32>
    %y1 = arith.mulf %y, %y : tensor<128x48xf32>
    %y2 = tile.gemm %a, %b, %y1 atom tcgen05 : !tile.shared<128x64xbf16>, !tile.shared<64x48xbf16>, tensor<128x48xf32>
    %z1 = arith.mulf %z, %twos : tensor<128x48xf32>
    %z2 = tile.gemm %a, %b, %z1 atom tcgen05 : !tile.shared<128x64xbf16>, !tile.shared<64x48xbf16>, tensor<128x48xf32>
    scf.yield %x2, %y2, %z2 : tensor<128x48xf32>, tensor<128x48xf32>, tensor<128x48xf32>
  }
  tile.return
}
}

// -----

// Where columns are not enough for a left factor, it takes those of the sum from which it is computed.
// CHECK-LABEL: tile.kernel @over(
// CHECK:         tile.alloc_tensor_memory "factor" over "product" : !tile.tensor_memory<128x128xbf16>
// CHECK:         tile.alloc_tensor_memory "product" : !tile.tensor_memory<128x128xf32>
// SHARED-LABEL: tile.kernel @over(
// SHARED:        tile.alloc_shared "factor" : !tile.shared<128x128xbf16>
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @over(%k: index {program.argument = #program.dimension<"k">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x128xbf16>
  %v = tile.alloc_shared "v" : !tile.shared<128x256xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x256xf32>
  %none = tile.splat %f0 : f32 -> tensor<128x128xf32>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.gemm %a, %b, %none atom tcgen05 : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, tensor<128x128xf32>
    %p = tile.convert %s : tensor<128x128xf32> to tensor<128x128xbf16>
    %o = tile.gemm %p, %v, %zero atom tcgen05 : tensor<128x128xbf16>, !tile.shared<128x256xbf16>, tensor<128x256xf32>
    %w = tile.gemm %a, %b, %none atom tcgen05 : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16>, tensor<128x128xf32>
  }
  tile.return
}
}
