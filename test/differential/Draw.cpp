// SPDX-License-Identifier: Apache-2.0
/// \file
/// Choices by weight.
#include "test/differential/Draw.h"

#include <algorithm>
#include <numeric>

namespace tlc::differential {

namespace {
struct FeatureRow {
  std::string_view name;
  int weight;
};
constexpr FeatureRow rows[] = {
#define TLC_FEATURE(name, weight) {#name, weight},
    TLC_DIFFERENTIAL_FEATURES(TLC_FEATURE)
#undef TLC_FEATURE
};
} // namespace

std::string_view nameOf(Feature feature) { return rows[size_t(feature)].name; }

std::optional<Feature> parseFeature(std::string_view name) {
  auto found = std::ranges::find(rows, name, &FeatureRow::name);
  return found == std::end(rows) ? std::nullopt : std::optional(Feature(found - std::begin(rows)));
}

size_t Draw::weighted(std::span<const int> weights) {
  int64_t all = std::accumulate(weights.begin(), weights.end(), int64_t(0));
  auto left = int64_t(below(uint64_t(all)));
  size_t place = 0;
  while (left >= weights[place])
    left -= weights[place++];
  return place;
}

bool Draw::wants(Feature feature) {
  bool drawn = chance(uint64_t(rows[size_t(feature)].weight));
  return drawn || forced == feature;
}

int Draw::weightOf(Feature feature) const {
  return rows[size_t(feature)].weight * (forced == feature ? 20 : 1);
}

} // namespace tlc::differential
