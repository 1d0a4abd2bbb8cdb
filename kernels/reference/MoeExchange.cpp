// SPDX-License-Identifier: Apache-2.0
/// \file
/// Routes, one row after the other.
#include "kernels/reference/MoeExchange.h"

namespace tlc::kernels {

MoeRouting referenceRouting(const MoeExtents &e, std::span<const std::vector<double>> experts) {
  struct Route {
    int64_t rank, slot;
  };
  std::vector<std::vector<Route>> routes(static_cast<size_t>(e.experts)); // to each expert
  for (int64_t rank = 0; rank < e.ranks; ++rank)
    for (int64_t slot = 0; slot < e.tokens * e.topk; ++slot)
      if (double expert = experts[size_t(rank)][size_t(slot)]; expert >= 0 && expert < double(e.experts))
        routes[size_t(expert)].push_back({rank, slot});
  MoeRouting routing;
  routing.rows.resize(size_t(e.ranks));
  routing.ends.resize(size_t(e.ranks));
  routing.places.assign(size_t(e.ranks), std::vector<double>(size_t(e.tokens * e.topk * 2), -1));
  for (int64_t expert = 0; expert < e.expertsOfRank() * e.ranks; ++expert) {
    const int64_t owner = expert / e.expertsOfRank();
    std::vector<MoeRouting::Source> &rows = routing.rows[size_t(owner)];
    if (expert < e.experts) {
      routing.counts.push_back(double(routes[size_t(expert)].size()));
      for (auto [rank, slot] : routes[size_t(expert)]) {
        if (int64_t(rows.size()) == e.capacity)
          break;
        routing.places[size_t(rank)][size_t(2 * slot)] = double(owner);
        routing.places[size_t(rank)][size_t(2 * slot + 1)] = double(rows.size());
        rows.push_back({rank, slot / e.topk});
      }
    }
    routing.ends[size_t(owner)].push_back(double(rows.size()));
  }
  return routing;
}

std::vector<double> referenceCombine(const MoeExtents &e, std::span<const std::vector<double>> rows,
                                     std::span<const double> places, std::span<const double> weights,
                                     std::span<const int64_t> elements) {
  std::vector<double> sums;
  for (int64_t element : elements) {
    const int64_t token = element / e.hidden, column = element % e.hidden;
    double &sum = sums.emplace_back(0);
    for (int64_t slot = token * e.topk; slot < (token + 1) * e.topk; ++slot)
      if (auto from = int64_t(places[size_t(2 * slot)]); from >= 0) {
        auto row = int64_t(places[size_t(2 * slot + 1)]);
        sum += weights[size_t(slot)] * rows[size_t(from)][size_t(row * e.hidden + column)];
      }
  }
  return sums;
}

} // namespace tlc::kernels
