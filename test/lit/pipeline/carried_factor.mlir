// RUN: %tlc compile %s --emit pipelined | FileCheck %s

// The branch reads the product's left factor from registers, one product later. The factor does not travel to the next
// iteration while the product reads it: that would move its registers. So the product is complete in its own iteration.
// CHECK: scf.for
// CHECK: %[[SUM:.*]] = tile.gemm_async %{{.*}} atom wgmma : tensor<64x16xbf16>
// CHECK: tile.gemm_wait %[[SUM]]
// CHECK: tile.reduce sum
// CHECK: scf.yield
tile.kernel @carried(%n: index {program.argument = #program.dimension<"n">},
                     %A: !tile.global<?x16xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1]>},
                     %B: !tile.global<16x16xbf16> {program.argument = #program.tensor<"B", input, dims[-1, -1]>},
                     %C: !tile.global<16x64xbf16> {program.argument = #program.tensor<"C", input, dims[-1, -1]>},
                     %Y: !tile.global<64x64xf32> {program.argument = #program.tensor<"Y", output, dims[-1, -1]>}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %one = tile.grid %c1 : index
  %first = tile.splat %zero : f32 -> tensor<64x16xf32>
  %x0 = tile.variable %first "x0" : !tile.variable<tensor<64x16xf32>>
  %second = tile.splat %zero : f32 -> tensor<64x64xf32>
  %x1 = tile.variable %second "x1" : !tile.variable<tensor<64x64xf32>>
  %steps = arith.ceildivui %n, %c64 : index
  scf.for %i = %c0 to %steps step %c1 {
    %row = arith.muli %i, %c64 : index
    %a = tile.alloc_shared "a" : !tile.shared<64x16xbf16>
    %fromA = tile.slice %A[%row, %c0] : !tile.global<?x16xbf16> -> !tile.slice<64x16xbf16>
    tile.copy %fromA, %a : !tile.slice<64x16xbf16>, !tile.shared<64x16xbf16>
    %factor = tile.load %a : !tile.shared<64x16xbf16> -> tensor<64x16xbf16>
    %b = tile.alloc_shared "b" : !tile.shared<16x16xbf16>
    %fromB = tile.slice %B[%c0, %c0] : !tile.global<16x16xbf16> -> !tile.slice<16x16xbf16>
    tile.copy %fromB, %b : !tile.slice<16x16xbf16>, !tile.shared<16x16xbf16>
    %sum0 = tile.read %x0 : !tile.variable<tensor<64x16xf32>>
    %added0 = tile.gemm %factor, %b, %sum0 : tensor<64x16xbf16>, !tile.shared<16x16xbf16>, tensor<64x16xf32>
    tile.write %added0, %x0 : !tile.variable<tensor<64x16xf32>>
    %c = tile.alloc_shared "c" : !tile.shared<16x64xbf16>
    %fromC = tile.slice %C[%c0, %c0] : !tile.global<16x64xbf16> -> !tile.slice<16x64xbf16>
    tile.copy %fromC, %c : !tile.slice<16x64xbf16>, !tile.shared<16x64xbf16>
    %sum1 = tile.read %x1 : !tile.variable<tensor<64x64xf32>>
    %added1 = tile.gemm %a, %c, %sum1 policy full_col : !tile.shared<64x16xbf16>, !tile.shared<16x64xbf16>, tensor<64x64xf32>
    tile.write %added1, %x1 : !tile.variable<tensor<64x64xf32>>
    %early = arith.cmpi slt, %i, %c2 : index
    scf.if %early {
      %sum = tile.read %x1 : !tile.variable<tensor<64x64xf32>>
      %parts = tile.reduce sum %factor axis(1) : tensor<64x16xbf16> -> tensor<64x1xbf16>
      %wide = tile.convert %parts : tensor<64x1xbf16> to tensor<64x1xf32>
      %all = tile.broadcast %wide : tensor<64x1xf32> -> tensor<64x64xf32>
      %larger = arith.maximumf %sum, %all : tensor<64x64xf32>
      tile.write %larger, %x1 : !tile.variable<tensor<64x64xf32>>
    }
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %y = tile.slice %Y[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  %result = tile.read %x1 : !tile.variable<tensor<64x64xf32>>
  tile.store %result, %y : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}
