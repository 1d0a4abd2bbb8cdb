// SPDX-License-Identifier: Apache-2.0
/// \file
/// The descriptors of tcgen05: bit fields and what the hardware takes there.
#include "runtime/emulator/math/MatrixElements.h"
#include "runtime/emulator/math/TensorMma.h"

#include <fmt/format.h>

namespace tlc::emulator {

namespace {

template <class T> struct Coded {
  unsigned code;
  T value;
};
constexpr Coded<TensorSwizzle> swizzles[] = {{0, TensorSwizzle::none},
                                             {1, TensorSwizzle::bytes128Atom32},
                                             {2, TensorSwizzle::bytes128},
                                             {4, TensorSwizzle::bytes64},
                                             {6, TensorSwizzle::bytes32}};
constexpr Coded<MatrixElement> elements16[] = {{0, MatrixElement::f16}, {1, MatrixElement::bf16}},
                               elementsTf32[] = {{2, MatrixElement::tf32}},
                               elements8[] = {{0, MatrixElement::e4m3},
                                              {1, MatrixElement::e5m2},
                                              {3, MatrixElement::e2m3},
                                              {4, MatrixElement::e3m2},
                                              {5, MatrixElement::e2m1}},
                               elements4[] = {{1, MatrixElement::e2m1}},
                               elementsInteger[] = {{0, MatrixElement::u8}, {1, MatrixElement::s8}},
                               accumulators[] = {
                                   {0, MatrixElement::f16}, {1, MatrixElement::f32}, {2, MatrixElement::s32}};

template <class T> std::optional<T> decodeField(std::span<const Coded<T>> codes, unsigned code) {
  for (const Coded<T> &one : codes)
    if (one.code == code)
      return one.value;
  return std::nullopt;
}

std::span<const Coded<MatrixElement>> operandCodes(TensorKind kind) {
  switch (kind) {
  case TensorKind::f16:
    return elements16;
  case TensorKind::tf32:
    return elementsTf32;
  case TensorKind::f8f6f4:
  case TensorKind::mxf8f6f4:
    return elements8;
  case TensorKind::mxf4:
  case TensorKind::mxf4nvf4:
    return elements4;
  case TensorKind::i8:
    break;
  }
  return elementsInteger;
}

bool allows(TensorKind kind, MatrixElement a, MatrixElement b, MatrixElement accumulator) {
  switch (kind) {
  case TensorKind::f16:
    return accumulator == MatrixElement::f32 ||
           (accumulator == MatrixElement::f16 && a == MatrixElement::f16 && b == MatrixElement::f16);
  case TensorKind::tf32:
    return accumulator == MatrixElement::f32;
  case TensorKind::f8f6f4:
    return accumulator == MatrixElement::f32 || accumulator == MatrixElement::f16;
  case TensorKind::mxf8f6f4:
  case TensorKind::mxf4:
  case TensorKind::mxf4nvf4:
    return true; // always f32, and no field
  case TensorKind::i8:
    break;
  }
  return accumulator == MatrixElement::s32;
}

bool allowsM(const TensorMmaForm &form, unsigned m) {
  if (isScaled(form.kind) && form.ctaGroup == 1)
    return m == 128;
  if (form.form == TensorForm::weightStationary)
    return m == 32 || m == 64 || m == 128;
  return m == 64 * form.ctaGroup || m == 128 * form.ctaGroup;
}
std::string_view rulesOfM(const TensorMmaForm &form) {
  return form.form == TensorForm::weightStationary   ? "32, 64 or 128"
         : isScaled(form.kind) && form.ctaGroup == 1 ? "128"
         : form.ctaGroup == 1                        ? "64 or 128"
                                                     : "128 or 256";
}

/// The rule of n in words, and whether it holds.
struct RuleOfN {
  bool holds = false;
  std::string text;
};
RuleOfN ruleOfN(const TensorMmaForm &form, unsigned n, bool wideSteps) {
  if (form.form == TensorForm::weightStationary)
    return {n == 64 || n == 128 || n == 256, "64, 128 or 256"};
  const bool integer = form.kind == TensorKind::i8;
  if (integer && form.ctaGroup == 1)
    return {n == 8 || n == 24 || (n != 0 && n % 16 == 0 && n <= 256), "8, 24 or a multiple of 16 up to 256"};
  const unsigned step = (integer ? 32 : 8 * form.ctaGroup * (wideSteps ? 2 : 1));
  return {n != 0 && n % step == 0 && n <= 256, fmt::format("a multiple of {} up to 256", step)};
}

} // namespace

std::string_view toString(TensorKind kind) {
  switch (kind) {
  case TensorKind::f16:
    return "f16";
  case TensorKind::tf32:
    return "tf32";
  case TensorKind::f8f6f4:
    return "f8f6f4";
  case TensorKind::mxf8f6f4:
    return "mxf8f6f4";
  case TensorKind::mxf4:
    return "mxf4";
  case TensorKind::mxf4nvf4:
    return "mxf4nvf4";
  case TensorKind::i8:
    break;
  }
  return "i8";
}

Result<TensorDescriptor> TensorDescriptor::decode(uint64_t bits) {
  const auto field = [bits](unsigned low, unsigned count) {
    return unsigned(bits >> low & ((uint64_t(1) << count) - 1));
  };
  const auto wrong = [bits](std::string_view name, std::string_view place, unsigned value,
                            std::string_view rule) {
    return Error{ErrorKind::execution, fmt::format("field '{}' ({}) of the shared memory descriptor {:#018x} "
                                                   "is {}, but must be {}",
                                                   name, place, bits, value, rule)};
  };
  if (const unsigned version = field(46, 3); version != 1)
    return wrong("version", "bits 46-48", version, "1");
  if (const unsigned offset = field(49, 3); offset != 0)
    return wrong("base offset", "bits 49-51", offset,
                 "0: place the swizzle pattern at a multiple of its size");
  if (const unsigned mode = field(52, 1); mode != 0)
    return wrong("leading dimension mode", "bit 52", mode, "0: the offset is relative");
  for (const auto &[low, count, text] :
       {std::tuple(14, 2, "bits 14-15"), std::tuple(30, 2, "bits 30-31"), std::tuple(53, 8, "bits 53-60")})
    if (const unsigned value = field(unsigned(low), unsigned(count)); value != 0)
      return wrong("reserved", text, value, "0");
  const auto swizzle = decodeField<TensorSwizzle>(swizzles, field(61, 3));
  if (!swizzle)
    return wrong("swizzle", "bits 61-63", field(61, 3), "0, 1, 2, 4 or 6");
  return TensorDescriptor{field(0, 14) << 4, field(16, 14) << 4, field(32, 14) << 4, *swizzle};
}

uint64_t TensorDescriptor::encode() const {
  uint64_t code = 0;
  for (const Coded<TensorSwizzle> &one : swizzles)
    if (one.value == swizzle)
      code = one.code;
  const auto field = [](uint32_t bytes, unsigned low) { return uint64_t(bytes >> 4 & 0x3FFF) << low; };
  return field(start, 0) | field(leading, 16) | field(stride, 32) | uint64_t(1) << 46 | code << 61;
}

Result<TensorMma> TensorMma::decode(TensorMmaForm form, uint32_t bits) {
  const auto field = [bits](unsigned low, unsigned count) { return bits >> low & ((1u << count) - 1); };
  const auto wrong = [&](std::string_view name, std::string_view place, unsigned value,
                         std::string_view rule) {
    return Error{
        ErrorKind::execution,
        fmt::format("field '{}' ({}) of the instruction descriptor {:#010x} is {}, but kind::{} with "
                    "cta_group::{}{} takes {}",
                    name, place, bits, value, toString(form.kind), form.ctaGroup,
                    form.form == TensorForm::weightStationary ? " and .ws" : "", rule)};
  };
  TensorMma mma;
  mma.form = form;
  if (field(2, 1) != 0)
    return wrong("sparsity", "bit 2", 1, "0 without .sp");
  if (field(3, 1) != 0 && form.kind != TensorKind::i8)
    return wrong("saturate", "bit 3", 1, "0");
  mma.overflow = field(3, 1) ? IntegerOverflow::saturate : IntegerOverflow::wrap;
  const auto codes = operandCodes(form.kind);
  const auto a = decodeField(codes, field(7, 3)), b = decodeField(codes, field(10, 3)),
             accumulator = isScaled(form.kind) ? std::optional(MatrixElement::f32)
                                               : decodeField<MatrixElement>(accumulators, field(4, 2));
  std::string known;
  for (const Coded<MatrixElement> &one : codes)
    known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", one.code, toString(one.value));
  if (!a)
    return wrong("A type", "bits 7-9", field(7, 3), known);
  if (!b)
    return wrong("B type", "bits 10-12", field(10, 3), known);
  if (!accumulator || !allows(form.kind, *a, *b, *accumulator))
    return wrong("D type", "bits 4-5", field(4, 2),
                 form.kind == TensorKind::i8     ? "2 (s32)"
                 : form.kind == TensorKind::tf32 ? "1 (f32)"
                 : form.kind == TensorKind::f16  ? "1 (f32), or 0 (f16) for two operands of f16"
                                                 : "1 (f32) or 0 (f16)");
  mma.a = *a, mma.b = *b, mma.accumulator = *accumulator;
  if (form.kind == TensorKind::i8 && field(13, 2) != 0)
    return wrong("negate", "bits 13-14", field(13, 2), "0");
  mma.signA = field(13, 1) ? -1 : 1, mma.signB = field(14, 1) ? -1 : 1;
  mma.majorA = field(15, 1) ? Major::mn : Major::k, mma.majorB = field(16, 1) ? Major::mn : Major::k;
  if (mma.majorA == Major::mn && form.a == TensorOperandA::tensorMemory)
    return wrong("transpose A", "bit 15", 1, "0 for A in tensor memory");
  if (field(6, 1) != 0)
    return wrong("reserved", "bit 6", 1, "0");
  if (isScaled(form.kind)) {
    if (isPacked4(form.kind))
      for (const auto &[low, text, place] :
           {std::tuple(15, "transpose A", "bit 15"), std::tuple(16, "transpose B", "bit 16")})
        if (field(unsigned(low), 1) != 0)
          return wrong(text, place, 1, "0");
    mma.scale = field(23, 1) ? ScaleElement::ue8m0 : ScaleElement::ue4m3;
    if (mma.scale == ScaleElement::ue4m3 && form.kind != TensorKind::mxf4nvf4)
      return wrong("scale type", "bit 23", 0, "1 (ue8m0)");
    mma.scaleByteB = field(4, 2), mma.scaleByteA = field(29, 2);
    for (const auto &[value, text, place] : {std::tuple(mma.scaleByteA, "scale factor A id", "bits 29-30"),
                                             std::tuple(mma.scaleByteB, "scale factor B id", "bits 4-5")})
      if (value % form.scales != 0)
        return wrong(text, place, value, form.scales == 2 ? "0 or 2" : "0");
    if (field(31, 1) != 0)
      return wrong("K size", "bit 31", 1, "0");
  } else {
    for (const auto &[low, text] : {std::pair(23, "bit 23"), std::pair(29, "bit 29")})
      if (field(unsigned(low), 1) != 0)
        return wrong("reserved", text, 1, "0");
    if (form.form == TensorForm::dense && field(30, 2) != 0)
      return wrong("maximum shift", "bits 30-31", field(30, 2), "0 without .ws");
  }
  mma.m = field(24, 5) << 4, mma.n = field(17, 6) << 3;
  if (!allowsM(form, mma.m))
    return wrong("M", "bits 24-28", field(24, 5),
                 fmt::format("an M of {}, and this one is {}", rulesOfM(form), mma.m));
  const bool wideSteps = mma.majorB == Major::mn && elementBits(mma.b) == 8;
  if (const RuleOfN rule = ruleOfN(form, mma.n, wideSteps); !rule.holds)
    return wrong("N", "bits 17-22", field(17, 6),
                 fmt::format("an N that is {}{}, and this one is {}", rule.text,
                             wideSteps ? " for a transposed B of 8 bits" : "", mma.n));
  return mma;
}

} // namespace tlc::emulator
