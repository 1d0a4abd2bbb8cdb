// RUN: %tlc-opt %s -tile-to-simt | FileCheck %s

module attributes {program.target = #program.target<"sm_90a">} {

// Three warpgroups meet in pairs: each waits at a barrier of its own for the one before. The last one lets the first
// begin.
// CHECK-LABEL: simt.kernel @turns(
// CHECK:         %[[WARP:.*]] = simt.warp_index
// CHECK:         %[[LAST:.*]] = arith.cmpi eq, %{{.*}}, %c2_i32
// CHECK:         scf.if %[[LAST]] {
// CHECK-NEXT:      simt.sync %c1_i32 threads 256 arrive
// CHECK:         %[[GROUP:.*]] = arith.shrui
// CHECK:         %[[OWN:.*]] = arith.addi %[[GROUP]], %c1_i32
// CHECK-NEXT:    simt.sync %[[OWN]] threads 256{{$}}
// CHECK:         %[[NEXT:.*]] = arith.select %{{.*}}, %c0_i32, %{{.*}}
// CHECK:         %[[ID:.*]] = arith.addi %[[NEXT]], %c1_i32
// CHECK-NEXT:    simt.sync %[[ID]] threads 256 arrive
tile.kernel @turns() attributes {launch = #program.launch<warps = 12>} {
  tile.roles {
    tile.role "math" warps(12) {
      tile.take_turn
      tile.pass_turn
    }
  }
  tile.return
}

// One warpgroup need not wait for itself.
// CHECK-LABEL: simt.kernel @one_warpgroup(
// CHECK-NOT:     simt.sync
// CHECK:         simt.return
tile.kernel @one_warpgroup() attributes {launch = #program.launch<warps = 4>} {
  tile.roles {
    tile.role "math" warps(4) {
      tile.take_turn
      tile.pass_turn
    }
  }
  tile.return
}
}
