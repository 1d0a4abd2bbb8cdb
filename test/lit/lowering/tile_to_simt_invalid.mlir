// RUN: %tlc-opt %s -tile-to-simt -split-input-file -verify-diagnostics

// Whatever cannot be lowered is named, with the reason.

// expected-error @below {{expected 'program.target' on the module because instructions depend on the target, but got none}}
module {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %count = tile.multiprocessors
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %more = arith.addi %count, %c1 : index
  // expected-error @below {{expected a value that the device knows, but got one that depends on the number of multiprocessors, which only the host knows; use the number of blocks, k.blocks()}}
  scf.for %i = %c0 to %more step %c1 {
  }
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{expected fragments with a layout, but got 'tensor<16x32xf32>'; run 'tile-infer-layouts' before 'tile-to-simt'}}
  %v = tile.splat %zero : f32 -> tensor<16x32xf32>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @loops_look_inside_of_each_other(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %j = %c0 to %n step %c1 {
    // expected-error @below {{expected fragments with a layout, but got 'tensor<8x256xf32>'; run 'tile-infer-layouts' before 'tile-to-simt'}}
    %v = tile.splat %zero : f32 -> tensor<8x256xf32>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %v) -> (tensor<8x256xf32>) {
      scf.yield %a : tensor<8x256xf32>
    }
  }
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  // expected-error @below {{expected shared tiles with a layout, but got '!tile.shared<64x64xbf16>'; run 'tile-infer-layouts' before 'tile-to-simt'}}
  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x64xbf16>
  tile.return
}
}

// -----

#wgmma = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 8>} {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{expected a layout of 8 warps because kernel 'test' has as many, but got one of 4}}
  %v = tile.splat %zero : f32 -> tensor<64x64xf32, #wgmma>
  tile.return
}
}

// -----

#plain = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" at 0 : !tile.shared<2x64x64xbf16, #plain>
  // expected-error @below {{expected a tile because the buffer has slots, but got all of them; take one with 'tile.slot'}}
  %v = tile.load %p : !tile.shared<2x64x64xbf16, #plain> -> tensor<2x64x64xbf16, #tile.layout<"reg(16@2:1, 2@1:32, 2@0:1) lane(4@2:16, 8@1:1) warp(4@1:8)">>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 8>} {
  tile.roles {
    tile.role "first" warps(4) {
      tile.named_barrier 1 warps(4)
      tile.named_barrier 2 warps(4)
      tile.named_barrier 3 warps(4)
      tile.named_barrier 4 warps(4)
      tile.named_barrier 5 warps(4)
      tile.named_barrier 6 warps(4)
      tile.named_barrier 7 warps(4)
      tile.named_barrier 8 warps(4)
      tile.named_barrier 9 warps(4)
      tile.named_barrier 10 warps(4)
      tile.named_barrier 11 warps(4)
      tile.named_barrier 12 warps(4)
      tile.named_barrier 13 warps(4)
      tile.named_barrier 14 warps(4)
      tile.named_barrier 15 warps(4)
    }
    tile.role "second" warps(4) {
      // expected-error @below {{expected at most 16 barriers per block because sm_90a has no more, but role 'second' needs 1 beside those in use; use fewer warpgroups or named barriers}}
      tile.sync
    }
  }
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%m: index {program.argument = #program.dimension<"m">}) attributes {launch = #program.launch<warps = 4>} {
  %one = arith.constant 1 : index
  // expected-note @below {{it depends on this}}
  %s = arith.shli %m, %one : index
  // expected-error @below {{expected extents that the host can compute from the kernel's dimensions, constants and the number of multiprocessors by integer arithmetic, but got another value}}
  %b = tile.grid %s : index
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%m: index {program.argument = #program.dimension<"m">}) attributes {launch = #program.launch<warps = 4>} {
  %v0 = arith.addi %m, %m : index
  %v1 = arith.muli %v0, %v0 : index
  %v2 = arith.muli %v1, %v1 : index
  %v3 = arith.muli %v2, %v2 : index
  %v4 = arith.muli %v3, %v3 : index
  %v5 = arith.muli %v4, %v4 : index
  %v6 = arith.muli %v5, %v5 : index
  %v7 = arith.muli %v6, %v6 : index
  %v8 = arith.muli %v7, %v7 : index
  %v9 = arith.muli %v8, %v8 : index

  // expected-error @below {{expected extents of at most 256 terms, 32 of them pending at once, because every launch evaluates them, but got more}}
  %b = tile.grid %v9 : index
  tile.return
}
}

// -----

#plain = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x64xbf16, #plain>
  %yes = arith.constant true
  // expected-error @below {{expected numbers, fragments or cursors as carried values because only those are registers, but got '!tile.shared<64x64xbf16}}
  %q = scf.if %yes -> (!tile.shared<64x64xbf16, #plain>) {
    scf.yield %p : !tile.shared<64x64xbf16, #plain>
  } else {
    scf.yield %p : !tile.shared<64x64xbf16, #plain>
  }
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %yes = arith.constant true
  scf.if %yes {
    // expected-error @below {{expected roles at the top level of a kernel, but got them inside another operation}}
    tile.roles {
      tile.role "all" warps(4) {
      }
    }
  }
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  // expected-error @below {{expected an offset in shared memory, but got none; run 'tile-plan-shared-memory' before 'tile-to-simt'}}
  %r = tile.alloc_ring "r" : !tile.ring<2>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  // expected-error @below {{expected an offset in shared memory, but got none; run 'tile-plan-shared-memory' before 'tile-to-simt'}}
  %b = tile.alloc_barrier "b" count(1)
  tile.return
}
}

// -----

#plain = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  // expected-error @below {{expected an offset in shared memory, but got none; run 'tile-plan-shared-memory' before 'tile-to-simt'}}
  %p = tile.alloc_shared "p" : !tile.shared<64x64xbf16, #plain>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 8>} {
  %r = tile.alloc_ring "r" at 0 : !tile.ring<2>
  %c = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "fill" warps(2) {
    }
    tile.role "empty" warps(6) {
      // expected-error @below {{expected whole warpgroups, or at most 4 warps, because one thread of each arrives, but role 'empty' has warps 2 to 7}}
      tile.release %r[%c] : !tile.ring<2>
    }
  }
  tile.return
}
}

// -----

#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x64xbf16, #swizzled>
  %s = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  // expected-error @below {{expected a load by the TMA to be asynchronous, with a ring to wait for, but got a synchronous one; run 'tile-warp-specialize' before 'tile-to-simt'}}
  tile.copy %s, %p atom tma : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16, #swizzled>
  tile.return
}
}

// -----

#plain = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x64xbf16, #plain>
  %q = tile.alloc_shared "q" at 8192 : !tile.shared<1x64x64xbf16, #tile.shared_layout<"1x64x64 16b axis 2 panel 64 swizzle none pad 0">>
  // expected-error @below {{expected two shared tiles of one shape, extents of 1 included, but got 64x64 and 1x64x64}}
  tile.copy %p, %q atom simt : !tile.shared<64x64xbf16, #plain>, !tile.shared<1x64x64xbf16, #tile.shared_layout<"1x64x64 16b axis 2 panel 64 swizzle none pad 0">>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %p = tile.alloc_shared "p" at 0 : !tile.shared<128xbf16, #tile.shared_layout<"128 16b axis 0 panel 128 swizzle none pad 0">>
  // expected-error @below {{expected no registers along axes of extent 1 because they are dropped to match the tile of 128}}
  %v = tile.load %p : !tile.shared<128xbf16, #tile.shared_layout<"128 16b axis 0 panel 128 swizzle none pad 0">> -> tensor<1x128xbf16, #tile.layout<"reg(2@0:1) lane(32@1:1) warp(4@1:32)">>
  tile.return
}
}

// -----

#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %r = tile.alloc_ring "r" at 16384 : !tile.ring<1>
  %c = tile.cursor : !tile.cursor<1>

  %one = arith.constant 1.0 : bf16
  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x64xbf16, #swizzled>
  %s = tile.slice %X[%c0, %c0] fill %one : bf16 : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  // expected-error @below {{expected a fill value of 0 because the TMA fills with nothing else, but the slice has another; use 'tile.copy' with the atom simt}}
  tile.copy_async %s, %p, %r[%c] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16, #swizzled>, !tile.ring<1>
  tile.return
}
}

// -----

// It fills with +0, which is another number.
#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %r = tile.alloc_ring "r" at 16384 : !tile.ring<1>
  %c = tile.cursor : !tile.cursor<1>

  %negative = arith.constant -0.0 : bf16
  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x64xbf16, #swizzled>
  %s = tile.slice %X[%c0, %c0] fill %negative : bf16 : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  // expected-error @below {{expected a fill value of 0 because the TMA fills with nothing else, but the slice has another; use 'tile.copy' with the atom simt}}
  tile.copy_async %s, %p, %r[%c] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16, #swizzled>, !tile.ring<1>
  tile.return
}
}

// -----

#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_80">} {
tile.kernel @test(%X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %r = tile.alloc_ring "r" at 16384 : !tile.ring<1>
  %c = tile.cursor : !tile.cursor<1>

  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x64xbf16, #swizzled>
  %s = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  // expected-error @below {{expected a copy that the TMA can make because it is asynchronous: sm_80 has no TMA}}
  tile.copy_async %s, %p, %r[%c] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16, #swizzled>, !tile.ring<1>
  tile.return
}
}

// -----

#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1], alignment = 2>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %r = tile.alloc_ring "r" at 16384 : !tile.ring<1>
  %c = tile.cursor : !tile.cursor<1>

  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x64xbf16, #swizzled>
  %s = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  // expected-error @below {{expected a copy that the TMA can make because it is asynchronous: expected 'X' to be aligned to 16 bytes, but it is known to be to 2}}
  tile.copy_async %s, %p, %r[%c] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16, #swizzled>, !tile.ring<1>
  tile.return
}
}

// -----

#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %r = tile.alloc_ring "r" at 16384 : !tile.ring<1>
  %at = arith.constant 4 : index
  %c = tile.cursor : !tile.cursor<1>

  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x64xbf16, #swizzled>
  %s = tile.slice %X[%c0, %at] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  // expected-error @below {{expected a copy that the TMA can make because it is asynchronous: expected the slice of 'X' to begin at a multiple of 8 elements along the last axis, but that is not known of its origin}}
  tile.copy_async %s, %p, %r[%c] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16, #swizzled>, !tile.ring<1>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %r = tile.alloc_ring "r" at 16384 : !tile.ring<1>
  %c = tile.cursor : !tile.cursor<1>

  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x64xbf16, #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle none pad 16">>
  %s = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  // expected-error @below {{expected a copy that the TMA can make because it is asynchronous: expected no row padding because TMA writes rows back to back, but got 16 bytes}}
  tile.copy_async %s, %p, %r[%c] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16, #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle none pad 16">>, !tile.ring<1>
  tile.return
}
}

// -----

#panels = #tile.shared_layout<"64x128 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%X: !tile.global<64x72xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %r = tile.alloc_ring "r" at 16384 : !tile.ring<1>
  %c = tile.cursor : !tile.cursor<1>

  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x128xbf16, #panels>
  %t = tile.transpose %p : !tile.shared<64x128xbf16, #panels> -> !tile.shared<128x64xbf16, #panels, transposed>
  %u = tile.rows %t[0] : !tile.shared<128x64xbf16, #panels, transposed> -> !tile.shared<72x64xbf16, #panels, transposed>
  %v = tile.transpose %u : !tile.shared<72x64xbf16, #panels, transposed> -> !tile.shared<64x72xbf16, #panels>
  %s = tile.slice %X[%c0, %c0] : !tile.global<64x72xbf16> -> !tile.slice<64x72xbf16>
  // expected-error @below {{expected a copy that the TMA can make because it is asynchronous: expected whole panels of 64 columns, which the TMA fills, but got 72; copy whole ones: beyond the tensor's columns they get zeros}}
  tile.copy_async %s, %v, %r[%c] : !tile.slice<64x72xbf16>, !tile.shared<64x72xbf16, #panels>, !tile.ring<1>
  tile.return
}
}

// -----

#ordered = #tile.shared_layout<"64x128 8b axis 1 panel 128 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%V: !tile.global<64x128xf8E4M3FN> {program.argument = #program.tensor<"V", workspace, dims[-1, -1], alignment = 16, order = interleaved>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %r = tile.alloc_ring "r" at 16384 : !tile.ring<1>
  %c = tile.cursor : !tile.cursor<1>

  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x128xf8E4M3FN, #ordered>
  %s = tile.slice %V[%c0, %c0] : !tile.global<64x128xf8E4M3FN> -> !tile.slice<64x128xf8E4M3FN>
  // expected-error @below {{expected a copy that the TMA can make because it is asynchronous: expected a tile whose rows are interleaved as those of 'V' are, but another use of it takes no such order}}
  tile.copy_async %s, %p, %r[%c] : !tile.slice<64x128xf8E4M3FN>, !tile.shared<64x128xf8E4M3FN, #ordered>, !tile.ring<1>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %r = tile.alloc_ring "r" at 16384 : !tile.ring<1>
  %c = tile.cursor : !tile.cursor<1>

  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x64xbf16, #tile.shared_layout<"64x64 16b axis 0 panel 64 swizzle 128 pad 0">>
  %s = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  // expected-error @below {{expected a copy that the TMA can make because it is asynchronous: expected the last axis of 'X' along the tile's contiguous axis, but the tile of 64x64 16b axis 0 panel 64 swizzle 128 pad 0 has another}}
  tile.copy_async %s, %p, %r[%c] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16, #tile.shared_layout<"64x64 16b axis 0 panel 64 swizzle 128 pad 0">>, !tile.ring<1>
  tile.return
}
}

// -----

#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<1x1x1x64x64xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1, -1, -1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %r = tile.alloc_ring "r" at 16384 : !tile.ring<1>
  %c = tile.cursor : !tile.cursor<1>

  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x64xbf16, #swizzled>
  %s = tile.slice %X[%c0, %c0, %c0, %c0, %c0] limit %n along 3 : !tile.global<1x1x1x64x64xbf16> -> !tile.slice<1x1x1x64x64xbf16>
  // expected-error @below {{expected a tensor of at most 4 axes because a limit takes one more, but 'X' has 5}}
  tile.copy_async %s, %p, %r[%c] : !tile.slice<1x1x1x64x64xbf16>, !tile.shared<64x64xbf16, #swizzled>, !tile.ring<1>
  tile.return
}
}

// -----

#wgmma = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%n: index {program.argument = #program.dimension<"n">},
    %C: !tile.global<64x64xbf16> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : bf16
  %v = tile.splat %zero : bf16 -> tensor<64x64xbf16, #wgmma>
  %g = tile.alloc_shared "C.staging" at 0 : !tile.shared<1x2x64x64xbf16, #tile.shared_layout<"1x2x64x64 16b axis 3 panel 64 swizzle 128 pad 0">>
  %s = tile.slice %C[%c0, %c0] limit %n along 1 : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  // expected-error @below {{expected a store that goes through panels because it has a staging buffer: expected a limit along another axis of 'C' than the last, whose elements are adjacent; use the atom simt without one}}
  tile.store %v, %s staging %g : !tile.shared<1x2x64x64xbf16, #tile.shared_layout<"1x2x64x64 16b axis 3 panel 64 swizzle 128 pad 0">> atom tma : tensor<64x64xbf16, #wgmma>, !tile.slice<64x64xbf16>
  tile.return
}
}

// -----

#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%X: !tile.global<1x1x1x1x64x64xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1, -1, -1, -1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %r = tile.alloc_ring "r" at 16384 : !tile.ring<1>
  %c = tile.cursor : !tile.cursor<1>

  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x64xbf16, #swizzled>
  %s = tile.slice %X[%c0, %c0, %c0, %c0, %c0, %c0] : !tile.global<1x1x1x1x64x64xbf16> -> !tile.slice<1x1x1x1x64x64xbf16>
  // expected-error @below {{expected a tensor of at most 5 axes, but 'X' has 6}}
  tile.copy_async %s, %p, %r[%c] : !tile.slice<1x1x1x1x64x64xbf16>, !tile.shared<64x64xbf16, #swizzled>, !tile.ring<1>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %c0 = arith.constant 0 : index
  %r = tile.alloc_ring "r" at 16384 : !tile.ring<1>
  %c = tile.cursor : !tile.cursor<1>

  %p = tile.alloc_shared "p" at 0 : !tile.shared<8x64xbf16, #tile.shared_layout<"8x64 16b axis 1 panel 64 swizzle 128 pad 0">>
  %s = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<8x64xbf16>
  // expected-error @below {{expected boxes whose rows are a multiple of 16 because the 2 blocks of the cluster share them, but got 8}}
  tile.copy_async %s, %p, %r[%c] multicast : !tile.slice<8x64xbf16>, !tile.shared<8x64xbf16, #tile.shared_layout<"8x64 16b axis 1 panel 64 swizzle 128 pad 0">>, !tile.ring<1>
  tile.return
}
}

// -----

#wgmma = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%C: !tile.global<64x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %v = tile.splat %zero : f32 -> tensor<64x64xf32, #wgmma>
  %g = tile.alloc_shared "C.staging" at 0 : !tile.shared<1x2x64x64xf32, #tile.shared_layout<"1x2x64x64 32b axis 3 panel 32 swizzle 128 pad 0">>
  %s = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  // expected-error @below {{expected a store that goes through panels because it has a staging buffer: expected two axes and elements of 16 bits; use the atom simt without one}}
  tile.store %v, %s staging %g : !tile.shared<1x2x64x64xf32, #tile.shared_layout<"1x2x64x64 32b axis 3 panel 32 swizzle 128 pad 0">> atom tma : tensor<64x64xf32, #wgmma>, !tile.slice<64x64xf32>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%C: !tile.global<64x64xbf16> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 2>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : bf16
  %v = tile.splat %zero : bf16 -> tensor<64x64xbf16, #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8, 2@0:32) lane(4@1:2, 8@0:1) warp(2@0:16)">>
  %g = tile.alloc_shared "C.staging" at 0 : !tile.shared<1x2x64x64xbf16, #tile.shared_layout<"1x2x64x64 16b axis 3 panel 64 swizzle 128 pad 0">>
  %s = tile.slice %C[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  // expected-error @below {{expected a store that goes through panels because it has a staging buffer: expected whole warpgroups; use the atom simt without one}}
  tile.store %v, %s staging %g : !tile.shared<1x2x64x64xbf16, #tile.shared_layout<"1x2x64x64 16b axis 3 panel 64 swizzle 128 pad 0">> atom tma : tensor<64x64xbf16, #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8, 2@0:32) lane(4@1:2, 8@0:1) warp(2@0:16)">>, !tile.slice<64x64xbf16>
  tile.return
}
}

// -----

#rows = #tile.layout<"reg(16@1:1) lane(4@1:16, 8@0:1) warp(4@0:8)">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%C: !tile.global<64x64xbf16> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : bf16
  %v = tile.splat %zero : bf16 -> tensor<32x64xbf16, #rows>
  %g = tile.alloc_shared "C.staging" at 0 : !tile.shared<1x2x64x64xbf16, #tile.shared_layout<"1x2x64x64 16b axis 3 panel 64 swizzle 128 pad 0">>
  %s = tile.slice %C[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<32x64xbf16>
  // expected-error @below {{expected a store that goes through panels because it has a staging buffer: expected the layout of a wgmma accumulator, or of tensor memory, with a multiple of 64, or of 32, columns, and each warpgroup's likewise; use the atom simt without one}}
  tile.store %v, %s staging %g : !tile.shared<1x2x64x64xbf16, #tile.shared_layout<"1x2x64x64 16b axis 3 panel 64 swizzle 128 pad 0">> atom tma : tensor<32x64xbf16, #rows>, !tile.slice<32x64xbf16>
  tile.return
}
}

// -----

#wgmma = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%C: !tile.global<64x64xbf16> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : bf16
  %v = tile.splat %zero : bf16 -> tensor<64x64xbf16, #wgmma>
  %g = tile.alloc_shared "C.staging" at 0 : !tile.shared<1x2x64x64xbf16, #tile.shared_layout<"1x2x64x64 16b axis 3 panel 64 swizzle none pad 0">>
  %s = tile.slice %C[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  // expected-error @below {{expected a store that goes through panels because it has a staging buffer: expected staging of 1x2x64x64 with rows along the last axis and a swizzle of 128 bytes; use the atom simt without one}}
  tile.store %v, %s staging %g : !tile.shared<1x2x64x64xbf16, #tile.shared_layout<"1x2x64x64 16b axis 3 panel 64 swizzle none pad 0">> atom tma : tensor<64x64xbf16, #wgmma>, !tile.slice<64x64xbf16>
  tile.return
}
}

// -----

#wgmma = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%C: !tile.global<64x64x1xbf16> {program.argument = #program.tensor<"C", output, dims[-1, -1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : bf16
  %v = tile.splat %zero : bf16 -> tensor<64x64xbf16, #wgmma>
  %g = tile.alloc_shared "C.staging" at 0 : !tile.shared<1x2x64x64xbf16, #tile.shared_layout<"1x2x64x64 16b axis 3 panel 64 swizzle 128 pad 0">>
  %s = tile.slice %C[%c0, %c0, %c0] : !tile.global<64x64x1xbf16> -> !tile.slice<64x64x1xbf16>
  // expected-error @below {{expected a store that goes through panels because it has a staging buffer: expected columns along the tensor's last axis; use the atom simt without one}}
  tile.store %v, %s staging %g : !tile.shared<1x2x64x64xbf16, #tile.shared_layout<"1x2x64x64 16b axis 3 panel 64 swizzle 128 pad 0">> atom tma : tensor<64x64xbf16, #wgmma>, !tile.slice<64x64x1xbf16>
  tile.return
}
}

// -----

#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
#wgmma = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" at 0 : !tile.shared<64x64xbf16, #swizzled>
  %b = tile.alloc_shared "b" at 65536 : !tile.shared<64x64xbf16, #swizzled>
  %acc = tile.splat %zero : f32 -> tensor<64x64xf32, #wgmma>
  // expected-error @below {{expected an atom, but got none; run 'tile-select-products' before 'tile-to-simt'}}
  %new = tile.gemm %a, %b, %acc : !tile.shared<64x64xbf16, #swizzled>, !tile.shared<64x64xbf16, #swizzled>, tensor<64x64xf32, #wgmma>
  tile.return
}
}

// -----

#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
#wgmma = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_80">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" at 0 : !tile.shared<64x64xbf16, #swizzled>
  %b = tile.alloc_shared "b" at 65536 : !tile.shared<64x64xbf16, #swizzled>
  %acc = tile.splat %zero : f32 -> tensor<64x64xf32, #wgmma>
  // expected-error @below {{expected a product that wgmma can compute because the atom is wgmma: sm_80 has no wgmma}}
  %new = tile.gemm %a, %b, %acc atom wgmma : !tile.shared<64x64xbf16, #swizzled>, !tile.shared<64x64xbf16, #swizzled>, tensor<64x64xf32, #wgmma>
  tile.return
}
}

// -----

#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 2>} {
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" at 0 : !tile.shared<64x64xbf16, #swizzled>
  %b = tile.alloc_shared "b" at 65536 : !tile.shared<64x64xbf16, #swizzled>
  %acc = tile.splat %zero : f32 -> tensor<64x64xf32, #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8, 2@0:32) lane(4@1:2, 8@0:1) warp(2@0:16)">>
  // expected-error @below {{expected a product that wgmma can compute because the atom is wgmma: expected whole warpgroups that begin at a multiple of 4 warps, but kernel 'test' has 2 warps from warp 0}}
  %new = tile.gemm %a, %b, %acc atom wgmma : !tile.shared<64x64xbf16, #swizzled>, !tile.shared<64x64xbf16, #swizzled>, tensor<64x64xf32, #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8, 2@0:32) lane(4@1:2, 8@0:1) warp(2@0:16)">>
  tile.return
}
}

// -----

#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" at 0 : !tile.shared<64x64xbf16, #swizzled>
  %b = tile.alloc_shared "b" at 65536 : !tile.shared<64x64xbf16, #swizzled>
  %acc = tile.splat %zero : f32 -> tensor<64x64xf32, #tile.layout<"reg(32@1:1) lane(2@1:32, 16@0:1) warp(4@0:16)">>
  // expected-error @below {{expected a product that wgmma can compute because the atom is wgmma: expected the accumulator in wgmma's layout for 1 warpgroups, but got reg(32@1:1) lane(2@1:32, 16@0:1) warp(4@0:16)}}
  %new = tile.gemm %a, %b, %acc atom wgmma : !tile.shared<64x64xbf16, #swizzled>, !tile.shared<64x64xbf16, #swizzled>, tensor<64x64xf32, #tile.layout<"reg(32@1:1) lane(2@1:32, 16@0:1) warp(4@0:16)">>
  tile.return
}
}

// -----

#plain = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle none pad 0">
#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
#wgmma = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" at 0 : !tile.shared<64x64xbf16, #swizzled>
  %b = tile.alloc_shared "b" at 65536 : !tile.shared<64x64xbf16, #plain>
  %acc = tile.splat %zero : f32 -> tensor<64x64xf32, #wgmma>
  // expected-error @below {{expected the right factor in a layout that wgmma reads because the atom is wgmma: expected panels of 8 elements}}
  %new = tile.gemm %a, %b, %acc atom wgmma : !tile.shared<64x64xbf16, #swizzled>, !tile.shared<64x64xbf16, #plain>, tensor<64x64xf32, #wgmma>
  tile.return
}
}

// -----

#plain = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle none pad 0">
#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
#wgmma = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" at 0 : !tile.shared<64x64xbf16, #plain>
  %b = tile.alloc_shared "b" at 65536 : !tile.shared<64x64xbf16, #swizzled>
  %acc = tile.splat %zero : f32 -> tensor<64x64xf32, #wgmma>
  // expected-error @below {{expected the left factor in a layout that wgmma reads because the atom is wgmma: expected panels of 8 elements}}
  %new = tile.gemm %a, %b, %acc atom wgmma : !tile.shared<64x64xbf16, #plain>, !tile.shared<64x64xbf16, #swizzled>, tensor<64x64xf32, #wgmma>
  tile.return
}
}

// -----

#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
#wgmma = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %zero = arith.constant 0.0 : f32
  %h = arith.constant 0.0 : bf16
  %a = tile.splat %h : bf16 -> tensor<64x64xbf16, #tile.layout<"reg(32@1:1) lane(2@1:32, 16@0:1) warp(4@0:16)">>
  %b = tile.alloc_shared "b" at 65536 : !tile.shared<64x64xbf16, #swizzled>
  %acc = tile.splat %zero : f32 -> tensor<64x64xf32, #wgmma>
  // expected-error @below {{expected a product that wgmma can compute because the atom is wgmma: expected the left factor's registers in the layout reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16), but got reg(32@1:1) lane(2@1:32, 16@0:1) warp(4@0:16)}}
  %new = tile.gemm %a, %b, %acc atom wgmma : tensor<64x64xbf16, #tile.layout<"reg(32@1:1) lane(2@1:32, 16@0:1) warp(4@0:16)">>, !tile.shared<64x64xbf16, #swizzled>, tensor<64x64xf32, #wgmma>
  tile.return
}
}

// -----

#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 32>} {
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" at 0 : !tile.shared<64x64xbf16, #swizzled>
  %b = tile.alloc_shared "b" at 65536 : !tile.shared<64x192xbf16, #tile.shared_layout<"64x192 16b axis 1 panel 64 swizzle 128 pad 0">>
  %acc = tile.splat %zero : f32 -> tensor<64x192xf32, #tile.layout<"reg(2@1:1, 2@0:8, 3@1:8) lane(4@1:2, 8@0:1) warp(4@0:16, 8@1:24)">>
  // expected-error @below {{expected the warpgroups' parts of the right factor at even distances because one descriptor serves them all, but 64x192 16b axis 1 panel 64 swizzle 128 pad 0 has panels that end within a part}}
  %new = tile.gemm %a, %b, %acc atom wgmma : !tile.shared<64x64xbf16, #swizzled>, !tile.shared<64x192xbf16, #tile.shared_layout<"64x192 16b axis 1 panel 64 swizzle 128 pad 0">>, tensor<64x192xf32, #tile.layout<"reg(2@1:1, 2@0:8, 3@1:8) lane(4@1:2, 8@0:1) warp(4@0:16, 8@1:24)">>
  tile.return
}
}

// -----

#plain = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" at 0 : !tile.shared<64x64xbf16, #plain>
  %b = tile.alloc_shared "b" at 65536 : !tile.shared<64x64xbf16, #plain>
  %acc = tile.splat %zero : f32 -> tensor<64x64xf32, #tile.layout<"reg(32@1:1) lane(2@1:32, 16@0:1) warp(4@0:16)">>
  // expected-error @below {{expected a product that mma.sync can compute because the atom is mma_sync: expected the accumulator in mma.sync's layout for 4 warps, but got reg(32@1:1) lane(2@1:32, 16@0:1) warp(4@0:16)}}
  %new = tile.gemm %a, %b, %acc atom mma_sync : !tile.shared<64x64xbf16, #plain>, !tile.shared<64x64xbf16, #plain>, tensor<64x64xf32, #tile.layout<"reg(32@1:1) lane(2@1:32, 16@0:1) warp(4@0:16)">>
  tile.return
}
}

// -----

#mma = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" at 0 : !tile.shared<64x8xbf16, #tile.shared_layout<"64x8 16b axis 1 panel 8 swizzle none pad 0">>
  %b = tile.alloc_shared "b" at 65536 : !tile.shared<8x64xbf16, #tile.shared_layout<"8x64 16b axis 1 panel 64 swizzle none pad 0">>
  %acc = tile.splat %zero : f32 -> tensor<64x64xf32, #mma>
  // expected-error @below {{expected a product that mma.sync can compute because the atom is mma_sync: expected a multiple of 16 along the reduced axis, but got 8}}
  %new = tile.gemm %a, %b, %acc atom mma_sync : !tile.shared<64x8xbf16, #tile.shared_layout<"64x8 16b axis 1 panel 8 swizzle none pad 0">>, !tile.shared<8x64xbf16, #tile.shared_layout<"8x64 16b axis 1 panel 64 swizzle none pad 0">>, tensor<64x64xf32, #mma>
  tile.return
}
}

// -----

#plain = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle none pad 0">
#mma = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %zero = arith.constant 0.0 : f32
  %h = arith.constant 0.0 : bf16
  %a = tile.splat %h : bf16 -> tensor<64x64xbf16, #tile.layout<"reg(32@1:1) lane(2@1:32, 16@0:1) warp(4@0:16)">>
  %b = tile.alloc_shared "b" at 65536 : !tile.shared<64x64xbf16, #plain>
  %acc = tile.splat %zero : f32 -> tensor<64x64xf32, #mma>
  // expected-error @below {{expected a product that mma.sync can compute because the atom is mma_sync: expected the left factor's registers in the layout reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16), but got reg(32@1:1) lane(2@1:32, 16@0:1) warp(4@0:16)}}
  %new = tile.gemm %a, %b, %acc atom mma_sync : tensor<64x64xbf16, #tile.layout<"reg(32@1:1) lane(2@1:32, 16@0:1) warp(4@0:16)">>, !tile.shared<64x64xbf16, #plain>, tensor<64x64xf32, #mma>
  tile.return
}
}

// -----

#plain = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle none pad 0">
#mma = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %zero = arith.constant 0.0 : f32
  %h = arith.constant 0.0 : bf16
  %a = tile.splat %h : bf16 -> tensor<64x64xbf16, #mma>
  %b = tile.alloc_shared "b" at 65536 : !tile.shared<64x64xbf16, #plain>
  %acc = tile.splat %zero : f32 -> tensor<64x64xf32, #mma>
  // expected-error @below {{expected two factors of two axes in shared memory because the atom is fma, but got 'tensor<64x64xbf16}}
  %new = tile.gemm %a, %b, %acc atom fma : tensor<64x64xbf16, #mma>, !tile.shared<64x64xbf16, #plain>, tensor<64x64xf32, #mma>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  // expected-error @below {{expected one number for all elements because which element a thread has is decided by the layout, but got several; load them from a tensor}}
  %v = arith.constant dense<[1.0, 2.0]> : tensor<2xf32, #tile.layout<"reg(2@0:1) lane(32@*) warp(4@*)">>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  // expected-error @below {{expected an operation of the phase 'planned': tile, scf, or arith and math on numbers and fragments, but got another}}
  %v = llvm.mlir.undef : f32
  tile.return
}
}

// -----

#wgmma = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %zero = arith.constant 0.0 : f32
  %v = tile.splat %zero : f32 -> tensor<64x64xf32, #wgmma>
  // expected-error @below {{expected scratch memory because elements move between warps from reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16) to reg(2@1:1, 2@0:8, 2@1:8, 4@0:16) lane(4@1:2, 8@0:1) warp(4@1:16); run 'tile-materialize-relayouts' before 'tile-to-simt'}}
  %w = tile.convert_layout %v : tensor<64x64xf32, #wgmma> -> tensor<64x64xf32, #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8, 4@0:16) lane(4@1:2, 8@0:1) warp(4@1:16)">>
  tile.return
}
}

// -----

#plain = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle none pad 0">
#wgmma = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %zero = arith.constant 0.0 : f32
  %v = tile.splat %zero : f32 -> tensor<64x64xf32, #wgmma>
  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x64xbf16, #plain>
  // expected-error @below {{expected scratch memory for a tile of 'tensor<64x64xf32}}
  %w = tile.convert_layout %v scratch %p : !tile.shared<64x64xbf16, #plain> : tensor<64x64xf32, #wgmma> -> tensor<64x64xf32, #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8, 4@0:16) lane(4@1:2, 8@0:1) warp(4@1:16)">>
  tile.return
}
}

// -----

#wgmma = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %zero = arith.constant 0.0 : f32
  %v = tile.splat %zero : f32 -> tensor<64x1xf32, #tile.layout<"rank 2 reg(2@0:32) lane(32@0:1) warp(4@*)">>
  // expected-error @below {{expected the source in the layout rank 2 reg(2@0:8) lane(4@*, 8@0:1) warp(4@0:16) because the result's threads need it, but got rank 2 reg(2@0:32) lane(32@0:1) warp(4@*) and elements move between warps; insert 'tile.convert_layout'}}
  %w = tile.broadcast %v : tensor<64x1xf32, #tile.layout<"rank 2 reg(2@0:32) lane(32@0:1) warp(4@*)">> -> tensor<64x64xf32, #wgmma>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %zero = arith.constant 0.0 : f32
  %v = tile.splat %zero : f32 -> tensor<64x64xf32, #tile.layout<"reg(16@1:1, 2@0:32) lane(32@0:1) warp(4@1:16)">>
  // expected-error @below {{expected scratch memory because 4 warps share axis 1, but got none; run 'tile-materialize-relayouts' before 'tile-to-simt'}}
  %w = tile.reduce sum %v axis(1) : tensor<64x64xf32, #tile.layout<"reg(16@1:1, 2@0:32) lane(32@0:1) warp(4@1:16)">> -> tensor<64x1xf32, #tile.layout<"rank 2 reg(2@0:32) lane(32@0:1) warp(4@*)">>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %zero = arith.constant 0.0 : f32
  %v = tile.splat %zero : f32 -> tensor<64x64xf32, #tile.layout<"reg(16@1:1, 2@0:32) lane(32@0:1) warp(4@1:16)">>
  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x4xi32, #tile.shared_layout<"64x4 32b axis 1 panel 4 swizzle none pad 0">>
  // expected-error @below {{expected scratch memory of 64x4 elements of 'f32' because 4 warps share axis 1, but got}}
  %w = tile.reduce sum %v axis(1) scratch %p : !tile.shared<64x4xi32, #tile.shared_layout<"64x4 32b axis 1 panel 4 swizzle none pad 0">> : tensor<64x64xf32, #tile.layout<"reg(16@1:1, 2@0:32) lane(32@0:1) warp(4@1:16)">> -> tensor<64x1xf32, #tile.layout<"rank 2 reg(2@0:32) lane(32@0:1) warp(4@*)">>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %zero = arith.constant 0.0 : f32
  %v = tile.splat %zero : f32 -> tensor<64x64xf32, #tile.layout<"reg(16@1:1, 2@0:32) lane(32@0:1) warp(4@1:16)">>
  // expected-error @below {{expected scratch memory because 4 warps share axis 1, but got none; run 'tile-materialize-relayouts' before 'tile-to-simt'}}
  %w = tile.scan sum %v axis(1) : tensor<64x64xf32, #tile.layout<"reg(16@1:1, 2@0:32) lane(32@0:1) warp(4@1:16)">>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %zero = arith.constant 0.0 : f32
  %v = tile.splat %zero : f32 -> tensor<64x64xf32, #tile.layout<"reg(16@1:1, 2@0:32) lane(32@0:1) warp(4@1:16)">>
  %p = tile.alloc_shared "p" at 0 : !tile.shared<64x2xf32, #tile.shared_layout<"64x2 32b axis 1 panel 2 swizzle none pad 0">>
  // expected-error @below {{expected scratch memory of 64x4 elements of 'f32' because 4 warps share axis 1, but got}}
  %w = tile.scan sum %v axis(1) scratch %p : !tile.shared<64x2xf32, #tile.shared_layout<"64x2 32b axis 1 panel 2 swizzle none pad 0">> : tensor<64x64xf32, #tile.layout<"reg(16@1:1, 2@0:32) lane(32@0:1) warp(4@1:16)">>
  tile.return
}
}

// -----

#wgmma = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 4>} {
  %zero = arith.constant 0.0 : f32
  %v = tile.splat %zero : f32 -> tensor<64x64xf32, #wgmma>
  // expected-error @below {{expected the result in the layout rank 2 reg(2@0:8) lane(4@*, 8@0:1) warp(4@0:16) because that is where the reduction leaves it, but got rank 2 reg(2@0:32) lane(32@0:1) warp(4@*) and elements move between warps; insert 'tile.convert_layout'}}
  %w = tile.reduce sum %v axis(1) : tensor<64x64xf32, #wgmma> -> tensor<64x1xf32, #tile.layout<"rank 2 reg(2@0:32) lane(32@0:1) warp(4@*)">>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 1>} {
  %zero = arith.constant dense<0.0> : tensor<32xf32, #tile.layout<"rank 1 reg() lane(32@0:1) warp()">>
  // expected-error @below {{expected elements to be converted by 'tile.convert', but got another operation}}
  %half = arith.truncf %zero : tensor<32xf32, #tile.layout<"rank 1 reg() lane(32@0:1) warp()">> to tensor<32xf16, #tile.layout<"rank 1 reg() lane(32@0:1) warp()">>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test() attributes {launch = #program.launch<warps = 1>} {
  %zero = arith.constant dense<0.0> : tensor<32xf8E4M3FN, #tile.layout<"rank 1 reg() lane(32@0:1) warp()">>
  // expected-error @below {{expected numbers that the machine computes with, but got 'f8E4M3FN'; convert them to f32}}
  %sum = arith.addf %zero, %zero : tensor<32xf8E4M3FN, #tile.layout<"rank 1 reg() lane(32@0:1) warp()">>
  tile.return
}
}

// -----

#tile = #tile.shared_layout<"16x32 8b axis 1 panel 32 swizzle 32 pad 0 interleaved">

module attributes {program.target = #program.target<"sm_90a">} {

tile.kernel @unsettled(%n: index {program.argument = #program.dimension<"n">},
    %A: !tile.global<?x32xf8E4M3FN> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %ring = tile.alloc_ring "a" at 0 : !tile.ring<1>
  %a = tile.alloc_shared "a" at 1024 : !tile.shared<1x16x32xf8E4M3FN, #tile>
  %c = tile.cursor : !tile.cursor<1>
  tile.roles {
    tile.role "load" warps(4) {
      tile.acquire %ring[%c] : !tile.ring<1>
      %s = tile.slice %A[%c0, %c0] : !tile.global<?x32xf8E4M3FN> -> !tile.slice<16x32xf8E4M3FN>
      %slot = tile.slot %a[%c] : !tile.shared<1x16x32xf8E4M3FN, #tile>, !tile.cursor<1> -> !tile.shared<16x32xf8E4M3FN, #tile>
      // expected-error @below {{expected units of at least 4 bytes because cp.async copies no less, but got 2; run 'tile-settle-copies' before 'tile-to-simt'}}
      tile.copy %s, %slot atom cp_async : !tile.slice<16x32xf8E4M3FN>, !tile.shared<16x32xf8E4M3FN, #tile>
      tile.publish %ring[%c] after_copies : !tile.ring<1>
    }
    tile.role "math" warps(4) {
      tile.await %ring[%c] : !tile.ring<1>
      tile.release %ring[%c] : !tile.ring<1>
    }
  }
  tile.return
}
}
