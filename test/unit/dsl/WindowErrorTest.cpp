// SPDX-License-Identifier: Apache-2.0
/// \file
/// Mistakes with windows: every diagnostic, by its text.
#include "test/unit/dsl/Errors.h"

using namespace tlc;
using namespace tlc::dsl;

namespace {
std::string errorWith(const Window &window) {
  return errorOf([&](Scope &k) { k.input("X", f32, {2, 8, 8, 16}).windows(window); });
}
} // namespace

TEST_CASE("what a window is", "[dsl][errors]") {
  CHECK(errorWith({.taps = {}}) == "expected a window with taps along at least one axis, but got none");
  CHECK(errorWith({.taps = {3, 3}, .strides = {2}}) ==
        "expected 2 strides of a window because it has 2 numbers of taps, but got 1");
  CHECK(errorWith({.taps = {3, 0}}) == "expected taps of a window to be from 1 to 16777216, but got 0");
  CHECK(errorWith({.taps = {3, 3}, .before = {1, -1}}) ==
        "expected elements before the tensor of a window to be from 0 to 16777216, but got -1");
  CHECK(errorWith({.taps = {4097, 1}, .dilations = {4096, 1}}) ==
        "expected a window that spans at most 16777216 elements, but 4097 taps, each 4096 after the one "
        "before, "
        "span 16777217");
  CHECK(errorWith({.taps = {3}}) ==
        "windows: expected a tensor of 3 axes, of images, those that the window moves along and channels, "
        "because the window has taps along 1, but 'X' has 4\n'X' is declared here");
  CHECK(errorOf([](Scope &k) { Window{.taps = {3}}.count(1, k.dim("n")); }) ==
        "expected an axis of the window from 0 to 0, but got 1");
}

TEST_CASE("what windows are of", "[dsl][errors]") {
  const Window window = {.taps = {3}};
  CHECK(errorOf([&](Scope &k) { k.input("X", f32, {2, 8, 16}).windows(window).windows(window); }) ==
        "windows: expected an argument of the kernel that is one tensor because the launcher knows its "
        "extents, "
        "but 'X' is what a window sees\n'X' is declared here");
  CHECK(errorOf([&](Scope &k) { k.symmetric("X", f32, {2, 8, 16}).of(0).windows(window); }) ==
        "windows: expected an argument of the kernel that is one tensor because the launcher knows its "
        "extents, "
        "but 'X' is symmetric\n'X' is declared here");
  CHECK(errorOf([&](Scope &k) {
          k.addresses("X", f32, 4, {.axes = 3}).of(0, {2, 8, 16}, {128, 16}).windows(window);
        }) == "windows: expected an argument of the kernel that is one tensor because the launcher knows its "
              "extents, "
              "but 'X' is a table of addresses\n'X' is declared here");
  CHECK(errorOf([&](Scope &k) {
          k.workspace("X", f32, {2, 16, 16}, {.order = TensorOrder::accumulator}).windows(window);
        }) == "windows: expected a tensor in its natural order because windows begin anywhere, but 'X' is in "
              "another\n'X' is declared here");
}

TEST_CASE("windows are only read, in boxes", "[dsl][errors]") {
  const Window window = {.taps = {3}};
  CHECK(errorOf([&](Scope &k) {
          copy(k.fragment(f32, {16, 8}),
               k.input("X", f32, {2, 8, 16}).windows(window).tile({0, 0, 0}, {16, 1, 8}));
        }) == "expected the destination of copy to be an output because inputs are only read, but 'X' is an "
              "input; declare it with k.inout or k.output\n'X' is declared here");
  CHECK(errorOf([&](Scope &k) {
          copy(k.fragment(f32, {16, 8}),
               k.inout("X", f32, {2, 8, 16}).windows(window).tile({0, 0, 0}, {16, 1, 8}));
        }) == "copy: expected a copy from the windows of 'X' because they share elements, but got another "
              "access; access 'X' itself\n'X' is declared here");
  CHECK(errorOf([&](Scope &k) {
          Fragment at = k.fragment(i32, {16, 1});
          k.input("X", f32, {2, 8, 16}).windows(window).tile({at.toIndex(), 0, 0}, {16, 1, 8});
        }) ==
        "slice: expected a box of the windows of 'X' because their positions follow one another, but got a "
        "position per element\n'X' is declared here");
}
