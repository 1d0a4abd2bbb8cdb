// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws kernels whose roles meet at rings.
#include "test/differential/Generator.h"

using namespace tlc;
using namespace tlc::differential;

bool Generator::roles(Body &body) {
  (void)body;
  return false;
}
