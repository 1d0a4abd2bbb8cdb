// RUN: %tlc compile %s --remarks 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks

// What the loop carries is the accumulator of a product that is made in each iteration: for LLVM it is moved when the
// iteration ends, while the product is in flight. The machine code shows that, and the products of this loop wait. Those of
// the loop after it overlap.
// REMARK: moved_registers.mlir:29:5: remark: [sequential-products] the products of this loop do not overlap: the machine code would move registers of a product in flight
// CHECK: .entry moved(
// CHECK: wgmma.mma_async
// CHECK-NOT: wgmma.wait_group.sync.aligned 1;
// CHECK-COUNT-2: wgmma.wait_group.sync.aligned 0;
// CHECK: wgmma.wait_group.sync.aligned 1;
module {
  tile.kernel @moved(%n: index {program.argument = #program.dimension<"n">},
                     %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1]>},
                     %B: !tile.global<?x8xbf16> {program.argument = #program.tensor<"B", input, dims[0, -1]>},
                     %C: !tile.global<?x8xf32> {program.argument = #program.tensor<"C", output, dims[0, -1]>}) {
    %inf = arith.constant 0xFF800000 : f32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c64 = arith.constant 64 : index
    %f0 = arith.constant 0.0 : f32
    %first = tile.grid %c3 : index
    %zero = tile.splat %f0 : f32 -> tensor<64x8xf32>
    %carried = tile.variable %zero "carried" : !tile.variable<tensor<64x8xf32>>
    %end = arith.addi %first, %c2 : index
    scf.for %i = %first to %end step %c1 {
      %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
      %from = tile.slice %A[%c0, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
      tile.copy %from, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
      %b = tile.alloc_shared "b" : !tile.shared<64x8xbf16>
      %from_b = tile.slice %B[%c0, %c0] : !tile.global<?x8xbf16> -> !tile.slice<64x8xbf16>
      tile.copy %from_b, %b : !tile.slice<64x8xbf16>, !tile.shared<64x8xbf16>
      %transposed = tile.transpose %a : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
      %sum = tile.gemm %transposed, %b, %zero : !tile.shared<64x64xbf16, transposed>, !tile.shared<64x8xbf16>, tensor<64x8xf32>
      %old = tile.read %carried : !tile.variable<tensor<64x8xf32>>
      %less = arith.cmpf ole, %sum, %old : tensor<64x8xf32>
      %number = arith.index_cast %i : index to i32
      %number_f = tile.convert %number : i32 to f32
      %lowest = tile.splat %inf : f32 -> tensor<64x8xf32>
      %numbers = tile.splat %number_f : f32 -> tensor<64x8xf32>
      %chosen = arith.select %less, %lowest, %numbers : tensor<64x8xi1>, tensor<64x8xf32>
      tile.write %chosen, %carried : !tile.variable<tensor<64x8xf32>>
      %c = tile.alloc_shared "c" : !tile.shared<64x16xbf16>
      %from_c = tile.slice %A[%c0, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x16xbf16>
      tile.copy %from_c, %c : !tile.slice<64x16xbf16>, !tile.shared<64x16xbf16>
      %d = tile.alloc_shared "d" : !tile.shared<16x8xbf16>
      %from_d = tile.slice %B[%c0, %c0] : !tile.global<?x8xbf16> -> !tile.slice<16x8xbf16>
      tile.copy %from_d, %d : !tile.slice<16x8xbf16>, !tile.shared<16x8xbf16>
      %more = tile.gemm %c, %d, %sum : !tile.shared<64x16xbf16>, !tile.shared<16x8xbf16>, tensor<64x8xf32>
      %isFirst = arith.cmpi slt, %i, %c1 : index
      scf.if %isFirst {
        tile.write %more, %carried : !tile.variable<tensor<64x8xf32>>
      }
    } {tile.pipeline = #tile.pipeline<stages = 5>}
    %total = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x8xf32> {
      %row = arith.muli %j, %c64 : index
      %e = tile.alloc_shared "e" : !tile.shared<64x64xbf16>
      %from_e = tile.slice %A[%row, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
      tile.copy %from_e, %e : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
      %g = tile.alloc_shared "g" : !tile.shared<64x8xbf16>
      %from_g = tile.slice %B[%row, %c0] : !tile.global<?x8xbf16> -> !tile.slice<64x8xbf16>
      tile.copy %from_g, %g : !tile.slice<64x8xbf16>, !tile.shared<64x8xbf16>
      %sums = tile.gemm %e, %g, %acc : !tile.shared<64x64xbf16>, !tile.shared<64x8xbf16>, tensor<64x8xf32>
      scf.yield %sums : tensor<64x8xf32>
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    %out = tile.slice %C[%c0, %c0] : !tile.global<?x8xf32> -> !tile.slice<64x8xf32>
    tile.store %total, %out : tensor<64x8xf32>, !tile.slice<64x8xf32>
    tile.return
  }
}
