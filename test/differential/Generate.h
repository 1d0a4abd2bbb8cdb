// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws programs.
#pragma once

#include "test/differential/Draw.h"
#include "test/differential/ProgramTree.h"

namespace tlc::differential {

struct DrawnProgram {
  ProgramTree tree;
  FeatureSet features;
};

/// The program of a seed, which is the same everywhere; with `forced` wherever that is possible.
DrawnProgram generate(uint64_t seed, std::optional<Feature> forced = {});

} // namespace tlc::differential
