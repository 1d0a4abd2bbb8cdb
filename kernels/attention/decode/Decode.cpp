// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program of decoding: blocks that each see a part of a sequence's keys, and a launch that joins the
/// parts.
#include "kernels/attention/decode/DecodeTiles.h"
#include "kernels/attention/logits/FinishedRows.h"
#include "kernels/attention/logits/LazySoftmax.h"
#include "kernels/attention/logits/SoftCap.h"
#include "kernels/attention/mask/Mask.h"
#include "kernels/attention/problem/Inputs.h"

#include <functional>
#include <numbers>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace tlc::kernels {

using namespace dsl;
using namespace decode;

namespace {

/// Some of the tiles of keys that a tile of rows visits: partial ones, which need the mask, before full ones.
struct Part {
  Index rowTile, kvHead, batch, number;
  Sequence sequence;
  VisitedTiles tiles;
  Index first, steps; ///< of the visits, which the tiles of this part are
  Index partial;      ///< of these, the first ones
};

struct Operands {
  Operands(Scope &k, const DecodeConfig &config)
      : scope(k), config(config), mask(maskOf(config.problem.mask)) {
    hasArgumentsOfForward() ? declareThoseOfForward(k) : declareOwn(k);
    if (isWhole(config))
      return;
    Index rows = isByHead(config) ? rowTileCount() * config.rows : queries * paddedGroup(config);
    partial = k.workspace("partial", f32, {batches, kvHeads, rows, config.splits, config.problem.dv});
    partialLse = k.workspace("partial_lse", f32, {batches, kvHeads, rows, config.splits});
  }

  Index lengthOf(const Index &batch) const {
    return hasArgumentsOfForward() ? room : max(min(lengths.read({batch}), room), 0);
  }
  Sequence sequenceOf(const Index &kvHead, const Index &batch) const {
    return {.batch = batch, .head = kvHead * config.group, .queries = queries, .keys = lengthOf(batch)};
  }
  /// The query of a row of scores.
  Index queryOf(const Index &row) const {
    if (isByHead(config))
      return row / config.rows * config.together + row % config.together;
    return row / paddedGroup(config);
  }
  /// Of the first row of queries or heads that are neighbours.
  Index rowOf(const Index &query, const Index &head) const {
    if (isByHead(config))
      return query / config.together * config.rows + head * config.together + query % config.together;
    return query * paddedGroup(config) + head;
  }
  Index rowTileCount() const {
    return isByHead(config) ? ceilDiv(queries, config.together)
                            : ceilDiv(queries * paddedGroup(config), config.rows);
  }
  /// The tiles of keys that a tile of rows visits, and how many of them each part has.
  VisitedTiles tilesOf(const Sequence &sequence, const Index &rowTile) const {
    if (!hasArgumentsOfForward() && rowTiles(config) == 1)
      return mask.tilesOfKeys(sequence, 0, config.queries, config.bk);
    Index first = rowTile * config.rows;
    TileSpan span = {queryOf(first), min(queryOf(first + (config.rows - 1)), queries - 1)};
    return VisitedTiles(mask.keysSeen(sequence, span), sequence.keys, config.bk);
  }
  Index stepsOfPart(const VisitedTiles &tiles) const { return ceilDiv(tiles.count, config.splits); }
  Index parts() const { return batches * kvHeads * (rowTileCount() * config.splits); }

  /// Neighbours read neighbouring memory: all of a key's heads, one after the other.
  Part part(const Index &number) const {
    Part part;
    part.rowTile = number % rowTileCount();
    Index pair = number / rowTileCount(), split = pair / kvHeads;
    part.kvHead = pair % kvHeads;
    part.number = split % config.splits;
    part.batch = split / config.splits;
    part.sequence = sequenceOf(part.kvHead, part.batch);
    part.tiles = tilesOf(part.sequence, part.rowTile);
    Index steps = stepsOfPart(part.tiles);
    part.first = part.number * steps;
    part.steps = max(min(steps, part.tiles.count - part.first), 0);
    part.partial = max(min(part.tiles.partial - part.first, part.steps), 0);
    return part;
  }

  /// Whether anybody looks at what comes of a part.
  Predicate isWanted(const Part &part) const { return part.steps > 0 || isWhole(config); }
  /// The first key of a part's step.
  Index keyOf(const Part &part, const Index &step) const {
    return part.tiles.at(part.first + step) * config.bk;
  }

  /// Scores of a part's tile of keys, -inf where a row does not see the key.
  FragmentValue masked(const Part &part, const FragmentValue &scores, const Index &step) const {
    Index first = keyOf(part, step);
    return where(
        [&](Index r, Index x) {
          Index query = queryOf(part.rowTile * config.rows + r), key = first + x;
          return mask.visible(part.sequence, ScorePosition(query), ScorePosition(key)) &&
                 key < part.sequence.keys;
        },
        scores, -inf);
  }

  struct Place {
    Index batch, query, kvHead, head; ///< the first one, of the group
    int64_t column = 0;
  };
  /// Rows of Q or of O from there on, of so many heads, or queries. Those after the group are other heads',
  /// or none.
  Slice rowsOf(const Global &tensor, const Place &at, int64_t rows, int64_t columns) const {
    int64_t heads = isByHead(config) ? 1 : rows;
    if (hasArgumentsOfForward())
      return tensor.tile({at.batch, at.query, headOf(at), at.column}, {1, rows / heads, heads, columns});
    return tensor.tile({at.batch, at.query, at.kvHead, at.head, at.column}, {1, 1, 1, heads, columns});
  }

  /// Writes O of heads, or queries, from `place` on, with their first columns LSE.
  void writeRows(const Place &place, const WeightedRows &rows) const {
    int64_t count = rows.o.shape()[0], heads = isByHead(config) ? 1 : count;
    std::optional<Fragment> score;
    if (config.problem.sink == AttentionSink::perHead) {
      score = scope.fragment(f32, {heads, 1}).named("sink");
      copy(hasArgumentsOfForward() ? sink.tile({headOf(place)}, {heads})
                                   : sink.tile({place.kvHead, place.head}, {1, count}),
           *score);
    }
    auto [o, logSum] = finishRows(rows, score, config.problem.logBase);
    constexpr int64_t headsOfO = 2, headsOfLse = 1; // axes
    copy(o.to(config.problem.dtype), ofGroup(rowsOf(O, place, count, o.shape()[1]), headsOfO, place.kvHead));
    if (place.column != 0)
      return;
    copy(logSum, hasArgumentsOfForward()
                     ? ofGroup(LSE.tile({place.batch, headOf(place), place.query}, {1, heads, count / heads}),
                               headsOfLse, place.kvHead)
                     : LSE.tile({place.batch, place.kvHead, place.head, place.query}, {1, 1, count, 1}));
  }

  static constexpr TensorFacts tma = {.alignment = 16};
  Scope &scope;
  const DecodeConfig &config;
  Mask mask;
  Index batches, kvHeads;
  Index queries; ///< of a sequence
  Index room;    ///< keys of a sequence that there is memory for
  Global Q, K, V, lengths, table, sink, O, LSE, partial, partialLse;

private:
  bool hasArgumentsOfForward() const { return config.arguments == DecodeArguments::forward; }
  Index headOf(const Place &place) const { return place.kvHead * config.group + place.head; }
  /// Without what lies after the heads of a group, where these have an axis with all others.
  Slice ofGroup(const Slice &heads, size_t axis, const Index &kvHead) const {
    bool isWhole = !hasArgumentsOfForward() || isByHead(config) || paddedGroup(config) == config.group;
    return isWhole ? heads : heads.limited(axis, (kvHead + 1) * config.group);
  }

  void declareOwn(Scope &k) {
    batches = k.dim("b");
    kvHeads = k.dim("hkv");
    queries = config.queries;
    Q = k.input("Q", config.problem.dtype, {batches, config.queries, kvHeads, config.group, config.problem.d},
                tma);
    bool paged = config.storage == KeyStorage::paged;
    Index outer = paged ? k.dim("pages") : batches, inner = paged ? Index(config.pageSize) : k.dim("sk");
    K = k.input("K", config.problem.dtype, {outer, inner, kvHeads, config.problem.d}, tma);
    if (areApart(config))
      V = k.input("V", config.problem.dtype, {outer, inner, kvHeads, config.problem.dv}, tma);
    lengths = k.input("lengths_k", i32, {batches});
    if (paged) {
      Index pages = k.dim("maxpages");
      table = k.input("table", i32, {batches, pages});
      room = pages * config.pageSize;
    } else {
      room = inner;
    }
    if (config.problem.sink == AttentionSink::perHead)
      sink = k.input("sink", f32, {kvHeads, config.group});
    O = k.output("O", config.problem.dtype,
                 {batches, config.queries, kvHeads, config.group, config.problem.dv});
    LSE = k.output("LSE", f32, {batches, kvHeads, config.group, config.queries});
  }

  void declareThoseOfForward(Scope &k) {
    Inputs inputs(k, config.problem, tma, config.group);
    batches = inputs.sequences.count;
    kvHeads = inputs.kvHeads;
    queries = inputs.sequences.rows(Axis::queries);
    room = inputs.sequences.rows(Axis::keys);
    Q = inputs.Q;
    K = inputs.K;
    V = inputs.V;
    sink = inputs.sink;
    O = k.output("O", config.problem.dtype, {batches, queries, inputs.heads, config.problem.dv});
    LSE = k.output("LSE", f32, {batches, inputs.heads, queries});
  }
};

/// The role that loads what a block needs for its parts, and the channels by which it hands it on.
struct Loader {
  Loader(Scope &k, const Operands &p)
      : p(p), c(p.config), loadedQueries(k.channel("q", {.slots = querySlots(c)})),
        loadedKeys(k.channel("k", {.slots = c.stages})) {
    for (const ColumnRange &columns : depthPartsOf(c)) {
      queries.push_back(k.shared("q", c.problem.dtype, {c.rows, columns.count}, {.slots = querySlots(c)}));
      keys.push_back(
          {&p.K, k.shared("k", c.problem.dtype, {c.bk, columns.count}, {.slots = c.stages}), columns.first});
    }
    if (!areApart(c))
      return;
    loadedValues = k.channel("v", {.slots = c.stages});
    for (const ColumnRange &columns : partsOf(c))
      values.push_back(
          {&p.V, k.shared("v", c.problem.dtype, {c.bk, columns.count}, {.slots = c.stages}), columns.first});
  }

  /// What a role multiplies its weights by.
  const Shared &valuesOf(size_t role) const { return (areApart(c) ? values : keys)[role].to; }

  void loadQueries(const Part &part) const {
    int64_t group = paddedGroup(c), together = isByHead(c) ? c.together : std::gcd(group, c.rows);
    loadedQueries.put([&](const Slot &at) {
      for (int64_t row = 0; row < c.rows; row += together) {
        Index line = part.rowTile * c.rows + row; // after the last query all is 0
        Index head = isByHead(c) ? Index(row / together) : line % group;
        for (size_t i = 0; i < queries.size(); ++i) {
          ColumnRange columns = depthPartsOf(c)[i];
          copy(p.rowsOf(p.Q, {part.batch, p.queryOf(line), part.kvHead, head, columns.first}, together,
                        columns.count),
               queries[i].slot(at).rows(row, together));
        }
      }
    });
  }

  /// Where in its tensor a run of keys begins that lie one after the other, and where the sequence ends.
  struct Run {
    Index outer, inner, end;
    int64_t row; ///< in the tile
  };
  int64_t keysOfRun() const { return c.storage == KeyStorage::paged ? std::gcd(c.bk, c.pageSize) : c.bk; }
  std::vector<Run> runsOf(const Part &part, const Index &step) const {
    Index first = p.keyOf(part, step);
    const Index &length = part.sequence.keys;
    if (c.storage == KeyStorage::contiguous)
      return {{part.batch, first, length, 0}};
    std::vector<Run> runs;
    for (int64_t row = 0; row < c.bk; row += keysOfRun()) {
      Index key = first + row, page = key / c.pageSize, last = (length - 1) / c.pageSize;
      runs.push_back(
          {p.table.read({part.batch, min(page, last)}), key % c.pageSize, length - page * c.pageSize, row});
    }
    return runs;
  }

  enum class Tail : uint8_t { none, zeros }; ///< after the last key

  void loadStep(const Part &part, const Index &step, Tail tail) const {
    std::vector<Run> runs = runsOf(part, step);
    load(keys, loadedKeys, part, runs, tail);
    if (areApart(c))
      load(values, loadedValues, part, runs, tail);
  }

  /// ColumnRange of a tensor from `column` on, and where they go.
  struct Source {
    const Global *tensor;
    Shared to;
    int64_t column;
  };
  void load(const std::vector<Source> &sources, const Channel &loaded, const Part &part,
            const std::vector<Run> &runs, Tail tail) const {
    int64_t keysEach = keysOfRun();
    loaded.put([&](const Slot &at) {
      for (const Source &source : sources) {
        Shared slot = source.to.slot(at);
        for (const Run &run : runs) {
          Slice tile = source.tensor->tile({run.outer, run.inner, part.kvHead, source.column},
                                           {1, keysEach, 1, slot.shape()[1]});
          copy(tail == Tail::none ? tile : tile.limited(1, run.end),
               keysEach == c.bk ? slot : slot.rows(run.row, keysEach));
        }
      }
    });
  }

  const Operands &p;
  const DecodeConfig &c;
  std::vector<Shared> queries;      ///< of each part of the columns of K
  std::vector<Source> keys, values; ///< no values where they are in keys
  Channel loadedQueries, loadedKeys, loadedValues;
};

/// O and LSE of a part of the keys, as the role that computes that part of the columns gets them.
void attendPart(Scope &k, const Operands &p, const Loader &loader, size_t role, const Part &part) {
  const DecodeConfig &c = p.config;
  const ColumnRange columns = partsOf(c)[role];
  Slot q = loader.loadedQueries.get();
  std::vector<Shared> querySlots;
  std::vector<Fragment> queries;
  for (const Shared &tile : loader.queries)
    querySlots.push_back(tile.slot(q));
  if (holdsQueries(c)) {
    for (const Shared &slot : querySlots) {
      queries.push_back(k.fragment(c.problem.dtype, {c.rows, slot.shape()[1]}).named("q"));
      copy(slot, queries.back());
    }
    loader.loadedQueries.release();
  }

  bool capped = c.problem.softCap != 0;
  LazySoftmax softmax(k, c.problem.dtype, c.rows,
                      (capped ? 1 : c.problem.scoreScale()) * std::numbers::log2e);
  Fragment o = k.fragment(f32, {c.rows, columns.count}).named("o");
  enum class Edge : uint8_t { unmasked, masked };
  auto add = [&](const Index &step, Edge edge) {
    Fragment s = k.fragment(f32, {c.rows, c.bk}).named("s");
    Slot at = loader.loadedKeys.get();
    for (size_t i = 0; i < loader.keys.size(); ++i) {
      Shared keys = loader.keys[i].to.slot(at);
      if (holdsQueries(c))
        gemmAsync(queries[i], keys.t(), s);
      else
        gemmAsync(querySlots[i], keys.t(), s);
    }
    gemmWait(s);
    if (areApart(c))
      loader.loadedKeys.release();
    FragmentValue scores =
        capped ? softCapped(s, c.problem.scoreScale(), c.problem.softCap) : FragmentValue(s);
    LazySoftmax::Step next = softmax.add(edge == Edge::masked ? p.masked(part, scores, step) : scores);
    softmax.settle(next, o);
    if (areApart(c))
      at = loader.loadedValues.get();
    gemmAsync(next.weights, loader.valuesOf(role).slot(at), o);
    gemmWait(o);
    (areApart(c) ? loader.loadedValues : loader.loadedKeys).release();
  };
  k.loop(part.partial, [&](Index step) { add(step, Edge::masked); });
  k.loop({part.partial, part.steps}, [&](Index step) { add(step, Edge::unmasked); });
  if (!holdsQueries(c)) {
    loader.loadedQueries.release();
  }

  Index row = part.rowTile * c.rows;
  if (isWhole(c))
    return p.writeRows({part.batch, 0, part.kvHead, row, columns.first},
                       {o, softmax.sum, softmax.exponentOf(softmax.base)});
  copy(scaledRows(o, softmax.sum, 1 / softmax.sum),
       p.partial.tile({part.batch, part.kvHead, row, part.number, columns.first},
                      {1, 1, c.rows, 1, columns.count}));
  if (columns.first != 0)
    return;
  copy(log2(softmax.sum) + softmax.exponentOf(softmax.base),
       p.partialLse.tile({part.batch, part.kvHead, row, part.number}, {1, 1, c.rows, 1}));
}

/// All parts.
void decodeParts(Scope &k, const Operands &p) {
  const DecodeConfig &c = p.config;
  Index parts = p.parts();
  auto [block] = k.grid(c.order == PartOrder::rounds ? min(parts, k.multiprocessors() * c.residents) : parts);
  Range mine{block, parts, k.blocks()};
  k.residents(c.residents);
  Loader loader(k, p);
  Warps warps = warpsOf(c);
  k.roles([&] {
    for (size_t role = 0; role < partsOf(c).size(); ++role)
      k.role(role == 0 ? "math" : "math" + std::to_string(role), warps.math, [&] {
        k.loop(mine, [&](Index number) {
          Part part = p.part(number);
          k.when(p.isWanted(part), [&] { attendPart(k, p, loader, role, part); });
        });
      });
    k.role("load", warps.load, [&] {
      k.loop(mine, [&](Index number) {
        Part part = p.part(number);
        k.when(p.isWanted(part), [&] {
          loader.loadQueries(part);
          // What meets a weight of 0 must be finite.
          k.loop(part.partial, [&](Index step) { loader.loadStep(part, step, Loader::Tail::zeros); });
          k.loop({part.partial, part.steps},
                 [&](Index step) { loader.loadStep(part, step, Loader::Tail::none); });
        });
      });
    });
  });
}

/// Rows of O from their parts.
void joinParts(Scope &k, const Operands &p) {
  const DecodeConfig &c = p.config;
  constexpr int64_t together = 4; // parts whose loads are in flight at once
  constexpr int64_t rows = swizzleRows;
  // A block has some heads of a query, or some queries of a head.
  int64_t queriesOfBlock = isByHead(c) ? rows : 1, headsOfBlock = rows / queriesOfBlock;
  int64_t blocksOfGroup = isByHead(c) ? c.group : paddedGroup(c) / headsOfBlock;
  Index blocksOfQueries = ceilDiv(p.queries, queriesOfBlock);
  k.warps(4);
  auto [block] = k.grid(p.batches * p.kvHeads * (blocksOfQueries * blocksOfGroup));
  Index head = block % blocksOfGroup * headsOfBlock, line = block / blocksOfGroup;
  Index query = line % blocksOfQueries * queriesOfBlock, pair = line / blocksOfQueries,
        kvHead = pair % p.kvHeads, batch = pair / p.kvHeads;
  Index row = p.rowOf(query, head);
  VisitedTiles tiles = p.tilesOf(p.sequenceOf(kvHead, batch), row / c.rows);
  Index parts = ceilDiv(tiles.count, max(p.stepsOfPart(tiles), 1));
  auto forEachPart = [&](const std::function<void(const Index &, const FragmentValue &)> &body) {
    k.loop({0, parts, together}, [&](Index first) {
      for (int64_t next = 0; next < together; ++next) {
        Index part = where(first + next < parts, first + next, c.splits); // outside: nothing is read
        Fragment lse = k.fragment(f32, {rows, 1});
        copy(p.partialLse.tile({batch, kvHead, row, part}, {1, 1, rows, 1}).fill(-inf), lse);
        body(part, lse);
      }
    });
  };
  Fragment maximum = k.fragment(f32, {rows, 1}, -inf), sum = k.fragment(f32, {rows, 1});
  forEachPart([&](const Index &, const FragmentValue &lse) { maximum = max(maximum, lse); });
  Fragment o = k.fragment(f32, {rows, paddedValues(c.problem)}).named("o");
  FragmentValue base = finiteOrZero(maximum);
  forEachPart([&](const Index &number, const FragmentValue &lse) {
    Fragment part = k.fragment(f32, {rows, paddedValues(c.problem)});
    copy(p.partial.tile({batch, kvHead, row, number, 0}, {1, 1, rows, 1, paddedValues(c.problem)}), part);
    FragmentValue weight = exp2(lse - base);
    sum = sum + weight;
    o = o + part * weight;
  });
  p.writeRows({batch, query, kvHead, head}, {o, sum, maximum});
}

} // namespace

Program decodeProgram(const DecodeConfig &config, const TraceOptions &options) {
  std::string name = config.arguments == DecodeArguments::forward ? "attention_fwd" : "attention_decode";
  return Program::trace(name, options, [&](Scope &k) {
    Operands p(k, config);
    k.launch(name + "_parts", [&] { decodeParts(k, p); });
    if (!isWhole(config))
      k.launch(name + "_join", [&] { joinParts(k, p); });
  });
}

} // namespace tlc::kernels
