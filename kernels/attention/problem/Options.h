// SPDX-License-Identifier: Apache-2.0
/// \file
/// What attention computes, with every convention spelt out: the options that forward, decoding and backward
/// have in common, and their limits.
#pragma once

#include "runtime/support/ElementType.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

namespace tlc::kernels {

/// Where query i stands among the keys: a causal query sees those up to there.
enum class CausalAlignment : uint8_t {
  none,  ///< at i + keys - queries, and it sees later ones, too
  left,  ///< at i
  right, ///< at i + keys - queries: the last query sees the last key
};

/// Which keys a query sees; all that is stated must hold.
struct MaskConfig {
  CausalAlignment causal = CausalAlignment::none;
  /// How many keys before and after its own place.
  std::optional<int64_t> windowLeft = {}, windowRight = {};
  /// A sequence is a noisy half and a clean half, each in blocks of so many: a noisy query sees its own noisy
  /// block and clean blocks before it, a clean query clean blocks up to its own.
  std::optional<int64_t> blockCausal = {};

  /// Whether some query may not see some key.
  bool hidesPairs() const {
    return causal != CausalAlignment::none || windowLeft || windowRight || blockCausal;
  }
};

/// The unit of the logarithm of a row's sum of exponentials.
enum class LogBase : uint8_t { e, two };

/// A further score of each head, whose key has the value 0.
enum class AttentionSink : uint8_t {
  none,
  perHead, ///< from an input of f32, one number per head, not to be scaled; LSE counts it
};

/// How many of a sequence's rows there are.
enum class Lengths : uint8_t {
  uniform, ///< all that the tensors have
  padded,  ///< inputs `lengths_q` and `lengths_k` say it: rows beyond are not read, and rows of O and LSE
           ///< beyond are 0 and -inf
  packed, ///< Q is rows x h x d, and so on, LSE h x rows: sequences one after the other; sequence n begins at
          ///< element n of `begins_q` and `begins_k` and ends where the next one begins
};

/// How rows of sequences are spread over ranks, each of which has as many.
enum class ShardOrder : uint8_t {
  contiguous, ///< parts in the order of the ranks
  zigzag, ///< of twice as many parts as ranks, rank r has number r and the r-th from the end: causal queries
          ///< of all ranks see as many keys
};
/// Parts of a sequence that a rank has, of the same length.
constexpr int64_t partsOfRank(ShardOrder order) { return order == ShardOrder::zigzag ? 2 : 1; }

/// How a rank gets the keys and values of the others.
enum class KeyGather : uint8_t {
  launch,     ///< a launch loads and stores them before attention begins
  copyEngine, ///< copy engines copy them, while attention works on what has arrived
};

/// What ranks that share sequences send each other.
enum class RankExchange : uint8_t {
  gather, ///< each gets all keys, and computes its own queries
  heads,  ///< each gets all rows of some heads, computes these, and sends results to the ranks of the rows
  ring,   ///< keys go from neighbour to neighbour, and each computes its own queries with what it has
};

/// How a program is written; all compute the same.
enum class AttentionForm : uint8_t {
  explicitRoles, ///< roles, rings and asynchronous products written by hand; tensors aligned to 16 bytes
  plain,         ///< pipelined loops; the compiler makes of them what the target has
  splitKeys, ///< of forward, on tensors as the explicit form: blocks see parts of the keys, as in decoding,
             ///< and a second launch joins the parts
};

// What options may be.
/// Exponents are f32 numbers, whose rounding is multiplied by the scale. (Usual ones are at most 1.)
inline constexpr double largestScale = 1024;
/// A score below the cap is a difference of numbers as large as the cap. (Usual ones are 15 to 100.)
inline constexpr double leastSoftCap = 1.0 / 1024, largestSoftCap = 1024;
/// Keys beside a query's own place that it sees, and positions of a block; sums of two of them are positions.
inline constexpr int64_t longestDistance = int64_t(1) << 30;
/// Elements of a row of Q and K, and of V and O, at most.
inline constexpr int64_t longestRow = 576, longestValueRow = 512;
/// Rows have a multiple of so many elements.
inline constexpr int64_t rowGranularity = 8;

/// From an element of a row to the next one.
enum class ElementStride : uint8_t {
  one,
  any, ///< the tensor has a further axis, of extent 1, so that rows may have any stride, also 0
};

/// What is computed, but for extents, which the program takes as they come.
struct AttentionProblem {
  ElementType dtype = ElementType::bf16; ///< of Q, K, V: f16, bf16, or e4m3 with a factor for each head
  ElementType out = ElementType::bf16;   ///< of O where they are e4m3; else their type
  int64_t d = 128;                       ///< length of a row of Q and K
  int64_t dv = 128;                      ///< of V and O
  MaskConfig mask = {};
  std::optional<double> scale = {}; ///< of scores, above 0; 1 / sqrt(d) if it is not given
  double softCap = 0;               ///< scores become cap tanh(score / cap); 0: they stay
  AttentionSink sink = AttentionSink::none;
  LogBase logBase = LogBase::e; ///< of LSE
  /// The chance that a weight becomes 0, rounded to the nearest multiple of 2^-16. Philox
  /// (logits/Dropout.h) chooses such weights, with seed and offset from an input `philox`. The others are
  /// divided by 1 less that chance, after they were summed up.
  double dropout = 0;
  static constexpr int philoxRounds = 7; ///< the fewest that pass all tests of BigCrush
  Lengths lengths = Lengths::uniform;
  std::optional<ShardOrder> shards = {}; ///< of sequences that several ranks have
  KeyGather gather = KeyGather::launch;  ///< where keys are gathered
  RankExchange exchange = RankExchange::gather;
  int64_t ranks = 1; ///< of a ring: the program is for so many

  bool gathersKeys() const { return shards && exchange == RankExchange::gather; }
  bool passesKeys() const { return shards && exchange == RankExchange::ring; }
  bool exchangesHeads() const { return shards && exchange == RankExchange::heads; }
  bool hasBytes() const { return dtype == ElementType::e4m3; }
  ElementType outputType() const { return hasBytes() ? out : dtype; }
  double scoreScale() const { return scale.value_or(1 / std::sqrt(double(d))); }
  bool isCapped() const { return softCap != 0; }
  bool drops() const { return dropout != 0; }
  /// What weights that are kept are multiplied by.
  double keptFactor() const { return 65536 / (65536 - double(leastKept())); }
  /// The least 16 random bits that keep a weight.
  uint32_t leastKept() const { return uint32_t(std::min(std::round(std::ldexp(dropout, 16)), 65535.0)); }
};

} // namespace tlc::kernels
