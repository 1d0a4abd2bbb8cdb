// SPDX-License-Identifier: Apache-2.0
/// \file
/// Counts wavefronts of shared-memory accesses and chooses staging placements by them.
#include "dialects/layout/BankModel.h"

#include "runtime/support/Math.h"

#include <algorithm>
#include <functional>

using namespace tlc;

namespace {

int64_t accessBytes(const SharedLayout &shared, int64_t elements) {
  return std::max<int64_t>(1, elements * shared.elementBits() / 8);
}

/// The wavefronts of one phase: the most words any bank has to deliver.
int64_t phaseWavefronts(std::span<const std::optional<int64_t>> addresses, int64_t width) {
  // As many lanes as read no more than all banks deliver at once.
  std::array<int64_t, sharedBanks> words;
  size_t count = 0;
  for (const std::optional<int64_t> &address : addresses)
    if (address)
      for (int64_t byte = 0; byte < std::max(width, sharedBankBytes); byte += sharedBankBytes)
        words[count++] = (*address + byte) / sharedBankBytes;
  std::sort(words.begin(), words.begin() + count);
  std::array<int64_t, sharedBanks> load = {};
  for (size_t i = 0; i < count; ++i)
    load[size_t(words[i] % sharedBanks)] += i == 0 || words[i] != words[i - 1];
  return *std::max_element(load.begin(), load.end());
}

/// Placements of at most twice the bytes that the elements take, plain rows first.
std::vector<SharedLayout> stagingCandidates(const Shape &shape, int elementBits) {
  std::vector<SharedLayout> candidates;
  int rank = int(shape.size());
  auto add = [&](const RowPlacement &rows) {
    Result<SharedLayout> layout = SharedLayout::create(shape, elementBits, rows);
    if (layout && (candidates.empty() || layout->totalBytes() <= 2 * candidates.front().totalBytes()))
      candidates.push_back(*layout);
  };
  for (int axis = rank - 1; axis >= std::max(0, rank - 2); --axis) {
    for (int64_t padding : {0, 4, 16})
      if (isMultipleOf(padding * 8, elementBits)) // or elements of the next row lie askew
        add({axis, shape[size_t(axis)], Swizzle::none, padding});
    for (Swizzle swizzle : {Swizzle::bytes32, Swizzle::bytes64, Swizzle::bytes128})
      add({axis, swizzleSpan(swizzle) * 8 / elementBits, swizzle});
  }
  return candidates;
}

} // namespace

BankCost &BankCost::operator+=(const BankCost &other) {
  wavefronts += other.wavefronts;
  ideal += other.ideal;
  return *this;
}

BankCost tlc::bankCost(std::span<const std::optional<int64_t>, lanesPerWarp> addresses, int64_t width) {
  size_t lanesPerPhase = size_t(std::min<int64_t>(lanesPerWarp, sharedWavefrontBytes / width));
  BankCost cost;
  for (size_t first = 0; first < addresses.size(); first += lanesPerPhase) {
    int64_t wavefronts = phaseWavefronts(addresses.subspan(first, lanesPerPhase), width);
    cost += {wavefronts, wavefronts > 0 ? 1 : 0};
  }
  return cost;
}

int64_t tlc::sharedVectorElements(const FragmentLayout &fragment, const SharedLayout &shared) {
  int64_t widest = std::max<int64_t>(1, maxSharedVectorBytes * 8 / shared.elementBits());
  return std::min({powerOf2Factor(fragment.contiguousAlong(shared.contiguousAxis())),
                   powerOf2Factor(shared.contiguousElements()), widest});
}

BankCost tlc::bankCost(const FragmentLayout &fragment, const SharedLayout &shared) {
  int64_t vector = sharedVectorElements(fragment, shared);
  size_t axis = size_t(shared.contiguousAxis());
  BankCost cost;
  for (int64_t reg = 0; reg < fragment.registersPerThread(); ++reg) {
    // A vector starts in the same registers of all threads.
    if (!isMultipleOf(fragment.coordinatesOf({reg, 0, 0})[axis], vector))
      continue;
    std::array<std::optional<int64_t>, lanesPerWarp> addresses;
    for (int64_t lane = 0; lane < lanesPerWarp; ++lane) {
      Coordinates at = fragment.coordinatesOf({reg, lane, 0});
      if (std::equal(at.begin(), at.end(), shared.shape().begin(), std::less()))
        addresses[size_t(lane)] = shared.byteOffset(at);
    }
    cost += bankCost(addresses, accessBytes(shared, vector));
  }
  return cost;
}

SharedLayout tlc::stagingLayout(const FragmentLayout &writer, const FragmentLayout &reader,
                                const Shape &shape, int elementBits) {
  std::vector<SharedLayout> candidates = stagingCandidates(shape, elementBits);
  assert(!candidates.empty() && "every tile of rank 1 or more has a plain placement");
  auto costOf = [&](const SharedLayout &layout) {
    return std::pair(bankCost(writer, layout).wavefronts + bankCost(reader, layout).wavefronts,
                     layout.totalBytes());
  };
  // The first of the best.
  size_t best = 0;
  auto least = costOf(candidates.front());
  for (size_t i = 1; i < candidates.size(); ++i)
    if (auto cost = costOf(candidates[i]); cost < least) {
      best = i;
      least = cost;
    }
  return candidates[best];
}
