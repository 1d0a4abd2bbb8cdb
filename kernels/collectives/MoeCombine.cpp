// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program that brings back what experts made of rows, and adds it up.
#include "kernels/collectives/MoeExchange.h"
#include "kernels/ranks/RankEnd.h"

#include <vector>

namespace tlc::kernels {

using namespace dsl;

namespace {

struct Operands {
  explicit Operands(const MoeExchangeConfig &config) : c(config) {}

  const MoeExchangeConfig &c;
  Index tokens, hidden, capacity, rank, ranks;
  Symmetric rows;
  Global place, weights, Y;
};

void combine(Scope &k, const Operands &p) {
  Index parts = ceilDiv(p.hidden, p.c.tile), all = p.tokens * parts;
  auto [block] = k.grid(max(min(all, k.multiprocessors() * p.c.blocks), 1));
  k.loop({block, all, k.blocks()}, [&](Index number) {
    Index token = number / parts, column = number % parts * p.c.tile;
    std::vector<Fragment> rows, weights;
    for (int64_t slot = 0; slot < p.c.topk; ++slot) { // all loads come before the first sum
      Index from = p.place.read({token, slot, 0});
      Predicate isThere = from >= 0 && from < p.ranks;
      Index row = where(isThere, p.place.read({token, slot, 1}), -1); // outside, which is not read
      rows.push_back(k.fragment(p.c.dtype, {1, p.c.tile}));
      copy(p.rows.of(where(isThere, from, 0)).tile({row, column}, {1, p.c.tile}), rows.back());
      Fragment weight = k.fragment(f32, {1, 1});
      copy(p.weights.tile({token, slot}, {1, 1}), weight);
      weights.push_back(where(isThere, weight, 0));
    }
    Fragment sum = k.fragment(f32, {1, p.c.tile});
    for (size_t slot = 0; slot < rows.size(); ++slot)
      sum += weights[slot] * rows[slot].to(f32);
    copy(sum.to(p.c.dtype), p.Y.tile({token, column}, {1, p.c.tile}));
  });
}

} // namespace

Program moeCombineProgram(const MoeExchangeConfig &c, const TraceOptions &options) {
  return Program::trace("moe_combine", options, [&](Scope &k) {
    Operands p(c);
    p.tokens = k.dim("tokens"), p.hidden = k.dim("hidden", {.multipleOf = c.multipleOfHidden}),
    p.capacity = k.dim("capacity");
    p.rank = k.rank(), p.ranks = k.ranks();
    // Rows are aligned or not whatever these are.
    const TensorFacts ofNumbers = {.alignment = sizeInBytes(i32)};
    p.rows = k.symmetric("Rows", c.dtype, {p.capacity, p.hidden}, {.use = TensorUse::input});
    p.place = k.input("Place", i32, {p.tokens, c.topk, 2}, ofNumbers);
    p.weights = k.input("Weights", f32, {p.tokens, c.topk}, ofNumbers);
    p.Y = k.output("Y", c.dtype, {p.tokens, p.hidden});
    RankEnd end(k);
    k.launch("moe_combine", [&] { combine(k, p); });
    k.launch("moe_combine_end", [&] { end.meet(); });
  });
}

} // namespace tlc::kernels
