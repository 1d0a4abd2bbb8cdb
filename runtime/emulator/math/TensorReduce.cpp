// SPDX-License-Identifier: Apache-2.0
/// \file
/// The reductions of bulk copies, one element at a time.
#include "runtime/emulator/math/Float.h"
#include "runtime/emulator/math/TensorMap.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <fmt/format.h>

namespace tlc::emulator {
namespace {

bool isInteger(TensorElement element) {
  return element == TensorElement::u32 || element == TensorElement::s32 || element == TensorElement::u64 ||
         element == TensorElement::s64;
}

bool isHalf(TensorElement element) { return element == TensorElement::f16 || element == TensorElement::bf16; }

bool isSupported(Reduction reduction, TensorElement element) {
  switch (reduction) {
  case Reduction::add:
    return (isInteger(element) && element != TensorElement::s64) || isHalf(element) ||
           element == TensorElement::f32 || element == TensorElement::f64;
  case Reduction::min:
  case Reduction::max:
    return isInteger(element) || isHalf(element);
  case Reduction::inc:
  case Reduction::dec:
    return element == TensorElement::u32;
  case Reduction::bitAnd:
  case Reduction::bitOr:
  case Reduction::bitXor:
    break;
  }
  return isInteger(element) && element != TensorElement::s64;
}

uint64_t addFloats(float old, float operand) {
  const float sum = old + operand; // subnormals stay, other than with red
  return std::isnan(sum) ? canonicalNan(FloatFormat::f32) : std::bit_cast<uint32_t>(sum);
}

uint64_t addDoubles(double old, double operand) { return std::bit_cast<uint64_t>(old + operand); }

uint64_t reduceHalf(Reduction reduction, FloatFormat format, uint64_t old, uint64_t operand) {
  const double a = toDouble(format, uint32_t(old)), b = toDouble(format, uint32_t(operand));
  if (reduction == Reduction::add)
    return fromDouble(format, a + b); // the sum of two is exact in double, or far beyond a tie
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b) ? canonicalNan(format) : std::isnan(a) ? operand : old;
  // -0 is below +0.
  const bool oldIsLess = a < b || (a == b && std::signbit(a));
  return oldIsLess == (reduction == Reduction::min) ? old : operand;
}

template <class Integer> uint64_t reduceInteger(Reduction reduction, Integer old, Integer operand) {
  using Unsigned = std::make_unsigned_t<Integer>;
  const Unsigned a = Unsigned(old), b = Unsigned(operand);
  switch (reduction) {
  case Reduction::add:
    return Unsigned(a + b);
  case Reduction::min:
    return Unsigned(std::min(old, operand));
  case Reduction::max:
    return Unsigned(std::max(old, operand));
  case Reduction::inc:
    return a >= b ? Unsigned(0) : Unsigned(a + 1);
  case Reduction::dec:
    return a == 0 || a > b ? b : Unsigned(a - 1);
  case Reduction::bitAnd:
    return a & b;
  case Reduction::bitOr:
    return a | b;
  case Reduction::bitXor:
    break;
  }
  return a ^ b;
}

} // namespace

std::string_view toString(Reduction reduction) {
  constexpr std::string_view names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
  return names[unsigned(reduction)];
}

Result<void> checkReduction(Reduction reduction, TensorElement element) {
  if (!isSupported(reduction, element))
    return Error{ErrorKind::invalidArgument, fmt::format("bulk reduction {} does not exist for {}",
                                                         toString(reduction), toString(element))};
  return {};
}

uint64_t reduceElement(Reduction reduction, TensorElement element, uint64_t old, uint64_t operand) {
  assert(isSupported(reduction, element) && "checked before the copy");
  switch (element) {
  case TensorElement::f16:
    return reduceHalf(reduction, FloatFormat::f16, old, operand);
  case TensorElement::bf16:
    return reduceHalf(reduction, FloatFormat::bf16, old, operand);
  case TensorElement::f32:
    return addFloats(std::bit_cast<float>(uint32_t(old)), std::bit_cast<float>(uint32_t(operand)));
  case TensorElement::f64:
    return addDoubles(std::bit_cast<double>(old), std::bit_cast<double>(operand));
  case TensorElement::u32:
    return reduceInteger(reduction, uint32_t(old), uint32_t(operand));
  case TensorElement::s32:
    return reduceInteger(reduction, int32_t(old), int32_t(operand));
  case TensorElement::s64:
    return reduceInteger(reduction, int64_t(old), int64_t(operand));
  default:
    return reduceInteger(reduction, old, operand);
  }
}

} // namespace tlc::emulator
