// RUN: %tlc compile %s --emit nvvm | FileCheck %s

// What copy engines do is an attribute of the module in all phases.
// CHECK: program.transfers = [#program.transfer<"gather", copies = [<from = <0, [<"0">], rank = <"d2">>, to = <1, [<"d0 d2 mul">]>, extents = [<"d0">]>], after = 0, until = 1, rounds = <"d1">, sets = <2, [<"d2">], rank = <"0">>, value = <"1">>]
module attributes {program.transfers = [#program.transfer<"gather",
    copies = [<from = <0, [<"0">], rank = <"d2">>, to = <1, [<"d0 d2 mul">]>, extents = [<"d0">]>], after = 0, until = 1,
    rounds = <"d1">, sets = <2, [<"d2">], rank = <"0">>, value = <"1">>]} {
  tile.kernel @use(%n: index {program.argument = #program.dimension<"n">},
                   %ranks: index {program.argument = #program.dimension<"k.ranks", source = ranks>},
                   %X: !tile.global<?xf32> {program.argument = #program.tensor<"X", input, dims[0], symmetric = true>},
                   %Y: !tile.global<?xf32> {program.argument = #program.tensor<"Y", output, dims[0]>},
                   %there: !tile.global<?xi32>
                     {program.argument = #program.tensor<"there", workspace, dims[1], zero_fill = true, symmetric = true>}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %one = tile.grid %c1 : index
    %count = tile.slice %there of %c0[%c0] : !tile.global<?xi32> -> !tile.slice<1xi32>
    tile.wait_for %count at_least %c1 : !tile.slice<1xi32>
    tile.return
  }
}
