// RUN: %tile-opt %s --tile-elect-threads -split-input-file | FileCheck %s

// The role that loads issues copies and otherwise waits: it is one thread. So is one that stores through the TMA and
// releases slots. One that multiplies is all its threads.
// CHECK-LABEL: tile.kernel @copies(
// CHECK:         tile.role "load" warps(4) one_thread {
// CHECK:         tile.role "store" warps(4) registers(40) one_thread {
// CHECK:         tile.role "math" warps(4) {
tile.kernel @copies(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x64xbf16> {program.argument = #program.tensor<"X", input, dims[0, -1]>},
    %Y: !tile.global<?x64xbf16> {program.argument = #program.tensor<"Y", output, dims[0, -1]>}) attributes {launch = #program.launch<warps = 12>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = tile.alloc_shared "p" : !tile.shared<2x64x64xbf16>
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %c = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "load" warps(4) {
      scf.for %i = %c0 to %n step %c1 iter_args(%at = %c) -> (!tile.cursor<2>) {
        tile.acquire %r[%at] : !tile.ring<2>
        tile.expect %r[%at] bytes(8192) : !tile.ring<2>
        %slot = tile.slot %p[%at] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %s = tile.slice %X[%i, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
        tile.copy_async %s, %slot, %r[%at] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>, !tile.ring<2>
        %next = tile.advance %at : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
    }
    tile.role "store" warps(4) registers(40) {
      tile.await %r[%c] : !tile.ring<2>
      %slot = tile.slot %p[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
      %s = tile.slice %Y[%c0, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
      tile.copy %slot, %s atom tma : !tile.shared<64x64xbf16>, !tile.slice<64x64xbf16>
      tile.release %r[%c] : !tile.ring<2>
    }
    tile.role "math" warps(4) {
      tile.await %r[%c] : !tile.ring<2>
      %slot = tile.slot %p[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
      %v = tile.load %slot : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
      tile.release %r[%c] : !tile.ring<2>
    }
  }
  tile.return
}

// -----

// Not one thread: a role that issues nothing, one whose threads copy, one whose fence is each thread's own, one of two
// warpgroups of which each arrives.
// CHECK-LABEL: tile.kernel @all_threads(
// CHECK-NOT:     one_thread
// CHECK:         tile.return
tile.kernel @all_threads(
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 20>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" : !tile.shared<2x64x64xbf16>
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %c = tile.cursor : !tile.cursor<2>
  %slot = tile.slot %p[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
  %s = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.roles {
    tile.role "waits" warps(4) {
      tile.await %r[%c] : !tile.ring<2>
    }
    tile.role "copies" warps(4) {
      tile.expect %r[%c] bytes(8192) : !tile.ring<2>
      tile.copy_async %s, %slot, %r[%c] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>, !tile.ring<2>
      tile.copy %s, %slot atom simt : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    }
    tile.role "fences" warps(4) {
      tile.expect %r[%c] bytes(8192) : !tile.ring<2>
      tile.proxy_fence
      tile.copy_async %s, %slot, %r[%c] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>, !tile.ring<2>
    }
    tile.role "releases" warps(8) {
      tile.expect %r[%c] bytes(8192) : !tile.ring<2>
      tile.copy_async %s, %slot, %r[%c] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>, !tile.ring<2>
      tile.release %r[%c] : !tile.ring<2>
    }
  }
  tile.return
}

// -----

// A slot that blocks of a cluster fill together is released to each of them, by a thread for each.
// CHECK-LABEL: tile.kernel @cluster(
// CHECK-NOT:     one_thread
// CHECK:         tile.return
tile.kernel @cluster(
    %X: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1]>})
    attributes {launch = #program.launch<warps = 4, cluster = 2>} {
  %c0 = arith.constant 0 : index
  %r = tile.alloc_ring "r" : !tile.ring<1>
  %p = tile.alloc_shared "p" : !tile.shared<64x64xbf16>
  %s = tile.slice %X[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  %c = tile.cursor : !tile.cursor<1>
  tile.roles {
    tile.role "load" warps(4) {
      tile.copy_async %s, %p, %r[%c] multicast : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>, !tile.ring<1>
      tile.release %r[%c] : !tile.ring<1>
    }
  }
  tile.return
}

// -----

// One that adds tiles by the TMA is one thread.
// CHECK-LABEL: tile.kernel @sums(
// CHECK:         tile.role "sums" warps(1) one_thread {
tile.kernel @sums(
    %X: !tile.global<64x64xf32> {program.argument = #program.tensor<"X", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 5>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" : !tile.shared<2x64x64xf32>
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %c = tile.cursor : !tile.cursor<2>
  %slot = tile.slot %p[%c] : !tile.shared<2x64x64xf32>, !tile.cursor<2> -> !tile.shared<64x64xf32>
  %s = tile.slice %X[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.roles {
    tile.role "sums" warps(1) {
      tile.await %r[%c] : !tile.ring<2>
      tile.copy_reduce add %slot, %s : !tile.shared<64x64xf32>, !tile.slice<64x64xf32>
      tile.release %r[%c] : !tile.ring<2>
    }
    tile.role "math" warps(4) {
      %f = arith.constant dense<1.0> : tensor<64x64xf32>
      tile.acquire %r[%c] : !tile.ring<2>
      tile.store %f, %slot : tensor<64x64xf32>, !tile.shared<64x64xf32>
      tile.publish %r[%c] : !tile.ring<2>
    }
  }
  tile.return
}
