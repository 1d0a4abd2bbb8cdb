// RUN: split-file %s %t
// RUN: %tile-opt %t/promoted.mlir --tile-verify-phase=phase=promoted -split-input-file -verify-diagnostics
// RUN: %tile-opt %t/atoms.mlir --tile-verify-phase=phase=atoms -split-input-file -verify-diagnostics
// RUN: %tile-opt %t/specialized.mlir --tile-verify-phase=phase=specialized -split-input-file -verify-diagnostics
// RUN: %tile-opt %t/pipelined.mlir --tile-verify-phase=phase=pipelined -split-input-file -verify-diagnostics
// RUN: %tile-opt %t/laid_out.mlir --tile-verify-phase=phase=laid-out -split-input-file -verify-diagnostics
// RUN: %tile-opt %t/planned.mlir --tile-verify-phase=phase=planned -split-input-file -verify-diagnostics
// RUN: %tile-opt %t/simt.mlir --tile-verify-phase=phase=simt -split-input-file -verify-diagnostics
// RUN: %tile-opt %t/unknown.mlir --tile-verify-phase=phase=finished -verify-diagnostics

// Before a phase nothing of it is promised: what breaks one is fine in the one before.
// RUN: %tile-opt %t/early.mlir --tile-verify-phase=phase=input
// RUN: %tile-opt %t/early.mlir --tile-verify-phase
// RUN: %tile-opt %t/scheduled.mlir --tile-verify-phase=phase=scheduled

//--- early.mlir

tile.kernel @early(%n: index {program.argument = #program.dimension<"n">}) {
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  tile.copy %a, %a : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>
  tile.persistent (%i) in (%n) {
    %v = tile.variable %i : !tile.variable<index>
  }
  tile.return
}

//--- promoted.mlir

tile.kernel @variable(%x: f32 {program.argument = #program.scalar<"x">}) {
  // expected-error @below {{phase 'promoted' promises no variables, but here is 'tile.variable'}}
  %v = tile.variable %x : !tile.variable<f32>
  tile.return
}

// -----

tile.kernel @persistent(%n: index {program.argument = #program.dimension<"n">}) {
  // expected-error @below {{phase 'promoted' promises no persistent tile loops, but here is 'tile.persistent'}}
  tile.persistent (%i) in (%n) {
  }
  tile.return
}

//--- atoms.mlir

tile.kernel @gemm() attributes {launch = #program.launch<warps = 4>} {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  // expected-error @below {{phase 'atoms' promises an atom on every product, but here is 'tile.gemm'}}
  %0 = tile.gemm %a, %a, %zero : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  tile.return
}

// -----

tile.kernel @gemm_async() attributes {launch = #program.launch<warps = 4>} {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  // expected-error @below {{phase 'atoms' promises an atom on every product, but here is 'tile.gemm_async'}}
  %0 = tile.gemm_async %a, %a, %zero : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  tile.return
}

// -----

tile.kernel @copy() attributes {launch = #program.launch<warps = 4>} {
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  // expected-error @below {{phase 'atoms' promises an atom on every copy, but here is 'tile.copy'}}
  tile.copy %a, %a : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>
  tile.return
}

// -----

tile.kernel @store() attributes {launch = #program.launch<warps = 4>} {
  %f0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : bf16 -> tensor<64x64xbf16>
  // expected-error @below {{phase 'atoms' promises an atom on every store, but here is 'tile.store'}}
  tile.store %zero, %a : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
  tile.return
}

// -----

module attributes {program.target = #program.target<"sm_80">} {
tile.kernel @unit() attributes {launch = #program.launch<warps = 4>} {
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %0 = tile.gemm %a, %a, %zero atom mma_sync : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  // expected-error @below {{phase 'atoms' promises a target with wgmma, but here is 'tile.gemm'}}
  %1 = tile.gemm %a, %a, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
  tile.return
}
}

// -----

// expected-error @below {{phase 'atoms' promises a number of warps, but here is 'tile.kernel'}}
tile.kernel @warps() {
  tile.return
}

//--- specialized.mlir

tile.kernel @loop(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{phase 'specialized' promises no loop left to be pipelined, but here is 'scf.for'}}
  scf.for %i = %c0 to %n step %c1 {
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}

// -----

tile.kernel @copy(%X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  // expected-error @below {{phase 'specialized' promises no synchronous load through the TMA, but here is 'tile.copy'}}
  tile.copy %x, %a atom tma : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
  tile.return
}

// -----

tile.kernel @registers() attributes {launch = #program.launch<warps = 12>} {
  // expected-error @below {{phase 'specialized' promises registers of all roles or of none, but here is 'tile.roles'}}
  tile.roles {
    tile.role "load" warps(4) registers(40) {
    }
    tile.role "math" warps(8) {
    }
  }
  tile.return
}

//--- scheduled.mlir

tile.kernel @loop(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %x = arith.addi %i, %i {tile.stage = #tile.stage<stage = 0, order = 0>} : index
  }
  tile.return
}

//--- pipelined.mlir

tile.kernel @loop(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{phase 'pipelined' promises no scheduled loop, but here is 'arith.addi'}}
    %x = arith.addi %i, %i {tile.stage = #tile.stage<stage = 0, order = 0>} : index
  }
  tile.return
}

//--- laid_out.mlir

tile.kernel @fragment(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4>} {
  // expected-error @below {{phase 'laid-out' promises a layout of every fragment and buffer, but here is 'tile.splat'}}
  %s = tile.splat %x : f32 -> tensor<64x64xf32>
  tile.return
}

// -----

tile.kernel @buffer() attributes {launch = #program.launch<warps = 4>} {
  // expected-error @below {{phase 'laid-out' promises a layout of every fragment and buffer, but here is 'tile.alloc_shared'}}
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  tile.return
}

//--- planned.mlir

tile.kernel @buffer() attributes {launch = #program.launch<warps = 4, shared_bytes = 65536>} {
  // expected-error @below {{phase 'planned' promises an offset of every buffer, ring and barrier, but here is 'tile.alloc_shared'}}
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16, #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">>
  tile.return
}

// -----

tile.kernel @ring() attributes {launch = #program.launch<warps = 4, shared_bytes = 65536>} {
  // expected-error @below {{phase 'planned' promises an offset of every buffer, ring and barrier, but here is 'tile.alloc_ring'}}
  %r = tile.alloc_ring "r" : !tile.ring<2>
  tile.return
}

// -----

tile.kernel @barrier() attributes {launch = #program.launch<warps = 4, shared_bytes = 65536>} {
  %bar = tile.alloc_barrier "placed" count(1) at 0
  // expected-error @below {{phase 'planned' promises an offset of every buffer, ring and barrier, but here is 'tile.alloc_barrier'}}
  %other = tile.alloc_barrier "bar" count(1)
  tile.return
}

// -----

// What an earlier phase promises still holds.
tile.kernel @earlier_promise(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4, shared_bytes = 65536>} {
  // expected-error @below {{phase 'planned' promises no variables, but here is 'tile.variable'}}
  %v = tile.variable %x : !tile.variable<f32>
  tile.return
}

// -----

#panels = #tile.shared_layout<"1x2x64x64 16b axis 3 panel 64 swizzle 128 pad 0">
#acc = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
tile.kernel @store(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4, shared_bytes = 65536>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %h0 = arith.constant 0.0 : bf16
  %h = tile.splat %h0 : bf16 -> tensor<64x64xbf16, #acc>
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  %staging = tile.alloc_shared "X.staging" at 0 : !tile.shared<1x2x64x64xbf16, #panels>
  // Awaited after the loop.
  scf.for %i = %c0 to %n step %c1 {
    tile.store %h, %x staging %staging : !tile.shared<1x2x64x64xbf16, #panels> atom tma : tensor<64x64xbf16, #acc>, !tile.slice<64x64xbf16>
  }
  tile.await_stores
  // Awaited on one way only.
  %any = arith.cmpi eq, %n, %c0 : index
  // expected-error @below {{phase 'planned' promises a wait for every store through the TMA before its role or kernel ends, but here is 'tile.store'}}
  tile.store %h, %x staging %staging : !tile.shared<1x2x64x64xbf16, #panels> atom tma : tensor<64x64xbf16, #acc>, !tile.slice<64x64xbf16>
  scf.if %any {
    tile.await_stores
  }
  tile.return
}

// -----

tile.kernel @release() attributes {launch = #program.launch<warps = 4, shared_bytes = 65536>} {
  %r = tile.alloc_ring "r" at 0 : !tile.ring<1>
  %c = tile.cursor : !tile.cursor<1>
  tile.roles {
    tile.role "math" warps(4) {
      tile.await %r[%c] : !tile.ring<1>
      // expected-error @below {{phase 'planned' promises that threads meet before one releases what others may still read or wait for, but here is 'tile.release'}}
      tile.release %r[%c] : !tile.ring<1>
    }
  }
  tile.return
}

// -----

#tile = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
#acc = #tile.layout<"reg(2@1:1, 2@0:8, 8@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">
tile.kernel @until_read(%X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", inout, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4, shared_bytes = 65536>} {
  %c0 = arith.constant 0 : index
  %x = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  %t = tile.alloc_shared "t" at 0 : !tile.shared<64x64xbf16, #tile>
  // expected-error @below {{phase 'planned' promises that stores of tiles are complete before the kernel accesses what they write, but here is 'tile.copy'}}
  tile.copy %t, %x atom tma until_read : !tile.shared<64x64xbf16, #tile>, !tile.slice<64x64xbf16>
  %h = tile.load %x : !tile.slice<64x64xbf16> -> tensor<64x64xbf16, #acc>
  tile.return
}

// -----

tile.kernel @memory() attributes {launch = #program.launch<warps = 4, shared_bytes = 16>} {
  %first = tile.alloc_barrier "first" count(1) at 8
  // expected-error @below {{phase 'planned' promises a kernel with shared memory for every buffer, ring and barrier, but here is 'tile.alloc_ring'}}
  %r = tile.alloc_ring "r" at 8 : !tile.ring<1>
  tile.return
}

// -----

#order = #tile.shared_layout<"16x32 8b axis 1 panel 32 swizzle 32 pad 0 interleaved">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @units(%A: !tile.global<?x32xf8E4M3FN> {program.argument = #program.tensor<"A", input, dims[1, -1], alignment = 16>},
    %n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8, shared_bytes = 1536>} {
  %c0 = arith.constant 0 : index
  %ring = tile.alloc_ring "a" at 0 : !tile.ring<1>
  %a = tile.alloc_shared "a" at 1024 : !tile.shared<1x16x32xf8E4M3FN, #order>
  %c = tile.cursor : !tile.cursor<1>
  tile.roles {
    tile.role "load" warps(4) {
      %s = tile.slice %A[%c0, %c0] : !tile.global<?x32xf8E4M3FN> -> !tile.slice<16x32xf8E4M3FN>
      %slot = tile.slot %a[%c] : !tile.shared<1x16x32xf8E4M3FN, #order>, !tile.cursor<1> -> !tile.shared<16x32xf8E4M3FN, #order>
      // expected-error @below {{phase 'planned' promises an announcement of stores where a buffer's layout keeps cp.async from it, but here is 'tile.copy'}}
      tile.copy %s, %slot atom cp_async : !tile.slice<16x32xf8E4M3FN>, !tile.shared<16x32xf8E4M3FN, #order>
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

//--- simt.mlir

tile.kernel @left() attributes {launch = #program.launch<warps = 4>} {
  // expected-error @below {{phase 'simt' promises no operation of the tile dialect, but here is 'tile.return'}}
  tile.return
}

//--- unknown.mlir

// expected-error @below {{unknown phase 'finished': expected one of input, promoted, atoms, specialized, scheduled, pipelined, laid-out, planned, simt}}
module {
}
