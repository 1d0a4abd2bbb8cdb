// RUN: %tlc-opt %s -tile-to-simt | FileCheck %s
// RUN: %tlc-opt %s -tile-to-simt -simt-to-nvvm | FileCheck %s --check-prefix=LLVM

module attributes {program.target = #program.target<"sm_90a">} {

// One thread looks at the clock after each read in vain, but for the first ones. What is too late is reported, and ends.
// CHECK-LABEL: simt.kernel @limited(
// CHECK:         scf.while (%[[SINCE:.*]] = %c-64_i32) : (i32) -> i32 {
// CHECK-NEXT:      %[[COUNT:.*]] = llvm.load {{.*}} atomic syncscope("device") acquire
// CHECK-NEXT:      %[[LESS:.*]] = arith.cmpi slt, %[[COUNT]]
// CHECK-NEXT:      %[[NEXT:.*]]:2 = scf.if %[[LESS]] -> (i1, i32) {
// CHECK-NEXT:        %[[EARLY:.*]] = arith.cmpi slt, %[[SINCE]], %c0_i32
// CHECK-NEXT:        %[[TRIED:.*]]:2 = scf.if %[[EARLY]] -> (i1, i32) {
// CHECK-NEXT:          %[[MORE:.*]] = arith.addi %[[SINCE]], %c1_i32
// CHECK-NEXT:          scf.yield %true, %[[MORE]]
// CHECK-NEXT:        } else {
// CHECK-NEXT:          %[[TIMER:.*]] = nvvm.read.ptx.sreg.globaltimer : i64
// CHECK-NEXT:          %[[UNITS:.*]] = arith.shrui %[[TIMER]], %c16_i64
// CHECK-NEXT:          %[[WORD:.*]] = arith.trunci %[[UNITS]] : i64 to i32
// CHECK-NEXT:          %[[NOW:.*]] = arith.andi %[[WORD]], %c2147483647_i32
// CHECK-NEXT:          %[[FIRST:.*]] = arith.cmpi eq, %[[SINCE]], %c0_i32
// CHECK-NEXT:          %[[BEGIN:.*]] = arith.select %[[FIRST]], %[[NOW]], %[[SINCE]]
// CHECK-NEXT:          %[[DIFFERENCE:.*]] = arith.subi %[[NOW]], %[[BEGIN]]
// CHECK-NEXT:          %[[TIME:.*]] = arith.andi %[[DIFFERENCE]], %c2147483647_i32
// CHECK-NEXT:          %[[SHORT:.*]] = arith.cmpi eq, %[[TIME]], %c0_i32
// CHECK-NEXT:          %[[AGAIN:.*]] = scf.if %[[SHORT]] -> (i1) {
// CHECK-NEXT:            scf.yield %true
// CHECK-NEXT:          } else {
// CHECK-NEXT:            %[[LATE:.*]] = arith.cmpi ult, %c3052_i32, %[[TIME]]
// CHECK-NEXT:            scf.if %[[LATE]] {
// CHECK-NEXT:              simt.report #program.report<check, "'limited' waited 0.2 s for at least {} in 'C', which is {}", "{{.*}}wait_limit.mlir:[[@LINE+29]]:3", [i32, i32], axes = 1> at[%c5_i32] values(%{{.*}}, %[[COUNT]] : i32, i32)
// CHECK-NEXT:              simt.end_waits
// CHECK-NEXT:            }
// CHECK-NEXT:            %[[END:.*]] = simt.waits_end
// CHECK-NEXT:            %[[GOES_ON:.*]] = arith.cmpi eq, %[[END]], %false
// CHECK-NEXT:            scf.yield %[[GOES_ON]]
// CHECK-NEXT:          }
// CHECK-NEXT:          scf.yield %[[AGAIN]], %[[BEGIN]]
// CHECK-NEXT:        }
// CHECK-NEXT:        scf.yield %[[TRIED]]#0, %[[TRIED]]#1
// CHECK-NEXT:      } else {
// CHECK-NEXT:        scf.yield %false, %[[SINCE]]
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.condition(%[[NEXT]]#0) %[[NEXT]]#1
// CHECK:         simt.sync
// LLVM: program.reports = [#program.report<check,
// LLVM: llvm.mlir.global external @reports$
// LLVM-LABEL: llvm.func @limited(
// LLVM:         nvvm.read.ptx.sreg.globaltimer
// LLVM:         %[[WORD:.*]] = llvm.getelementptr %{{.*}}[8]
// LLVM:         llvm.store %{{.*}}, %[[WORD]] atomic syncscope("device") monotonic {alignment = 4 : i64}
// LLVM:         %[[SAME:.*]] = llvm.getelementptr %{{.*}}[8]
// LLVM:         llvm.load %[[SAME]] atomic syncscope("device") monotonic {alignment = 4 : i64}
tile.kernel @limited(%n: index {program.argument = #program.dimension<"n">}, %rank: index {program.argument = #program.dimension<"k.rank", source = rank>},
    %C: !tile.global<8xi32> {program.argument = #program.tensor<"C", inout, dims[-1]>},
    %D: !tile.global<8x8xi32> {program.argument = #program.tensor<"D", inout, dims[-1, -1], symmetric = true>}) attributes {launch = #program.launch<warps = 4>} {
  %c5 = arith.constant 5 : index
  %count = tile.slice %C[%c5] unchecked "it is there" : !tile.global<8xi32> -> !tile.slice<1xi32>
  // Later than 0.2 s.
  tile.wait_for %count at_least %n within 200000000 ns : !tile.slice<1xi32>
  tile.return
}

// Whose count it is is told, too.
// CHECK-LABEL: simt.kernel @of_rank(
// CHECK:         atomic acquire
// CHECK:         simt.report #program.report<check, "'of_rank' waited 10 s for at least {} in 'D.of({})', which is {}", {{.*}}, [i32, i32, i32], axes = 2> at[%c1_i32, %c0_i32] values(%{{.*}}, %[[RANK:.*]], %{{.*}} : i32, i32, i32)
tile.kernel @of_rank(%n: index {program.argument = #program.dimension<"n">}, %rank: index {program.argument = #program.dimension<"k.rank", source = rank>},
    %C: !tile.global<8xi32> {program.argument = #program.tensor<"C", inout, dims[-1]>},
    %D: !tile.global<8x8xi32> {program.argument = #program.tensor<"D", inout, dims[-1, -1], symmetric = true>}) attributes {launch = #program.launch<warps = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %count = tile.slice %D of %rank[%c1, %c0] unchecked "it is there" : !tile.global<8x8xi32> -> !tile.slice<1x1xi32>
  tile.wait_for %count at_least %c1 within 10000000000 ns : !tile.slice<1x1xi32>
  tile.return
}

}
