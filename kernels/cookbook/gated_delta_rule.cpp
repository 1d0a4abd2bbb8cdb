// SPDX-License-Identifier: Apache-2.0
/// \file
/// The gated delta rule (Gated DeltaNet), forward, by chunks.
///
/// For each head, with a state S of 128 x 128 (keys x values) that begins with zeros,
///
///     S[t] = a[t] (S[t-1] - b[t] k[t]^T (k[t] S[t-1])) + b[t] k[t]^T v[t]
///     o[t] = q[t] S[t] / sqrt(128)
///
/// Q, K, V and O are [heads, tokens, 128], bf16; keys have at most the length 1. G is [heads, tokens], f32,
/// the logarithms of the decays a, at most 0, where -infinity forgets the state; Beta is [heads, tokens],
/// f32, from 0 to 1. Last is [heads, 128, 128], f32, the state after the last token. Heads of all batches are
/// one axis.
///
/// Within a chunk of 64 tokens that begins with the state S, g[t] is the product of the decays up to t, and
///
///     S[t] = g[t] S + sum over s <= t of g[t] / g[s] k[s]^T u[s]
///
/// where u solves (I + A) u = b (v - g K S) with A[t, s] = b[t] g[t] / g[s] (k[t] . k[s]) for s < t (S. Yang
/// et al., Gated Delta Networks, 2024). The first launch computes, for all chunks at once,
///
///     T = (I + A)^-1      W = T (b g K)      U = T (b V)
///
/// In the second one a block goes through the chunks of a head, with 64 columns of its state in registers:
///
///     u = U - W S      O = g Q S + (Q K^T with the factors g[t] / g[s] for s <= t) u
///     S = g[last] S + (g[last] / g K)^T u
///
/// T is found by doubling: where T inverts the diagonal blocks of b x b, T - T N T inverts those of 2b x 2b,
/// N being what A has beside the diagonal within these. So it takes ten products of 64 x 64, not 64 rows one
/// after the other; and, unlike powers of A, they lose no digits when keys resemble each other. Their factors
/// are f16, which has three bits more than bf16: elements of A and T are at most about 1.
#include <cmath>
#include <memory>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t d = 128, chunk = 64, part = 64; ///< columns of the state in a block
/// Blocks of the first launch on a multiprocessor: while one waits for a product, the other multiplies.
constexpr int64_t residents = 2;
/// Logarithm of the strongest decay: its exponential is 0 in f32, and differences of sums of up to 64 of them
/// are exact enough, which those of larger ones, and of infinities, are not.
constexpr double strongest = -128;

/// The sums of G within chunk `i` up to each token, down the rows or across the columns; tokens beyond the
/// end add 0.
FragmentValue decays(Scope &k, const Global &G, const Index &head, const Index &i, int64_t axis) {
  Fragment g = k.fragment(f32, axis == 0 ? Shape{chunk, 1} : Shape{1, chunk});
  copy(G.tile({head, i * chunk}, {1, chunk}), g);
  return cumulative(Reduction::sum, maxOrNaN(g, strongest), axis);
}

void gatedDeltaRule(Scope &k) {
  Index heads = k.dim("heads"), tokens = k.dim("tokens"), chunks = ceilDiv(tokens, chunk);
  auto input = [&](const char *name) { return k.input(name, bf16, {heads, tokens, d}); };
  Global Q = input("Q"), K = input("K"), V = input("V");
  Global G = k.input("G", f32, {heads, tokens}, {.alignment = 4}),
         Beta = k.input("Beta", f32, {heads, tokens}, {.alignment = 4});
  Global O = k.output("O", bf16, {heads, tokens, d}), Last = k.output("Last", f32, {heads, d, d});
  Global W = k.workspace("W", bf16, {heads, tokens, d}, {.alignment = 16});
  Global U = k.workspace("U", bf16, {heads, tokens, d}, {.alignment = 16});
  k.launch("gated_delta_rule_chunks", [&] {
    k.residents(residents);
    auto [block] = k.grid(min(chunks * heads, k.multiprocessors() * residents));
    Shared keys = k.shared("k", bf16, {chunk, d}), values = k.shared("v", bf16, {chunk, d});
    Shared a = k.shared("a", f16, {chunk, chunk}), inverse = k.shared("t", f16, {chunk, chunk});
    k.pipelined({block, chunks * heads, k.blocks()}, {.stages = 2}, [&](Index number) {
      Index i = number % chunks, head = number / chunks;
      auto tile = [&](const Global &tensor) { return tensor.tile({head, i * chunk, 0}, {1, chunk, d}); };
      copy(tile(K), keys);
      copy(tile(V), values);
      Fragment betaDown = k.fragment(f32, {chunk, 1}), betaAcross = k.fragment(f32, {1, chunk});
      copy(Beta.tile({head, i * chunk}, {1, chunk}), betaDown);
      copy(Beta.tile({head, i * chunk}, {1, chunk}), betaAcross);
      FragmentValue down = decays(k, G, head, i, 0), across = decays(k, G, head, i, 1);
      Fragment s = k.fragment(f32, {chunk, chunk}).named("s");
      gemm(keys, keys.t(), s);
      s = s * betaDown *
          exp(where([](Index row, Index column) { return column < row; }, down - across, -inf));
      copy(s.to(f16), a);
      // The elements of x that are in one diagonal block of 2b x 2b, but in different ones of b x b.
      auto beside = [](int64_t b, const FragmentValue &x) {
        return where([=](Index row, Index column) { return row / b == column / b + 1 && row / b % 2 == 1; },
                     x, 0);
      };
      Fragment t =
          where([](Index row, Index column) { return row == column; }, k.fragment(f32, {chunk, chunk}, 1), 0);
      t = t - beside(1, s);
      for (int64_t b = 2; b < chunk; b *= 2) {
        Fragment ta = k.fragment(f32, {chunk, chunk}).named("ta"),
                 change = k.fragment(f32, {chunk, chunk}).named("tat");
        copy(t.to(f16), inverse);
        gemm(t.to(f16), a, ta);
        gemm(beside(b, ta).to(f16), inverse, change);
        t = t - change;
      }
      Fragment w = k.fragment(f32, {chunk, d}).named("w"), u = k.fragment(f32, {chunk, d}).named("u");
      t = t * betaAcross;
      gemm(t.to(bf16), values, u);
      copy(u.to(bf16), tile(U));
      gemm((t * exp(across)).to(bf16), keys, w);
      copy(w.to(bf16), tile(W));
    });
  });
  k.launch("gated_delta_rule_states", [&] {
    k.warps(4);
    auto [block] = k.grid(d / part * heads);
    Index column = block % (d / part), head = block / (d / part);
    auto tile = [&](const Global &tensor, const Index &i, const Index &first, int64_t columns) {
      return tensor.tile({head, i * chunk, first}, {1, chunk, columns});
    };
    Shared q = k.shared("q", bf16, {chunk, d}), keys = k.shared("k", bf16, {chunk, d});
    Shared w = k.shared("w", bf16, {chunk, d}), values = k.shared("u", bf16, {chunk, part});
    Shared before = k.shared("before", bf16, {d, part}), news = k.shared("news", bf16, {chunk, part}),
           decayed = k.shared("decayed", bf16, {chunk, part});
    Fragment state = k.fragment(f32, {d, part}).named("state");
    k.pipelined(chunks, {.stages = 2}, [&](Index i) {
      copy(tile(W, i, 0, d), w);
      copy(tile(U, i, column * part, part), values);
      copy(tile(Q, i, 0, d), q);
      copy(tile(K, i, 0, d), keys);
      FragmentValue down = decays(k, G, head, i, 0), across = decays(k, G, head, i, 1);
      FragmentValue last = reduce(Reduction::min, down, 0); // no decay is above 1
      copy(state.to(bf16), before);
      Fragment known = k.fragment(f32, {chunk, part}).named("known"),
               o = k.fragment(f32, {chunk, part}).named("o");
      Fragment s = k.fragment(f32, {chunk, chunk}).named("s"), u = k.fragment(bf16, {chunk, part});
      gemm(w, before, known);
      gemm(q, before, o);
      gemm(q, keys.t(), s);
      copy(values, u);
      FragmentValue added = u.to(f32) - known;
      copy(added.to(bf16), news);
      copy((added * exp(last - down)).to(bf16), decayed);
      o = o * exp(down);
      s = s * exp(where([](Index row, Index key) { return key <= row; }, down - across, -inf));
      gemm(s.to(bf16), news, o);
      state = state * exp(last);
      gemm(keys.t(), decayed, state);
      copy((o * (1 / std::sqrt(double(d)))).to(bf16), tile(O, i, column * part, part));
    });
    copy(state, Last.tile({head, 0, column * part}, {1, d, part}));
  });
}

/// What the rule gives for one head, one token after the other.
struct Head {
  std::vector<double> o, state;

  Head(const HostInputs &in, int64_t h) : state(size_t(d * d)) {
    const HostArray &Q = in.tensor("Q"), &K = in.tensor("K"), &V = in.tensor("V"), &G = in.tensor("G"),
                    &Beta = in.tensor("Beta");
    for (int64_t t = 0; t < in.values["tokens"]; ++t) {
      const double decay = std::exp(G(h, t));
      for (int64_t j = 0; j < d; ++j) {
        double known = 0, sum = 0;
        for (int64_t l = 0; l < d; ++l)
          known += K(h, t, l) * (state[size_t(l * d + j)] *= decay);
        for (int64_t l = 0; l < d; ++l)
          sum += Q(h, t, l) * (state[size_t(l * d + j)] += Beta(h, t) * K(h, t, l) * (V(h, t, j) - known));
        o.push_back(sum / std::sqrt(double(d)));
      }
    }
  }
};

/// An output's reference, whose number `of(head, a, b)` is in what a head gives.
auto ofHeads(double (*of)(const Head &, int64_t, int64_t)) {
  return [of](const HostInputs &in) {
    return [&in, of, last = int64_t(-1), head = std::shared_ptr<Head>()](int64_t h, int64_t a,
                                                                         int64_t b) mutable {
      if (h != last)
        head = std::make_shared<Head>(in, last = h);
      return of(*head, a, b);
    };
  };
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("gated_delta_rule", "gated delta rule: a state that forgets, and is corrected by each token")
      .size("heads", 64, {.onEmulator = 2})
      .size("tokens", 1024, {.onEmulator = 200})
      .program(gatedDeltaRule)
      .contents("K", // of the length 1, and resembling each other: one element in eight has another sign
                [](const HostInputs &) {
                  return [](int64_t h, int64_t t, int64_t j) {
                    const uint32_t bits = uint32_t((h * 4099 + t) * d + j) * 2654435761U;
                    return (bits >> 16) % 8 == 0 ? -std::sqrt(1.0 / d) : std::sqrt(1.0 / d);
                  };
                })
      .random("G", -0.2, 0)
      .random("Beta", 0, 1)
      .reference("O",
                 ofHeads([](const Head &head, int64_t t, int64_t j) { return head.o[size_t(t * d + j)]; }))
      .reference("Last", ofHeads([](const Head &head, int64_t l, int64_t j) {
                   return head.state[size_t(l * d + j)];
                 }))
      .tolerance("O", {.limit = 0.02, .floor = 0.2}) // T, W, U and the state are rounded to bf16
      .tolerance("Last", {.limit = 0.02, .floor = 0.2})
      .flops([](const Values &v) {
        return 2.0 * double(v["heads"]) * double(v["tokens"]) *
               (10 * chunk * chunk + 5 * chunk * d + 3 * d * d);
      })
      .bench({{"heads", "256"}, {"tokens", "8192"}})
      .bench({{"tokens", "32768"}});
}
