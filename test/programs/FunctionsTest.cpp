// SPDX-License-Identifier: Apache-2.0
/// \file
/// Functions against those of doubles: the bounds of docs/dsl.md, over all numbers of f32, and what is
/// special.
#include "test/programs/ProgramRun.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <random>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
using OfOne = std::function<FragmentValue(const FragmentValue &)>;
using OfTwo = std::function<FragmentValue(const FragmentValue &, const FragmentValue &)>;

std::vector<double> computed(const OfTwo &function, const std::vector<double> &x,
                             const std::vector<double> &y) {
  auto count = int64_t(x.size());
  constexpr int64_t tile = 1024;
  Artifact artifact = compiled(Program::trace("function", [&](Scope &k) {
    Global X = k.input("X", f32, {count}), Y = k.input("Y", f32, {count}), Z = k.output("Z", f32, {count});
    auto [block] = k.grid(ceilDiv(count, tile));
    Fragment x = k.fragment(f32, {tile}), y = k.fragment(f32, {tile});
    copy(X.tile({block * tile}, {tile}), x);
    copy(Y.tile({block * tile}, {tile}), y);
    copy(function(x, y), Z.tile({block * tile}, {tile}));
  }));
  Memory inputs[] = {Memory::filled(f32, {count}, 0), Memory::filled(f32, {count}, 0)};
  inputs[0].values = x;
  inputs[1].values = y;
  Memory z = Memory::filled(f32, {count}, notANumber);
  run(artifact, {&inputs[0], &inputs[1], &z});
  return z.values;
}

/// Bit patterns, which are numbers of all magnitudes, subnormal ones included, and those around 0 and 1.
std::vector<double> drawn(size_t count, double magnitude) {
  std::mt19937 random(11);
  std::vector<double> numbers = {
      0,   -0.0, 1,     -1,       infinity, -infinity, notANumber, 0x1p-149,       -0x1p-149, 2,
      0.5, 0.92, -0.92, 0x1p-126, 88.72,    -103.97,   38.53,      0x1.fffffep127, -3,        3};
  for (double &number : numbers)
    number = float(number);
  while (numbers.size() < count) {
    float number = std::bit_cast<float>(uint32_t(random()));
    if (numbers.size() % 3 == 0)
      number = float(std::uniform_real_distribution<>(-8, 8)(random));
    if (numbers.size() % 3 == 1)
      number = std::ldexp(number, -std::ilogb(number) + int(random() % 48) - 27);
    if (std::abs(number) <= magnitude)
      numbers.push_back(number);
  }
  return numbers;
}

/// Relative to the result; one that is not normal as if it were the smallest normal number.
void checkWithin(double bound, double expected, double actual) {
  double rounded = float(expected);
  if (std::isnan(expected) || std::isnan(actual)) {
    CHECK(std::isnan(expected) == std::isnan(actual));
  } else if (std::isinf(rounded) || std::isinf(actual)) {
    double limit = 0x1.fffffep127 * (1 - bound); // whose neighbours may round to infinity
    CHECK((rounded == actual || (std::abs(expected) > limit && (expected > 0) == (actual > 0))));
  } else {
    CHECK(std::abs(actual - expected) <= bound * std::max(std::abs(expected), 0x1p-126));
  }
}

void checkFunction(double bound, const OfOne &function, double (*reference)(double),
                   double magnitude = infinity) {
  std::vector<double> x = drawn(20001, magnitude);
  std::vector<double> y =
      computed([&](const FragmentValue &x, const FragmentValue &) { return function(x); }, x, x);
  for (size_t i = 0; i < x.size(); ++i) {
    INFO("of " << x[i] << ": " << y[i] << " instead of " << reference(x[i]));
    checkWithin(bound, reference(x[i]), y[i]);
  }
}

double ofAngles(double (*function)(double), double x) {
  return std::abs(x) <= 0x1p20 ? function(x) : notANumber;
}

} // namespace

TEST_CASE("sine, cosine and tangent up to 2^20, NaN beyond", "[functions]") {
  checkFunction(
      0x1p-22, [](const FragmentValue &x) { return sin(x); }, [](double x) { return ofAngles(std::sin, x); });
  checkFunction(
      0x1p-22, [](const FragmentValue &x) { return cos(x); }, [](double x) { return ofAngles(std::cos, x); });
  checkFunction(
      0x1p-21, [](const FragmentValue &x) { return tan(x); }, [](double x) { return ofAngles(std::tan, x); });
}

TEST_CASE("angles whose sine is nearly 0", "[functions]") {
  std::vector<double> x;
  for (int n = 1; n <= 4096; ++n) // up to 2^20 and beyond any table
    x.push_back(float(n * (n % 2 ? 1 : 163) * M_PI / 2));
  std::vector<double> y =
      computed([](const FragmentValue &x, const FragmentValue &) { return sin(x); }, x, x);
  std::vector<double> z =
      computed([](const FragmentValue &x, const FragmentValue &) { return cos(x); }, x, x);
  for (size_t i = 0; i < x.size(); ++i) {
    INFO(x[i]);
    checkWithin(0x1p-22, ofAngles(std::sin, x[i]), y[i]);
    checkWithin(0x1p-22, ofAngles(std::cos, x[i]), z[i]);
  }
}

TEST_CASE("exponentials and logarithms, accurate near 0", "[functions]") {
  checkFunction(0x1p-22, [](const FragmentValue &x) { return expm1(x); }, std::expm1);
  checkFunction(0x1p-22, [](const FragmentValue &x) { return log1p(x); }, std::log1p);
  checkFunction(
      0x1p-21, [](const FragmentValue &x) { return exp10(x); }, [](double x) { return std::pow(10, x); });
}

TEST_CASE("the error function and the arc tangent", "[functions]") {
  checkFunction(0x1p-22, [](const FragmentValue &x) { return erf(x); }, std::erf);
  checkFunction(0x1p-21, [](const FragmentValue &x) { return atan(x); }, std::atan);
}

TEST_CASE("numbers are rounded to whole ones, ties to even, or cut", "[functions]") {
  checkFunction(
      0, [](const FragmentValue &x) { return round(x); }, [](double x) { return std::nearbyint(x); });
  checkFunction(0, [](const FragmentValue &x) { return trunc(x); }, [](double x) { return std::trunc(x); });
}

TEST_CASE("powers of all numbers are those of C", "[functions]") {
  std::mt19937 random(5);
  std::vector<double> special = {0,       -0.0,     1,        -1,       2,         -2,           3,
                                 -3,      0.5,      -0.5,     infinity, -infinity, notANumber,   1.5,
                                 0x1p100, 0x1p-140, 16777215, 1e10,     -1e10,     0x1.fffffep-1};
  std::vector<double> x, y;
  for (double base : special)
    for (double exponent : special)
      x.push_back(base), y.push_back(exponent);
  while (x.size() < 20001) {
    auto base = double(std::bit_cast<float>(uint32_t(random())));
    // What the result's exponent is, evenly.
    double exponent = std::uniform_real_distribution<>(-155, 130)(random) / std::log2(std::abs(base));
    if (x.size() % 4 == 0)
      base = float(std::uniform_real_distribution<>(0.5, 2)(random)),
      exponent = std::uniform_real_distribution<>(-260, 260)(random);
    if (x.size() % 4 == 1)
      exponent = std::trunc(exponent);
    x.push_back(base), y.push_back(float(exponent));
  }
  std::vector<double> z =
      computed([](const FragmentValue &x, const FragmentValue &y) { return pow(x, y); }, x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    INFO(x[i] << " to the power of " << y[i] << ": " << z[i] << " instead of " << std::pow(x[i], y[i]));
    checkWithin(0x1p-21, std::pow(x[i], y[i]), z[i]);
  }
}

TEST_CASE("a product and a sum are rounded once, signs are copied, numbers are clamped", "[functions]") {
  std::vector<double> x = drawn(4001, infinity), y = x;
  std::shuffle(y.begin(), y.end(), std::mt19937(3));
  std::vector<double> sums =
      computed([](const FragmentValue &x, const FragmentValue &y) { return fma(x, y, x); }, x, y);
  std::vector<double> signs =
      computed([](const FragmentValue &x, const FragmentValue &y) { return copySign(x, y); }, x, y);
  std::vector<double> clamped =
      computed([](const FragmentValue &x, const FragmentValue &y) { return clamp(x, -2, abs(y)); }, x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    INFO(x[i] << ", " << y[i]);
    checkWithin(0, std::fmaf(float(x[i]), float(y[i]), float(x[i])), sums[i]);
    checkWithin(0, std::isnan(y[i]) ? signs[i] : std::copysign(x[i], y[i]), signs[i]);
    double high = std::abs(y[i]);
    bool isNaN = std::isnan(x[i]) || std::isnan(y[i]);
    checkWithin(0, isNaN ? notANumber : std::min(std::max(x[i], -2.0), high), clamped[i]);
  }
}

TEST_CASE("fast forms are within the bounds of the instructions", "[functions]") {
  constexpr Accuracy fast = Accuracy::fast;
  std::vector<double> x;
  for (int i = -3140; i <= 3140; ++i)
    x.push_back(float(i / 10.0));
  auto check = [&](double (*error)(double), double (*reference)(double), const OfOne &function) {
    std::vector<double> y =
        computed([&](const FragmentValue &x, const FragmentValue &) { return function(x); }, x, x);
    for (size_t i = 0; i < x.size(); ++i) {
      INFO(x[i]);
      CHECK(std::abs(y[i] - reference(x[i])) <= error(x[i]));
    }
  };
  auto ofWave = [](double x) { return std::exp2(std::abs(x) <= 2 * M_PI ? -20.5 : -14.7); };
  check(ofWave, std::sin, [](const FragmentValue &x) { return sin(x, fast); });
  check(ofWave, std::cos, [](const FragmentValue &x) { return cos(x, fast); });
  check([](double x) { return std::abs(std::tanh(x)) * 0x1.01p-11; }, std::tanh,
        [](const FragmentValue &x) { return tanh(x, fast); });
  check([](double x) { return std::sqrt(std::abs(x)) * 0x1.8p-23; },
        [](double x) { return std::sqrt(std::abs(x)); },
        [](const FragmentValue &x) { return sqrt(abs(x), fast); });
  check([](double x) { return std::pow(std::abs(x) + 1, 1.5) * 0x1p-18; },
        [](double x) { return std::pow(std::abs(x) + 1, 1.5); },
        [](const FragmentValue &x) { return pow(abs(x) + 1, 1.5, fast); });
}

TEST_CASE("comparisons that hold for all numbers are false for NaN", "[functions]") {
  constexpr int64_t count = 8;
  using Compared = std::function<Predicate(const FragmentValue &)>;
  const Compared comparisons[] = {[](const FragmentValue &x) { return abs(x) > -0.5; },
                                  [](const FragmentValue &x) { return abs(x) >= 0; },
                                  [](const FragmentValue &x) { return -1 < x * x; },
                                  [](const FragmentValue &x) { return exp2(x) >= 0; },
                                  [](const FragmentValue &x) { return tanh(x) < 2; },
                                  [](const FragmentValue &x) { return -abs(x) <= 0; }};
  Artifact artifact = compiled(Program::trace("compared", [&](Scope &k) {
    Global X = k.input("X", f32, {count}), Y = k.output("Y", f32, {int64_t(std::size(comparisons)), count});
    Fragment x = k.fragment(f32, {count});
    copy(X.tile({0}, {count}), x);
    for (size_t i = 0; i < std::size(comparisons); ++i)
      copy(where(comparisons[i](x), k.fragment(f32, {count}, 1), 0), Y.tile({int64_t(i), 0}, {1, count}));
  }));
  Memory x = Memory::filled(f32, {count}, 1),
         y = Memory::filled(f32, {int64_t(std::size(comparisons)), count}, 9);
  for (int64_t i = 0; i < count; i += 2)
    x.values[size_t(i)] = notANumber;
  run(artifact, {&x, &y});
  for (size_t i = 0; i < y.values.size(); ++i)
    CHECK(y.values[i] == (i % 2 == 0 ? 0 : 1));
}
