// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters of sharded sequences, and attention of whole ones for the queries of a rank.
#include "kernels/attention/registry/ShardedSequences.h"

#include "kernels/attention/problem/Describe.h"
#include "runtime/target/Hardware.h"

#include <algorithm>
#include <fmt/format.h>

namespace tlc::kernels {

std::vector<Parameter> shardParameters(const std::string &length) {
  std::vector<Parameter> all = extentParameters(length);
  for (Parameter &each : all)
    if (each.name == "sq" || each.name == "sk")
      each.description += " on each rank";
  all.push_back({"ranks", "devices that run it together", Parameter::Kind::constant, "1", 1, maxRanks});
  all.push_back(choiceParameter("order", "which rows of sequences a rank has: a part, or one from each end",
                                {"contiguous", "zigzag"}));
  all.push_back(choiceParameter("gather",
                                "what fetches the keys of other ranks: a launch before attention, or copy "
                                "engines beside it",
                                {"launch", "copy_engine"}));
  return all;
}

ShardOrder shardOrderOf(const Parameters &values) {
  return values.choice("order") == "zigzag" ? ShardOrder::zigzag : ShardOrder::contiguous;
}

KeyGather keyGatherOf(const Parameters &values) {
  return values.choice("gather") == "copy_engine" ? KeyGather::copyEngine : KeyGather::launch;
}

AttentionExtents rankExtentsOf(const Parameters &values) {
  return {.b = values.size("b"),
          .sq = values.size("sq"),
          .sk = values.size("sk"),
          .h = values.size("h"),
          .hkv = values.size("hkv")};
}

std::string conflictOfShards(const AttentionProblem &problem, const AttentionExtents &e) {
  if (std::string heads = conflictOfHeads(e.h, e.hkv); !heads.empty())
    return heads;
  if (std::string options = conflictOf(problem); !options.empty())
    return options;
  if (*problem.shards == ShardOrder::zigzag && (e.sq % 2 != 0 || e.sk % 2 != 0))
    return fmt::format("expected even sq and sk with order = zigzag because a rank has two parts of a "
                       "sequence, of the same length, but got sq = {} and sk = {}",
                       e.sq, e.sk);
  return {};
}

std::vector<Definitions> shardedSuite() {
  std::vector<Definitions> rows;
  for (const char *rowsOfRank : {"8192", "16384", "32768"})
    rows.push_back({{"b", "1"},
                    {"sq", rowsOfRank},
                    {"sk", rowsOfRank},
                    {"h", "32"},
                    {"hkv", "8"},
                    {"causal", "right"},
                    {"order", "zigzag"}});
  return rows;
}

AttentionExtents ShardedSequences::wholeExtents() const {
  AttentionExtents whole = ofRank;
  whole.sq *= ranks;
  whole.sk *= ranks;
  return whole;
}

int64_t ShardedSequences::placeOf(int64_t row, int64_t rows, int64_t rank) const {
  if (*problem.shards == ShardOrder::contiguous)
    return rank * rows + row;
  int64_t part = rows / partsOfRank(*problem.shards);
  return row < part ? rank * part + row : (2 * ranks - 1 - rank) * part + row - part;
}

std::vector<int64_t> ShardedSequences::placesOf(std::span<const int64_t> elements, int64_t rank, int64_t rows,
                                                int64_t rowSize) const {
  std::vector<int64_t> places;
  for (int64_t element : elements) {
    int64_t row = element / rowSize, batch = row / rows;
    places.push_back((batch * rows * ranks + placeOf(row % rows, rows, rank)) * rowSize + element % rowSize);
  }
  return places;
}

std::vector<int64_t> ShardedSequences::linesOf(std::span<const int64_t> elements, int64_t rank) const {
  return placesOf(kernels::linesOf(elements, ofRank.h, ofRank.sq), rank, ofRank.sq, ofRank.h);
}

std::vector<double> ShardedSequences::joined(std::span<const std::vector<double>> tensors, size_t number,
                                             int64_t rows, std::optional<int64_t> onlyOf) const {
  const size_t perRank = tensors.size() / size_t(ranks);
  std::vector<double> all(size_t(ranks) * tensors[number].size());
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const std::vector<double> &own = tensors[size_t(rank) * perRank + number];
    if (own.empty() || (onlyOf && *onlyOf != rank))
      continue;
    const int64_t rowSize = int64_t(own.size()) / (ofRank.b * rows);
    for (int64_t batch = 0; batch < ofRank.b; ++batch)
      for (int64_t row = 0; row < rows; ++row)
        std::copy_n(own.begin() + (batch * rows + row) * rowSize, rowSize,
                    all.begin() + (batch * rows * ranks + placeOf(row, rows, rank)) * rowSize);
  }
  return all;
}

ShardedAttention::ShardedAttention(ShardedSequences given, std::span<const std::vector<double>> tensors)
    : sequences(std::move(given)), shape(sequences.wholeShape()), tensors(tensors),
      q(sequences.joined(tensors, 0, sequences.ofRank.sq)),
      k(sequences.joined(tensors, 1, sequences.ofRank.sk)),
      v(sequences.joined(tensors, 2, sequences.ofRank.sk)) {}

std::span<const double> ShardedAttention::sinkOf(int64_t rank) const {
  if (sequences.problem.sink == AttentionSink::none)
    return {};
  constexpr size_t afterValues = 3;
  return tensors[size_t(rank) * (tensors.size() / size_t(sequences.ranks)) + afterValues];
}

std::vector<double> ShardedAttention::outputs(int64_t rank, std::span<const int64_t> elements) const {
  std::vector<int64_t> places =
      sequences.placesOf(elements, rank, sequences.ofRank.sq, shape.h * shape.problem.dv);
  return referenceAttention(shape, q, k, v, sinkOf(rank), places);
}

std::vector<double> ShardedAttention::logSums(int64_t rank, std::span<const int64_t> elements) const {
  return referenceLogSumExp(shape, q, k, sinkOf(rank), sequences.linesOf(elements, rank));
}

} // namespace tlc::kernels
