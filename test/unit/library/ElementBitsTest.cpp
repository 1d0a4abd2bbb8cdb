// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elements as bits.
#include "kernels/harness/ElementBits.h"

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

TEST_CASE("floats of 8 bits round to nearest even and saturate", "[library][elements]") {
  auto bits = [](double value) {
    std::byte byte;
    storeElement(ElementType::e4m3, &byte, value);
    return static_cast<unsigned>(byte);
  };
  CHECK(bits(1.0) == 0x38);
  CHECK(bits(1.0 + 0x1p-4) == 0x38);
  CHECK(bits(1.0 + 3 * 0x1p-4) == 0x3A);
  CHECK(bits(-2.5) == 0xC2);
  CHECK(bits(448) == 0x7E);
  CHECK(bits(1e9) == 0x7E);
  CHECK(bits(-std::numeric_limits<double>::infinity()) == 0xFE);
  CHECK(bits(0x1p-9) == 0x01);
  CHECK(bits(0x1p-10) == 0x00);
  CHECK(bits(NAN) == 0x7F);
  for (unsigned each = 0; each != 0x100; ++each) {
    auto byte = static_cast<std::byte>(each);
    double value = loadElement(ElementType::e4m3, &byte);
    CHECK(std::isnan(value) == ((each & 0x7F) == 0x7F));
    if (!std::isnan(value))
      CHECK(bits(value) == each);
  }
}

TEST_CASE("all bits set is no number in each floating-point type", "[library][elements]") {
  const std::byte poison[8] = {std::byte(255), std::byte(255), std::byte(255), std::byte(255),
                               std::byte(255), std::byte(255), std::byte(255), std::byte(255)};
  for (ElementType type :
       {ElementType::f16, ElementType::bf16, ElementType::f32, ElementType::f64, ElementType::e4m3})
    CHECK(std::isnan(loadElement(type, poison)));
}
