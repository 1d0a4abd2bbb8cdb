// SPDX-License-Identifier: Apache-2.0
/// \file
/// The descriptors of tcgen05: what their fields say, and what is said of a
/// field that the hardware does not take.
#include "runtime/emulator/math/TensorMma.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::emulator;
using Catch::Matchers::Contains;

namespace {

constexpr TensorMmaForm pairForm = {.kind = TensorKind::f16, .ctaGroup = 2};

} // namespace

TEST_CASE("instruction descriptors are decoded and refused by field") {
  const auto decode = [](uint32_t bits, TensorMmaForm form = {}) { return TensorMma::decode(form, bits); };
  const auto message = [&](uint32_t bits, TensorMmaForm form = {}) {
    const auto mma = decode(bits, form);
    return mma ? std::string() : mma.error().message;
  };
  const auto mma = decode(0x8110490);
  REQUIRE(mma);
  CHECK(mma->m == 128);
  CHECK(mma->n == 64);
  CHECK(mma->majorA == Major::k);
  CHECK(mma->majorB == Major::mn);
  CHECK(mma->a == MatrixElement::bf16);
  CHECK(mma->accumulator == MatrixElement::f32);
  const auto pair = decode(0x10200490, pairForm);
  REQUIRE(pair);
  CHECK(pair->m == 256);
  CHECK(message(0x10200490) ==
        "field 'M' (bits 24-28) of the instruction descriptor 0x10200490 is 16, but kind::f16 "
        "with cta_group::1 takes an M of 64 or 128, and this one is 256");
  CHECK_THAT(message(0x8200490 | 4), Contains("field 'sparsity' (bit 2)"));
  CHECK_THAT(message(0x8200490 | 8), Contains("field 'saturate' (bit 3)"));
  CHECK_THAT(message(0x8200490 | 0x40), Contains("field 'reserved' (bit 6)"));
  CHECK_THAT(message(0x8200490 ^ 0x10), Contains("field 'D type' (bits 4-5)") &&
                                            Contains("1 (f32), or 0 (f16) for two operands of f16"));
  CHECK_THAT(message(0x8200490 ^ 0x180), Contains("field 'A type' (bits 7-9)") && Contains("is 2") &&
                                             Contains("takes 0 (f16), 1 (bf16)"));
  CHECK_THAT(message(0x8200490 | 7 << 10), Contains("field 'B type' (bits 10-12)"));
  CHECK_THAT(message(0x8000490),
             Contains("field 'N' (bits 17-22)") && Contains("a multiple of 8 up to 256, and this one is 0"));
  CHECK_THAT(message(0x4200490, pairForm), Contains("an M of 128 or 256, and this one is 64"));
  CHECK_THAT(message(0x10000490 | 3 << 17, pairForm),
             Contains("a multiple of 16 up to 256, and this one is 24"));
  CHECK_THAT(message(0x8000000 | 1 << 4 | 1 << 16 | 1 << 17, {.kind = TensorKind::f8f6f4}),
             Contains("a multiple of 16 up to 256 for a transposed B of 8 bits, and this one is 8"));
  CHECK_THAT(message(0x8208490, {.a = TensorOperandA::tensorMemory}),
             Contains("field 'transpose A' (bit 15)"));
  CHECK_THAT(message(0x8200490 | 1u << 30), Contains("field 'maximum shift' (bits 30-31)"));
  CHECK_THAT(message(0x4000000 | 2 << 4 | 1 << 13 | 4 << 17, {.kind = TensorKind::i8}),
             Contains("field 'negate'"));
}

TEST_CASE("shared memory descriptors are decoded and refused by field") {
  const auto message = [](uint64_t bits) {
    const auto descriptor = TensorDescriptor::decode(bits);
    return descriptor ? std::string() : descriptor.error().message;
  };
  // 128 bytes, stride 1024, leading 16, at 0x1400.
  const uint64_t good =
      uint64_t(2) << 61 | uint64_t(1) << 46 | uint64_t(64) << 32 | uint64_t(1) << 16 | 0x140;
  const auto descriptor = TensorDescriptor::decode(good);
  REQUIRE(descriptor);
  CHECK(descriptor->start == 0x1400);
  CHECK(descriptor->leading == 16);
  CHECK(descriptor->stride == 1024);
  CHECK(descriptor->swizzle == TensorSwizzle::bytes128);
  CHECK(descriptor->encode() == good);
  CHECK_THAT(message(good & ~(uint64_t(1) << 46)),
             Contains("field 'version' (bits 46-48) of the shared memory descriptor 0x") &&
                 Contains("is 0, but must be 1"));
  CHECK_THAT(message(good | uint64_t(3) << 49), Contains("field 'base offset' (bits 49-51)"));
  CHECK_THAT(message(good | uint64_t(1) << 52), Contains("field 'leading dimension mode' (bit 52)"));
  CHECK_THAT(message(good | uint64_t(1) << 55), Contains("field 'reserved' (bits 53-60)"));
  CHECK_THAT(message(good | uint64_t(1) << 61), Contains("field 'swizzle' (bits 61-63)") && Contains("is 3"));
  const auto mma = TensorMma::decode({}, 0x8200490);
  TensorDescriptor odd = *descriptor;
  odd.swizzle = TensorSwizzle::bytes128Atom32;
  const auto refused = checkOperand(*mma, WgmmaOperand::a, odd);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message,
             Contains("of A is 1 (128 bytes in atoms of 32), which only transposed tf32 takes"));
}
