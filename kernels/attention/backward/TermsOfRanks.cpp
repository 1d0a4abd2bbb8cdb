// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where terms are, and their sums.
#include "kernels/attention/backward/TermsOfRanks.h"

namespace tlc::kernels {

using namespace dsl;

namespace {
constexpr int64_t rowsTogether = 32; ///< that a block sums up at once, of one head
}

TermsOfRanks::TermsOfRanks(Scope &k, const ShardedKeys &shards, std::string_view name, Global result,
                           int64_t length, ElementType type, int64_t rowsOfBox)
    : shards(&shards), result(std::move(result)), length(length), type(type), rowsBefore(rowsOfBox),
      terms(k.symmetric(name, type,
                        {shards.ranks * shards.parts * shards.batches, rowsBefore + shards.partLength(),
                         shards.kvHeads, length},
                        {.use = TensorUse::workspace, .alignment = 16})) {}

Index TermsOfRanks::matrixOf(const Index &from, const Index &part, const Index &batch) const {
  return (from * shards->parts + part) * shards->batches + batch;
}

void TermsOfRanks::forEachBox(const Sequence &sequence, const Index &head, const Index &row, int64_t count,
                              const ColumnRange &columns,
                              const std::function<void(const Slice &)> &body) const {
  const bool isPacked = shards->sequences.isPacked();
  Index first = sequence.firstKey + row,
        end = min(sequence.firstKey + min(row + count, sequence.keys), shards->allRows());
  shards->forEachPart(first, end, [&](const ShardedKeys::Part &part) {
    Index matrix = matrixOf(shards->rank, part.ofRank, isPacked ? Index(0) : sequence.batch);
    Slice box = terms.of(part.owner)
                    .tile({matrix, rowsBefore + first - part.first, head, columns.first},
                          {1, count, 1, columns.count});
    body(isPacked ? box.limited(1, rowsBefore + end - part.first) : box);
  });
}

void TermsOfRanks::sumRows(Scope &k, const Index &batch, const Index &head, const Index &part,
                           const Index &first) const {
  Fragment sum = k.fragment(f32, {rowsTogether, length}), term = k.fragment(type, {rowsTogether, length});
  const Sequences &sequences = shards->sequences;
  Shape shape = {1, rowsTogether, 1, length};
  Index begin = part * shards->partLength(), count = sequences.rowsOfPart(Axis::keys, shards->rank, part);
  Slice rows = result.tile(sequences.withoutBatch<Index>({batch, begin + first, head, 0}),
                           sequences.withoutBatch(shape));
  k.loop(shards->ranks, [&](Index from) {
    copy(terms.of(shards->rank)
             .tile({matrixOf(from, part, batch), rowsBefore + first, head, 0}, shape)
             .limited(1, rowsBefore + count),
         term);
    sum += term.to(f32);
  });
  copy(sum.to(type), rows.limited(sequences.axisOf(1), begin + count));
}

void TermsOfRanks::sumUp(Scope &k, std::span<const TermsOfRanks> gradients, const RankArrival &sent) {
  const ShardedKeys &shards = *gradients.front().shards;
  Index ofPart = ceilDiv(shards.partLength(), rowsTogether),
        all = shards.batches * shards.kvHeads * shards.parts * ofPart;
  k.warps(4);
  auto [block] = k.grid(max(min(all, 4 * k.multiprocessors()), 1));
  sent.tellFirst();
  sent.wait();
  k.loop({block, all, k.blocks()}, [&](Index number) {
    Index head = number % shards.kvHeads, piece = number / shards.kvHeads,
          part = piece / ofPart % shards.parts;
    for (const TermsOfRanks &gradient : gradients)
      gradient.sumRows(k, piece / ofPart / shards.parts, head, part, piece % ofPart * rowsTogether);
  });
}

} // namespace tlc::kernels
