// RUN: %tile-opt %s --tile-warp-specialize -split-input-file -verify-diagnostics

// An operation of a role that is not planned.
#plan = #tile.role_plan<roles = [<"load", warps = 4>, <"math", warps = 8>], channels = [<"a", from = "load", to = "math", slots = 2>]>
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @unknown_role(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, tile.role_plan = #plan} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %s, %a atom tma {tile.channel = "a", tile.role = "load"} : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    // expected-error @below {{expected 'tile.role' to be a role of the kernel's plan, but it has no 'other'}}
    %x = tile.load %a {tile.role = "other"} : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  }
  tile.return
}
}

// -----

// An operation with effects that says nothing of its role.
#plan = #tile.role_plan<roles = [<"load", warps = 4>, <"math", warps = 8>], channels = [<"a", from = "load", to = "math", slots = 2>]>
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @no_role(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, tile.role_plan = #plan} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %s, %a atom tma {tile.channel = "a", tile.role = "load"} : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    // expected-error @below {{expected 'tile.role' because roles repeat only what has no effects and is no fragment}}
    %x = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  }
  tile.return
}
}

// -----

// A channel that is not planned.
#plan = #tile.role_plan<roles = [<"load", warps = 4>, <"math", warps = 8>], channels = [<"a", from = "load", to = "math", slots = 2>]>
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @unknown_channel(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, tile.role_plan = #plan} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-error @below {{expected 'tile.channel' to be a channel of the kernel's plan, but it has no 'b'}}
    tile.copy %s, %a atom tma {tile.channel = "b", tile.role = "load"} : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %a {tile.role = "math"} : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  }
  tile.return
}
}

// -----

// Slots are whole buffers.
#plan = #tile.role_plan<roles = [<"load", warps = 4>, <"math", warps = 8>], channels = [<"a", from = "load", to = "math", slots = 2>]>
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @part_of_tile(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, tile.role_plan = #plan} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %t = tile.transpose %a : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-error @below {{expected a copy that fills a whole shared tile or rows of one, a store that fills one with a fragment or a position, or products or a branch that fill a tile in tensor memory, because its channel hands that over}}
    tile.copy %s, %t atom tma {tile.channel = "a", tile.role = "load"} : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16, transposed>
    %x = tile.load %a {tile.role = "math"} : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  }
  tile.return
}
}

// -----

// A copy by the wrong role.
#plan = #tile.role_plan<roles = [<"load", warps = 4>, <"math", warps = 8>], channels = [<"a", from = "load", to = "math", slots = 2>]>
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @wrong_end(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, tile.role_plan = #plan} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-error @below {{expected role 'load' because channel 'a' comes from it, but got 'math'}}
    tile.copy %s, %a atom tma {tile.channel = "a", tile.role = "math"} : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %a {tile.role = "math"} : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  }
  tile.return
}
}

// -----

// Copies that are not made together.
#plan = #tile.role_plan<roles = [<"load", warps = 4>, <"math", warps = 8>], channels = [<"a", from = "load", to = "math", slots = 2>]>
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @two_blocks(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, tile.role_plan = #plan} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %s, %a atom tma {tile.channel = "a", tile.role = "load"} : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %a {tile.role = "math"} : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    %p = arith.cmpi ugt, %kk, %c0 : index
    scf.if %p {
    // expected-error @below {{expected the copies of channel 'a' in one loop or branch because they share its slots}}
    tile.copy %s, %a atom tma {tile.channel = "a", tile.role = "load"} : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    }
  }
  tile.return
}
}

// -----

// A channel that nothing comes through.
#plan = #tile.role_plan<roles = [<"load", warps = 4>, <"math", warps = 8>], channels = [<"a", from = "load", to = "math", slots = 2>]>
module attributes {program.target = #program.target<"sm_90a">} {
// expected-error @below {{expected copies that fill channel 'a', but there are none}}
tile.kernel @no_copy(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, tile.role_plan = #plan} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %x = tile.load %a {tile.role = "math"} : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  }
  tile.return
}
}

// -----

// A channel that nobody takes anything from.
#plan = #tile.role_plan<roles = [<"load", warps = 4>, <"math", warps = 8>], channels = [<"a", from = "load", to = "math", slots = 2>]>
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @never_read(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, tile.role_plan = #plan} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-error @below {{expected a reader of channel 'a' in role 'math' because no role would release its slots}}
    tile.copy %s, %a atom tma {tile.channel = "a", tile.role = "load"} : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
  }
  tile.return
}
}

// -----

// A reader at the wrong end.
#plan = #tile.role_plan<roles = [<"load", warps = 4>, <"math", warps = 8>], channels = [<"a", from = "load", to = "math", slots = 2>]>
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @wrong_reader(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, tile.role_plan = #plan} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %s, %a atom tma {tile.channel = "a", tile.role = "load"} : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    // expected-error @below {{expected role 'load' to use what it puts into channel 'a' only after it has stored it with its own threads}}
    %x = tile.load %a {tile.role = "load"} : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  }
  tile.return
}
}

// -----

// A role to which the channel does not lead.
#plan = #tile.role_plan<roles = [<"load", warps = 4>, <"math", warps = 8>, <"sums", warps = 4>, <"other", warps = 4>], channels = [<"a", from = "load", to = ["math", "sums"], slots = 2>]>
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @stranger(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, tile.role_plan = #plan} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %s, %a atom tma {tile.channel = "a", tile.role = "load"} : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %a {tile.role = "math"} : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    %y = tile.load %a {tile.role = "sums"} : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    // expected-error @below {{expected role 'math' or 'sums' because channel 'a' hands it what it uses, but got 'other'}}
    %z = tile.load %a {tile.role = "other"} : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  }
  tile.return
}
}

// -----

// A reader that comes when the slot has gone.
#plan = #tile.role_plan<roles = [<"load", warps = 4>, <"math", warps = 8>], channels = [<"a", from = "load", to = "math", slots = 2>]>
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @read_later(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, tile.role_plan = #plan} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %s, %a atom tma {tile.channel = "a", tile.role = "load"} : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
  }
  // expected-error @below {{expected the uses of a channel's tiles in the loop or branch of its copies because there its slots are released}}
  %x = tile.load %a {tile.role = "math"} : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  tile.return
}
}

// -----

// A buffer that two roles use, and no channel hands over.
#plan = #tile.role_plan<roles = [<"load", warps = 4>, <"math", warps = 8>], channels = [<"a", from = "load", to = "math", slots = 2>]>
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @shared_buffer(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, tile.role_plan = #plan} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  scf.for %kk = %c0 to %k step %c64 {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %s, %a atom tma {tile.channel = "a", tile.role = "load"} : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %a {tile.role = "math"} : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    tile.store %x, %b atom simt {tile.role = "math"} : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
    // expected-error @below {{expected role 'math', which uses 'b', too, because no channel hands it over, but got 'load'}}
    %y = tile.load %b {tile.role = "load"} : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  }
  tile.return
}
}

// -----

// A value that another role computes,
#plan = #tile.role_plan<roles = [<"load", warps = 4>, <"math", warps = 8>], channels = [<"a", from = "load", to = "math", slots = 2>]>
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @value(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, tile.role_plan = #plan} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<4xi32>
  scf.for %kk = %c0 to %k step %c64 {
    %at = tile.load_index %b[%c0] {tile.role = "math"} : !tile.shared<4xi32>
    %row = arith.addi %at, %kk : index
    %s = tile.slice %A[%row, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-error @below {{expected role 'load' to compute what the operation needs, where and when it runs included, because values do not go from role to role}}
    tile.copy %s, %a atom tma {tile.channel = "a", tile.role = "load"} : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %a {tile.role = "math"} : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  }
  tile.return
}
}

// -----

// or a branch that follows it.
#plan = #tile.role_plan<roles = [<"load", warps = 4>, <"math", warps = 8>], channels = [<"a", from = "load", to = "math", slots = 2>]>
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @condition(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x64xbf16> {program.argument = #program.tensor<"A", input, dims[0, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 8>, tile.role_plan = #plan} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<4xi32>
  scf.for %kk = %c0 to %k step %c64 {
    %at = tile.load_index %b[%c0] {tile.role = "math"} : !tile.shared<4xi32>
    %p = arith.cmpi ugt, %at, %c0 : index
    scf.if %p {
    %s = tile.slice %A[%kk, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
    // expected-error @below {{expected role 'load' to compute what the operation needs, where and when it runs included, because values do not go from role to role}}
    tile.copy %s, %a atom tma {tile.channel = "a", tile.role = "load"} : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x = tile.load %a {tile.role = "math"} : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
    }
  }
  tile.return
}
}

// -----

// A channel that is filled by a store and a copy.
#plan = #tile.role_plan<roles = [<"math", warps = 4>, <"store", warps = 4>], channels = [<"c", from = "math", to = "store", slots = 1>]>
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @filled_twice(%x: f32 {program.argument = #program.scalar<"x">},
    %C: !tile.global<64x64xf32> {program.argument = #program.tensor<"C", inout, dims[-1, -1], alignment = 16>}) attributes {launch = #program.launch<warps = 4>, tile.role_plan = #plan} {
  %c0 = arith.constant 0 : index
  %c = tile.alloc_shared "c" : !tile.shared<64x64xf32>
  %d = tile.alloc_shared "d" : !tile.shared<64x64xf32>
  %v = tile.splat %x {tile.role = "math"} : f32 -> tensor<64x64xf32>
  %s = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %v, %c atom simt {tile.channel = "c", tile.role = "math"} : tensor<64x64xf32>, !tile.shared<64x64xf32>
  // expected-error @below {{expected nothing else to fill channel 'c' because a store of a fragment to shared memory fills a slot by itself}}
  tile.copy %s, %d atom simt {tile.channel = "c", tile.role = "math"} : !tile.slice<64x64xf32>, !tile.shared<64x64xf32>
  tile.return
}
}
