// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a program's text becomes.
#include "test/unit/dsl/TraceText.h"

#include <thread>

using namespace tlc;
using namespace tlc::dsl;

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
              "%0 = arith.ceildivsi %m, %c128",
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
              "tile.convert",
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
  checkOrder(text, {"tile.kernel @first(", workspace, "arith.ceildivsi %m", "tile.grid", "arith.remsi",
                    "tile.atomic add", "tile.kernel @second(", workspace,
                    "attributes {launch = #program.launch<warps = 8>}", "arith.ceildivsi %m", "tile.grid",
                    "tile.load", "tile.store"});
  CHECK(text.find("@test") == std::string::npos);
}

TEST_CASE("extents that are computed are dimensions of their own", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Index m = k.dim("m", {.multipleOf = 4}), n = k.dim("n");
    Global X = k.input("X", f32, {m, n});
    Global partial = k.workspace("partial", f32, {ceilDiv(n, 64) * 64, m + 8});
    Global Y = k.output("Y", f32, {m + 8, 4});
    copy(k.fragment(f32, {64, 64}), partial.tile({0, 0}, {64, 64}));
  });
  checkOrder(text,
             {"#program.dimension<\"partial.0\", multiple_of = 64, computed = <\"d1 64 ceildiv 64 mul\">>",
              "#program.dimension<\"partial.1\", multiple_of = 4, computed = <\"d0 8 add\">>",
              "#program.tensor<\"partial\", workspace, dims[3, 4]",
              "#program.tensor<\"Y\", output, dims[4, -1]"});
}

TEST_CASE("arguments and launches may have the program's name", "[dsl][unit]") {
  checkOrder(trace([](Scope &k) { k.scalar("test", f32); }), {"tile.kernel @test(%test: f32"});
  checkOrder(trace([](Scope &k) { k.launch("test", [] {}); }), {"tile.kernel @test("});
}

TEST_CASE("the explicit form is roles and channels", "[dsl][unit]") {
  std::string text = trace([](Scope &k) {
    Global A = k.input("A", bf16, {k.dim("m"), 64}, {.alignment = 16});
    Shared a = k.shared("a", bf16, {64, 64}, {.slots = 3});
    k.cluster(2);
    Channel loaded = k.channel("loaded", {.slots = 3}), seen = k.channel("seen", {.multicast = true});
    k.roles([&] {
      k.role("load", {.warps = 4, .registers = 24}, [&] {
        k.loop(8, [&](Index s) {
          loaded.put([&](const Slot &at) { copy(A.tile({s * 64, 0}, {64, 64}), a.slot(at)); });
        });
      });
      k.role("math", {.warps = 8, .registers = 240}, [&] {
        Fragment acc = k.fragment(f32, {64, 64});
        k.loop(8, [&](Index) {
          Slot at = loaded.get();
          gemmAsync(a.slot(at), a.slot(at).t(), acc);
          gemmWait(acc);
          loaded.release(Arrival::afterProducts);
        });
      });
      k.role("other", {.warps = 4, .registers = 24}, [&] {
        loaded.get();
        Fragment x = k.fragment(bf16, {64, 64});
        copy(a.slot(loaded.oldest()), x);
        loaded.pass();
        seen.put();
      });
    });
  });
  checkOrder(text, {"alignment = 16",
                    "attributes {launch = #program.launch<warps = 16, cluster = 2>}",
                    "tile.alloc_shared \"a\" : !tile.shared<3x64x64xbf16>",
                    "tile.channel \"loaded\" : !tile.channel<3>",
                    "tile.channel \"seen\" multicast : !tile.channel<2>",
                    "tile.roles",
                    "tile.role \"load\" warps(4) registers(24)",
                    "tile.put %loaded(",
                    "tile.slot %a[",
                    "tile.copy ",
                    "tile.role \"math\" warps(8)",
                    "tile.get %loaded : !tile.channel<3>",
                    "tile.gemm_async",
                    "tile.gemm_wait",
                    "pending(0)",
                    "tile.release_oldest %loaded after_products : !tile.channel<3>",
                    "tile.role \"other\"",
                    "tile.get %loaded",
                    "tile.oldest %loaded : !tile.channel<3>",
                    "tile.release_oldest %loaded by_others : !tile.channel<3>",
                    "tile.put %seen("});
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
