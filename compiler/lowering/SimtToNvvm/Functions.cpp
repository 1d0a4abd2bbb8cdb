// SPDX-License-Identifier: Apache-2.0
/// \file
/// Functions that the machine has no instruction for, as formulas of f32. Polynomials are minimax fits of the
/// relative error. Each bound is that of docs/dsl.md, which a test measures against doubles.
#include "compiler/lowering/SimtToNvvm/Formula.h"
#include "compiler/lowering/SimtToNvvm/Patterns.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace tlc::simt;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();
constexpr int32_t exponentShift = 23, exponentBias = 127;

/// 2 to the power of an exponent of normal numbers.
Number powerOfTwo(const Bits &exponent) { return ((exponent + exponentBias) << exponentShift).asNumber(); }

/// A number as m 2^e with m in [sqrt(1/2), sqrt(2)); `shifted` is e in the bits of a number.
struct Split {
  Bits shifted;
  Number significand;
};
Split split(const Number &x) {
  constexpr int32_t leastSignificand = 0x3f3504f3; // sqrt(1/2)
  Bits shifted = (x.bits() - leastSignificand) & ~0x7fffff;
  return {shifted, (x.bits() - shifted).asNumber()};
}

//===----------------------------------------------------------------------===//
// Angles
//===----------------------------------------------------------------------===//

/// An angle less its nearest multiple of pi / 2, and the multiple's number. pi / 2 has three parts: the first
/// step is exact up to `largestAngle`, and the third leaves an error of one unit where the first two cancel.
struct Reduced {
  Number rest;
  Bits quarters;
};
constexpr double largestAngle = 0x1p20;

Reduced reduce(const Number &x) {
  Number quarters = (x * 0x1.45f306p-1f).nearestInteger();
  Number rest = fma(quarters, -0x1.921fb6p+0f, x);
  rest = fma(quarters, 0x1.777a5cp-25f, rest);
  rest = fma(quarters, 0x1.ee59dap-50f, rest);
  return {rest, quarters.toInteger()};
}

Number sineOfRest(const Number &r) {
  constexpr float odd[] = {-0x1.555556p-3f, 0x1.1110fep-7f, -0x1.a007dep-13f, 0x1.6b3e04p-19f};
  Number square = r * r;
  return fma(r * square, polynomial(square, odd), r);
}
Number cosineOfRest(const Number &r) {
  constexpr float even[] = {1, -0.5f, 0x1.55553cp-5f, -0x1.6c0464p-10f, 0x1.97f5a4p-16f};
  return polynomial(r * r, even);
}

/// NaN beyond the largest angle: no digit of what the reduction gives there is right.
Number withinAngles(const Number &x, const Number &y) {
  return (x.magnitude() > largestAngle).choose(notANumber, y);
}

/// The sine of x and so many right angles.
Number sineAfter(int32_t rightAngles, const Number &x) {
  Reduced angle = reduce(x);
  Bits quarters = angle.quarters + rightAngles;
  Number wave = (quarters & 1).isZero().choose(sineOfRest(angle.rest), cosineOfRest(angle.rest));
  return withinAngles(x, (quarters & 2).isZero().choose(wave, -wave));
}
Number sine(const Number &x) { return sineAfter(0, x); }
Number cosine(const Number &x) { return sineAfter(1, x); }

Number tangent(const Number &x) {
  Reduced angle = reduce(x);
  Number sine = sineOfRest(angle.rest), cosine = cosineOfRest(angle.rest);
  Truth isEven = (angle.quarters & 1).isZero();
  return withinAngles(x, isEven.choose(sine, -cosine) / isEven.choose(cosine, sine));
}

Number arcTangent(const Number &x) {
  constexpr float odd[] = {-0x1.55553ep-2f, 0x1.9991fep-3f,  -0x1.2421b6p-3f,
                           0x1.c09a06p-4f,  -0x1.5834a0p-4f, 0x1.dac9f4p-5f,
                           -0x1.fed148p-6f, 0x1.65a612p-7f,  -0x1.d62f24p-10f};
  Number magnitude = x.magnitude();
  Truth isLarge = magnitude > 1;
  Number z = isLarge.choose(1 / magnitude, magnitude), square = z * z;
  Number angle = fma(z * square, polynomial(square, odd), z);
  return isLarge.choose(0x1.921fb6p+0f - angle, angle).withSignOf(x);
}

//===----------------------------------------------------------------------===//
// Exponentials and logarithms
//===----------------------------------------------------------------------===//

/// 2^(n + f) for a whole n of magnitude up to 250 and f in [-1/2, 1/2]; in two factors, so that neither is
/// beyond the numbers where the result is not.
Number exponential2(const Number &n, const Number &f) {
  constexpr float coefficients[] = {
      1, 0x1.62e432p-1f, 0x1.ebfbe2p-3f, 0x1.c6ae72p-5f, 0x1.3b270ep-7f, 0x1.5f72acp-10f, 0x1.470bccp-13f};
  Bits exponent = n.toInteger(), half = exponent >> 1;
  return polynomial(f, coefficients) * powerOfTwo(half) * powerOfTwo(exponent - half);
}

/// e^x - 1. Where the nearest power of two is 1, it is the polynomial itself, which is exact near 0.
Number exponentialLess1(const Number &x) {
  constexpr float tail[] = {0.5f,           0x1.555556p-3f,  0x1.555470p-5f,
                            0x1.1110aap-7f, 0x1.6da854p-10f, 0x1.a17ed6p-13f};
  Number within = x.clamped(-30, 89); // beyond, it is -1 and infinite
  Number n = (within * 0x1.715476p+0f).nearestInteger();
  Number f = fma(n, 0x1.05c61p-29f, fma(n, -0x1.62e43p-1f, within));
  Number ofRest = fma(f * f, polynomial(f, tail), f);
  Number scale = powerOfTwo(n.toInteger() - 1); // half of it, which is a number in any case
  Number result = fma(ofRest, scale, scale - 0.5);
  return (n == 0).choose(ofRest, result + result);
}

/// log(1 + x). Of 1 + x = m 2^e only e is rounded: m - 1 is x 2^-e + (2^-e - 1).
Number logarithmOf1And(const Number &x) {
  constexpr float tail[] = {-0.5f,           0x1.555548p-2f, -0x1.000006p-2f, 0x1.99a4bcp-3f,
                            -0x1.555c6cp-3f, 0x1.2336f6p-3f, -0x1.fc1cf2p-4f, 0x1.e6f1f8p-4f,
                            -0x1.de5d40p-4f, 0x1.147decp-4f};
  Bits shifted = split(x + 1).shifted;
  constexpr int32_t bitsOf4 = 0x40800000;
  Number inverse4 = (shifted.constant(bitsOf4) - shifted).asNumber(); // 4 times 2^-e, which 2^-128 is not
  Number m = (x.bits() - shifted).asNumber() + fma(inverse4, x.constant(0.25), -1.0);
  Number result = fma(m * m, polynomial(m, tail), m);
  result = fma((shifted >> exponentShift).toNumber(), 0x1.62e43p-1f, result);
  result = (x < infinity).choose(result, x);
  return (x > -1).choose(result, (x == -1).choose(-infinity, x.constant(notANumber)));
}

/// The logarithm to the base 2 of a positive number, as the sum of two. It is within 2^-32 of itself, which
/// the power needs: exponents multiply its error.
struct Logarithm {
  Number high, low;
};
Logarithm logarithm2(const Number &x) {
  constexpr float odd[] = {0x1.555554p-2f, 0x1.999a7ap-3f, 0x1.2438e2p-3f, 0x1.e2f52cp-4f};
  constexpr float perTangentHigh = 0x1.715476p+1f, perTangentLow = 0x1.4ae0cp-25f; // 2 / log(2)
  Truth isSubnormal = x < 0x1p-126;
  auto [shifted, m] = split(isSubnormal.choose(x * 0x1p24f, x));
  Number exponent = (shifted >> exponentShift).toNumber();
  exponent = isSubnormal.choose(exponent - 24, exponent);
  // log(m) = 2 atanh((m - 1) / (m + 1)), the quotient and m + 1 in two numbers.
  Number less = m - 1, sum = m + 1, sumLow = m - (sum - 1), inverse = sum.inverse();
  Number t = less * inverse;
  Number tLow = inverse * fma(-t, sumLow, fma(-t, sum, less));
  Number square = t * t;
  Number tail = fma(t * square, polynomial(square, odd), fma(tLow, square, tLow));
  Number high = fma(t, perTangentHigh, exponent), low = fma(t, perTangentHigh, exponent - high);
  low = low + fma(tail, perTangentHigh, t * perTangentLow);
  Number whole = high + low;
  return {whole, low - (whole - high)};
}

/// x^y as C's pow has it, all special numbers included.
Number power(const Number &x, const Number &y) {
  Number base = x.magnitude();
  Logarithm logarithm = logarithm2(base);
  Number exponent = y.clamped(-0x1p40f, 0x1p40f); // any larger one decides as well
  Number product = exponent * logarithm.high;
  Number n = product.nearestInteger().clamped(-200, 200);
  Number f = fma(exponent, logarithm.low, fma(exponent, logarithm.high, -n));
  Number result = exponential2(n, f);
  result = (product > 129).choose(infinity, result);
  result = (product < -151).choose(0.0, result);
  Truth isNegative = y < 0;
  result = (base == 0).choose(isNegative.choose(infinity, y.constant(0)), result);
  result = (base == infinity).choose(isNegative.choose(0.0, y.constant(infinity)), result);

  Number half = y * 0.5;
  Truth isWhole = y.cut() == y, isOdd = isWhole && half.cut() != half;
  result = isOdd.choose(result.withSignOf(x), result);
  result = (x < 0 && x > -infinity && !isWhole).choose(notANumber, result);
  result = (x != x || y != y).choose(notANumber, result);
  return (x == 1 || y == 0).choose(1.0, result);
}

//===----------------------------------------------------------------------===//
// The error function
//===----------------------------------------------------------------------===//

/// Near 0 a polynomial; from there on 1 - exp(-u), u being a polynomial, until it is 1.
Number errorFunction(const Number &x) {
  constexpr float even[] = {0x1.06eba8p-3f, -0x1.812742p-2f,  0x1.ce2e0ap-4f, -0x1.b80e90p-6f,
                            0x1.54c7f6p-8f, -0x1.aa3f32p-11f, 0x1.5cd4bcp-14f};
  constexpr float exponents[] = {-0x1.6e6494p-13f, 0x1.2127e6p+0f, 0x1.444602p-1f,   0x1.bb8448p-4f,
                                 -0x1.9b8f94p-6f,  0x1.115c94p-8f, -0x1.c7976ep-12f, 0x1.61f3dep-16f};
  constexpr double border = 0.92, end = 4;
  Number magnitude = x.magnitude();
  Number small = fma(x, polynomial(x * x, even), x);
  Number u = polynomial((magnitude > end).choose(end, magnitude), exponents);
  Number rest = (u * -0x1.715476p+0f).instruction("llvm.nvvm.ex2.approx.ftz.f32");
  return (magnitude > border).choose((1 - rest).withSignOf(x), small);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

template <class MathOp, Number (*formula)(const Number &)> struct LowerOfOne : OpConversionPattern<MathOp> {
  using OpConversionPattern<MathOp>::OpConversionPattern;
  LogicalResult matchAndRewrite(MathOp op, typename MathOp::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Number x(rewriter, loc, widen(rewriter, loc, adaptor.getOperand()));
    rewriter.replaceOp(op, narrowTo(rewriter, loc, op.getType(), formula(x).get()));
    return success();
  }
};

struct LowerPower : OpConversionPattern<math::PowFOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(math::PowFOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Number x(rewriter, loc, widen(rewriter, loc, adaptor.getLhs()));
    Number y(rewriter, loc, widen(rewriter, loc, adaptor.getRhs()));
    auto fast = [&] {
      return (y * x.instruction("llvm.nvvm.lg2.approx.ftz.f")).instruction("llvm.nvvm.ex2.approx.ftz.f32");
    };
    Number result = allowsApproximation(op.getFastmath()) ? fast() : power(x, y);
    rewriter.replaceOp(op, narrowTo(rewriter, loc, op.getType(), result.get()));
    return success();
  }
};

} // namespace

void tlc::simt::populateFunctionPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                         PatternBenefit benefit) {
  patterns
      .add<LowerOfOne<math::SinOp, sine>, LowerOfOne<math::CosOp, cosine>, LowerOfOne<math::TanOp, tangent>,
           LowerOfOne<math::AtanOp, arcTangent>, LowerOfOne<math::ExpM1Op, exponentialLess1>,
           LowerOfOne<math::Log1pOp, logarithmOf1And>, LowerOfOne<math::ErfOp, errorFunction>, LowerPower>(
          converter, patterns.getContext(), benefit);
}
