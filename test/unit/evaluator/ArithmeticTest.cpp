// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elementwise programs, with results worked out by hand.
#include "test/unit/evaluator/Evaluated.h"

using namespace tlc;
using namespace tlc::evaluator;
using namespace tlc::dsl;

namespace {
const double notANumber = std::nan("");

/// Y = f(X), of one tile.
Tensor map(ElementType from, ElementType to, const std::vector<double> &numbers,
           const std::function<FragmentValue(const Fragment &)> &f) {
  auto count = static_cast<int64_t>(numbers.size());
  return run({{given(from, {count}, numbers), unwritten(to, {count})}, {}}, [&](Scope &k) {
    Global X = k.input("X", from, {count}), Y = k.output("Y", to, {count});
    Fragment x = k.fragment(from, {count});
    copy(X.tile({0}, {count}), x);
    copy(f(x), Y.tile({0}, {count}));
  });
}
} // namespace

TEST_CASE("arithmetic of floats is rounded in its type", "[evaluator][unit]") {
  Tensor sum = map(f16, f16, {2048, 3}, [](const Fragment &x) { return x + 1; });
  CHECK(exactValues(sum) == std::vector<double>{2048, 4});
  CHECK(exactValues(map(f32, f32, {2048, 3}, [](const Fragment &x) { return (x - 1) * 2; })) ==
        std::vector<double>{4094, 4});
  CHECK(exactValues(map(f32, f32, {1, -6}, [](const Fragment &x) { return -x / 4; })) ==
        std::vector<double>{-0.25, 1.5});
  CHECK(exactValues(map(f32, f32, {-2, 5}, [](const Fragment &x) { return max(abs(x), 3); })) ==
        std::vector<double>{3, 5});
  CHECK(exactValues(map(f64, f64, {2, 9}, [](const Fragment &x) { return sqrt(x); })) ==
        std::vector<double>{std::sqrt(2.0), 3});
}

TEST_CASE("max and min prefer a number, finiteOrZero and divideOrZero avoid NaN", "[evaluator][unit]") {
  CHECK(exactValues(map(f32, f32, {notANumber, 1, 5}, [](const Fragment &x) { return min(max(x, 2), 4); })) ==
        std::vector<double>{2, 2, 4});
  CHECK(exactValues(map(f32, f32, {inf, -inf, 5}, [](const Fragment &x) { return finiteOrZero(x); })) ==
        std::vector<double>{0, 0, 5});
  CHECK(exactValues(map(f32, f32, {0, 2, -4}, [](const Fragment &x) { return divideOrZero(1, x); })) ==
        std::vector<double>{0, 0.5, -0.25});
  CHECK(exactValues(map(f32, f32, {notANumber, 3}, [](const Fragment &x) { return where(x == x, x, 0); })) ==
        std::vector<double>{0, 3});
}

TEST_CASE("integers wrap around in their type", "[evaluator][unit]") {
  CHECK(exactValues(map(i8, i8, {127, -128, 5}, [](const Fragment &x) { return x + 1; })) ==
        std::vector<double>{-128, -127, 6});
  CHECK(exactValues(map(i32, i32, {2147483647, -7}, [](const Fragment &x) { return x * 2; })) ==
        std::vector<double>{-2, -14});
  CHECK(exactValues(map(i32, i32, {-7, 7}, [](const Fragment &x) { return x / 2; })) ==
        std::vector<double>{-3, 3});
  CHECK(exactValues(map(i64, i64, {-7, 7}, [](const Fragment &x) { return abs(x); })) ==
        std::vector<double>{7, 7});
  Tensor open = map(i32, i32, {0, 2}, [](const Fragment &x) { return 6 / x; });
  CHECK(std::isinf(open.elements[0].bound));
  CHECK(open.elements[1].integer == 3);
}

TEST_CASE("bits of integers, with a sign and without", "[evaluator][unit]") {
  CHECK(exactValues(map(i32, i32, {-7, 12}, [](const Fragment &x) { return (x & 6) | 1; })) ==
        std::vector<double>{1, 5});
  CHECK(exactValues(map(i32, i32, {-7, 12}, [](const Fragment &x) { return (x >> 1) ^ ~x; })) ==
        std::vector<double>{-6, -11});
  CHECK(exactValues(map(i8, i8, {-7, 100}, [](const Fragment &x) { return (x << 1) % 16; })) ==
        std::vector<double>{-14, -8});
  CHECK(exactValues(map(u8, u8, {250, 7}, [](const Fragment &x) { return x + 10; })) ==
        std::vector<double>{4, 17});
  CHECK(exactValues(map(u32, u32, {4294967295, 7}, [](const Fragment &x) { return (x >> 4) / 3 % 1000; })) ==
        std::vector<double>{485, 0});
  CHECK(exactValues(map(u32, u32, {0, 4000000000}, [](const Fragment &x) {
          return min(max(x - 1, 5), ~x);
        })) == std::vector<double>{4294967295, 294967295});
  CHECK(exactValues(map(u32, f32, {3000000000, 7}, [](const Fragment &x) {
          return where(x > 8, 1, -x.to(f32));
        })) == std::vector<double>{1, -7});
  CHECK(exactValues(map(u32, u32, {0, 1}, [](const Fragment &x) { return -x; })) ==
        std::vector<double>{0, 4294967295});
  Tensor open = map(i32, i32, {1, 2}, [](const Fragment &x) { return x << (x + 31); });
  CHECK(std::isinf(open.elements[0].bound));
}

TEST_CASE("maxOrNaN and minOrNaN prefer NaN", "[evaluator][unit]") {
  Tensor result =
      map(f32, f32, {notANumber, 1, 5}, [](const Fragment &x) { return minOrNaN(maxOrNaN(x, 2), 4); });
  CHECK(std::isnan(result.elements[0].value));
  CHECK(result.elements[1].value == 2);
  CHECK(result.elements[2].value == 4);
}

TEST_CASE("conversions round to nearest, saturate and wrap", "[evaluator][unit]") {
  CHECK(exactValues(map(f32, e4m3, {1000, -1000, 17, 0.3f}, [](const Fragment &x) { return x.to(e4m3); })) ==
        std::vector<double>{448, -448, 16, 0.3125});
  CHECK(exactValues(map(f32, f16, {2049, 70000}, [](const Fragment &x) { return x.to(f16); })) ==
        std::vector<double>{2048, inf});
  CHECK(exactValues(map(f32, i32, {2.9f, -2.9f}, [](const Fragment &x) { return x.to(i32); })) ==
        std::vector<double>{2, -2});
  CHECK(exactValues(map(i32, i8, {300, -129}, [](const Fragment &x) { return x.to(i8); })) ==
        std::vector<double>{44, 127});
  CHECK(exactValues(map(i32, f32, {16777217}, [](const Fragment &x) { return x.to(f32); })) ==
        std::vector<double>{16777216});
  // Rounded once; by way of f32 this becomes a tie, and the tie an even number.
  constexpr double above = 0x1p30 + 0x1p22 + 1, once = 0x1p30 + 0x1p23, twice = 0x1p30;
  CHECK(exactValues(map(i32, bf16, {above}, [](const Fragment &x) { return x.to(f32).to(bf16); })) ==
        std::vector<double>{once});
  // A variable in between is no other program for the compiler, but another number by the rules: either will
  // do.
  Tensor either = run({{given(i32, {2}, {above, 3}), unwritten(bf16, {2})}, {}}, [](Scope &k) {
    Global X = k.input("X", i32, {2}), Y = k.output("Y", bf16, {2});
    Fragment x = k.fragment(i32, {2}), y = k.fragment(f32, {2});
    copy(X.tile({0}, {2}), x);
    y = x.to(f32);
    copy(y.to(bf16), Y.tile({0}, {2}));
  });
  CHECK(either.elements[0].value == once);
  CHECK(either.elements[0].bound == once - twice);
  CHECK(either.elements[1].bound == 0);
  CHECK(exactValues(map(i32, bf16, {above}, [](const Fragment &x) { return (-x.to(f32)).to(bf16); })) ==
        std::vector<double>{-twice});
  CHECK(exactValues(map(f16, bf16, {1.0078125}, [](const Fragment &x) { return x.to(bf16); })) ==
        std::vector<double>{1.0078125});
  CHECK(exactValues(map(e4m3, f32, {0.3125}, [](const Fragment &x) { return x.to(f32) + 1; })) ==
        std::vector<double>{1.3125});
}

TEST_CASE("inexact numbers carry what they may be off", "[evaluator][unit]") {
  Tensor powers = map(f32, f32, {0, 0.5f}, [](const Fragment &x) { return exp2(x); });
  CHECK(powers.elements[0].bound == 0);
  CHECK(powers.elements[1].value == static_cast<float>(std::sqrt(2)));
  CHECK(powers.elements[1].bound > 0);
  CHECK(
      agrees(f32, powers.elements[1], {.value = powers.elements[1].value * (1 + 0x1p-23), .defined = true}));
  CHECK(
      !agrees(f32, powers.elements[1], {.value = powers.elements[1].value * (1 + 0x1p-18), .defined = true}));
}

TEST_CASE("extents of 1 are repeated, masks know positions", "[evaluator][unit]") {
  Tensor sum =
      run({{given(f32, {2, 1}, {10, 20}), given(f32, {1, 3}, {1, 2, 3}), unwritten(f32, {2, 3})}, {}},
          [](Scope &k) {
            Global A = k.input("A", f32, {2, 1}), B = k.input("B", f32, {1, 3});
            Global Y = k.output("Y", f32, {2, 3});
            Fragment a = k.fragment(f32, {2, 1}), b = k.fragment(f32, {1, 3});
            copy(A.tile({0, 0}, {2, 1}), a);
            copy(B.tile({0, 0}, {1, 3}), b);
            FragmentValue sums = a + b;
            copy(where([&](Index row, Index column) { return row <= column && column != 2; }, sums, 0),
                 Y.tile({0, 0}, {2, 3}));
          });
  CHECK(exactValues(sum) == std::vector<double>{11, 12, 0, 0, 22, 0});
}

TEST_CASE("numbers and positions are computed with in their types", "[evaluator][unit]") {
  Arguments arguments{{given(i32, {3}, {4, 5, 6}), unwritten(f32, {3})}, {elementOf(f32, 0.5)}};
  Tensor y = run(arguments, [](Scope &k) {
    Index n = k.dim("n");
    Global X = k.input("X", i32, {n}), Y = k.output("Y", f32, {n});
    Scalar a = k.scalar("a", f32);
    Index five = X.read({1}), wrapped = five * 2000000000 / 1000000000; // 10^10 mod 2^32 is 1410065408
    Scalar factor = where(n > 2, a, max(a, 100)) * five.to(f32) + wrapped.to(f32) + X.read({3}).to(f32);
    copy(k.fragment(f32, {4}) + factor, Y.tile({0}, {4}));
  });
  CHECK(exactValues(y) == std::vector<double>{3.5, 3.5, 3.5});
}

TEST_CASE("bits become elements of another width", "[evaluator][unit]") {
  Arguments arguments{{given(u32, {3}, {0x3f804000, 0xffff4080, 0x80000001}), unwritten(bf16, {2, 3}),
                       unwritten(u8, {12}), given(f32, {4}, {1, 0, -2, 3}), unwritten(i64, {2})},
                      {}};
  Result<Report> report = tryProgram(arguments, [](Scope &k) {
    Global X = k.input("X", u32, {3}), Y = k.output("Y", bf16, {2, 3}), Z = k.output("Z", u8, {12});
    Global V = k.input("V", f32, {4}), W = k.output("W", i64, {2});
    Fragment x = k.fragment(u32, {3}), v = k.fragment(f32, {4});
    copy(X.tile({0}, {3}), x);
    copy(V.tile({0}, {4}), v);
    copy(reshape(bitcast(x, bf16), {2, 3}), Y.tile({0, 0}, {2, 3}));
    copy(bitcast(x, u8), Z.tile({0}, {12}));
    copy(bitcast(v, i64), W.tile({0}, {2}));
  });
  REQUIRE(report);
  const std::vector<Element> &y = arguments.tensors[1].elements, &z = arguments.tensors[2].elements,
                             &w = arguments.tensors[4].elements;
  const double floats[] = {2, 1, 4};
  for (size_t i = 0; i < 3; ++i)
    CHECK(y[i].value == floats[i]);
  CHECK(std::isnan(y[3].value));
  CHECK(y[4].value == 0x1p-133);
  const int64_t bytes[] = {0x00, 0x40, 0x80, 0x3f, 0x80, 0x40, 0xff, 0xff, 1, 0, 0, 0x80};
  for (size_t i = 0; i < 12; ++i)
    CHECK(z[i].integer == bytes[i]);
  // Which zero it is nobody follows.
  CHECK(w[0].bound != 0);
  CHECK(w[1].bound == 0);
  CHECK(uint64_t(w[1].integer) == 0x40400000c0000000);
}

TEST_CASE("the bits of a number that is certain are certain, but for zeros and NaN", "[evaluator][unit]") {
  constexpr double infinite = std::numeric_limits<double>::infinity(),
                   none = std::numeric_limits<double>::quiet_NaN();
  Arguments arguments{
      {given(f32, {6}, {1, -2, infinite, 0, none, 3}), unwritten(u32, {6}), unwritten(f32, {6})}, {}};
  Result<Report> report = tryProgram(arguments, [](Scope &k) {
    Global X = k.input("X", f32, {6}), Y = k.output("Y", u32, {6}), Z = k.output("Z", f32, {6});
    Fragment x = k.fragment(f32, {6});
    copy(X.tile({0}, {6}), x);
    FragmentValue isLast = k.positions({6}, 0).to(f32) - 5;
    copy(bitcast(where(isLast == 0, exp(x), x), u32), Y.tile({0}, {6}));
    copy(bitcast(k.positions({6}, 0) + 0x3f800000, f32), Z.tile({0}, {6}));
  });
  REQUIRE(report);
  const std::vector<Element> &y = arguments.tensors[1].elements, &z = arguments.tensors[2].elements;
  const uint32_t expected[] = {0x3f800000, 0xc0000000, 0x7f800000};
  for (size_t i = 0; i < y.size(); ++i) {
    CHECK((y[i].bound == 0) == (i < 3));
    CHECK((i >= 3 || uint32_t(y[i].integer) == expected[i]));
    CHECK(z[i].value == 1 + double(i) * 0x1p-23);
    CHECK(z[i].bound == 0);
  }
}

TEST_CASE("a comparison within the bounds is reported, and its choice covers both", "[evaluator][unit]") {
  Arguments arguments{{given(f32, {2}, {0.5, 3}), unwritten(f32, {2})}, {}};
  Result<Report> report = tryProgram(arguments, [](Scope &k) {
    Global X = k.input("X", f32, {2}), Y = k.output("Y", f32, {2});
    Fragment x = k.fragment(f32, {2});
    copy(X.tile({0}, {2}), x);
    FragmentValue root = exp2(x); // sqrt 2, 8
    copy(where(root * root > 2, x, -x), Y.tile({0}, {2}));
  });
  REQUIRE(report);
  REQUIRE(report->ambiguities.size() == 1);
  CHECK(report->ambiguities[0].find("ArithmeticTest.cpp:") != std::string::npos);
  CHECK(report->ambiguities[0].find(": note: compares numbers that lie within each other's bounds: ") !=
        std::string::npos);
  CHECK_THAT(report->ambiguities[0], Catch::Contains(": 2 (bound 0) and 1.99999988 (bound 1.1e-06)"));
  const std::vector<Element> &y = arguments.tensors[1].elements;
  CHECK(y[0].bound == 1);
  CHECK(y[1].value == 3);
  CHECK(y[1].bound == 0);
}
