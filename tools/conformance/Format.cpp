// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/Format.h"

#include <bit>
#include <cmath>

namespace tlc::conformance {
namespace {

struct FloatShape {
  unsigned exponentBits, fractionBits;
  unsigned bits() const { return 1 + exponentBits + fractionBits; }
  uint64_t exponentMask() const { return ((uint64_t(1) << exponentBits) - 1) << fractionBits; }
  uint64_t fractionMask() const { return (uint64_t(1) << fractionBits) - 1; }
  uint64_t sign() const { return uint64_t(1) << (exponentBits + fractionBits); }
  uint64_t bias() const { return (uint64_t(1) << (exponentBits - 1)) - 1; }
};
constexpr FloatShape f16Shape = {5, 10}, bf16Shape = {8, 7}, f32Shape = {8, 23}, f64Shape = {11, 52};

uint64_t randomFloat(FloatShape shape, Random &random) {
  const uint64_t sign = random.oneIn(2) ? shape.sign() : 0;
  const uint64_t fraction = random.next() & shape.fractionMask();
  const uint64_t one = shape.bias() << shape.fractionBits;
  switch (random.below(16)) {
  case 0:
    return sign;
  case 1:
    return sign | shape.exponentMask(); // infinity
  case 2:
    return sign | shape.exponentMask() | std::max<uint64_t>(fraction, 1);
  case 3:
    return sign | fraction; // subnormal
  case 4:
    return sign | (random.oneIn(2) ? 1 : shape.fractionMask());
  case 5: // the largest finite and the smallest normal number
    return sign | (random.oneIn(2) ? shape.exponentMask() - 1 : shape.fractionMask() + 1);
  case 6: // a power of two and its neighbours
    return sign | (one + (random.below(2 * shape.fractionBits) << shape.fractionBits) - 1 + random.below(3));
  case 7: // a small integer, half of them with a half more
    return sign | (one + ((random.next() & 3) << shape.fractionBits)) |
           (random.next() & (uint64_t(15) << (shape.fractionBits - 4)));
  case 8:
  case 9:
    return random.next() & (shape.sign() | (shape.sign() - 1)); // any bits
  default: {                                                    // near one, where sums cancel and round
    const uint64_t exponent = shape.bias() - 6 + random.below(13);
    return sign | exponent << shape.fractionBits | fraction;
  }
  }
}

uint64_t randomInteger(unsigned bits, Random &random) {
  const uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  switch (random.below(8)) {
  case 0:
    return random.below(4);
  case 1:
    return mask - random.below(4);
  case 2: // about the sign bit
    return ((uint64_t(1) << (bits - 1)) - 2 + random.below(4)) & mask;
  case 3: // about a power of two
    return ((uint64_t(1) << random.below(bits)) - 1 + random.below(3)) & mask;
  case 4:
    return random.next() & mask & random.next() & random.next();
  default:
    return random.next() & mask;
  }
}

uint64_t randomByteFloats(Random &random) {
  uint64_t bits = 0;
  constexpr uint8_t special[] = {0x00, 0x80, 0x7F, 0xFF, 0x7E, 0x7C, 0x7B, 0x01, 0x07, 0x08, 0x04, 0x03};
  for (unsigned i = 0; i < 2; ++i)
    bits |= uint64_t(random.oneIn(3) ? random.pick(special) : random.below(256)) << 8 * i;
  return bits;
}

uint64_t withoutPayload(FloatShape shape, uint64_t bits) {
  const bool isNan = (bits & shape.exponentMask()) == shape.exponentMask() && (bits & shape.fractionMask());
  return isNan ? shape.sign() - 1 : bits;
}

double numberOf(FloatShape shape, uint64_t bits) {
  const double sign = bits & shape.sign() ? -1 : 1;
  const int exponent = int((bits & shape.exponentMask()) >> shape.fractionBits);
  const double fraction = double(bits & shape.fractionMask());
  if ((bits & shape.exponentMask()) == shape.exponentMask())
    return fraction ? NAN : sign * INFINITY;
  const double scale = std::ldexp(1.0, std::max(exponent, 1) - int(shape.bias()) - int(shape.fractionBits));
  return sign * (fraction + (exponent ? double(shape.fractionMask() + 1) : 0.0)) * scale;
}

} // namespace

unsigned registerBits(Format format) {
  switch (format) {
  case Format::predicate:
    return 1;
  case Format::b16:
  case Format::f16:
  case Format::bf16:
  case Format::byte16:
  case Format::half16:
    return 16;
  case Format::b64:
  case Format::f64:
  case Format::half64:
    return 64;
  default:
    return 32;
  }
}

std::string_view registerType(Format format) {
  switch (format) {
  case Format::predicate:
    return "pred";
  case Format::f32:
  case Format::angle:
  case Format::moderate:
    return "f32";
  case Format::f64:
    return "f64";
  default:
    return registerBits(format) == 16 ? "b16" : registerBits(format) == 32 ? "b32" : "b64";
  }
}

uint64_t randomValue(Format format, Random &random) {
  switch (format) {
  case Format::predicate:
    return random.below(2);
  case Format::f16:
    return randomFloat(f16Shape, random);
  case Format::bf16:
    return randomFloat(bf16Shape, random);
  case Format::f16x2:
    return randomFloat(f16Shape, random) << 16 | randomFloat(f16Shape, random);
  case Format::bf16x2:
    return randomFloat(bf16Shape, random) << 16 | randomFloat(bf16Shape, random);
  case Format::f32:
  case Format::tf32:
    return randomFloat(f32Shape, random);
  case Format::f64:
    return randomFloat(f64Shape, random);
  case Format::count32:
    return random.oneIn(16) ? randomInteger(32, random) : random.below(71);
  case Format::byte16:
    return randomByteFloats(random);
  case Format::word8: {
    uint64_t bits = 0;
    for (unsigned i = 0; i < 4; ++i)
      bits |= randomInteger(8, random) << 8 * i;
    return bits;
  }
  case Format::half16:
  case Format::half32:
  case Format::half64:
    while (true)
      if (uint64_t value = randomInteger(registerBits(format), random))
        return value;
  case Format::angle: {
    const float value = float(random.next() >> 40) * 0x1p-24f * 3.1415925f;
    return std::bit_cast<uint32_t>(random.oneIn(2) ? -value : value);
  }
  case Format::moderate:
    return (random.next() & 0x807FFFFF) | (127 - 60 + random.below(120)) << 23;
  case Format::b16:
  case Format::b32:
  case Format::b64:
    break;
  }
  return randomInteger(registerBits(format), random);
}

uint64_t withoutPayload(Format format, uint64_t bits) {
  switch (format) {
  case Format::f16:
    return withoutPayload(f16Shape, bits);
  case Format::bf16:
    return withoutPayload(bf16Shape, bits);
  case Format::f16x2:
    return withoutPayload(f16Shape, bits >> 16) << 16 | withoutPayload(f16Shape, bits & 0xFFFF);
  case Format::bf16x2:
    return withoutPayload(bf16Shape, bits >> 16) << 16 | withoutPayload(bf16Shape, bits & 0xFFFF);
  case Format::f32:
  case Format::tf32:
    return withoutPayload(f32Shape, bits);
  case Format::f64:
    return withoutPayload(f64Shape, bits);
  default:
    return bits;
  }
}

double numberOf(Format format, uint64_t bits) {
  switch (format) {
  case Format::f16:
  case Format::f16x2:
    return numberOf(f16Shape, bits & 0xFFFF);
  case Format::bf16:
  case Format::bf16x2:
    return numberOf(bf16Shape, bits & 0xFFFF);
  case Format::f64:
    return numberOf(f64Shape, bits);
  default:
    return numberOf(f32Shape, bits);
  }
}

} // namespace tlc::conformance
