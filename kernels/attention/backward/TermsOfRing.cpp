// SPDX-License-Identifier: Apache-2.0
/// \file
/// Terms of the gradients of keys that are passed around.
#include "kernels/attention/backward/TermsOfRing.h"

#include <algorithm>
#include <fmt/format.h>

namespace tlc::kernels {

using namespace dsl;

namespace {
constexpr int64_t rowsTogether = 32; ///< that a block adds at once, of one head
constexpr int64_t slots = 2;         ///< steps whose terms are in a rank's memory
} // namespace

RingTurns::RingTurns(Scope &k, const RingKeys &ring) : k(k), ring(&ring) {
  const SymmetricOptions counts = {.use = TensorUse::workspace, .initial = Initial::zero};
  sent = k.symmetric("terms_sent", i32, {ring.ranks}, counts);
  added = k.symmetric("terms_added", i32, {ring.ranks}, counts);
  blocks = k.workspace("terms_blocks", i32, {ring.ranks}, {Initial::zero});
}

void RingTurns::meet(int64_t step) const {
  if (step == 0) // the terms are of this rank
    return;
  const int64_t next = step + 1, before = step - 1;
  const bool reusesRoom = next < ring->ranks; // that of the step before this one
  // What earlier launches have done is complete when the first block comes here.
  k.when(take(blocks, {step}) == 0, [&] {
    announce(sent.of(ring->ownerAt(step)), {step});
    if (reusesRoom)
      announce(added.of(ring->userAt(next)), {before});
  });
  waitFor(sent.of(ring->rank), {step}, 1);
  if (reusesRoom)
    waitFor(added.of(ring->rank), {before}, 1);
}

TermsOfRing::TermsOfRing(Scope &k, const RingKeys &ring, std::string_view name, Global result, int64_t length,
                         ElementType type)
    : ring(&ring), result(std::move(result)), length(length), type(type),
      terms(k.symmetric(fmt::format("{}_terms", name), type,
                        {ring.batches * std::min(ring.ranks, slots), ring.rowsOfRank, ring.kvHeads, length},
                        {.use = TensorUse::workspace, .alignment = 16})) {
  if (ring.ranks > 1)
    sum = k.workspace(fmt::format("{}_sum_of_terms", name), f32,
                      {ring.batches, ring.rowsOfRank, ring.kvHeads, length});
}

Slice TermsOfRing::termsOf(const Index &rank, int64_t step, const Index &batch, const Index &head,
                           const Index &row, int64_t count, const ColumnRange &columns) const {
  return terms.of(rank).tile({ring->batches * (step % slots) + batch, row, head, columns.first},
                             {1, count, 1, columns.count});
}

Slice TermsOfRing::box(int64_t step, const Index &batch, const Index &head, const Index &row, int64_t count,
                       const ColumnRange &columns) const {
  return termsOf(ring->ownerAt(step), step, batch, head, row, count, columns);
}

void TermsOfRing::addRows(Scope &k, int64_t step, const Index &batch, const Index &head,
                          const Index &first) const {
  Fragment all = k.fragment(f32, {rowsTogether, length}), term = k.fragment(type, {rowsTogether, length});
  Shape shape = {1, rowsTogether, 1, length};
  std::vector<Index> origin = {batch, first, head, 0};
  copy(termsOf(ring->rank, step, batch, head, first, rowsTogether, {0, length}), term);
  if (step > 0)
    copy(sum.tile(origin, shape), all);
  all += term.to(f32);
  if (step + 1 < ring->steps())
    copy(all, sum.tile(origin, shape));
  else
    copy(all.to(type), result.tile(origin, shape));
}

void TermsOfRing::add(Scope &k, std::span<const TermsOfRing> gradients, const RingTurns &turns,
                      int64_t step) {
  const RingKeys &ring = *gradients.front().ring;
  Index ofSequence = ceilDiv(ring.rowsOfRank, rowsTogether), all = ring.batches * ring.kvHeads * ofSequence;
  k.warps(4);
  auto [block] = k.grid(max(min(all, 4 * k.multiprocessors()), 1));
  turns.meet(step);
  k.loop({block, all, k.blocks()}, [&](Index number) {
    Index head = number % ring.kvHeads, piece = number / ring.kvHeads;
    for (const TermsOfRing &gradient : gradients)
      gradient.addRows(k, step, piece / ofSequence, head, piece % ofSequence * rowsTogether);
  });
}

} // namespace tlc::kernels
