// SPDX-License-Identifier: Apache-2.0
/// \file
/// Mistakes in prints and checks: every diagnostic, by its text.
#include "test/unit/dsl/Errors.h"

using namespace tlc;
using namespace tlc::dsl;

TEST_CASE("a report shows a value for each placeholder", "[dsl][errors][reports]") {
  CHECK(errorOf([](Scope &k) { k.print("{} and {}", k.dim("m")); }) ==
        "k.print or k.check: expected as many values as the text has '{}', but got 1 for 2");
  CHECK(errorOf([](Scope &k) { k.check(k.dim("m") > 0, "m", 5); }) ==
        "k.print or k.check: expected as many values as the text has '{}', but got 1 for 0");
  CHECK(errorOf([](Scope &k) {
          Index m = k.dim("m");
          k.print("{}{}{}{}{}{}{}{}{}", m, m, m, m, m, m, m, m, m);
        }) ==
        "k.print or k.check: expected at most 8 values because a report has room for as many, but got 9");
}

TEST_CASE("fragments of a report go together", "[dsl][errors][reports]") {
  CHECK(errorOf([](Scope &k) { k.print("{} {}", k.fragment(f32, {16, 8}), k.fragment(f32, {8, 16})); }) ==
        "k.print or k.check: expected fragments of the same extents because their elements are shown "
        "together, but "
        "got 16x8 and 8x16");
  CHECK(errorOf([](Scope &k) { k.check(k.dim("m") > 0, "{}", k.fragment(f32, {16, 8})); }) ==
        "k.print or k.check: expected a condition with one truth value per element because the values are "
        "fragments, but "
        "got one for all");
  CHECK(errorOf([](Scope &k) { k.print("{}", k.fragment(f32, {1, 1, 1, 1, 1, 32})); }) ==
        "k.print or k.check: expected a fragment of at most 5 axes because a report has room for as many "
        "positions, but "
        "got 6");
}

TEST_CASE("a check shows no shared tile", "[dsl][errors][reports]") {
  CHECK(errorOf([](Scope &k) {
          Shared tile = k.shared("tile", f32, {16, 8});
          k.check(k.dim("m") > 0, "{}", tile);
        }) ==
        "expected numbers, positions and fragments as values of k.check, but got 'tile' 16x8 of f32; copy "
        "it to a fragment");
}

TEST_CASE("no report stands where each warp decides", "[dsl][errors][reports]") {
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {16, 8}).named("x");
          k.whenAny(x > 0, [&] { k.print("{}", x); });
        })
            .starts_with(
                "k.whenAny: expected only arithmetic in its branch because each warp decides by itself "
                "whether to run it"));
}

TEST_CASE("values are handles of this program that are set", "[dsl][errors][reports]") {
  CHECK(
      errorOf([](Scope &k) { k.print("{}", Index()); }) ==
      "expected a value of k.print, but got a handle without a value, or a number whose computation divides "
      "by zero or exceeds 64 bits");
  CHECK(errorOf([](Scope &k) { k.check(Predicate(), "never"); }) ==
        "expected the condition of k.check, but got a handle without a value");
}

TEST_CASE("the text of a check that is known to hold is checked", "[dsl][reports]") {
  CHECK(errorOf([](Scope &k) { k.check(true, "{} {}", k.dim("m")); }) ==
        "k.print or k.check: expected as many values as the text has '{}', but got 1 for 2");
}

TEST_CASE("what is known to hold is not checked", "[dsl][reports]") {
  Program program = Program::trace("known", [](Scope &k) {
    k.check(true, "never");
    k.check(Index(3) < 4, "never {}", 3);
  });
  CHECK(program.text().find("tile.report") == std::string::npos);
}
