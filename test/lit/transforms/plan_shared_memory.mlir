// RUN: %tile-opt %s --tile-plan-shared-memory -split-input-file -verify-diagnostics | FileCheck %s

#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
#narrow = #tile.shared_layout<"4x4 32b axis 1 panel 4 swizzle none pad 0">
#odd = #tile.shared_layout<"3x8 16b axis 1 panel 8 swizzle none pad 0">

// The widest alignment first, so that no holes come between; in program order among equals. Barriers are last.
// CHECK-LABEL: tile.kernel @order(
// CHECK-SAME:    attributes {launch = #program.launch<shared_bytes = 16616>}
// CHECK:         tile.alloc_ring "ring" at 16576 : !tile.ring<2>
// CHECK:         tile.alloc_shared "narrow" at 16384 :
// CHECK:         tile.alloc_shared "a" at 0 :
// CHECK:         tile.alloc_barrier "bar" count(1) at 16608
// CHECK:         tile.alloc_shared "other" at 16512 :
// CHECK:         tile.alloc_shared "b" at 8192 :
tile.kernel @order() {
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %narrow = tile.alloc_shared "narrow" : !tile.shared<4x4xf32, #narrow>
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16, #swizzled>
  %bar = tile.alloc_barrier "bar" count(1)
  %other = tile.alloc_shared "other" : !tile.shared<4x4xf32, #narrow>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16, #swizzled>
  tile.return
}

// -----

// Slots start where their pattern does: 48 bytes each take 128. A buffer inside a loop lies like any other, and
// what an earlier plan said is planned anew.
#odd = #tile.shared_layout<"3x8 16b axis 1 panel 8 swizzle none pad 0">
#swizzled = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
// CHECK-LABEL: tile.kernel @slots(
// CHECK:         tile.alloc_shared "slots" at 24576 : !tile.shared<3x3x8xbf16,
// CHECK:         scf.for
// CHECK:           tile.alloc_shared "inside" at 0 : !tile.shared<3x64x64xbf16,
// CHECK:         tile.alloc_shared "after" at 24960 :
tile.kernel @slots() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %slots = tile.alloc_shared "slots" at 1024 : !tile.shared<3x3x8xbf16, #odd>
  scf.for %i = %c0 to %c1 step %c1 {
    %inside = tile.alloc_shared "inside" : !tile.shared<3x64x64xbf16, #swizzled>
  }
  %after = tile.alloc_shared "after" : !tile.shared<3x8xbf16, #odd>
  tile.return
}

// -----

// The largest plan that fits, to the byte: 227 KiB.
#panels = #tile.shared_layout<"1808x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @full(
// CHECK:         tile.alloc_barrier "bar" count(1) at 232432
// CHECK:         tile.alloc_barrier "last" count(1) at 232440
tile.kernel @full() {
  %a = tile.alloc_shared "a" : !tile.shared<1808x64xbf16, #panels>
  %ring = tile.alloc_ring "ring" : !tile.ring<63>
  %bar = tile.alloc_barrier "bar" count(1)
  %last = tile.alloc_barrier "last" count(1)
  tile.return
}
}

// -----

// Two blocks of a multiprocessor have half of its memory each, less what the system takes.
#half = #tile.shared_layout<"904x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
// expected-error @below {{kernel 'for_two' needs 115720 bytes of shared memory, but sm_90a has 115712 per block if 2 share a multiprocessor}}
tile.kernel @for_two() attributes {launch = #program.launch<residents = 2>} {
  // expected-note @below {{'a' takes 115712 bytes}}
  %a = tile.alloc_shared "a" : !tile.shared<904x64xbf16, #half>
  // expected-note @below {{'bar' takes 8 bytes}}
  %bar = tile.alloc_barrier "bar" count(1)
  tile.return
}
}

// -----

// Eight bytes too many: the error names the kernel, both numbers, and everything that takes its share.
#panels = #tile.shared_layout<"1808x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
// expected-error @below {{kernel 'too_large' needs 232456 bytes of shared memory, but sm_90a has 232448 per block}}
tile.kernel @too_large() {
  // expected-note @below {{'a' takes 231424 bytes}}
  %a = tile.alloc_shared "a" : !tile.shared<1808x64xbf16, #panels>
  // expected-note @below {{'ring' takes 1024 bytes}}
  %ring = tile.alloc_ring "ring" : !tile.ring<64>
  // expected-note @below {{'bar' takes 8 bytes}}
  %bar = tile.alloc_barrier "bar" count(1)
  tile.return
}
}

// -----

// Rows are rounded up.
#rows = #tile.shared_layout<"1809x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
// expected-error @below {{kernel 'rounded' needs 232456 bytes of shared memory, but sm_90a has 232448 per block}}
tile.kernel @rounded() {
  // expected-note @below {{'a' takes 232448 bytes, as its 1809 rows take the room of 1816: a swizzle repeats after 8 rows}}
  %a = tile.alloc_shared "a" : !tile.shared<1809x64xbf16, #rows>
  // expected-note @below {{'bar' takes 8 bytes}}
  %bar = tile.alloc_barrier "bar" count(1)
  tile.return
}
}

// -----

// Scratch memory of one role has the same bytes, as its threads meet before each use; that of another role, or of
// the block, has others.
#rows = #tile.layout<"reg() lane(32@1:1) warp(4@0:1)">
#row = #tile.layout<"reg() lane(32@1:1) warp(4@*)">
#four = #tile.shared_layout<"4x32 32b axis 1 panel 32 swizzle none pad 0">
// CHECK-LABEL: tile.kernel @scratch(
// CHECK-SAME:    shared_bytes = 1536
// CHECK:         tile.alloc_shared "own" at [[OWN:[0-9]+]] :
// CHECK:         tile.alloc_shared "first" at [[FIRST:[0-9]+]] :
// CHECK:         tile.alloc_shared "second" at [[FIRST]] :
// CHECK:         tile.alloc_shared "other" at
// CHECK-NOT:     at [[FIRST]] :
tile.kernel @scratch() attributes {launch = #program.launch<warps = 8>} {
  %own = tile.alloc_shared "own" : !tile.shared<4x32xf32, #four>
  %first = tile.alloc_shared "first" : !tile.shared<4x32xf32, #four>
  %second = tile.alloc_shared "second" : !tile.shared<4x32xf32, #four>
  %other = tile.alloc_shared "other" : !tile.shared<4x32xf32, #four>
  %zero = arith.constant 0.0 : f32
  tile.roles {
    tile.role "a" warps(4) {
      %x = tile.splat %zero : f32 -> tensor<4x32xf32, #rows>
      %y = tile.reduce sum %x axis(0) scratch %first : !tile.shared<4x32xf32, #four> : tensor<4x32xf32, #rows> -> tensor<1x32xf32, #row>
      %z = tile.reduce max %x axis(0) scratch %second : !tile.shared<4x32xf32, #four> : tensor<4x32xf32, #rows> -> tensor<1x32xf32, #row>
    }
    tile.role "b" warps(4) {
      %x = tile.splat %zero : f32 -> tensor<4x32xf32, #rows>
      %y = tile.reduce sum %x axis(0) scratch %other : !tile.shared<4x32xf32, #four> : tensor<4x32xf32, #rows> -> tensor<1x32xf32, #row>
    }
  }
  tile.return
}

// -----

// What is too large names the exchanges that share it, and when tiles do.
#rows = #tile.layout<"reg(8@0:4, 256@1:32) lane(32@1:1) warp(4@0:1)">
#row = #tile.layout<"reg(256@1:32) lane(32@1:1) warp(4@*)">
#four = #tile.shared_layout<"4x8192 32b axis 1 panel 8192 swizzle none pad 0">
#memory = #tile.shared_layout<"1x16384 32b axis 1 panel 16384 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
// expected-error @below {{kernel 'too_large' needs 262144 bytes of shared memory, but sm_90a has 232448 per block}}
// expected-note @below {{tiles share bytes if the uses of one end before those of the other begin; these are alive together, or cp.async, several roles or other blocks use them}}
tile.kernel @too_large() attributes {launch = #program.launch<warps = 4>} {
  // expected-note @below {{'a' takes 65536 bytes}}
  %a = tile.alloc_shared "a" : !tile.shared<1x16384xf32, #memory>
  // expected-note @below {{'b' takes 65536 bytes}}
  %b = tile.alloc_shared "b" : !tile.shared<1x16384xf32, #memory>
  %second = tile.alloc_shared "reduce.1" : !tile.shared<4x8192xf32, #four>
  // expected-note @below {{'reduce.0' takes 131072 bytes, through which warps exchange elements of a reduction and of another operation: smaller fragments or fewer warps take less}}
  %first = tile.alloc_shared "reduce.0" : !tile.shared<4x8192xf32, #four>
  %zero = arith.constant 0.0 : f32
  %x = tile.splat %zero : f32 -> tensor<32x8192xf32, #rows>
  %y = tile.reduce sum %x axis(0) scratch %first : !tile.shared<4x8192xf32, #four> : tensor<32x8192xf32, #rows> -> tensor<1x8192xf32, #row>
  %z = tile.reduce max %x axis(0) scratch %second : !tile.shared<4x8192xf32, #four> : tensor<32x8192xf32, #rows> -> tensor<1x8192xf32, #row>
  tile.return
}
}

// -----

// Tiles that do not fit together share their bytes where the uses of one end before those of the other begin: "b" lies over "a". "c" is
// read after "b" is written. In a loop a tile may be read before it is written again: "c" of the second kernel.
#half = #tile.shared_layout<"64x400 32b axis 1 panel 400 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @shared(
// CHECK-SAME:    shared_bytes = 204800
// CHECK:         tile.alloc_shared "a" at [[A:[0-9]+]] :
// CHECK:         tile.alloc_shared "b" at [[A]] :
// CHECK:         tile.alloc_shared "c" at
// CHECK-NOT:     at [[A]] :
tile.kernel @shared() attributes {launch = #program.launch<warps = 4>} {
  %a = tile.alloc_shared "a" : !tile.shared<64x400xf32, #half>
  %b = tile.alloc_shared "b" : !tile.shared<64x400xf32, #half>
  %c = tile.alloc_shared "c" : !tile.shared<64x400xf32, #half>
  %zero = arith.constant 0.0 : f32
  %x = tile.splat %zero : f32 -> tensor<64x400xf32>
  tile.store %x, %a : tensor<64x400xf32>, !tile.shared<64x400xf32, #half>
  tile.store %x, %c : tensor<64x400xf32>, !tile.shared<64x400xf32, #half>
  %y = tile.load %a : !tile.shared<64x400xf32, #half> -> tensor<64x400xf32>
  tile.store %y, %b : tensor<64x400xf32>, !tile.shared<64x400xf32, #half>
  %z = tile.load %c : !tile.shared<64x400xf32, #half> -> tensor<64x400xf32>
  %w = tile.load %b : !tile.shared<64x400xf32, #half> -> tensor<64x400xf32>
  tile.return
}
// CHECK-LABEL: tile.kernel @repeated(
// CHECK-SAME:    shared_bytes = 204800
// CHECK:         tile.alloc_shared "a" at [[FIRST:[0-9]+]] :
// CHECK:         tile.alloc_shared "b" at [[FIRST]] :
tile.kernel @repeated() attributes {launch = #program.launch<warps = 4>} {
  %a = tile.alloc_shared "a" : !tile.shared<64x400xf32, #half>
  %b = tile.alloc_shared "b" : !tile.shared<64x400xf32, #half>
  %c = tile.alloc_shared "c" : !tile.shared<64x400xf32, #half>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  %x = tile.splat %zero : f32 -> tensor<64x400xf32>
  scf.for %i = %c0 to %c9 step %c1 {
    tile.store %x, %a : tensor<64x400xf32>, !tile.shared<64x400xf32, #half>
    %y = tile.load %a : !tile.shared<64x400xf32, #half> -> tensor<64x400xf32>
    tile.store %y, %b : tensor<64x400xf32>, !tile.shared<64x400xf32, #half>
    %z = tile.load %b : !tile.shared<64x400xf32, #half> -> tensor<64x400xf32>
    %v = tile.load %c : !tile.shared<64x400xf32, #half> -> tensor<64x400xf32>
    tile.store %v, %c : tensor<64x400xf32>, !tile.shared<64x400xf32, #half>
  }
  tile.return
}
}

// -----

// What a role stores through lies where slots were that it has read, if it does so once: "c" over "a". The copies to them have been
// awaited, so nothing is on its way there. "first" is used before: the role that loads may be ahead, as it is in the kernel
// whose roles an author writes, who may load more than is read.
#slots = #tile.shared_layout<"64x64 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel @epilogue(
// CHECK-SAME:    shared_bytes = 24608
// CHECK:         tile.alloc_shared "a" at [[A:[0-9]+]] :
// CHECK:         tile.alloc_shared "first" at
// CHECK-NOT:     at [[A]] :
// CHECK:         tile.alloc_shared "c" at [[A]] :
tile.kernel @epilogue(%n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x64xbf16> {program.argument = #program.tensor<"X", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %h0 = arith.constant 0.0 : bf16
  %a = tile.alloc_shared "a" : !tile.shared<2x64x64xbf16, #slots>
  %first = tile.alloc_shared "first" : !tile.shared<64x64xbf16, #slots>
  %c = tile.alloc_shared "c" : !tile.shared<64x64xbf16, #slots>
  %ring = tile.alloc_ring "a" : !tile.ring<2>
  tile.roles automatic {
    tile.role "load" warps(4) {
      %begin = tile.cursor : !tile.cursor<2>
      %end = scf.for %i = %c0 to %n step %c64 iter_args(%at = %begin) -> (!tile.cursor<2>) {
        tile.acquire %ring[%at] : !tile.ring<2>
        tile.expect %ring[%at] bytes(8192) : !tile.ring<2>
        %from = tile.slice %X[%i, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
        %slot = tile.slot %a[%at] : !tile.shared<2x64x64xbf16, #slots>, !tile.cursor<2> -> !tile.shared<64x64xbf16, #slots>
        tile.copy_async %from, %slot, %ring[%at] : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16, #slots>, !tile.ring<2>
        %next = tile.advance %at : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
    }
    tile.role "math" warps(4) {
      %z = tile.splat %h0 : bf16 -> tensor<64x64xbf16>
      tile.store %z, %first : tensor<64x64xbf16>, !tile.shared<64x64xbf16, #slots>
      %y = tile.load %first : !tile.shared<64x64xbf16, #slots> -> tensor<64x64xbf16>
      %begin = tile.cursor : !tile.cursor<2>
      %end = scf.for %i = %c0 to %n step %c64 iter_args(%at = %begin) -> (!tile.cursor<2>) {
        tile.await %ring[%at] : !tile.ring<2>
        %slot = tile.slot %a[%at] : !tile.shared<2x64x64xbf16, #slots>, !tile.cursor<2> -> !tile.shared<64x64xbf16, #slots>
        %x = tile.load %slot : !tile.shared<64x64xbf16, #slots> -> tensor<64x64xbf16>
        tile.release %ring[%at] : !tile.ring<2>
        %next = tile.advance %at : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
      tile.store %y, %c : tensor<64x64xbf16>, !tile.shared<64x64xbf16, #slots>
      %w = tile.load %c : !tile.shared<64x64xbf16, #slots> -> tensor<64x64xbf16>
    }
  }
  tile.return
}
}

// -----

tile.kernel @no_layout() {
  // expected-error @below {{expected a layout of 'a'; run 'tile-infer-layouts' before 'tile-plan-shared-memory'}}
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  tile.return
}

// -----

// A launch with a block for each tile has more blocks than are to share a multiprocessor: two of these do not fit there.
// CHECK-LABEL: tile.kernel @each_tile(
// CHECK-SAME:    shared_bytes = 115713
// CHECK:         tile.alloc_response "response" at 16
#number = #tile.shared_layout<"1 32b axis 0 panel 1 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @each_tile() {
  %c0 = arith.constant 0 : index
  %tile = tile.alloc_shared "next_tile" : !tile.shared<1xi32, #number>
  %response = tile.alloc_response "response"
  tile.next_block %c0, %c0 by %response, %tile[%c0] : !tile.shared<1xi32, #number>
  tile.return
}
}
