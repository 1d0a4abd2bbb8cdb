// RUN: %tlc-opt %s -tile-to-simt -split-input-file | FileCheck %s
// RUN: %tlc-opt %s -tile-to-simt -simt-to-nvvm -split-input-file | FileCheck %s --check-prefix=LLVM

module attributes {program.target = #program.target<"sm_90a">} {

// A wait tries again, and looks at the clock after each try but the first ones. What is too late is reported, by one lane of each warp.
// CHECK-LABEL: simt.kernel @ring(
// CHECK:         scf.while (%[[SINCE:.*]] = %c-64_i32) : (i32) -> i32 {
// CHECK-NEXT:      %[[DONE:.*]] = simt.barrier_try_wait %[[EMPTY:.*]] phase(%[[PARITY:.*]]) : i32
// CHECK-NEXT:      %[[VAIN:.*]] = arith.cmpi eq, %[[DONE]], %false
// CHECK-NEXT:      %[[NEXT:.*]]:2 = scf.if %[[VAIN]] -> (i1, i32) {
// CHECK:               nvvm.read.ptx.sreg.globaltimer
// CHECK:             %[[LATE:.*]] = arith.cmpi ult, %c3052_i32, %{{.*}}
// CHECK-NEXT:        scf.if %[[LATE]] {
// CHECK-NEXT:          %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT:          scf.if %[[FIRST]] {
// CHECK-NEXT:            simt.report #program.report<check, "'ring' waited 0.2 s in role 'fill' for slot {} of channel 'r' to be empty (phase parity {})", "{{.*}}wait_limit_barriers.mlir:[[@LINE+20]]:7", [i32, i32]> values(%{{.*}}, %[[PARITY]] : i32, i32)
// CHECK-NEXT:          }
// CHECK-NEXT:          simt.end_waits
// CHECK-NEXT:        }
// CHECK-NEXT:        simt.waits_end
// CHECK:         simt.barrier_try_wait %{{.*}} phase(%[[PARITY:.*]]) : i32
// CHECK:           simt.report #program.report<check, "'ring' waited 0.2 s in role 'read' for slot {} of channel 'r' to be full (phase parity {})", {{.*}} values(%{{.*}}, %[[PARITY]] : i32, i32)
// CHECK:         simt.barrier_try_wait %{{.*}} phase(%{{.*}}) : i32
// CHECK:           simt.report #program.report<check, "'ring' waited 0.2 s in role 'read' for barrier 'b' to complete phase {}", {{.*}}, [i32]> values(%{{.*}} : i32)
// CHECK-NOT:     simt.barrier_wait
// LLVM-LABEL: llvm.func @ring(
// LLVM:         nvvm.mbarrier.try_wait %{{.*}}, %{{.*}} : !llvm.ptr<3>, i32 -> i1
// LLVM:         nvvm.read.ptx.sreg.globaltimer
tile.kernel @ring(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8>, tile.wait_limit = 200000000 : i64} {
  %ring = tile.alloc_ring "r" at 0 : !tile.ring<2>
  %b = tile.alloc_barrier "b" count(128) at 32
  %c = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "fill" warps(4) {
      // The line of the report.
      tile.acquire %ring[%c] : !tile.ring<2>
      tile.publish %ring[%c] : !tile.ring<2>
      tile.arrive %b
    }
    tile.role "read" warps(4) {
      tile.await %ring[%c] : !tile.ring<2>
      tile.release %ring[%c] : !tile.ring<2>
      tile.wait %b phase(%n)
    }
  }
  tile.return
}

// One thread waits for its role, which reports itself. A name that a text cannot have is left out.
// CHECK-LABEL: simt.kernel @one(
// CHECK:         arith.cmpi ult, %c15259_i32
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      simt.report #program.report<check, "'one' waited 1 s in role 'ask' for a barrier to complete phase {}"
tile.kernel @one(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 1>, tile.wait_limit = 1000000000 : i64} {
  %b = tile.alloc_barrier "b{}" count(1) at 0
  tile.roles {
    tile.role "ask" warps(1) one_thread {
      tile.wait %b phase(%n)
    }
  }
  tile.return
}

// Without a limit a wait is one operation.
// CHECK-LABEL: simt.kernel @without(
// CHECK-NOT:     barrier_try_wait
// CHECK:         simt.barrier_wait
// CHECK-NOT:     simt.report
tile.kernel @without(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 1>} {
  %b = tile.alloc_barrier "b" count(1) at 0
  tile.wait %b phase(%n)
  tile.return
}

}

// -----

module attributes {program.target = #program.target<"sm_90a">} {

// Of the phase of a cluster's barrier a thread knows the state.
// CHECK-LABEL: simt.kernel @cluster(
// CHECK:         %[[STATE:.*]] = simt.barrier_state %[[BARRIER:.*]]
// CHECK:         simt.barrier_try_wait %[[BARRIER]] phase(%[[STATE]]) : i64
// CHECK:         simt.report #program.report<check, "'cluster' waited 0.2 s in role 'all' for the other blocks of the cluster at barrier 'all.cluster'", "{{.*}}", []>{{$}}
// CHECK-NOT:     simt.cluster_wait
// LLVM-LABEL: llvm.func @cluster(
// LLVM:         nvvm.mbarrier.try_wait %{{.*}}, %{{.*}} {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<3>, i64 -> i1
tile.kernel @cluster() attributes {launch = #program.launch<warps = 4, cluster = 2>, tile.wait_limit = 200000000 : i64} {
  %b = tile.alloc_barrier "all.cluster" count(129) at 0
  tile.roles {
    tile.role "all" warps(4) {
      tile.cluster_sync on %b
    }
  }
  tile.return
}

}
