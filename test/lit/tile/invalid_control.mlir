// RUN: %tile-opt %s -split-input-file -verify-diagnostics

// kernel_c1
// expected-error @below {{expected 'program.argument' of argument 0 to be a #program.dimension because its type is 'index', but got none}}
tile.kernel @no_dimension(%m: index) {
  tile.return
}

// -----

// kernel_c1
// expected-error @below {{expected 'program.argument' of argument 0 to be a #program.tensor because its type is '!tile.global<8xf32>', but got #program.scalar<"X">}}
tile.kernel @no_tensor(%X: !tile.global<8xf32> {program.argument = #program.scalar<"X">}) {
  tile.return
}

// -----

// kernel_c1
// expected-error @below {{expected 'program.argument' of argument 0 to be a #program.scalar because its type is 'f32', but got #program.dimension<"x">}}
tile.kernel @no_scalar(%x: f32 {program.argument = #program.dimension<"x">}) {
  tile.return
}

// -----

// kernel_c1
// expected-error @below {{expected argument 0 to be an index, a global tensor or a number that the machine computes with, but got 'i7'}}
tile.kernel @no_type(%x: i7 {program.argument = #program.scalar<"x">}) {
  tile.return
}

// -----

// kernel_c2
// expected-error @below {{expected 'dims' of 'X' to have 2 entries because the tensor is '!tile.global<?x8xf32>', but got 1}}
tile.kernel @dims_rank(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x8xf32> {program.argument = #program.tensor<"X", input, dims[0]>}) {
  tile.return
}

// -----

// kernel_c2
// expected-error @below {{expected -1 in 'dims' for axis 1 of 'X' because its extent is fixed at 8, but got 0}}
tile.kernel @dims_fixed(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x8xf32> {program.argument = #program.tensor<"X", input, dims[0, 0]>}) {
  tile.return
}

// -----

// kernel_c2: packed elements.
// expected-error @below {{expected 'X' to have a last stride of 1 because elements of 'i4' share bytes, but it is strided}}
tile.kernel @dims_strided(%X: !tile.global<8x8xi4> {program.argument = #program.tensor<"X", input, dims[-1, -1], strided = true>}) {
  tile.return
}

// -----

// kernel_c2: out of range.
// expected-error @below {{expected the number of a dimension argument in 'dims' for axis 0 of 'X' because its extent is a runtime value, but got 2}}
tile.kernel @dims_range(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x8xf32> {program.argument = #program.tensor<"X", input, dims[2, -1]>}) {
  tile.return
}

// -----

// kernel_c2: not a dimension.
// expected-error @below {{expected the number of a dimension argument in 'dims' for axis 0 of 'X' because its extent is a runtime value, but got 0}}
tile.kernel @dims_kind(%x: f32 {program.argument = #program.scalar<"x">},
    %X: !tile.global<?x8xf32> {program.argument = #program.tensor<"X", input, dims[0, -1]>}) {
  tile.return
}

// -----

// kernel_c3: without a target the limit that all of them share.
// expected-error @below {{expected from 1 to 32 warps, or 0 to have them chosen, because a block has at most 1024 threads per block, but 'wide' has 33}}
tile.kernel @wide() attributes {launch = #program.launch<warps = 33>} {
  tile.return
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
// kernel_c3
// expected-error @below {{because sm_90a has at most 1024 threads per block, but 'negative' has -4}}
tile.kernel @negative() attributes {launch = #program.launch<warps = -4>} {
  tile.return
}
}

// -----

// kernel_c4
// expected-error @below {{expected a cluster of at least 1 block, but 'none' has 0}}
tile.kernel @none() attributes {launch = #program.launch<cluster = 0>} {
  tile.return
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
// kernel_c4
// expected-error @below {{expected a cluster of at least 1 block and at most 8 because that is the limit of sm_90a, but 'large' has 16}}
tile.kernel @large() attributes {launch = #program.launch<cluster = 16>} {
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
// kernel_c6
// expected-error @below {{expected from 1 to 32 blocks of 1 warps on a multiprocessor because sm_90a has room for 32 blocks and 2048 threads, but 'alone' wants 0}}
tile.kernel @alone() attributes {launch = #program.launch<residents = 0>} {
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
// kernel_c6
// expected-error @below {{expected from 1 to 4 blocks of 16 warps on a multiprocessor because sm_90a has room for 32 blocks and 2048 threads, but 'crowd' wants 5}}
tile.kernel @crowd() attributes {launch = #program.launch<warps = 16, residents = 5>} {
  tile.return
}
}

// -----

// kernel_c5
// expected-note @below {{the first kernel is here}}
tile.kernel @first(%m: index {program.argument = #program.dimension<"m">}) {
  tile.return
}

// expected-error @below {{expected the arguments of 'first' because kernels of one module are one program, but 'second' has others}}
tile.kernel @second(%n: index {program.argument = #program.dimension<"n">}) {
  tile.return
}

// -----

// expected-error @below {{expected no results because a kernel writes to its tensors, but got 1}}
tile.kernel @result() -> index {
  tile.return
}

// -----

// grid_c1
tile.kernel @axes(%m: index {program.argument = #program.dimension<"m">}) {
  // expected-error @below {{expected one to three axes because a launch has that many, but got 4}}
  %p:4 = tile.grid %m, %m, %m, %m : index, index, index, index
  tile.return
}

// -----

// grid_c1
tile.kernel @positions(%m: index {program.argument = #program.dimension<"m">}) {
  // expected-error @below {{expected as many positions as extents, but got 1 and 2}}
  %p = tile.grid %m, %m : index
  tile.return
}

// -----

// grid_c2
tile.kernel @two_grids(%m: index {program.argument = #program.dimension<"m">}) {
  // expected-note @below {{the first is here}}
  %p = tile.grid %m : index
  // expected-error @below {{expected one 'tile.grid' or 'tile.persistent' per kernel because it decides the number of blocks, but got another}}
  %q = tile.grid %m : index
  tile.return
}

// -----

// persistent_c1
tile.kernel @persistent_axes() {
  // expected-error @below {{expected one to three axes because a launch has that many, but got 0}}
  tile.persistent () in () {
  }
  tile.return
}

// -----

// persistent_c1
tile.kernel @persistent_positions(%m: index {program.argument = #program.dimension<"m">}) {
  // expected-error @below {{expected one position of type index per axis because there are 1 extents, but got 2 positions}}
  tile.persistent (%i, %j) in (%m) {
  }
  tile.return
}

// -----

// persistent_c2
tile.kernel @group(%m: index {program.argument = #program.dimension<"m">}) {
  // expected-error @below {{expected a group of at least 1 row, but got 0}}
  tile.persistent (%i) in (%m) group(0) {
  }
  tile.return
}

// -----

// persistent_c4
tile.kernel @cluster_axis(%m: index {program.argument = #program.dimension<"m">}) {
  // expected-error @below {{expected cluster_axis 0 or 1 and among the 1 axes, but got 1}}
  tile.persistent (%i) in (%m) group(4) attributes {cluster_axis = 1 : i64} {
  }
  tile.return
}

// -----

// persistent_c3
tile.kernel @grid_and_persistent(%m: index {program.argument = #program.dimension<"m">}) {
  // expected-note @below {{the first is here}}
  %p = tile.grid %m : index
  // expected-error @below {{expected one 'tile.grid' or 'tile.persistent' per kernel}}
  tile.persistent (%i) in (%m) {
  }
  tile.return
}

// -----

// The positions are separated from the extents by 'in'.
tile.kernel @no_in(%m: index {program.argument = #program.dimension<"m">}) {
  // expected-error @below {{expected 'in'}}
  tile.persistent (%i) of (%m) {
  }
  tile.return
}

// -----

// roles_c1
tile.kernel @no_roles() {
  // expected-error @below {{expected at least one role, but got none}}
  tile.roles {
  }
  tile.return
}

// -----

// roles_c1
tile.kernel @same_name() {
  tile.roles {
    // expected-note @below {{the first is here}}
    tile.role "load" warps(1) {
    }
    // expected-error @below {{expected roles of different names, but got 'load' twice}}
    tile.role "load" warps(1) {
    }
  }
  tile.return
}

// -----

// roles_c1
tile.kernel @not_a_role() {
  tile.roles {
    tile.role "load" warps(1) {
    }
    // expected-error @below {{expected nothing but 'tile.role' in 'tile.roles' because every warp belongs to one role, but got 'tile.sync'}}
    tile.sync
  }
  tile.return
}

// -----

// roles_c2
tile.kernel @sum() attributes {launch = #program.launch<warps = 12>} {
  // expected-error @below {{expected the roles' warps to add up to 12 because 'sum' has that many, but got 9}}
  tile.roles {
    // expected-note @below {{role 'load' has 1}}
    tile.role "load" warps(1) {
    }
    // expected-note @below {{role 'math' has 8}}
    tile.role "math" warps(8) {
    }
  }
  tile.return
}

// -----

// roles_c2: also where the kernel's warps are not chosen yet.
tile.kernel @sum_of_block() {
  // expected-error @below {{expected the roles' warps to add up to at most 32 because a block has at most 1024 threads, but got 48}}
  tile.roles {
    // expected-note @below {{role 'load' has 16}}
    tile.role "load" warps(16) {
    }
    // expected-note @below {{role 'math' has 32}}
    tile.role "math" warps(32) {
    }
  }
  tile.return
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
// roles_c3
tile.kernel @nothing_left() attributes {launch = #program.launch<warps = 12>} {
  // expected-error @below {{expected the roles' registers to be at most 64512 because a block of 384 threads is launched with 168 per thread (more would wait forever), but got 65536}}
  tile.roles {
    // expected-note @below {{role 'load' takes at least 24 for each of 128 threads}}
    tile.role "load" warps(4) {
    }
    // expected-note @below {{role 'left' takes 240 for each of 128 threads}}
    tile.role "left" warps(4) registers(240) {
    }
    // expected-note @below {{role 'right' takes 248 for each of 128 threads}}
    tile.role "right" warps(4) registers(248) {
    }
  }
  tile.return
}
}

// -----

// roles_c3
tile.kernel @one_warpgroup_of_three() {
  tile.roles {
    // expected-note @below {{set here}}
    tile.role "load" warps(1) registers(24) {
    }
    tile.role "between" warps(1) {
    }
    // expected-error @below {{expected role 'store' to set registers(24) because it shares a warpgroup with role 'load' and registers are set per warpgroup, but got 32}}
    tile.role "store" warps(2) registers(32) {
    }
  }
  tile.return
}

// -----

// roles_c3
tile.kernel @whole_warpgroups() {
  // expected-error @below {{expected the roles' warps to add up to a multiple of 4 because registers are set per warpgroup, but got 5}}
  tile.roles {
    tile.role "math" warps(4) registers(240) {
    }
    tile.role "load" warps(1) registers(24) {
    }
  }
  tile.return
}

// -----

// roles_c3
tile.kernel @one_warpgroup() {
  tile.roles {
    // expected-note @below {{set here}}
    tile.role "load" warps(1) registers(24) {
    }
    // expected-error @below {{expected role 'store' to set registers(24) because it shares a warpgroup with role 'load' and registers are set per warpgroup, but got 32}}
    tile.role "store" warps(3) registers(32) {
    }
    tile.role "math" warps(8) registers(240) {
    }
  }
  tile.return
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
// roles_c3
tile.kernel @too_many() attributes {launch = #program.launch<warps = 12>} {
  // expected-error @below {{expected the roles' registers to be at most 64512 because a block of 384 threads is launched with 168 per thread (more would wait forever), but got 66560}}
  tile.roles {
    // expected-note @below {{role 'load' takes 40 for each of 128 threads}}
    tile.role "load" warps(4) registers(40) {
    }
    // expected-note @below {{role 'math' takes 240 for each of 256 threads}}
    tile.role "math" warps(8) registers(240) {
    }
  }
  tile.return
}
}

// -----

// role_c1
tile.kernel @no_warps() {
  tile.roles {
    // expected-error @below {{expected role 'load' to have from 1 to 32 warps, but got 0}}
    tile.role "load" warps(0) {
    }
  }
  tile.return
}

// -----

// role_c2
tile.kernel @register_step() {
  tile.roles {
    // expected-error @below {{expected 'registers' of role 'load' to be a multiple of 8 from 24 to 256, but got 25}}
    tile.role "load" warps(4) registers(25) {
    }
  }
  tile.return
}

// -----

module attributes {program.target = #program.target<"sm_80">} {
// role_c2
tile.kernel @no_reallocation() {
  tile.roles {
    // expected-error @below {{expected no 'registers' for role 'load' because sm_80 cannot move registers between warpgroups, but got 24}}
    tile.role "load" warps(4) registers(24) {
    }
  }
  tile.return
}
}

// -----

// role_c3
tile.kernel @all_threads() attributes {launch = #program.launch<warps = 4>} {
  %p = tile.alloc_shared "p" : !tile.shared<64xf32>
  tile.roles {
    // expected-note @below {{the role is here}}
    tile.role "load" warps(4) one_thread {
      // expected-error @below {{expected an operation that one thread can execute because role 'load' is one thread, but this one needs all threads of the role}}
      %v = tile.load %p : !tile.shared<64xf32> -> tensor<64xf32>
    }
  }
  tile.return
}

// -----

tile.kernel @variable_type(%m: index {program.argument = #program.dimension<"m">}) {
  // expected-note @below {{prior use here}}
  %v = tile.variable %m "v" : !tile.variable<index>
  // expected-error @below {{use of value '%v' expects different type than prior uses: '!tile.variable<i32>' vs '!tile.variable<index>'}}
  %r = tile.read %v : !tile.variable<i32>
  tile.return
}

// -----

// kernel_c5: another number of arguments.
// expected-note @below {{the first kernel is here}}
tile.kernel @one(%x: f32 {program.argument = #program.scalar<"x">}) {
  tile.return
}

// expected-error @below {{expected the arguments of 'one'}}
tile.kernel @two(%x: f32 {program.argument = #program.scalar<"x">}, %y: f32 {program.argument = #program.scalar<"y">}) {
  tile.return
}

// -----

// role_plan_c1
// expected-error @below {{expected roles of different names, but got 'a' twice}}
#roles_of_one_name = #tile.role_plan<roles = [<"a", warps = 4>, <"a", warps = 4>], channels = [<"x", from = "a", to = "a", slots = 1>]>

// -----

// role_plan_c1
// expected-error @below {{expected channels of different names, but got 'x' twice}}
#channels_of_one_name = #tile.role_plan<roles = [<"a", warps = 4>, <"b", warps = 4>], channels = [<"x", from = "a", to = "b", slots = 1>, <"x", from = "b", to = "a", slots = 1>]>

// -----

// role_plan_c1
// expected-error @below {{expected role 'a' to have at least 1 warp, but got 0}}
#role_without_warps = #tile.role_plan<roles = [<"a", warps = 0>, <"b", warps = 4>], channels = [<"x", from = "a", to = "b", slots = 1>]>

// -----

// role_plan_c2
// expected-error @below {{expected channel 'x' between roles of the plan, but it has no role 'c'}}
#channel_from_nowhere = #tile.role_plan<roles = [<"a", warps = 4>, <"b", warps = 4>], channels = [<"x", from = "c", to = "b", slots = 1>]>

// -----

// role_plan_c2
// expected-error @below {{expected channel 'x' to lead from one role to another, but got 'a' at both ends}}
#channel_to_itself = #tile.role_plan<roles = [<"a", warps = 4>, <"b", warps = 4>], channels = [<"x", from = "a", to = "a", slots = 1>]>

// -----

// role_plan_c2
// expected-error @below {{expected channel 'x' to have at least 1 slot, but got 0}}
#channel_without_slots = #tile.role_plan<roles = [<"a", warps = 4>, <"b", warps = 4>], channels = [<"x", from = "a", to = "b", slots = 0>]>

// -----

// expected-error @below {{expected 'tile.role_plan' to be a #tile.role_plan of a kernel, but got 1 : i64 of 'tile.kernel'}}
tile.kernel @plan() attributes {tile.role_plan = 1 : i64} {
  tile.return
}

// -----

tile.kernel @role() {
  // expected-error @below {{expected 'tile.role' to be a role's name, but got 1 : i64}}
  tile.sync {tile.role = 1 : i64}
  tile.return
}

// -----

tile.kernel @channel() {
  // expected-error @below {{expected 'tile.channel' to be the name of a channel that a copy, a store, products or a branch fill, but got "a" of 'tile.sync'}}
  tile.sync {tile.channel = "a"}
  tile.return
}

// -----

tile.kernel @multicast() {
  // expected-error @below {{expected 'tile.multicast' on a copy that fills a channel because its blocks share the slots}}
  tile.sync {tile.multicast}
  tile.return
}

// -----

// expected-error @below {{'tile.kernel' op expected dimension 'X.0' to be computed from the 1 before it alone, but got #program.host_expr<"d1 2 mul">}}
tile.kernel @later(%n: index {program.argument = #program.dimension<"n">},
    %x: index {program.argument = #program.dimension<"X.0", computed = <"d1 2 mul">>}) {
  tile.return
}
