// SPDX-License-Identifier: Apache-2.0
/// \file
/// Mistakes in slices of shared tiles: every diagnostic, by its text.
#include "test/unit/dsl/Errors.h"

using namespace tlc;
using namespace tlc::dsl;

TEST_CASE("a slice of a shared tile has the tile's axes", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Shared a = k.shared("a", f32, {64, 64});
          fill(a.tile({0}, {8}), 0);
        }) ==
        "slice: expected 2 positions in the origin because 'a' has 2 axes, but got 1\n'a' is declared here");
  CHECK(errorOf([](Scope &k) {
          Shared a = k.shared("a", f32, {64, 64});
          fill(a.tile({0, 0}, {8}), 0);
        }) ==
        "slice: expected a slice of 2 extents because 'a' has 2 axes (1 for an axis that the tile does not "
        "have), but got 1\n'a' is declared here");
  CHECK(errorOf([](Scope &k) {
          Shared a = k.shared("a", i32, {4, 8, 64});
          Fragment at = k.fragment(i32, {8, 8});
          fill(a.tile({at.toIndex(), 0, at.toIndex()}, {8, 8}), 0);
        }) == "slice: expected a slice of 3 extents because 'a' has 3 axes, and those with positions per "
              "element do not follow one another, but got 2\n'a' is declared here");
  CHECK(errorOf([](Scope &k) {
          Shared a = k.shared("a", f32, {64});
          fill(a.tile({0}, {8}).limited(1, 3), 0);
        }) ==
        "slice: expected a limit along axis 0 to 0 because 'a' has 1 axes, but got axis 1\n'a' is declared "
        "here");
}

TEST_CASE("a slice is of one slot", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Shared a = k.shared("a", f32, {64, 64}, {.slots = 2});
          fill(a.tile({0, 0}, {8, 8}), 0);
        }) ==
        "expected one slot of shared tile 'a' for a slice, but got all of them; take it with .slot(at)\n"
        "'a' is declared here");
}

TEST_CASE("a slice of a shared tile has elements of whole bytes", "[dsl][errors]") {
  CHECK(
      errorOf([](Scope &k) {
        Shared a = k.shared("a", i4, {64, 64});
        Fragment x = k.fragment(i4, {8, 8});
        copy(a.tile({0, 0}, {8, 8}), x);
      }) ==
      "slice: expected elements of whole bytes because threads write them one by one, but 'a' has 'i4'; copy "
      "the tile, or whole rows of it, to a fragment\n'a' is declared here");
}

TEST_CASE("what is said of tensors is not said of shared tiles", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Shared a = k.shared("a", f32, {64});
          fill(a.tile({0}, {8}).evict(Eviction::first), 0);
        }) ==
        "expected a slice of a tensor for evict because shared memory is no part of L2, but got one of 'a'\n"
        "'a' is declared here");
  CHECK(
      errorOf([](Scope &k) {
        Shared a = k.shared("a", f32, {64});
        fill(a.tile({0}, {8}).disjoint("it is"), 0);
      }) ==
      "expected a slice of a tensor for disjoint because barriers order accesses of a whole shared tile, but "
      "got one of 'a'\n'a' is declared here");
}

TEST_CASE("the TMA reaches no slice of a shared tile", "[dsl][errors]") {
  constexpr const char *message = "expected a slice of a tensor because only threads reach slices of shared "
                                  "tiles, but got one of 'a'; copy "
                                  "through a fragment\n'a' is declared here";
  CHECK(errorOf([](Scope &k) {
          Shared a = k.shared("a", f32, {64, 64}), b = k.shared("b", f32, {8, 64});
          atomicAdd(b, a.tile({0, 0}, {8, 64}));
        }) == std::string("atomic copy: ") + message);
}

TEST_CASE("elements of 16 bits are not added in shared memory", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Shared a = k.shared("a", f16, {64});
          atomicAdd(k.fragment(f16, {8}), a.tile({0}, {8}));
        }) ==
        "atomic operation: expected f32, f64, i32, u32 or i64 because narrower elements are too inexact for "
        "sums, but 'a' has 'f16'\n'a' is declared here");
}
