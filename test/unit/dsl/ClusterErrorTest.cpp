// SPDX-License-Identifier: Apache-2.0
/// \file
/// Mistakes with shared tiles of other blocks: every diagnostic, by its text.
#include "test/unit/dsl/Errors.h"

using namespace tlc;
using namespace tlc::dsl;

TEST_CASE("tiles of other blocks are of a cluster, and whole", "[dsl][errors]") {
  auto errorWith = [](int64_t blocks, const std::function<void(Scope &, Fragment &)> &body) {
    return errorOf([&](Scope &k) {
      if (blocks > 1)
        k.cluster(blocks);
      Fragment x = k.fragment(f32, {16, 8});
      body(k, x);
    });
  };
  auto tileOf = [](Scope &k, int64_t slots = 0) { return k.shared("t", f32, {16, 8}, {.slots = slots}); };
  CHECK(errorWith(1, [&](Scope &k, Fragment &x) { copy(tileOf(k).of(0), x); }) ==
        "copy: expected a kernel with clusters of at least 2 blocks because 't' is another block's, but "
        "'test' has 1; say k.cluster(blocks) before\n't' is declared here");
  CHECK(errorWith(2, [&](Scope &k, Fragment &x) { copy(x, tileOf(k).of(2)); }) ==
        "copy: expected a block of the cluster, from 0 to 1, but got block 2 for 't'\n't' is "
        "declared here");
  CHECK(errorWith(2, [&](Scope &k, Fragment &x) { copy(tileOf(k, 2).of(0), x); }) ==
        "expected a shared tile without slots because those are handed over in a block, but got 't' "
        "2x16x8 of f32\n't' is declared here");
  CHECK(
      errorWith(2, [&](Scope &k, Fragment &x) { copy(tileOf(k).of(0).rows(8, 16), x); }) ==
      "copy: expected a first row of 't' that is a multiple of 8 from 0 to 0 because 16 rows are meant, but "
      "got 8\n't' is declared here");
  CHECK(errorWith(2, [&](Scope &k, Fragment &x) { copy(tileOf(k).of(0).rows(0, 8).rows(0, 8), x); }) ==
        "expected the rows of a whole tile, but got rows of rows of 't'");
  CHECK(
      errorWith(1, [&](Scope &, Fragment &x) { clusterSum(x); }) ==
      "expected a cluster of at least 2 blocks for clusterSum because it combines what they have, but got 1; "
      "say k.cluster(blocks) before");
  CHECK(errorWith(4, [&](Scope &, Fragment &x) { clusterSumShare(x); }) ==
        "expected a fragment of two axes and a multiple of 32 rows because 4 blocks share them, in whole "
        "groups "
        "of 8, but got 16x8");
}
