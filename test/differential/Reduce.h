// SPDX-License-Identifier: Apache-2.0
/// \file
/// Makes a program that fails smaller, as long as it fails in the same way.
#pragma once

#include "test/differential/Compare.h"

namespace tlc::differential {

struct Reduced {
  ProgramTree tree;
  Outcome outcome;
};

/// Runs the candidates in processes of their own. A program that does not fail comes back as it is.
Reduced reduce(const ProgramTree &tree, const CompareOptions &options);

} // namespace tlc::differential
