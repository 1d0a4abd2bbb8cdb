// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/NearestName.h"

#include <catch2/catch.hpp>

using namespace tlc;

TEST_CASE("the edit distance counts insertions, deletions, substitutions and swaps of neighbours") {
  CHECK(editDistance("", "") == 0);
  CHECK(editDistance("", "abc") == 3);
  CHECK(editDistance("abc", "") == 3);
  CHECK(editDistance("tile", "tile") == 0);
  CHECK(editDistance("tiel", "tile") == 1);
  CHECK(editDistance("tle", "tile") == 1);
  CHECK(editDistance("tiile", "tile") == 1);
  CHECK(editDistance("pile", "tile") == 1);
  CHECK(editDistance("kitten", "sitting") == 3);
}

TEST_CASE("the nearest name differs in at most a third of the letters") {
  const std::vector<std::string> names = {"rows", "columns", "tile", "q"};
  CHECK(nearestText("tiel", names) == "; the nearest name is 'tile'");
  CHECK(nearestText("colums", names) == "; the nearest name is 'columns'");
  CHECK(nearestText("row", names) == "; the nearest name is 'rows'");
  CHECK(nearestText("Q", names) == "; the nearest name is 'q'");
  CHECK(nearestText("height", names).empty());
  CHECK(nearestText("r", names).empty()); // any letter is one edit from 'q'
  CHECK(nearestText("", names).empty());
  CHECK(nearestText(std::string(100000, 'x'), names).empty());
  CHECK(nearestText("tile", std::vector<std::string>()).empty());
}
