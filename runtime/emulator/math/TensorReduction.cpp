// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/math/TensorReduction.h"

#include "runtime/emulator/math/Float.h"
#include "runtime/target/Hardware.h"

#include <bit>
#include <cmath>

namespace tlc::emulator {

constexpr unsigned threads = lanesPerWarp;

/// Min and max of the PTX ISA: -0 is below +0.
static uint32_t extremeOfFloats(const TensorReduction &how, uint32_t x, uint32_t y) {
  const float a = std::bit_cast<float>(x), b = std::bit_cast<float>(y);
  if (std::isnan(a) || std::isnan(b))
    return how.propagatesNan || (std::isnan(a) && std::isnan(b)) ? canonicalNan(FloatFormat::f32)
           : std::isnan(a)                                       ? y
                                                                 : x;
  const bool isBelow = a == b ? std::signbit(a) && !std::signbit(b) : a < b;
  return isBelow == how.isMaximum ? y : x;
}

void reduceRegisters(const TensorReduction &how, std::span<const uint32_t> registers,
                     std::span<uint32_t> results) {
  using Element = TensorReduction::Element;
  const uint32_t sign = 1u << 31;
  const auto join = [&](uint32_t x, uint32_t y) {
    if (how.element == Element::f32)
      return extremeOfFloats(how, x, y);
    // With the sign bit flipped signed numbers are in the order of unsigned ones.
    const uint32_t flip = how.element == Element::s32 ? sign : 0;
    return ((x ^ flip) < (y ^ flip)) == how.isMaximum ? y : x;
  };
  for (unsigned t = 0; t < threads; ++t) {
    const auto value = [&](size_t r) { return registers[r * threads + t] & ~(how.isAbsolute ? sign : 0); };
    uint32_t extreme = join(value(0), value(0)); // a lone NaN becomes the canonical one
    for (size_t r = 1; r * threads < registers.size(); ++r)
      extreme = join(extreme, value(r));
    results[t] = extreme;
  }
}

} // namespace tlc::emulator
