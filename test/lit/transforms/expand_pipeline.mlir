// RUN: %tile-opt %s --tile-expand-pipeline -split-input-file -verify-diagnostics | FileCheck %s
// RUN: %tile-opt %s --tile-expand-pipeline --canonicalize -split-input-file -verify-diagnostics | FileCheck %s --check-prefix=FOLDED

// One round starts the next product before it waits for the one before, whose slot it then releases. Iteration 0
// is peeled, under a test that there is one; the last product is awaited after the loop.
// CHECK-LABEL: tile.kernel @chain(
// CHECK:       %[[RUNS:.*]] = arith.cmpi slt, %c0, %n
// CHECK:       %[[END:.*]]:2 = scf.if %[[RUNS]] -> (tensor<64x64xf32>, !tile.cursor<2>) {
// CHECK-NEXT:    tile.await %r[%[[FIRST:.*]]] :
// CHECK-NEXT:    %[[A0:.*]] = tile.slot %a[%[[FIRST]]]
// CHECK-NEXT:    %[[STARTED0:.*]] = tile.gemm_async %[[A0]], %[[A0]], %[[ZERO:.*]] atom wgmma
// CHECK-NEXT:    %[[NEXT0:.*]] = tile.advance %[[FIRST]]
// CHECK:         %[[ROUNDS:.*]]:3 = scf.for %{{.*}} = %{{.*}} to %n step %c1 iter_args(%[[FLYING:.*]] = %[[STARTED0]], %[[C:.*]] = %[[NEXT0]], %[[BEFORE:.*]] = %[[FIRST]])
// CHECK-NEXT:      tile.await %r[%[[C]]]
// CHECK-NEXT:      %[[A:.*]] = tile.slot %a[%[[C]]]
// CHECK-NEXT:      %[[STARTED:.*]] = tile.gemm_async %[[A]], %[[A]], %[[FLYING]] atom wgmma
// CHECK-NEXT:      %[[DONE:.*]] = tile.gemm_wait %[[STARTED]] pending(1)
// CHECK-NEXT:      tile.release %r[%[[BEFORE]]]
// CHECK-NEXT:      %[[NEXT:.*]] = tile.advance %[[C]]
// CHECK-NEXT:      scf.yield %[[DONE]], %[[NEXT]], %[[C]]
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[LAST:.*]] = tile.gemm_wait %[[ROUNDS]]#0 pending(0)
// CHECK-NEXT:    tile.release %r[%[[ROUNDS]]#2]
// CHECK-NEXT:    scf.yield %[[LAST]], %[[ROUNDS]]#1
// CHECK-NEXT:  } else {
// CHECK-NEXT:    scf.yield %[[ZERO]], %[[FIRST]]
// CHECK-NEXT:  }
// CHECK:       tile.convert %[[END]]#0
// CHECK:       tile.await %r[%[[END]]#1]
// CHECK-NOT:   tile.stage
// FOLDED-LABEL: tile.kernel @chain(
tile.kernel @chain(%n: index {program.argument = #program.dimension<"n">}, %O: !tile.global<64x64xbf16> {program.argument = #program.tensor<"O", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %buffer = tile.alloc_shared "a" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
        tile.await %r[%c] {tile.stage = #tile.stage<stage = 0, order = 0>} : !tile.ring<2>
        %a = tile.slot %buffer[%c] {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %a, %a, %acc atom wgmma {tile.stage = #tile.stage<stage = 0, order = 2>} : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) {tile.stage = #tile.stage<stage = 1, order = 3>} : tensor<64x64xf32>
        tile.release %r[%c] {tile.stage = #tile.stage<stage = 1, order = 4>} : !tile.ring<2>
        %next = tile.advance %c {tile.stage = #tile.stage<stage = 0, order = 5>} : !tile.cursor<2>
        scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
      %h = tile.convert %end#0 : tensor<64x64xf32> to tensor<64x64xbf16>
      %o = tile.slice %O[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
      tile.store %h, %o atom simt : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
      tile.await %r[%end#1] : !tile.ring<2>
    }
  }
  tile.return
}

// -----

// A loop of one stage is its body in another order; waits leave in flight what is started before them.
// CHECK-LABEL: tile.kernel @one_stage(
// CHECK:       scf.for
// CHECK-NEXT:    %[[FIRST:.*]] = tile.gemm_async
// CHECK-NEXT:    %[[SECOND:.*]] = tile.gemm_async
// CHECK-NEXT:    %[[X:.*]] = tile.gemm_wait %[[FIRST]] pending(1)
// CHECK-NEXT:    %[[Y:.*]] = tile.gemm_wait %[[SECOND]] pending(0)
// CHECK-NEXT:    arith.addf %[[X]], %[[Y]]
// CHECK-NOT:   tile.stage
// FOLDED-LABEL: tile.kernel @one_stage(
tile.kernel @one_stage(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%total = %zero) -> (tensor<64x64xf32>) {
    %started = tile.gemm_async %a, %a, %zero atom wgmma {tile.stage = #tile.stage<stage = 0, order = 0>} : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    %done = tile.gemm_wait %started pending(0) {tile.stage = #tile.stage<stage = 0, order = 2>} : tensor<64x64xf32>
    %started2 = tile.gemm_async %a, %a, %zero atom wgmma {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    %done2 = tile.gemm_wait %started2 pending(0) {tile.stage = #tile.stage<stage = 0, order = 3>} : tensor<64x64xf32>
    %sum = arith.addf %done, %done2 {tile.stage = #tile.stage<stage = 0, order = 4>} : tensor<64x64xf32>
    scf.yield %sum : tensor<64x64xf32>
  }
  tile.return
}

// -----

// With no iteration nothing is left but the values before.
// FOLDED-LABEL: tile.kernel @no_iteration(
// FOLDED-NOT:    tile.gemm
// FOLDED-NOT:    scf.if
// FOLDED:        tile.convert
// FOLDED-NEXT:   tile.slice
// FOLDED-NEXT:   tile.store
// CHECK-LABEL: tile.kernel @no_iteration(
tile.kernel @no_iteration(%n: index {program.argument = #program.dimension<"n">}, %O: !tile.global<64x64xbf16> {program.argument = #program.tensor<"O", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %buffer = tile.alloc_shared "a" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end:2 = scf.for %i = %c0 to %c0 step %c1 iter_args(%acc = %zero, %c = %first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
        tile.await %r[%c] {tile.stage = #tile.stage<stage = 0, order = 0>} : !tile.ring<2>
        %a = tile.slot %buffer[%c] {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %a, %a, %acc atom wgmma {tile.stage = #tile.stage<stage = 0, order = 2>} : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) {tile.stage = #tile.stage<stage = 1, order = 3>} : tensor<64x64xf32>
        tile.release %r[%c] {tile.stage = #tile.stage<stage = 1, order = 4>} : !tile.ring<2>
        %next = tile.advance %c {tile.stage = #tile.stage<stage = 0, order = 5>} : !tile.cursor<2>
        scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
      %h = tile.convert %end#0 : tensor<64x64xf32> to tensor<64x64xbf16>
      %o = tile.slice %O[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
      tile.store %h, %o atom simt : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
      tile.await %r[%end#1] : !tile.ring<2>
    }
  }
  tile.return
}

// -----

// With one iteration no loop is left: its product is started and awaited.
// FOLDED-LABEL: tile.kernel @one_iteration(
// FOLDED-NOT:    scf.
// FOLDED:        tile.gemm_async
// FOLDED-NOT:    scf.
// FOLDED:        tile.gemm_wait {{.*}} pending(0)
// FOLDED-NEXT:   tile.release
// FOLDED-NOT:    scf.
// FOLDED:        tile.return
// CHECK-LABEL: tile.kernel @one_iteration(
tile.kernel @one_iteration(%n: index {program.argument = #program.dimension<"n">}, %O: !tile.global<64x64xbf16> {program.argument = #program.tensor<"O", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %buffer = tile.alloc_shared "a" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end:2 = scf.for %i = %c0 to %c1 step %c1 iter_args(%acc = %zero, %c = %first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
        tile.await %r[%c] {tile.stage = #tile.stage<stage = 0, order = 0>} : !tile.ring<2>
        %a = tile.slot %buffer[%c] {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %a, %a, %acc atom wgmma {tile.stage = #tile.stage<stage = 0, order = 2>} : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) {tile.stage = #tile.stage<stage = 1, order = 3>} : tensor<64x64xf32>
        tile.release %r[%c] {tile.stage = #tile.stage<stage = 1, order = 4>} : !tile.ring<2>
        %next = tile.advance %c {tile.stage = #tile.stage<stage = 0, order = 5>} : !tile.cursor<2>
        scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
      %h = tile.convert %end#0 : tensor<64x64xf32> to tensor<64x64xbf16>
      %o = tile.slice %O[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
      tile.store %h, %o atom simt : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
      tile.await %r[%end#1] : !tile.ring<2>
    }
  }
  tile.return
}

// -----

// The orders may put the wait before the next product: it then waits for all, and the product takes its result.
// CHECK-LABEL: tile.kernel @wait_first(
// CHECK:       scf.for {{.*}} iter_args(%[[FLYING:.*]] = %{{.*}}, %[[C:.*]] = %{{.*}}, %[[BEFORE:.*]] = %{{.*}})
// CHECK-NEXT:    %[[DONE:.*]] = tile.gemm_wait %[[FLYING]] pending(0)
// CHECK-NEXT:    tile.release %r[%[[BEFORE]]]
// CHECK-NEXT:    tile.await %r[%[[C]]]
// CHECK:         %[[STARTED:.*]] = tile.gemm_async %{{.*}}, %{{.*}}, %[[DONE]]
// CHECK:         scf.yield %[[STARTED]],
// FOLDED-LABEL: tile.kernel @wait_first(
tile.kernel @wait_first(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %buffer = tile.alloc_shared "a" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
        tile.await %r[%c] {tile.stage = #tile.stage<stage = 0, order = 2>} : !tile.ring<2>
        %a = tile.slot %buffer[%c] {tile.stage = #tile.stage<stage = 0, order = 3>} : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %a, %a, %acc atom wgmma {tile.stage = #tile.stage<stage = 0, order = 4>} : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) {tile.stage = #tile.stage<stage = 1, order = 0>} : tensor<64x64xf32>
        tile.release %r[%c] {tile.stage = #tile.stage<stage = 1, order = 1>} : !tile.ring<2>
        %next = tile.advance %c {tile.stage = #tile.stage<stage = 0, order = 5>} : !tile.cursor<2>
        scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// Two chains: what may stay in flight is what was started since, in this round and the one before.
// CHECK-LABEL: tile.kernel @two_chains(
// CHECK:       scf.for {{.*}} iter_args(%[[ONE:.*]] = %{{.*}}, %[[TWO:.*]] = %{{.*}})
// CHECK-NEXT:    %[[ONE_STARTED:.*]] = tile.gemm_async {{.*}}, %[[ONE]] atom wgmma
// CHECK-NEXT:    %[[TWO_STARTED:.*]] = tile.gemm_async {{.*}}, %[[TWO]] atom wgmma
// CHECK-NEXT:    tile.gemm_wait %[[ONE_STARTED]] pending(3)
// CHECK-NEXT:    tile.gemm_wait %[[TWO_STARTED]] pending(2)
// CHECK:       tile.gemm_wait {{.*}} pending(1)
// CHECK-NEXT:  tile.gemm_wait {{.*}} pending(0)
// FOLDED-LABEL: tile.kernel @two_chains(
tile.kernel @two_chains(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %buffer = tile.alloc_shared "a" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %x = tile.slot %buffer[%first] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %acc2 = %zero) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
        %one = tile.gemm_async %x, %x, %acc atom wgmma {tile.stage = #tile.stage<stage = 0, order = 0>} : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %one pending(0) {tile.stage = #tile.stage<stage = 1, order = 2>} : tensor<64x64xf32>
        %two = tile.gemm_async %x, %x, %acc2 atom wgmma {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done2 = tile.gemm_wait %two pending(0) {tile.stage = #tile.stage<stage = 1, order = 3>} : tensor<64x64xf32>
        scf.yield %done, %done2 : tensor<64x64xf32>, tensor<64x64xf32>
      }
    }
  }
  tile.return
}

// -----

// A product that stage 1 consumes goes over as it was started; values of stage 0 wait one round, and what stage 1
// alone carries starts with the loop's own initial value.
// CHECK-LABEL: tile.kernel @consumed_late(
// CHECK:       %[[ONE0:.*]] = tile.gemm_async
// CHECK-NEXT:  %[[FACTOR0:.*]] = tile.splat
// CHECK-NEXT:  %[[AT0:.*]] = arith.addi %c0, %c0
// CHECK:       %[[ROUNDS:.*]]:4 = scf.for %[[I:.*]] = {{.*}} iter_args(%[[SUM:.*]] = %[[ZERO:.*]], %[[AT:.*]] = %[[AT0]], %[[FLYING:.*]] = %[[ONE0]], %[[FACTOR:.*]] = %[[FACTOR0]])
// CHECK-NEXT:    %[[ONE:.*]] = tile.gemm_async
// CHECK-NEXT:    %[[NEXT_FACTOR:.*]] = tile.splat
// CHECK-NEXT:    %[[DONE:.*]] = tile.gemm_wait %[[FLYING]] pending(1)
// CHECK-NEXT:    %[[SCALED:.*]] = arith.mulf %[[DONE]], %[[FACTOR]]
// CHECK-NEXT:    %[[MORE:.*]] = arith.addf %[[SUM]], %[[SCALED]]
// CHECK-NEXT:    %[[THEN:.*]] = arith.addi %[[AT]], %[[I]]
// CHECK-NEXT:    scf.yield %[[MORE]], %[[THEN]], %[[ONE]], %[[NEXT_FACTOR]]
// CHECK:       %[[DONE:.*]] = tile.gemm_wait %[[ROUNDS]]#2 pending(0)
// CHECK-NEXT:  %[[SCALED:.*]] = arith.mulf %[[DONE]], %[[ROUNDS]]#3
// CHECK-NEXT:  %[[MORE:.*]] = arith.addf %[[ROUNDS]]#0, %[[SCALED]]
// CHECK-NEXT:  scf.yield %[[MORE]], %[[ROUNDS]]#1
// FOLDED-LABEL: tile.kernel @consumed_late(
tile.kernel @consumed_late(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %buffer = tile.alloc_shared "a" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %x = tile.slot %buffer[%first] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero, %at = %c0) -> (tensor<64x64xf32>, index) {
        %one = tile.gemm_async %x, %x, %zero atom wgmma {tile.stage = #tile.stage<stage = 0, order = 0>} : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %factor = tile.splat %f0 {tile.stage = #tile.stage<stage = 0, order = 1>} : f32 -> tensor<64x64xf32>
        %done = tile.gemm_wait %one pending(0) {tile.stage = #tile.stage<stage = 1, order = 2>} : tensor<64x64xf32>
        %scaled = arith.mulf %done, %factor {tile.stage = #tile.stage<stage = 1, order = 3>} : tensor<64x64xf32>
        %more = arith.addf %sum, %scaled {tile.stage = #tile.stage<stage = 1, order = 4>} : tensor<64x64xf32>
        %then = arith.addi %at, %i {tile.stage = #tile.stage<stage = 0, order = 5>} : index
        scf.yield %more, %then : tensor<64x64xf32>, index
      }
    }
  }
  tile.return
}

// -----

// Scheduled loops in scheduled loops: what the outer one repeats of the inner one is expanded, too.
// CHECK-LABEL: tile.kernel @nested(
// CHECK-COUNT-4: tile.gemm_async
// CHECK-NOT:   tile.stage
// FOLDED-LABEL: tile.kernel @nested(
tile.kernel @nested(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %buffer = tile.alloc_shared "a" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %x = tile.slot %buffer[%first] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
      %outer = scf.for %j = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
        %inner = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
          %one = tile.gemm_async %x, %x, %acc atom wgmma {tile.stage = #tile.stage<stage = 0, order = 0>} : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
          %done = tile.gemm_wait %one pending(0) {tile.stage = #tile.stage<stage = 1, order = 1>} : tensor<64x64xf32>
          scf.yield %done : tensor<64x64xf32>
        } {tile.stage = #tile.stage<stage = 0, order = 0>}
        %more = arith.addf %sum, %inner {tile.stage = #tile.stage<stage = 1, order = 1>} : tensor<64x64xf32>
        scf.yield %more : tensor<64x64xf32>
      }
    }
  }
  tile.return
}

// -----

// What stage 1 computes early in a round, stage 0 may use later in it: the next iteration finds it there. A wait in
// the stage of its product leaves in flight what the round has started since.
// CHECK-LABEL: tile.kernel @used_later(
// CHECK:         %[[S0:.*]] = tile.gemm_async
// CHECK-NEXT:    %[[SCORES0:.*]] = tile.gemm_wait %[[S0]] pending(0)
// CHECK-NEXT:    %[[P0:.*]] = tile.convert %[[SCORES0]]
// CHECK-NEXT:    %[[ACC0:.*]] = arith.mulf %[[ZERO:.*]], %[[SCORES0]]
// CHECK:         %[[ROUNDS:.*]]:3 = scf.for {{.*}} iter_args(%{{.*}} = %[[ZERO]], %[[P:.*]] = %[[P0]], %[[ACC:.*]] = %[[ACC0]])
// CHECK-NEXT:      %[[S:.*]] = tile.gemm_async
// CHECK-NEXT:      %[[O:.*]] = tile.gemm_async %[[P]], {{.*}}, %[[ACC]]
// CHECK-NEXT:      %[[SCORES:.*]] = tile.gemm_wait %[[S]] pending(1)
// CHECK-NEXT:      %[[NEXT:.*]] = tile.convert %[[SCORES]]
// CHECK-NEXT:      %[[DONE:.*]] = tile.gemm_wait %[[O]] pending(0)
// CHECK-NEXT:      %[[SCALED:.*]] = arith.mulf %[[DONE]], %[[SCORES]]
// CHECK-NEXT:      scf.yield %[[DONE]], %[[NEXT]], %[[SCALED]]
// CHECK:         %[[O:.*]] = tile.gemm_async %[[ROUNDS]]#1, {{.*}}, %[[ROUNDS]]#2
// CHECK-NEXT:    %[[DONE:.*]] = tile.gemm_wait %[[O]] pending(0)
// CHECK-NEXT:    scf.yield %[[DONE]]
// FOLDED-LABEL: tile.kernel @used_later(
// FOLDED:       scf.for {{.*}} -> (tensor<64x64xbf16>, tensor<64x64xf32>)
tile.kernel @used_later(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %x = tile.alloc_shared "x" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
        %s = tile.gemm_async %x, %x, %zero atom wgmma {tile.stage = #tile.stage<stage = 0, order = 0>} : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %scores = tile.gemm_wait %s pending(0) {tile.stage = #tile.stage<stage = 0, order = 2>} : tensor<64x64xf32>
        %p = tile.convert %scores {tile.stage = #tile.stage<stage = 0, order = 3>} : tensor<64x64xf32> to tensor<64x64xbf16>
        %scaled = arith.mulf %acc, %scores {tile.stage = #tile.stage<stage = 0, order = 5>} : tensor<64x64xf32>
        %o = tile.gemm_async %p, %x, %scaled atom wgmma {tile.stage = #tile.stage<stage = 1, order = 1>} : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %o pending(0) {tile.stage = #tile.stage<stage = 1, order = 4>} : tensor<64x64xf32>
        scf.yield %done : tensor<64x64xf32>
      }
    }
  }
  tile.return
}

// -----

// The same for two warpgroups, which start their products in turn.
// CHECK-LABEL: tile.kernel @in_turn(
// CHECK-NOT:     tile.take_turn
// CHECK:         scf.for
// CHECK-NEXT:      tile.take_turn
// CHECK-NEXT:      tile.gemm_async
// CHECK-NEXT:      tile.gemm_async
// CHECK-NEXT:      tile.pass_turn
// CHECK-NEXT:      tile.gemm_wait {{.*}} pending(1)
// CHECK-NOT:     tile.take_turn
// FOLDED-LABEL: tile.kernel @in_turn(
tile.kernel @in_turn(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %x = tile.alloc_shared "x" : !tile.shared<64x64xbf16>
  %q = tile.alloc_shared "q" : !tile.shared<128x64xbf16>
  tile.roles {
    tile.role "math" warps(8) {
      %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
        %s = tile.gemm_async %q, %x, %zero atom wgmma {tile.stage = #tile.stage<stage = 0, order = 0>} : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
        %scores = tile.gemm_wait %s pending(0) {tile.stage = #tile.stage<stage = 0, order = 2>} : tensor<128x64xf32>
        %p = tile.convert %scores {tile.stage = #tile.stage<stage = 0, order = 3>} : tensor<128x64xf32> to tensor<128x64xbf16>
        %scaled = arith.mulf %acc, %scores {tile.stage = #tile.stage<stage = 0, order = 5>} : tensor<128x64xf32>
        %o = tile.gemm_async %p, %x, %scaled atom wgmma {tile.stage = #tile.stage<stage = 1, order = 1>} : tensor<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
        %done = tile.gemm_wait %o pending(0) {tile.stage = #tile.stage<stage = 1, order = 4>} : tensor<128x64xf32>
        scf.yield %done : tensor<128x64xf32>
      }
    }
  }
  tile.return
}

// -----

// A view that both stages use is made in each: stage 1 carries the cursor.
// CHECK-LABEL: tile.kernel @view_in_both(
// CHECK:         scf.for {{.*}} -> (!tile.cursor<2>, !tile.cursor<2>, tensor<64x64xbf16>)
// CHECK-COUNT-2:   tile.slot
// FOLDED-LABEL: tile.kernel @view_in_both(
tile.kernel @view_in_both(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %x = tile.alloc_shared "x" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%c = %first) -> (!tile.cursor<2>) {
        %v = tile.slot %x[%c] {tile.stage = #tile.stage<stage = 0, order = 0>} : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %s = tile.gemm_async %v, %v, %zero atom wgmma {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %scores = tile.gemm_wait %s pending(0) {tile.stage = #tile.stage<stage = 0, order = 3>} : tensor<64x64xf32>
        %p = tile.convert %scores {tile.stage = #tile.stage<stage = 0, order = 4>} : tensor<64x64xf32> to tensor<64x64xbf16>
        %o = tile.gemm_async %p, %v, %zero atom wgmma {tile.stage = #tile.stage<stage = 1, order = 2>} : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %o pending(0) {tile.stage = #tile.stage<stage = 1, order = 5>} : tensor<64x64xf32>
        %next = tile.advance %c {tile.stage = #tile.stage<stage = 0, order = 6>} : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// A schedule says something about every operation.
// CHECK-LABEL: tile.kernel @unscheduled(
// CHECK-NOT:   scf.if
// FOLDED-LABEL: tile.kernel @unscheduled(
tile.kernel @unscheduled(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %buffer = tile.alloc_shared "a" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      scf.for %i = %c0 to %n step %c1 {
        %x = arith.addi %i, %i : index
      }
    }
  }
  tile.return
}

// -----

tile.kernel @missing_stage(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %buffer = tile.alloc_shared "a" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c0) -> (index) {
        %y = arith.addi %x, %i {tile.stage = #tile.stage<stage = 0, order = 0>} : index
        // expected-error @below {{expected 'tile.stage' on every operation of a scheduled loop}}
        %z = arith.addi %y, %i  : index
        scf.yield %z : index
      }
    }
  }
  tile.return
}

// -----

// A sum that three products in flight add to: three iterations, of which the last two are awaited after the loop. With
// fewer than two there is the loop as it was.
// CHECK-LABEL: tile.kernel @three_in_flight(
// CHECK:       %[[FIRST:.*]] = arith.cmpi slt, %c0, %n
// CHECK:       %[[SECOND:.*]] = arith.cmpi slt, %{{.*}}, %n
// CHECK:       scf.if %[[SECOND]] -> (tensor<64x64xf32>, !tile.cursor<3>) {
// CHECK:         %[[A0:.*]] = tile.gemm_async %{{.*}}, %{{.*}}, %[[ZERO:.*]] atom wgmma
// CHECK-NEXT:    %[[C1:.*]] = tile.advance %[[C0:.*]] :
// CHECK-NEXT:    tile.slot %a[%[[C1]]]
// CHECK-NEXT:    %[[A1:.*]] = tile.gemm_async %{{.*}}, %{{.*}}, %[[A0]] atom wgmma
// CHECK-NEXT:    %[[C2:.*]] = tile.advance %[[C1]]
// CHECK:         %[[ROUNDS:.*]]:4 = scf.for %{{.*}} = %{{.*}} to %n step %c1 iter_args(%[[FLYING:.*]] = %[[A1]], %[[C:.*]] = %[[C2]], %[[ONE:.*]] = %[[C1]], %[[TWO:.*]] = %[[C0]])
// CHECK:           %[[STARTED:.*]] = tile.gemm_async %{{.*}}, %{{.*}}, %[[FLYING]] atom wgmma
// CHECK-NEXT:      %[[DONE:.*]] = tile.gemm_wait %[[STARTED]] pending(2)
// CHECK-NEXT:      tile.release %r[%[[TWO]]]
// CHECK-NEXT:      %[[NEXT:.*]] = tile.advance %[[C]]
// CHECK-NEXT:      scf.yield %[[DONE]], %[[NEXT]], %[[C]], %[[ONE]]
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[LAST:.*]] = tile.gemm_wait %[[ROUNDS]]#0 pending(1)
// CHECK-NEXT:    tile.release %r[%[[ROUNDS]]#3]
// CHECK-NEXT:    %[[END:.*]] = tile.gemm_wait %[[LAST]] pending(0)
// CHECK-NEXT:    tile.release %r[%[[ROUNDS]]#2]
// CHECK-NEXT:    scf.yield %[[END]], %[[ROUNDS]]#1
// CHECK-NEXT:  } else {
// CHECK-NEXT:    scf.for %{{.*}} = %c0 to %n
// CHECK:           tile.gemm_wait %{{.*}} pending(0)
// CHECK-NOT:   tile.stage
// FOLDED-LABEL: tile.kernel @three_in_flight(
tile.kernel @three_in_flight(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<3>
  %buffer = tile.alloc_shared "a" : !tile.shared<3x64x64xbf16>
  %first = tile.cursor : !tile.cursor<3>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %first) -> (tensor<64x64xf32>, !tile.cursor<3>) {
        %a = tile.slot %buffer[%c] {tile.stage = #tile.stage<stage = 0, order = 0>} : !tile.shared<3x64x64xbf16>, !tile.cursor<3> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %a, %a, %acc atom wgmma {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) {tile.stage = #tile.stage<stage = 2, order = 2>} : tensor<64x64xf32>
        tile.release %r[%c] {tile.stage = #tile.stage<stage = 2, order = 3>} : !tile.ring<3>
        %next = tile.advance %c {tile.stage = #tile.stage<stage = 0, order = 4>} : !tile.cursor<3>
        scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<3>
      }
    }
  }
  tile.return
}

// -----

// Copies whose places are read a round before them: the place goes from round to round.
// CHECK-LABEL: tile.kernel @places_ahead(
// CHECK:       %[[FIRST:.*]] = tile.load_index
// CHECK:       %[[SECOND:.*]] = tile.load_index
// CHECK:       tile.slice %A[%[[FIRST]], %c0]
// CHECK:       scf.if %{{.*}} {
// CHECK-NEXT:    tile.copy {{.*}} atom cp_async
// CHECK-NEXT:  }
// CHECK-NEXT:  tile.commit_copies
// CHECK:       scf.for {{.*}} iter_args({{.*}}, %[[PLACE:.*]] = %[[SECOND]])
// CHECK:         tile.await_copies pending(0)
// CHECK:         %[[NEXT:.*]] = tile.load_index
// CHECK-NEXT:    tile.slice %A[%[[PLACE]], %c0]
// CHECK:         tile.copy {{.*}} atom cp_async
// CHECK:         scf.yield {{.*}}, %[[NEXT]]
// CHECK-NOT:   tile.stage
// FOLDED-LABEL: tile.kernel @places_ahead(
tile.kernel @places_ahead(%n: index {program.argument = #program.dimension<"n">},
    %T: !tile.global<?xi32> {program.argument = #program.tensor<"T", input, dims[0], alignment = 4>},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>},
    %C: !tile.global<?x64xbf16> {program.argument = #program.tensor<"C", output, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_shared "a" : !tile.shared<2x1x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %first, %q = %first) -> (!tile.cursor<2>, !tile.cursor<2>) {
    %entry = tile.slice %T[%i] {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.global<?xi32> -> !tile.slice<1xi32>
    %row = tile.load_index %entry[] {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.slice<1xi32>
    %from = tile.slice %A[%row, %c0] {tile.stage = #tile.stage<stage = 1, order = 2>} : !tile.global<?x64xbf16> -> !tile.slice<1x64xbf16>
    %into = tile.slot %a[%p] {tile.stage = #tile.stage<stage = 1, order = 2>} : !tile.shared<2x1x64xbf16>, !tile.cursor<2> -> !tile.shared<1x64xbf16>
    tile.copy %from, %into atom cp_async {tile.stage = #tile.stage<stage = 1, order = 2>} : !tile.slice<1x64xbf16>, !tile.shared<1x64xbf16>
    tile.commit_copies {tile.stage = #tile.stage<stage = 1, order = 2>}
    tile.await_copies pending(0) {tile.stage = #tile.stage<stage = 2, order = 0>}
    tile.sync {tile.stage = #tile.stage<stage = 2, order = 0>}
    %tile = tile.slot %a[%q] {tile.stage = #tile.stage<stage = 2, order = 3>} : !tile.shared<2x1x64xbf16>, !tile.cursor<2> -> !tile.shared<1x64xbf16>
    %to = tile.slice %C[%i, %c0] {tile.stage = #tile.stage<stage = 2, order = 3>} : !tile.global<?x64xbf16> -> !tile.slice<1x64xbf16>
    tile.copy %tile, %to atom simt {tile.stage = #tile.stage<stage = 2, order = 3>} : !tile.shared<1x64xbf16>, !tile.slice<1x64xbf16>
    %p1 = tile.advance %p {tile.stage = #tile.stage<stage = 1, order = 2>} : !tile.cursor<2>
    %q1 = tile.advance %q {tile.stage = #tile.stage<stage = 2, order = 3>} : !tile.cursor<2>
    scf.yield %p1, %q1 : !tile.cursor<2>, !tile.cursor<2>
  }
  tile.return
}

// -----

// The kernel writes the places, too, so that reading them is an effect: a round beyond the last iteration reads none
// and has zeros instead.
// CHECK-LABEL: tile.kernel @written_places_ahead(
// CHECK:       %[[FIRST:.*]] = scf.if %{{.*}} -> (index) {
// CHECK-NEXT:    %[[READ:.*]] = tile.load_index
// CHECK-NEXT:    scf.yield %[[READ]] : index
// CHECK-NEXT:  } else {
// CHECK-NEXT:    %[[NONE:.*]] = arith.constant 0 : index
// CHECK-NEXT:    scf.yield %[[NONE]] : index
// CHECK-NEXT:  }
// CHECK:       %[[SECOND:.*]] = scf.if %{{.*}} -> (index) {
// CHECK:       tile.slice %A[%[[FIRST]], %c0]
// CHECK:       scf.for {{.*}} iter_args({{.*}}, %[[PLACE:.*]] = %[[SECOND]])
// CHECK:         %[[NEXT:.*]] = scf.if %{{.*}} -> (index) {
// CHECK:         tile.slice %A[%[[PLACE]], %c0]
// CHECK:         scf.yield {{.*}}, %[[NEXT]]
// FOLDED-LABEL: tile.kernel @written_places_ahead(
tile.kernel @written_places_ahead(%n: index {program.argument = #program.dimension<"n">},
    %T: !tile.global<?xi32> {program.argument = #program.tensor<"T", inout, dims[0], alignment = 4>},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>},
    %C: !tile.global<?x64xbf16> {program.argument = #program.tensor<"C", output, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_shared "a" : !tile.shared<2x1x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %first, %q = %first) -> (!tile.cursor<2>, !tile.cursor<2>) {
    %entry = tile.slice %T[%i] {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.global<?xi32> -> !tile.slice<1xi32>
    %row = tile.load_index %entry[] {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.slice<1xi32>
    %from = tile.slice %A[%row, %c0] {tile.stage = #tile.stage<stage = 1, order = 2>} : !tile.global<?x64xbf16> -> !tile.slice<1x64xbf16>
    %into = tile.slot %a[%p] {tile.stage = #tile.stage<stage = 1, order = 2>} : !tile.shared<2x1x64xbf16>, !tile.cursor<2> -> !tile.shared<1x64xbf16>
    tile.copy %from, %into atom cp_async {tile.stage = #tile.stage<stage = 1, order = 2>} : !tile.slice<1x64xbf16>, !tile.shared<1x64xbf16>
    tile.commit_copies {tile.stage = #tile.stage<stage = 1, order = 2>}
    tile.await_copies pending(0) {tile.stage = #tile.stage<stage = 2, order = 0>}
    tile.sync {tile.stage = #tile.stage<stage = 2, order = 0>}
    %tile = tile.slot %a[%q] {tile.stage = #tile.stage<stage = 2, order = 3>} : !tile.shared<2x1x64xbf16>, !tile.cursor<2> -> !tile.shared<1x64xbf16>
    %to = tile.slice %C[%i, %c0] {tile.stage = #tile.stage<stage = 2, order = 3>} : !tile.global<?x64xbf16> -> !tile.slice<1x64xbf16>
    tile.copy %tile, %to atom simt {tile.stage = #tile.stage<stage = 2, order = 3>} : !tile.shared<1x64xbf16>, !tile.slice<1x64xbf16>
    %p1 = tile.advance %p {tile.stage = #tile.stage<stage = 1, order = 2>} : !tile.cursor<2>
    %q1 = tile.advance %q {tile.stage = #tile.stage<stage = 2, order = 3>} : !tile.cursor<2>
    scf.yield %p1, %q1 : !tile.cursor<2>, !tile.cursor<2>
  }
  %f0 = arith.constant 0 : i32
  %zero = tile.splat %f0 : i32 -> tensor<1xi32>
  %written = tile.slice %T[%c0] : !tile.global<?xi32> -> !tile.slice<1xi32>
  tile.store %zero, %written atom simt : tensor<1xi32>, !tile.slice<1xi32>
  tile.return
}

// -----

// A place that stage 1 reads for the next iteration's stage 0, which comes later in the round. The read has a test, and
// what it gives, or the loop's first value, is the place of the round's copy.
// CHECK-LABEL: tile.kernel @next_place(
// CHECK:         tile.slice %A[%c0, %c0]
// CHECK:         %[[READ0:.*]] = scf.if %{{.*}} -> (index) {
// CHECK-NEXT:      tile.load_index
// CHECK:         tile.slice %A[%[[READ0]], %c0]
// CHECK:         scf.for
// CHECK:           %[[READ:.*]] = scf.if %{{.*}} -> (index) {
// CHECK-NEXT:        tile.load_index
// CHECK:           tile.slice %A[%[[READ]], %c0]
// CHECK:           tile.commit_copies
// FOLDED-LABEL: tile.kernel @next_place(
tile.kernel @next_place(%n: index {program.argument = #program.dimension<"n">},
    %T: !tile.global<?xi32> {program.argument = #program.tensor<"T", inout, dims[0], alignment = 4>},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>},
    %C: !tile.global<?x64xbf16> {program.argument = #program.tensor<"C", output, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_shared "a" : !tile.shared<1x64xbf16>
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%place = %c0) -> (index) {
    %from = tile.slice %A[%place, %c0] {tile.stage = #tile.stage<stage = 0, order = 2>} : !tile.global<?x64xbf16> -> !tile.slice<1x64xbf16>
    tile.copy %from, %a atom cp_async {tile.stage = #tile.stage<stage = 0, order = 2>} : !tile.slice<1x64xbf16>, !tile.shared<1x64xbf16>
    tile.commit_copies {tile.stage = #tile.stage<stage = 0, order = 2>}
    %entry = tile.slice %T[%i] {tile.stage = #tile.stage<stage = 1, order = 1>} : !tile.global<?xi32> -> !tile.slice<1xi32>
    %next = tile.load_index %entry[] {tile.stage = #tile.stage<stage = 1, order = 1>} : !tile.slice<1xi32>
    %to = tile.slice %C[%i, %c0] {tile.stage = #tile.stage<stage = 2, order = 0>} : !tile.global<?x64xbf16> -> !tile.slice<1x64xbf16>
    tile.copy %a, %to atom simt {tile.stage = #tile.stage<stage = 2, order = 0>} : !tile.shared<1x64xbf16>, !tile.slice<1x64xbf16>
    scf.yield %next : index
  }
  %zero_word = arith.constant 0 : i32
  %zero = tile.splat %zero_word : i32 -> tensor<1xi32>
  %written = tile.slice %T[%c0] : !tile.global<?xi32> -> !tile.slice<1xi32>
  tile.store %zero, %written atom simt : tensor<1xi32>, !tile.slice<1xi32>
  tile.return
}

// -----

// Stage 0 runs a round ahead: it cannot have what stage 1 has not yet computed.
tile.kernel @too_early(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %buffer = tile.alloc_shared "a" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c0) -> (index) {
        // expected-error @below {{operation of stage 0 uses a value that stage 1 of the iteration before computes, which comes later in the round}}
        %y = arith.addi %x, %i {tile.stage = #tile.stage<stage = 0, order = 0>} : index
        %z = arith.addi %y, %i {tile.stage = #tile.stage<stage = 1, order = 1>} : index
        scf.yield %z : index
      }
    }
  }
  tile.return
}

// -----

tile.kernel @out_of_order(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.roles {
    tile.role "math" warps(4) {
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c0) -> (index) {
        %y = arith.addi %x, %i {tile.stage = #tile.stage<stage = 0, order = 1>} : index
        // expected-error @below {{expected an operation after those whose results it uses, but its 'tile.stage' puts it before}}
        %z = arith.addi %y, %i {tile.stage = #tile.stage<stage = 0, order = 0>} : index
        scf.yield %z : index
      }
    }
  }
  tile.return
}

// -----

// Copies are two iterations ahead of what reads them. The first two rounds stand before the loop; in it a round beyond the
// last iteration starts none, but closes its group, so that the wait counts right.
// CHECK-LABEL: tile.kernel @ahead(
// CHECK:         scf.if %{{.*}} {
// CHECK-NEXT:      tile.copy {{.*}} atom cp_async
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.commit_copies
// CHECK:         scf.if %{{.*}} {
// CHECK-NEXT:      tile.copy {{.*}} atom cp_async
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.commit_copies
// CHECK-NEXT:    %[[THIRD:.*]] = tile.advance
// CHECK-NEXT:    scf.for %[[I:.*]] = %c0 to %n step %c1 iter_args(%[[FILL:.*]] = %[[THIRD]], %[[READ:.*]] = %{{.*}})
// CHECK:           tile.await_copies pending(1)
// CHECK-NEXT:      tile.sync
// CHECK:           %[[SLOT:.*]] = tile.slot %a[%[[FILL]]]
// CHECK:           scf.if %{{.*}} {
// CHECK-NEXT:        tile.copy %{{.*}}, %[[SLOT]] atom cp_async
// CHECK-NEXT:      }
// CHECK-NEXT:      tile.commit_copies
// CHECK:           tile.slot %a[%[[READ]]]
// CHECK-NOT:     tile.stage
tile.kernel @ahead(%n: index {program.argument = #program.dimension<"n">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>},
    %C: !tile.global<?x64xbf16> {program.argument = #program.tensor<"C", output, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_shared "a" : !tile.shared<3x1x64xbf16>
  %first = tile.cursor : !tile.cursor<3>
  %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %first, %q = %first) -> (!tile.cursor<3>, !tile.cursor<3>) {
    %from = tile.slice %A[%i, %c0] {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.global<?x64xbf16> -> !tile.slice<1x64xbf16>
    %into = tile.slot %a[%p] {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.shared<3x1x64xbf16>, !tile.cursor<3> -> !tile.shared<1x64xbf16>
    tile.copy %from, %into atom cp_async {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.slice<1x64xbf16>, !tile.shared<1x64xbf16>
    tile.commit_copies {tile.stage = #tile.stage<stage = 0, order = 1>}
    tile.await_copies pending(0) {tile.stage = #tile.stage<stage = 2, order = 0>}
    tile.sync {tile.stage = #tile.stage<stage = 2, order = 0>}
    %tile = tile.slot %a[%q] {tile.stage = #tile.stage<stage = 2, order = 2>} : !tile.shared<3x1x64xbf16>, !tile.cursor<3> -> !tile.shared<1x64xbf16>
    %to = tile.slice %C[%i, %c0] {tile.stage = #tile.stage<stage = 2, order = 2>} : !tile.global<?x64xbf16> -> !tile.slice<1x64xbf16>
    tile.copy %tile, %to atom simt {tile.stage = #tile.stage<stage = 2, order = 2>} : !tile.shared<1x64xbf16>, !tile.slice<1x64xbf16>
    %p1 = tile.advance %p {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.cursor<3>
    %q1 = tile.advance %q {tile.stage = #tile.stage<stage = 2, order = 2>} : !tile.cursor<3>
    scf.yield %p1, %q1 : !tile.cursor<3>, !tile.cursor<3>
  }
  tile.return
}

// -----

// A number that both stages use travels for two rounds, as each of them is computed from the one before. What a stage
// ahead leaves behind is that of the last iteration.
// CHECK-LABEL: tile.kernel @travels(
// CHECK:         %[[END:.*]]:{{[0-9]}} = scf.for %{{.*}} iter_args(%[[X:.*]] = %{{.*}}, %[[BEFORE:.*]] = %{{.*}}, %[[TWO_BEFORE:.*]] = %{{.*}})
// CHECK:           tile.slice %C[%[[TWO_BEFORE]], %c0]
// CHECK:           %[[NEXT:.*]] = scf.if %{{.*}} -> (index) {
// CHECK:           scf.yield %[[NEXT]], %[[X]], %[[BEFORE]]
// CHECK:         tile.slice %C[%[[END]]#0, %c0]
tile.kernel @travels(%n: index {program.argument = #program.dimension<"n">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>},
    %C: !tile.global<?x64xbf16> {program.argument = #program.tensor<"C", output, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %a = tile.alloc_shared "a" : !tile.shared<1x64xbf16>
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c0) -> (index) {
    %from = tile.slice %A[%x, %c0] {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.global<?x64xbf16> -> !tile.slice<1x64xbf16>
    tile.copy %from, %a atom cp_async {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.slice<1x64xbf16>, !tile.shared<1x64xbf16>
    tile.commit_copies {tile.stage = #tile.stage<stage = 0, order = 1>}
    %to = tile.slice %C[%x, %c0] {tile.stage = #tile.stage<stage = 2, order = 2>} : !tile.global<?x64xbf16> -> !tile.slice<1x64xbf16>
    tile.copy %a, %to atom simt {tile.stage = #tile.stage<stage = 2, order = 2>} : !tile.shared<1x64xbf16>, !tile.slice<1x64xbf16>
    %y = arith.muli %x, %c2 {tile.stage = #tile.stage<stage = 0, order = 1>} : index
    scf.yield %y : index
  }
  %last = tile.slice %C[%end, %c0] : !tile.global<?x64xbf16> -> !tile.slice<1x64xbf16>
  tile.copy %a, %last atom simt : !tile.shared<1x64xbf16>, !tile.slice<1x64xbf16>
  tile.return
}

// -----

// A slice that both stages use is made in each of them: a loop carries the position.
// CHECK-LABEL: tile.kernel @slice_of_both(
// CHECK:         %[[ROUNDS:.*]]:3 = scf.for %{{.*}} iter_args(%[[FLYING:.*]] = %{{.*}}, %[[C:.*]] = %{{.*}}, %[[BEFORE:.*]] = %{{.*}}) -> (tensor<64x64xf32>, !tile.cursor<2>, index) {
// CHECK-DAG:       %[[FIRST:.*]] = tile.slice %O[%c0, %[[ROW:.*]]]
// CHECK-DAG:       tile.store %{{.*}}, %[[FIRST]]
// CHECK-DAG:       %[[SECOND:.*]] = tile.slice %O[%c0, %[[BEFORE]]]
// CHECK:           tile.store %{{.*}}, %[[SECOND]]
// CHECK:           scf.yield %{{.*}}, %{{.*}}, %[[ROW]]
// FOLDED-LABEL: tile.kernel @slice_of_both(
tile.kernel @slice_of_both(%n: index {program.argument = #program.dimension<"n">}, %O: !tile.global<?x?xf32> {program.argument = #program.tensor<"O", output, dims[0, 0]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %buffer = tile.alloc_shared "a" : !tile.shared<2x64x64xbf16>
  %first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
        tile.await %r[%c] {tile.stage = #tile.stage<stage = 0, order = 0>} : !tile.ring<2>
        %a = tile.slot %buffer[%c] {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %a, %a, %acc atom wgmma {tile.stage = #tile.stage<stage = 0, order = 2>} : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %row = arith.muli %i, %c3 {tile.stage = #tile.stage<stage = 0, order = 3>} : index
        %o = tile.slice %O[%c0, %row] {tile.stage = #tile.stage<stage = 0, order = 4>} : !tile.global<?x?xf32> -> !tile.slice<64x64xf32>
        tile.store %zero, %o atom simt {tile.stage = #tile.stage<stage = 0, order = 5>} : tensor<64x64xf32>, !tile.slice<64x64xf32>
        %done = tile.gemm_wait %started pending(0) {tile.stage = #tile.stage<stage = 1, order = 6>} : tensor<64x64xf32>
        tile.store %zero, %o atom simt {tile.stage = #tile.stage<stage = 1, order = 7>} : tensor<64x64xf32>, !tile.slice<64x64xf32>
        %next = tile.advance %c {tile.stage = #tile.stage<stage = 0, order = 8>} : !tile.cursor<2>
        scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// Beyond the end of a loop a position may need more than 32 bits: its distance from the end is compared.
// CHECK-LABEL: tile.kernel @ahead_far(
// CHECK:         %[[FIRST:.*]] = arith.cmpi slt, %[[FROM:.*]], %[[TO:.*]] : index
// CHECK:         %[[DISTANCE:.*]] = arith.subi %[[TO]], %[[FROM]] : index
// CHECK:         %[[MORE:.*]] = arith.cmpi ult, %c3, %[[DISTANCE]] : index
// CHECK:         %[[SECOND:.*]] = arith.andi %[[FIRST]], %[[MORE]] : i1
// CHECK:         scf.if %[[FIRST]] {
// CHECK:         scf.if %[[SECOND]] {
// CHECK:         scf.for %[[I:.*]] = %[[FROM]] to %[[TO]] step %c3
// CHECK:           %[[ONE:.*]] = arith.subi %[[TO]], %[[I]] : index
// CHECK:           %[[NEXT:.*]] = arith.cmpi ult, %c3, %[[ONE]] : index
// CHECK:           %[[TWO:.*]] = arith.subi %[[TO]], %{{.*}} : index
// CHECK:           %[[AFTER:.*]] = arith.cmpi ult, %c3, %[[TWO]] : index
// CHECK:           %[[BOTH:.*]] = arith.andi %[[NEXT]], %[[AFTER]] : i1
// CHECK:           scf.if %[[BOTH]] {
tile.kernel @ahead_far(%A: !tile.global<64x64xbf16> {program.argument = #program.tensor<"A", input, dims[-1, -1], alignment = 16>},
    %C: !tile.global<64x64xbf16> {program.argument = #program.tensor<"C", output, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %t = tile.alloc_shared "t" : !tile.shared<2xi32>
  %start = tile.load_index %t[%c0] : !tile.shared<2xi32>
  %stop = tile.load_index %t[%c1] : !tile.shared<2xi32>
  %a = tile.alloc_shared "a" : !tile.shared<1x64xbf16>
  scf.for %i = %start to %stop step %c3 {
    %from = tile.slice %A[%i, %c0] {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.global<64x64xbf16> -> !tile.slice<1x64xbf16>
    tile.copy %from, %a atom cp_async {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.slice<1x64xbf16>, !tile.shared<1x64xbf16>
    tile.commit_copies {tile.stage = #tile.stage<stage = 0, order = 1>}
    %to = tile.slice %C[%i, %c0] {tile.stage = #tile.stage<stage = 2, order = 2>} : !tile.global<64x64xbf16> -> !tile.slice<1x64xbf16>
    tile.copy %a, %to atom simt {tile.stage = #tile.stage<stage = 2, order = 2>} : !tile.shared<1x64xbf16>, !tile.slice<1x64xbf16>
  }
  tile.return
}

// -----

// From 0 on a number without a sign has room for it.
// CHECK-LABEL: tile.kernel @ahead_from_zero(
// CHECK:         arith.cmpi slt, %c0, %n : index
// CHECK:         arith.cmpi slt, %c64{{.*}}, %n : index
// CHECK:         scf.for
// CHECK:           arith.cmpi ult, %{{.*}}, %n : index
tile.kernel @ahead_from_zero(%n: index {program.argument = #program.dimension<"n">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>},
    %C: !tile.global<?x64xbf16> {program.argument = #program.tensor<"C", output, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc_shared "a" : !tile.shared<1x64xbf16>
  scf.for %i = %c0 to %n step %c64 {
    %from = tile.slice %A[%i, %c0] {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.global<?x64xbf16> -> !tile.slice<1x64xbf16>
    tile.copy %from, %a atom cp_async {tile.stage = #tile.stage<stage = 0, order = 1>} : !tile.slice<1x64xbf16>, !tile.shared<1x64xbf16>
    tile.commit_copies {tile.stage = #tile.stage<stage = 0, order = 1>}
    %to = tile.slice %C[%i, %c0] {tile.stage = #tile.stage<stage = 2, order = 2>} : !tile.global<?x64xbf16> -> !tile.slice<1x64xbf16>
    tile.copy %a, %to atom simt {tile.stage = #tile.stage<stage = 2, order = 2>} : !tile.shared<1x64xbf16>, !tile.slice<1x64xbf16>
  }
  tile.return
}

// -----

// The rounds after the first begin at the end if the second position may need more than 32 bits.
// CHECK-LABEL: tile.kernel @second_far(
// CHECK:         arith.cmpi slt, %m, %n : index
// CHECK:         scf.if
// CHECK:           %[[NEXT:.*]] = arith.addi %m, %c7 : index
// CHECK:           %[[DISTANCE:.*]] = arith.subi %n, %m : index
// CHECK:           %[[EXISTS:.*]] = arith.cmpi ult, %c7, %[[DISTANCE]] : index
// CHECK:           %[[SECOND:.*]] = arith.select %[[EXISTS]], %[[NEXT]], %n : index
// CHECK:           scf.for %{{.*}} = %[[SECOND]] to %n step %c7
tile.kernel @second_far(%m: index {program.argument = #program.dimension<"m">}, %n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c7 = arith.constant 7 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %end = scf.for %i = %m to %n step %c7 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %started = tile.gemm_async %a, %a, %acc atom wgmma {tile.stage = #tile.stage<stage = 0, order = 0>} : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
    %done = tile.gemm_wait %started pending(0) {tile.stage = #tile.stage<stage = 1, order = 1>} : tensor<64x64xf32>
    scf.yield %done : tensor<64x64xf32>
  }
  tile.return
}
