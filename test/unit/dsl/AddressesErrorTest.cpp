// SPDX-License-Identifier: Apache-2.0
/// \file
/// Mistakes in tables of addresses: every diagnostic, by its text.
#include "test/unit/dsl/Errors.h"

using namespace tlc;
using namespace tlc::dsl;

TEST_CASE("what is said of the members of a table", "[dsl][errors]") {
  auto errorWith = [](ElementType element, MemberFacts facts) {
    return errorOf([&](Scope &k) { k.addresses("A", element, 4, facts); });
  };
  CHECK(errorWith(i4, {}) == "expected the members of 'A' to have elements of whole bytes because nothing is "
                             "known of where their rows end, but got i4");
  CHECK(errorWith(f32, {.axes = 0}) == "expected the members of 'A' to have at least one axis, but got 0");
  CHECK(errorWith(f32, {.use = TensorUse::workspace}) ==
        "expected the members of 'A' to be the caller's because the launcher makes workspaces, but got "
        "TensorUse::workspace");
  CHECK(errorWith(f32, {.alignment = 2}) ==
        "expected the alignment of the members of 'A' to be a power of two "
        "of at least the 4 bytes of an element, but got 2");
  CHECK(errorWith(f32, {.alignment = 24}) ==
        "expected the alignment of the members of 'A' to be a power of two "
        "of at least the 4 bytes of an element, but got 24");
  CHECK(errorOf([&](Scope &k) { k.addresses("A", f32, 0); }) ==
        "expected the extents of tensor 'A' to be from 1 to 2147483647, but axis 0 has 0");
}

TEST_CASE("what a member of a table is given", "[dsl][errors]") {
  auto errorWith = [](const Index &number, const std::vector<Index> &extents,
                      const std::vector<Index> &strides) {
    return errorOf([&](Scope &k) { k.addresses("A", f32, 4).of(number, extents, strides); });
  };
  CHECK(errorWith(0, {8}, {8}) == "expected an extent for each of the 2 axes of a member of 'A', but got 1\n"
                                  "'A' is declared here");
  CHECK(errorWith(0, {8, 8}, {}) ==
        "expected 1 strides of a member of 'A' because that of its last axis is 1, "
        "but got 0\n'A' is declared here");
  CHECK(errorWith(-1, {8, 8}, {8}) == "expected the number of a member of 'A' to be at least 0, but got -1\n"
                                      "'A' is declared here");
  CHECK(errorWith(0, {8, 8}, {-8}) == "expected the strides of a member of 'A' to be at least 0, but got -8\n"
                                      "'A' is declared here");
  CHECK(errorWith(0, {0, 8}, {8}) ==
        "expected the extents of a member of 'A' to be from 1 to 2147483647, but axis 0 has 0");
  CHECK(errorOf([](Scope &k) {
          Addresses A = k.addresses("A", f32, 4);
          Fragment at = k.fragment(i32, {16});
          A.of(at.toIndex(), {8, 8}, {8});
        }) ==
        "expected the number of a member of 'A' to be one position, but got one per element of a fragment");
}

TEST_CASE("members of inputs are only read", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Addresses A = k.addresses("A", f32, 4);
          copy(k.fragment(f32, {8, 8}), A.of(0, {8, 8}, {8}).tile({0, 0}, {8, 8}));
        }) == "expected the destination of copy to be an output because inputs are only read, but 'A' is an "
              "input; declare it with k.inout or k.output\n'A' is declared here");
}
