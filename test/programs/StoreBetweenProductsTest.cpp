// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loops that store a tile, or add to a tensor, between products, as the backward pass of attention does:
/// what does not read the tile overlaps.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

constexpr int64_t keys = 128, queries = 64, depth = 64;

/// For keys of its own a block adds up dV = P dO and dK = dS Q over the queries, with P = K Qᵀ and
/// dS = P + V dOᵀ; every block adds its part of dQ = dSᵀ K.
Program backward(WarpPolicy policy, bool storesFirst) {
  return Program::trace("backward", [&](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n");
    Global Q = k.input("Q", bf16, {m, depth}), DO = k.input("dO", bf16, {m, depth});
    Global K = k.input("K", bf16, {n, depth}), V = k.input("V", bf16, {n, depth});
    Global DK = k.output("dK", f32, {n, depth}), DV = k.output("dV", f32, {n, depth});
    Global DQ = k.inout("dQ", f32, {m, depth});
    k.require(Requirement::warpSpecialized);
    auto [block] = k.grid(ceilDiv(n, keys));
    Shared key = k.shared("k", bf16, {keys, depth}), value = k.shared("v", bf16, {keys, depth});
    Shared q = k.shared("q", bf16, {queries, depth}), o = k.shared("do", bf16, {queries, depth});
    Shared staged = k.shared("ds", bf16, {keys, queries});
    copy(K.tile({block * keys, 0}, {keys, depth}), key);
    copy(V.tile({block * keys, 0}, {keys, depth}), value);
    Fragment dk = k.fragment(f32, {keys, depth}).named("dk"), dv = k.fragment(f32, {keys, depth}).named("dv");
    k.pipelined(ceilDiv(m, queries), {.stages = 2}, [&](Index j) {
      copy(Q.tile({j * queries, 0}, {queries, depth}), q);
      copy(DO.tile({j * queries, 0}, {queries, depth}), o);
      Fragment s = k.fragment(f32, {keys, queries}).named("s"),
               dp = k.fragment(f32, {keys, queries}).named("dp");
      gemm(key, q.t(), s);
      gemm(value, o.t(), dp);
      FragmentValue ds = (s + dp).to(bf16);
      gemm(s.to(bf16), o, dv);
      if (!storesFirst) // nobody may read the registers of dS while this is in flight
        gemm(ds, q, dk);
      copy(ds, staged);
      Fragment dq = k.fragment(f32, {queries, depth}).named("dq");
      gemm(staged.t(), key, dq, policy);
      if (storesFirst)
        gemm(ds, q, dk);
      atomicAdd(dq, DQ.tile({j * queries, 0}, {queries, depth}));
    });
    copy(dk, DK.tile({block * keys, 0}, {keys, depth}));
    copy(dv, DV.tile({block * keys, 0}, {keys, depth}));
  });
}

Memory counting(std::vector<int64_t> shape, int64_t by) {
  Memory memory = Memory::filled(bf16, std::move(shape), 0);
  for (size_t i = 0; i < memory.values.size(); ++i)
    memory.values[i] = double(i * size_t(by) % 3) - 1;
  return memory;
}

double dot(int64_t count, const std::function<double(int64_t)> &term) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += term(i);
  return sum;
}

bool hasRemark(const Artifact &artifact, std::string_view id) {
  return std::ranges::any_of(artifact.remarks, [&](const Remark &remark) { return remark.id == id; });
}

} // namespace

TEST_CASE("a tile that is stored between products delays those that read it", "[products]") {
  Artifact artifact = compiled(backward(WarpPolicy::fullColumn, GENERATE(true, false)));
  CHECK_FALSE(hasRemark(artifact, "sequential-products"));
  auto [m, n] = GENERATE(table<int64_t, int64_t>({{1, 1}, {64, 128}, {130, 200}, {257, 129}}));
  Memory q = counting({m, depth}, 1), o = counting({m, depth}, 2), k = counting({n, depth}, 5),
         v = counting({n, depth}, 7);
  Memory dk = Memory::filled(f32, {n, depth}, notANumber), dv = dk, dq = Memory::filled(f32, {m, depth}, 1);
  run(artifact, {&q, &o, &k, &v, &dk, &dv, &dq});
  // Sums of products of -1, 0 and 1 are exact, in bf16, too.
  auto p = [&](int64_t key, int64_t query) {
    return dot(depth, [&](int64_t d) { return k.at({key, d}) * q.at({query, d}); });
  };
  std::vector<double> probabilities, differences;
  for (int64_t key = 0; key < n; ++key)
    for (int64_t query = 0; query < m; ++query) {
      probabilities.push_back(p(key, query));
      differences.push_back(probabilities.back() +
                            dot(depth, [&](int64_t d) { return v.at({key, d}) * o.at({query, d}); }));
    }
  int64_t wrong = 0;
  for (int64_t key = 0; key < n; ++key)
    for (int64_t d = 0; d < depth; ++d) {
      wrong += dk.at({key, d}) !=
               dot(m, [&](int64_t query) { return differences[size_t(key * m + query)] * q.at({query, d}); });
      wrong += dv.at({key, d}) != dot(m, [&](int64_t query) {
                 return probabilities[size_t(key * m + query)] * o.at({query, d});
               });
    }
  for (int64_t query = 0; query < m; ++query)
    for (int64_t d = 0; d < depth; ++d)
      wrong += dq.at({query, d}) !=
               1 + dot(n, [&](int64_t key) { return differences[size_t(key * m + query)] * k.at({key, d}); });
  CHECK(wrong == 0);
}
