// RUN: %tile-opt %s --tile-select-products --tile-assign-roles --tile-select-copies -split-input-file -verify-diagnostics | FileCheck %s

// ptxas refuses a kernel whose threads have fewer registers than an instruction takes when they start.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @residents(
// CHECK:         atom mma_sync
tile.kernel @residents() attributes {launch = #program.launch<residents = 3>} {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x16xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<16x128xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x128xf32>
  // expected-remark @below {{product uses mma.sync, not wgmma: a product of 128 columns takes 90 registers of a thread, which has 80 in blocks of 256 threads with k.residents(3); WarpPolicy::fullColumn, k.warps(4) or k.residents(2) would do}}
  %0 = tile.gemm %a, %b, %zero : !tile.shared<128x16xbf16>, !tile.shared<16x128xbf16>, tensor<128x128xf32>
  tile.return
}
}

// -----

// A role that loads makes the block larger.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @load_role(
// CHECK-NOT:     tile.roles
// CHECK:         atom wgmma
tile.kernel @load_role(%n: index {program.argument = #program.dimension<"n">},
                       %B: !tile.global<64x64xbf16> {program.argument = #program.tensor<"B", input, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<residents = 3>} {
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
    %sb = tile.slice %B[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-remark @below {{threads make this copy, not the TMA: beside a role that loads a product of 64 columns takes 58 registers}}
    tile.copy %sb, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    // expected-remark @below {{is not warp-specialised: beside a role that loads a product of 64 columns takes 58 registers of a thread, which has 56 in blocks of 384 threads with k.residents(3)}}
    %next = tile.gemm %a, %b, %acc : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
    scf.yield %next : tensor<128x64xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
}

// -----

// What a role gives up it does not have; a factor in registers takes 4 more in an instruction, 16 in all of them.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @budget(%y: bf16 {program.argument = #program.scalar<"y">}) {
  %f0 = arith.constant 0.0 : f32
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) registers(56) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %a = tile.splat %y : bf16 -> tensor<64x64xbf16>
      // expected-error @below {{expected a product that wgmma can make because no other matrix instruction is asynchronous, but a product of 64 columns takes 62 registers of a thread, which has 56 by .registers of role 'math'; give it 80 or more}}
      %f = tile.gemm_async %a, %b, %zero : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      %sum = tile.gemm_wait %f pending(0) : tensor<64x64xf32>
    }
    tile.role "other" warps(4) registers(56) {
    }
  }
  tile.return
}
}

// -----

// All instructions of a product are in flight together, with what each has of a left factor in registers.
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @left_factor(
// CHECK:         atom mma_sync
tile.kernel @left_factor(%y: bf16 {program.argument = #program.scalar<"y">}) attributes {launch = #program.launch<warps = 8, residents = 3>} {
  %f0 = arith.constant 0.0 : f32
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %a = tile.splat %y : bf16 -> tensor<128x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
  // 32 sums, 16 of the factor and 26 others are 74.
  %0 = tile.gemm %a, %b, %zero : tensor<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
  %c = tile.alloc_shared "c" : !tile.shared<128x64xbf16>
  %d = tile.splat %y : bf16 -> tensor<128x128xbf16>
  // 32 more of the factor, 90.
  // expected-remark @below {{product uses mma.sync, not wgmma: sums of 64 columns and a left factor in registers take 90 registers of a thread at once, which has 80 in blocks of 256 threads with k.residents(3); k.warps(4) or k.residents(2) would do}}
  %1 = tile.gemm %d, %c, %zero : tensor<128x128xbf16>, !tile.shared<128x64xbf16>, tensor<128x64xf32>
  tile.return
}
}

// -----

// By hand, too: what a role gets beyond the launch counts here, what it gives up does not.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @budget_of_factor(%y: bf16 {program.argument = #program.scalar<"y">}) {
  %f0 = arith.constant 0.0 : f32
  %b = tile.alloc_shared "b" : !tile.shared<128x64xbf16>
  tile.roles {
    tile.role "math" warps(4) registers(80) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %a = tile.splat %y : bf16 -> tensor<64x128xbf16>
      // expected-error @below {{expected a product that wgmma can make because no other matrix instruction is asynchronous, but sums of 64 columns and a left factor in registers take 90 registers of a thread at once, which has 80 by .registers of role 'math'; give it 96 or more}}
      %f = tile.gemm_async %a, %b, %zero : tensor<64x128xbf16>, !tile.shared<128x64xbf16>, tensor<64x64xf32>
      %sum = tile.gemm_wait %f pending(0) : tensor<64x64xf32>
    }
    tile.role "other" warps(4) registers(56) {
    }
  }
  tile.return
}
}
