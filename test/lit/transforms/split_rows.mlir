// RUN: %tile-opt %s --tile-split-rows -split-input-file | FileCheck %s
// RUN: %tile-opt %s --tile-split-rows=enable=false -split-input-file | FileCheck %s --check-prefix=OFF

// Each half has its own rows of what products and stores take, its own numbers of rows, and its own branch where its warps
// decide. Columns are the same for both.
// CHECK-LABEL: tile.kernel @rows(
// CHECK:         %[[LOOP:.*]]:4 = scf.for {{.*}} iter_args(%[[A0:.*]] = %{{.*}}, %[[A1:.*]] = %{{.*}}, %[[M0:.*]] = %{{.*}}, %[[M1:.*]] = %{{.*}}) -> (tensor<128x64xf32>, tensor<128x64xf32>, tensor<128x1xf32>, tensor<128x1xf32>)
// CHECK:           tile.copy %{{.*}}, %b
// CHECK-NOT:       tile.copy
// CHECK:           %[[FIRST:.*]] = tile.rows %a[0]
// CHECK-NEXT:      %[[P0:.*]] = tile.gemm %[[FIRST]], %b, %[[A0]] : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
// CHECK-NEXT:      %[[SECOND:.*]] = tile.rows %a[128]
// CHECK-NEXT:      %[[P1:.*]] = tile.gemm %[[SECOND]], %b, %[[A1]]
// CHECK:           %[[R0:.*]] = tile.reduce max %[[P0]] axis(1) : tensor<128x64xf32> -> tensor<128x1xf32>
// CHECK-NEXT:      %[[R1:.*]] = tile.reduce max %[[P1]]
// CHECK-NEXT:      %[[G0:.*]] = arith.cmpf ogt, %[[R0]], %[[M0]]
// CHECK-NEXT:      %[[G1:.*]] = arith.cmpf ogt, %[[R1]], %[[M1]]
// CHECK-NEXT:      %[[D0:.*]] = tile.any_in_warp %[[G0]]
// CHECK-NEXT:      %[[D1:.*]] = tile.any_in_warp %[[G1]]
// CHECK-NEXT:      %[[B0:.*]] = scf.if %[[D0]] -> (tensor<128x1xf32>) {
// CHECK-NEXT:        arith.maxnumf %[[M0]], %[[R0]]
// CHECK:           %[[B1:.*]] = scf.if %[[D1]] -> (tensor<128x1xf32>) {
// CHECK-NEXT:        arith.maxnumf %[[M1]], %[[R1]]
// CHECK:           scf.yield %[[P0]], %[[P1]], %[[B0]], %[[B1]]
// CHECK:         %[[ROW0:.*]] = tile.coordinates 0 : tensor<128x64xindex>
// CHECK-NEXT:    %[[ROW1:.*]] = tile.coordinates 0
// CHECK:         %[[OFFSET:.*]] = tile.splat %{{.*}} : index -> tensor<128x64xindex>
// CHECK-NEXT:    %[[MOVED:.*]] = arith.addi %[[ROW1]], %[[OFFSET]]
// CHECK-NEXT:    arith.index_cast %[[ROW0]]
// CHECK-NEXT:    arith.index_cast %[[MOVED]]
// CHECK:         %[[C0:.*]] = tile.slice %C[%{{.*}}, %{{.*}}] : !tile.global<256x64xi32> -> !tile.slice<128x64xi32>
// CHECK-NEXT:    tile.store %{{.*}}, %[[C0]]
// CHECK:         %[[AT:.*]] = arith.addi %{{.*}}, %{{.*}} : index
// CHECK:         %[[C1:.*]] = tile.slice %C[%[[AT]], %{{.*}}]
// CHECK:         tile.store %{{.*}}, %[[C1]]
// OFF-LABEL: tile.kernel @rows(
// OFF:         tile.gemm {{.*}} tensor<256x64xf32>
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @rows(%k: index {program.argument = #program.dimension<"k">},
    %B: !tile.global<?x64xbf16> {program.argument = #program.tensor<"B", input, dims[0, -1], alignment = 16>},
    %C: !tile.global<256x64xi32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<256x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<256x64xf32>
  %none = tile.splat %f0 : f32 -> tensor<256x1xf32>
  %sum:2 = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero, %most = %none) -> (tensor<256x64xf32>, tensor<256x1xf32>) {
    %sb = tile.slice %B[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %new = tile.gemm %a, %b, %acc : !tile.shared<256x64xbf16>, !tile.shared<64x64xbf16>, tensor<256x64xf32>
    %row = tile.reduce max %new axis(1) : tensor<256x64xf32> -> tensor<256x1xf32>
    %grows = arith.cmpf ogt, %row, %most : tensor<256x1xf32>
    %any = tile.any_in_warp %grows : tensor<256x1xi1>
    %next = scf.if %any -> (tensor<256x1xf32>) {
      %max = arith.maxnumf %most, %row : tensor<256x1xf32>
      scf.yield %max : tensor<256x1xf32>
    } else {
      scf.yield %most : tensor<256x1xf32>
    }
    scf.yield %new, %next : tensor<256x64xf32>, tensor<256x1xf32>
  }
  %rows = tile.coordinates 0 : tensor<256x64xindex>
  %number = arith.index_cast %rows : tensor<256x64xindex> to tensor<256x64xi32>
  %sc = tile.slice %C[%c0, %c0] : !tile.global<256x64xi32> -> !tile.slice<256x64xi32>
  tile.store %number, %sc : tensor<256x64xi32>, !tile.slice<256x64xi32>
  tile.return
}
}

// -----

// A sum over rows is of both halves.
// CHECK-LABEL: tile.kernel @column_sums(
// CHECK:         tile.gemm {{.*}} tensor<256x64xf32>
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @column_sums(%C: !tile.global<1x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<256x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<256x64xf32>
  %new = tile.gemm %a, %b, %zero : !tile.shared<256x64xbf16>, !tile.shared<64x64xbf16>, tensor<256x64xf32>
  %sum = tile.reduce sum %new axis(0) : tensor<256x64xf32> -> tensor<1x64xf32>
  %sc = tile.slice %C[%c0, %c0] : !tile.global<1x64xf32> -> !tile.slice<1x64xf32>
  tile.store %sum, %sc : tensor<1x64xf32>, !tile.slice<1x64xf32>
  tile.return
}
}

// -----

// Other targets multiply fewer rows at a time.
// CHECK-LABEL: tile.kernel @hopper(
// CHECK:         tile.gemm {{.*}} tensor<256x64xf32>
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @hopper() {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<256x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<256x64xf32>
  %new = tile.gemm %a, %b, %zero : !tile.shared<256x64xbf16>, !tile.shared<64x64xbf16>, tensor<256x64xf32>
  tile.return
}
}

// -----

// 192 rows are 128 and 64.
// CHECK-LABEL: tile.kernel @uneven(
// CHECK:         %[[A:.*]] = tile.rows %a[0] : !tile.shared<192x64xbf16> -> !tile.shared<128x64xbf16>
// CHECK-NEXT:    tile.gemm %[[A]], {{.*}} tensor<128x64xf32>
// CHECK-NEXT:    %[[B:.*]] = tile.rows %a[128] : !tile.shared<192x64xbf16> -> !tile.shared<64x64xbf16>
// CHECK-NEXT:    tile.gemm %[[B]], {{.*}} tensor<64x64xf32>
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @uneven() {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<192x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<192x64xf32>
  %new = tile.gemm %a, %b, %zero : !tile.shared<192x64xbf16>, !tile.shared<64x64xbf16>, tensor<192x64xf32>
  tile.return
}
}
