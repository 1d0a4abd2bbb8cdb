// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arguments and tiles of attention forward.
#include "kernels/attention/forward/ForwardProblem.h"

#include "kernels/attention/scores/SoftCap.h"

#include <cmath>
#include <numbers>

namespace tlc::kernels {

using namespace dsl;
using std::numbers::ln2, std::numbers::log2e;

WayOut wayOut(const ForwardConfig &config) {
  if (isSplit(config.dv))
    return WayOut::registers;
  return config.d == config.dv && !config.hasBytes() ? WayOut::tileOfQueries : WayOut::ownTile;
}

ForwardProblem::ForwardProblem(Scope &k, const ForwardConfig &config, const MaskMaker &makeMask,
                               TensorFacts facts)
    : config(config), k(k), unit(config.scale.value_or(1 / std::sqrt(double(config.d)))) {
  Index ends; // of packed sequences there is one begin more than there are sequences
  if (isPacked()) {
    ends = k.dim("ends");
    batches = ends - 1;
  } else {
    batches = k.dim("b");
  }
  sq = k.dim("sq");
  sk = k.dim("sk");
  heads = k.dim("h");
  kvHeads = k.dim("hkv");
  auto shape = [&](std::vector<Index> axes) {
    if (isPacked())
      axes.erase(axes.begin());
    return axes;
  };
  Q = k.input("Q", config.dtype, shape({batches, sq, heads, config.d}), facts);
  K = k.input("K", config.dtype, shape({batches, sk, kvHeads, config.d}), facts);
  V = k.input("V", config.dtype, shape({batches, sk, kvHeads, config.dv}), facts);
  if (config.hasBytes()) {
    // Extents are no sums, so that packed sequences are counted again.
    factors = isPacked() ? k.dim("b") : batches;
    scaleQ = k.input("scaleQ", f32, {factors, heads});
    scaleK = k.input("scaleK", f32, {factors, kvHeads});
    scaleV = k.input("scaleV", f32, {factors, kvHeads});
  }
  if (config.lengths != Lengths::uniform) {
    Index extent = isPacked() ? ends : batches;
    queryLengths = k.input(isPacked() ? "begins_q" : "lengths_q", i32, {extent});
    keyLengths = k.input(isPacked() ? "begins_k" : "lengths_k", i32, {extent});
  }
  if (config.sink == AttentionSink::perHead)
    sink = k.input("sink", f32, {heads});
  mask = makeMask({k, batches, sq, sk, heads});
  O = k.output("O", config.outputType(), shape({batches, sq, heads, config.dv}), facts);
  LSE = k.output("LSE", f32, shape({batches, heads, sq}));
}

Index ForwardProblem::tiles() const {
  if (!isPacked())
    return rowTiles() * heads * batches;
  return (rowTiles() + batches) * min(sq, 1) * heads; // none at all without rows
}

Index ForwardProblem::queriesOf(const Index &batch) const {
  if (config.lengths == Lengths::uniform)
    return sq;
  Index first = queryLengths.read({batch});
  return isPacked() ? queryLengths.read({batch + 1}) - first : first;
}

Index ForwardProblem::keysOf(const Index &batch) const {
  if (config.lengths == Lengths::uniform)
    return sk;
  Index first = keyLengths.read({batch});
  return isPacked() ? keyLengths.read({batch + 1}) - first : first;
}

Index ForwardProblem::firstKeyOf(const Index &batch) const {
  return isPacked() ? keyLengths.read({batch}) : Index(0);
}

ForwardProblem::Position ForwardProblem::positionOf(const Index &row, const Index &head,
                                                    const Index &batch) const {
  if (config.lengths == Lengths::uniform)
    return {row, head, batch};
  Index firstQuery = isPacked() ? queryLengths.read({batch}) : Index(0);
  Index firstKey = firstKeyOf(batch);
  return {row, head, batch, firstQuery, queriesOf(batch), firstKey, keysOf(batch)};
}

ForwardTile ForwardProblem::tileAt(const Position &position) const {
  ForwardTile tile;
  tile.row = position[0];
  tile.sequence = {.batch = position[2], .head = position[1], .queries = sq, .keys = sk};
  tile.kvHead = tile.sequence.head / (heads / kvHeads);
  if (config.lengths != Lengths::uniform) {
    tile.sequence.firstQuery = position[3];
    tile.sequence.queries = position[4];
    tile.sequence.firstKey = position[5];
    tile.sequence.keys = position[6];
  }
  QueryRange rows = {tile.row, min(tile.row + config.bq, tile.sequence.queries) - 1};
  tile.keys = KeyTiles(mask.seen(tile.sequence, rows), tile.sequence.keys, config.bk);
  return tile;
}

Slice ForwardProblem::rowsOf(const Global &tensor, const Sequence &sequence, const Index &first,
                             const Index &row, int64_t rows, const Index &head,
                             const Columns &columns) const {
  if (isPacked())
    return tensor.tile({first + row, head, columns.first}, {rows, 1, columns.count});
  return tensor.tile({sequence.batch, row, head, columns.first}, {1, rows, 1, columns.count});
}

Slice ForwardProblem::queries(const ForwardTile &tile) const {
  return rowsOf(Q, tile.sequence, tile.sequence.firstQuery, tile.row, config.bq, tile.sequence.head,
                {0, config.d});
}

Slice ForwardProblem::keys(const ForwardTile &tile, const Index &j) const {
  return rowsOf(K, tile.sequence, tile.sequence.firstKey, j * config.bk, config.bk, tile.kvHead,
                {0, config.d});
}

Slice ForwardProblem::values(const ForwardTile &tile, const Index &j, const Columns &columns) const {
  return values(tile.sequence, tile.kvHead, j * config.bk, config.bk, columns);
}

Slice ForwardProblem::values(const Sequence &sequence, const Index &kvHead, const Index &row, int64_t count,
                             const Columns &columns) const {
  Slice rows = rowsOf(V, sequence, sequence.firstKey, row, count, kvHead, columns);
  // What lies behind a sequence's last key may be no number, and weights of 0 do not remove that.
  if (config.lengths == Lengths::uniform)
    return rows;
  return rows.limited(isPacked() ? 0 : 1, sequence.firstKey + sequence.keys);
}

static constexpr std::string_view whyDisjoint = "a block works on a tile of queries once";

Slice ForwardProblem::output(const ForwardTile &tile, const Columns &columns) const {
  Slice rows =
      rowsOf(O, tile.sequence, tile.sequence.firstQuery, tile.row, config.bq, tile.sequence.head, columns);
  if (isPacked())
    rows = rows.limited(0, tile.sequence.firstQuery + tile.sequence.queries);
  return rows.disjoint(whyDisjoint);
}

Slice ForwardProblem::logSums(const ForwardTile &tile) const {
  if (!isPacked())
    return LSE.tile({tile.sequence.batch, tile.sequence.head, tile.row}, {1, 1, config.bq})
        .disjoint(whyDisjoint);
  return LSE.tile({tile.sequence.head, tile.sequence.firstQuery + tile.row}, {1, config.bq})
      .limited(1, tile.sequence.firstQuery + tile.sequence.queries)
      .disjoint(whyDisjoint);
}

Fragment ForwardProblem::factor(const Global &of, const Index &batch, const Index &head) const {
  Fragment number = k.fragment(f32, {1, 1});
  copy(of.tile({batch, head}, {1, 1}), number);
  return number;
}

ForwardProblem::Scale ForwardProblem::scale() const {
  if (!config.hasBytes())
    return {{}, isCapped() ? log2e : unit * log2e};
  Fragment ofTile = k.fragment(f32, {1, 1}).named("scale");
  Operand softmax = isCapped() ? Operand(log2e) : Operand(ofTile);
  return {std::move(ofTile), softmax}; // a copy would be another variable
}

void ForwardProblem::setScale(Scale &scale, const ForwardTile &tile) const {
  if (config.hasBytes())
    scale.ofTile = factor(scaleQ, tile.sequence.batch, tile.sequence.head) *
                   factor(scaleK, tile.sequence.batch, tile.kvHead) * (unit * (isCapped() ? 1 : log2e));
}

FragmentValue ForwardProblem::scores(const FragmentValue &products, const Scale &scale, Loc loc) const {
  if (!isCapped())
    return products;
  return config.hasBytes() ? softCapped(products, scale.ofTile, config.softCap, loc)
                           : softCapped(products, unit, config.softCap, loc);
}

FragmentValue ForwardProblem::masked(const ForwardTile &tile, const FragmentValue &scores, const Index &j,
                                     Loc loc) const {
  return where(
      [&](Index r, Index x) {
        Index first = j * config.bk;
        Positions query(k, tile.row + r, tile.row, {config.bq, 1}), key(k, first + x, first, {1, config.bk});
        return mask.visible(tile.sequence, query, key) && key < tile.sequence.keys;
      },
      scores, -inf, loc);
}

ForwardProblem::Result ForwardProblem::finish(const ForwardTile &tile, const FragmentValue &o,
                                              const FragmentValue &sum, const FragmentValue &base) const {
  double ofLog = config.logBase == LogBase::e ? ln2 : 1;
  auto divided = [&](const FragmentValue &rows, const FragmentValue &by) {
    // A division for each row, not for each element.
    return rows * divideOrZero(
                      config.hasBytes() ? Operand(factor(scaleV, tile.sequence.batch, tile.kvHead)) : 1, by);
  };
  Result result;
  if (config.sink == AttentionSink::none) {
    result = {divided(o, sum), (log2(sum) + base) * ofLog};
  } else {
    Fragment extra = k.fragment(f32, {1, 1}).named("sink");
    copy(sink.tile({tile.sequence.head}, {1}), extra);
    FragmentValue score = extra * log2e, top = max(base, score), from = finiteOrZero(top);
    FragmentValue keep = exp2(base - from), total = sum * keep + exp2(score - from);
    result = {divided(o * keep, total), (log2(total) + from) * ofLog};
  }
  if (config.lengths != Lengths::padded)
    return result;
  auto exists = [&](Index r, Index) { return tile.row + r < tile.sequence.queries; };
  return {where(exists, result.o, 0), where(exists, result.logSum, -inf)};
}

} // namespace tlc::kernels
