// SPDX-License-Identifier: Apache-2.0
/// \file
/// What floating-point instructions compute in, and what their modifiers ask for.
#pragma once

#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/math/Float.h"

#include <bit>
#include <cmath>

namespace tlc::emulator {

struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};

/// What the modifiers ask for.
struct FloatFlags {
  Rounding rounding = Rounding::nearestEven;
  bool flush = false;    ///< .ftz
  bool saturate = false; ///< .sat
  bool relu = false;
  bool propagateNan = false; ///< .NaN
  bool xorSign = false;      ///< .xorsign.abs
  bool magnitude = false;    ///< .abs of the form with three sources
  bool zeroOutside = false;  ///< .oob: what TMA filled with NaN makes the result 0
};

inline const float canonicalFloat = std::bit_cast<float>(0x7FFFFFFFu);

/// The type to compute in, and the way there and back.
template <class T> struct Format;
template <> struct Format<float> {
  using Compute = float;
  static float load(float v, const FloatFlags &flags) {
    return flags.flush && std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v;
  }
  static float finish(float v, const FloatFlags &flags) { return v != v ? canonicalFloat : load(v, flags); }
};
template <> struct Format<double> {
  using Compute = double;
  static double load(double v, const FloatFlags &) { return v; }
  static double finish(double v, const FloatFlags &) { return v; }
};
template <FloatFormat format, class T> struct HalfFormat {
  using Compute = double;
  static double flushed(double v, const FloatFlags &flags) {
    // Only f16 has subnormals that .ftz flushes in practice; both end at 2^-14 and 2^-126.
    const double least = format == FloatFormat::f16 ? 0x1p-14 : 0x1p-126;
    return flags.flush && std::fabs(v) < least ? std::copysign(0.0, v) : v;
  }
  static double load(T v, const FloatFlags &flags) { return flushed(toDouble(format, v.bits), flags); }
  static T finish(double v, const FloatFlags &flags) {
    const T rounded{uint16_t(fromDouble(format, v, {flags.rounding, false, false}))};
    return flags.flush ? T{uint16_t(fromDouble(format, flushed(toDouble(format, rounded.bits), flags)))}
                       : rounded;
  }
};
template <> struct Format<F16> : HalfFormat<FloatFormat::f16, F16> {};
template <> struct Format<BF16> : HalfFormat<FloatFormat::bf16, BF16> {};

FloatFlags takeFloatFlags(Decoder &decoder);

} // namespace tlc::emulator
