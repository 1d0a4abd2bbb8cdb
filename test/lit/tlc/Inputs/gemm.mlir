// A product of bf16 matrices, B stored transposed, as the language traces it.
tile.kernel @gemm(
    %m: index {program.argument = #program.dimension<"m">},
    %n: index {program.argument = #program.dimension<"n">},
    %k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 2]>},
    %B: !tile.global<?x?xbf16> {program.argument = #program.tensor<"B", input, dims[1, 2]>},
    %C: !tile.global<?x?xf32> {program.argument = #program.tensor<"C", output, dims[0, 1]>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %rows = arith.ceildivui %m, %c128 : index
  %columns = arith.ceildivui %n, %c64 : index
  %steps = arith.ceildivui %k, %c64 : index
  tile.persistent (%im, %in) in (%rows, %columns) group(16) {
    %row = arith.muli %im, %c128 : index
    %column = arith.muli %in, %c64 : index
    %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
    %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
    %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
    %sum = tile.variable %zero "sum" : !tile.variable<tensor<128x64xf32>>
    scf.for %j = %c0 to %steps step %c1 {
      %at = arith.muli %j, %c64 : index
      %fromA = tile.slice %A[%row, %at] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
      tile.copy %fromA, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
      %fromB = tile.slice %B[%column, %at] : !tile.global<?x?xbf16> -> !tile.slice<64x64xbf16>
      tile.copy %fromB, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
      %bt = tile.transpose %b : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
      %old = tile.read %sum : !tile.variable<tensor<128x64xf32>>
      %new = tile.gemm %a, %bt, %old
          : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<128x64xf32>
      tile.write %new, %sum : !tile.variable<tensor<128x64xf32>>
    } {tile.pipeline = #tile.pipeline<stages = 3>}
    %all = tile.read %sum : !tile.variable<tensor<128x64xf32>>
    %to = tile.slice %C[%row, %column] : !tile.global<?x?xf32> -> !tile.slice<128x64xf32>
    tile.store %all, %to : tensor<128x64xf32>, !tile.slice<128x64xf32>
  }
  tile.return
}
