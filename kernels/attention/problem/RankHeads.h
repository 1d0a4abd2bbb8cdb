// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sequences whose rows several ranks have, exchanged so that each rank has all rows of some heads.
#pragma once

#include "compiler/dsl/dsl.h"
#include "kernels/attention/problem/Sequences.h"

#include <optional>
#include <string_view>
#include <vector>

namespace tlc::kernels {

/// Heads of K and V are divided as evenly as they can be: rank r has those from r * hkv / ranks up to
/// (r + 1) * hkv / ranks, and the heads of Q that share them.
class RankHeads {
public:
  /// `heads` and `kvHeads` are those of all ranks.
  RankHeads(dsl::Scope &k, ShardOrder order, const Sequences &sequences, const dsl::Index &heads,
            const dsl::Index &kvHeads);

  /// Declares a symmetric tensor of each rank's rows, b x rows x heads x columns, or b x heads x rows where
  /// there are no columns, of packed sequences without b. Returns a workspace of this rank's heads with all
  /// rows in their order.
  dsl::Global input(std::string_view name, ElementType element, Axis axis, std::optional<int64_t> columns,
                    ElementStride stride = ElementStride::one);
  /// Likewise; what is in the workspace goes to the ranks that have the rows.
  dsl::Global output(std::string_view name, ElementType element, Axis axis, std::optional<int64_t> columns);

  /// Bodies of launches: before those that read inputs, and after those that write outputs. Ranks have
  /// exchanged all when all have ended both.
  void gather() const { exchange(inputs, true); }
  void giveBack() const { exchange(outputs, false); }

  dsl::Index firstHead, heads, kvHeads; ///< of this rank

private:
  struct Tensor {
    dsl::Symmetric ofRanks; ///< some rows of all heads
    dsl::Global whole;      ///< all rows of some heads
    Axis axis;
    std::optional<int64_t> columns;
    ElementStride stride; ///< of `ofRanks`
  };
  Tensor declare(std::string_view name, ElementType element, Axis axis, std::optional<int64_t> columns,
                 ElementStride stride, dsl::TensorUse use) const;
  void exchange(const std::vector<Tensor> &tensors, bool toWhole) const;
  /// Rows `first` and those after it of a part, of a head of this rank.
  void copyRows(const Tensor &tensor, const dsl::Index &batch, const dsl::Index &head,
                const dsl::Index &owner, const dsl::Index &ofRank, const dsl::Index &first,
                bool toWhole) const;
  const dsl::Index &headsOf(Axis axis) const { return axis == Axis::queries ? heads : kvHeads; }
  const dsl::Index &rowsOfRank(Axis axis) const { return axis == Axis::queries ? ownQueries : ownKeys; }
  /// Pieces of a rank's rows, of this rank's heads.
  dsl::Index piecesOf(const Tensor &tensor) const;

  dsl::Scope &k;
  const Sequences &sequences;
  int64_t parts; ///< of the rows of a rank
  dsl::Index rank, ranks, batches, ownQueries, ownKeys, allHeads, allKvHeads, firstKvHead;
  std::vector<Tensor> inputs, outputs;
};

} // namespace tlc::kernels
