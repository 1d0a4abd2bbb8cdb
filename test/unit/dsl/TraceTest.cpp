// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a program's text becomes.
#include "compiler/dsl/dsl.h"

#include <catch2/catch.hpp>
#include <thread>

using namespace tlc;
using namespace tlc::dsl;

namespace {

std::string trace(const std::function<void(Scope &)> &body, const TraceOptions &options = {}) {
  Program program = Program::trace("test", options, body);
  INFO(program.errorText());
  REQUIRE(program.ok());
  return program.text();
}

/// Whether the parts stand in the text in this order.
void checkOrder(const std::string &text, std::initializer_list<std::string_view> parts) {
  INFO(text);
  size_t from = 0;
  for (std::string_view part : parts) {
    INFO(part);
    size_t found = text.find(part, from);
    REQUIRE(found != std::string::npos);
    from = found + part.size();
  }
}

size_t count(const std::string &text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

} // namespace

//===----------------------------------------------------------------------===//
// Whole programs
//===----------------------------------------------------------------------===//

TEST_CASE("a plain GEMM is a pipelined loop in a persistent loop", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k", {.multipleOf = 8});
    Global A = k.input("A", bf16, {m, depth}), B = k.input("B", bf16, {n, depth}),
           C = k.output("C", bf16, {m, n});
    k.persistent({ceilDiv(m, 128), ceilDiv(n, 256)}, {.group = 16}, [&](Index i, Index j) {
      Shared a = k.shared("a", bf16, {128, 64}), b = k.shared("b", bf16, {256, 64});
      Fragment acc = k.fragment(f32, {128, 256}).named("acc");
      k.pipelined(ceilDiv(depth, 64), {.stages = 4}, [&](Index s) {
        copy(A.tile({i * 128, s * 64}, {128, 64}), a);
        copy(B.tile({j * 256, s * 64}, {256, 64}), b);
        gemm(a, b.t(), acc);
      });
      copy(acc.to(bf16), C.tile({i * 128, j * 256}, {128, 256}));
    });
  });
  checkOrder(text,
             {"tile.kernel @test(%m: index {program.argument = #program.dimension<\"m\">}",
              "#program.dimension<\"k\", multiple_of = 8>",
              "%A: !tile.global<?x?xbf16> {program.argument = #program.tensor<\"A\", input, dims[0, 2]>}",
              "#program.tensor<\"B\", input, dims[1, 2]>",
              "#program.tensor<\"C\", output, dims[0, 1]>",
              "%0 = arith.ceildivui %m, %c128",
              "tile.persistent (%arg0, %arg1) in (%0, %1) group(16)",
              "%acc = tile.variable",
              "scf.for %arg2 = %c0 to",
              "tile.slice %A[",
              "tile.copy",
              "tile.slice %B[",
              "tile.copy",
              "tile.transpose %b",
              "tile.gemm %a",
              "tile.write",
              "{tile.pipeline = #tile.pipeline<stages = 4>}",
              "tile.read %acc",
              "arith.truncf",
              "tile.slice %C[",
              "tile.store",
              "tile.return"});
}

TEST_CASE("flash attention reads like the algorithm", "[dsl][unit]") {
  constexpr int bq = 128, bk = 128, d = 64;
  const float scale = 0.125f * 1.44269504f;
  std::string text = trace([&](Scope &k) {
    Index B = k.dim("B"), H = k.dim("H"), S = k.dim("S");
    Global Q = k.input("Q", bf16, {B, S, H, d}), K = k.input("K", bf16, {B, S, H, d}),
           V = k.input("V", bf16, {B, S, H, d});
    Global O = k.output("O", bf16, {B, S, H, d}), L = k.output("LSE", f32, {B, H, S});
    auto [iq, h, b] = k.grid(ceilDiv(S, bq), H, B);
    Shared q = k.shared("q", bf16, {bq, d}), kt = k.shared("k", bf16, {bk, d}),
           vt = k.shared("v", bf16, {bk, d});
    Fragment s = k.fragment(f32, {bq, bk}), o = k.fragment(f32, {bq, d}, 0.f),
             m = k.fragment(f32, {bq, 1}, -inf), l = k.fragment(f32, {bq, 1}, 0.f);
    copy(Q.tile({b, iq * bq, h, 0}, {1, bq, 1, d}), q);
    k.pipelined(ceilDiv(min((iq + 1) * bq, S), bk), {.stages = 2}, [&](Index j) {
      copy(K.tile({b, j * bk, h, 0}, {1, bk, 1, d}), kt);
      copy(V.tile({b, j * bk, h, 0}, {1, bk, 1, d}), vt);
      s = 0.f;
      gemm(q, kt.t(), s);
      s = where([&](Index r, Index t) { return iq * bq + r >= j * bk + t && j * bk + t < S; }, s, -inf);
      Fragment mNew = max(m, rowMax(s)), base = finiteOrZero(mNew);
      Fragment fix = exp2((m - base) * scale), p = exp2((s - base) * scale);
      l = l * fix + rowSum(p);
      o = o * fix;
      gemm(p.to(bf16), vt, o);
      m = mNew;
    });
    copy(divideOrZero(o, l).to(bf16), O.tile({b, iq * bq, h, 0}, {1, bq, 1, d}));
    copy(log2(l) + m * scale, L.tile({b, h, iq * bq}, {1, 1, bq}));
  });
  checkOrder(text,
             {"tile.grid %0, %H, %B", "tile.slice %Q[%1#2, %10, %1#1, %c0]", "tile.gemm %q",
              "tile.coordinates 0 : tensor<128x128xindex>", "arith.cmpi sle", "arith.cmpi slt", "arith.andi",
              "arith.select", "tile.reduce max", "arith.maxnumf", "math.exp2", "tile.reduce sum",
              "tile.broadcast", "tile.gemm %", "tensor<128x128xbf16>, !tile.shared<128x64xbf16>",
              "arith.divf", "math.log2", "!tile.slice<1x1x128xf32>"});
}

TEST_CASE("launches have the arguments of the program and what was computed before", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Index m = k.dim("m");
    Global X = k.input("X", f32, {m}), Y = k.output("Y", f32, {m});
    Global sums = k.workspace("sums", f32, {4, m}, {.initial = Initial::zero});
    Index tiles = ceilDiv(m, 64);
    k.launch("first", [&] {
      auto [i] = k.grid(tiles);
      Fragment x = k.fragment(f32, {64});
      copy(X.tile({i * 64}, {64}), x);
      atomicAdd(x, sums.tile({i % 4, i * 64}, {1, 64}));
    });
    k.launch("second", [&] {
      k.warps(8);
      auto [i] = k.grid(tiles);
      copy(sums.tile({0, i * 64}, {1, 64}), Y.tile({i * 64}, {64}));
    });
  });
  std::string_view workspace = "#program.tensor<\"sums\", workspace, dims[-1, 0], zero_fill = true>";
  checkOrder(text, {"tile.kernel @first(", workspace, "arith.ceildivui %m", "tile.grid", "arith.remsi",
                    "tile.atomic_add", "tile.kernel @second(", workspace, "attributes {warps = 8 : i64}",
                    "arith.ceildivui %m", "tile.grid", "tile.load", "tile.store"});
  CHECK(text.find("@test") == std::string::npos);
}

TEST_CASE("the explicit form is roles, rings and cursors", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global A = k.input("A", bf16, {k.dim("m"), 64}, {.alignment = 16});
    Shared a = k.shared("a", bf16, {64, 64}, {.slots = 3});
    Ring ring = k.ring("a_ring", {.slots = 3, .producers = 1, .consumers = 2});
    k.roles([&] {
      k.role("load", {.warps = 4, .registers = 24}, [&] {
        Cursor at = ring.cursor();
        k.loop(8, [&](Index s) {
          ring.acquire(at);
          ring.expect(at, a.slotBytes());
          copy(A.tile({s * 64, 0}, {64, 64}), a.slot(at), ring.full(at));
          at.advance();
        });
      });
      k.role("math", {.warps = 8, .registers = 240}, [&] {
        Cursor at = ring.cursor();
        Fragment acc = k.fragment(f32, {64, 64});
        k.loop(8, [&](Index) {
          ring.wait(at);
          gemmAsync(a.slot(at), a.slot(at).t(), acc);
          gemmWait(acc);
          ring.release(at);
          at.advance();
        });
      });
      k.role("other", {.warps = 4, .registers = 24}, [&] { ring.publish(ring.cursor()); });
    });
  });
  checkOrder(text, {"alignment = 16",
                    "attributes {warps = 16 : i64}",
                    "tile.alloc_shared \"a\" : !tile.shared<3x64x64xbf16>",
                    "tile.alloc_ring \"a_ring\" producers(1) consumers(2) : !tile.ring<3>",
                    "tile.roles",
                    "tile.role \"load\" warps(4) registers(24)",
                    "tile.cursor",
                    "tile.acquire",
                    "tile.expect",
                    "bytes(8192)",
                    "tile.slot %a[",
                    "tile.copy_async",
                    "tile.advance",
                    "tile.role \"math\" warps(8)",
                    "tile.await",
                    "tile.gemm_async",
                    "tile.gemm_wait",
                    "pending(0)",
                    "tile.release",
                    "tile.advance",
                    "tile.role \"other\"",
                    "tile.publish"});
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

TEST_CASE("initialising from a fragment takes the value of that moment", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global Y = k.output("Y", f32, {16});
    Fragment x = k.fragment(f32, {16}, 1).named("x");
    Fragment before = x;
    x = x + 1;
    copy(before, Y.tile({0}, {16}));
    copy(x, Y.tile({0}, {16}));
  });
  // The copy is a variable of its own, with what was read before the assignment.
  checkOrder(text, {"%x = tile.variable", "%1 = tile.read %x", "%2 = tile.variable %1", ", %x",
                    "tile.read %2", "tile.store", "tile.read %x", "tile.store"});
}

TEST_CASE("assigning one fragment to another stores, and makes no variable", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global Y = k.output("Y", f32, {16});
    Fragment x = k.fragment(f32, {16}, 1).named("x"), y = k.fragment(f32, {16}).named("y");
    k.loop(4, [&](Index) {
      y = x;
      x = x + y;
    });
    copy(y, Y.tile({0}, {16}));
  });
  CHECK(count(text, "tile.variable %") == 2);
  checkOrder(text,
             {"scf.for", "= tile.read %x", "tile.write %", ", %y", "= tile.read %y", "arith.addf", ", %x"});
}

TEST_CASE("compound assignments read and store", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global Y = k.output("Y", f32, {16});
    Fragment x = k.fragment(f32, {16}, 1).named("x");
    x += 2;
    x -= x;
    x *= 3;
    x /= 4;
    fill(x, 5);
    copy(x, Y.tile({0}, {16}));
  });
  checkOrder(text, {"arith.addf", ", %x", "arith.subf", ", %x", "arith.mulf", ", %x", "arith.divf", ", %x",
                    "tile.write", "tile.store"});
}

TEST_CASE("a value never changes, a fragment does", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global Y = k.output("Y", f32, {16});
    Fragment x = k.fragment(f32, {16}, 1).named("x");
    FragmentValue before = x;
    x = 0;
    copy(before, Y.tile({0}, {16}));
  });
  checkOrder(text, {"%1 = tile.read %x", "tile.write", ", %x", "tile.store %1"});
  CHECK(count(text, "tile.variable %") == 1);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

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

TEST_CASE("integers have their own arithmetic", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global Y = k.output("Y", i32, {16});
    Fragment x = k.fragment(i32, {16}, k.scalar("s", i32));
    copy(abs(max(min(x * x - x / 3, 7), -x) + 1), Y.tile({0}, {16}));
  });
  checkOrder(text, {"arith.muli", "arith.divsi", "arith.subi", "arith.minsi", "arith.maxsi", "arith.addi",
                    "arith.subi", "arith.maxsi"});
}

TEST_CASE("conversions pick the operation from both types", "[dsl][unit]") {
  auto conversion = [](ElementType from, ElementType to) {
    return trace([&](Scope &k) {
      Fragment x = k.fragment(from, {16}, k.scalar("s", from));
      copy(x.to(to), k.output("Y", to, {16}).tile({0}, {16}));
    });
  };
  checkOrder(conversion(f32, bf16), {"arith.truncf", "tensor<16xf32> to tensor<16xbf16>"});
  checkOrder(conversion(f16, f32), {"arith.extf", "tensor<16xf16> to tensor<16xf32>"});
  checkOrder(conversion(f16, bf16), {"arith.extf", "tensor<16xf32>", "arith.truncf", "tensor<16xbf16>"});
  checkOrder(conversion(i32, f32), {"arith.sitofp"});
  checkOrder(conversion(f32, i32), {"arith.fptosi"});
  checkOrder(conversion(i8, i64), {"arith.extsi"});
  checkOrder(conversion(i64, i32), {"arith.trunci"});
  CHECK(count(conversion(f32, f32), "arith.ext") == 0);
}

TEST_CASE("where takes predicates of fragments, of positions and of one value", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Index m = k.dim("m");
    Global Y = k.output("Y", f32, {16, 8});
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
    Global Y = k.output("Y", f32, {m});
    k.loop({min(m, n), max(m - n, 1) + m / 3 % n, 2}, [&](Index i) {
      Fragment x = k.fragment(f32, {16}, (i * i).to(f32) * 2);
      copy(x, Y.tile({-i}, {16}));
    });
  });
  checkOrder(text, {"arith.minsi", "arith.subi", "arith.maxsi", "arith.divsi", "arith.remsi", "arith.addi",
                    "scf.for", "step %c2", "arith.muli", "arith.index_cast", "arith.sitofp"});
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
    k.cluster(2);
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
  checkOrder(text, {"cluster = 2", "tile.require tma", "tile.require wgmma", "tile.require warp_specialized",
                    "tile.multiprocessors", "tile.grid", "tile.alloc_barrier \"ready\" count(128)",
                    "tile.blocks", "scf.for", "tile.arrive", "tile.block_rank", "tile.wait",
                    "tile.named_barrier 1 warps(8)", "tile.named_barrier 2 warps(4) arrive"});
}

TEST_CASE("products take the policy and a fragment as left factor", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Shared a = k.shared("a", f16, {64, 32}), b = k.shared("b", f16, {32, 64});
    Fragment p = k.fragment(f16, {64, 32}), acc = k.fragment(f32, {64, 64});
    gemm(a, b, acc, WarpPolicy::square);
    gemm(p, b, acc, WarpPolicy::fullColumn);
    gemmAsync(p, b, acc);
    gemmWait(acc, 1);
    copy(acc, k.output("Y", f32, {64, 64}).tile({0, 0}, {64, 64}));
  });
  checkOrder(text, {"tile.gemm %a, %b", "policy square", "tile.gemm %", "policy full_col", "tile.gemm_async",
                    "pending(1)"});
}

//===----------------------------------------------------------------------===//
// Determinism
//===----------------------------------------------------------------------===//

TEST_CASE("operands of one expression stand in the order of the text", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global Y = k.output("Y", f32, {16});
    Fragment x = k.fragment(f32, {16}, 1).named("x"), y = k.fragment(f32, {16}, 2).named("y");
    copy((x + 1) - (y * 2), Y.tile({0}, {16}));
  });
  checkOrder(text, {"arith.addf", "arith.mulf", "arith.subf"});
}

TEST_CASE("programs can be traced in several threads at once", "[dsl][unit]") {
  auto body = [](Scope &k) {
    Index m = k.dim("m");
    Global Y = k.output("Y", f32, {m, 16});
    k.loop(m, [&](Index i) {
      Fragment x = k.fragment(f32, {1, 16}, i.to(f32));
      copy(exp2(x) * 2 + rowSum(x), Y.tile({i, 0}, {1, 16}));
    });
  };
  std::string expected = trace(body);
  std::vector<std::string> texts(8);
  std::vector<std::thread> threads;
  for (std::string &text : texts)
    threads.emplace_back([&] { text = Program::trace("test", body).text(); });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &text : texts)
    CHECK(text == expected);
}
