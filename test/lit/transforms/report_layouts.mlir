// RUN: %tile-opt %s --tile-report-layouts -split-input-file -verify-diagnostics

// No remark: what is distributed evenly, a row of a larger fragment, constants, and what takes few registers.
#rows = #tile.layout<"reg(4@1:1, 16@1:128) lane(32@1:4) warp(4@0:1)">
#row = #tile.layout<"reg(4@1:1, 16@1:128) lane(32@1:4) warp(4@*)">
#few = #tile.layout<"reg(16@0:1) lane(32@*) warp(4@*)">
#all = #tile.layout<"reg(64@0:1) lane(32@*) warp(4@*)">
#memory = #tile.shared_layout<"4x2048 32b axis 1 panel 2048 swizzle none pad 0">
#line = #tile.shared_layout<"1x2048 32b axis 1 panel 2048 swizzle none pad 0">
#short = #tile.shared_layout<"16 32b axis 0 panel 16 swizzle none pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @even() attributes {launch = #program.launch<warps = 4>} {
  %tile = tile.alloc_shared "tile" : !tile.shared<4x2048xf32, #memory>
  %line = tile.alloc_shared "line" : !tile.shared<1x2048xf32, #line>
  %short = tile.alloc_shared "short" : !tile.shared<16xf32, #short>
  %one = arith.constant 1.0 : f32
  %constant = tile.splat %one : f32 -> tensor<64xf32, #all>
  %x = tile.load %tile : !tile.shared<4x2048xf32, #memory> -> tensor<4x2048xf32, #rows>
  %bias = tile.load %line : !tile.shared<1x2048xf32, #line> -> tensor<1x2048xf32, #row>
  %wide = tile.broadcast %bias : tensor<1x2048xf32, #row> -> tensor<4x2048xf32, #rows>
  %y = arith.addf %x, %wide : tensor<4x2048xf32, #rows>
  tile.store %y, %tile : tensor<4x2048xf32, #rows>, !tile.shared<4x2048xf32, #memory>
  %few = tile.load %short : !tile.shared<16xf32, #short> -> tensor<16xf32, #few>
  tile.return
}
}

// -----

// One remark for all fragments that arithmetic and reshapes connect.
#most = #tile.layout<"reg(64@1:1) lane(4@0:1, 8@*) warp(4@*)">
#flat = #tile.layout<"reg(64@0:1) lane(4@0:64, 8@*) warp(4@*)">
#padded = #tile.layout<"reg(64@1:1) lane(32@0:1) warp(4@0:32)">
#memory = #tile.shared_layout<"4x64 32b axis 1 panel 32 swizzle none pad 0">
tile.kernel @copies() attributes {launch = #program.launch<warps = 4>} {
  %tile = tile.alloc_shared "tile" : !tile.shared<4x64xf32, #memory>
  // expected-remark @below {{[replicated-elements] the fragment of 4x64 f32 takes 64 registers of each thread, of which 2 would hold its elements: 32 threads hold each element; its elements stay in their threads at the reshape of 4x64 to 256; extents that powers of two divide, or a shared tile for the change of extents, take less}}
  %x = tile.load %tile : !tile.shared<4x64xf32, #memory> -> tensor<4x64xf32, #most>
  %y = arith.addf %x, %x : tensor<4x64xf32, #most>
  %flat = tile.reshape %y : tensor<4x64xf32, #most> -> tensor<256xf32, #flat>
  %z = arith.mulf %flat, %flat : tensor<256xf32, #flat>
  // expected-remark @below {{[replicated-elements] the fragment of 4x64 f32 takes 64 registers of each thread, of which 2 would hold its elements: the rest is padding; extents that lanes and warps divide, or fewer warps, take less}}
  %padded = tile.load %tile : !tile.shared<4x64xf32, #memory> -> tensor<4x64xf32, #padded>
  tile.return
}

// -----

#few_rows = #tile.shared_layout<"2x1040 32b axis 1 panel 16 swizzle 64 pad 0">
#nine_rows = #tile.shared_layout<"9x1040 32b axis 1 panel 16 swizzle 64 pad 0">
tile.kernel @padded() attributes {launch = #program.launch<warps = 4>} {
  // expected-remark @below {{[padded-tile] shared tile 'a' of 2x1040 takes 33280 bytes, of which 8320 hold its elements: a swizzle repeats after 8 rows, and the tile has 2; more rows, or a last axis of a multiple of 128 bytes, leave no padding}}
  %a = tile.alloc_shared "a" : !tile.shared<2x1040xf32, #few_rows>
  %b = tile.alloc_shared "b" : !tile.shared<9x1040xf32, #nine_rows>
  tile.return
}

// -----

// Three fragments of 128 registers before they are added; two of them fit. In a role, its registers count.
#square = #tile.layout<"reg(4@1:1, 32@0:4) lane(32@1:4) warp(4@0:1)">
#memory = #tile.shared_layout<"128x128 32b axis 1 panel 32 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @spills() attributes {launch = #program.launch<warps = 8>} {
  %tile = tile.alloc_shared "tile" : !tile.shared<128x128xf32, #memory>
  tile.roles {
    tile.role "three" warps(4) registers(240) {
      %x = tile.load %tile : !tile.shared<128x128xf32, #memory> -> tensor<128x128xf32, #square>
      %y = tile.load %tile : !tile.shared<128x128xf32, #memory> -> tensor<128x128xf32, #square>
      %z = tile.load %tile : !tile.shared<128x128xf32, #memory> -> tensor<128x128xf32, #square>
      // expected-remark-re @below {{[register-spills] fragments take about 384 registers of each thread here, which has 240, so that some may spill to memory: 128x128 f32 of copy from shared tile 'tile' at {{.*}} (128), 128x128 f32 of copy from shared tile 'tile' at {{.*}} (128), 128x128 f32 of copy from shared tile 'tile' at {{.*}} (128); smaller tiles, more warps or fragments that end earlier take less}}
      %xy = arith.addf %x, %y : tensor<128x128xf32, #square>
      %sum = arith.addf %xy, %z : tensor<128x128xf32, #square>
      tile.store %sum, %tile : tensor<128x128xf32, #square>, !tile.shared<128x128xf32, #memory>
    }
    tile.role "one" warps(4) registers(240) {
      %x = tile.load %tile : !tile.shared<128x128xf32, #memory> -> tensor<128x128xf32, #square>
      %half = arith.mulf %x, %x : tensor<128x128xf32, #square>
      %cube = arith.mulf %half, %x : tensor<128x128xf32, #square>
      tile.store %cube, %tile : tensor<128x128xf32, #square>, !tile.shared<128x128xf32, #memory>
    }
  }
  tile.return
}
}

// -----

// What a loop carries or reads in every iteration lives in all of them.
#square = #tile.layout<"reg(4@1:1, 32@0:4) lane(32@1:4) warp(4@0:1)">
#memory = #tile.shared_layout<"128x128 32b axis 1 panel 32 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @loop(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = tile.alloc_shared "tile" : !tile.shared<128x128xf32, #memory>
  %x = tile.load %tile : !tile.shared<128x128xf32, #memory> -> tensor<128x128xf32, #square>
  %y = tile.load %tile : !tile.shared<128x128xf32, #memory> -> tensor<128x128xf32, #square>
  // expected-remark @below {{[register-spills] fragments take about 256 registers of each thread here, which has 248}}
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%carried = %x) -> tensor<128x128xf32, #square> {
    %next = arith.addf %carried, %y : tensor<128x128xf32, #square>
    scf.yield %next : tensor<128x128xf32, #square>
  }
  tile.store %sum, %tile : tensor<128x128xf32, #square>, !tile.shared<128x128xf32, #memory>
  tile.return
}
}

// -----

// No remark: what the other branch needs does not count, nor a product that sums use, nor what a reduction takes as
// the conversion computes it.
#square = #tile.layout<"reg(4@1:1, 32@0:4) lane(32@1:4) warp(4@0:1)">
#column = #tile.layout<"rank 2 reg(32@0:4) lane(32@*) warp(4@0:1)">
#memory = #tile.shared_layout<"128x128 32b axis 1 panel 32 swizzle 128 pad 0">
#sums = #tile.shared_layout<"128x1 32b axis 1 panel 1 swizzle none pad 0">
#halves = #tile.shared_layout<"128x128 16b axis 1 panel 64 swizzle 128 pad 0">
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @few(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %half = arith.constant 0.5 : f32
  %tile = tile.alloc_shared "tile" : !tile.shared<128x128xf32, #memory>
  %sums = tile.alloc_shared "sums" : !tile.shared<128x1xf32, #sums>
  %halves = tile.alloc_shared "halves" : !tile.shared<128x128xf16, #halves>
  %x = tile.load %tile : !tile.shared<128x128xf32, #memory> -> tensor<128x128xf32, #square>
  %isEmpty = arith.cmpi eq, %n, %c0 : index
  %chosen = scf.if %isEmpty -> tensor<128x128xf32, #square> {
    %y = tile.load %tile : !tile.shared<128x128xf32, #memory> -> tensor<128x128xf32, #square>
    scf.yield %y : tensor<128x128xf32, #square>
  } else {
    scf.yield %x : tensor<128x128xf32, #square>
  }
  %halved = tile.splat %half : f32 -> tensor<128x128xf32, #square>
  %scaled = arith.mulf %chosen, %halved : tensor<128x128xf32, #square>
  %more = arith.addf %scaled, %halved : tensor<128x128xf32, #square>
  %exp = math.exp2 %more : tensor<128x128xf32, #square>
  %small = tile.convert %exp : tensor<128x128xf32, #square> to tensor<128x128xf16, #square>
  %sum = tile.reduce sum %exp axis(1) : tensor<128x128xf32, #square> -> tensor<128x1xf32, #column>
  tile.store %small, %halves : tensor<128x128xf16, #square>, !tile.shared<128x128xf16, #halves>
  tile.store %sum, %sums : tensor<128x1xf32, #column>, !tile.shared<128x1xf32, #sums>
  %less = arith.subf %scaled, %halved : tensor<128x128xf32, #square>
  tile.store %less, %tile : tensor<128x128xf32, #square>, !tile.shared<128x128xf32, #memory>
  tile.return
}
}
