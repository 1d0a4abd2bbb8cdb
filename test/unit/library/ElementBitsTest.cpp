// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elements as bits.
#include "kernels/library/ElementBits.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

using namespace tlc;
using namespace tlc::kernels;

namespace {

uint16_t bits16(ElementType type, double value) {
  std::byte bytes[2];
  storeElement(type, bytes, value);
  uint16_t bits;
  std::memcpy(&bits, bytes, 2);
  return bits;
}

double value16(ElementType type, uint16_t bits) {
  std::byte bytes[2];
  std::memcpy(bytes, &bits, 2);
  return loadElement(type, bytes);
}

} // namespace

TEST_CASE("narrow floating-point types round to nearest even", "[library][elements]") {
  CHECK(bits16(ElementType::bf16, 1.0) == 0x3F80);
  CHECK(bits16(ElementType::bf16, 1.0 + 0x1p-8) == 0x3F80);
  CHECK(bits16(ElementType::bf16, 1.0 + 3 * 0x1p-8) == 0x3F82);
  CHECK(bits16(ElementType::bf16, -2.5) == 0xC020);
  CHECK(bits16(ElementType::f16, 1.0 + 0x1p-11) == 0x3C00);
  CHECK(bits16(ElementType::f16, 65504) == 0x7BFF);
  CHECK(bits16(ElementType::f16, 65520) == 0x7C00);
  CHECK(bits16(ElementType::f16, 0x1p-24) == 0x0001);
  CHECK(bits16(ElementType::f16, -0.0) == 0x8000);
  CHECK(bits16(ElementType::f16, -std::numeric_limits<double>::infinity()) == 0xFC00);
}

TEST_CASE("every value of the 16-bit types comes back as the same bits", "[library][elements]") {
  for (ElementType type : {ElementType::f16, ElementType::bf16})
    for (unsigned bits = 0; bits != 0x10000; ++bits) {
      double value = value16(type, static_cast<uint16_t>(bits));
      if (!std::isnan(value) && bits16(type, value) != bits)
        FAIL(toString(type) << " " << bits << " came back as " << bits16(type, value));
    }
}

TEST_CASE("all bits set is no number in each floating-point type", "[library][elements]") {
  const std::byte poison[8] = {std::byte(255), std::byte(255), std::byte(255), std::byte(255),
                               std::byte(255), std::byte(255), std::byte(255), std::byte(255)};
  for (ElementType type : {ElementType::f16, ElementType::bf16, ElementType::f32, ElementType::f64})
    CHECK(std::isnan(loadElement(type, poison)));
}
