// SPDX-License-Identifier: Apache-2.0
/// \file
/// Mistakes in copies, products and arithmetic: every diagnostic, by its text.
#include "compiler/dsl/Counts.h"
#include "test/unit/dsl/Errors.h"

#include <cmath>

using namespace tlc;
using namespace tlc::dsl;

TEST_CASE("arithmetic wants common extents and one element type", "[dsl][errors]") {
  CHECK(
      errorOf([](Scope &k) {
        Fragment s = k.fragment(f32, {128, 64}).named("s"), t = k.fragment(f32, {96, 1}).named("t");
        s = s * t;
      }) ==
      "expected operands of * with extents that are equal, or 1 where one is repeated, but got 's' 128x64 of "
      "f32 and 't' 96x1 of f32\n's' is declared here\n't' is declared here");
  CHECK(
      errorOf([](Scope &k) {
        Fragment s = k.fragment(f32, {16, 8}), t = k.fragment(f32, {16});
        s = max(s, t);
      }) ==
      "expected operands of max with extents that are equal, or 1 where one is repeated, but got 16x8 of f32 "
      "and 16 of f32");
  CHECK(errorOf([](Scope &k) {
          Fragment s = k.fragment(f32, {16, 8});
          s = s + k.scalar("x", f16);
        }) ==
        "expected operands of + with one element type because there are no implicit conversions, but got "
        "16x8 of f32 "
        "and 'x' f16; convert one with .to(...)\n'x' is declared here");
  CHECK(errorOf([](Scope &k) {
          Fragment s = k.fragment(i32, {16, 8});
          s = s + 0.5;
        }) == "expected a whole number of 32 bits because the element type is i32, but got 0.5");
  CHECK(errorOf([](Scope &k) {
          Fragment s = k.fragment(i8, {16, 8});
          s = 128;
        }) == "expected a whole number of 8 bits because the element type is i8, but got 128");
  CHECK(errorOf([](Scope &k) {
          Scalar a = k.scalar("a", f32), b = k.scalar("b", f64);
          a = a * b;
        }) == "expected operands of * of one type because there are no implicit conversions, but got 'a' f32 "
              "and 'b' f64; "
              "convert one with .to(...)");
  CHECK(errorOf([](Scope &k) { k.loop(k.dim("m") / 0, [](Index) {}); }) ==
        "expected a divisor other than 0 for /, but got 0");
  for (auto divide : {+[](Scope &k, Index n) { k.loop(n % 0, [](Index) {}); },
                      +[](Scope &k, Index n) { k.loop(ceilDiv(n, 0), [](Index) {}); },
                      +[](Scope &k, Index) {
                        Fragment x = k.fragment(u8, {16, 8});
                        x = x / 0;
                      },
                      +[](Scope &k, Index) {
                        Fragment x = k.fragment(i32, {16, 8});
                        x %= 0;
                      },
                      +[](Scope &k, Index) { (void)(k.scalar("a", i32) / 0); }})
    CHECK_THAT(errorOf([&](Scope &k) { divide(k, k.dim("m")); }),
               Catch::Matches("expected a divisor other than 0 for (/|%|ceilDiv), but got 0"));
  for (int64_t by : {32, -1, 2147483647})
    CHECK(errorOf([&](Scope &k) {
            Fragment z = k.fragment(i32, {16, 8});
            z = z << by;
          }) == "expected << by 0 to 31 bits because i32 has 32, but got " + std::to_string(by));
  CHECK(errorOf([](Scope &k) {
          Fragment z = k.fragment(u8, {16, 8});
          z >>= 8;
        }) == "expected >> by 0 to 7 bits because u8 has 8, but got 8");
  CHECK(errorOf([](Scope &k) {
          Fragment z = k.fragment(i32, {16, 8});
          z = z << (int64_t(1) << 40);
        }) == "expected a whole number of 32 bits because the element type is i32, but got 1099511627776");
}

TEST_CASE("numbers of C++ are divided as positions of the device are", "[dsl]") {
  for (int64_t a = -130; a <= 130; ++a)
    for (int64_t b = -65; b <= 65; ++b) {
      INFO(a << " and " << b);
      CHECK((Index(a) / Index(b)).constant() == (b == 0 ? std::nullopt : std::optional(a / b)));
      CHECK((Index(a) % Index(b)).constant() == (b == 0 ? std::nullopt : std::optional(a % b)));
      auto up = [&] { return int64_t(std::ceil(double(a) / double(b))); };
      CHECK(ceilDiv(Index(a), Index(b)).constant() == (b == 0 ? std::nullopt : std::optional(up())));
    }
}

TEST_CASE("functions want floating point", "[dsl][errors]") {
  CHECK(
      errorOf([](Scope &k) {
        Fragment x = k.fragment(i32, {16, 8}).named("x");
        x = exp2(x);
      }) ==
      "expected floating point for exp2, but got 'x' 16x8 of i32; convert it with .to(f32)\n'x' is declared "
      "here");
}

TEST_CASE("the machine computes with no floats of 8 bits", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(e4m3, {16, 8}).named("x");
          x = x + x;
        }) == "expected numbers that the machine computes with for +, but got 'x' 16x8 of e4m3; convert it "
              "with .to(f32)\n'x' is declared here");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(e4m3, {16, 8}).named("x");
          Fragment y = rowSum(x);
        }) == "expected numbers that the machine computes with for a reduction, but got 'x' 16x8 of e4m3; "
              "convert it with .to(f32)\n'x' is declared here");
  CHECK(errorOf([](Scope &k) { k.scalar("a", e4m3); }) ==
        "expected argument 'a' to be a number that the machine computes with, but got e4m3; pass it as f32");
}

TEST_CASE("bits are of integers, NaN of floats", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {16, 8}).named("x");
          x = x << 2;
        }) ==
        "expected integers for <<, but got 'x' 16x8 of f32; convert it with .to(i32)\n'x' is declared here");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {16, 8});
          x = ~x;
        }) == "expected integers for ~, but got 16x8 of f32; convert it with .to(i32)");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(i32, {16, 8});
          x = maxOrNaN(x, 2);
        }) == "expected floating point for maxOrNaN, but got 16x8 of i32; convert it with .to(f32)");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(i32, {16, 8});
          pow(x + 1, 2);
        }) == "expected floating point for pow, but got 16x8 of i32; convert it with .to(f32)");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {16, 8}), y = k.fragment(f32, {16, 4});
          fma(x + 1, y + 1, 2);
        }) ==
        "expected operands of fma with extents that are equal, or 1 where one is repeated, but got 16x8 "
        "of f32 and 16x4 of f32");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {16, 8});
          Fragment y = reduce(Reduction::bitOr, x, 1);
        }) == "reduce: expected integers because 'bit_or' combines bits, but got 'f32'");
  CHECK(
      errorOf([](Scope &k) { bitcast(k.fragment(bf16, {16, 7}), i32); }) ==
      "expected a last extent that is a multiple of 2 for bitcast of 16x7 of bf16 because 2 of its elements "
      "are one of i32, but got 7");
  CHECK(errorOf([](Scope &k) { bitcast(k.fragment(i4, {16, 8}), e2m1); }) ==
        "expected elements of 8 bits or more for bitcast, but got 16x8 of i4 to become e2m1; convert it with "
        ".to(...)");
  CHECK(errorOf([](Scope &k) { bitcast(k.fragment(u8, {16, 8}), u4); }) ==
        "expected elements of 8 bits or more for bitcast, but got 16x8 of u8 to become u4; convert it with "
        ".to(...)");
  CHECK(errorOf([](Scope &k) { k.scalar("a", f32).toIndex() + 1; }) ==
        "expected a number of i32 because it becomes a position, but got 'a' f32");
}

TEST_CASE("other extents have as many elements", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) { reshape(k.fragment(bf16, {16, 8}), {16, 9}); }) ==
        "expected extents of 128 elements for reshape because 16x8 of bf16 has as many, but got 16x9, which "
        "has 144");
  CHECK(errorOf([](Scope &k) { reshape(k.fragment(bf16, {16, 8}), {128, 0}); }) ==
        "expected the extents of the result of reshape to be from 1 to 2147483647, but axis 1 has 0");
  CHECK(errorOf([](Scope &k) { k.shared("tile", bf16, {16, 8}).reshape({100}); }) ==
        "expected extents of 128 elements for reshape because 'tile' 16x8 of bf16 has as many, but got 100, "
        "which has 100\n'tile' is declared here");
  CHECK(
      errorOf([](Scope &k) { k.shared("tile", bf16, {16, 8}, {.slots = 2}).reshape({128}); }) ==
      "expected a tile without slots, or one of its slots, for reshape, but got 'tile' 2x16x8 of bf16; take "
      ".slot(at) first\n'tile' is declared here");
  CHECK(
      errorOf([](Scope &k) {
        Fragment x = k.fragment(bf16, {16, 8});
        copy(k.shared("tile", bf16, {16, 8}).reshape({128}), x);
      }) ==
      "expected a fragment of 128 because 'tile' 16x8 of bf16 is copied with these extents, but got 16x8 of "
      "bf16\n'tile' is declared here");
  CHECK(
      errorOf(
          [](Scope &k) { copy(k.fragment(f32, {16, 8}), k.shared("tile", bf16, {16, 8}).reshape({128})); }) ==
      "expected a fragment of 128 because 'tile' 16x8 of bf16 is copied with these extents, but got 16x8 of "
      "f32\n'tile' is declared here");
  CHECK(errorOf(
            [](Scope &k) { copy(k.fragment(f32, {128}), k.shared("tile", bf16, {16, 8}).reshape({128})); }) ==
        "copy: expected the fragment and 'tile' to have the same element type because copies do not convert, "
        "but got 'f32' and 'bf16'\n'tile' is declared here");
}

TEST_CASE("positions, any and all want an axis", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) { k.positions({16, 8}, 2); }) ==
        "expected an axis from -2 to 1 of positions of 16x8, but got 2");
  CHECK(errorOf([](Scope &k) { k.positions({16, 0}, 0); }) ==
        "expected the extents of positions to be from 1 to 2147483647, but axis 1 has 0");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {16, 8});
          any(x > 0, 3);
        }) == "expected an axis to reduce from -2 to 1 of 16x8 of truth values, but got 3");
  CHECK(errorOf([](Scope &k) { all(k.dim("n") > 0, 0); }) ==
        "expected a truth value per element for all, but got one of all threads");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(e4m3, {16, 8}).named("x");
          argMax(x);
        }) ==
        "expected numbers that the machine computes with for argMax, but got 'x' 16x8 of e4m3; convert it "
        "with .to(f32)\n'x' is declared here");
}

TEST_CASE("positions of elements fit the elements, and differ along no box", "[dsl][errors]") {
  auto error = [](const std::function<void(Scope &, const Global &, const Fragment &)> &body) {
    return errorOf([&](Scope &k) {
      Global X = k.inout("X", f32, {k.dim("n"), 64});
      Fragment at = k.fragment(i32, {16, 1}).named("at");
      body(k, X, at);
    });
  };
  CHECK(error([](Scope &k, const Global &X, const Fragment &) {
          X.tile({3, k.fragment(i32, {16, 64}).toIndex()}, {16, 64});
        }) ==
        "expected positions along axis 0 of 'X' as well because those along axis 1 differ there, but got one "
        "position; for that position and those after it, write position + k.positions({16, 1}, 0).toIndex(); "
        "for "
        "that position alone, write the extents {1, 16, 64}");
  CHECK(error([](Scope &k, const Global &, const Fragment &at) {
          Shared a = k.shared("a", f32, {64, 64});
          fill(a.tile({at.toIndex(), 3}, {16, 64}), 0); // the same row for all columns
          fill(a.tile({k.fragment(i32, {16, 8}).toIndex(), 3}, {16, 8}), 0);
        }) ==
        "expected positions along axis 1 of 'a' as well because those along axis 0 differ there, but got one "
        "position; for that position and those after it, write position + k.positions({1, 8}, 1).toIndex(); "
        "for "
        "that position alone, write the extents {16, 8, 1}");
  CHECK(error([](Scope &k, const Global &, const Fragment &) {
          Global Z = k.inout("Z", f32, {4, 5, 6, 64});
          Index at = k.fragment(i32, {2, 3, 8, 1}).toIndex();
          fill(Z.tile({1, 2, at, 0}, {2, 3, 8, 16}), 0);
        }) ==
        "expected positions along axis 0 of 'Z' as well because those along axis 2 differ there, but got "
        "one position; for that position and those after it, write position + k.positions({2, 1, 1, 1}, "
        "0).toIndex(); for that position alone, write the extents {1, 1, 2, 3, 8, 16}");
  CHECK(error([](Scope &k, const Global &, const Fragment &) {
          Global Z = k.inout("Z", f32, {4, 5, 64});
          Index at = k.fragment(i32, {2, 3, 8}).toIndex();
          fill(Z.tile({at, 2, at}, {2, 3, 8}), 0);
        }) ==
        "expected positions along axis 1 of 'Z' as well because those along axis 0 differ there, but got "
        "one position; for that position and those after it, write position + k.positions({1, 3, 1}, "
        "1).toIndex(); for that position alone, write position + k.positions({1, 1, 1}, 1).toIndex()");
  CHECK(error([](Scope &k, const Global &X, const Fragment &at) {
          Fragment x = k.fragment(f32, {8, 64});
          copy(X.tile({at.toIndex(), 0}, {8, 64}), x);
        }) == "expected positions for 8x64 elements, or extents of 1 where one is repeated, but got 16x1 of "
              "positions");
  CHECK(error([](Scope &k, const Global &, const Fragment &at) {
          Global Z = k.input("Z", i32, {8, 8});
          Z.read({at.toIndex(), 0});
        }) == "expected a position to read to be one position, but got one per element of a fragment");
}

TEST_CASE("the machine computes with no integers of 4 bits", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(u4, {16, 8}).named("x");
          x = x + x;
        }) == "expected numbers that the machine computes with for +, but got 'x' 16x8 of u4; convert it "
              "with .to(i32)\n'x' is declared here");
  CHECK(errorOf([](Scope &k) { k.input("W", i4, {k.dim("n"), 31}); }) ==
        "expected a multiple of 2 elements along axis 1 of tensor 'W' because as many i4 share a byte, but "
        "got 31");
  CHECK(errorOf([](Scope &k) { k.input("W", e2m1, {k.dim("n"), 32}, {.lastStride = LastStride::any}); }) ==
        "expected tensor 'W' to have a last stride of 1 because elements of e2m1 share bytes, but got "
        "LastStride::any");
  CHECK(errorOf([](Scope &k) { k.shared("w", e2m1, {8, 7}); }) ==
        "expected a multiple of 2 elements along axis 1 of shared tile 'w' because as many e2m1 share a "
        "byte, but "
        "got 7");
  CHECK(errorOf([](Scope &k) {
          Global W = k.input("W", u4, {k.dim("m"), k.dim("n")});
          W.tile({0, 0}, {2, 1});
        }) ==
        "expected a multiple of 2 elements along axis 1 of the slice of 'W' because as many u4 share a byte, "
        "but got 1");
  CHECK(errorOf([](Scope &k) { k.scalar("a", u8); }) ==
        "expected argument 'a' to be a number that the machine computes with, but got u8; pass it as i32");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(u8, {16, 8});
          x = -1;
        }) == "expected a whole number of 8 bits without a sign because the element type is u8, but got "
              "-1");
}

TEST_CASE("where wants fragments and conditions that fit", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {16, 8});
          x = where([](Index i) { return i > 2; }, x, 0);
        }) == "expected a condition of 2 positions because the fragment is 16x8, but got one of 1");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {16, 8}), y = k.fragment(f32, {8, 8});
          x = where(y > 0, x, 0);
        }) == "expected operands of where with extents that are equal, or 1 where one is repeated, but got "
              "8x8 of truth values "
              "and 16x8 of f32");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {16, 8});
          Scalar a = k.scalar("a", f32);
          a = where(x > 0, a, a);
        }) == "expected the condition of where to be one truth value, but got one per element (16x8 of truth "
              "values); choose "
              "between elements with where()");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {16, 8}), y = k.fragment(f32, {8, 16});
          Index row;
          x = where([&](Index r, Index) { return (row = r) > 2; }, x, 0);
          y = where([&](Index r, Index) { return r > row; }, y, 0);
        }) == "expected operands of < of one fragment, but got 16x8 of positions and 8x16 of positions");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {16, 8}).named("x");
          x = where([&](Index r, Index) { return r > FragmentValue(x).toIndex(); }, x, 0);
        }) ==
        "expected a fragment of i32 because its elements are positions, but got 'x' 16x8 of f32\n'x' is "
        "declared here");
}

TEST_CASE("counts are elements of i32 that are written", "[dsl][errors]") {
  CHECK(
      errorOf([](Scope &k) { announce(k.input("C", i32, {4}), {0}); }) ==
      "expected the counts of announce to be a workspace because inputs are only read, but 'C' is an input; "
      "declare it with k.workspace or k.inout\n'C' is declared here");
  CHECK(
      errorOf([](Scope &k) { waitFor(k.inout("C", f32, {4}), {0}, 1); }) ==
      "waitFor: expected one element of i32 because that is what is counted, but 'C' has 1 of 'f32'\n'C' is "
      "declared here");
  CHECK(errorOf([](Scope &k) { take(k.inout("C", i64, {4}), {0}); }) ==
        "take: expected one element of i32 because that is what is counted, but 'C' has 1 of 'i64'\n'C' is "
        "declared here");
}

TEST_CASE("messages have the names of the language", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {16, 8});
          Shared a = k.shared("a", f32, {16, 8});
          k.whenAny(x > 0, [&] { copy(x, a); });
        }) == "k.whenAny: expected only arithmetic in its branch because each warp decides by itself whether "
              "to run it\nbut "
              "this accesses memory or synchronises with other warps");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(e4m3, {16, 8}), y = k.fragment(f32, {16, 8});
          x = y;
        }) ==
        "expected elements of e4m3 to assign because the fragment has them, but got 16x8 of f32; convert it "
        "with .to(e4m3)\nthe fragment is declared here");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {16, 8});
          copy(k.shared("a", e4m3, {16, 8}), x);
        }) == "copy: expected 'a' and the fragment to have the same element type because copies do not "
              "convert, but got 'e4m3' and 'f32'\n'a' is declared here");
  CHECK(errorOf([](Scope &k) {
          Shared a = k.shared("a", i32, {16});
          k.roles([&] {
            k.role("load", {}, [] {});
            a.write({0}, 1);
          });
        }) ==
        "expected nothing but k.role in the body of k.roles because every warp belongs to one role, but got "
        "write");
}

TEST_CASE("a role's body is where positions are computed", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          auto [block] = k.grid(4);
          k.roles([&] {
            k.role("load", {}, [] {});
            Index first = block * 32;
          });
        }) == "expected nothing but k.role in k.roles because every warp belongs to one role, but got "
              "arithmetic");
}

TEST_CASE("reductions want an axis of their fragment", "[dsl][errors]") {
  auto reduceAlong = [](int64_t axis) {
    return errorOf([&](Scope &k) {
      Fragment x = k.fragment(f32, {16, 8}).named("x");
      Fragment y = reduce(Reduction::max, x, axis);
    });
  };
  CHECK(reduceAlong(2) ==
        "expected an axis to reduce from -2 to 1 of 'x' 16x8 of f32, but got 2\n'x' is declared here");
  CHECK(reduceAlong(-3) ==
        "expected an axis to reduce from -2 to 1 of 'x' 16x8 of f32, but got -3\n'x' is declared here");
}

TEST_CASE("cumulative operations want an axis of their fragment and numbers to compute with",
          "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {16, 8}).named("x");
          Fragment y = cumulative(Reduction::sum, x, 2);
        }) ==
        "expected an axis to go along from -2 to 1 of 'x' 16x8 of f32, but got 2\n'x' is declared here");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(e4m3, {16, 8}).named("x");
          Fragment y = cumulative(Reduction::max, x, 0);
        }).starts_with("expected"));
}

TEST_CASE("an assignment keeps extents and element type", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {16, 8}), y = k.fragment(f32, {16, 1});
          y = x;
        }) == "expected a fragment of 16x1 to assign, but got 16x8 of f32\nthe fragment is declared here");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {16, 8}), y = k.fragment(bf16, {16, 8});
          y = x;
        }) == "expected elements of bf16 to assign because the fragment has them, but got 16x8 of f32; "
              "convert it with "
              ".to(bf16)\nthe fragment is declared here");
}

TEST_CASE("slices have the tensor's rank", "[dsl][errors]") {
  auto slice = [](const std::vector<Index> &origin, const Shape &extents) {
    return errorOf([&](Scope &k) {
      Global A = k.input("A", bf16, {k.dim("m"), 64});
      copy(A.tile(origin, extents), k.shared("a", bf16, {16, 64}));
    });
  };
  CHECK(slice({0}, {16, 64}) ==
        "slice: expected 2 positions in the origin because 'A' has 2 axes, but got 1\n'A' is "
        "declared here");
  CHECK(slice({0, 0}, {16}) ==
        "slice: expected a slice of 2 extents because 'A' has 2 axes (1 for an axis that the tile "
        "does not have), but got 1\n'A' is declared here");
  CHECK(slice({0, 0}, {16, 0}) ==
        "expected the extents of the slice of 'A' to be from 1 to 2147483647, but axis 1 has 0");
}

TEST_CASE("slices have one limit, along an axis of the tensor, at one position", "[dsl][errors]") {
  auto limited = [](auto limit) {
    return errorOf([&](Scope &k) {
      Global A = k.input("A", bf16, {k.dim("m"), 64});
      copy(limit(A.tile({0, 0}, {16, 64})), k.shared("a", bf16, {16, 64}));
    });
  };
  CHECK(limited([](const Slice &slice) { return slice.limited(2, 8); }) ==
        "slice: expected a limit along axis 0 to 1 because 'A' has 2 axes, but got axis 2\n'A' is declared "
        "here");
  CHECK(limited([](const Slice &slice) { return slice.limited(1, 8).limited(0, 8); }) ==
        "expected a slice without a limit because it can have one, but got one that is limited along axis 1\n"
        "limited here");
  CHECK(limited([](const Slice &slice) { return slice.limited(0, Index()); }) ==
        "expected a limit, but got a handle without a value, or a number whose computation "
        "divides by zero or exceeds 64 bits");
}

TEST_CASE("columns are those of a tile, from the beginning of a panel", "[dsl][errors]") {
  auto message = [](std::string_view what, int64_t number) {
    return "rows: expected columns from the beginning of a panel, of 64 elements of 'bf16', because a "
           "swizzle "
           "mixes the elements of a panel, but " +
           std::string(what) + " is " + std::to_string(number) +
           "; take a tile for each part\n'a' is declared here";
  };
  CHECK(errorOf([](Scope &k) { k.shared("a", bf16, {16, 128}).columns(32, 64); }) ==
        message("the first one", 32));
  CHECK(
      errorOf([](Scope &k) { k.shared("a", bf16, {16, 128}).columns(64, 36); }) ==
      "rows: expected a multiple of 8 columns of 'bf16' because a swizzle keeps that many together, but got "
      "36\n'a' is declared here");
  CHECK(errorOf([](Scope &k) { k.shared("a", bf16, {16, 96}).columns(0, 64); }) ==
        message("the tile's number of columns", 96));
  CHECK(errorOf([](Scope &k) { k.shared("a", bf16, {16, 128}).columns(64, 128); }) ==
        "rows: expected columns of 'a', which has 128, but got 128 from column 64\n'a' is declared here");
}

TEST_CASE("rows are those of a tile, from a multiple of 8", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) { k.shared("a", bf16, {64, 32}).rows(4, 8); }) ==
        "rows: expected the first row to be a multiple of 8, after which every swizzle repeats, but got 4\n"
        "'a' is declared here");
  CHECK(errorOf([](Scope &k) { k.shared("a", bf16, {64, 32}).rows(56, 16); }) ==
        "rows: expected rows of 'a', which has 64, but got 16 from row 56\n'a' is declared here");
  CHECK_THAT(
      errorOf([](Scope &k) { k.shared("a", bf16, {2, 64, 32}).rows(0, 8); }),
      Catch::Contains("expected 'a' to have two axes because a part of a matrix is one, but it has 3"));
  CHECK_THAT(errorOf([](Scope &k) { k.shared("a", bf16, {64, 32}).rows(0, 0); }),
             Catch::Contains("the rows of 'a'"));
}

TEST_CASE("what is read as a position is of i32", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) { k.input("X", f32, {k.dim("n")}).read({0}); }) ==
        "read: expected 'X' to be of i32 because its elements are positions, but got 'f32'\n'X' is "
        "declared "
        "here");
  CHECK(errorOf([](Scope &k) { k.input("X", i32, {k.dim("n"), 2}).read({0}); }) ==
        "slice: expected 2 positions in the origin because 'X' has 2 axes, but got 1\n'X' is declared here");
}

TEST_CASE("copies want the same tile on both sides", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Global A = k.input("A", bf16, {64, 64});
          copy(A.tile({0, 0}, {32, 64}), k.shared("a", bf16, {16, 64}));
        }) == "copy: expected 'A' and 'a' to have the same extents, those of 1 aside, but got 32x64 and "
              "16x64\n'A' is "
              "declared here\n'a' is declared here");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {16, 64});
          copy(x, k.shared("a", bf16, {16, 64}));
        }) == "copy: expected the fragment and 'a' to have the same element type because copies "
              "do not "
              "convert, but got 'f32' and 'bf16'\n'a' is declared here");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {16, 32});
          copy(k.shared("a", f32, {16, 64}), x);
        }) ==
        "copy: expected 'a' and the fragment to have the same extents, those of 1 aside, but got 16x64 and "
        "16x32\n'a' is declared here");
}

TEST_CASE("inputs are only read", "[dsl][errors]") {
  auto written = [](auto write) {
    return errorOf([&](Scope &k) {
      Global X = k.input("X", f32, {64});
      write(k, X.tile({0}, {16}));
    });
  };
  auto message = [](const std::string &call) {
    return "expected the destination of " + call +
           " to be an output because inputs are only read, but 'X' is an input; declare it with k.inout or "
           "k.output\n'X' is declared here";
  };
  CHECK(written([](Scope &k, Slice to) { copy(k.fragment(f32, {16}), to); }) == message("copy"));
  CHECK(written([](Scope &k, Slice to) { copy(k.shared("a", f32, {16}), to); }) == message("copy"));
  CHECK(written([](Scope &, Slice to) { copy(to, to); }) == message("copy"));
  CHECK(written([](Scope &, Slice to) { fill(to, 1); }) == message("fill"));
  CHECK(written([](Scope &k, Slice to) { atomicAdd(k.fragment(f32, {16}), to); }) == message("atomicAdd"));
  CHECK(errorOf([](Scope &k) { atomicAdd(1, k.input("X", f32, {64}).tile({0}, {1})); }) ==
        message("atomicAdd"));
  CHECK(errorOf([](Scope &k) { // made before the launches
          Slice to = k.input("X", f32, {64}).tile({0}, {16});
          k.launch("first", [&] { fill(to, 1); });
        }) == message("fill"));
}

TEST_CASE("a loop goes on by one condition for all threads", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {16});
          k.loopWhile(4, [&](Index) -> Predicate { return x < 1; });
        }) == "expected the condition of k.loopWhile to be one truth value, but got one per element (16 of "
              "truth values); copy them to shared memory and compare one that read() gives");
  CHECK(errorOf([](Scope &k) { k.loopWhile({0, 4, 0}, [&](Index i) -> Predicate { return i < 2; }); }) ==
        "expected a step of at least 1, but got 0; to count down, loop over {0, n} and use n - 1 - i");
}

TEST_CASE("products want matrices of fitting extents and types", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Shared a = k.shared("a", bf16, {64, 32}), b = k.shared("b", bf16, {32, 16});
          Fragment acc = k.fragment(f32, {64, 64});
          gemm(a, b, acc);
        }) ==
        "gemm: expected an accumulator of 64x16 because 'a' is 64x32 and 'b' is 32x16, but got 64x64\n'a' is "
        "declared here\n'b' is declared here");
  CHECK(errorOf([](Scope &k) {
          Shared a = k.shared("a", bf16, {64, 32}), b = k.shared("b", f16, {32, 16});
          Fragment acc = k.fragment(f32, {64, 16});
          gemm(a, b, acc);
        }) == "gemm: expected factors of one element type, f16, bf16 or f32, or each of e4m3 or e5m2, or "
              "each of i8 or u8, but 'a' has "
              "'bf16' and 'b' has 'f16'\n'a' is "
              "declared here\n'b' is declared here");
  CHECK(errorOf([](Scope &k) {
          Shared a = k.shared("a", bf16, {64, 32}), b = k.shared("b", bf16, {32, 16});
          Fragment acc = k.fragment(bf16, {64, 16});
          gemmAsync(a, b, acc);
        }) ==
        "gemmAsync: expected an accumulator of 'f32' because products of 'bf16' are summed in 'f32', but got "
        "'bf16'");
  CHECK(errorOf([](Scope &k) {
          Shared a = k.shared("a", i8, {64, 32}), b = k.shared("b", u8, {32, 16});
          Fragment acc = k.fragment(f32, {64, 16});
          gemm(a, b, acc);
        }) == "gemm: expected an accumulator of 'i32' because products of 'i8' are summed in 'i32', but got "
              "'f32'");
  CHECK(errorOf([](Scope &k) {
          Shared a = k.shared("a", bf16, {64});
          Fragment acc = k.fragment(f32, {64, 16});
          gemm(a, a.t(), acc);
        }) == "expected a shared tile of at least two axes to exchange the last two, but got 'a' "
              "64 of bf16\n'a' is declared here");
}

TEST_CASE("tensor memory has 64 or 128 rows, and slots only where it says so", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) { k.tensorMemory("acc", f32, {96, 64}); }) ==
        "'acc' in tensor memory: expected 64 or 128 rows because products that add in tensor memory have as "
        "many, and axes of columns and at most of slots beside them, but got 96x64");
  CHECK(errorOf([](Scope &k) { k.tensorMemory("acc", f32, {128, 256}, {.slots = 3}); }) ==
        "'acc' in tensor memory: expected at most 512 columns because tensor memory has no more, but got 768 "
        "for "
        "3x128x256 of 'f32'");
  CHECK(errorOf([](Scope &k) { k.tensorMemory("acc", f32, {128, 64}, {.slots = -1}); }) ==
        "expected 'acc' in tensor memory to have at least 0 slots, but got -1");
  CHECK(errorOf([](Scope &k) {
          TensorMemory acc = k.tensorMemory("acc", f32, {128, 64});
          acc.slot(k.channel("sums").get());
        }) == "expected a tile in tensor memory with slots, but got 'acc' 128x64 of f32\n'acc' is "
              "declared here");
}

TEST_CASE("products in tensor memory are checked like others", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Shared a = k.shared("a", bf16, {128, 64}), b = k.shared("b", bf16, {64, 32});
          gemmAsync(a, b, k.tensorMemory("acc", f32, {128, 64}));
        }) == "gemmAsync: expected an accumulator of 128x32 because 'a' is 128x64 and 'b' is 64x32, but got "
              "128x64\n'a' is declared here\n'b' is declared here");
  CHECK(errorOf([](Scope &k) {
          Shared a = k.shared("a", bf16, {128, 64}), b = k.shared("b", bf16, {64, 32});
          Fragment x = k.fragment(f32, {128, 32});
          gemmAsync(a, b, k.tensorMemory("acc", f32, {128, 32}), {.accumulate = x > 0});
        })
            .starts_with(
                "expected whether gemmAsync accumulates to be one truth value, but got one per element"));
}

TEST_CASE("gemmScaled names its own arguments", "[dsl][errors]") {
  auto error = [](ElementType sums, const Shape &extents, ElementType scales, const Shape &ofScale) {
    return errorOf([&](Scope &k) {
      Shared a = k.shared("a", e4m3, {64, 128}), b = k.shared("b", e4m3, {64, 128});
      Fragment acc = k.fragment(sums, extents).named("acc"),
               scale = k.fragment(scales, ofScale).named("scale");
      gemmScaled(a, b.t(), scale, acc);
    });
  };
  CHECK(
      error(f16, {64, 64}, f32, {64, 1}) ==
      "expected an accumulator of f32 for gemmScaled because products are scaled in f32, but got 'acc' 64x64 "
      "of f16\n'acc' is declared here");
  CHECK(error(f32, {64, 64}, f16, {64, 1}) ==
        "expected a scale of f32 for gemmScaled because products are scaled in f32, but got 'scale' 64x1 of "
        "f16\n'scale' is declared here");
  for (const Shape &extents : {Shape{32, 1}, Shape{64}})
    CHECK_THAT(error(f32, {64, 64}, f32, extents),
               Catch::Matchers::StartsWith("expected a scale of gemmScaled with the accumulator's extents, "
                                           "64x64, or 1 where one is repeated, but got 'scale' "));
  CHECK(
      error(f32, {1, 64}, f32, {64, 1}) ==
      "expected a scale of gemmScaled with the accumulator's extents, 1x64, or 1 where one is repeated, but "
      "got 'scale' 64x1 of f32\n'scale' is declared here");
  CHECK_THAT(
      error(f32, {64, 32}, f32, {64, 1}),
      Catch::Matchers::StartsWith("gemm: expected an accumulator of 64x64 because 'a' is 64x128 and 'b' "
                                  "is 128x64, but got 64x32\n"));
}
