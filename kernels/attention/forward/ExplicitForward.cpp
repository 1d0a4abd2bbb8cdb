// SPDX-License-Identifier: Apache-2.0
/// \file
/// The schedule of attention forward: which role does what, and what runs under what.
#include "kernels/attention/forward/ExplicitForward.h"

#include "kernels/roles/MathRole.h"

#include <functional>
#include <string>
#include <vector>

namespace tlc::kernels {

using namespace dsl;

namespace {

/// One role loads Q, one K and V, one stores, and one computes. The scores of a tile of keys are computed
/// before the weights of the one before meet V, and their softmax runs under that product; so do the next
/// tile's first scores under this tile's last product. Where tiles are is computed by the role that loads Q,
/// ahead of the others, and handed on.
///
/// Where a row of O is longer than registers hold, a role computes each part of its columns. All of them
/// compute the same scores: exchanging weights would save products, but K and V come from memory no faster.
class Schedule {
public:
  Schedule(Scope &k, const ForwardConfig &c, const ForwardArguments &p, const TileScheduler &scheduler,
           const TransposedValues *transposed)
      : k(k), c(c), p(p), transposed(transposed), parts(columnParts(paddedValues(c.problem))),
        warpgroups(c.bq / rowsOfMathWarpgroup * int64_t(parts.size())),
        acrossTiles(c.queryStages > 1 && hasRegistersForNextTile(c)),
        out(p.inputs.isLastStep() ? outputPath(c) : OutputPath::registers),
        block(k.grid(p.inputs.blocksOfStep(min(scheduler.tilesAtMost(), k.multiprocessors())))[0]),
        tiles(scheduler.shareOf(block, k.blocks())) {
    // Where there are no keys there is nothing that the TMA could load.
    count = where(p.sk == 0, Index(0), p.tilesOfStep(tiles.count));
    k.when(p.sk == 0, [&] { storeNothingSeen(); });

    positions = k.shared("tile", i32, {p.inputs.sequences.fieldCount()}, {.slots = c.queryStages});
    nextPositions = k.shared("next_tile", i32, {p.inputs.sequences.fieldCount()}, {.slots = tilesAhead});
    qs = k.shared("q", c.problem.dtype, {c.bq, paddedDepth(c.problem)}, {.slots = c.queryStages});
    ks = k.shared("k", c.problem.dtype, {c.bk, paddedDepth(c.problem)}, {.slots = c.stages});
    for (const ColumnRange &columns : parts)
      vs.push_back(k.shared("v", c.problem.dtype,
                            transposed ? Shape{columns.count, c.bk} : Shape{c.bk, columns.count},
                            {.slots = c.stages}));
    if (out == OutputPath::tileOfQueries)
      os = qs;
    else if (out == OutputPath::ownTile)
      os = k.shared("o", c.problem.outputType(), {c.bq, paddedValues(c.problem)}, {.slots = c.queryStages});
    // Who stores a tile of O gives its Q back, and with that the slot of O.
    queries = k.channel("q", {.slots = c.queryStages});
    if (hasStore())
      outputs = k.channel("o", queries);
    next = k.channel("next_tile", {.slots = tilesAhead});
    keys = k.channel("k", {.slots = c.stages});
    values = k.channel("v", {.slots = c.stages});
    k.roles([&] {
      // The roles that do not compute fill a warpgroup, whose registers go to those that do.
      int64_t spare = warpgroups > 2 ? 32 : 24;
      k.role("load_q", {.warps = 1, .registers = spare}, [&] { loadQueries(); });
      k.role("load_kv", {.warps = hasStore() ? 1 : 3, .registers = spare}, [&] { loadKeysAndValues(); });
      if (hasStore())
        k.role("store", {.warps = 2, .registers = spare}, [&] { store(); });
      for (size_t part = 0; part < parts.size(); ++part)
        k.role(parts.size() == 1 ? "math" : "math" + std::to_string(part), {.warps = mathWarps(c.bq)},
               [&] { compute(part); });
    });
  }

private:
  /// Whose keys may be loaded while Q of the first of them waits for its slot.
  static constexpr int64_t tilesAhead = 2;

  bool hasStore() const { return out != OutputPath::registers; }

  Sequences::Fields fieldsOfTile(const Index &n) const {
    return p.inputs.sequences.fieldsOf(Axis::queries, tiles.at(n));
  }

  void storeNothingSeen() {
    k.loop(tiles.count, [&](Index n) {
      QueryTile tile = p.tileAt(fieldsOfTile(n));
      FragmentValue nothing = k.fragment(f32, {c.bq, 1});
      for (const ColumnRange &columns : parts) {
        FragmentValue zeros = k.fragment(f32, {c.bq, columns.count});
        FragmentValue rows = p.finish(tile, {zeros, nothing, nothing - inf}, columns);
        copy(rows.to(p.outputType()), p.output(tile, columns));
      }
    });
  }

  Sequences::Fields read(const Shared &position) const {
    Sequences::Fields fields;
    for (int64_t i = 0; i < p.inputs.sequences.fieldCount(); ++i)
      fields.push_back(position.read({i}));
    return fields;
  }
  void write(const Shared &position, const Sequences::Fields &fields) const {
    for (size_t i = 0; i < fields.size(); ++i)
      position.write({int64_t(i)}, fields[i]);
  }
  /// Rows that see nothing get what a tile of keys, all masked, gives them.
  QueryTile tileAt(const Sequences::Fields &position) const {
    QueryTile tile = p.tileAt(position);
    tile.keys = tile.keys.atLeastOne();
    return tile;
  }
  QueryTile tileAt(const Shared &position) const { return tileAt(read(position)); }

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// With several slots, Q of the next tiles is on its way while this one is computed.
  void loadQueries() {
    k.loop(count, [&](Index round) {
      Sequences::Fields position = fieldsOfTile(round);
      next.put([&](const Slot &at) { write(nextPositions.slot(at), position); });
      queries.put([&](const Slot &at) {
        write(positions.slot(at), position);
        copy(p.queries(tileAt(position)), qs.slot(at));
      });
    });
    p.inputs.endStep(block);
  }

  void loadKeysAndValues() {
    k.loop(count, [&](Index) {
      QueryTile tile = tileAt(nextPositions.slot(next.get()));
      next.release();
      auto loadKeys = [&](Index i, const std::optional<Index> &before) {
        p.awaitKeys(tile, i, before);
        keys.put([&](const Slot &at) { copy(p.keys(tile, tile.keys.at(i)), ks.slot(at)); });
      };
      auto loadValues = [&](Index i) {
        values.put([&](const Slot &at) {
          Index j = tile.keys.at(i);
          for (size_t part = 0; part < parts.size(); ++part)
            if (transposed)
              transposed->load(tile, j, vs[part].slot(at));
            else
              copy(p.values(tile, j, parts[part]), vs[part].slot(at));
        });
      };
      loadKeys(0, {});
      k.loop(tile.keys.count - 1, [&](Index i) {
        loadKeys(i + 1, i);
        loadValues(i);
      });
      loadValues(tile.keys.count - 1);
    });
  }

  void store() {
    k.loop(count, [&](Index) {
      Slot at = outputs.get();
      QueryTile tile = tileAt(positions.slot(at));
      copy(os.slot(at), p.output(tile, parts[0]));
      queries.release();
    });
  }

  //===--------------------------------------------------------------------===//
  // Arithmetic
  //===--------------------------------------------------------------------===//

  enum class Edge : uint8_t { unmasked, masked };

  static Shared firstColumns(const Shared &tile, int64_t count) {
    const Shape shape = tile.shape(); // none: the tile is too large, which has been said
    return shape.empty() || shape.back() == count ? tile : tile.columns(0, count);
  }

  void compute(size_t part) {
    const ColumnRange &columns = parts[part];
    Scores::Scale scale = p.scores.scale();
    LazySoftmax softmax = p.softmax(scale);
    const int64_t depth = multipliedDepth(c.problem),
                  sums = parts.size() == 1 ? multipliedValues(c.problem) : columns.count;
    Fragment o = k.fragment(f32, {c.bq, sums}).named("o");
    bool perTile = c.sum == OutputSum::perTile;
    Fragment share; // of a tile of keys
    if (perTile)
      share = k.fragment(f32, {c.bq, sums}).named("share");
    Fragment weights =
        k.fragment(c.problem.dtype, {c.bq, c.bk}).named("p"); // of the tile of keys whose V is next

    auto start = [&](const std::function<void()> &products) {
      c.order == ProductOrder::inTurn ? k.inTurn(products) : products();
    };
    auto startScores = [&](const Slot &q, const Slot &kv, Fragment &s) {
      gemmAsync(firstColumns(qs.slot(q), depth), firstColumns(ks.slot(kv), depth).t(), s);
    };
    auto startOutput = [&] {
      if (perTile)
        share = 0;
      Shared rows = vs[part].slot(values.get());
      gemmAsync(weights, firstColumns(transposed ? rows.t() : rows, sums), perTile ? share : o);
    };
    auto finishScores = [&](Fragment &s, int64_t pending) {
      gemmWait(s, pending);
      keys.release();
    };
    auto finishOutput = [&] {
      gemmWait(perTile ? share : o);
      values.release();
      if (perTile)
        o = o + share;
    };
    auto scoresOf = [&](const QueryTile &tile, const Fragment &s, const Index &i, Edge edge) {
      FragmentValue scores = p.scores.of(s, scale);
      return edge == Edge::masked ? p.masked(tile, scores, tile.keys.at(i)) : scores;
    };

    // Scores of a tile of keys; their softmax runs under the product of the tile before with V.
    auto step = [&](const QueryTile &tile, const Index &i, Edge edge) {
      Fragment s = k.fragment(f32, {c.bq, c.bk}).named("s");
      Slot q = queries.oldest(), kv = keys.get();
      start([&] {
        startScores(q, kv, s);
        startOutput();
      });
      finishScores(s, 1);
      LazySoftmax::Step next = softmax.add(scoresOf(tile, s, i, edge));
      finishOutput();
      softmax.settle(next, o);
      weights = next.weights;
    };

    // The first tile of keys. What `startBeside` starts runs under its scores' softmax.
    auto begin = [&](const std::function<void()> &startBeside, const std::function<void()> &finishBeside,
                     int64_t pending) {
      Fragment s = k.fragment(f32, {c.bq, c.bk}).named("s");
      Slot q = queries.get();
      QueryTile tile = tileAt(positions.slot(q));
      Slot kv = keys.get();
      start([&] {
        startScores(q, kv, s);
        startBeside();
      });
      p.scores.setScale(scale, tile.sequence, tile.kvHead);
      finishScores(s, pending);
      Fragment scores = p.scores.of(s, scale);
      k.when(tile.keys.partial > 0, [&] { scores = p.masked(tile, scores, tile.keys.at(0)); });
      FragmentValue first = softmax.first(scores);
      finishBeside();
      weights = first.to(c.problem.dtype);
    };
    auto beginAlone = [&] { begin([] {}, [] {}, 0); };

    if (acrossTiles)
      k.when(count > 0, beginAlone);
    k.loop(count, [&](Index round) {
      if (!acrossTiles)
        beginAlone();
      QueryTile tile = tileAt(positions.slot(queries.oldest()));
      Index partial = max(tile.keys.partial, 1);
      k.loop({1, partial}, [&](Index i) { step(tile, i, Edge::masked); });
      k.loop({partial, tile.keys.count}, [&](Index i) { step(tile, i, Edge::unmasked); });

      Fragment sum = softmax.sum, base = softmax.base;
      auto end = [&] {
        startOutput();
        finishOutput();
      };
      if (acrossTiles)
        k.when(round + 1 < count, [&] { begin(startOutput, finishOutput, 1); }, end);
      else
        end();
      QueryTile finished = tileAt(positions.slot(queries.oldest()));
      FragmentValue rows = p.finish(finished, {o, sum, softmax.exponentOf(base)}, columns);
      if (hasStore()) {
        outputs.put(
            [&](const Slot &at) { copy(rows.to(c.problem.outputType()), firstColumns(os.slot(at), sums)); });
        queries.pass();
      } else {
        queries.release();
        copy(rows.to(p.outputType()), p.output(finished, columns));
      }
      o = 0;
    });
  }

  Scope &k;
  const ForwardConfig &c;
  const ForwardArguments &p;
  const TransposedValues *transposed;
  std::vector<ColumnRange> parts;
  int64_t warpgroups; ///< that compute
  bool acrossTiles;
  OutputPath out;
  Index block;
  TileScheduler::Share tiles;
  Index count;                     ///< of these, or 0 where there are no keys
  Shared positions, nextPositions; ///< of the tiles in slots of Q, and of those whose keys are to be loaded
  Shared qs, ks, os;
  std::vector<Shared> vs; ///< of each part of the columns
  Channel queries, outputs, next, keys, values;
};

} // namespace

void explicitForward(Scope &k, const ForwardConfig &config, const ForwardArguments &arguments,
                     const TileScheduler &scheduler, const TransposedValues *values) {
  Schedule(k, config, arguments, scheduler, values);
}

} // namespace tlc::kernels
