// SPDX-License-Identifier: Apache-2.0
/// \file
/// Text forms: exact inverses, located messages, no crash on any input.
#include "test/unit/layout/LayoutLaws.h"

using namespace tlc;
using namespace tlc::test;
using Catch::Contains;

namespace {
std::string failure(std::string_view text) {
  Result<FragmentLayout> layout = parseLayout(text);
  REQUIRE_FALSE(layout);
  return layout.error().message;
}
} // namespace

TEST_CASE("printing gives the canonical text", "[layout][text][unit]") {
  const char *canonical = "reg(2@1:1, 2@0:8, 32@1:8) lane(4@1:2, 8@0:1) warp(4@0:16, 2@0:64)";
  Result<FragmentLayout> layout = parseLayout(canonical);
  REQUIRE(layout);
  REQUIRE(printLayout(*layout) == "reg(2@1:1, 2@0:8, 32@1:8) lane(4@1:2, 8@0:1) warp(8@0:16)");
  REQUIRE(printLayout(*parseLayout("  reg ( )lane( 32 @ * )warp(4@*)  ")) == "reg() lane(32@*) warp(4@*)");
}

TEST_CASE("the rank is named where the modes do not show it", "[layout][text][unit]") {
  REQUIRE(printLayout(FragmentLayout::get(2, {{4, 0, 1}}, {LayoutMode::replicated(32)}, {})) ==
          "rank 2 reg(4@0:1) lane(32@*) warp()");
  REQUIRE(printLayout(FragmentLayout()) == "reg() lane(32@*) warp()");
  REQUIRE(parseLayout("rank 3 reg() lane(32@*) warp()")->rank() == 3);
}

TEST_CASE("a malformed layout is refused at its column", "[layout][text][unit]") {
  REQUIRE_THAT(failure(""), Contains("expected 'reg(' at column 1 of the layout, but got the end"));
  REQUIRE_THAT(failure("reg(2@1:1"), Contains("expected ',' or ')' at column 10"));
  REQUIRE_THAT(failure("reg(2:1) lane(32@*) warp()"),
               Contains("expected '@' at column 6") && Contains("':1) lane'"));
  REQUIRE_THAT(failure("reg(2@) lane(32@*) warp()"),
               Contains("expected '*' or an axis below 16 at column 7"));
  REQUIRE_THAT(failure("reg(2@99:1) lane(32@*) warp()"), Contains("an axis below 16"));
  REQUIRE_THAT(failure("reg() lanes(32@*) warp()"), Contains("expected 'lane('"));
  REQUIRE_THAT(failure("reg() lane(32@*) warp() x"), Contains("expected the end of the layout at column 25"));
  REQUIRE_THAT(failure("rank 99 reg() lane(32@*) warp()"), Contains("expected a rank of at most 16"));
  REQUIRE_THAT(failure("rank 1 reg(2@1:1) lane(32@*) warp()"), Contains("expected an axis below 1"));
  REQUIRE_THAT(failure("reg(99999999999999999999@0:1) lane(32@*) warp()"), Contains("expected an extent"));
  REQUIRE_THAT(failure("reg(999999999999@0:1, 999999999999@0:1) lane(32@*) warp()"),
               Contains("at most 1048576"));
}

TEST_CASE("no text crashes the parser", "[layout][text][unit]") {
  std::mt19937 random(Catch::rngSeed());
  const std::string valid = "rank 2 reg(2@1:1, 2@0:8, 32@1:8) lane(4@1:2, 8@0:1) warp(4@0:16, 2@*)";
  const std::string alphabet = "reglanwpk0123456789@:*(), \n\xff";
  for (int i = 0; i < 20000; ++i) {
    std::string text = valid;
    for (int edits = 1 + int(random() % 4); edits > 0; --edits)
      text[random() % text.size()] = alphabet[random() % alphabet.size()];
    text.resize(random() % 3 ? text.size() : random() % text.size());
    if (Result<FragmentLayout> layout = parseLayout(text))
      REQUIRE(*parseLayout(printLayout(*layout)) == *layout);
  }
}
