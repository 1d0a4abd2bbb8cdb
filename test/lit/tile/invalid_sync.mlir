// RUN: %tile-opt %s -split-input-file -verify-diagnostics

// alloc_ring_c1
tile.kernel @ring_offset() {
  // expected-error @below {{expected the offset of 'slots' to be a multiple of 8 bytes, at least 0, because mbarriers are aligned to that, but got 12}}
  %ring = tile.alloc_ring "slots" at 12 : !tile.ring<2>
  tile.return
}

// -----

// alloc_barrier_c1
tile.kernel @count() {
  // expected-error @below {{expected the count of 'ready' to be from 1 to 1048575 because an mbarrier counts that far, but got 0}}
  %b = tile.alloc_barrier "ready" count(0)
  tile.return
}

// -----

// alloc_barrier_c2
tile.kernel @barrier_offset() {
  // expected-error @below {{expected the offset of 'ready' to be a multiple of 8 bytes, at least 0, because mbarriers are aligned to that, but got -8}}
  %b = tile.alloc_barrier "ready" count(1) at -8
  tile.return
}

// -----

// expect_c1
tile.kernel @bytes() {
  // expected-note @below {{'slots' is declared here}}
  %ring = tile.alloc_ring "slots" : !tile.ring<2>
  %c = tile.cursor : !tile.cursor<2>
  // expected-error @below {{expected from 0 to 1048575 bytes per slot of 'slots' because an mbarrier counts that far, but got 1048576}}
  tile.expect %ring[%c] bytes(1048576) : !tile.ring<2>
  tile.return
}

// -----

// A cursor of one ring does not fit a ring of other depth.
tile.kernel @cursor() {
  %ring = tile.alloc_ring "slots" : !tile.ring<2>
  // expected-note @below {{prior use here}}
  %c = tile.cursor : !tile.cursor<3>
  // expected-error @below {{use of value '%c' expects different type than prior uses: '!tile.cursor<2>' vs '!tile.cursor<3>'}}
  tile.await %ring[%c] : !tile.ring<2>
  tile.return
}

// -----

tile.kernel @cursor_generic() {
  %ring = tile.alloc_ring "slots" : !tile.ring<2>
  %c = tile.cursor : !tile.cursor<3>
  // expected-error @below {{cursor and ring have the same number of slots}}
  "tile.await"(%ring, %c) : (!tile.ring<2>, !tile.cursor<3>) -> ()
  tile.return
}

// -----

// named_barrier_c1
tile.kernel @barrier_id() {
  // expected-error @below {{expected a barrier number from 1 to 15 because 0 is the whole block's, but got 16}}
  tile.named_barrier 16 warps(4)
  tile.return
}

// -----

// named_barrier_c1
tile.kernel @barrier_warps() {
  // expected-error @below {{expected at least 1 warp, but got 0}}
  tile.named_barrier 1 warps(0)
  tile.return
}

// -----

// take_turn_c1
tile.kernel @turn_without_role() {
  // expected-error @below {{expected to be in a role, whose warpgroups take turns}}
  tile.take_turn
  tile.return
}

// -----

// take_turn_c1
tile.kernel @turn_of_warps() attributes {launch = #program.launch<warps = 6>} {
  tile.roles {
    tile.role "math" warps(6) {
      // expected-error @below {{expected a role of whole warpgroups, of 4 warps each, but role 'math' has 6 warps}}
      tile.take_turn
    }
  }
  tile.return
}

// -----

// pass_turn_c1
tile.kernel @pass_without_role() {
  // expected-error @below {{expected to be in a role, whose warpgroups take turns}}
  tile.pass_turn
  tile.return
}

// -----

// await_copies_c1
tile.kernel @negative_groups() {
  // expected-error @below {{expected at least 0 groups that may be in flight, but got -1}}
  tile.await_copies pending(-1)
  tile.return
}

// -----

// publish_c2
tile.kernel @only_stores() {
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %at = tile.cursor : !tile.cursor<2>
  // expected-error @below {{expected 'after_copies' because other arrivals tell of stores anyway, but got only 'with_stores'}}
  tile.publish %ring[%at] with_stores : !tile.ring<2>
  tile.return
}

// -----

// publish_c1
tile.kernel @after_both() {
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %at = tile.cursor : !tile.cursor<2>
  // expected-error @below {{expected one of 'after_products' and 'after_copies' because a tensor core does not arrive for the copies of threads, but got both}}
  tile.publish %ring[%at] after_products after_copies : !tile.ring<2>
  tile.return
}

// -----

// release_c1
tile.kernel @after_two() {
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %at = tile.cursor : !tile.cursor<2>
  // expected-error @below {{expected one of 'after_products' and 'after_meeting' because no thread arrives where a tensor core does, but got both}}
  tile.release %ring[%at] after_products after_meeting : !tile.ring<2>
  tile.return
}

// -----

// publish_c3
tile.kernel @uncounted() {
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %at = tile.cursor : !tile.cursor<2>
  // expected-error @below {{expected k.warps before it, or a role around it, because the warps that arrive are counted}}
  tile.publish %ring[%at] : !tile.ring<2>
  tile.return
}

// -----

// release_c2
tile.kernel @uncounted() {
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %at = tile.cursor : !tile.cursor<2>
  // expected-error @below {{expected k.warps before it, or a role around it, because the warps that arrive are counted}}
  tile.release %ring[%at] : !tile.ring<2>
  tile.return
}

// -----

// arrive_c1
tile.kernel @uncounted() {
  %b = tile.alloc_barrier "b" count(128)
  // expected-error @below {{expected k.warps before it, or a role around it, because the warps that arrive are counted}}
  tile.arrive %b
  tile.return
}

// -----

// named_barrier_c2
tile.kernel @uncounted() {
  // expected-error @below {{expected k.warps before it, or a role around it, because the warps that arrive are counted}}
  tile.named_barrier 1 warps(4)
  tile.return
}
