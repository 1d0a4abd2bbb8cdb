// SPDX-License-Identifier: Apache-2.0
/// \file
/// The scan of a state space model with one decay for each head and token (Mamba 2), forward, by chunks.
///
/// For each head, with a state H of 64 x 64 (state x channels) that begins with zeros,
///
///     H[t] = exp(a[t]) H[t-1] + B[t]^T X[t]          Y[t] = C[t] H[t]
///
/// X and Y are [heads, tokens, 64], B and C are [heads, tokens, 64], bf16; A is [heads, tokens], f32: the
/// logarithms of the decays, at most 0. -infinity resets the state, as at the beginning of a document. (A
/// step width that multiplies B and A is applied before.)
///
/// With L[t], the sum of a within the chunk up to t, a chunk of 64 tokens gives
///
///     Y = (C B^T with the factors exp(L[t] - L[s]) for s <= t) X + exp(L) C H
///     H = exp(L[last]) H + (B exp(L[last] - L))^T X
///
/// A block is one head and goes through its chunks in order, with H in registers, f32. L is needed for rows
/// and for columns of the chunk's scores, so that a is loaded and scanned in both directions, and masked
/// before exp, which would overflow. Factors of the second product are in registers, others in shared tiles:
/// H and the scaled B are copied there.
#include <cmath>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t d = 64, chunk = 64;
/// Logarithm of the strongest decay: its exponential is 0 in f32, and differences of sums of up to 64 of them
/// are exact enough, which those of larger ones, and of infinities, are not.
constexpr double strongest = -128;

void mambaScan(Scope &k) {
  Index heads = k.dim("heads"), tokens = k.dim("tokens");
  Global X = k.input("X", bf16, {heads, tokens, d}), A = k.input("A", f32, {heads, tokens}, {.alignment = 4});
  Global B = k.input("B", bf16, {heads, tokens, d}), C = k.input("C", bf16, {heads, tokens, d});
  Global Y = k.output("Y", bf16, {heads, tokens, d});
  k.residents(2); // while one waits for a product, the other computes
  k.storeRole();  // the products of a chunk are too short for a store to run under them
  auto [head] = k.grid(heads);
  auto tile = [&, head = head](const Global &tensor, const Index &i) {
    return tensor.tile({head, i * chunk, 0}, {1, chunk, d});
  };
  Shared x = k.shared("x", bf16, {chunk, d}), b = k.shared("b", bf16, {chunk, d});
  Shared c = k.shared("c", bf16, {chunk, d}), scaled = k.shared("scaled", bf16, {chunk, d});
  Shared before = k.shared("before", bf16, {d, d});
  Fragment state = k.fragment(f32, {d, d}).named("state");
  k.pipelined(ceilDiv(tokens, chunk), {.stages = 2}, [&, head = head](Index i) {
    copy(tile(X, i), x);
    copy(tile(B, i), b);
    copy(tile(C, i), c);
    Fragment down = k.fragment(f32, {chunk, 1}), across = k.fragment(f32, {1, chunk});
    copy(A.tile({head, i * chunk}, {1, chunk}), across);
    copy(A.tile({head, i * chunk}, {1, chunk}), down);
    across = maxOrNaN(across, strongest);
    FragmentValue last = rowSum(across);
    across = cumulative(Reduction::sum, across, 1);
    down = cumulative(Reduction::sum, maxOrNaN(down, strongest), 0);
    copy(state.to(bf16), before);
    Fragment s = k.fragment(f32, {chunk, chunk}).named("s"), y = k.fragment(f32, {chunk, d}).named("y");
    gemm(c, b.t(), s);
    gemm(c, before, y);
    y = y * exp(down);
    s = s * exp(where([](Index row, Index column) { return column <= row; }, down - across, -inf));
    gemm(s.to(bf16), x, y);
    Fragment factor = k.fragment(bf16, {chunk, d});
    copy(b, factor);
    copy((factor.to(f32) * exp(last - down)).to(bf16), scaled);
    state = state * exp(last);
    gemm(scaled.t(), x, state);
    copy(y.to(bf16), tile(Y, i));
  });
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("mamba_scan",
              "the scan of a state space model with a decay for each head and token, by chunks of 64")
      .size("heads", 64, {.onEmulator = 2})
      .size("tokens", 512, {.onEmulator = 200})
      .program(mambaScan)
      .random("A", -1, 0)
      .reference("Y",
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X"), A = in.tensor("A"), B = in.tensor("B"), C = in.tensor("C");
                   std::vector<double> row(d); // of the token asked for last
                   return [=, last = int64_t(-1)](int64_t h, int64_t t, int64_t j) mutable {
                     if (last != h * X.shape()[1] + t) {
                       last = h * X.shape()[1] + t;
                       row.assign(d, 0);
                       double decay = 1; // from token s to t
                       for (int64_t s = t; s >= 0; --s) {
                         double score = 0;
                         for (int64_t l = 0; l < d; ++l)
                           score += C(h, t, l) * B(h, s, l);
                         for (int64_t l = 0; l < d; ++l)
                           row[size_t(l)] += decay * score * X(h, s, l);
                         decay *= std::exp(A(h, s));
                       }
                     }
                     return row[size_t(j)];
                   };
                 })
      .tolerance("Y", {.limit = 0.03, .floor = 4}) // scores, the state and the scaled B are rounded to bf16
      .flops([](const Values &v) { return 8.0 * double(v["heads"]) * double(v["tokens"]) * chunk * d; })
      .bench({{"heads", "256"}, {"tokens", "4096"}})
      .bench({{"tokens", "16384"}});
}
