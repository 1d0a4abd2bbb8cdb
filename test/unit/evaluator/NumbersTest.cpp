// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rounding, and the bounds of single operations.
#include "compiler/evaluator/Functions.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::evaluator;

namespace {
const Kind f16 = kindOf(ElementType::f16), bf16 = kindOf(ElementType::bf16), f32 = kindOf(ElementType::f32),
           f64 = kindOf(ElementType::f64), e4m3 = kindOf(ElementType::e4m3);
constexpr double infinity = std::numeric_limits<double>::infinity();
const double notANumber = std::nan("");

Element number(double value, double bound = 0) { return {.value = value, .bound = bound, .defined = true}; }
} // namespace

TEST_CASE("numbers are rounded to the nearest of their type, ties to even", "[evaluator][unit]") {
  CHECK(nearest(f16, 2049) == 2048);
  CHECK(nearest(f16, 2051) == 2052);
  CHECK(nearest(f16, 65519) == 65504);
  CHECK(nearest(f16, 65520) == infinity);
  CHECK(nearest(f16, 0x1.8p-25) == 0x1p-24); // subnormal
  CHECK(nearest(f16, 0x1p-25) == 0);         // half of the smallest, to even
  CHECK(nearest(bf16, 257) == 256);
  CHECK(nearest(bf16, 259) == 260);
  CHECK(nearest(f32, 16777217) == 16777216);
  CHECK(nearest(f64, 0.1) == 0.1);
  CHECK(nearest(e4m3, 17) == 16);
  CHECK(nearest(e4m3, 19) == 20);
  CHECK(nearest(e4m3, 1000) == 448); // saturates
  CHECK(nearest(e4m3, -infinity) == -448);
  CHECK(nearest(e4m3, 0x1p-10) == 0);
  CHECK(nearest(e4m3, 0x1.8p-10) == 0x1p-9);
  CHECK(std::isnan(nearest(e4m3, notANumber)));
}

TEST_CASE("what is rounded to nearest has one result", "[evaluator][unit]") {
  CHECK(add(f32, number(1), number(0x1p-30)).bound == 0);
  CHECK(divide(f64, number(1), number(3)).bound == 0);
  CHECK(apply(f32, Function::sqrt, number(2)).bound == 0);
  CHECK(multiply(f32, number(3), number(5)).bound == 0);
}

TEST_CASE("a product that is rounded may be fused with a sum", "[evaluator][unit]") {
  double x = 1 + 0x1p-23;
  Element product = multiply(f32, number(x), number(x));
  CHECK(product.value == 1 + 0x1p-22);
  CHECK(product.bound == 0x1p-46); // what rounding cut off
  Element sum = add(f32, product, number(-1));
  CHECK(sum.value == 0x1p-22);
  CHECK(sum.bound >= 0x1p-46);
  CHECK(sum.bound <= 0x1.01p-45);
  // Also where it is only scaled before.
  CHECK(divide(f32, product, number(-1)).bound == product.bound);
  CHECK(divide(f32, product, number(2)).bound == product.bound / 2);
  // And where what is between changes nothing.
  CHECK(add(f32, product, number(0)).bound == product.bound);
  CHECK(maximum(f32, product, number(0)).bound == product.bound);
  CHECK(floatToFloat(f32, floatToFloat(f64, product, Rounding::nearest), Rounding::nearest).bound >=
        product.bound);
}

TEST_CASE("bounds go through operations and are rounded with them", "[evaluator][unit]") {
  Element sum = add(f32, number(1, 0x1p-20), number(2, 0x1p-21));
  CHECK(sum.bound >= 0x1.8p-20);
  CHECK(sum.bound <= 0x1.81p-20);
  // The same nearest number on both sides.
  CHECK(floatToFloat(bf16, number(1.001, 0x1p-20), Rounding::nearest).bound == 0);
  // A boundary between: one unit of bf16.
  CHECK(floatToFloat(bf16, number(1 + 0x1p-8, 0x1p-20), Rounding::nearest).bound >= 0x1p-7);
  CHECK(maximum(f32, number(1, 0.25), number(3, 0.5)).bound == Approx(0.5));
  CHECK(maximum(f32, number(1, 0.25), number(3, 0)).bound == 0);
  CHECK(divide(f32, number(1, 0.5), number(2)).bound == Approx(0.25));
}

TEST_CASE("quotients of f32 are within two units, by powers of two exact", "[evaluator][unit]") {
  Element third = divide(f32, number(1), number(3));
  CHECK(third.bound >= 0x1p-25);
  CHECK(third.bound <= 0x1p-22);
  CHECK(divide(f32, number(3), number(4)).bound == 0);
  CHECK(std::isinf(divide(f32, number(1), number(0)).bound)); // of which sign?
  CHECK(std::isnan(divide(f32, number(0), number(0)).value));
  CHECK(divide(f32, number(0), number(7)).bound == 0);
  CHECK(divide(f16, number(1), number(3)).bound == 0); // far from a boundary of f16
  CHECK(std::isinf(divide(f32, number(1), number(0.1, 0.2)).bound));
}

TEST_CASE("approximate functions have the machine's bounds", "[evaluator][unit]") {
  CHECK(apply(f32, Function::exp2, number(0)).bound == 0);
  CHECK(apply(f32, Function::exp2, number(-infinity)).value == 0);
  CHECK(apply(f32, Function::exp2, number(-infinity)).bound == 0);
  Element power = apply(f32, Function::exp2, number(0.5));
  CHECK(power.bound >= std::sqrt(2) * 0x1p-22);
  CHECK(power.bound <= std::sqrt(2) * 0x1p-21);
  CHECK(apply(f32, Function::exp2, number(-140)).bound >= std::exp2(-140)); // subnormal: may be 0
  CHECK(apply(f32, Function::log2, number(0)).value == -infinity);
  CHECK(apply(f32, Function::log2, number(1)).bound >= 0x1p-22);
  CHECK(std::isnan(apply(f32, Function::log, number(-1)).value));
  CHECK(apply(f32, Function::rsqrt, number(4)).value == 0.5);
  CHECK(std::isinf(apply(f32, Function::rsqrt, number(0)).bound));
  CHECK(apply(f32, Function::tanh, number(0)).bound == 0);
  CHECK(apply(f32, Function::floor, number(2.5)).value == 2);
  CHECK(apply(f32, Function::ceil, number(3 - 0x1p-20, 0x1p-19)).bound == Approx(1));
  CHECK(std::isinf(apply(f32, Function::sqrt, number(0.1, 0.2)).bound)); // may be NaN
}

TEST_CASE("formulas have the bounds of the language", "[evaluator][unit]") {
  auto relative = [](const Element &y) { return y.bound / std::abs(y.value); };
  for (Function function : {Function::sin, Function::cos, Function::expm1, Function::log1p, Function::erf}) {
    CHECK(relative(apply(f32, function, number(0.75))) >= 0x1.8p-23); // rounded
    CHECK(relative(apply(f32, function, number(0.75))) <= 0x1.6p-22);
  }
  CHECK(relative(apply(f32, Function::tan, number(0.75))) >= 0x1.8p-22);
  CHECK(relative(apply(f32, Function::atan, number(0.75))) >= 0x1.8p-22);
  CHECK(apply(f32, Function::sin, number(0)).bound == 0);
  CHECK(apply(f32, Function::expm1, number(0)).bound == 0);
  CHECK(apply(f32, Function::sin, number(0x1p20)).bound <= 0x1p-21);
  CHECK(std::isnan(apply(f32, Function::sin, number(0x1.000002p20)).value)); // beyond the largest angle
  CHECK(apply(f32, Function::sin, number(0x1.000002p20)).bound == 0);
  CHECK(std::isinf(apply(f32, Function::tan, number(0x1p20, 1)).bound));
  CHECK(std::isinf(apply(f32, Function::tan, number(1.57, 0.01)).bound)); // a pole is near
  CHECK(apply(f32, Function::cos, number(0, 0.5)).bound <= 0.51);
  CHECK(apply(f32, Function::erf, number(infinity)).value == 1);
  CHECK(apply(f32, Function::expm1, number(-infinity)).value == -1);
  CHECK(apply(f32, Function::round, number(2.5)).value == 2);
  CHECK(apply(f32, Function::round, number(3.5)).bound == 0);
  CHECK(apply(f32, Function::trunc, number(-2.5)).value == -2);
}

TEST_CASE("fast forms have the bounds of the instructions", "[evaluator][unit]") {
  CHECK(apply(f32, Function::sin, number(6), Accuracy::fast).bound >= 0x1.6ap-21);
  CHECK(apply(f32, Function::sin, number(7), Accuracy::fast).bound >= 0x1.3bp-15);
  CHECK(std::isinf(apply(f32, Function::cos, number(315), Accuracy::fast).bound));
  Element tangent = apply(f32, Function::tanh, number(0.5), Accuracy::fast);
  CHECK(tangent.bound >= tangent.value * 0x1p-11);
  CHECK(apply(f32, Function::sqrt, number(4), Accuracy::fast).bound > 0);
  CHECK(std::isinf(apply(f32, Function::sqrt, number(1e-40), Accuracy::fast).bound));
  CHECK(std::isinf(power(f32, number(-2), number(2), Accuracy::fast).bound));
  // The exponent multiplies the logarithm's error.
  CHECK(power(f32, number(1.5), number(100), Accuracy::fast).bound >= std::pow(1.5, 100) * 0x1p-16);
}

TEST_CASE("powers are those of C", "[evaluator][unit]") {
  CHECK(power(f32, number(3), number(2)).value == 9);
  CHECK(power(f32, number(3), number(2)).bound >= 9 * 0x1p-21);
  CHECK(power(f32, number(-3), number(3)).value == -27);
  CHECK(std::isnan(power(f32, number(-3), number(0.5)).value));
  CHECK(power(f32, number(-3), number(0.5)).bound == 0);
  CHECK(power(f32, number(notANumber), number(0)).value == 1);
  CHECK(power(f32, number(1), number(notANumber)).bound == 0);
  CHECK(power(f32, number(0), number(-1)).value == infinity);
  CHECK(power(f32, number(0.5), number(-infinity)).value == infinity);
  CHECK(std::isinf(power(f32, number(0.1, 0.2), number(0.5)).bound)); // may be NaN
  CHECK(power(f32, number(2, 0.5), number(2)).bound >= 2.25);
}

TEST_CASE("a product and a sum are rounded once", "[evaluator][unit]") {
  double x = 1 + 0x1p-12;
  CHECK(multiplyAdd(f32, number(x), number(x), number(-1)).value == 0x1p-11 + 0x1p-24);
  CHECK(multiplyAdd(f32, number(x), number(x), number(-1)).bound == 0);
  // Rounded to a double first, it would be a tie.
  CHECK(multiplyAdd(f32, number(1 + 0x1p-12), number(1 + 0x1p-12), number(0x1p-100)).value ==
        1 + 0x1p-11 + 0x1p-23);
  CHECK(multiplyAdd(f64, number(0.1), number(10), number(-1)).value == std::fma(0.1, 10, -1));
  CHECK(std::isnan(multiplyAdd(f32, number(infinity), number(0), number(1)).value));
  CHECK(multiplyAdd(f32, number(2, 0.5), number(3), number(1)).bound == Approx(1.5));
}

TEST_CASE("a sign comes from numbers other than 0", "[evaluator][unit]") {
  CHECK(copySign(f32, number(-3, 0.5), number(2)).value == 3);
  CHECK(copySign(f32, number(3, 0.5), number(-2)).bound == 0.5);
  CHECK(copySign(f32, number(3), number(0)).bound == 6);
  CHECK(copySign(f32, number(3), number(notANumber)).bound == 6);
  CHECK(copySign(f32, number(0), number(0)).bound == 0);
}

TEST_CASE("infinities and NaN are certain where bounds are finite", "[evaluator][unit]") {
  CHECK(add(f32, number(infinity), number(1, 0.5)).bound == 0);
  CHECK(std::isnan(add(f32, number(infinity), number(-infinity)).value));
  CHECK(std::isinf(multiply(f32, number(infinity), number(0.1, 0.5)).bound));
  CHECK(multiply(f32, number(infinity), number(1, 0.5)).bound == 0);
  CHECK(maximum(f32, number(notANumber), number(1)).value == 1);
  CHECK(minimum(f32, number(2, 0.5), number(notANumber)).bound == 0.5);
  CHECK(std::isinf(multiply(f32, number(0x1p127), number(4)).bound)); // infinite, or not if it is fused
  CHECK(add(f32, number(0x1p127), number(0x1p127)).value == infinity);
}

TEST_CASE("sums are exact if all partial sums are, in any order", "[evaluator][unit]") {
  auto sumOf = [](const Kind &kind, std::initializer_list<double> terms) {
    Sum sum;
    for (double term : terms)
      sum.add(number(term));
    return sum.result(kind, ordinarySums(kind));
  };
  CHECK(sumOf(f32, {16777215, 1}).bound == 0);
  Element open = sumOf(f32, {16777216, 1, -16777216}); // 0 or 1
  CHECK(open.value == 1);
  CHECK(open.bound >= 1);
  CHECK(sumOf(f16, {1024, 512, 0.5}).bound > 0);
  CHECK(sumOf(f16, {1024, 512, 1}).bound == 0);
  CHECK(sumOf(bf16, {255, 1}).bound == 0);
  CHECK(sumOf(bf16, {255, 2}).bound > 0);
  CHECK(std::isinf(sumOf(f32, {0x1p127, 0x1p127, -0x1p127}).bound)); // infinite on the way?
  CHECK(sumOf(f32, {infinity, 1}).bound == 0);
  CHECK(sumOf(f32, {0.1f}).bound == 0);
}

TEST_CASE("conversions to integers cut, and leave open what does not fit", "[evaluator][unit]") {
  Kind i8 = kindOf(ElementType::i8), i32 = kindOf(ElementType::i32), i64 = kindOf(ElementType::i64);
  CHECK(floatToInteger(i32, number(-2.9), Rounding::zero, false).integer == -2);
  CHECK(floatToInteger(i32, number(2.9, 0.05), Rounding::zero, false).bound == 0);
  CHECK(std::isinf(floatToInteger(i32, number(2.99, 0.05), Rounding::zero, false).bound));
  CHECK(std::isinf(floatToInteger(i8, number(128), Rounding::zero, false).bound));
  CHECK(floatToInteger(i8, number(-128), Rounding::zero, false).integer == -128);
  CHECK(std::isinf(floatToInteger(i64, number(notANumber), Rounding::zero, false).bound));
  // Rounded once: by way of f64 it would become 2^24.
  Element large{.integer = (int64_t(1) << 60) + (int64_t(1) << 36) + 1, .defined = true};
  CHECK(integerToFloat(f32, large).value == 0x1p60 + 0x1p37);
  CHECK(wrapped(i8, 200) == -56);
}

TEST_CASE("comparisons within the bounds are open", "[evaluator][unit]") {
  CHECK(!isOpen(number(1), number(1)));
  CHECK(isOpen(number(1, 0.1), number(1)));
  CHECK(isOpen(number(1, 0.1), number(1.05)));
  CHECK(!isOpen(number(1, 0.1), number(1.2)));
  CHECK(!isOpen(number(1, 0.1), number(notANumber)));
  CHECK(!isOpen(number(1, 0.1), number(infinity)));
  CHECK(isOpen(unspecified(number(1)), number(infinity)));
}

TEST_CASE("a choice that is open covers both numbers", "[evaluator][unit]") {
  CHECK(select(f32, truthOf(true), number(1), number(5)).value == 1);
  CHECK(select(f32, truthOf(false), number(1), number(5, 0.5)).bound == 0.5);
  Element open = select(f32, truthOf(true, false), number(1), number(5, 0.5));
  CHECK(open.value == 1);
  CHECK(open.bound == 4.5);
  CHECK(select(f32, truthOf(true, false), number(3), number(3)).bound == 0);
  CHECK(std::isinf(select(f32, truthOf(true, false), number(3), number(infinity)).bound));
}
