// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters of sharded sequences, and attention of whole ones for the queries of a rank.
#include "kernels/attention/registry/ShardedSequences.h"

#include "kernels/attention/problem/Describe.h"
#include "runtime/support/Math.h"
#include "runtime/target/Hardware.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <numeric>

namespace tlc::kernels {

std::vector<Parameter> shardParameters(const std::string &length) {
  std::vector<Parameter> all = extentParameters(length);
  for (Parameter &each : all)
    if (each.name == "sq" || each.name == "sk")
      each.description += " on each rank, or room for those of packed sequences";
  std::vector<Parameter> packed = packedParameters();
  packed[0].description = "queries of packed sequences, of which ranks have parts, instead of b";
  packed[1].description = "their keys; none: as many";
  all.insert(all.end(), packed.begin(), packed.end());
  all.push_back({"ranks", "devices that run it together", Parameter::Kind::constant, "1", 1, maxRanks});
  all.push_back(choiceParameter("order", "which rows of sequences a rank has: a part, or one from each end",
                                {"contiguous", "zigzag"}));
  all.push_back(choiceParameter("gather",
                                "what fetches the keys of other ranks: a launch before attention, or copy "
                                "engines beside it",
                                {"launch", "copy_engine"}));
  all.push_back(choiceParameter("exchange",
                                "what ranks send: keys to all, all rows of some heads and their results "
                                "back, or keys from neighbour to neighbour",
                                {"gather", "heads", "ring"}));
  return all;
}

void readShards(const Parameters &values, AttentionProblem &problem) {
  problem.shards = values.choice("order") == "zigzag" ? ShardOrder::zigzag : ShardOrder::contiguous;
  const std::string_view exchange = values.choice("exchange");
  problem.exchange = exchange == "heads"  ? RankExchange::heads
                     : exchange == "ring" ? RankExchange::ring
                                          : RankExchange::gather;
  problem.ranks = values.constant("ranks");
  problem.gather = values.choice("gather") == "copy_engine" ? KeyGather::copyEngine : KeyGather::launch;
  problem.lengths = values.list("varlen") ? Lengths::packed : Lengths::uniform;
}

namespace {
int64_t sumOf(const std::vector<int64_t> &lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
}

/// Rows of packed sequences that each rank has room for, at least.
int64_t leastRoom(const Parameters &values, const std::vector<int64_t> &lengths) {
  const int64_t parts = values.choice("order") == "zigzag" ? partsOfRank(ShardOrder::zigzag)
                                                           : partsOfRank(ShardOrder::contiguous);
  return ceilDiv(sumOf(lengths), values.constant("ranks") * parts) * parts;
}

std::string conflictOfRoom(const Parameters &values, const AttentionExtents &e) {
  for (const auto &[name, what, rows, lengths] :
       {std::tuple("sq", "queries", e.sq, e.queries), {"sk", "keys", e.sk, e.keys}}) {
    if (const int64_t all = sumOf(lengths); all > maxExtent)
      return fmt::format("expected at most {} {} of all packed sequences, but got {}", maxExtent, what, all);
    if (const int64_t least = leastRoom(values, lengths); rows < least)
      return fmt::format(
          "expected {} of at least {} because the {} {} of all packed sequences are divided among {} "
          "ranks, but got {}",
          name, least, sumOf(lengths), what, values.constant("ranks"), rows);
    if (const int64_t most = maxExtent / values.constant("ranks"); rows > most)
      return fmt::format(
          "expected {} of at most {} because masks count the {} of all {} ranks in 32 bits, but got {}", name,
          most, what, values.constant("ranks"), rows);
  }
  return {};
}
} // namespace

AttentionExtents rankExtentsOf(const Parameters &values) {
  AttentionExtents e = {.b = values.size("b"),
                        .sq = values.size("sq"),
                        .sk = values.size("sk"),
                        .h = values.size("h"),
                        .hkv = values.size("hkv")};
  if (!values.list("varlen"))
    return e;
  e.queries = *values.list("varlen");
  e.keys = values.list("varlen_k").value_or(e.queries);
  e.b = int64_t(e.queries.size());
  if (values.isDefault("sq"))
    e.sq = leastRoom(values, e.queries);
  if (values.isDefault("sk"))
    e.sk = leastRoom(values, e.keys);
  return e;
}

std::string conflictOfShards(const AttentionProblem &problem, const Parameters &values) {
  const AttentionExtents e = rankExtentsOf(values);
  const int64_t ranks = values.constant("ranks");
  if (std::string heads = conflictOfHeads(e.h, e.hkv); !heads.empty())
    return heads;
  if (std::string options = conflictOf(problem); !options.empty())
    return options;
  if (std::string lengths = conflictOfPacked(values, {"b"}); !lengths.empty())
    return lengths;
  if (std::string room = conflictOfRoom(values, e); !room.empty())
    return room;
  if (*problem.shards == ShardOrder::zigzag && (e.sq % 2 != 0 || e.sk % 2 != 0))
    return fmt::format("expected even sq and sk with order = zigzag because a rank has two parts of a "
                       "sequence, of the same length, but got sq = {} and sk = {}",
                       e.sq, e.sk);
  if (problem.exchangesHeads() && problem.gather == KeyGather::copyEngine)
    return "expected gather = launch with exchange = heads because no keys are gathered, but got gather = "
           "copy_engine";
  if (problem.passesKeys() && problem.gather == KeyGather::copyEngine)
    return "expected gather = launch with exchange = ring because no keys are gathered, and copy engines "
           "pass them "
           "on, but got gather = copy_engine";
  if (problem.exchangesHeads() && e.hkv < ranks)
    return fmt::format(
        "expected exchange = gather, or at least as many heads of K and V as ranks because each "
        "rank computes some with exchange = heads, but got hkv = {} and ranks = {}",
        e.hkv, ranks);
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

AttentionExtents ShardedSequences::computedExtents() const {
  AttentionExtents computed = wholeExtents();
  if (problem.passesKeys())
    return ofRank;
  if (!problem.exchangesHeads()) {
    computed.sq = ofRank.sq;
    return computed;
  }
  computed.hkv = ceilDiv(ofRank.hkv, ranks);
  computed.h = computed.hkv * (ofRank.h / ofRank.hkv);
  return computed;
}

int64_t ShardedSequences::rankOfHead(int64_t head) const {
  const int64_t kvHead = head / (ofRank.h / ofRank.hkv);
  int64_t rank = 0;
  while ((rank + 1) * ofRank.hkv / ranks <= kvHead)
    ++rank;
  return rank;
}

std::vector<double> ShardedSequences::sinksFor(int64_t rank, std::span<const std::vector<double>> tensors,
                                               size_t number) const {
  if (problem.sink == AttentionSink::none)
    return {};
  const size_t perRank = tensors.size() / size_t(ranks);
  std::vector<double> sinks;
  for (int64_t head = 0; head < ofRank.h; ++head) {
    const int64_t owner = problem.exchangesHeads() ? rankOfHead(head) : rank;
    sinks.push_back(tensors[size_t(owner) * perRank + number][size_t(head)]);
  }
  return sinks;
}

int64_t ShardedSequences::placeOf(int64_t row, int64_t rows, int64_t rank) const {
  if (*problem.shards == ShardOrder::contiguous)
    return rank * rows + row;
  int64_t part = rows / partsOfRank(*problem.shards);
  return row < part ? rank * part + row : (2 * ranks - 1 - rank) * part + row - part;
}

void ShardedSequences::setPadding(TensorSpec &spec, int64_t rank) const {
  constexpr size_t ofRows = 2; // axes that tensors with rows have: heads x rows, or rows x heads x columns
  if (problem.lengths != Lengths::packed || spec.shape.size() < ofRows)
    return;
  constexpr std::array ofKeys = {"K", "V", "dK", "dV"};
  const bool isOfKeys = std::ranges::find(ofKeys, spec.name) != ofKeys.end();
  const int64_t all = sumOf(isOfKeys ? ofRank.keys : ofRank.queries);
  const bool isOfNumbers = spec.shape.size() == ofRows;
  const int64_t rows = isOfNumbers ? spec.shape[1] : spec.shape[0];
  int64_t rowSize = 1;
  if (!isOfNumbers)
    for (size_t axis = 1; axis < spec.shape.size(); ++axis)
      rowSize *= spec.shape[axis];
  spec.isPadding = [=, own = *this](int64_t element) {
    return own.placeOf(element / rowSize % rows, rows, rank) >= all;
  };
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
    const int64_t rowSize = int64_t(own.size()) / (batches() * rows);
    for (int64_t batch = 0; batch < batches(); ++batch)
      for (int64_t row = 0; row < rows; ++row)
        std::copy_n(own.begin() + (batch * rows + row) * rowSize, rowSize,
                    all.begin() + (batch * rows * ranks + placeOf(row, rows, rank)) * rowSize);
  }
  return all;
}

ShardedAttention::ShardedAttention(ShardedSequences given, std::span<const std::vector<double>> tensors)
    : sequences(std::move(given)), shape(sequences.wholeShape()),
      q(sequences.joined(tensors, 0, sequences.ofRank.sq)),
      k(sequences.joined(tensors, 1, sequences.ofRank.sk)),
      v(sequences.joined(tensors, 2, sequences.ofRank.sk)) {
  const size_t number = sequences.problem.lengths == Lengths::packed ? 5 : 3; // after values and begins
  for (int64_t rank = 0; rank < sequences.ranks; ++rank)
    sinks.push_back(sequences.sinksFor(rank, tensors, number));
}

std::vector<double> ShardedAttention::outputs(int64_t rank, std::span<const int64_t> elements) const {
  std::vector<int64_t> places =
      sequences.placesOf(elements, rank, sequences.ofRank.sq, shape.h * shape.problem.dv);
  return referenceAttention(shape, q, k, v, sinks[size_t(rank)], places);
}

std::vector<double> ShardedAttention::logSums(int64_t rank, std::span<const int64_t> elements) const {
  return referenceLogSumExp(shape, q, k, sinks[size_t(rank)], sequences.linesOf(elements, rank));
}

} // namespace tlc::kernels
