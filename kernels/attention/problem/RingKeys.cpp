// SPDX-License-Identifier: Apache-2.0
/// \file
/// The way of keys and values around the ring.
#include "kernels/attention/problem/RingKeys.h"

#include <algorithm>
#include <fmt/format.h>

namespace tlc::kernels {

using namespace dsl;

RingKeys::RingKeys(Scope &k, const AttentionProblem &problem, const Sequences &sequences,
                   const Index &kvHeads, int64_t alignment)
    : ranks(problem.ranks), batches(sequences.count), rowsOfRank(sequences.keysOfRank()), kvHeads(kvHeads),
      rank(k.rank()), k(k), left(ownerAt(1)), right(userAt(1)),
      K(declare(k, "K", problem, problem.d, alignment)), V(declare(k, "V", problem, problem.dv, alignment)) {
  const SymmetricOptions counts = {.use = TensorUse::workspace, .initial = Initial::zero};
  arrived = k.symmetric("keys_arrived", i32, {ranks}, counts);
  met = k.symmetric("neighbours_met", i32, {ranks}, counts);
}

RingKeys::Rows RingKeys::declare(Scope &k, std::string_view name, const AttentionProblem &problem,
                                 int64_t columns, int64_t alignment) const {
  const std::vector<Index> shape = {batches, rowsOfRank, kvHeads, columns};
  Rows rows = {.own =
                   k.symmetric(name, problem.dtype, shape, {.use = TensorUse::input, .alignment = alignment}),
               .slots = {},
               .columns = columns};
  for (int64_t slot = 0; slot < std::min<int64_t>(ranks - 1, 2); ++slot)
    rows.slots.push_back(k.symmetric(fmt::format("passed_{}_{}", name, slot), problem.dtype, shape,
                                     {.use = TensorUse::workspace, .alignment = 16}));
  return rows;
}

Global RingKeys::rowsAt(const Rows &rows, int64_t step, const Index &rank) {
  return (step == 0 ? rows.own : rows.slots[size_t((step - 1) % 2)]).of(rank);
}

void RingKeys::fetchNext(std::string_view name, int64_t step) const {
  const int64_t next = step + 1;
  if (next == ranks)
    return;
  k.transfer(fmt::format("{}_{}", name, next), 1, [&](const Transfer &transfer, const Index &) {
    for (const Rows *rows : {&K, &V})
      transfer.copy({rowsAt(*rows, step, left), {0, 0, 0, 0}}, {rowsAt(*rows, next, rank), {0, 0, 0, 0}},
                    {batches, rowsOfRank, kvHeads, rows->columns});
    transfer.set(arrived.of(rank), {step});
  });
}

void RingKeys::endStep(int64_t step, const Index &block) const {
  if (step + 1 == ranks)
    return;
  k.when(block == 0, [&] {
    waitFor(arrived.of(rank), {step}, 1);
    announce(met.of(left), {step});
    announce(met.of(right), {step});
    waitFor(met.of(rank), {step}, 2);
  });
}

} // namespace tlc::kernels
