// SPDX-License-Identifier: Apache-2.0
/// \file
/// Counts.
#include "test/differential/Coverage.h"

#include <fmt/format.h>

using namespace tlc;
using namespace tlc::differential;

void Coverage::add(const FeatureSet &features, const Outcome &outcome) {
  for (const std::string &operation : outcome.operations)
    ++operations[operation];
  for (const std::string &remark : outcome.remarks)
    ++remarks[remark];
  for (size_t a = 0; a < featureCount; ++a)
    for (size_t b = a; b < featureCount; ++b)
      pairs[a][b] += features.test(a) && features.test(b);
}

void Coverage::print() const {
  fmt::print("\noperations of phase input, and programs that have them\n");
  for (const auto &[name, count] : operations)
    fmt::print("  {:<28}{:>8}\n", name, count);
  fmt::print("what the compiler made and remarked\n");
  for (const auto &[name, count] : remarks)
    fmt::print("  {:>8} {}\n", count, name);
  fmt::print("features\n");
  for (size_t a = 0; a < featureCount; ++a)
    fmt::print("  {:<28}{:>8}\n", nameOf(Feature(a)), pairs[a][a]);
  fmt::print("pairs of features that no program had\n");
  size_t missing = 0;
  for (size_t a = 0; a < featureCount; ++a)
    for (size_t b = a + 1; b < featureCount; ++b)
      if (pairs[a][b] == 0) {
        ++missing;
        fmt::print("  {} {}\n", nameOf(Feature(a)), nameOf(Feature(b)));
      }
  fmt::print("{} of {} pairs missing\n", missing, featureCount * (featureCount - 1) / 2);
}
