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

namespace {
/// `number` makes of an index what places are computed with.
template <class Place> Place rowsBefore(const RankRows &own, const Place &place, const auto &number) {
  const int64_t parts = partsOfRank(own.order);
  Index length = own.rows / parts;
  auto inPart = [&](int64_t part) {
    Index begin = placeOfPart(own.rank, part, own.ranks) * length;
    return min(max(place - number(begin), number(0)), number(length));
  };
  return parts == 1 ? inPart(0) : inPart(0) + inPart(1);
}
} // namespace

Index RankRows::before(const Index &place) const {
  return rowsBefore(*this, place, [](const Index &number) { return number; });
}

FragmentValue RankRows::before(const FragmentValue &places) const {
  return rowsBefore(*this, places, [](const Index &number) { return number.to(i32); });
}

Sequences::Sequences(Scope &k, const AttentionProblem &problem) : lengths(problem.lengths) {
  if (isPacked()) {
    ends = k.dim("ends");
    count = ends - 1;
  } else {
    count = k.dim("b");
  }
  if (problem.shards)
    parts = partsOfRank(*problem.shards);
  queryRows = ownQueryRows = k.dim("sq", {.multipleOf = parts});
  keyRows = ownKeyRows = k.dim("sk", {.multipleOf = parts});
  if (!problem.shards)
    return;
  ranks = k.ranks();
  if (!problem.passesKeys())
    keyRows = keyRows * ranks;
  if (problem.exchangesHeads())
    queryRows = queryRows * ranks;
  else
    ownQueries = RankRows{*problem.shards, k.rank(), ranks, ownQueryRows};
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
  if (!isPacked())
    return lengthsOf(axis).read({batch});
  Index first = firstRowOf(axis, batch);
  return firstRowOf(axis, batch + 1) - first;
}

Index Sequences::firstRowOf(Axis axis, const Index &batch) const {
  return isPacked() ? rowsBefore(axis, begins(axis).read({batch})) : Index(0);
}

Index Sequences::rowsOfPart(Axis axis, const Index &owner, const Index &ofRank) const {
  Index length = (axis == Axis::queries ? ownQueryRows : ownKeyRows) / parts;
  if (!isPacked())
    return length;
  Index begin = placeOfPart(owner, ofRank, ranks) * length, end = begins(axis).read({count});
  return min(max(end - begin, 0), length);
}

namespace {
/// Of `Fields`.
enum Field : uint8_t { row, head, batch, firstQuery, queries, firstKey, keys, begin, allQueries };
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
  if (hasPlaces()) {
    const Global &all = begins(Axis::queries);
    fields.push_back(all.read({place.batch}));
    fields.push_back(all.read({place.batch + 1}) - fields.back());
  }
  return fields;
}

Sequence Sequences::sequenceOf(const Fields &fields) const {
  Sequence sequence = {
      .batch = fields[Field::batch], .head = fields[Field::head], .queries = queryRows, .keys = keyRows};
  if (ownQueries)
    sequence.allQueries = queryRows * ranks;
  if (!isUniform()) {
    sequence.firstQuery = fields[Field::firstQuery];
    sequence.queries = fields[Field::queries];
    sequence.firstKey = fields[Field::firstKey];
    sequence.keys = fields[Field::keys];
  }
  if (hasPlaces()) {
    sequence.begin = fields[Field::begin];
    sequence.allQueries = fields[Field::allQueries];
  }
  return sequence;
}

} // namespace tlc::kernels
