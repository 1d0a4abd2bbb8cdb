// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lengths of sequences, and tiles as numbers.
#include "kernels/attention/problem/Sequences.h"

namespace tlc::kernels {

using namespace dsl;

Index placeOfPart(const Index &owner, const Index &ofRank, const Index &ranks) {
  // The second part of a rank is as far from the end as the first one is from the beginning.
  return where(ofRank == 0, owner, 2 * ranks - 1 - owner);
}

Sequences::Sequences(Scope &k, const AttentionProblem &problem) : lengths(problem.lengths) {
  if (isPacked()) {
    ends = k.dim("ends");
    count = ends - 1;
  } else {
    count = k.dim("b");
  }
  DimensionFacts parts{.multipleOf = problem.shards ? partsOfRank(*problem.shards) : 1};
  queryRows = ownQueryRows = k.dim("sq", parts);
  keyRows = ownKeyRows = k.dim("sk", parts);
  if (problem.shards && !problem.passesKeys())
    keyRows = keyRows * k.ranks();
  if (problem.exchangesHeads())
    queryRows = queryRows * k.ranks();
}

void Sequences::declareLengths(Scope &k) {
  if (isUniform())
    return;
  Index extent = isPacked() ? ends : count;
  queryLengths = k.input(isPacked() ? "begins_q" : "lengths_q", i32, {extent});
  keyLengths = k.input(isPacked() ? "begins_k" : "lengths_k", i32, {extent});
}

Index Sequences::rowsOf(Axis axis, const Index &batch) const {
  if (isUniform())
    return rows(axis);
  Index first = lengthsOf(axis).read({batch});
  return isPacked() ? lengthsOf(axis).read({batch + 1}) - first : first;
}

Index Sequences::firstRowOf(Axis axis, const Index &batch) const {
  return isPacked() ? lengthsOf(axis).read({batch}) : Index(0);
}

namespace {
/// Of `Fields`.
enum Field : uint8_t { row, head, batch, firstQuery, queries, firstKey, keys };
} // namespace

Sequences::Fields Sequences::fieldsOf(Axis axis, const TilePlace &place) const {
  if (isUniform())
    return {place.row, place.head, place.batch};
  Index firstQuery = firstRowOf(Axis::queries, place.batch), firstKey = firstRowOf(Axis::keys, place.batch);
  Index queries = rowsOf(Axis::queries, place.batch), keys = rowsOf(Axis::keys, place.batch);
  Fields fields = {place.row, place.head, place.batch, firstQuery, queries, firstKey, keys};
  if (place.exists) {
    Index &own = fields[axis == Axis::queries ? Field::queries : Field::keys];
    own = where(*place.exists, own, Index(0));
  }
  return fields;
}

Sequence Sequences::sequenceOf(const Fields &fields) const {
  Sequence sequence = {
      .batch = fields[Field::batch], .head = fields[Field::head], .queries = queryRows, .keys = keyRows};
  if (!isUniform()) {
    sequence.firstQuery = fields[Field::firstQuery];
    sequence.queries = fields[Field::queries];
    sequence.firstKey = fields[Field::firstKey];
    sequence.keys = fields[Field::keys];
  }
  return sequence;
}

} // namespace tlc::kernels
