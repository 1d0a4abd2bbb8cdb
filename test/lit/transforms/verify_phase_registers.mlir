// RUN: %tile-opt %s --tile-verify-phase=phase=pipelined -split-input-file -verify-diagnostics
// RUN: %tile-opt %s --tile-verify-phase=phase=scheduled -split-input-file
// RUN: not %tile-opt %s --tile-verify-phase=phase=planned -split-input-file 2>&1 | FileCheck %s --check-prefix=PLANNED

// What a product in flight has in registers does not change: its left factor, its accumulator. In roles by hand it is the
// author's mistake, in others the compiler's. Before products overlap nothing of it is checked.

// The next iteration loads to the registers that the product reads.
tile.kernel @factor_of_next_iteration(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
        // expected-error @below {{expected gemmWait before the left factor changes because a product in flight reads it from registers}}
        %w = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
        // expected-note @below {{the product is started here}}
        %p = tile.gemm_async %w, %b, %acc atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %d = tile.gemm_wait %p pending(1) : tensor<64x64xf32>
        scf.yield %d : tensor<64x64xf32>
      }
    }
  }
  tile.return
}

// -----

// The next iteration loads to the registers that the product reads.
tile.kernel @factor_of_next_iteration_automatic(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles automatic {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
        // expected-error @below {{internal error: expected a wait for the product before the left factor changes because a product in flight reads it from registers}}
        %w = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
        // expected-note @below {{the product is started here}}
        %p = tile.gemm_async %w, %b, %acc atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %d = tile.gemm_wait %p pending(1) : tensor<64x64xf32>
        scf.yield %d : tensor<64x64xf32>
      }
    }
  }
  tile.return
}

// -----

// The same of words of which the factor is the halves.
tile.kernel @words_of_next_iteration(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x32xui32>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
        // expected-error @below {{expected gemmWait before the left factor changes because a product in flight reads it from registers}}
        %words = tile.load %a : !tile.shared<64x32xui32> -> tensor<64x32xui32>
        %w = tile.reshape %words : tensor<64x32xui32> -> tensor<64x64xbf16>
        // expected-note @below {{the product is started here}}
        %p = tile.gemm_async %w, %b, %acc atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %d = tile.gemm_wait %p pending(1) : tensor<64x64xf32>
        scf.yield %d : tensor<64x64xf32>
      }
    }
  }
  tile.return
}

// -----

// One wait later it is right.
tile.kernel @factor_awaited(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
        %d = tile.gemm_wait %acc pending(0) : tensor<64x64xf32>
        %w = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
        %p = tile.gemm_async %w, %b, %d atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        scf.yield %p : tensor<64x64xf32>
      }
      %last = tile.gemm_wait %end pending(0) : tensor<64x64xf32>
    }
  }
  tile.return
}

// -----

// A factor from before the loop is not written in it.
tile.kernel @factor_from_outside(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %w = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
        %p = tile.gemm_async %w, %b, %acc atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %d = tile.gemm_wait %p pending(1) : tensor<64x64xf32>
        scf.yield %d : tensor<64x64xf32>
      }
      %last = tile.gemm_wait %end pending(0) : tensor<64x64xf32>
    }
  }
  tile.return
}

// -----

// A carried factor moves between iterations. What is to be moved may be there before.
tile.kernel @factor_carried(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %w0 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %w = %w0) -> (tensor<64x64xf32>, tensor<64x64xbf16>) {
        // expected-note @below {{the product is started here}}
        %p = tile.gemm_async %w, %b, %acc atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        // expected-error @below {{expected gemmWait before the left factor changes because a product in flight reads it from registers}}
        %next = tile.load %b : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
        %d = tile.gemm_wait %p pending(1) : tensor<64x64xf32>
        scf.yield %d, %next : tensor<64x64xf32>, tensor<64x64xbf16>
      }
    }
  }
  tile.return
}

// -----

// Moved after the wait.
tile.kernel @factor_carried_awaited(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %w0 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %w = %w0) -> (tensor<64x64xf32>, tensor<64x64xbf16>) {
        %p = tile.gemm_async %w, %b, %acc atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %next = tile.load %b : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
        %d = tile.gemm_wait %p pending(0) : tensor<64x64xf32>
        scf.yield %d, %next : tensor<64x64xf32>, tensor<64x64xbf16>
      }
    }
  }
  tile.return
}

// -----

// A loop that begins again moves what it begins with.
tile.kernel @factor_of_inner_loop(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %w0 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%outer = %zero) -> (tensor<64x64xf32>) {
        // expected-error @below {{expected gemmWait before the left factor changes because a product in flight reads it from registers}}
        %inner:2 = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %outer, %w = %w0) -> (tensor<64x64xf32>, tensor<64x64xbf16>) {
          %before = tile.gemm_wait %acc pending(0) : tensor<64x64xf32>
          %next = tile.load %b : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
          scf.yield %before, %next : tensor<64x64xf32>, tensor<64x64xbf16>
        }
        // expected-note @below {{the product is started here}}
        %p = tile.gemm_async %inner#1, %b, %inner#0 atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        scf.yield %p : tensor<64x64xf32>
      }
    }
  }
  tile.return
}

// -----

// A branch moves what it yields.
tile.kernel @factor_of_branch(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %some = arith.cmpi slt, %n, %c1 : index
      %w0 = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
        %w = scf.if %some -> (tensor<64x64xbf16>) {
          // expected-error @below {{expected gemmWait before the left factor changes because a product in flight reads it from registers}}
          %other = tile.load %b : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
          scf.yield %other : tensor<64x64xbf16>
        } else {
          scf.yield %w0 : tensor<64x64xbf16>
        }
        // expected-note @below {{the product is started here}}
        %p = tile.gemm_async %w, %b, %acc atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        scf.yield %p : tensor<64x64xf32>
      }
    }
  }
  tile.return
}

// -----

// Constants are made again for each product.
tile.kernel @factor_made_for_use(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %w = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
        // expected-note @below {{the product is started here}}
        // expected-error @below {{expected gemmWait before the left factor changes because a product in flight reads it from registers}}
        %p = tile.gemm_async %w, %b, %acc atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        scf.yield %p : tensor<64x64xf32>
      }
    }
  }
  tile.return
}

// -----

// A sum that a wait leaves in flight is not read.
tile.kernel @read_sum(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
      // expected-note @below {{the product is started here}}
      %p = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      %d = tile.gemm_wait %p pending(1) : tensor<64x64xf32>
      // expected-error @below {{expected gemmWait before the accumulator is read because a product in flight adds to it}}
      tile.store %d, %x atom simt : tensor<64x64xf32>, !tile.slice<64x64xf32>
    }
  }
  tile.return
}

// -----

// A sum that a wait leaves in flight is not read.
tile.kernel @read_sum_automatic(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles automatic {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
      // expected-note @below {{the product is started here}}
      %p = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      %d = tile.gemm_wait %p pending(1) : tensor<64x64xf32>
      // expected-error @below {{internal error: expected a wait for the product before the accumulator is read because a product in flight adds to it}}
      tile.store %d, %x atom simt : tensor<64x64xf32>, !tile.slice<64x64xf32>
    }
  }
  tile.return
}

// -----

// It may be read after a wait that completes it; another product was started since.
tile.kernel @read_sum_awaited(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
      %p = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      %q = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      %d = tile.gemm_wait %p pending(1) : tensor<64x64xf32>
      tile.store %d, %x atom simt : tensor<64x64xf32>, !tile.slice<64x64xf32>
      %e = tile.gemm_wait %q pending(0) : tensor<64x64xf32>
    }
  }
  tile.return
}

// -----

// Of two paths the one with fewer products counts.
tile.kernel @read_sum_of_paths(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
      %some = arith.cmpi slt, %n, %c1 : index
      // expected-note @below {{the product is started here}}
      %p = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      scf.if %some {
        %q = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      }
      %d = tile.gemm_wait %p pending(1) : tensor<64x64xf32>
      // expected-error @below {{expected gemmWait before the accumulator is read because a product in flight adds to it}}
      tile.store %d, %x atom simt : tensor<64x64xf32>, !tile.slice<64x64xf32>
    }
  }
  tile.return
}

// -----

// A loop that does not run starts none.
tile.kernel @read_sum_past_loop(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
      // expected-note @below {{the product is started here}}
      %p = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      scf.for %i = %c0 to %n step %c1 {
        %q = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      }
      %d = tile.gemm_wait %p pending(1) : tensor<64x64xf32>
      // expected-error @below {{expected gemmWait before the accumulator is read because a product in flight adds to it}}
      tile.store %d, %x atom simt : tensor<64x64xf32>, !tile.slice<64x64xf32>
    }
  }
  tile.return
}

// -----

// Through a loop and a branch.
tile.kernel @read_sum_of_loop(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
      %some = arith.cmpi slt, %n, %c1 : index
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
        // expected-note @below {{the product is started here}}
        %p = tile.gemm_async %a, %b, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %d = tile.gemm_wait %p pending(1) : tensor<64x64xf32>
        scf.yield %d : tensor<64x64xf32>
      }
      %chosen = scf.if %some -> (tensor<64x64xf32>) {
        scf.yield %end : tensor<64x64xf32>
      } else {
        scf.yield %zero : tensor<64x64xf32>
      }
      // expected-error @below {{expected gemmWait before the accumulator is read because a product in flight adds to it}}
      tile.store %chosen, %x atom simt : tensor<64x64xf32>, !tile.slice<64x64xf32>
    }
  }
  tile.return
}

// -----

// The same is checked when memory is planned.
// PLANNED: error: expected gemmWait before the left factor changes because a product in flight reads it from registers
#layout = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
#shared = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
tile.kernel @planned(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4, shared_bytes = 16384>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" at 0 : !tile.shared<64x64xbf16, #shared>
  %b = tile.alloc_shared "b" at 8192 : !tile.shared<64x64xbf16, #shared>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32, #layout>
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32, #layout>) {
    // expected-error @below {{expected gemmWait before the left factor changes because a product in flight reads it from registers}}
    %w = tile.load %a : !tile.shared<64x64xbf16, #shared> -> tensor<64x64xbf16, #layout>
    // expected-note @below {{the product is started here}}
    %p = tile.gemm_async %w, %b, %acc atom wgmma : tensor<64x64xbf16, #layout>, !tile.shared<64x64xbf16, #shared>, tensor<64x64xf32, #layout>
    %d = tile.gemm_wait %p pending(1) : tensor<64x64xf32, #layout>
    scf.yield %d : tensor<64x64xf32, #layout>
  }
  tile.return
}

// -----

// Nothing else reads the registers of a left factor in flight.
tile.kernel @factor_is_read(%X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", output, dims[-1, -1]>})
    attributes {launch = #program.launch<warps = 4, shared_bytes = 16384>} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %w = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
      // expected-note @below {{the product is started here}}
      %p = tile.gemm_async %w, %b, %zero atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      %q = tile.gemm_async %w, %b, %p atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      // expected-error @below {{expected gemmWait before the left factor is read because a product in flight has its registers}}
      %n = arith.negf %w : tensor<64x64xbf16>
      %d = tile.gemm_wait %q pending(0) : tensor<64x64xf32>
      %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
      tile.store %n, %x atom simt : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
    }
  }
  tile.return
}

// -----

// Nor do the sums of another product begin with them.
tile.kernel @factor_begins_sums() attributes {launch = #program.launch<warps = 4, shared_bytes = 32768>} {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xf32>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xf32>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %w = tile.load %a : !tile.shared<64x64xf32> -> tensor<64x64xf32>
      // expected-note @below {{the product is started here}}
      %p = tile.gemm_async %w, %b, %zero atom wgmma : tensor<64x64xf32>, !tile.shared<64x64xf32>, tensor<64x64xf32>
      // expected-error @below {{expected gemmWait before the left factor is read because a product in flight has its registers}}
      %q = tile.gemm_async %a, %b, %w atom wgmma : !tile.shared<64x64xf32>, !tile.shared<64x64xf32>, tensor<64x64xf32>
      %d = tile.gemm_wait %p pending(0) : tensor<64x64xf32>
      %e = tile.gemm_wait %q pending(0) : tensor<64x64xf32>
    }
  }
  tile.return
}
