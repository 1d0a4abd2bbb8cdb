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
    : k(k), problem(problem), batches(sequences.count), kvHeads(kvHeads), rank(k.rank()), ranks(k.ranks()),
      rowsOfRank(sequences.keysOfRank()), parts(*problem.shards == ShardOrder::zigzag ? 2 : 1),
      K(declare("K", problem.d)), V(declare("V", problem.dv)) {
  SymmetricOptions counts = {.use = TensorUse::workspace, .initial = Initial::zero};
  finished = k.symmetric("finished", i32, {1}, counts);
  ended = k.workspace("ended", i32, {1}, {Initial::zero});
}

ShardedKeys::Rows ShardedKeys::declare(std::string_view name, int64_t columns) const {
  std::string gathered = "gathered_" + std::string(name);
  return {
      k.symmetric(name, problem.dtype, {batches, rowsOfRank, kvHeads, columns}, {.use = TensorUse::input}),
      k.workspace(gathered, problem.dtype, {batches, rowsOfRank * ranks, kvHeads, columns},
                  {.alignment = 16}),
      columns};
}

Index ShardedKeys::partLength() const { return rowsOfRank / parts; }

void ShardedKeys::copyRows(const Rows &rows, const Index &batch, const Index &head, const Index &owner,
                           const Index &part, const Index &first) const {
  Index length = partLength(), from = part * length;
  // The second part of a rank is as far from the end as the first one is from the beginning.
  Index to = where(part == 0, owner, 2 * ranks - 1 - owner) * length;
  Shape shape = {1, rowsOfPiece, 1, rows.columns};
  copy(rows.own.of(owner).tile({batch, from + first, head, 0}, shape).limited(1, from + length),
       rows.gathered.tile({batch, to + first, head, 0}, shape).limited(1, to + length));
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
    copyRows(K, batch, head, owner, part, first);
    copyRows(V, batch, head, owner, part, first);
  });
  k.when(take(ended, {0}) == k.blocks() - 1,
         [&] { k.loop(ranks, [&](Index other) { announce(finished.of(other), {0}); }); });
}

void ShardedKeys::waitForReaders() const {
  [[maybe_unused]] auto [block] = k.grid(1);
  waitFor(finished.of(rank), {0}, ranks);
}

} // namespace tlc::kernels
