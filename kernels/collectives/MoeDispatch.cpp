// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program that sends rows to the ranks of their experts.
#include "kernels/collectives/MoeExchange.h"
#include "kernels/ranks/RankEnd.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"

#include <bit>
#include <utility>
#include <vector>

namespace tlc::kernels {

using namespace dsl;

namespace {

/// Slots of tokens that a block places at once, those beyond `topk` included.
constexpr int64_t routesOfGroup = 128;
constexpr int64_t groupsTogether = 32, expertsTogether = 64; ///< whose counts a block sums up at once

struct Operands {
  explicit Operands(const MoeExchangeConfig &config) : c(config) {}

  const MoeExchangeConfig &c;
  Index tokens, hidden, experts, capacity, rank, ranks;
  Global X, chosen, ends, place; ///< `chosen` are experts
  Global sums;                   ///< rows for an expert from all ranks
  Symmetric rows;
  Global before;     ///< rows for an expert from a group of tokens; then from the groups before it
  Symmetric counts;  ///< rows for an expert from each rank
  Symmetric counted; ///< parts of these that have come
  Global begins;     ///< of each expert, where this rank's rows begin on the rank that has it

  /// Slots of a token, and some that no token has.
  int64_t slots() const { return int64_t(std::bit_ceil(uint64_t(c.topk))); }
  int64_t tokensOfGroup() const { return routesOfGroup / slots(); }
  Index groups() const { return ceilDiv(tokens, tokensOfGroup()); }
  Index expertsOfRank() const { return ceilDiv(experts, ranks); }
  Index partsOfCounts() const { return ceilDiv(experts, expertsTogether); }

  /// The experts of a group, token by token, slot by slot; -1 where there is no slot.
  FragmentValue expertsOf(Scope &k, const Index &group) const {
    Fragment expert = k.fragment(i32, {tokensOfGroup(), slots()});
    copy(chosen.tile({group * tokensOfGroup(), 0}, {tokensOfGroup(), slots()}).fill(-1), expert);
    return reshape(expert, {1, routesOfGroup});
  }
};

/// Numbers that are of no expert are positions outside, and do not count.
void countGroups(Scope &k, const Operands &p) {
  auto [group] = k.grid(p.groups());
  atomicAdd(1, p.before.tile({group, p.expertsOf(k, group).toIndex()}, {1, routesOfGroup}));
}

void sumGroups(Scope &k, const Operands &p) {
  auto [part] = k.grid(p.partsOfCounts());
  Fragment sum = k.fragment(i32, {1, expertsTogether});
  k.loop(ceilDiv(p.groups(), groupsTogether), [&, part = part](Index i) {
    Slice groups =
        p.before.tile({i * groupsTogether, part * expertsTogether}, {groupsTogether, expertsTogether});
    Fragment count = k.fragment(i32, {groupsTogether, expertsTogether});
    copy(groups, count);
    copy(cumulative(Reduction::sum, count, 0) - count + sum, groups);
    sum += reduce(Reduction::sum, count, 0);
  });
  k.loop(p.ranks, [&, part = part](Index other) {
    copy(sum, p.counts.of(other).tile({p.rank, part * expertsTogether}, {1, expertsTogether}));
    announce(p.counted.of(other), {0});
  });
}

/// A block has the experts of one rank.
void findBegins(Scope &k, const Operands &p) {
  auto [owner] = k.grid(p.ranks);
  Index first = owner * p.expertsOfRank(), end = min(first + p.expertsOfRank(), p.experts);
  waitFor(p.counted.of(p.rank), {0}, p.ranks * p.partsOfCounts());
  Fragment earlier = k.fragment(i32, {1, 1});
  k.loop(ceilDiv(p.expertsOfRank(), expertsTogether), [&, owner = owner](Index i) {
    Index expert = first + i * expertsTogether;
    Fragment count = k.fragment(i32, {maxRanks, expertsTogether});
    copy(p.counts.of(p.rank).tile({0, expert}, {maxRanks, expertsTogether}).limited(1, end), count);
    FragmentValue all = reduce(Reduction::sum, count, 0);
    FragmentValue ends = cumulative(Reduction::sum, all, 1) + earlier;
    Predicate isBefore = k.positions({maxRanks, 1}, 0) < p.rank.to(i32);
    copy(ends - all + reduce(Reduction::sum, where(isBefore, count, 0), 0),
         p.begins.tile({0, expert}, {1, expertsTogether}).limited(1, end));
    copy(all, p.sums.tile({expert}, {expertsTogether}).limited(0, end));
    k.when(owner == p.rank, [&] {
      copy(min(ends, p.capacity.to(i32)), p.ends.tile({i * expertsTogether}, {expertsTogether}));
    });
    earlier += rowSum(all);
  });
}

void findPlaces(Scope &k, const Operands &p) {
  auto [group] = k.grid(p.groups());
  FragmentValue expert = p.expertsOf(k, group);
  Fragment begin = k.fragment(i32, {1, routesOfGroup}), before = k.fragment(i32, {1, routesOfGroup});
  copy(p.begins.tile({0, expert.toIndex()}, {1, routesOfGroup}), begin);
  copy(p.before.tile({group, expert.toIndex()}, {1, routesOfGroup}), before);
  Predicate isEarlier = k.positions({routesOfGroup, 1}, 0) < k.positions({1, routesOfGroup}, 1) &&
                        reshape(expert, {routesOfGroup, 1}) == expert;
  FragmentValue ofGroup =
      reduce(Reduction::sum, where(isEarlier, k.fragment(i32, {routesOfGroup, routesOfGroup}, 1), 0), 0);
  FragmentValue row = begin + before + ofGroup;
  Predicate isSent = expert >= 0 && expert < p.experts.to(i32) && row < p.capacity.to(i32);
  FragmentValue owner = expert / max(p.expertsOfRank(), 1).to(i32);
  auto store = [&, group = group](const FragmentValue &x, int64_t column) {
    copy(reshape(where(isSent, x, -1), {p.tokensOfGroup(), p.slots(), 1}),
         p.place.tile({group * p.tokensOfGroup(), 0, column}, {p.tokensOfGroup(), p.slots(), 1}));
  };
  store(owner, 0);
  store(row, 1);
}

void sendRows(Scope &k, const Operands &p) {
  Index parts = ceilDiv(p.hidden, p.c.tile), all = p.tokens * parts;
  auto [block] = k.grid(max(min(all, k.multiprocessors() * p.c.blocks), 1));
  k.loop({block, all, k.blocks()}, [&](Index number) {
    Index token = number / parts, column = number % parts * p.c.tile;
    Fragment x = k.fragment(p.c.dtype, {1, p.c.tile});
    copy(p.X.tile({token, column}, {1, p.c.tile}), x);
    std::vector<std::pair<Index, Index>> places;
    for (int64_t slot = 0; slot < p.c.topk; ++slot)
      places.emplace_back(p.place.read({token, slot, 0}), p.place.read({token, slot, 1}));
    for (const auto &[to, row] : places)
      k.when(to >= 0, [&, to = to, row = row] {
        copy(x, p.rows.of(to).tile({row, column}, {1, p.c.tile}).disjoint("each row has one place"));
      });
  });
}

} // namespace

Program moeDispatchProgram(const MoeExchangeConfig &c, const TraceOptions &options) {
  return Program::trace("moe_dispatch", options, [&](Scope &k) {
    Operands p(c);
    p.tokens = k.dim("tokens"), p.hidden = k.dim("hidden", {.multipleOf = c.multipleOfHidden}),
    p.experts = k.dim("experts");
    p.capacity = k.dim("capacity"), p.rank = k.rank(), p.ranks = k.ranks();
    // Rows are aligned or not whatever these are.
    const TensorFacts ofNumbers = {.alignment = sizeInBytes(i32)};
    p.X = k.input("X", c.dtype, {p.tokens, p.hidden});
    p.chosen = k.input("Experts", i32, {p.tokens, c.topk}, ofNumbers);
    p.rows = k.symmetric("Rows", c.dtype, {p.capacity, p.hidden}, {.use = TensorUse::output});
    p.ends = k.output("Ends", i32, {p.expertsOfRank()});
    p.place = k.output("Place", i32, {p.tokens, c.topk, 2}, ofNumbers);
    p.sums = k.output("Counts", i32, {p.experts});
    constexpr auto alignment = int64_t(TmaFacts().globalAlignment); // as the launcher looks for
    SymmetricOptions zeros = {.use = TensorUse::workspace, .initial = Initial::zero};
    p.before = k.workspace("before", i32, {p.groups(), p.experts},
                           {.initial = Initial::zero, .alignment = alignment});
    p.counts = k.symmetric("counts_of_ranks", i32, {p.ranks, p.experts},
                           {.use = TensorUse::workspace, .alignment = alignment});
    p.counted = k.symmetric("counted", i32, {1}, zeros);
    p.begins = k.workspace("begins", i32, {1, p.experts});
    RankEnd end(k);
    k.launch("moe_dispatch_count", [&] { countGroups(k, p); });
    k.launch("moe_dispatch_sum", [&] { sumGroups(k, p); });
    k.launch("moe_dispatch_begins", [&] { findBegins(k, p); });
    k.launch("moe_dispatch_places", [&] { findPlaces(k, p); });
    k.launch("moe_dispatch_send", [&] { sendRows(k, p); });
    k.launch("moe_dispatch_end", [&] { end.meet(); });
  });
}

} // namespace tlc::kernels
