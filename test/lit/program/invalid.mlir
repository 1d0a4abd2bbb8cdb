// RUN: %tile-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{expected one of the targets}}
module attributes {program.target = #program.target<"sm_12">} {}

// -----

// expected-error @below {{expected 'program.target' to be a #program.target, but got "sm_90a"}}
module attributes {program.target = "sm_90a"} {}

// -----

// expected-error @below {{expected 'program.target' on the module because all its kernels are compiled for it, but got 'tile.kernel'}}
tile.kernel @target() attributes {program.target = #program.target<"sm_90a">} { tile.return }

// -----

// expected-error @below {{but the program dialect has no attribute 'program.goal' of operations}}
module attributes {program.goal = "speed"} {}

// -----

// expected-error @below {{expected 'program.argument' of argument 0 to be a #program.dimension, #program.tensor or #program.scalar, but got "m"}}
tile.kernel @argument(%m: index {program.argument = "m"}) { tile.return }

// -----

// expected-error @below {{expected 'program.parameter' of argument 0 to be a #program.parameter, but got 1 : i64}}
tile.kernel @parameter(%m: index {program.parameter = 1}) { tile.return }

// -----

// expected-error @below {{expected 'program.argument' or 'program.parameter' on argument 0, but the program dialect has no attribute 'program.result'}}
tile.kernel @result(%m: index {program.result = 1}) { tile.return }

// -----

// expected-error @below {{expected an integer, d0 d1 ..., sms, add, sub, mul, ceildiv, div, rem, min or max in 'd0 2 mod', but got 'mod'}}
module attributes {a = #program.host_expr<"d0 2 mod">} {}

// -----

// expected-error @below {{but got 'd-1'}}
module attributes {a = #program.host_expr<"d-1">} {}

// -----

// expected-error @below {{expected two operands before 'add' in 'd0 add', but got 1}}
module attributes {a = #program.host_expr<"d0 add">} {}

// -----

// expected-error @below {{expected 'd0 d1' to leave one value, but got 2}}
module attributes {a = #program.host_expr<"d0 d1">} {}

// -----

// expected-error @below {{expected '' to leave one value, but got 0}}
module attributes {a = #program.host_expr<"">} {}

// -----

// expected-error @below {{expected 'multiple_of' of dimension 'm' to be at least 1, but got 0}}
module attributes {a = #program.dimension<"m", multiple_of = 0>} {}

// -----

// expected-error @below {{expected 'fixed' of dimension 'm' to be an extent, or -1 for one that is not known, but got -2}}
module attributes {a = #program.dimension<"m", fixed = -2>} {}

// -----

// expected-error @below {{expected limits from 0 to 2147483647 of dimension 'm', but got 'least' 9 and 'most' 8}}
module attributes {a = #program.dimension<"m", least = 9, most = 8>} {}

// -----

// expected-error @below {{expected the fixed extent of dimension 'm' to be from 0 to 8 because 'least' and 'most' say so, but got 12}}
module attributes {a = #program.dimension<"m", most = 8, fixed = 12>} {}

// -----

// expected-error @below {{expected the fixed extent of dimension 'm' to be a multiple of 8 because 'multiple_of' says so, but got 12}}
module attributes {a = #program.dimension<"m", multiple_of = 8, fixed = 12>} {}

// -----

// expected-error @below {{expected dimension 'm' to be 'fixed' or 'computed', but got both}}
module attributes {a = #program.dimension<"m", fixed = 12, computed = <"d0 2 mul">>} {}

// -----

// expected-error @below {{expected the number of an argument, or -1, for axis 1 of tensor 'A', but got -3}}
module attributes {a = #program.tensor<"A", input, dims[0, -3]>} {}

// -----

// expected-error @below {{expected the alignment of tensor 'A' to be a power of two, but got 12}}
module attributes {a = #program.tensor<"A", input, dims[0], alignment = 12>} {}

// -----

// expected-error @below {{expected tensor 'A' to keep its elements in the natural order because only a workspace's may be in another, but got interleaved}}
module attributes {a = #program.tensor<"A", input, dims[0], order = interleaved>} {}

// -----

// expected-error @below {{expected workspace 'A' to have a last stride of 1 because it is contiguous, but it is strided}}
module attributes {a = #program.tensor<"A", workspace, dims[0], strided = true>} {}

// -----

// expected-error @below {{expected 'A' to be an input of one axis whose elements are adjacent because it holds the addresses of its members}}
module attributes {a = #program.tensor<"A", output, dims[0], members = <input, f32, axes = 1, alignment = 4>>} {}

// -----

// expected-error @below {{expected 'A' to be an input of one axis whose elements are adjacent because it holds the addresses of its members}}
module attributes {a = #program.tensor<"A", input, dims[0, 1], members = <input, f32, axes = 1, alignment = 4>>} {}

// -----

// expected-error @below {{expected members that are the caller's because the launcher makes workspaces, but got workspaces}}
module attributes {a = #program.members<workspace, f32, axes = 1, alignment = 4>} {}

// -----

// expected-error @below {{expected members with elements of whole bytes because nothing is known of where their rows end, but got 'i4'}}
module attributes {a = #program.members<input, i4, axes = 1, alignment = 4>} {}

// -----

// expected-error @below {{expected members of at least one axis, but got 0}}
module attributes {a = #program.members<input, f32, axes = 0, alignment = 4>} {}

// -----

// expected-error @below {{expected the alignment of members to be a power of two, but got 12}}
module attributes {a = #program.members<input, f32, axes = 1, alignment = 12>} {}

// -----

// expected-error @below {{expected tensor 'A' to have at least two axes because its pieces have rows and columns, but got 1}}
module attributes {a = #program.tensor<"A", workspace, dims[0], order = accumulator>} {}

// -----

// expected-error @below {{expected the number of a tensor, but got -1}}
module attributes {a = #program.tensor_map<-1, box[64], none>} {}

// -----

// expected-error @below {{expected the extents of a box to be at least 1, but got 0}}
module attributes {a = #program.tensor_map<0, box[64, 0], none>} {}

// -----

// expected-error @below {{expected a limited axis that is one of the box's 2 but not the innermost, which has no stride, but got 1}}
module attributes {a = #program.tensor_map<0, box[64, 64], none, limited_axis = 1>} {}

// -----

// expected-error @below {{expected a limited axis that is one of the box's 2 but not the innermost, which has no stride, but got -2}}
module attributes {a = #program.tensor_map<0, box[64, 64], none, limited_axis = -2>} {}

// -----

// expected-error @below {{expected a map that begins 0 to 64 rows of the limited axis before the tensor, but got 65}}
module attributes {a = #program.tensor_map<0, box[64, 64], none, limited_axis = 0, before = 65>} {}

// -----

// expected-error @below {{expected a map that begins 0 to 0 rows of the limited axis before the tensor, but got 1}}
module attributes {a = #program.tensor_map<0, box[64, 64], none, before = 1>} {}

// -----

// expected-error @below {{expected index and axis to be at least 0, but got -1 and 0}}
module attributes {a = #program.parameter<scalar, -1>} {}

// -----

// expected-error @below {{expected no axis because a dimension has none, but got 1}}
module attributes {a = #program.parameter<dimension, 0, axis = 1>} {}

// -----

// expected-error @below {{expected role 'load' to have at least one warp from 0 on, but got 0 from 4}}
module attributes {a = #program.role<"load", first_warp = 4, warps = 0>} {}

// -----

// expected-error @below {{expected 'a' to have at least one slot of a byte from 0 on, but got 0 of 16 bytes from 64}}
module attributes {a = #program.shared<"a", buffer, offset = 64, slots = 0, slot_bytes = 16>} {}

// -----

// expected-error @below {{expected 'program.entry' to be a #program.entry of a function, but got 1 : i64 of 'builtin.module'}}
module attributes {program.entry = 1} {}

// -----

// expected-error @below {{expected 'program.phase' to be a string on the module, but got 7 : i64 of 'builtin.module'}}
module attributes {program.phase = 7 : i64} {}

// -----

// report_c1
// expected-error @below {{expected a value for each '{}' of the text, 8 at most, but got 0 for 1}}
module attributes {a = #program.report<print, "{}", "a.cpp:1:2", []>} {}

// -----

// report_c2
// expected-error @below {{expected values of i32, i64, f32 or f64, but got 'f16'}}
module attributes {a = #program.report<print, "{}", "a.cpp:1:2", [f16]>} {}

// -----

// report_c3
// expected-error @below {{expected from 0 to 5 axes, but got 6}}
module attributes {a = #program.report<print, "", "a.cpp:1:2", [], axes = 6>} {}

// -----

// expected-error @below {{expected 'program.reports' to be an array of #program.report on the module, but got 7 : i64 of 'builtin.module'}}
module attributes {program.reports = 7 : i64} {}

// -----

// expected-error @below {{expected nothing but the source of dimension 'k.rank' because the launch says what it is}}
module attributes {a = #program.dimension<"k.rank", multiple_of = 2, source = rank>} {}

// -----

// expected-error @below {{expected nothing but the source of dimension 'k.rank' because the launch says what it is}}
module attributes {a = #program.dimension<"k.rank", fixed = 1, source = rank>} {}

// -----

// expected-error @below {{expected a program for 1 to 8 ranks, but got 'fixed' of dimension 'k.ranks' = 9}}
module attributes {a = #program.dimension<"k.ranks", fixed = 9, source = ranks>} {}

// -----

// window_c1
// expected-error @below {{expected 2 strides of a window because it has 2 numbers of taps, but got 1}}
module attributes {a = #program.window<taps[3, 3], strides[1], dilations[1, 1], before[0, 0], after[0, 0]>} {}

// -----

// window_c2
// expected-error @below {{expected dilations of a window to be from 1 to 16777216, but got 0}}
module attributes {a = #program.window<taps[3], strides[1], dilations[0], before[0], after[0]>} {}

// -----

// window_c2
// expected-error @below {{expected elements before the tensor of a window to be from 0 to 16777216, but got -1}}
module attributes {a = #program.window<taps[3], strides[1], dilations[1], before[-1], after[0]>} {}

// -----

// window_c3
// expected-error @below {{expected a window that spans at most 16777216 elements, but 4097 taps, each 4096 after the one before, span 16777217}}
module attributes {a = #program.window<taps[4097], strides[1], dilations[4096], before[0], after[0]>} {}

// -----

// expected-error @below {{expected a window of 4 axes but the first and the last, and no limited axis, but got one of 1 and limited axis -1}}
module attributes {a = #program.tensor_map<0, box [64, 1, 1, 64], bytes128, window = <taps[3], strides[1], dilations[1], before[0], after[0]>>} {}

// -----

// expected-error @below {{expected 'program.transfers' to be an array of #program.transfer on the module, but got 7 : i64 of 'builtin.module'}}
module attributes {program.transfers = 7 : i64} {}

// -----

// expected-error @below {{expected the number of a tensor, but got -1}}
module attributes {a = #program.place<-1, [<"0">]>} {}

// -----

// transfer_copy_c1
// expected-error @below {{expected extents along 1 to 4 axes, which both places have, but got 2 for places of 1 and 2 axes}}
module attributes {a = #program.transfer_copy<from = <0, [<"0">]>, to = <1, [<"0">, <"0">]>, extents = [<"1">, <"d0">]>} {}

// -----

// transfer_copy_c1
// expected-error @below {{expected extents along 1 to 4 axes, which both places have, but got 5 for places of 5 and 5 axes}}
module attributes {a = #program.transfer_copy<from = <0, [<"0">, <"0">, <"0">, <"0">, <"0">]>, to = <1, [<"0">, <"0">, <"0">, <"0">, <"0">]>, extents = [<"1">, <"1">, <"1">, <"1">, <"1">]>} {}

// -----

// transfer_c2
// expected-error @below {{expected transfer 't' to begin after at least 0 launches, and to end after as many or more, but got 2 and 1}}
module attributes {a = #program.transfer<"t", copies = [<from = <0, [<"0">]>, to = <1, [<"0">]>, extents = [<"d0">]>], after = 2, until = 1, rounds = <"1">>} {}

// -----

// transfer_c3
// expected-error @below {{expected transfer 't' to have a count that it sets and a value for it, but got only the value}}
module attributes {a = #program.transfer<"t", copies = [<from = <0, [<"0">]>, to = <1, [<"0">]>, extents = [<"d0">]>], after = 1, until = 1, rounds = <"1">, value = <"1">>} {}

// -----

// transfer_c3
// expected-error @below {{expected launches after transfer 't' to begin when it has ended because it sets no count for which they could wait, but 1 run beside it}}
module attributes {a = #program.transfer<"t", copies = [<from = <0, [<"0">]>, to = <1, [<"0">]>, extents = [<"d0">]>], after = 1, until = 2, rounds = <"1">>} {}
