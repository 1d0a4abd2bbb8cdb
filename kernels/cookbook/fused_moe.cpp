// SPDX-License-Identifier: Apache-2.0
/// \file
/// A mixture of experts: each token goes to the `count` experts with its largest logits, and its result is
/// the sum of theirs, weighted by the softmax of these logits.
///
///     y = sum over the experts e of w[e] (silu(x Gate[e]^T) (x Up[e]^T)) Down[e]^T
///
/// X and Y are [tokens, d], GateUp is [experts, 2, f, d], Down is [experts, 1, d, f], bf16; Logits is
/// [tokens, experts], f32, with at most 256 experts; of equal logits the first one counts. NaN counts as
/// infinity, and Y is NaN for such tokens and for those without a finite logit.
///
/// There are six launches, and the host reads nothing between them. Products want the rows of one expert one
/// after the other, so that their tiles come through the TMA:
///
/// - route: the experts of each token and their weights; how often a group of 32 tokens takes each expert
/// - plan: where the rows of each expert begin; which expert and which rows each tile of the products has
/// - arrange: the place of each token's row for each of its experts, to which the row of X is copied
/// - up and down: the two grouped products, the first one with the activation in its epilogue
/// - combine: the rows of each token are gathered and added
///
/// The place of a row is the number of rows before it: a cumulative sum over the tokens of a group, and one
/// over the groups. Nothing is atomic, and the result has the same bits in every run. Each expert's last tile
/// of rows may be partly empty, so that persistent blocks divide as many tiles as there may be; those that
/// are left over have no steps. A tile of the first products is 128 x 128 of both, one of the second 128 x
/// 256. The products' roles are written by hand, as the compiler's own would not read positions
/// from what a launch before has written.
#include <algorithm>
#include <cmath>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t most = 256;                  ///< experts at most; those that are not there are never taken
constexpr int64_t group = 32, columns = 256;   ///< tokens and columns of a tile of rows
constexpr int64_t bm = 128, bn = 128, bk = 64; ///< of products
constexpr double taken = NAN;                  ///< in place of a logit; `argMax` passes over it

/// C = f(A B^T, ...) for the rows of each expert, with `count` products of `width` columns for each tile of
/// C: B is the tile that `weights` gives for an expert, a column of tiles, the product and a step along k.
/// Persistent blocks divide the tiles of `plan` and the `across` columns of tiles.
template <class Weights, class F>
void products(Scope &k, const Global &A, const Global &C, const Global &plan, const Index &tiles,
              const Index &across, const Index &depth, int64_t count, int64_t width, Weights weights, F f) {
  constexpr int64_t stages = 4;
  auto [block] = k.grid(min(tiles * across, k.multiprocessors()));
  Index blocks = k.blocks();
  struct Work {
    Index expert, row, end, column, steps;
  };
  auto workOf = [&](const Index &number) {
    Index tile = number / across, row = plan.read({tile, 1}), end = plan.read({tile, 2});
    return Work{plan.read({tile, 0}), row, end, number % across, where(row < end, ceilDiv(depth, bk), 0)};
  };
  Shared a = k.shared("a", bf16, {bm, bk}, {.slots = stages});
  std::vector<Shared> b;
  for (int64_t i = 0; i < count; ++i)
    b.push_back(k.shared("b", bf16, {width, bk}, {.slots = stages}));
  Channel ab = k.channel("ab", {.slots = stages});
  k.roles([&, block = block] {
    k.role("load", {.warps = 4}, [&] {
      k.loop({block, tiles * across, blocks}, [&](Index number) {
        Work work = workOf(number);
        k.loop(work.steps, [&](Index s) {
          ab.put([&](const Slot &at) {
            copy(A.tile({work.row, s * bk}, {bm, bk}).limited(0, work.end), a.slot(at));
            for (int64_t i = 0; i < count; ++i)
              copy(weights(work.expert, work.column, i, s), b[size_t(i)].slot(at));
          });
        });
      });
    });
    k.role("math", {.warps = 8}, [&] {
      k.loop({block, tiles * across, blocks}, [&](Index number) {
        Work work = workOf(number);
        std::vector<Fragment> sums;
        for (int64_t i = 0; i < count; ++i)
          sums.push_back(k.fragment(f32, {bm, width}).named("sum"));
        k.loop(work.steps, [&](Index s) {
          Slot at = ab.get();
          for (size_t i = 0; i < sums.size(); ++i)
            gemmAsync(a.slot(at), b[i].slot(at).t(), sums[i]);
          for (Fragment &sum : sums)
            gemmWait(sum, count); // the products of the step before
          k.when(s > 0, [&] { ab.release(); });
        });
        for (Fragment &sum : sums)
          gemmWait(sum);
        k.when(work.steps > 0, [&] { ab.release(); });
        copy(f(sums).to(bf16), C.tile({work.row, work.column * width}, {bm, width})
                                   .limited(0, work.end)
                                   .disjoint("a block has a tile once"));
      });
    });
  });
}

void fusedMoe(Scope &k, const Values &v) {
  const int64_t count = v["count"];
  Index tokens = k.dim("tokens"), d = k.dim("d"), f = k.dim("f"),
        experts = k.dim("experts", {.least = 8, .most = most});
  Index rows = tokens * count, groups = ceilDiv(tokens, group), tiles = ceilDiv(rows, bm) + experts;
  Global X = k.input("X", bf16, {tokens, d}, {.alignment = 16}),
         Logits = k.input("Logits", f32, {tokens, experts});
  Global GateUp = k.input("GateUp", bf16, {experts, 2, f, d}, {.alignment = 16}),
         Down = k.input("Down", bf16, {experts, 1, d, f}, {.alignment = 16});
  Global Y = k.output("Y", bf16, {tokens, d});
  // Of each token and each of its experts.
  Global chosen = k.workspace("chosen", i32, {tokens, count}),
         places = k.workspace("places", i32, {tokens, count});
  Global weights = k.workspace("weights", f32, {tokens, count});
  Global before = k.workspace("before", i32, {groups, most}); // rows of an expert from tokens before a group
  Global ends = k.workspace("ends", i32, {most});             // of the rows of each expert
  Global plan = k.workspace("plan", i32, {tiles, 4});         // of each tile: expert, first row, expert's end
  auto rowsOf = [&](const char *name, const Index &length) {  // in the order of experts
    return k.workspace(name, bf16, {rows, length}, {.alignment = 16});
  };
  Global sorted = rowsOf("sorted", d), hidden = rowsOf("hidden", f), results = rowsOf("results", d);

  k.launch("fused_moe_route", [&] {
    auto [i] = k.grid(groups);
    FragmentValue expert = k.positions({1, most}, 1), slot = k.positions({1, count}, 1);
    Fragment x = k.fragment(f32, {group, most}), counted = k.fragment(i32, {group, most});
    Fragment weight = k.fragment(f32, {group, count}), number = k.fragment(i32, {group, count});
    copy(Logits.tile({i * group, 0}, {group, most}), x);
    x = where(expert < experts.to(i32), where(x == x, x, inf), taken);
    Fragment first = rowMax(x);
    Predicate isThere = k.positions({group, 1}, 0) + (i * group).to(i32) < tokens.to(i32);
    for (int64_t n = 0; n < count; ++n) {
      Fragment at = argMax(x), power = exp(rowMax(x) - first);
      weight = where(slot == n, power, weight);
      number = where(slot == n, at, number);
      counted = where(expert == at && isThere, 1, counted);
      x = where(expert == at, taken, x);
    }
    copy(weight / rowSum(weight), weights.tile({i * group, 0}, {group, count}));
    copy(number, chosen.tile({i * group, 0}, {group, count}));
    copy(reduce(Reduction::sum, counted, 0), before.tile({i, 0}, {1, most}));
  });

  k.launch("fused_moe_plan", [&] { // one block
    Fragment all = k.fragment(i32, {1, most});
    k.loop(ceilDiv(groups, group), [&](Index j) {
      Fragment count = k.fragment(i32, {group, most});
      copy(before.tile({j * group, 0}, {group, most}), count);
      copy(cumulative(Reduction::sum, count, 0) - count + all, before.tile({j * group, 0}, {group, most}));
      all += reduce(Reduction::sum, count, 0);
    });
    FragmentValue end = cumulative(Reduction::sum, all, 1);
    FragmentValue tilesEnd = cumulative(Reduction::sum, (all + (bm - 1)) / bm, 1);
    copy(end, ends.tile({0}, {most}));
    k.loop(ceilDiv(tiles, group), [&](Index j) {
      FragmentValue tile = k.positions({group, 1}, 0) + (j * group).to(i32);
      Predicate isPast = tilesEnd <= tile; // all tiles of the expert come before this one
      FragmentValue first = rowMax(where(isPast, end, 0)), firstTile = rowMax(where(isPast, tilesEnd, 0));
      copy(rowSum(where(isPast, k.fragment(i32, {group, most}, 1), 0)),
           plan.tile({j * group, 0}, {group, 1}));
      copy(first + (tile - firstTile) * bm, plan.tile({j * group, 1}, {group, 1}));
      copy(rowMin(where(isPast, rows.to(i32), end)), plan.tile({j * group, 2}, {group, 1}));
    });
  });

  k.launch("fused_moe_arrange", [&] {
    auto [i] = k.grid(groups);
    FragmentValue expert = k.positions({1, most}, 1);
    Fragment counted = k.fragment(i32, {group, most}), earlier = k.fragment(i32, {1, most}),
             start = k.fragment(i32, {1, most});
    std::vector<Fragment> numbers;
    for (int64_t n = 0; n < count; ++n) {
      numbers.push_back(k.fragment(i32, {group, 1}));
      copy(chosen.tile({i * group, n}, {group, 1}).fill(-1), numbers.back());
      counted = where(expert == numbers.back(), 1, counted);
    }
    copy(before.tile({i, 0}, {1, most}), earlier);
    copy(ends.tile({-1}, {most}), start); // an expert's rows begin at the end of the one before
    FragmentValue place = cumulative(Reduction::sum, counted, 0) - 1 + earlier + start;
    std::vector<FragmentValue> to;
    for (int64_t n = 0; n < count; ++n) { // a token that is not there has no place
      to.push_back(where(numbers[size_t(n)] < 0, -1, rowSum(where(expert == numbers[size_t(n)], place, 0))));
      copy(to.back(), places.tile({i * group, n}, {group, 1}));
    }
    k.loop(ceilDiv(d, columns), [&, i = i](Index j) {
      Fragment x = k.fragment(bf16, {group, columns});
      copy(X.tile({i * group, j * columns}, {group, columns}), x);
      for (const FragmentValue &each : to)
        copy(x, sorted.tile({each.toIndex(), j * columns}, {group, columns}).disjoint("places differ"));
    });
  });

  k.launch("fused_moe_up", [&] {
    products(
        k, sorted, hidden, plan, tiles, ceilDiv(f, bn), d, 2, bn,
        [&](const Index &expert, const Index &column, int64_t i, const Index &s) {
          return GateUp.tile({expert, i, column * bn, s * bk}, {1, 1, bn, bk});
        },
        [](const std::vector<Fragment> &x) { return x[0] / (1 + exp(-x[0])) * x[1]; });
  });
  k.launch("fused_moe_down", [&] {
    products(
        k, hidden, results, plan, tiles, ceilDiv(d, 2 * bn), f, 1, 2 * bn,
        [&](const Index &expert, const Index &column, int64_t, const Index &s) {
          return Down.tile({expert, 0, column * 2 * bn, s * bk}, {1, 1, 2 * bn, bk});
        },
        [](const std::vector<Fragment> &x) { return FragmentValue(x[0]); });
  });

  k.launch("fused_moe_combine", [&] {
    Index across = ceilDiv(d, columns);
    auto [block] = k.grid(across * groups);
    Index i = block / across, j = block % across;
    Fragment y = k.fragment(f32, {group, columns}), x = k.fragment(bf16, {group, columns});
    Fragment place = k.fragment(i32, {group, 1}), weight = k.fragment(f32, {group, 1});
    for (int64_t n = 0; n < count; ++n) {
      copy(places.tile({i * group, n}, {group, 1}), place);
      copy(weights.tile({i * group, n}, {group, 1}), weight);
      copy(results.tile({place.toIndex(), j * columns}, {group, columns}), x);
      y += weight * x.to(f32);
    }
    copy(y.to(bf16), Y.tile({i * group, j * columns}, {group, columns}));
  });
}

/// What a token becomes.
std::vector<double> mixed(const HostInputs &in, int64_t token) {
  const HostArray &X = in.tensor("X"), &Logits = in.tensor("Logits"), &GateUp = in.tensor("GateUp"),
                  &Down = in.tensor("Down");
  const int64_t d = in.values["d"], f = in.values["f"];
  std::vector<int64_t> order(static_cast<size_t>(in.values["experts"]));
  for (size_t e = 0; e < order.size(); ++e)
    order[e] = int64_t(e);
  std::ranges::sort(order, {}, [&](int64_t e) {
    return std::pair(std::isnan(Logits(token, e)) ? -INFINITY : -Logits(token, e), e);
  });
  order.resize(size_t(in.values["count"]));
  auto power = [&](int64_t e) { return std::exp(Logits(token, e) - Logits(token, order[0])); };
  double sum = 0;
  for (int64_t e : order)
    sum += power(e);
  std::vector<double> y(static_cast<size_t>(d));
  for (int64_t e : order)
    for (int64_t l = 0; l < f; ++l) {
      double gate = 0, up = 0;
      for (int64_t j = 0; j < d; ++j) {
        gate += X(token, j) * GateUp(e, 0, l, j);
        up += X(token, j) * GateUp(e, 1, l, j);
      }
      const double hidden = power(e) / sum * gate / (1 + std::exp(-gate)) * up;
      for (int64_t j = 0; j < d; ++j)
        y[size_t(j)] += hidden * Down(e, 0, j, l);
    }
  return y;
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("fused_moe", "a mixture of experts: routing, grouped products with SwiGLU, weighted sums")
      .size("tokens", 512, {.onEmulator = 70})
      .size("d", 512, {.multipleOf = 8, .onEmulator = 136})
      .size("f", 256, {.multipleOf = 8, .onEmulator = 72})
      .size("experts", 64, {.least = 8, .most = most, .onEmulator = 10})
      .constant("count", 4, {.least = 1, .most = 8, .help = "experts of a token"})
      .program(fusedMoe)
      .random("Logits", -4, 4)
      .random("GateUp", -0.2, 0.2)
      .random("Down", -0.2, 0.2)
      .reference("Y",
                 [](const HostInputs &in) {
                   return [&in, last = int64_t(-1), y = std::vector<double>()](int64_t token,
                                                                               int64_t j) mutable {
                     if (token != last)
                       y = mixed(in, last = token);
                     return y[size_t(j)];
                   };
                 })
      // The activation and each expert's result are rounded to bf16.
      .tolerance("Y", {.limit = 0.03, .floor = 0.5})
      .flops([](const Values &v) {
        return 6.0 * double(v["tokens"]) * double(v["count"]) * double(v["d"]) * double(v["f"]);
      })
      .bench({{"tokens", "4096"}, {"d", "4096"}, {"f", "1536"}, {"experts", "128"}, {"count", "8"}})
      .bench({{"tokens", "64"}, {"d", "4096"}, {"f", "1536"}, {"experts", "128"}, {"count", "8"}});
}
