// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a program's text becomes.
#include "compiler/dsl/dsl.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;

TEST_CASE("a plain GEMM traces to a pipelined loop in a persistent loop", "[dsl][unit]") {
  Program program = Program::trace("gemm", [](Scope &k) {
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
  INFO(program.errorText());
  REQUIRE(program.ok());
  WARN(program.text());
}

TEST_CASE("flash attention reads like the algorithm", "[dsl][unit]") {
  constexpr int bq = 128, bk = 128, d = 64;
  const float scale = 0.125f * 1.44269504f;
  Program program = Program::trace("flash_forward", [&](Scope &k) {
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
  INFO(program.errorText());
  REQUIRE(program.ok());
  WARN(program.text());
}
