// RUN: %tlc-opt %s -split-input-file --tile-place-fences --tile-elect-threads --tile-place-release-meetings -tile-to-simt | FileCheck %s

// One role hands positions to another with the bytes that a copy brings: one thread writes them before it
// announces the bytes, and needs no barrier of its own. The reader's slots of other rings are released as ever, without
// a meeting of the warpgroup; that of the positions only when all have read.
#p = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
#t = #tile.shared_layout<"4 32b axis 0 panel 4 swizzle none pad 0">
// CHECK-LABEL: simt.kernel @positions(
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @positions(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x64xbf16> {program.argument = #program.tensor<"X", input, dims[0, -1], alignment = 16>})
    attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = tile.alloc_ring "r" at 0 : !tile.ring<2>
  %other = tile.alloc_ring "other" at 64 : !tile.ring<3>
  %p = tile.alloc_shared "p" at 1024 : !tile.shared<2x64x64xbf16, #p>
  %t = tile.alloc_shared "t" at 32768 : !tile.shared<2x4xi32, #t>
  %c = tile.cursor : !tile.cursor<2>
  %d = tile.cursor : !tile.cursor<3>
  tile.roles {
    tile.role "load" warps(4) {
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%at = %c) -> (!tile.cursor<2>) {
        tile.acquire %r[%at] : !tile.ring<2>
        %where = tile.slot %t[%at] : !tile.shared<2x4xi32, #t>, !tile.cursor<2> -> !tile.shared<4xi32, #t>
        // CHECK: simt.store %{{.*}} : i32, !llvm.ptr<3>
        // CHECK-NOT: simt.sync
        // CHECK: simt.barrier_expect
        // CHECK: simt.tma_load
        tile.store_index %i, %where[%c1] : !tile.shared<4xi32, #t>
        tile.expect %r[%at] bytes(8192) : !tile.ring<2>
        %slot = tile.slot %p[%at] : !tile.shared<2x64x64xbf16, #p>, !tile.cursor<2> -> !tile.shared<64x64xbf16, #p>
        %s = tile.slice %X[%c0, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
        tile.copy_async %s, %slot, %r[%at] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16, #p>, !tile.ring<2>
        %next = tile.advance %at : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
    }
    tile.role "math" warps(4) {
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%at = %c, %by = %d) -> (!tile.cursor<2>, !tile.cursor<3>) {
        // CHECK: simt.barrier_wait
        tile.await %r[%at] : !tile.ring<2>
        %where = tile.slot %t[%at] : !tile.shared<2x4xi32, #t>, !tile.cursor<2> -> !tile.shared<4xi32, #t>
        // The number is the same in all lanes, and ptxas is told so.
        // CHECK: %[[NUMBER:.*]] = simt.load %{{.*}} : !llvm.ptr<3> -> i32
        // CHECK-NEXT: nvvm.redux.sync or %[[NUMBER]], %{{.*}} : i32 -> i32
        %row = tile.load_index %where[%c1] : !tile.shared<4xi32, #t>
        scf.for %j = %c0 to %row step %c1 {
        }
        // CHECK-NOT: simt.sync
        // CHECK: simt.barrier_arrive
        tile.release %other[%by] : !tile.ring<3>
        // CHECK: simt.sync
        // CHECK: simt.barrier_arrive
        tile.release %r[%at] : !tile.ring<2>
        %next = tile.advance %at : !tile.cursor<2>
        %after = tile.advance %by : !tile.cursor<3>
        scf.yield %next, %after : !tile.cursor<2>, !tile.cursor<3>
      }
    }
  }
  tile.return
}
}

// -----

// A role that publishes what it wrote, and issues copies, is one thread, too: that thread arrives.
#p = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
#t = #tile.shared_layout<"4 32b axis 0 panel 4 swizzle none pad 0">
// CHECK-LABEL: simt.kernel @published(
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @published(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x64xbf16> {program.argument = #program.tensor<"X", input, dims[0, -1], alignment = 16>})
    attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_ring "a" at 0 : !tile.ring<2>
  %r = tile.alloc_ring "r" at 64 : !tile.ring<2>
  %p = tile.alloc_shared "p" at 1024 : !tile.shared<2x64x64xbf16, #p>
  %t = tile.alloc_shared "t" at 32768 : !tile.shared<2x4xi32, #t>
  %c = tile.cursor : !tile.cursor<2>
  tile.roles {
    // CHECK: simt.elect
    tile.role "load" warps(1) {
      %where = tile.slot %t[%c] : !tile.shared<2x4xi32, #t>, !tile.cursor<2> -> !tile.shared<4xi32, #t>
      // CHECK: simt.store %{{.*}} : i32, !llvm.ptr<3>
      // CHECK-NOT: simt.elect
      // CHECK-NOT: simt.sync
      // CHECK: simt.barrier_arrive
      tile.store_index %n, %where[%c1] : !tile.shared<4xi32, #t>
      tile.publish %a[%c] : !tile.ring<2>
      // CHECK-NOT: simt.elect
      // CHECK: simt.barrier_expect
      tile.expect %r[%c] bytes(8192) : !tile.ring<2>
      %slot = tile.slot %p[%c] : !tile.shared<2x64x64xbf16, #p>, !tile.cursor<2> -> !tile.shared<64x64xbf16, #p>
      %s = tile.slice %X[%c0, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
      tile.copy_async %s, %slot, %r[%c] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16, #p>, !tile.ring<2>
    }
    tile.role "others" warps(7) {
    }
  }
  tile.return
}
}

// -----

// Two warpgroups publish twice, so that they stay what they are.
#t = #tile.shared_layout<"4 32b axis 0 panel 4 swizzle none pad 0">
// CHECK-LABEL: simt.kernel @published_by_two(
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @published_by_two(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 12>} {
  %c1 = arith.constant 1 : index
  %a = tile.alloc_ring "a" at 0 : !tile.ring<2>
  %r = tile.alloc_ring "r" at 64 : !tile.ring<2>
  %t = tile.alloc_shared "t" at 32768 : !tile.shared<2x4xi32, #t>
  %c = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "load" warps(8) {
      %where = tile.slot %t[%c] : !tile.shared<2x4xi32, #t>, !tile.cursor<2> -> !tile.shared<4xi32, #t>
      // CHECK: simt.elect
      // CHECK: simt.store %{{.*}} : i32, !llvm.ptr<3>
      tile.store_index %n, %where[%c1] : !tile.shared<4xi32, #t>
      // CHECK: simt.sync
      // CHECK: simt.barrier_arrive
      tile.publish %a[%c] : !tile.ring<2>
      // CHECK: simt.elect
      // CHECK: simt.barrier_expect
      tile.expect %r[%c] bytes(8192) : !tile.ring<2>
    }
    tile.role "others" warps(4) {
    }
  }
  tile.return
}
}

// -----

// Where a page lies is read from a tensor, and 0 outside of it. The page fills some rows of a tile: in both panels, which
// are as far apart as the tile's.
#pages = #tile.shared_layout<"64x128 16b axis 1 panel 64 swizzle 128 pad 0">
// CHECK-LABEL: simt.kernel @pages(
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @pages(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x128xbf16> {program.argument = #program.tensor<"X", input, dims[0, -1], alignment = 16>},
    %T: !tile.global<?xi32> {program.argument = #program.tensor<"T", input, dims[0]>})
    attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = tile.alloc_ring "r" at 0 : !tile.ring<2>
  %p = tile.alloc_shared "p" at 1024 : !tile.shared<2x64x128xbf16, #pages>
  %c = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "load" warps(4) {
      %slot = tile.slot %p[%c] : !tile.shared<2x64x128xbf16, #pages>, !tile.cursor<2> -> !tile.shared<64x128xbf16, #pages>
      // CHECK: %[[PART:.*]] = llvm.getelementptr %{{.*}}[2048]
      %part = tile.rows %slot[16] : !tile.shared<64x128xbf16, #pages> -> !tile.shared<16x128xbf16, #pages>
      tile.expect %r[%c] bytes(4096) : !tile.ring<2>
      // CHECK: %[[INSIDE:.*]] = arith.cmpi ult
      // CHECK: %[[PAGE:.*]] = simt.load %{{.*}} if %[[INSIDE]] : !llvm.ptr<1> -> i32
      %entry = tile.slice %T[%n] : !tile.global<?xi32> -> !tile.slice<1xi32>
      %page = tile.load_index %entry[] : !tile.slice<1xi32>
      %s = tile.slice %X[%page, %c0] : !tile.global<?x128xbf16> -> !tile.slice<16x128xbf16>
      // CHECK: simt.tma_load {{.*}}, %[[PAGE]]] to %[[PART]] on
      // CHECK: %[[SECOND:.*]] = llvm.getelementptr %[[PART]][8192]
      // CHECK: simt.tma_load {{.*}}, %[[PAGE]]] to %[[SECOND]] on
      tile.copy_async %s, %part, %r[%c] : !tile.slice<16x128xbf16>, !tile.shared<16x128xbf16, #pages>, !tile.ring<2>
    }
    tile.role "math" warps(4) {
      tile.await %r[%c] : !tile.ring<2>
      tile.release %r[%c] : !tile.ring<2>
    }
  }
  tile.return
}
}
