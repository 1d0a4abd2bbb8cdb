// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the programs of a run had in them.
#pragma once

#include "test/differential/Compare.h"
#include "test/differential/Draw.h"

#include <map>

namespace tlc::differential {

class Coverage {
public:
  void add(const FeatureSet &features, const Outcome &outcome);
  /// Operations, remarks and features with the number of programs that had them; pairs that none had.
  void print() const;

private:
  std::map<std::string, uint64_t> operations, remarks;
  std::array<std::array<uint64_t, featureCount>, featureCount> pairs = {};
};

} // namespace tlc::differential
