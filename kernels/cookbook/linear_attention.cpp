// SPDX-License-Identifier: Apache-2.0
/// \file
/// Causal linear attention by chunks, forward: O[t] = sum over s <= t of (Q[t] . K[s]) V[s].
///
/// Q, K, V and O are [heads, tokens, 64], bf16. With a state S of 64 x 64 for each head, which begins with
/// zeros, a chunk of 64 tokens gives
///
///     O = (Q K^T masked to s <= t) V + Q S          S += K^T V
///
/// A block is one head and goes through its chunks in order, with S in registers, f32; heads of all batches
/// are one axis. The first product's result, masked in registers, is the left factor of the second one. S as
/// a right factor must be in shared memory: it is rounded to bf16 and copied there in each round. Chunks of
/// K, V and Q come two rounds ahead. Tokens beyond the end read as 0 and add nothing.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t d = 64, chunk = 64;

void linearAttention(Scope &k) {
  Index heads = k.dim("heads"), tokens = k.dim("tokens");
  Global Q = k.input("Q", bf16, {heads, tokens, d}), K = k.input("K", bf16, {heads, tokens, d});
  Global V = k.input("V", bf16, {heads, tokens, d}), O = k.output("O", bf16, {heads, tokens, d});
  auto [head] = k.grid(heads);
  k.storeRole(); // the products of a chunk are too short for a store to run under them
  auto tile = [&, head = head](const Global &tensor, const Index &i) {
    return tensor.tile({head, i * chunk, 0}, {1, chunk, d});
  };
  Shared q = k.shared("q", bf16, {chunk, d}), keys = k.shared("k", bf16, {chunk, d});
  Shared values = k.shared("v", bf16, {chunk, d}), before = k.shared("before", bf16, {d, d});
  Fragment state = k.fragment(f32, {d, d}).named("state");
  k.pipelined(ceilDiv(tokens, chunk), {.stages = 2}, [&](Index i) {
    copy(tile(Q, i), q);
    copy(tile(K, i), keys);
    copy(tile(V, i), values);
    copy(state.to(bf16), before);
    Fragment s = k.fragment(f32, {chunk, chunk}).named("s"), o = k.fragment(f32, {chunk, d}).named("o");
    gemm(q, keys.t(), s);
    gemm(q, before, o);
    s = where([](Index row, Index column) { return column <= row; }, s, 0);
    gemm(s.to(bf16), values, o);
    gemm(keys.t(), values, state);
    copy(o.to(bf16), tile(O, i));
  });
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("linear_attention", "O[t] = sum over s <= t of (Q[t] . K[s]) V[s], by chunks of 64 tokens")
      .size("heads", 64, {.onEmulator = 2})
      .size("tokens", 512, {.onEmulator = 200})
      .program(linearAttention)
      .reference("O",
                 [](const HostInputs &in) {
                   HostArray Q = in.tensor("Q"), K = in.tensor("K"), V = in.tensor("V");
                   std::vector<double> row(d); // of the token asked for last
                   return [=, last = int64_t(-1)](int64_t h, int64_t t, int64_t j) mutable {
                     if (last != h * Q.shape()[1] + t) {
                       last = h * Q.shape()[1] + t;
                       row.assign(d, 0);
                       for (int64_t s = 0; s <= t; ++s) {
                         double score = 0;
                         for (int64_t l = 0; l < d; ++l)
                           score += Q(h, t, l) * K(h, s, l);
                         for (int64_t l = 0; l < d; ++l)
                           row[size_t(l)] += score * V(h, s, l);
                       }
                     }
                     return row[size_t(j)];
                   };
                 })
      .tolerance("O", {.limit = 0.03, .floor = 8}) // scores and the state are rounded to bf16
      .flops([](const Values &v) { return 8.0 * double(v["heads"]) * double(v["tokens"]) * chunk * d; })
      .bench({{"heads", "256"}, {"tokens", "4096"}})
      .bench({{"tokens", "16384"}});
}
