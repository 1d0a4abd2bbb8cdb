// SPDX-License-Identifier: Apache-2.0
/// \file
/// What each operation of the language becomes.
#include "test/unit/dsl/TraceText.h"

using namespace tlc;
using namespace tlc::dsl;

TEST_CASE("copies go between all scopes", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global X = k.input("X", f16, {64, 64}), Y = k.output("Y", f16, {64, 64});
    Shared a = k.shared("a", f16, {64, 64}), b = k.shared("b", f16, {64, 64});
    Fragment x = k.fragment(f16, {64, 64}).named("x");
    Slice from = X.tile({0, 0}, {64, 64}), to = Y.tile({0, 0}, {64, 64});
    copy(from, a);
    copy(a, b);
    copy(b, x);
    copy(x, a);
    copy(a, to);
    copy(from, x);
    copy(x, to);
    copy(from, to);
    fill(a, 1);
    fill(to, 2);
  });
  std::string_view tile = "!tile.slice<64x64xf16>", shared = "!tile.shared<64x64xf16>";
  checkOrder(text, {"tile.copy",    tile,         shared, "tile.copy",    shared,       shared,
                    "tile.load %b", "tile.store", shared, "tile.copy %a", tile,         "tile.load",
                    tile,           "tile.store", tile,   "tile.load",    "tile.store", "tile.store",
                    shared,         "tile.store", tile});
}

TEST_CASE("slices may have a fill value and a reason to be unguarded", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Index m = k.dim("m");
    Global X = k.input("X", f32, {m});
    Scalar missing = k.scalar("missing", f32);
    Fragment x = k.fragment(f32, {16});
    copy(X.tile({0}, {16}).fill(-inf).unchecked("m >= 16"), x);
    copy(X.tile({m - 16}, {16}).fill(missing), k.shared("s", f32, {16}));
    copy(x, k.shared("t", f32, {16}));
  });
  checkOrder(text, {"%missing: f32 {program.argument = #program.scalar<\"missing\">}",
                    "tile.slice %X[%c0] fill %cst : f32 unchecked \"m >= 16\"", "tile.slice %X[%",
                    "] fill %missing : f32"});
}

TEST_CASE("a slice keeps its limit whatever is said of it before and after", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Index m = k.dim("m");
    Global X = k.input("X", f32, {m, 8}), Y = k.output("Y", f32, {m, 8});
    Fragment x = k.fragment(f32, {16, 8});
    copy(X.tile({0, 0}, {16, 8}).fill(1).limited(0, m - 1).unchecked("m >= 16"), x);
    copy(X.tile({0, 0}, {16, 8}).unchecked("m >= 16").disjoint("once").limited(1, 5).fill(2), x);
    copy(x, Y.tile({0, 0}, {16, 8}).limited(0, m));
  });
  checkOrder(text, {"tile.slice %X[%c0", "limit %", "along 0 fill %", "unchecked \"m >= 16\"",
                    "tile.slice %X[%c0", "limit %c5", "along 1 fill %",
                    "unchecked \"m >= 16\" disjoint \"once\"", "tile.slice %Y[%c0", "limit %m along 0 :"});
}

TEST_CASE("integers without a sign are computed with as bits", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global X = k.inout("X", u32, {64});
    Fragment x = k.fragment(u32, {64});
    copy(X.tile({0}, {64}), x);
    x = (x / 7 >> 2) % 5;
    copy(max(x, 3) ^ 8, X.tile({0}, {64}));
  });
  checkOrder(text, {"tile.convert", "tensor<64xui32> to tensor<64xi32>", "arith.divui", "arith.shrui",
                    "arith.remui", "arith.maxui", "arith.xori", "tensor<64xi32> to tensor<64xui32>"});
  CHECK(count(text, "tile.convert") ==
        5); // the first 0, and each time that the variable or memory is read or written
}

TEST_CASE("positions are numbers, and numbers are positions", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Scalar first = k.scalar("first", i32);
    Global X = k.output("X", i32, {k.dim("n"), 32});
    copy(k.positions({16, 32}, -1) % 3, X.tile({first.toIndex(), 0}, {16, 32}));
  });
  checkOrder(text, {"tile.coordinates 1 : tensor<16x32xindex>", "arith.index_cast", "arith.remsi",
                    "arith.index_cast %first : i32 to index", "tile.slice %X["});
}

TEST_CASE("positions that follow one another are those of a box", "[dsl][unit]") {
  const auto slicesOf = [](const std::function<Index(Scope &, Index)> &rows) {
    return trace([&](Scope &k) {
      Global X = k.input("X", f32, {k.dim("n"), 64}), At = k.input("At", i32, {16, 64});
      auto [block] = k.grid(4);
      Fragment at = k.fragment(i32, {16, 64}), x = k.fragment(f32, {16, 64});
      copy(At.tile({0, 0}, {16, 64}), at);
      copy(X.tile({rows(k, block), at.toIndex()}, {16, 64}), x);
    });
  };
  for (const std::string &text :
       {slicesOf([](Scope &k, Index block) { return (k.positions({16, 1}, 0) + block.to(i32)).toIndex(); }),
        slicesOf([](Scope &k, Index block) { return block + k.positions({16, 64}, 0).toIndex(); }),
        slicesOf(
            [](Scope &k, Index block) { return (block.to(i32) + k.positions({16, 1}, -2)).toIndex(); })}) {
    CHECK(count(text, "%c0] gathered [1]") == 1);
    CHECK(count(text, "tile.gather") == 1);
  }
}

TEST_CASE("positions along several axes, and one for all elements", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global X = k.inout("X", i32, {k.dim("n"), 64});
    Fragment at = k.fragment(i32, {16, 8}), old = k.fragment(i32, {16, 8});
    Index p = at.toIndex();
    copy(X.tile({p, p}, {16, 8}), X.tile({p, p}, {16, 8}));
    atomicAdd(1, X.tile({3, p}, {1, 16, 8}), old);
    copy(X.tile({3 + k.positions({1, 1}, 0).toIndex(), p}, {16, 8}), old); // the same elements
  });
  checkOrder(text, {"gathered [0, 1] : !tile.global<?x64xi32> -> !tile.slice<16x8xi32>", "tile.gather",
                    "tensor<16x8xindex>, tensor<16x8xindex> -> tensor<16x8xi32>", "tile.scatter",
                    "%c3, %c0] gathered [1] : !tile.global<?x64xi32> -> !tile.slice<1x16x8xi32>",
                    "tile.atomic_fetch combine add", "tile.broadcast", "tile.gather"});
}

TEST_CASE("positions of elements gather, scatter and add", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global X = k.inout("X", f32, {k.dim("n"), 64});
    Fragment at = k.fragment(i32, {16, 1}), x = k.fragment(f32, {16, 64});
    Slice rows = X.tile({at.toIndex() + 1, 0}, {16, 64}).fill(2).limited(0, 7);
    copy(rows, x);
    copy(x, rows);
    atomicAdd(x, rows);
    atomicAdd(1, rows);
    copy(rows, k.shared("s", f32, {16, 64}));
  });
  checkOrder(text, {"gathered [0] fill", "tile.gather", "tensor<16x64xindex> -> tensor<16x64xf32>",
                    "tile.scatter %", "tile.scatter combine add %", "tile.scatter combine add %",
                    "tile.gather", "tile.store"});
}

TEST_CASE("argMax is two reductions, any and all are one", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global X = k.inout("X", f32, {16, 32});
    Fragment x = k.fragment(f32, {16, 32});
    copy(X.tile({0, 0}, {16, 32}), x);
    copy(where(any(x > 1, 1) && all(x > 0, 0), argMax(x).to(f32), x), X.tile({0, 0}, {16, 32}));
  });
  CHECK(count(text, "tile.reduce max") == 2);
  CHECK(count(text, "tile.reduce min") == 2);
}

TEST_CASE("a table says where the parts of a tile lie", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global X = k.input("X", bf16, {k.dim("pages"), 16, 64}), Table = k.input("Table", i32, {k.dim("n")});
    auto [block] = k.grid(8);
    Shared tile = k.shared("tile", bf16, {32, 64});
    for (int64_t part : {0, 1})
      copy(X.tile({Table.read({block * 2 + part}), 0, 0}, {1, 16, 64}), tile.rows(part * 16, 16));
  });
  checkOrder(text,
             {"tile.slice %Table[", "!tile.slice<1xi32>", "tile.load_index", "tile.slice %X[",
              "tile.rows %tile[0]", "tile.copy", "tile.load_index", "tile.rows %tile[16]", "tile.copy"});
}

TEST_CASE("arithmetic broadcasts axes of extent 1 and takes numbers of the element type", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global Y = k.output("Y", bf16, {16, 8});
    Fragment x = k.fragment(bf16, {16, 8}, 1), row = k.fragment(bf16, {16, 1}, 2),
             column = k.fragment(bf16, {1, 8}, 3);
    copy(max(x * row + column, 0.5) - k.scalar("s", bf16), Y.tile({0, 0}, {16, 8}));
    copy(row * column, Y.tile({0, 0}, {16, 8}));
    copy(-x, Y.tile({0, 0}, {16, 8}));
  });
  checkOrder(text, {"tile.broadcast", "tensor<16x1xbf16> -> tensor<16x8xbf16>", "arith.mulf",
                    "tensor<1x8xbf16> -> tensor<16x8xbf16>", "arith.addf", "arith.maxnumf", "arith.subf",
                    "arith.mulf", "arith.negf"});
  CHECK(text.find("arith.constant 5.000000e-01 : bf16") != std::string::npos);
  CHECK(text.find("tile.splat %s : bf16 -> tensor<16x8xbf16>") != std::string::npos);
}

TEST_CASE("functions become operations of math", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global Y = k.output("Y", f32, {16});
    Fragment x = k.fragment(f32, {16}, k.scalar("s", f32));
    copy(ceil(floor(tanh(rsqrt(sqrt(log2(log(exp2(exp(abs(x)))))))))), Y.tile({0}, {16}));
  });
  checkOrder(text, {"math.absf", "math.exp %", "math.exp2", "math.log %", "math.log2", "math.sqrt",
                    "math.rsqrt", "math.tanh", "math.floor", "math.ceil"});
}

TEST_CASE("a loop that ends early is a loop and a branch on what it carries", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Shared at = k.shared("at", i32, {1});
    k.loopWhile({1, 9, 2}, [&](Index i) -> Predicate {
      at.write({0}, i);
      return at.read({0}) < 5;
    });
  });
  checkOrder(text, {"scf.for", "iter_args(%", "= %true) -> (i1)", "scf.if %", " -> (i1) {",
                    "tile.store_index", "tile.load_index", "arith.cmpi slt", "scf.yield %", "} else {",
                    "scf.yield %false : i1", "scf.yield %"});
}

TEST_CASE("functions say how accurate they are", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global Y = k.output("Y", f32, {16});
    Fragment x = k.fragment(f32, {16}, k.scalar("s", f32)), row = k.fragment(f32, {1}, 3);
    copy(erf(sin(x, Accuracy::fast)), Y.tile({0}, {16}));
    copy(pow(x, row, Accuracy::fast) + exp10(x), Y.tile({0}, {16}));
    copy(fma(x, 2, row) + copySign(round(x), trunc(x)), Y.tile({0}, {16}));
    copy(clamp(x, -1, row), Y.tile({0}, {16}));
  });
  checkOrder(text, {"math.sin", "fastmath<afn>", "math.erf"});
  checkOrder(text, {"tile.broadcast", "math.powf", "fastmath<afn>", "math.powf", "arith.addf"});
  checkOrder(text, {"math.fma", "math.roundeven", "math.trunc", "math.copysign"});
  checkOrder(text, {"arith.maximumf", "arith.minimumf"});
}

TEST_CASE("bits are those of integers with a sign", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global Y = k.output("Y", u32, {16}), Z = k.output("Z", f32, {16}), U = k.output("U", e5m2, {16});
    Fragment x = k.fragment(f32, {16}, k.scalar("s", f32)), e = k.fragment(e4m3, {16});
    copy(bitcast(x, u32), Y.tile({0}, {16}));
    copy(bitcast(bitcast(x, u32) + 1u, f32), Z.tile({0}, {16}));
    copy(bitcast(e, e5m2), U.tile({0}, {16}));
  });
  checkOrder(text, {"arith.bitcast", "tensor<16xf32> to tensor<16xi32>", "tile.convert", "tensor<16xui32>",
                    "arith.addi", "arith.bitcast", "tensor<16xi32> to tensor<16xf32>", "arith.bitcast",
                    "tensor<16xf8E4M3FN> to tensor<16xf8E5M2>"});
}

TEST_CASE("bits become elements of another width, elements have other extents", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global X = k.input("X", u32, {8, 4}), Y = k.output("Y", bf16, {4, 16});
    Fragment x = k.fragment(u32, {8, 4});
    Shared tile = k.shared("tile", bf16, {8, 8});
    copy(X.tile({0, 0}, {8, 4}), x);
    FragmentValue y = bitcast(x, bf16);
    copy(reshape(y, {4, 16}), Y.tile({0, 0}, {4, 16}));
    copy(reshape(y * y, {64}) + 1, tile.reshape({64}));
  });
  // Two in a row are one, and none where the extents are the tile's own.
  checkOrder(text, {"tile.reshape", "tensor<8x4xui32> -> tensor<8x8xbf16>", "tile.reshape",
                    "tensor<8x4xui32> -> tensor<4x16xbf16>", "arith.mulf", "tensor<8x8xbf16>", "tile.reshape",
                    "tensor<8x8xbf16> -> tensor<64xbf16>", "arith.addf", "tile.reshape",
                    "tensor<64xbf16> -> tensor<8x8xbf16>", "tile.store", "!tile.shared<8x8xbf16>"});
}

TEST_CASE("integers have their own arithmetic", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global Y = k.output("Y", i32, {16});
    Fragment x = k.fragment(i32, {16}, k.scalar("s", i32));
    copy(abs(max(min(x * x - x / 3, 7), -x) + 1), Y.tile({0}, {16}));
  });
  checkOrder(text, {"arith.muli", "arith.divsi", "arith.subi", "arith.minsi", "arith.maxsi", "arith.addi",
                    "arith.subi", "arith.maxsi"});
}

TEST_CASE("a conversion rounds and saturates as its types do, or as it is told", "[dsl][unit]") {
  auto conversion = [](ElementType from, ElementType to, Conversion how = {}) {
    return trace([&](Scope &k) {
      Fragment x = k.fragment(from, {16}, k.scalar("s", from));
      copy(x.to(to, how), k.output("Y", to, {16}).tile({0}, {16}));
    });
  };
  checkOrder(conversion(f32, bf16), {"tile.convert %", " : tensor<16xf32> to tensor<16xbf16>"});
  checkOrder(conversion(f16, bf16), {"tile.convert %", " : tensor<16xf16> to tensor<16xbf16>"});
  checkOrder(conversion(f32, i32), {"tile.convert %", " rounding zero : tensor<16xf32> to tensor<16xi32>"});
  checkOrder(conversion(f32, e4m3), {"tile.convert %", " saturate : tensor<16xf32> to tensor<16xf8E4M3FN>"});
  checkOrder(conversion(f32, i8, {.rounding = Rounding::nearest, .saturate = true}),
             {"tile.convert %", " saturate : tensor<16xf32> to tensor<16xi8>"});
  checkOrder(conversion(f32, f16, {.rounding = Rounding::up}),
             {"tile.convert %", " rounding up : tensor<16xf32> to tensor<16xf16>"});
  CHECK(count(conversion(f32, f32), "tile.convert") == 0);
}

TEST_CASE("where takes predicates of fragments, of positions and of one value", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Index m = k.dim("m");
    Global X = k.input("X", f32, {m}), Y = k.output("Y", f32, {16, 8});
    Scalar s = k.scalar("s", f32);
    Fragment x = k.fragment(f32, {16, 8}, s), row = k.fragment(f32, {16, 1}, s);
    Slice to = Y.tile({0, 0}, {16, 8});
    copy(where(row > 0, x, 0), to);
    copy(where(m > 4 || s < 2, x, row), to);
    copy(where([&](Index r, Index c) { return !(r == c) && c + m != 9; }, x, -inf), to);
    copy(where(true, x, 0), to);
    copy(where(row >= x, where(m < 3, s, 1.5), x), to);
    k.loop(where(m < 3, m, 7), [&](Index) { copy(x, to); });
  });
  checkOrder(text,
             {"arith.cmpf olt", "tensor<16x1xi1> -> tensor<16x8xi1>", "arith.select", "arith.cmpi sgt",
              "arith.cmpf olt", "arith.ori", "tile.splat %", "i1 -> tensor<16x8xi1>", "arith.select",
              "tile.coordinates 0", "tile.coordinates 1", "arith.cmpi eq", "arith.xori", "arith.cmpi ne",
              "arith.andi", "arith.select", "arith.cmpf ole", "arith.select", "scf.for"});
}

TEST_CASE("elements may be positions of where, repeated along axes of extent 1", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global Y = k.output("Y", f32, {16, 8});
    Fragment x = k.fragment(f32, {16, 8}), row = k.fragment(i32, {16, 1}), column = k.fragment(i32, {1, 8});
    auto isSeen = [&](Index r, Index) {
      Index first = FragmentValue(row).toIndex();
      return first == FragmentValue(column).toIndex() && r >= first;
    };
    copy(where(isSeen, x, 0), Y.tile({0, 0}, {16, 8}));
  });
  checkOrder(text, {"arith.index_cast", "tensor<16x1xi32> to tensor<16x1xindex>", "arith.index_cast",
                    "tensor<1x8xi32> to tensor<1x8xindex>", "arith.cmpi eq", "arith.cmpi", "arith.andi"});
}

TEST_CASE("reductions keep the axis", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global Y = k.output("Y", f32, {16, 1}), Z = k.output("Z", f32, {1, 8});
    Fragment x = k.fragment(f32, {16, 8}, k.scalar("s", f32));
    copy(rowSum(x) + rowMax(x) + rowMin(x), Y.tile({0, 0}, {16, 1}));
    copy(reduce(Reduction::sum, x, 0), Z.tile({0, 0}, {1, 8}));
  });
  checkOrder(text, {"tile.reduce sum", "axis(1) : tensor<16x8xf32> -> tensor<16x1xf32>", "tile.reduce max",
                    "tile.reduce min", "tile.reduce sum", "axis(0) : tensor<16x8xf32> -> tensor<1x8xf32>"});
}

TEST_CASE("positions are arithmetic on index", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n");
    Global X = k.input("X", f32, {n}), Y = k.output("Y", f32, {m});
    k.loop({min(m, n), max(m - n, 1) + m / 3 % n, 2}, [&](Index i) {
      Fragment x = k.fragment(f32, {16}, (i * i).to(f32) * 2);
      copy(x, Y.tile({-i}, {16}));
    });
  });
  checkOrder(text, {"arith.minsi", "arith.subi", "arith.maxsi", "arith.divsi", "arith.remsi", "arith.addi",
                    "scf.for", "step %c2", "arith.muli", "arith.index_cast", "tile.convert"});
}

TEST_CASE("what is known while tracing is computed while tracing", "[dsl][unit]") {
  Index seven = ceilDiv(Index(13), 2);
  CHECK(seven.constant() == 7);
  CHECK(((Index(3) + 4) * 5 - 6).constant() == 29);
  CHECK((Index(-7) / 2).constant() == -3);
  CHECK((Index(-7) % 2).constant() == -1);
  CHECK((Index(3) < 4).constant() == true);
  CHECK((Index(3) == 4 || Index(1) != 1).constant() == false);
  CHECK(!(Index(3) > 4 && Index(3) >= 3).constant().value());
  std::string text = trace(
      [](Scope &k) {
        k.when(Index(3) < 4, [&] { k.warps(3); }, [&] { k.warps(5); });
        CHECK(k.dim("m").constant() == 96);
      },
      {.fixedDimensions = {{"m", 96}}});
  checkOrder(text, {"#program.dimension<\"m\", fixed = 96>", "warps = 3"});
}

TEST_CASE("a fixed dimension is a constant extent", "[dsl][unit]") {
  auto body = [](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n");
    Global X = k.inout("X", f32, {m, n});
    k.loop(m, [&](Index i) { atomicAdd(1, X.tile({i, 0}, {1, 1})); });
  };
  checkOrder(trace(body), {"!tile.global<?x?xf32>", "dims[0, 1]", "scf.for %arg0 = %c0 to %m"});
  checkOrder(trace(body, {.fixedDimensions = {{"m", 5}}}),
             {"!tile.global<5x?xf32>", "dims[-1, 1]", "to %c5"});
}

TEST_CASE("branches run on the device", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Index m = k.dim("m");
    Global Y = k.output("Y", f32, {m});
    Fragment x = k.fragment(f32, {16}).named("x");
    k.when(m > 16, [&] { x = 1; }, [&] { x = 2; });
    k.when(m < 5 && m > 2, [&] { copy(x, Y.tile({0}, {16})); });
  });
  checkOrder(text, {"scf.if", "tile.write", "} else {", "tile.write", "arith.andi", "scf.if", "tile.store"});
}

TEST_CASE("barriers, requirements, clusters and multiprocessors", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    k.warps(8);
    k.cluster(2);
    k.residents(3);
    k.loadRole();
    k.storeRole();
    k.require(Requirement::tma);
    k.require(Requirement::wgmma);
    k.require(Requirement::warpSpecialized);
    auto [i] = k.grid(k.multiprocessors());
    Barrier ready = k.barrier("ready", 128);
    NamedBarrier first = k.namedBarrier(8), second = k.namedBarrier(4);
    k.loop({i, 100, k.blocks()}, [&](Index j) {
      ready.arrive();
      ready.wait(j + k.blockRank());
      first.sync();
      second.arrive();
    });
  });
  checkOrder(text, {"cluster = 2, residents = 3>, load_role, store_role", "tile.require tma",
                    "tile.require wgmma", "tile.require warp_specialized", "tile.multiprocessors",
                    "tile.grid", "tile.alloc_barrier \"ready\" count(128)", "tile.blocks", "scf.for",
                    "tile.arrive", "tile.block_rank", "tile.wait", "tile.named_barrier 1 warps(8)",
                    "tile.named_barrier 2 warps(4) arrive"});
}

TEST_CASE("a persistent loop says how it walks", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    k.cluster(2);
    Global Y = k.output("Y", f32, {k.dim("m"), 64});
    k.persistent({4, 5, 6}, {.group = 3, .cluster = ClusterAxis::columns},
                 [&](Index i, Index j, Index l) { atomicAdd(1, Y.tile({i + l, j}, {1, 1})); });
  });
  checkOrder(text, {"cluster = 2", "tile.persistent (%arg0, %arg1, %arg2) in (%c4, %c5, %c6) group(3)",
                    "cluster_axis = 1"});
}

TEST_CASE("products take the policy and a fragment as left factor", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Shared a = k.shared("a", f16, {64, 32}), b = k.shared("b", f16, {32, 64});
    Fragment p = k.fragment(f16, {64, 32}), acc = k.fragment(f32, {64, 64});
    gemm(a, b, acc, WarpPolicy::square);
    gemm(p, b, acc, WarpPolicy::fullColumn);
    gemmAsync(p, b, acc, WarpPolicy::fullColumn);
    gemmWait(acc, 1);
    copy(acc, k.output("Y", f32, {64, 64}).tile({0, 0}, {64, 64}));
  });
  checkOrder(text, {"tile.gemm %a, %b", "policy square", "tile.gemm %", "policy full_col", "tile.gemm_async",
                    "policy full_col", "pending(1)"});
}

TEST_CASE("what a warp may skip is a branch of its own", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Fragment x = k.fragment(f32, {64, 64}, 2);
    k.whenAny(x > 1, [&] { x = x / 2; });
    k.whenAny(Predicate(false), [&] { x = x + 5; }); // known while tracing: nothing is recorded
    copy(x, k.output("Y", f32, {64, 64}).tile({0, 0}, {64, 64}));
  });
  checkOrder(text, {"arith.cmpf", "tile.any_in_warp", "scf.if", "arith.divf", "tile.store"});
  CHECK(text.find("5.0") == std::string::npos);
}
