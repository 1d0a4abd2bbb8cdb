// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention backward in the plain form, its launches, and the choice of tiles.
#include "kernels/attention/backward/Backward.h"

#include "kernels/attention/backward/ExplicitBackward.h"
#include "kernels/ranks/RankEnd.h"
#include "runtime/target/Hardware.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <vector>

namespace tlc::kernels {

using namespace dsl;

namespace {

/// dK and dV of a tile of keys. Its scores have keys as rows, so that weights and gradients are left factors.
void plainKeyTile(Scope &k, const BackwardConfig &c, const BackwardArguments &p, const GradientTile &tile) {
  const AttentionProblem &problem = c.problem;
  int64_t d = paddedRow(problem.d), dv = paddedRow(problem.dv);
  const std::vector<ColumnRange> columns = gradientParts(d), valueColumns = gradientParts(dv);
  auto tileOfRows = [&](const char *name, int64_t rows, const std::vector<ColumnRange> &parts) {
    std::vector<Shared> tile;
    for (const ColumnRange &part : parts)
      tile.push_back(k.shared(name, problem.dtype, {rows, part.count}));
    return tile;
  };
  auto sumOfRows = [&](const char *name, int64_t rows, const std::vector<ColumnRange> &parts) {
    std::vector<Fragment> sum;
    for (const ColumnRange &part : parts)
      sum.push_back(k.fragment(f32, {rows, part.count}).named(name));
    return sum;
  };
  std::vector<Shared> keys = tileOfRows("k", c.bk, columns), values = tileOfRows("v", c.bk, valueColumns),
                      queries = tileOfRows("q", c.bq, columns),
                      outputs = tileOfRows("do", c.bq, valueColumns);
  bool sharesProducts = addsQuerySums(c.dq);
  Shared products, weightTile;
  if (sharesProducts || hasNarrowTiles(c))
    products = k.shared("ds", problem.dtype, {c.bk, c.bq});
  if (hasNarrowTiles(c))
    weightTile = k.shared("p", problem.dtype, {c.bk, c.bq});
  bool isByHand = c.overlap == ProductOverlap::byHand;
  Shared logSums, deltas;
  // A limit of a sequence is along their last axis, so that the TMA copies those of uniform ones alone. With
  // tiles of more queries they have no room.
  constexpr int64_t mostQueries = 64;
  bool hasNumberTiles = isByHand && p.inputs.sequences.isUniform() && c.bq <= mostQueries;
  if (hasNumberTiles) {
    logSums = k.shared("lse", f32, {1, c.bq});
    deltas = k.shared("delta", f32, {1, c.bq});
  }
  Shared querySums;
  if (p.addsByTma())
    querySums = k.shared("dq", f32, {c.bq, d});
  p.inputs.awaitKeys(tile.sequence, tile.row, c.bk);
  for (size_t i = 0; i < columns.size(); ++i)
    copy(p.keys(tile.sequence, tile.row, tile.kvHead, c.bk, columns[i]), keys[i]);
  for (size_t i = 0; i < valueColumns.size(); ++i)
    copy(p.values(tile.sequence, tile.row, tile.kvHead, c.bk, valueColumns[i]), values[i]);
  std::vector<Fragment> keySum = sumOfRows("dk", c.bk, columns),
                        valueSum = sumOfRows("dv", c.bk, valueColumns);
  const Dropout dropout(k, p.inputs);
  WarpPolicy policy = hasNarrowTiles(c) ? WarpPolicy::fullColumn : WarpPolicy::fullRow;
  auto numbersIn = [&](const Shared &tile) {
    Fragment numbers = k.fragment(f32, {1, c.bq});
    copy(tile, numbers);
    return numbers;
  };
  auto copyTiles = [&](const Sequence &sequence, const Index &row) {
    for (size_t i = 0; i < columns.size(); ++i)
      copy(p.queries(sequence, row, c.bq, columns[i]), queries[i]);
    for (size_t i = 0; i < valueColumns.size(); ++i)
      copy(p.outputGradients(sequence, row, c.bq, valueColumns[i]), outputs[i]);
  };
  auto addQuerySums = [&](const std::vector<Fragment> &dq, const Sequence &sequence,
                          const VisitedTiles &visited, const Index &i) {
    Index row = visited.at(i) * c.bq;
    if (p.isOrdered())
      p.awaitTurn(sequence, tile.row, visited.at(i) + 1);
    if (p.addsByTma()) {
      copy(dq.front(), querySums);
      atomicAdd(querySums, p.querySums(sequence, row, columns.front()));
    } else {
      for (size_t i = 0; i < columns.size(); ++i)
        p.addQuerySums(dq[i], sequence, row, columns[i]);
    }
    if (p.isOrdered())
      p.passAfter(sequence, tile.row, visited, i);
  };
  auto step = [&](const Sequence &sequence, const VisitedTiles &visited, const Index &i) {
    Index row = visited.at(i) * c.bq;
    copyTiles(sequence, row);
    Fragment s = k.fragment(f32, {c.bk, c.bq}).named("s"), dp = k.fragment(f32, {c.bk, c.bq}).named("dp");
    for (size_t i = 0; i < columns.size(); ++i)
      gemm(keys[i], queries[i].t(), s, policy);
    for (size_t i = 0; i < valueColumns.size(); ++i)
      gemm(values[i], outputs[i].t(), dp, policy);
    BackwardArguments::RowNumbers numbers = p.rowNumbers(sequence, row, {1, c.bq});
    FragmentValue scores = p.scores.of(s, p.scores.scale());
    Fragment seen = scores;
    k.when(visited.isPartial(i), [&] { seen = p.masked(sequence, {row, tile.row, Axis::keys}, seen); });
    FragmentValue weights = p.weights(seen, numbers.exponent), ofWeights = dp;
    FragmentValue ofValues = weights; // those that V is multiplied by
    if (problem.drops()) {
      const Predicate stays = dropout.stays(sequence, {row, tile.row, Axis::keys}, {c.bk, c.bq});
      ofValues = where(stays, weights, 0);
      ofWeights = where(stays, dp * problem.keptFactor(), 0);
    }
    FragmentValue ds = p.gradients(weights, ofWeights, scores, numbers.delta);
    if (hasNarrowTiles(c)) {
      copy(ofValues.to(problem.dtype), weightTile);
      copy(ds.to(problem.dtype), products);
      for (size_t i = 0; i < valueColumns.size(); ++i)
        gemm(weightTile, outputs[i], valueSum[i], policy);
      for (size_t i = 0; i < columns.size(); ++i)
        gemm(products, queries[i], keySum[i], policy);
    } else {
      gemm(ofValues.to(problem.dtype), outputs.front(), valueSum.front());
      gemm(ds.to(problem.dtype), queries.front(), keySum.front());
      if (sharesProducts)
        copy(ds.to(problem.dtype), products);
    }
    if (!sharesProducts)
      return;
    std::vector<Fragment> dq = sumOfRows("dq", c.bq, columns);
    for (size_t i = 0; i < columns.size(); ++i)
      gemm(products.t(), keys[i], dq[i], WarpPolicy::fullColumn);
    addQuerySums(dq, sequence, visited, i);
  };
  // The same, for rows that have one part. What runs under products is written after they are started; none
  // is in flight when a step ends, so that ptxas keeps them apart from each other's registers.
  auto computeByHand = [&](const Sequence &sequence, const VisitedTiles &visited, const Index &i,
                           bool isMasked) {
    Index row = visited.at(i) * c.bq;
    Fragment s = k.fragment(f32, {c.bk, c.bq}).named("s"), dp = k.fragment(f32, {c.bk, c.bq}).named("dp");
    gemmAsync(keys.front(), queries.front().t(), s);
    gemmAsync(values.front(), outputs.front().t(), dp);
    auto numbers = [&] { return p.rowNumbers(sequence, row, {1, c.bq}); };
    Fragment exponent = hasNumberTiles ? p.exponents(numbersIn(logSums)) : numbers().exponent;
    gemmWait(s, 1);
    FragmentValue scores = p.scores.of(s, p.scores.scale());
    FragmentValue seen = isMasked ? p.masked(sequence, {row, tile.row, Axis::keys}, scores) : scores;
    Fragment weights = p.weights(seen, exponent);
    gemmAsync(weights.to(problem.dtype), outputs.front(), valueSum.front());
    FragmentValue delta =
        hasNumberTiles ? FragmentValue(numbersIn(deltas)) : numbers().delta; // not before: registers are few
    gemmWait(dp, 1);
    Fragment ds = p.gradients(weights, dp, scores, delta).to(problem.dtype);
    if (!sharesProducts) {
      gemmAsync(ds, queries.front(), keySum.front());
    } else {
      copy(ds, products);
      std::vector<Fragment> dq = sumOfRows("dq", c.bq, columns);
      gemmAsync(products.t(), keys.front(), dq.front(), WarpPolicy::fullColumn);
      gemmAsync(ds, queries.front(), keySum.front());
      gemmWait(dq.front(), 1);
      addQuerySums(dq, sequence, visited, i); // under the last product
    }
    gemmWait(valueSum.front(), 1);
    gemmWait(keySum.front());
  };
  auto stepByHand = [&](const Sequence &sequence, const VisitedTiles &visited, const Index &i) {
    Index row = visited.at(i) * c.bq;
    copyTiles(sequence, row);
    if (hasNumberTiles) {
      BackwardArguments::RowSlices numbers = p.rowSlices(sequence, row, c.bq);
      copy(numbers.logSums, logSums);
      copy(numbers.deltas, deltas);
    }
    k.when(
        visited.isPartial(i), [&] { computeByHand(sequence, visited, i, true); },
        [&] { computeByHand(sequence, visited, i, false); });
  };
  p.forEachHead(tile, [&](const Sequence &sequence) {
    VisitedTiles visited = p.queriesSeeing(tile, sequence);
    if (p.isOrdered())
      p.passBefore(sequence, tile.row, visited);
    k.pipelined(visited.count, {.stages = c.stages},
                [&](Index i) { isByHand ? stepByHand(sequence, visited, i) : step(sequence, visited, i); });
    if (p.isOrdered())
      p.passRest(sequence, tile.row, visited);
  });
  for (size_t i = 0; i < columns.size(); ++i)
    p.store(p.ofKeys, tile, keySum[i], columns[i]);
  for (size_t i = 0; i < valueColumns.size(); ++i)
    p.store(p.ofValues, tile, valueSum[i], valueColumns[i]);
}

/// dQ of a tile of queries.
void plainQueryTile(Scope &k, const BackwardConfig &c, const BackwardArguments &p, const GradientTile &tile) {
  const AttentionProblem &problem = c.problem;
  int64_t d = paddedRow(problem.d), dv = paddedRow(problem.dv);
  auto [count, together] = queryTile(c);
  Shared keys = k.shared("k", problem.dtype, {together, d}),
         values = k.shared("v", problem.dtype, {together, dv});
  Shared queries = k.shared("q", problem.dtype, {count, d});
  Shared outputs = k.shared("do", problem.dtype, {count, dv});
  copy(p.queries(tile.sequence, tile.row, count, {0, d}), queries);
  copy(p.outputGradients(tile.sequence, tile.row, count, {0, dv}), outputs);
  BackwardArguments::RowNumbers numbers = p.rowNumbers(tile.sequence, tile.row, {count, 1});
  Fragment dq = k.fragment(f32, {count, d}).named("dq");
  const Dropout dropout(k, p.inputs);
  VisitedTiles visited = p.keysSeen(tile, together);
  k.pipelined(visited.count, {.stages = c.stages}, [&](Index i) {
    Index row = visited.at(i) * together;
    copy(p.keys(tile.sequence, row, tile.kvHead, together, {0, d}), keys);
    copy(p.values(tile.sequence, row, tile.kvHead, together, {0, dv}), values);
    Fragment s = k.fragment(f32, {count, together}).named("s"),
             dp = k.fragment(f32, {count, together}).named("dp");
    gemm(queries, keys.t(), s);
    gemm(outputs, values.t(), dp);
    FragmentValue scores = p.scores.of(s, p.scores.scale());
    Fragment seen = scores;
    k.when(i < visited.partial, [&] { seen = p.masked(tile.sequence, {tile.row, row}, seen); });
    FragmentValue weights = p.weights(seen, numbers.exponent), ofWeights = dp;
    if (problem.drops())
      ofWeights = where(dropout.stays(tile.sequence, {tile.row, row}, {count, together}),
                        dp * problem.keptFactor(), 0);
    gemm(p.gradients(weights, ofWeights, scores, numbers.delta).to(problem.dtype), keys, dq);
  });
  p.store(p.ofQueries, tile, dq, {0, d});
}

void forEachTile(Scope &k, const BackwardArguments &p, const TileScheduler &scheduler, Axis axis,
                 const std::function<void(const GradientTile &)> &body) {
  Index block = p.numberOfBlock(scheduler);
  TileScheduler::Share tiles = scheduler.shareOf(block, k.blocks());
  k.loop(tiles.count, [&](Index n) { body(p.tileAt(axis, p.inputs.sequences.fieldsOf(axis, tiles.at(n)))); });
  if (axis == Axis::keys)
    p.inputs.endStep(block);
}

} // namespace

Program backwardProgram(const BackwardConfig &config, const TraceOptions &options) {
  return backwardProgram(config, maskMakerOf(config.problem), options);
}

Program backwardProgram(const BackwardConfig &config, const Mask &mask, const TraceOptions &options) {
  return backwardProgram(config, [&](const MaskScope &) { return mask; }, options);
}

Program backwardProgram(const BackwardConfig &given, const MaskMaker &makeMask, const TraceOptions &options) {
  BackwardConfig config = given;
  if (config.problem.drops())
    config.form = AttentionForm::plain;
  std::string_view name = config.problem.shards ? "attention_bwd_sharded" : "attention_bwd";
  TraceOptions own = options;
  if (config.problem.passesKeys())
    own.fixedDimensions["k.ranks"] = config.problem.ranks;
  return Program::trace(name, own, [&](Scope &k) {
    bool isPlain = config.form == AttentionForm::plain;
    // The explicit form loads through the TMA only.
    BackwardArguments arguments(k, config, makeMask, isPlain ? TensorFacts() : TensorFacts{.alignment = 16});
    bool hasOwnLaunch = config.dq == QuerySum::ownLaunch;
    TileScheduler keyTiles(k, arguments.inputs.sequences, arguments.tileSpace(Axis::keys));
    std::optional<TileScheduler> queryTiles;
    if (hasOwnLaunch)
      queryTiles.emplace(k, arguments.inputs.sequences, arguments.tileSpace(Axis::queries));
    const std::optional<ShardedKeys> &shards = arguments.inputs.shards;
    const std::optional<RingKeys> &ring = arguments.inputs.ring;
    std::optional<RingTurns> turns;
    if (ring)
      turns.emplace(k, *ring);
    std::optional<RankArrival> termsSent;
    if (shards) {
      termsSent.emplace(k, "terms_sent");
      if (!shards->hasTransfer())
        k.launch("attention_bwd_gather", [&] { shards->gather(); });
    }
    const std::optional<RankHeads> &exchange = arguments.inputs.exchange;
    std::optional<RankEnd> end;
    if (exchange) {
      end.emplace(k);
      k.launch("attention_bwd_gather", [&] { exchange->gather(); });
    }
    k.launch("attention_bwd_delta", [&] { arguments.writeDeltas(); });
    if (config.unseen == UnseenKeys::ownLaunch)
      k.launch("attention_bwd_unseen_keys", [&] { arguments.writeUnseenKeys(); });
    if (keyTiles.hasLaunch())
      k.launch("attention_bwd_key_order", [&] { keyTiles.writeOrder(); });
    if (queryTiles && queryTiles->hasLaunch())
      k.launch("attention_bwd_query_order", [&] { queryTiles->writeOrder(); });
    if (shards && shards->hasTransfer())
      shards->transfer("attention_bwd_gather");
    auto visitKeys = [&](const std::string &name) {
      k.launch(name, [&] {
        if (config.form == AttentionForm::explicitRoles)
          return (hasNarrowTiles(config) ? narrowKeyTiles : wideKeyTiles)(k, config, arguments, keyTiles);
        forEachTile(k, arguments, keyTiles, Axis::keys,
                    [&](const GradientTile &tile) { plainKeyTile(k, config, arguments, tile); });
      });
    };
    auto convertKeys = [&] { arguments.convertSums(Axis::keys); };
    if (ring) {
      std::array terms = {*arguments.ofKeys.ringTerms, *arguments.ofValues.ringTerms};
      for (int64_t step = 0; step < ring->steps(); ++step) {
        ring->fetchNext("attention_bwd_fetch", step);
        arguments.beginStep(step);
        visitKeys(fmt::format("attention_bwd_step_{}", step));
        if (config.dkv != KeySum::loop)
          k.launch(fmt::format("attention_bwd_convert_keys_{}", step), convertKeys);
        k.launch(fmt::format("attention_bwd_add_terms_{}", step),
                 [&] { TermsOfRing::add(k, terms, *turns, step); });
      }
    } else {
      visitKeys("attention_bwd");
    }
    if (queryTiles)
      k.launch("attention_bwd_queries", [&] {
        forEachTile(k, arguments, *queryTiles, Axis::queries,
                    [&](const GradientTile &tile) { plainQueryTile(k, config, arguments, tile); });
      });
    else
      k.launch("attention_bwd_convert", [&] { arguments.convertSums(Axis::queries); });
    if (config.dkv != KeySum::loop && !ring)
      k.launch("attention_bwd_convert_keys", convertKeys);
    if (shards)
      k.launch("attention_bwd_sum_terms", [&] {
        std::array terms = {*arguments.ofKeys.terms, *arguments.ofValues.terms};
        TermsOfRanks::sumUp(k, terms, *termsSent);
      });
    if (config.problem.sink == AttentionSink::perHead)
      k.launch("attention_bwd_sinks", [&] { arguments.writeSinkGradients(); });
    if (exchange) {
      k.launch("attention_bwd_return", [&] { exchange->giveBack(); });
      k.launch("attention_bwd_end", [&] { end->meet(); });
    }
  });
}

} // namespace tlc::kernels
