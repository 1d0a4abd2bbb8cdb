// RUN: %tlc compile %s --emit atoms | FileCheck %s
// RUN: %tlc compile %s --emit ptx -o %t.ptx

// A role of two warps that stores has no panels: it stores the elements of a constant, which it makes itself.
// CHECK: roles = [{{.*}}<"store", warps = 2>
// CHECK: tile.store {{.*}} staging {{.*}} {tile.role = "math"}
// CHECK: tile.store {{%[0-9]+, %[0-9]+}} atom simt {tile.role = "store"}
module attributes {program.target = #program.target<"sm_90a">} {
  tile.kernel @drawn(%n0: index {program.argument = #program.dimension<"n0">}, %n1: index {program.argument = #program.dimension<"n1">}, %n2: index {program.argument = #program.dimension<"n2">}, %n3: index {program.argument = #program.dimension<"n3">}, %n4: index {program.argument = #program.dimension<"n4">}, %n5: index {program.argument = #program.dimension<"n5">}, %A0: !tile.global<?xi32> {program.argument = #program.tensor<"A0", input, dims[0]>}, %A1: !tile.global<?x?xi8> {program.argument = #program.tensor<"A1", input, dims[1, 2], alignment = 16>}, %A2: !tile.global<?x64xf16> {program.argument = #program.tensor<"A2", input, dims[2, -1]>}, %A3.1: index {program.argument = #program.dimension<"A3.1", multiple_of = 64, computed = <"d0 64 mul 0 add">>}, %A3: !tile.global<128x?xf16> {program.argument = #program.tensor<"A3", input, dims[-1, 9]>}, %Y4: !tile.global<?x?xbf16> {program.argument = #program.tensor<"Y4", output, dims[3, 4], alignment = 16>}, %Y5: !tile.global<?x128xbf16> {program.argument = #program.tensor<"Y5", output, dims[5, -1]>}) attributes {store_role} {
    %cst = arith.constant -4.000000e+00 : f32
    %cst_0 = arith.constant 4.000000e+00 : f32
    %c2 = arith.constant 2 : index
    %cst_1 = arith.constant -2.000000e+00 : f32
    %cst_2 = arith.constant 2.000000e+00 : f32
    %c8 = arith.constant 8 : index
    %c2147483644 = arith.constant 2147483644 : index
    %c0_i32 = arith.constant 0 : i32
    %c128 = arith.constant 128 : index
    %c32 = arith.constant 32 : index
    %cst_3 = arith.constant 0.000000e+00 : f32
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c0 = arith.constant 0 : index
    tile.persistent (%arg0) in (%c1) group(3) {
      %0 = tile.splat %cst_3 : f32 -> tensor<64x128xf32>
      %x0 = tile.variable %0 "x0" : !tile.variable<tensor<64x128xf32>>
      %1 = tile.slice %A0[%arg0] : !tile.global<?xi32> -> !tile.slice<1xi32>
      %2 = tile.load_index %1[] : !tile.slice<1xi32>
      scf.for %arg1 = %c0 to %2 step %c1 {
        %t0 = tile.alloc_shared "t0" : !tile.shared<32x128xi8>
        %16 = arith.muli %arg0, %c32 : index
        %17 = arith.muli %arg0, %c128 : index
        %18 = tile.slice %A1[%16, %17] : !tile.global<?x?xi8> -> !tile.slice<32x128xi8>
        tile.copy %18, %t0 : !tile.slice<32x128xi8>, !tile.shared<32x128xi8>
        %19 = tile.splat %c0_i32 : i32 -> tensor<64x32xi32>
        %x1 = tile.variable %19 "x1" : !tile.variable<tensor<64x32xi32>>
        %20 = tile.transpose %t0 : !tile.shared<32x128xi8> -> !tile.shared<128x32xi8, transposed>
        %21 = tile.read %x0 : !tile.variable<tensor<64x128xf32>>
        %22 = tile.convert %21 rounding zero saturate : tensor<64x128xf32> to tensor<64x128xui8>
        %23 = tile.read %x1 : !tile.variable<tensor<64x32xi32>>
        %24 = tile.gemm %22, %20, %23 policy full_col : tensor<64x128xui8>, !tile.shared<128x32xi8, transposed>, tensor<64x32xi32>
        tile.write %24, %x1 : !tile.variable<tensor<64x32xi32>>
      } {tile.pipeline = #tile.pipeline<stages = 2>}
      %3 = tile.splat %cst_3 : f32 -> tensor<64x64xf32>
      %x2 = tile.variable %3 "x2" : !tile.variable<tensor<64x64xf32>>
      %4 = arith.ceildivsi %n0, %c8 : index
      %5 = arith.addi %4, %c2147483644 : index
      scf.for %arg1 = %c2147483644 to %5 step %c1 {
        %16 = arith.subi %arg1, %c2147483644 : index
        %t1 = tile.alloc_shared "t1" : !tile.shared<128x64xf16>
        %17 = arith.muli %16, %c64 : index
        %18 = tile.slice %A2[%c0, %17] : !tile.global<?x64xf16> -> !tile.slice<128x64xf16>
        tile.copy %18, %t1 : !tile.slice<128x64xf16>, !tile.shared<128x64xf16>
        %t2 = tile.alloc_shared "t2" : !tile.shared<128x64xf16>
        %19 = arith.muli %16, %c128 : index
        %20 = arith.muli %arg0, %c64 : index
        %21 = tile.slice %A3[%19, %20] : !tile.global<128x?xf16> -> !tile.slice<128x64xf16>
        tile.copy %21, %t2 : !tile.slice<128x64xf16>, !tile.shared<128x64xf16>
        %22 = tile.transpose %t1 : !tile.shared<128x64xf16> -> !tile.shared<64x128xf16, transposed>
        %23 = tile.read %x2 : !tile.variable<tensor<64x64xf32>>
        %24 = tile.gemm %22, %t2, %23 : !tile.shared<64x128xf16, transposed>, !tile.shared<128x64xf16>, tensor<64x64xf32>
        tile.write %24, %x2 : !tile.variable<tensor<64x64xf32>>
        %25 = arith.cmpi slt, %16, %c1 : index
        scf.if %25 {
          %26 = tile.read %x2 : !tile.variable<tensor<64x64xf32>>
          %27 = tile.splat %cst_2 : f32 -> tensor<64x64xf32>
          %28 = arith.minnumf %26, %27 : tensor<64x64xf32>
          %29 = tile.splat %cst_1 : f32 -> tensor<64x64xf32>
          %30 = arith.maxnumf %28, %29 : tensor<64x64xf32>
          %31 = arith.addf %26, %30 : tensor<64x64xf32>
          tile.write %31, %x2 : !tile.variable<tensor<64x64xf32>>
        }
      } {tile.pipeline = #tile.pipeline<stages = 3>}
      %6 = tile.slice %Y4[%c2, %c0] : !tile.global<?x?xbf16> -> !tile.slice<64x64xbf16>
      %7 = tile.read %x2 : !tile.variable<tensor<64x64xf32>>
      %8 = tile.splat %cst_0 : f32 -> tensor<64x64xf32>
      %9 = arith.minnumf %7, %8 : tensor<64x64xf32>
      %10 = tile.splat %cst : f32 -> tensor<64x64xf32>
      %11 = arith.maxnumf %9, %10 : tensor<64x64xf32>
      %12 = tile.convert %11 : tensor<64x64xf32> to tensor<64x64xbf16>
      tile.store %12, %6 : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
      %13 = tile.slice %Y5[%c2, %c0] : !tile.global<?x128xbf16> -> !tile.slice<64x128xbf16>
      %14 = tile.read %x0 : !tile.variable<tensor<64x128xf32>>
      %15 = tile.convert %14 : tensor<64x128xf32> to tensor<64x128xbf16>
      tile.store %15, %13 : tensor<64x128xbf16>, !tile.slice<64x128xbf16>
    }
    tile.return
  }
}

