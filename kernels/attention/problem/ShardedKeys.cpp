// SPDX-License-Identifier: Apache-2.0
/// \file
/// The all-gather of keys and values.
#include "kernels/attention/problem/ShardedKeys.h"

namespace tlc::kernels {

using namespace dsl;

namespace {
constexpr int64_t rowsOfPiece = 64; ///< that a block copies at once, of one head
}

ShardedKeys::ShardedKeys(Scope &k, const AttentionProblem &problem, const Sequences &sequences,
                         const Index &kvHeads)
    : sequences(sequences), batches(sequences.batches()), kvHeads(kvHeads), rank(k.rank()), ranks(k.ranks()),
      parts(partsOfRank(*problem.shards)), k(k), problem(problem), rowsOfRank(sequences.keysOfRank()),
      K(declare("K", problem.d)), V(declare("V", problem.dv)) {
  if (problem.gather == KeyGather::copyEngine)
    arrived =
        k.symmetric("keys_arrived", i32, {ranks}, {.use = TensorUse::workspace, .initial = Initial::zero});
}

ShardedKeys::Rows ShardedKeys::declare(std::string_view name, int64_t columns) const {
  std::string gathered = "gathered_" + std::string(name);
  auto shape = [&](const Index &rows) {
    return sequences.withoutBatch<Index>({batches, rows, kvHeads, columns});
  };
  Symmetric own = k.symmetric(name, problem.dtype, shape(rowsOfRank), {.use = TensorUse::input});
  std::vector<Index> ofRanks = shape(rowsOfRank * ranks);
  if (problem.gather != KeyGather::copyEngine)
    return {own, {}, k.workspace(gathered, problem.dtype, ofRanks, {.alignment = 16}), columns};
  Symmetric ofAll =
      k.symmetric(gathered, problem.dtype, ofRanks, {.use = TensorUse::workspace, .alignment = 16});
  return {own, ofAll, ofAll.of(rank), columns};
}

Index ShardedKeys::allRows() const { return rowsOfRank * ranks; }
Index ShardedKeys::partLength() const { return rowsOfRank / parts; }

ShardedKeys::Part ShardedKeys::partAt(const Index &owner, const Index &ofRank) const {
  return {owner, ofRank, placeOfPart(owner, ofRank, ranks) * partLength()};
}

void ShardedKeys::forEachPart(const Index &row, const Index &end,
                              const std::function<void(const Part &)> &body) const {
  Index length = max(partLength(), 1);
  k.loop({row / length, ceilDiv(end, length)}, [&](Index place) {
    Index ofRank = place / ranks;
    body({where(ofRank == 0, place, 2 * ranks - 1 - place), ofRank, place * length});
  });
}

void ShardedKeys::copyRows(const Rows &rows, const Index &batch, const Index &head, const Part &part,
                           const Index &first) const {
  Index length = partLength(), from = part.ofRank * length;
  auto piece = [&](const Global &tensor, const Index &begin) {
    return tensor
        .tile(sequences.withoutBatch<Index>({batch, begin + first, head, 0}),
              sequences.withoutBatch<int64_t>({1, rowsOfPiece, 1, rows.columns}))
        .limited(sequences.axisOf(1), begin + length);
  };
  copy(piece(rows.own.of(part.owner), from), piece(rows.gathered, part.first));
}

void ShardedKeys::gather() const {
  Index ofPart = ceilDiv(partLength(), rowsOfPiece), ofRank = batches * kvHeads * parts * ofPart,
        all = ranks * ofRank;
  k.warps(4);
  auto [block] = k.grid(max(min(all, 4 * k.multiprocessors()), 1));
  k.loop({block, all, k.blocks()}, [&](Index number) {
    // Ranks begin with themselves, so that they do not all read from one.
    Index owner = (rank + number / ofRank) % ranks, inRank = number % ofRank;
    Index head = inRank % kvHeads, piece = inRank / kvHeads, part = piece / ofPart % parts,
          batch = piece / ofPart / parts, first = piece % ofPart * rowsOfPiece;
    copyRows(K, batch, head, partAt(owner, part), first);
    copyRows(V, batch, head, partAt(owner, part), first);
  });
}

void ShardedKeys::transferRows(const dsl::Transfer &transfer, const Rows &rows, const Index &to,
                               int64_t part) const {
  Index length = partLength(), place = part == 0 ? rank : 2 * ranks - 1 - rank;
  auto origin = [&](const Index &row) { return sequences.withoutBatch<Index>({0, row, 0, 0}); };
  transfer.copy({rows.own.of(rank), origin(part * length)}, {rows.ofAll.of(to), origin(place * length)},
                sequences.withoutBatch<Index>({batches, length, kvHeads, rows.columns}));
}

void ShardedKeys::transfer(std::string_view name) const {
  k.transfer(name, ranks, [&](const dsl::Transfer &transfer, const Index &number) {
    Index to = (rank + ranks - number) % ranks; // which needs this rank's part after `number` others
    for (int64_t part = 0; part < parts; ++part)
      for (const Rows *rows : {&K, &V})
        transferRows(transfer, *rows, to, part);
    transfer.set(arrived->of(to), {rank});
  });
}

void ShardedKeys::await(const Index &row, int64_t count, const std::optional<Index> &before) const {
  forEachPart(row, min(row + count, allRows()), [&](const Part &part) {
    auto wait = [&] { waitFor(arrived->of(rank), {part.owner}, 1); };
    if (before)
      k.when(part.first + partLength() <= *before || *before + count <= part.first, wait);
    else
      wait();
  });
}

} // namespace tlc::kernels
