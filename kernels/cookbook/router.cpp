// SPDX-License-Identifier: Apache-2.0
/// \file
/// The router of a mixture of experts: for each token the `count` largest of its experts' logits, their
/// places, and their softmax as weights.
///
/// X is [tokens, experts], f32, with at most 256 experts; Weights and Experts are [tokens, count], f32 and
/// i32, the largest first; of equal logits the first one counts. A logit of -infinity has the weight 0; NaN
/// counts as infinity, and the weights of such tokens, and of those without a finite logit, are NaN. The
/// experts of a token differ, whatever its logits are.
///
/// A tile is 16 tokens by 256 experts, 32 logits in each of 128 threads. Each round takes the largest logit
/// of a row and then marks it as taken, by NaN, which `argMax` passes over, so that a row is read once and
/// never sorted: that suits a few of some hundred. Rounds are a C++ loop, and the results of a row are chosen
/// by position into one tile, which is stored at once.
#include <algorithm>
#include <cmath>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t width = 256; ///< of a tile: the most experts

void router(Scope &k, const Values &v) {
  constexpr int64_t rows = 16;
  constexpr double taken = NAN;
  const int64_t count = v["count"];
  Index tokens = k.dim("tokens"), experts = k.dim("experts", {.least = 8, .most = width});
  Global X = k.input("X", f32, {tokens, experts});
  Global Weights = k.output("Weights", f32, {tokens, count}),
         Experts = k.output("Experts", i32, {tokens, count});
  auto [block] = k.grid(ceilDiv(tokens, rows));
  Fragment x = k.fragment(f32, {rows, width}), weights = k.fragment(f32, {rows, count});
  Fragment chosen = k.fragment(i32, {rows, count}), sum = k.fragment(f32, {rows, 1});
  copy(X.tile({block * rows, 0}, {rows, width}), x);
  FragmentValue column = k.positions({1, width}, 1), place = k.positions({1, count}, 1);
  x = where(column < experts.to(i32), where(x == x, x, inf), taken);
  Fragment first = rowMax(x);
  for (int64_t i = 0; i < count; ++i) {
    Fragment at = argMax(x), weight = exp(rowMax(x) - first);
    sum += weight;
    weights = where(place == i, weight, weights);
    chosen = where(place == i, at, chosen);
    x = where(column == at, taken, x);
  }
  copy(weights / sum, Weights.tile({block * rows, 0}, {rows, count}));
  copy(chosen, Experts.tile({block * rows, 0}, {rows, count}));
}

/// Places of the largest logits of each token.
std::vector<std::vector<int64_t>> largest(const HostInputs &in) {
  HostArray X = in.tensor("X");
  std::vector<std::vector<int64_t>> places;
  for (int64_t i = 0; i < X.shape()[0]; ++i) {
    std::vector<int64_t> order(static_cast<size_t>(X.shape()[1]));
    for (size_t j = 0; j < order.size(); ++j)
      order[j] = int64_t(j);
    std::ranges::sort(order, {},
                      [&](int64_t j) { return std::pair(std::isnan(X(i, j)) ? -INFINITY : -X(i, j), j); });
    places.push_back(std::move(order));
  }
  return places;
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("router", "for each token the largest logits of experts: their softmax, and which they are")
      .size("tokens", 16384, {.onEmulator = 37})
      .size("experts", 256, {.least = 8, .most = width, .onEmulator = 200})
      .constant("count", 8, {.least = 1, .most = 8, .help = "experts of a token"})
      .program(router)
      .random("X", -4, 4)
      .reference("Weights",
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X");
                   return [=, places = largest(in), count = in.values["count"]](int64_t i, int64_t j) {
                     double sum = 0;
                     const std::vector<int64_t> &order = places[size_t(i)];
                     auto power = [&](int64_t l) {
                       return std::exp(X(i, order[size_t(l)]) - X(i, order[0]));
                     };
                     for (int64_t l = 0; l < count; ++l)
                       sum += power(l);
                     return power(j) / sum;
                   };
                 })
      .reference("Experts",
                 [](const HostInputs &in) {
                   return [places = largest(in)](int64_t i, int64_t j) {
                     return double(places[size_t(i)][size_t(j)]);
                   };
                 })
      .flops([](const Values &v) {
        return 3.0 * double(v["tokens"]) * double(v["experts"]) * double(v["count"]);
      })
      .bench({{"experts", "64"}, {"count", "6"}});
}
