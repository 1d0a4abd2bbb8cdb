// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention backward with every pair of its options, at small sizes.
#include "test/kernels/OptionPairs.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::kernels::test;
using namespace tlc::attention_matrix;

TEST_CASE("attention backward is right with every pair of its options", "[kernels][attention]") {
  checkPairs("attention_bwd", 8, backwardOptions(fewGradientRows(), fewMasks()), 1, 100);
}

// Of tools/test.sh long.
TEST_CASE("attention backward is right with every pair of all its options", "[.long]") {
  checkPairs("attention_bwd", 8, backwardOptions(gradientRows()), 1, 100);
}
