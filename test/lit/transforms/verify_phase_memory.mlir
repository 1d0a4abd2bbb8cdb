// RUN: %tile-opt %s --tile-verify-phase=phase=pipelined -split-input-file -verify-diagnostics
// RUN: %tile-opt %s --tile-verify-phase=phase=scheduled -split-input-file

// What a product in flight reads from shared memory does not change: by stores and copies, as scratch or staging memory,
// and its slot is not released.

// A store to a factor in shared memory.
tile.kernel @stored_factor() attributes {launch = #program.launch<warps = 4>} {
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %w = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
      // expected-note @below {{the product is started here}}
      %p = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      // expected-error @below {{expected gemmWait before 'a' is written because a product in flight reads it}}
      tile.store %w, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
      %d = tile.gemm_wait %p pending(0) : tensor<64x64xf32>
    }
  }
  tile.return
}

// -----

// A store to a factor in shared memory.
tile.kernel @stored_factor_automatic() attributes {launch = #program.launch<warps = 4>} {
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles automatic {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %w = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
      // expected-note @below {{the product is started here}}
      %p = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      // expected-error @below {{internal error: expected a wait for the product before 'a' is written because a product in flight reads it}}
      tile.store %w, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
      %d = tile.gemm_wait %p pending(0) : tensor<64x64xf32>
    }
  }
  tile.return
}

// -----

// To the right one, in a view, after a wait that leaves it in flight.
tile.kernel @stored_view() attributes {launch = #program.launch<warps = 4>} {
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %p = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      // expected-note @below {{the product is started here}}
      %q = tile.gemm_async %a, %b, %p atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      %d = tile.gemm_wait %q pending(1) : tensor<64x64xf32>
      %rows = tile.rows %b[8] : !tile.shared<64x64xbf16> -> !tile.shared<8x64xbf16>
      %small = tile.splat %h0 : bf16 -> tensor<8x64xbf16>
      // expected-error @below {{expected gemmWait before 'b' is written because a product in flight reads it}}
      tile.store %small, %rows atom simt : tensor<8x64xbf16>, !tile.shared<8x64xbf16>
      %e = tile.gemm_wait %d pending(0) : tensor<64x64xf32>
    }
  }
  tile.return
}

// -----

// After a wait that completes it.
tile.kernel @stored_after() attributes {launch = #program.launch<warps = 4>} {
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %w = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
      %p = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      %d = tile.gemm_wait %p pending(0) : tensor<64x64xf32>
      tile.store %w, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
    }
  }
  tile.return
}

// -----

// A copy, and the next iteration of a loop around the one that multiplies.
tile.kernel @copied_factor(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%outer = %zero) -> (tensor<64x64xf32>) {
        // expected-error @below {{expected gemmWait before 'a' is written because a product in flight reads it}}
        tile.copy %b, %a atom simt : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>
        %inner = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %outer) -> (tensor<64x64xf32>) {
          // expected-note @below {{the product is started here}}
          %p = tile.gemm_async %a, %b, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
          scf.yield %p : tensor<64x64xf32>
        }
        scf.yield %inner : tensor<64x64xf32>
      }
    }
  }
  tile.return
}

// -----

// The other slot may be written, the same one not.
tile.kernel @stored_slot() attributes {launch = #program.launch<warps = 4>} {
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %slots = tile.alloc_shared "slots" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %w = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
      %s0 = tile.slot %slots[%first] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
      %second = tile.advance %first : !tile.cursor<2>
      %s1 = tile.slot %slots[%second] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
      %third = tile.advance %second : !tile.cursor<2>
      %s2 = tile.slot %slots[%third] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
      // expected-note @below {{the product is started here}}
      %p = tile.gemm_async %s0, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      tile.store %w, %s1 atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
      // expected-error @below {{expected gemmWait before 'slots' is written because a product in flight reads it}}
      tile.store %w, %s2 atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
      %d = tile.gemm_wait %p pending(0) : tensor<64x64xf32>
    }
  }
  tile.return
}

// -----

// Two iterations later it is the same slot again.
tile.kernel @stored_slot_in_loop(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %slots = tile.alloc_shared "slots" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %w = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
        %s = tile.slot %slots[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        // expected-error @below {{expected gemmWait before 'slots' is written because a product in flight reads it}}
        tile.store %w, %s atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
        // expected-note @below {{the product is started here}}
        %p = tile.gemm_async %s, %b, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %d = tile.gemm_wait %p pending(2) : tensor<64x64xf32>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %d, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// One iteration later it is the other one.
tile.kernel @other_slot_in_loop(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %slots = tile.alloc_shared "slots" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %w = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
        %s = tile.slot %slots[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        tile.store %w, %s atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
        %p = tile.gemm_async %s, %b, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %d = tile.gemm_wait %p pending(1) : tensor<64x64xf32>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %d, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// Scratch and staging memory are written, too.
tile.kernel @scratch_of_reduction() attributes {launch = #program.launch<warps = 4>} {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      // expected-note @below {{the product is started here}}
      %p = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      // expected-error @below {{expected gemmWait before 'a' is written because a product in flight reads it}}
      %most = tile.reduce max %zero axis(1) scratch %a : !tile.shared<64x64xbf16> : tensor<64x64xf32> -> tensor<64x1xf32>
      %d = tile.gemm_wait %p pending(0) : tensor<64x64xf32>
    }
  }
  tile.return
}

// -----

// Buffers that overlap are one memory.
tile.kernel @overlapping_scratch() attributes {launch = #program.launch<warps = 4>} {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" at 0 : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" at 4096 : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      // expected-note @below {{the product is started here}}
      %p = tile.gemm_async %a, %a, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      // expected-error @below {{expected gemmWait before 'a' is written because a product in flight reads it}}
      %most = tile.reduce max %zero axis(1) scratch %b : !tile.shared<64x64xbf16> : tensor<64x64xf32> -> tensor<64x1xf32>
      %d = tile.gemm_wait %p pending(0) : tensor<64x64xf32>
    }
  }
  tile.return
}

// -----

// Others are not.
tile.kernel @scratch_elsewhere() attributes {launch = #program.launch<warps = 4>} {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" at 0 : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" at 8192 : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %p = tile.gemm_async %a, %a, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      %most = tile.reduce max %zero axis(1) scratch %b : !tile.shared<64x64xbf16> : tensor<64x64xf32> -> tensor<64x1xf32>
      %d = tile.gemm_wait %p pending(0) : tensor<64x64xf32>
    }
  }
  tile.return
}

// -----

// The slot of a product in flight is not released.
tile.kernel @released() attributes {launch = #program.launch<warps = 4>} {
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %slots = tile.alloc_shared "slots" : !tile.shared<2x64x64xbf16>
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %filled = tile.slot %slots[%first] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
      %fill = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
      tile.store %fill, %filled atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
      tile.publish %ring[%first] : !tile.ring<2>
      %s = tile.slot %slots[%first] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
      // expected-note @below {{the product is started here}}
      %p = tile.gemm_async %s, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      // expected-error @below {{expected gemmWait before the slot of 'slots' is released because a product in flight reads it}}
      tile.release %ring[%first] : !tile.ring<2>
      %d = tile.gemm_wait %p pending(0) : tensor<64x64xf32>
    }
  }
  tile.return
}

// -----

// The slot of a product in flight is not released.
tile.kernel @released_automatic() attributes {launch = #program.launch<warps = 4>} {
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %slots = tile.alloc_shared "slots" : !tile.shared<2x64x64xbf16>
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles automatic {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %filled = tile.slot %slots[%first] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
      %fill = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
      tile.store %fill, %filled atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
      tile.publish %ring[%first] : !tile.ring<2>
      %s = tile.slot %slots[%first] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
      // expected-note @below {{the product is started here}}
      %p = tile.gemm_async %s, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      // expected-error @below {{internal error: expected a wait for the product before the slot of 'slots' is released because a product in flight reads it}}
      tile.release %ring[%first] : !tile.ring<2>
      %d = tile.gemm_wait %p pending(0) : tensor<64x64xf32>
    }
  }
  tile.return
}

// -----

// The slot of the product before is, in the round after.
tile.kernel @released_one_later(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %slots = tile.alloc_shared "slots" : !tile.shared<2x64x64xbf16>
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %filled = tile.slot %slots[%first] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
      %fill = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
      tile.store %fill, %filled atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
      tile.publish %ring[%first] : !tile.ring<2>
      %end:3 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %first, %old = %first) -> (tensor<64x64xf32>, !tile.cursor<2>, !tile.cursor<2>) {
        %s = tile.slot %slots[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %p = tile.gemm_async %s, %b, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %d = tile.gemm_wait %p pending(1) : tensor<64x64xf32>
        %next = tile.advance %c : !tile.cursor<2>
        %before = tile.advance %next : !tile.cursor<2>
        tile.release %ring[%next] : !tile.ring<2>
        scf.yield %d, %next, %c : tensor<64x64xf32>, !tile.cursor<2>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// That of this round is not, whichever cursor names it.
tile.kernel @released_by_another_cursor(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %slots = tile.alloc_shared "slots" : !tile.shared<2x64x64xbf16>
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %filled = tile.slot %slots[%first] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
      %fill = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
      tile.store %fill, %filled atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
      tile.publish %ring[%first] : !tile.ring<2>
      %end:3 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %first, %same = %first) -> (tensor<64x64xf32>, !tile.cursor<2>, !tile.cursor<2>) {
        %s = tile.slot %slots[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        // expected-note @below {{the product is started here}}
        %p = tile.gemm_async %s, %b, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %d = tile.gemm_wait %p pending(1) : tensor<64x64xf32>
        // expected-error @below {{expected gemmWait before the slot of 'slots' is released because a product in flight reads it}}
        tile.release %ring[%same] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        %next2 = tile.advance %same : !tile.cursor<2>
        scf.yield %d, %next, %next2 : tensor<64x64xf32>, !tile.cursor<2>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// How cursors move that follow different tests only their author knows; the compiler does not make such.
tile.kernel @released_by_author(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %slots = tile.alloc_shared "slots" : !tile.shared<2x64x64xbf16>
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %filled = tile.slot %slots[%first] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
      %fill = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
      tile.store %fill, %filled atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
      tile.publish %ring[%first] : !tile.ring<2>
      %some = arith.cmpi slt, %n, %c1 : index
      %end:3 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %first, %done = %first) -> (tensor<64x64xf32>, !tile.cursor<2>, !tile.cursor<2>) {
        %s = tile.slot %slots[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %p = tile.gemm_async %s, %b, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %d = tile.gemm_wait %p pending(1) : tensor<64x64xf32>
        %next = tile.advance %c : !tile.cursor<2>
        %next2 = scf.if %some -> (!tile.cursor<2>) {
          tile.release %ring[%done] : !tile.ring<2>
          %more = tile.advance %done : !tile.cursor<2>
          scf.yield %more : !tile.cursor<2>
        } else {
          scf.yield %done : !tile.cursor<2>
        }
        scf.yield %d, %next, %next2 : tensor<64x64xf32>, !tile.cursor<2>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// The same in automatic roles.
tile.kernel @released_by_nobody_knows(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %slots = tile.alloc_shared "slots" : !tile.shared<2x64x64xbf16>
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles automatic {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %filled = tile.slot %slots[%first] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
      %fill = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
      tile.store %fill, %filled atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
      tile.publish %ring[%first] : !tile.ring<2>
      %some = arith.cmpi slt, %n, %c1 : index
      %end:3 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %first, %done = %first) -> (tensor<64x64xf32>, !tile.cursor<2>, !tile.cursor<2>) {
        %s = tile.slot %slots[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        // expected-note @below {{the product is started here}}
        %p = tile.gemm_async %s, %b, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %d = tile.gemm_wait %p pending(1) : tensor<64x64xf32>
        %next = tile.advance %c : !tile.cursor<2>
        %next2 = scf.if %some -> (!tile.cursor<2>) {
          // expected-error @below {{internal error: expected a wait for the product before the slot of 'slots' is released because a product in flight reads it}}
          tile.release %ring[%done] : !tile.ring<2>
          %more = tile.advance %done : !tile.cursor<2>
          scf.yield %more : !tile.cursor<2>
        } else {
          scf.yield %done : !tile.cursor<2>
        }
        scf.yield %d, %next, %next2 : tensor<64x64xf32>, !tile.cursor<2>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// Another ring with the same cursor hands over other slots.
tile.kernel @another_ring() attributes {launch = #program.launch<warps = 4>} {
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %slots = tile.alloc_shared "slots" : !tile.shared<2x64x64xbf16>
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %other = tile.alloc_ring "other" : !tile.ring<2>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %filled = tile.slot %slots[%first] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
      %fill = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
      tile.store %fill, %filled atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
      tile.publish %ring[%first] : !tile.ring<2>
      %s = tile.slot %slots[%first] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
      %p = tile.gemm_async %s, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      tile.release %other[%first] : !tile.ring<2>
      %d = tile.gemm_wait %p pending(0) : tensor<64x64xf32>
    }
  }
  tile.return
}

// -----

// A product that is waited for at once completes all before.
tile.kernel @synchronous_product() attributes {launch = #program.launch<warps = 4>} {
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %p = tile.gemm_async %a, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      %done = tile.gemm %a, %b, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      %w = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
      tile.store %w, %a atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
      %d = tile.gemm_wait %p pending(0) : tensor<64x64xf32>
    }
  }
  tile.return
}
