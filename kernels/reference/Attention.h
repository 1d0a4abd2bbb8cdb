// SPDX-License-Identifier: Apache-2.0
/// \file
/// What attention computes, with every convention spelt out, and its values in
/// double precision, row by row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

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
  /// How many keys before and behind its own place.
  std::optional<int64_t> windowLeft = {}, windowRight = {};
  /// A sequence is a noisy half and a clean half, each in blocks of so many: a noisy query sees its own noisy
  /// block and clean blocks before it, a clean query clean blocks up to its own.
  std::optional<int64_t> blockCausal = {};

  /// Whether some query may not see some key.
  bool hidesPairs() const {
    return causal != CausalAlignment::none || windowLeft || windowRight || blockCausal;
  }
  bool visible(int64_t query, int64_t key, int64_t queries, int64_t keys) const;
  /// How many pairs of a query and a key are visible.
  int64_t visiblePairs(int64_t queries, int64_t keys) const;
};

/// The unit of the logarithm of a row's sum of exponentials.
enum class LogBase : uint8_t { e, two };

// What options may be.
/// Exponents are f32 numbers, whose rounding is multiplied by the scale. (Usual ones are at most 1.)
inline constexpr double largestScale = 1024;
/// A score below the cap is a difference of numbers as large as the cap. (Usual ones are 15 to 100.)
inline constexpr double leastSoftCap = 1.0 / 1024, largestSoftCap = 1024;
/// Keys beside a query's own place that it sees, and positions of a block; sums of two of them are positions.
inline constexpr int64_t longestDistance = int64_t(1) << 30;

/// A further score of each head, whose key has the value 0.
enum class AttentionSink : uint8_t {
  none,
  perHead, ///< from an input of f32, one number per head, not to be scaled; LSE counts it
};

/// Rows of Q and of K of one sequence.
struct SequenceRows {
  int64_t firstQuery = 0, queries = 0, firstKey = 0, keys = 0;
};

/// Q is rows x h x d, K rows x hkv x d, V rows x hkv x dv, O rows x h x dv: sequences one after the other.
struct AttentionShape {
  std::vector<SequenceRows> sequences = {};
  int64_t h = 1, hkv = 1, d = 0, dv = 0;
  double scale = 1;   ///< of scores
  double softCap = 0; ///< scores become cap tanh(score / cap); 0: they stay
  MaskConfig mask = {};
  LogBase logBase = LogBase::e;
};

/// Of both products, visible pairs alone.
double attentionForwardFlops(const AttentionShape &shape);

/// Elements of softmax(scale Q Kᵀ, masked) V; queries that see nothing, and rows of no sequence, give zeros.
/// `sink` has a further score of each head, whose key has the value 0; empty: there is none.
std::vector<double> referenceAttention(const AttentionShape &shape, std::span<const double> q,
                                       std::span<const double> k, std::span<const double> v,
                                       std::span<const double> sink, std::span<const int64_t> elements);
/// Logarithms of the sums of exponentials of `lines`, each a row of Q times h plus a head; -inf where nothing
/// is seen.
std::vector<double> referenceLogSumExp(const AttentionShape &shape, std::span<const double> q,
                                       std::span<const double> k, std::span<const double> sink,
                                       std::span<const int64_t> lines);

/// The lines that elements of LSE, b x h x rows, stand for.
std::vector<int64_t> linesOf(std::span<const int64_t> elements, int64_t heads, int64_t rows);

} // namespace tlc::kernels
