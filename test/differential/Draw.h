// SPDX-License-Identifier: Apache-2.0
/// \file
/// Random choices that mean the same on every machine, and what programs are made of, each with a weight.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

namespace tlc::differential {

/// What a program may have. The number is how often, of a hundred occasions.
#define TLC_DIFFERENTIAL_FEATURES(X)                                                                         \
  X(i8, 8)                                                                                                   \
  X(i32, 10)                                                                                                 \
  X(i64, 6)                                                                                                  \
  X(f16, 18)                                                                                                 \
  X(bf16, 24)                                                                                                \
  X(f32, 40)                                                                                                 \
  X(f64, 8)                                                                                                  \
  X(e4m3, 8)                                                                                                 \
  X(e5m2, 4)                                                                                                 \
  X(u8, 4)                                                                                                   \
  X(u32, 3)                                                                                                  \
  X(i4, 4)                                                                                                   \
  X(u4, 2)                                                                                                   \
  X(e2m1, 4)                                                                                                 \
  X(rounded, 28)                                                                                             \
  X(rank1, 12)                                                                                               \
  X(rank3, 8)                                                                                                \
  X(oddExtent, 18)                                                                                           \
  X(largeExtent, 5)                                                                                          \
  X(grid, 75)                                                                                                \
  X(severalAxes, 40)                                                                                         \
  X(persistent, 22)                                                                                          \
  X(strided, 16)                                                                                             \
  X(cluster, 12)                                                                                             \
  X(blockRank, 50)                                                                                           \
  X(require, 6)                                                                                              \
  X(residents, 8)                                                                                            \
  X(loadRole, 30)                                                                                            \
  X(storeRole, 30)                                                                                           \
  X(writtenRole, 12)                                                                                         \
  X(warps, 20)                                                                                               \
  X(severalLaunches, 16)                                                                                     \
  X(workspace, 60)                                                                                           \
  X(interleaved, 2)                                                                                          \
  X(accumulatorOrder, 40)                                                                                    \
  X(panelStore, 45)                                                                                          \
  X(storedFactor, 40)                                                                                        \
  X(computedExtent, 12)                                                                                      \
  X(fixedDimension, 12)                                                                                      \
  X(multipleOf, 10)                                                                                          \
  X(zeroExtent, 4)                                                                                           \
  X(unitExtent, 5)                                                                                           \
  X(rowPadding, 20)                                                                                          \
  X(offset, 12)                                                                                              \
  X(alignment, 30)                                                                                           \
  X(anyStride, 8)                                                                                            \
  X(addresses, 12)                                                                                           \
  X(scalar, 10)                                                                                              \
  X(fillValue, 14)                                                                                           \
  X(infinity, 6)                                                                                             \
  X(notANumber, 25)                                                                                          \
  X(overflow, 12)                                                                                            \
  X(limit, 14)                                                                                               \
  X(unchecked, 25)                                                                                           \
  X(eviction, 10)                                                                                            \
  X(windows, 6)                                                                                              \
  X(shiftedOrigin, 14)                                                                                       \
  X(gather, 8)                                                                                               \
  X(scatter, 8)                                                                                              \
  X(gatheredAxes, 40)                                                                                        \
  X(indexRead, 8)                                                                                            \
  X(loop, 10)                                                                                                \
  X(loopWhile, 20)                                                                                           \
  X(pipelined, 22)                                                                                           \
  X(leanLaunch, 40)                                                                                          \
  X(leanLoop, 60)                                                                                            \
  X(nestedLoop, 45)                                                                                          \
  X(emptyLoop, 6)                                                                                            \
  X(firstRounds, 20)                                                                                         \
  X(steppedLoop, 16)                                                                                         \
  X(readStep, 12)                                                                                            \
  X(farLoop, 10)                                                                                             \
  X(negativeQuotient, 12)                                                                                    \
  X(manyStages, 35)                                                                                          \
  X(when, 9)                                                                                                 \
  X(otherwise, 40)                                                                                           \
  X(whenAny, 5)                                                                                              \
  X(reduction, 12)                                                                                           \
  X(scan, 6)                                                                                                 \
  X(argument, 25)                                                                                            \
  X(anyOrAll, 25)                                                                                            \
  X(positions, 8)                                                                                            \
  X(bitcast, 6)                                                                                              \
  X(otherWidth, 45)                                                                                          \
  X(reshape, 6)                                                                                              \
  X(bits, 14)                                                                                                \
  X(withoutSign, 50)                                                                                         \
  X(broadcast, 25)                                                                                           \
  X(where, 10)                                                                                               \
  X(wherePlace, 10)                                                                                          \
  X(conversion, 15)                                                                                          \
  X(directedRounding, 20)                                                                                    \
  X(saturation, 15)                                                                                          \
  X(function, 20)                                                                                            \
  X(product, 30)                                                                                             \
  X(registerFactor, 35)                                                                                      \
  X(integerProduct, 20)                                                                                      \
  X(tf32Product, 15)                                                                                         \
  X(sparseProduct, 12)                                                                                       \
  X(wideProduct, 3)                                                                                          \
  X(transposedLeft, 15)                                                                                      \
  X(transposedRight, 45)                                                                                     \
  X(warpPolicy, 20)                                                                                          \
  X(shared, 22)                                                                                              \
  X(transposedView, 20)                                                                                      \
  X(rowsView, 15)                                                                                            \
  X(columnsView, 60)                                                                                         \
  X(reshapedTile, 20)                                                                                        \
  X(sharedToShared, 40)                                                                                      \
  X(sharedToSlice, 20)                                                                                       \
  X(sliceToSlice, 4)                                                                                         \
  X(exchange, 45)                                                                                            \
  X(fill, 6)                                                                                                 \
  X(sharedIndex, 3)                                                                                          \
  X(sharedSlice, 10)                                                                                         \
  X(atomic, 7)                                                                                               \
  X(atomicTile, 30)                                                                                          \
  X(atomicFetch, 30)                                                                                         \
  X(counts, 35)                                                                                              \
  X(report, 5)                                                                                               \
  X(loadBack, 30)                                                                                            \
  X(tensorMemory, 8)                                                                                         \
  X(plainTcgen05, 12)                                                                                        \
  X(changedSum, 40)                                                                                          \
  X(roles, 16)                                                                                               \
  X(asyncCopy, 60)                                                                                           \
  X(twoConsumers, 35)                                                                                        \
  X(chainedChannels, 36)                                                                                     \
  X(sameSlots, 40)                                                                                           \
  X(twoProducers, 30)                                                                                        \
  X(putBranches, 25)                                                                                         \
  X(putStores, 30)                                                                                           \
  X(signals, 25)                                                                                             \
  X(heldSlots, 30)                                                                                           \
  X(roleRegisters, 40)                                                                                       \
  X(asyncProduct, 60)                                                                                        \
  X(turns, 70)                                                                                               \
  X(multicast, 60)                                                                                           \
  X(otherBlocks, 25)                                                                                         \
  X(barrier, 8)                                                                                              \
  X(namedBarrier, 6)                                                                                         \
  X(handshake, 25)                                                                                           \
  X(ranks, 10)                                                                                               \
  X(transfer, 40)                                                                                            \
  X(allRanks, 40)

enum class Feature : uint8_t {
#define TLC_FEATURE(name, weight) name,
  TLC_DIFFERENTIAL_FEATURES(TLC_FEATURE)
#undef TLC_FEATURE
};
inline constexpr size_t featureCount = 0
#define TLC_FEATURE(name, weight) +1
    TLC_DIFFERENTIAL_FEATURES(TLC_FEATURE)
#undef TLC_FEATURE
    ;
using FeatureSet = std::bitset<featureCount>;

std::string_view nameOf(Feature feature);
std::optional<Feature> parseFeature(std::string_view name);

class Draw {
public:
  /// Occasions for `forced` are always taken.
  explicit Draw(uint64_t seed, std::optional<Feature> forced = {}) : engine(seed), forced(forced) {}

  /// From 0 to `end` - 1.
  uint64_t below(uint64_t end) { return end < 2 ? 0 : engine() % end; }
  int64_t between(int64_t low, int64_t high) { return low + int64_t(below(uint64_t(high - low + 1))); }
  bool chance(uint64_t percent) { return below(100) < percent; }
  template <class T, size_t n> const T &oneOf(const T (&list)[n]) { return list[below(n)]; }
  template <class T> const T &oneOf(const std::vector<T> &list) { return list[below(list.size())]; }
  template <class T> T oneOf(std::initializer_list<T> list) { return list.begin()[below(list.size())]; }
  /// A place in `weights`, as often as it says.
  size_t weighted(std::span<const int> weights);
  size_t weighted(std::initializer_list<int> weights) {
    return weighted(std::span(weights.begin(), weights.size()));
  }
  uint64_t number() { return engine(); }

  /// Whether to have it here. It counts as drawn when `note` says so.
  bool wants(Feature feature);
  /// Whether occasions for it are always taken, so that there should be some.
  bool isForced(Feature feature) const { return forced == feature; }
  /// How much it is wanted beside others.
  int weightOf(Feature feature) const;
  void note(Feature feature) { drawn.set(size_t(feature)); }
  bool has(Feature feature) const { return drawn.test(size_t(feature)); }
  const FeatureSet &features() const { return drawn; }

private:
  std::mt19937_64 engine;
  std::optional<Feature> forced;
  FeatureSet drawn = {};
};

} // namespace tlc::differential
