// RUN: %tlc compile %s --emit pipelined | FileCheck %s

// The loop has two iterations, so that one is left between the first and the last stage, and no loop around it. There
// the second iteration's minimum is that of the first: the left factor of a product in flight. Its conversion waits.
// CHECK:     tile.role "math"
// CHECK:     tile.gemm_wait
// CHECK:     %[[FACTOR:.*]] = arith.minnumf {{.*}} : tensor<64x64xf32>
// CHECK:     %[[STARTED:.*]] = tile.gemm_async %[[FACTOR]],
// CHECK-NOT: tile.convert
// CHECK:     tile.gemm_wait %[[STARTED]] pending(0)
// CHECK:     tile.convert %[[FACTOR]]
tile.kernel @repeated(%n: index {program.argument = #program.dimension<"n">},
                      %A: !tile.global<?x64xf16> {program.argument = #program.tensor<"A", input, dims[0, -1]>},
                      %B: !tile.global<?x64xf32> {program.argument = #program.tensor<"B", input, dims[0, -1]>},
                      %Y: !tile.global<64x8xf32> {program.argument = #program.tensor<"Y", output, dims[-1, -1]>}) {
  %f0 = arith.constant 0.0 : f32
  %f128 = arith.constant 128.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %one = tile.grid %c1 : index
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %x = tile.variable %zero "x" : !tile.variable<tensor<64x64xf32>>
  %zero8 = tile.splat %f0 : f32 -> tensor<64x8xf32>
  %y = tile.variable %zero8 "y" : !tile.variable<tensor<64x8xf32>>
  scf.for %i = %c0 to %c2 step %c1 {
    %a = tile.alloc_shared "a" : !tile.shared<64x64xf16>
    %fromA = tile.slice %A[%i, %c0] : !tile.global<?x64xf16> -> !tile.slice<64x64xf16>
    tile.copy %fromA, %a : !tile.slice<64x64xf16>, !tile.shared<64x64xf16>
    %sum = tile.read %x : !tile.variable<tensor<64x64xf32>>
    %most = tile.splat %f128 : f32 -> tensor<64x64xf32>
    %early = arith.minnumf %sum, %most : tensor<64x64xf32>
    %narrow = tile.convert %early saturate : tensor<64x64xf32> to tensor<64x64xf16>
    %added = tile.gemm %narrow, %a, %sum : tensor<64x64xf16>, !tile.shared<64x64xf16>, tensor<64x64xf32>
    tile.write %added, %x : !tile.variable<tensor<64x64xf32>>
    %b = tile.alloc_shared "b" : !tile.shared<8x64xf32>
    %fromB = tile.slice %B[%i, %c0] : !tile.global<?x64xf32> -> !tile.slice<8x64xf32>
    tile.copy %fromB, %b : !tile.slice<8x64xf32>, !tile.shared<8x64xf32>
    %bt = tile.transpose %b : !tile.shared<8x64xf32> -> !tile.shared<64x8xf32, transposed>
    %again = tile.read %x : !tile.variable<tensor<64x64xf32>>
    %late = arith.minnumf %again, %most : tensor<64x64xf32>
    %sumY = tile.read %y : !tile.variable<tensor<64x8xf32>>
    %addedY = tile.gemm %late, %bt, %sumY : tensor<64x64xf32>, !tile.shared<64x8xf32, transposed>, tensor<64x8xf32>
    tile.write %addedY, %y : !tile.variable<tensor<64x8xf32>>
  } {tile.pipeline = #tile.pipeline<stages = 1>}
  %to = tile.slice %Y[%c0, %c0] : !tile.global<64x8xf32> -> !tile.slice<64x8xf32>
  %result = tile.read %y : !tile.variable<tensor<64x8xf32>>
  tile.store %result, %to : tensor<64x8xf32>, !tile.slice<64x8xf32>
  tile.return
}
