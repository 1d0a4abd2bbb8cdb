// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the compiled program computes on the emulator lies within the bounds.
#include "test/unit/evaluator/Emulated.h"

#include <random>

using namespace tlc;
using namespace tlc::evaluator;
using namespace tlc::dsl;

namespace {

void checkBounds(const Arguments &arguments, const std::function<void(Scope &)> &body) {
  Tensor expected = run(arguments, body), actual = compiled(arguments, body);
  for (size_t i = 0; i < expected.elements.size(); ++i) {
    const Element &element = expected.elements[i];
    INFO("element " << i << ": " << values(actual)[i] << " instead of " << values(expected)[i] << " +- "
                    << element.bound);
    if (!agrees(expected.type, element, actual.elements[i]))
      FAIL();
  }
  SUCCEED();
}

/// Numbers of many magnitudes, and those where functions have their corners.
std::vector<double> drawn(size_t count, bool positive) {
  std::mt19937_64 random(7);
  std::vector<double> numbers = {0, 1, 2, 0.5, 1.0000001, 3, 88, 1e-30, 1e-40, 1e30, inf, std::nan("")};
  while (numbers.size() < count) {
    double number = std::exp2(std::uniform_real_distribution<>(-12, 8)(random));
    numbers.push_back(!positive && random() % 2 ? -number : number);
  }
  return numbers;
}

void checkFunction(ElementType type, bool positive,
                   const std::function<FragmentValue(const FragmentValue &)> &f) {
  checkBounds({{given(type, {512}, drawn(512, positive)), unwritten(type, {512})}, {}}, [&](Scope &k) {
    Global X = k.input("X", type, {512}), Y = k.output("Y", type, {512});
    Fragment x = k.fragment(type, {512});
    copy(X.tile({0}, {512}), x);
    copy(f(x), Y.tile({0}, {512}));
  });
}

} // namespace

TEST_CASE("functions of every type are within their bounds", "[evaluator][unit]") {
  for (ElementType type : {f32, f16, bf16}) {
    INFO(toString(type));
    checkFunction(type, false, [](const FragmentValue &x) { return exp2(x); });
    checkFunction(type, false, [](const FragmentValue &x) { return exp(x); });
    checkFunction(type, false, [](const FragmentValue &x) { return tanh(x); });
    checkFunction(type, true, [](const FragmentValue &x) { return log2(x); });
    checkFunction(type, true, [](const FragmentValue &x) { return log(x); });
    checkFunction(type, true, [](const FragmentValue &x) { return rsqrt(x); });
    checkFunction(type, true, [](const FragmentValue &x) { return sqrt(x); });
    checkFunction(type, false, [](const FragmentValue &x) { return floor(x) - ceil(x / 3); });
    checkFunction(type, false, [](const FragmentValue &x) { return 1 / x; });
  }
}

TEST_CASE("formulas of every type are within their bounds", "[evaluator][unit]") {
  using Value = FragmentValue;
  for (ElementType type : {f32, f16, bf16}) {
    INFO(toString(type));
    for (Accuracy accuracy : {Accuracy::accurate, Accuracy::fast}) {
      checkFunction(type, false, [=](const Value &x) { return sin(x, accuracy) + cos(x * 2, accuracy); });
      checkFunction(type, false, [=](const Value &x) { return tanh(x, accuracy); });
      checkFunction(type, true, [=](const Value &x) { return sqrt(x, accuracy); });
      checkFunction(type, true, [=](const Value &x) { return pow(x, 1.5, accuracy); });
      checkFunction(type, true, [=](const Value &x) { return pow(x / 100, rsqrt(x + 1), accuracy); });
    }
    checkFunction(type, false, [](const Value &x) { return pow(x, 3); });
    checkFunction(type, false, [](const Value &x) { return exp10(x / 8); });
    checkFunction(type, false, [](const Value &x) { return expm1(x); });
    checkFunction(type, false, [](const Value &x) { return tan(x); });
    checkFunction(type, false, [](const Value &x) { return atan(x) * erf(x / 16); });
    checkFunction(type, true, [](const Value &x) { return log10(x); });
    checkFunction(type, false, [](const Value &x) { return log1p(x); });
    checkFunction(type, false, [](const Value &x) { return round(x) - trunc(x / 3); });
    checkFunction(type, false, [](const Value &x) { return fma(x, x, x * 3); });
    checkFunction(type, false, [](const Value &x) { return copySign(x, 3 - x) + clamp(x, -1.5, 2); });
  }
}

TEST_CASE("arithmetic of every type is within its bounds", "[evaluator][unit]") {
  for (ElementType type : {f64, f32, f16, bf16}) {
    INFO(toString(type));
    checkFunction(type, false, [](const FragmentValue &x) { return x * x - x * 3; });
    checkFunction(type, false, [](const FragmentValue &x) { return (x + 0.375) * x + x; });
    checkFunction(type, false, [](const FragmentValue &x) { return max(x * 0.1, min(x, 1)) / (x * x + 1); });
    checkFunction(type, false,
                  [](const FragmentValue &x) { return x + reduce(Reduction::sum, min(abs(x), 4), 0); });
    checkFunction(type, false,
                  [type](const FragmentValue &x) { return (x.to(f32) * 1.7).to(e4m3).to(type); });
    checkFunction(type, false,
                  [type](const FragmentValue &x) { return min(max(x, -100), 100).to(i32).to(type); });
  }
  for (ElementType type : {i8, i32, i64})
    checkBounds({{given(type, {128}, counting(128)), unwritten(f32, {128})}, {}}, [&](Scope &k) {
      Global X = k.input("X", type, {128}), Y = k.output("Y", f32, {128});
      Fragment x = k.fragment(type, {128});
      copy(X.tile({0}, {128}), x);
      FragmentValue y = (x * x - 100) / (max(x, 1) + 1) * 37 + where(x < 7, -x, abs(x - 50));
      copy(y.to(f32), Y.tile({0}, {128}));
    });
}

TEST_CASE("products of every kind are within their bounds", "[evaluator][unit]") {
  for (ElementType type : {f16, bf16, e4m3})
    for (int64_t rows : {64, 16, 5}) { // wgmma, mma.sync, multiply-adds
      INFO(toString(type) << ", " << rows);
      std::vector<double> a, b;
      std::mt19937_64 random(3);
      std::uniform_real_distribution<> numbers(-4, 4);
      for (int64_t i = 0; i < rows * 64; ++i)
        a.push_back(numbers(random));
      for (int64_t i = 0; i < 32 * 64; ++i)
        b.push_back(numbers(random));
      checkBounds({{given(type, {rows, 64}, a), given(type, {32, 64}, b), unwritten(f32, {rows, 32})}, {}},
                  [&](Scope &k) {
                    Global A = k.input("A", type, {rows, 64}), B = k.input("B", type, {32, 64});
                    Global C = k.output("C", f32, {rows, 32});
                    Shared left = k.shared("left", type, {rows, 64}),
                           right = k.shared("right", type, {32, 64});
                    copy(A.tile({0, 0}, {rows, 64}), left);
                    copy(B.tile({0, 0}, {32, 64}), right);
                    Fragment acc = k.fragment(f32, {rows, 32}, 10);
                    gemm(left, right.t(), acc);
                    gemm(left, right.t(), acc);
                    copy(acc, C.tile({0, 0}, {rows, 32}));
                  });
    }
}
