// SPDX-License-Identifier: Apache-2.0
/// \file
/// What entries of the registry on sequences that several ranks have in common: parameters, and the ranks'
/// tensors as parts of those of whole sequences, which references take.
#pragma once

#include "kernels/attention/registry/SequenceParameters.h"

#include <optional>

namespace tlc::kernels {

/// `b`, `sq` and `sk` of each rank, `h`, `hkv`, lengths of packed sequences, `ranks`, `order`, `gather` and
/// `exchange`.
std::vector<Parameter> shardParameters(const std::string &length);
void readShards(const Parameters &values, AttentionProblem &problem);
/// Of each rank, but for the lengths of packed sequences, which are those of all ranks.
AttentionExtents rankExtentsOf(const Parameters &values);
/// What is wrong with numbers of heads and rows, and with options together; empty if nothing is.
std::string conflictOfShards(const AttentionProblem &problem, const Parameters &values);

/// What is benchmarked.
std::vector<Definitions> shardedSuite();

class ShardedSequences {
public:
  ShardedSequences(const AttentionProblem &problem, AttentionExtents ofRank, int64_t ranks)
      : problem(problem), ofRank(std::move(ofRank)), ranks(ranks) {}

  /// Rows of all ranks.
  AttentionExtents wholeExtents() const;
  /// What a rank computes in a launch, or the most that one does.
  AttentionExtents computedExtents() const;
  AttentionShape wholeShape() const { return attentionShape(problem, wholeExtents()); }
  /// Says which elements of a rank's tensor are of rows that no packed sequence has.
  void setPadding(TensorSpec &spec, int64_t rank) const;

  /// Where elements of a rank's tensor, b x rows x heads x length, are in that of all ranks. `rowSize` is
  /// heads x length.
  std::vector<int64_t> placesOf(std::span<const int64_t> elements, int64_t rank, int64_t rows,
                                int64_t rowSize) const;
  /// The lines that elements of a rank's LSE, b x h x sq, stand for in whole sequences.
  std::vector<int64_t> linesOf(std::span<const int64_t> elements, int64_t rank) const;

  /// Tensor `number` of each rank, b x rows x ..., in the order of sequences; `tensors` are those of all
  /// ranks, as many of each. Of one rank only if `onlyOf` is given: the others' rows are zeros.
  std::vector<double> joined(std::span<const std::vector<double>> tensors, size_t number, int64_t rows,
                             std::optional<int64_t> onlyOf = {}) const;

  /// The rank that computes a head, where they are exchanged.
  int64_t rankOfHead(int64_t head) const;
  /// What counts for the queries of a rank, of tensors of sinks: where heads are exchanged, those of the
  /// ranks that compute them. None if there are no sinks; `number` is theirs among the tensors of a rank.
  std::vector<double> sinksFor(int64_t rank, std::span<const std::vector<double>> tensors,
                               size_t number) const;

  const AttentionProblem problem;
  const AttentionExtents ofRank;
  const int64_t ranks;

private:
  /// Of tensors; packed ones are together.
  int64_t batches() const { return problem.lengths == Lengths::packed ? 1 : ofRank.b; }
  /// Of a row of a rank's sequence, in the whole one, or of packed ones, among those of all ranks.
  int64_t placeOf(int64_t row, int64_t rows, int64_t rank) const;
};

/// O and LSE of the queries of each rank. The first tensors of a rank are those of `inputSpecs`.
class ShardedAttention {
public:
  ShardedAttention(ShardedSequences sequences, std::span<const std::vector<double>> tensors);

  std::vector<double> outputs(int64_t rank, std::span<const int64_t> elements) const;
  std::vector<double> logSums(int64_t rank, std::span<const int64_t> elements) const;

private:
  ShardedSequences sequences;
  AttentionShape shape;
  std::vector<std::vector<double>> sinks; ///< for the queries of each rank
  std::vector<double> q, k, v;
};

} // namespace tlc::kernels
