// RUN: split-file %s %t
// RUN: %tile-opt %t/assign.mlir --tile-assign-registers -split-input-file | FileCheck %t/assign.mlir
// RUN: %tile-opt %t/errors.mlir --tile-assign-registers -split-input-file -verify-diagnostics

//--- assign.mlir

// One warpgroup only issues copies and two multiply: 40 leave its loop the positions, the others get what is left of
// the 168 that each thread has at the launch.
// CHECK-LABEL: tile.kernel @two_warpgroups
// CHECK: tile.role "load" warps(4) registers(40) {
// CHECK: tile.role "math" warps(8) registers(232) {
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @two_warpgroups() attributes {launch = #program.launch<warps = 12>} {
  %x = tile.alloc_shared "x" : !tile.shared<64x64xbf16>
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  tile.roles {
    tile.role "load" warps(4) {
    }
    tile.role "math" warps(8) {
      %zero = arith.constant dense<0.0> : tensor<128x64xf32>
      %p0 = tile.gemm_async %a, %x, %zero atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
      %s0 = tile.gemm_wait %p0 pending(0) : tensor<128x64xf32>
    }
  }
  tile.return
}
}

// -----

// Accumulators of two products need more.
// CHECK-LABEL: tile.kernel @two_products
// CHECK: tile.role "load" warps(4) registers(24) {
// CHECK: tile.role "math" warps(8) registers(240) {
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @two_products() attributes {launch = #program.launch<warps = 12>} {
  %x = tile.alloc_shared "x" : !tile.shared<64x64xbf16>
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  tile.roles {
    tile.role "load" warps(4) {
    }
    tile.role "math" warps(8) {
      %zero = arith.constant dense<0.0> : tensor<128x64xf32>
      %p0 = tile.gemm_async %a, %x, %zero atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
      %s0 = tile.gemm_wait %p0 pending(0) : tensor<128x64xf32>
      %p1 = tile.gemm_async %a, %x, %zero atom wgmma : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
      %s1 = tile.gemm_wait %p1 pending(0) : tensor<128x64xf32>
    }
  }
  tile.return
}
}

// -----

// Three warpgroups share what is left of 128.
// CHECK-LABEL: tile.kernel @three_warpgroups
// CHECK: tile.role "load" warps(4) registers(32) {
// CHECK: tile.role "math" warps(12) registers(160) {
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @three_warpgroups() attributes {launch = #program.launch<warps = 16>} {
  %x = tile.alloc_shared "x" : !tile.shared<64x64xbf16>
  %a = tile.alloc_shared "a" : !tile.shared<192x64xbf16>
  tile.roles {
    tile.role "load" warps(4) {
    }
    tile.role "math" warps(12) {
      %zero = arith.constant dense<0.0> : tensor<192x64xf32>
      %p0 = tile.gemm_async %a, %x, %zero atom wgmma : !tile.shared<192x64xbf16>, !tile.shared<64x64xbf16>, tensor<192x64xf32>
      %s0 = tile.gemm_wait %p0 pending(0) : tensor<192x64xf32>
    }
  }
  tile.return
}
}

// -----

// Two roles that compute are two warpgroups, too.
// CHECK-LABEL: tile.kernel @two_roles
// CHECK: tile.role "load" warps(4) registers(40) {
// CHECK: tile.role "left" warps(4) registers(232) {
// CHECK: tile.role "right" warps(4) registers(232) {
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @two_roles() attributes {launch = #program.launch<warps = 12>} {
  %x = tile.alloc_shared "x" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "load" warps(4) {
    }
    tile.role "left" warps(4) {
      %t = tile.load %x : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
    tile.role "right" warps(4) {
      %t = tile.load %x : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
  }
  tile.return
}
}

// -----

// All threads have as many as they can use.
// CHECK-LABEL: tile.kernel @one_warpgroup
// CHECK: tile.role "load" warps(4) {
// CHECK: tile.role "math" warps(4) {
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @one_warpgroup() attributes {launch = #program.launch<warps = 8>} {
  %x = tile.alloc_shared "x" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "load" warps(4) {
    }
    tile.role "math" warps(4) {
      %t = tile.load %x : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
  }
  tile.return
}
}

// -----

// Nobody has any to give.
// CHECK-LABEL: tile.kernel @all_compute
// CHECK: tile.role "left" warps(4) {
// CHECK: tile.role "right" warps(8) {
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @all_compute() attributes {launch = #program.launch<warps = 12>} {
  %x = tile.alloc_shared "x" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "left" warps(4) {
      %t = tile.load %x : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
    tile.role "right" warps(8) {
      %t = tile.load %x : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
  }
  tile.return
}
}

// -----

// A role whose threads copy needs registers for what is on its way, fewer than one that computes.
// CHECK-LABEL: tile.kernel @copies
// CHECK: tile.role "load" warps(4) registers(72) {
// CHECK: tile.role "math" warps(8) registers(216) {
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @copies() attributes {launch = #program.launch<warps = 12>} {
  %x = tile.alloc_shared "x" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "load" warps(4) {
      tile.copy %x, %x atom simt : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>
    }
    tile.role "math" warps(8) {
      %t = tile.load %x : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
  }
  tile.return
}
}

// -----

// Registers are set for whole warpgroups: the roles of one count together.
// CHECK-LABEL: tile.kernel @shared_warpgroup
// CHECK: tile.role "load" warps(1) registers(40) {
// CHECK: tile.role "store" warps(3) registers(40) {
// CHECK: tile.role "math" warps(8) registers(232) {
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @shared_warpgroup() attributes {launch = #program.launch<warps = 12>} {
  %x = tile.alloc_shared "x" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "load" warps(1) {
    }
    tile.role "store" warps(3) {
    }
    tile.role "math" warps(8) {
      %t = tile.load %x : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
  }
  tile.return
}
}

// -----

// What is given stays, and the others get what it leaves.
// CHECK-LABEL: tile.kernel @given_to_issue
// CHECK: tile.role "load" warps(4) registers(64) {
// CHECK: tile.role "math" warps(8) registers(216) {
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @given_to_issue() attributes {launch = #program.launch<warps = 12>} {
  %x = tile.alloc_shared "x" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "load" warps(4) registers(64) {
    }
    tile.role "math" warps(8) {
      %t = tile.load %x : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
  }
  tile.return
}
}

// -----

// CHECK-LABEL: tile.kernel @given_to_compute
// CHECK: tile.role "load" warps(4) registers(40) {
// CHECK: tile.role "math" warps(8) registers(200) {
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @given_to_compute() attributes {launch = #program.launch<warps = 12>} {
  %x = tile.alloc_shared "x" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "load" warps(4) {
    }
    tile.role "math" warps(8) registers(200) {
      %t = tile.load %x : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
  }
  tile.return
}
}

// -----

// A role of the same warpgroup says it for all of them.
// CHECK-LABEL: tile.kernel @given_in_warpgroup
// CHECK: tile.role "load" warps(1) registers(56) {
// CHECK: tile.role "store" warps(3) registers(56) {
// CHECK: tile.role "math" warps(8) registers(224) {
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @given_in_warpgroup() attributes {launch = #program.launch<warps = 12>} {
  %x = tile.alloc_shared "x" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "load" warps(1) {
    }
    tile.role "store" warps(3) registers(56) {
    }
    tile.role "math" warps(8) {
      %t = tile.load %x : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
  }
  tile.return
}
}

// -----

// Also where one warpgroup computes; more than 240 nobody gets.
// CHECK-LABEL: tile.kernel @given_one_warpgroup
// CHECK: tile.role "load" warps(4) registers(24) {
// CHECK: tile.role "math" warps(4) registers(240) {
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @given_one_warpgroup() attributes {launch = #program.launch<warps = 8>} {
  %x = tile.alloc_shared "x" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "load" warps(4) registers(24) {
    }
    tile.role "math" warps(4) {
      %t = tile.load %x : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
  }
  tile.return
}
}

// -----

// Little is left: the roles that issue get the least there is.
// CHECK-LABEL: tile.kernel @little_left
// CHECK: tile.role "load" warps(4) registers(24) {
// CHECK: tile.role "first" warps(4) registers(240) {
// CHECK: tile.role "second" warps(4) registers(224) {
// CHECK: tile.role "third" warps(4) registers(24) {
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @little_left() attributes {launch = #program.launch<warps = 16>} {
  %x = tile.alloc_shared "x" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "load" warps(4) {
    }
    tile.role "first" warps(4) registers(240) {
      %t = tile.load %x : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
    tile.role "second" warps(4) registers(224) {
      %t = tile.load %x : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
    tile.role "third" warps(4) {
      %t = tile.load %x : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
  }
  tile.return
}
}

// -----

// Two blocks share the registers of a multiprocessor.
// CHECK-LABEL: tile.kernel @residents
// CHECK: tile.role "load" warps(4) registers(40) {
// CHECK: tile.role "math" warps(8) registers(96) {
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @residents() attributes {launch = #program.launch<warps = 12, residents = 2>} {
  %x = tile.alloc_shared "x" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "load" warps(4) {
    }
    tile.role "math" warps(8) {
      %t = tile.load %x : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
  }
  tile.return
}
}

// -----

// With four blocks on a multiprocessor each thread has 40 at the launch: nobody has any to give.
// CHECK-LABEL: tile.kernel @many_residents
// CHECK: tile.role "load" warps(4) {
// CHECK: tile.role "math" warps(8) {
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @many_residents() attributes {launch = #program.launch<warps = 12, residents = 4>} {
  %x = tile.alloc_shared "x" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "load" warps(4) {
    }
    tile.role "math" warps(8) {
      %t = tile.load %x : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
  }
  tile.return
}
}

// -----

// Warps that are no whole warpgroups keep what they have.
// CHECK-LABEL: tile.kernel @five_warps
// CHECK: tile.role "load" warps(1) {
// CHECK: tile.role "math" warps(8) {
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @five_warps() attributes {launch = #program.launch<warps = 9>} {
  %x = tile.alloc_shared "x" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "load" warps(1) {
    }
    tile.role "math" warps(8) {
      %t = tile.load %x : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
  }
  tile.return
}
}

// -----

// CHECK-LABEL: tile.kernel @ampere
// CHECK: tile.role "load" warps(4) {
// CHECK: tile.role "math" warps(8) {
module attributes {program.target = #program.target<"sm_80">} {
tile.kernel @ampere() attributes {launch = #program.launch<warps = 12>} {
  %x = tile.alloc_shared "x" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "load" warps(4) {
    }
    tile.role "math" warps(8) {
      %t = tile.load %x : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
  }
  tile.return
}
}

// -----

// CHECK-LABEL: tile.kernel @blackwell
// CHECK: tile.role "load" warps(4) registers(40) {
// CHECK: tile.role "math" warps(8) registers(232) {
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @blackwell() attributes {launch = #program.launch<warps = 12>} {
  %x = tile.alloc_shared "x" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "load" warps(4) {
    }
    tile.role "math" warps(8) {
      %t = tile.load %x : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
  }
  tile.return
}
}

// -----

// A left factor in registers is in flight as a whole: beside 32 sums and what ptxas wants, 64 take 122 registers. The
// warpgroup that copies gives up what it can do without, though only one computes. 40 would leave 120.
// CHECK-LABEL: tile.kernel @left_factor
// CHECK: tile.role "load" warps(4) registers(24) {
// CHECK: tile.role "math" warps(4) registers(136) {
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @left_factor(%y: f32 {program.argument = #program.scalar<"y">}) attributes {launch = #program.launch<warps = 8, residents = 3>} {
  %x = tile.alloc_shared "x" : !tile.shared<64x128xf32>
  tile.roles {
    tile.role "load" warps(4) {
    }
    tile.role "math" warps(4) {
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %a = tile.splat %y : f32 -> tensor<64x128xf32>
      %b = tile.transpose %x : !tile.shared<64x128xf32> -> !tile.shared<128x64xf32, transposed>
      %p0 = tile.gemm_async %a, %b, %zero atom wgmma : tensor<64x128xf32>, !tile.shared<128x64xf32, transposed>, tensor<64x64xf32>
      %s0 = tile.gemm_wait %p0 pending(0) : tensor<64x64xf32>
    }
  }
  tile.return
}
}

//--- errors.mlir

// What is given must leave a product its registers.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @starved() attributes {launch = #program.launch<warps = 16>} {
  %x = tile.alloc_shared "x" : !tile.shared<64x64xbf16>
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "load" warps(4) registers(24) {
    }
    tile.role "other" warps(4) registers(240) {
      %t = tile.load %x : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
    tile.role "third" warps(4) registers(208) {
      %t = tile.load %x : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
    tile.role "math" warps(4) {
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      // expected-error @below {{expected registers for this product because other roles set theirs, but a product of 64 columns takes 58 registers of a thread, which has 40 by .registers of role 'math'; give it 64 or more}}
      %p0 = tile.gemm_async %a, %x, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      %s0 = tile.gemm_wait %p0 pending(0) : tensor<64x64xf32>
    }
  }
  tile.return
}
}

// -----

// Nobody can give any up.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @all_compute(%y: f32 {program.argument = #program.scalar<"y">}) attributes {launch = #program.launch<warps = 8, residents = 3>} {
  %x = tile.alloc_shared "x" : !tile.shared<64x128xf32>
  tile.roles {
    tile.role "other" warps(4) {
      %t = tile.load %x : !tile.shared<64x128xf32> -> tensor<64x128xf32>
    }
    tile.role "math" warps(4) {
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %a = tile.splat %y : f32 -> tensor<64x128xf32>
      %b = tile.transpose %x : !tile.shared<64x128xf32> -> !tile.shared<128x64xf32, transposed>
      // expected-remark @below {{product may be serialised or refused by ptxas: sums of 64 columns and a left factor in registers take 122 registers of a thread at once, which has 80 in blocks of 256 threads with k.residents(3); give role 'math' .registers of 128 or more, or copy the factor to a shared tile}}
      %p0 = tile.gemm_async %a, %b, %zero atom wgmma : tensor<64x128xf32>, !tile.shared<128x64xf32, transposed>, tensor<64x64xf32>
      %s0 = tile.gemm_wait %p0 pending(0) : tensor<64x64xf32>
    }
  }
  tile.return
}
}
