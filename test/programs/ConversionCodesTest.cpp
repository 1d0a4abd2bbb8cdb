// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every conversion, of every code of the narrow types and of what lies between any two of their numbers.
#include "kernels/harness/ElementBits.h"
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <optional>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

constexpr Rounding roundings[] = {Rounding::nearest, Rounding::zero, Rounding::down, Rounding::up};
constexpr double infinite = std::numeric_limits<double>::infinity();

/// The numbers that have a code, without the infinite ones; of types of up to 16 bits.
std::vector<double> numbersOf(ElementType type) {
  std::vector<double> numbers;
  for (uint64_t code = 0; code < uint64_t(1) << bitsOf(type); ++code)
    if (double number = kernels::decodeElement(type, code); std::isfinite(number))
      numbers.push_back(number);
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end()); // 0 and -0
  return numbers;
}

/// Every code's number, as it is.
std::vector<double> codesOf(ElementType type) {
  std::vector<double> numbers;
  for (uint64_t code = 0; code < uint64_t(1) << bitsOf(type); ++code)
    numbers.push_back(kernels::decodeElement(type, code));
  return numbers;
}

/// Of many numbers those at both ends and around 0, and some others.
std::vector<double> thinned(const std::vector<double> &numbers) {
  if (numbers.size() <= 4096)
    return numbers;
  std::vector<double> few;
  auto isNear = [](size_t a, size_t b) { return a < b + 40 && b < a + 40; };
  for (size_t i = 0; i < numbers.size(); ++i)
    if (i % 97 < 2 || isNear(i, 0) || isNear(i, numbers.size() / 2) || isNear(i, numbers.size()))
      few.push_back(numbers[i]);
  return few;
}

/// Numbers of `from` at, between and beyond those of `to`, with their ties.
std::vector<double> interesting(ElementType from, const std::vector<double> &of) {
  std::vector<double> values = {0.0, -0.0, infinite, -infinite, notANumber};
  auto add = [&](double value) {
    value = kernels::decodeElement(from, kernels::encodeElement(from, value));
    float narrow = static_cast<float>(value);
    values.push_back(value);
    if (from == ElementType::f64)
      values.insert(values.end(), {std::nextafter(value, infinite), std::nextafter(value, -infinite)});
    if (from == ElementType::f32)
      values.insert(values.end(), {std::nextafterf(narrow, INFINITY), std::nextafterf(narrow, -INFINITY)});
  };
  for (size_t i = 0; i < of.size(); ++i) {
    add(of[i]);
    if (i + 1 < of.size())
      add(of[i] / 2 + of[i + 1] / 2);
  }
  double beyond = of.back() + (of.back() - of[of.size() - 2]) / 2; // where the nearest would be infinite
  for (double value : {beyond, of.back() * 1.5, of.back() * 4, 1e38})
    for (double sign : {1.0, -1.0})
      add(sign * value);
  return values;
}

double largestOf(ElementType type) { return factsOf(type).format.largest(); }

/// `x` in the sorted numbers of a float.
double roundedTo(ElementType type, const std::vector<double> &numbers, double x, Conversion how) {
  const bool saturate = how.saturate || saturates(type);
  const double largest = largestOf(type);
  if (std::isnan(x))
    return factsOf(type).format.specials == Specials::none ? largest : x;
  if (std::isinf(x))
    return saturate ? std::copysign(largest, x) : x;
  auto above = std::ranges::lower_bound(numbers, x);
  if (above != numbers.end() && *above == x)
    return x;
  double step = largest - numbers[numbers.size() - 2];
  double high = above == numbers.end() ? infinite : *above;
  double low = above == numbers.begin() ? -infinite : *(above - 1);
  double result = x;
  switch (how.rounding.value_or(Rounding::nearest)) {
  case Rounding::down:
    result = low;
    break;
  case Rounding::up:
    result = high;
    break;
  case Rounding::zero:
    result = x > 0 ? low : high;
    break;
  case Rounding::nearest: {
    double top = std::isinf(high) ? largest + step : high, bottom = std::isinf(low) ? -largest - step : low;
    bool isOddHigh = (kernels::encodeElement(type, high) & 1) != 0;
    bool isEvenLow = std::isinf(low) ? isOddHigh : (kernels::encodeElement(type, low) & 1) == 0;
    bool isUp = top - x < x - bottom || (top - x == x - bottom && !isEvenLow);
    result = isUp ? high : low;
    break;
  }
  }
  if (std::isinf(result) && saturate)
    result = std::copysign(largest, result);
  return result == 0 ? std::copysign(0.0, x) : result;
}

/// Of f64 as f32.
double roundedToFloat(double x, Conversion how) {
  float nearest = static_cast<float>(x);
  float result = nearest;
  switch (how.rounding.value_or(Rounding::nearest)) {
  case Rounding::down:
    result = nearest > x ? std::nextafterf(nearest, -INFINITY) : nearest;
    break;
  case Rounding::up:
    result = nearest < x ? std::nextafterf(nearest, INFINITY) : nearest;
    break;
  case Rounding::zero:
    result = std::fabs(nearest) > std::fabs(x) ? std::nextafterf(nearest, 0) : nearest;
    break;
  case Rounding::nearest:
    break;
  }
  return std::isinf(result) && how.saturate ? std::copysign(largestOf(ElementType::f32), x) : result;
}

/// Nothing where the language does not say what it is.
std::optional<double> asInteger(ElementType type, double x, Conversion how) {
  const int bits = int(bitsOf(type)) - (isUnsigned(type) ? 0 : 1);
  const double end = std::ldexp(1.0, bits), least = isUnsigned(type) ? 0 : -end;
  if (std::isnan(x))
    return how.saturate ? std::optional(0.0) : std::nullopt;
  double whole = x;
  switch (how.rounding.value_or(Rounding::zero)) {
  case Rounding::nearest:
    whole = std::nearbyint(x);
    break;
  case Rounding::zero:
    whole = std::trunc(x);
    break;
  case Rounding::down:
    whole = std::floor(x);
    break;
  case Rounding::up:
    whole = std::ceil(x);
    break;
  }
  if (whole >= least && whole < end)
    return whole + 0.0; // no -0
  if (!how.saturate)
    return std::nullopt;
  return whole < 0 ? least : static_cast<double>((uint64_t(1) << bits) - 1);
}

/// What the values become, for each of the ways.
std::vector<std::vector<double>> converted(ElementType from, ElementType to, std::vector<double> values,
                                           const std::vector<Conversion> &ways, const std::string &target) {
  constexpr int64_t perBlock = 1024;
  const size_t wanted = values.size();
  values.resize((wanted + perBlock - 1) / perBlock * perBlock, 1.0);
  const int64_t count = int64_t(values.size());
  Program program = Program::trace("converted", [&](Scope &k) {
    Global X = k.input("X", from, {count});
    std::vector<Global> results;
    for (size_t i = 0; i < ways.size(); ++i)
      results.push_back(k.output("Y" + std::to_string(i), to, {count}));
    auto [block] = k.grid(count / perBlock);
    Fragment x = k.fragment(from, {perBlock});
    copy(X.tile({block * perBlock}, {perBlock}), x);
    for (size_t i = 0; i < ways.size(); ++i)
      copy(x.to(to, ways[i]), results[i].tile({block * perBlock}, {perBlock}));
  });
  CompileOptions options;
  options.target = target;
  Artifact artifact = compiled(std::move(program), options);
  Memory x = Memory::filled(from, {count}, 0);
  x.values = values;
  std::vector<Memory> results(ways.size(), Memory::filled(to, {count}, isInteger(to) ? 77 : notANumber));
  std::vector<Memory *> tensors = {&x};
  for (Memory &result : results)
    tensors.push_back(&result);
  run(artifact, tensors);
  std::vector<std::vector<double>> found;
  for (Memory &result : results) {
    result.values.resize(wanted);
    found.push_back(std::move(result.values));
  }
  return found;
}

bool isSame(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

using Expected = std::function<std::optional<double>(double, Conversion)>;

void check(ElementType from, ElementType to, const std::vector<double> &values,
           const std::vector<Conversion> &ways, const std::string &target, const Expected &expected) {
  std::vector<std::vector<double>> found = converted(from, to, values, ways, target);
  for (size_t way = 0; way < ways.size(); ++way) {
    int wrong = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      // What the source has of the value.
      double x = kernels::decodeElement(from, kernels::encodeElement(from, values[i]));
      std::optional<double> wanted = expected(x, ways[way]);
      if (!wanted || isSame(found[way][i], *wanted) || ++wrong > 3)
        continue;
      UNSCOPED_INFO(toString(from) << " to " << toString(to) << " for " << target << ", way " << way << ": "
                                   << x << " becomes " << found[way][i] << ", not " << *wanted);
    }
    CHECK(wrong == 0);
  }
}

std::vector<Conversion> allWays(ElementType to) {
  std::vector<Conversion> ways;
  for (Rounding rounding : roundings)
    for (bool saturate : {false, true})
      if (!saturate || !saturates(to))
        ways.push_back({rounding, saturate});
  return ways;
}

std::vector<ElementType> typesWhere(bool (*holds)(ElementType)) {
  std::vector<ElementType> types;
  std::ranges::copy_if(allElementTypes, std::back_inserter(types), holds);
  return types;
}
bool isNarrowFloat(ElementType type) { return isFloat(type) && bitsOf(type) <= 16; }

/// One whose machine converts such floats, and one whose does not.
std::array<const char *, 2> targetsOf(ElementType narrow) {
  if (bitsOf(narrow) == 4)
    return {"sm_100a", "sm_90a"};
  return {"sm_90a", "sm_80"};
}
} // namespace

TEST_CASE("floats become narrow floats with every rounding", "[conversion]") {
  for (ElementType to : typesWhere(isNarrowFloat)) {
    std::vector<double> numbers = numbersOf(to);
    for (ElementType from : typesWhere(isFloat))
      for (const char *target : targetsOf(to))
        if (from != to)
          check(from, to, bitsOf(from) <= 16 ? codesOf(from) : interesting(from, thinned(numbers)),
                allWays(to), target,
                [&](double x, Conversion how) { return roundedTo(to, numbers, x, how); });
  }
}

TEST_CASE("floats become wide ones as they are, f64 becomes f32 with every rounding", "[conversion]") {
  for (ElementType from : typesWhere(isNarrowFloat))
    for (ElementType to : {ElementType::f32, ElementType::f64})
      for (const char *target : targetsOf(from))
        check(from, to, codesOf(from), {{}, {.saturate = true}}, target, [&](double x, Conversion how) {
          return how.saturate && std::isinf(x) ? std::copysign(largestOf(to), x) : x;
        });
  std::vector<double> values = interesting(ElementType::f64, thinned(numbersOf(ElementType::bf16)));
  for (double value : {1 + 0x1p-24, 1 + 0x1.8p-23, 1e-46, 0x1p-149 * 1.5, 0x1.ffffffp127, 1e300})
    values.insert(values.end(), {value, -value});
  check(ElementType::f64, ElementType::f32, values, allWays(ElementType::f32), "sm_90a", roundedToFloat);
}

TEST_CASE("floats become integers with every rounding, and saturate", "[conversion]") {
  for (ElementType from : typesWhere(isFloat)) {
    std::vector<double> values = {0.5,  -0.5,     1.5,       -1.5,       2.5,  -2.5, 0.49, -0.49,
                                  3.99, infinite, -infinite, notANumber, -0.0, 1e30, -1e30};
    for (int bits : {3, 4, 7, 8, 31, 32, 63, 64})
      for (double delta : {-1.0, -0.5, 0.0, 0.5, 1.0})
        values.insert(values.end(), {std::ldexp(1.0, bits) + delta, -std::ldexp(1.0, bits) - delta});
    if (bitsOf(from) <= 8)
      values = codesOf(from);
    for (ElementType to : typesWhere(isInteger))
      check(from, to, values, allWays(to), "sm_90a",
            [&](double x, Conversion how) { return asInteger(to, x, how); });
  }
}

TEST_CASE("integers become floats, rounded once, and other integers", "[conversion]") {
  for (ElementType from : typesWhere(isInteger)) {
    std::vector<double> values;
    const double end = std::ldexp(1.0, std::min(int(bitsOf(from)) - (isUnsigned(from) ? 0 : 1), 53));
    for (int64_t value = -300; value <= 300; ++value)
      values.push_back(double(value));
    for (int bits = 8; bits <= 53; ++bits)
      for (double delta : {-1.0, 0.0, 1.0, std::ldexp(1.0, bits - 8), std::ldexp(1.0, bits - 9)})
        values.insert(values.end(), {std::ldexp(1.0, bits) + delta, -std::ldexp(1.0, bits) - delta});
    std::erase_if(values,
                  [&](double value) { return value >= end || value < (isUnsigned(from) ? 0 : -end); });
    for (ElementType to : typesWhere(isNarrowFloat)) {
      std::vector<double> numbers = numbersOf(to);
      std::vector<Conversion> ways = {{}};
      if (!saturates(to))
        ways.push_back({.saturate = true});
      for (const char *target : {"sm_90a", "sm_80"})
        if (std::string(target) == "sm_90a" || !isComputed(to))
          check(from, to, values, ways, target,
                [&](double x, Conversion how) { return roundedTo(to, numbers, x + 0.0, how); });
    }
    check(from, ElementType::f32, values, {{}}, "sm_90a",
          [](double x, Conversion) { return double(float(x)) + 0.0; });
    for (ElementType to : typesWhere(isInteger))
      if (to != from)
        check(from, to, values, {{}, {.saturate = true}}, "sm_90a", [&](double x, Conversion how) {
          if (how.saturate)
            return *asInteger(to, x, how);
          auto bits = static_cast<uint64_t>(static_cast<int64_t>(x));
          return kernels::decodeElement(to, bits & (~uint64_t(0) >> (64 - bitsOf(to))));
        });
  }
}
