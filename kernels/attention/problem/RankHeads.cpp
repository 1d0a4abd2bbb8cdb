// SPDX-License-Identifier: Apache-2.0
/// \file
/// The exchange of rows of all heads for all rows of some heads.
#include "kernels/attention/problem/RankHeads.h"

#include <fmt/format.h>

namespace tlc::kernels {

using namespace dsl;

namespace {
constexpr int64_t rowsOfPiece = 64; ///< that a block copies at once, of one head
}

RankHeads::RankHeads(Scope &k, ShardOrder order, const Sequences &sequences, const Index &allHeads,
                     const Index &allKvHeads)
    : k(k), sequences(sequences), parts(kernels::partsOfRank(order)), rank(k.rank()), ranks(k.ranks()),
      batches(sequences.batches()), ownQueries(sequences.queriesOfRank()), ownKeys(sequences.keysOfRank()),
      allHeads(allHeads), allKvHeads(allKvHeads) {
  firstKvHead = rank * allKvHeads / ranks;
  kvHeads = (rank + 1) * allKvHeads / ranks - firstKvHead;
  Index group = allHeads / allKvHeads;
  firstHead = firstKvHead * group;
  heads = kvHeads * group;
}

RankHeads::Tensor RankHeads::declare(std::string_view name, ElementType element, Axis axis,
                                     std::optional<int64_t> columns, ElementStride stride,
                                     TensorUse use) const {
  auto shape = [&](const Index &rows, const Index &ofHeads) -> std::vector<Index> {
    if (columns)
      return sequences.withoutBatch<Index>({batches, rows, ofHeads, *columns});
    return sequences.withoutBatch<Index>({batches, ofHeads, rows});
  };
  const Index &rows = rowsOfRank(axis);
  std::vector<Index> own = shape(rows, axis == Axis::queries ? allHeads : allKvHeads);
  SymmetricOptions options = {.use = use};
  if (stride == ElementStride::any)
    own.emplace_back(1);
  if (stride == ElementStride::any || !columns) // rows of the others are aligned or not whatever these are
    options.alignment = sizeInBytes(element);
  return {.ofRanks = k.symmetric(name, element, own, options),
          .whole = k.workspace(fmt::format("whole_{}", name), element, shape(rows * ranks, headsOf(axis)),
                               {.alignment = 16}),
          .axis = axis,
          .columns = columns,
          .stride = stride};
}

Global RankHeads::input(std::string_view name, ElementType element, Axis axis, std::optional<int64_t> columns,
                        ElementStride stride) {
  return inputs.emplace_back(declare(name, element, axis, columns, stride, TensorUse::input)).whole;
}

Global RankHeads::output(std::string_view name, ElementType element, Axis axis,
                         std::optional<int64_t> columns) {
  return outputs.emplace_back(declare(name, element, axis, columns, ElementStride::one, TensorUse::output))
      .whole;
}

Index RankHeads::piecesOf(const Tensor &tensor) const {
  return batches * headsOf(tensor.axis) * parts * ceilDiv(rowsOfRank(tensor.axis) / parts, rowsOfPiece);
}

void RankHeads::copyRows(const Tensor &tensor, const Index &batch, const Index &head, const Index &owner,
                         const Index &ofRank, const Index &first, bool toWhole) const {
  // Outputs have no rows after those of packed sequences.
  Index length = rowsOfRank(tensor.axis) / parts,
        count = toWhole ? length : sequences.rowsOfPart(tensor.axis, owner, ofRank);
  auto rowsFrom = [&](const Global &rows, const Index &ofHead, const Index &begin, ElementStride stride) {
    auto boxOf = [&](const std::vector<Index> &origin, const Shape &shape, int64_t axisOfRows) {
      return rows.tile(sequences.withoutBatch(origin), sequences.withoutBatch(shape))
          .limited(sequences.axisOf(axisOfRows), begin + count);
    };
    if (!tensor.columns)
      return boxOf({batch, ofHead, begin + first}, {1, 1, rowsOfPiece}, 2);
    std::vector<Index> origin = {batch, begin + first, ofHead, 0};
    Shape shape = {1, rowsOfPiece, 1, *tensor.columns};
    if (stride == ElementStride::any) {
      origin.emplace_back(0);
      shape.push_back(1);
    }
    return boxOf(origin, shape, 1);
  };
  const Index &firstOfHeads = tensor.axis == Axis::queries ? firstHead : firstKvHead;
  Slice own = rowsFrom(tensor.ofRanks.of(owner), firstOfHeads + head, ofRank * length, tensor.stride),
        whole = rowsFrom(tensor.whole, head, placeOfPart(owner, ofRank, ranks) * length, ElementStride::one);
  constexpr std::string_view whyDisjoint = "a piece is copied once";
  toWhole ? copy(own, whole.disjoint(whyDisjoint)) : copy(whole, own.disjoint(whyDisjoint));
}

void RankHeads::exchange(const std::vector<Tensor> &tensors, bool toWhole) const {
  Index most = 0;
  for (const Tensor &tensor : tensors)
    most = max(most, ranks * piecesOf(tensor));
  k.warps(4);
  auto [block] = k.grid(max(min(most, 4 * k.multiprocessors()), 1));
  for (const Tensor &tensor : tensors) {
    Index ofRank = piecesOf(tensor), ofHeads = headsOf(tensor.axis),
          ofPart = ceilDiv(rowsOfRank(tensor.axis) / parts, rowsOfPiece);
    k.loop({block, ranks * ofRank, k.blocks()}, [&](Index number) {
      // Ranks begin with themselves, so that they do not all work on one.
      Index owner = (rank + number / ofRank) % ranks, inRank = number % ofRank;
      Index head = inRank % ofHeads, piece = inRank / ofHeads;
      copyRows(tensor, piece / ofPart / parts, head, owner, piece / ofPart % parts,
               piece % ofPart * rowsOfPiece, toWhole);
    });
  }
}

} // namespace tlc::kernels
