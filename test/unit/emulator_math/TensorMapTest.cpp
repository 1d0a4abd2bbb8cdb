// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensor maps: the parameter's bytes and the rules, each with its message.
#include "runtime/emulator/math/TensorMap.h"

#include "test/unit/emulator_math/Support.h"

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;

namespace {

EmulatedTensorMap example() {
  EmulatedTensorMap map{.globalAddress = 0x7F0000001230, .element = TensorElement::bf16, .rank = 3};
  map.dims = {128, uint64_t(1) << 32, 7};
  map.strides = {256, (uint64_t(1) << 40) - 16};
  map.box = {64, 256, 1};
  map.elementStrides = {1, 2, 8, 1, 1};
  map.swizzle = Swizzle::bytes128;
  map.fill = OutOfBoundsFill::nan;
  return map;
}

std::string messageOf(const EmulatedTensorMap &map) {
  const Result<void> result = checkTensorMap(map);
  return result ? std::string() : result.error().message;
}

} // namespace

TEST_CASE("a tensor map survives its 128 bytes") {
  for (unsigned rank = 1; rank <= 5; ++rank)
    for (unsigned element = 0; element <= unsigned(TensorElement::bf16); ++element) {
      EmulatedTensorMap map{.globalAddress = 4096 * rank, .element = TensorElement(element), .rank = rank};
      for (unsigned i = 0; i < rank; ++i) {
        map.dims[i] = 100 + i;
        map.box[i] = 16;
        if (i > 0)
          map.strides[i - 1] = 1024 * i;
      }
      map.swizzle = Swizzle(unsigned(Swizzle::bytes128) * (sizeInBytes(map.element) < 8));
      const auto decoded = decodeTensorMap(encodeTensorMap(map));
      REQUIRE(decoded);
      CHECK(*decoded == map);
    }
  const auto decoded = decodeTensorMap(encodeTensorMap(example()));
  REQUIRE(decoded);
  CHECK(*decoded == example());
}

TEST_CASE("fields of a tensor map are replaced one by one, also through maps against the rules") {
  auto bytes = encodeTensorMap(example());
  const auto replace = [&](TensorField field, unsigned axis, uint64_t value) {
    const auto done = replaceField(bytes, field, axis, value);
    return done ? std::string() : done.error().message;
  };
  CHECK(replace(TensorField::globalAddress, 0, 0x5550) == "");
  CHECK(replace(TensorField::rank, 0, 1) == "");
  CHECK(replace(TensorField::element, 0, 7) == "");
  CHECK(replace(TensorField::dims, 0, 40) == "");
  CHECK(replace(TensorField::dims, 1, 50) == "");
  CHECK(replace(TensorField::strides, 0, 4096) == "");
  CHECK(replace(TensorField::box, 0, 8) == "");
  CHECK(replace(TensorField::box, 1, 16) == "");
  CHECK(replace(TensorField::elementStrides, 1, 3) == "");
  CHECK(replace(TensorField::swizzle, 0, 1) == "");
  CHECK(replace(TensorField::interleave, 0, 0) == "");
  CHECK(replace(TensorField::swizzleAtomicity, 0, 0) == "");
  CHECK(replace(TensorField::fill, 0, 0) == "");
  const auto decoded = decodeTensorMap(bytes);
  REQUIRE(decoded);
  CHECK(decoded->dims[1] == 50);
  CHECK(decoded->globalAddress == 0x5550);
  CHECK(decoded->rank == 2);
  CHECK(decoded->dims[0] == 40);
  CHECK(decoded->element == TensorElement::f32);
  CHECK(decoded->strides[0] == 4096);
  CHECK(decoded->box[1] == 16);
  CHECK(decoded->elementStrides[1] == 3);
  CHECK(decoded->swizzle == Swizzle::bytes32);
  CHECK(decoded->fill == OutOfBoundsFill::zero);
  CHECK(replace(TensorField::interleave, 0, 1) ==
        "tensor map: interleave layout 1 does not exist or is not emulated");
  CHECK(replace(TensorField::element, 0, 8) ==
        "tensor map: element type 8 does not exist or is not emulated");
  CHECK(replace(TensorField::rank, 0, 5) == "tensor map: rank less one 5 does not exist or is not emulated");
  CHECK(replace(TensorField::swizzle, 0, 4) != "");
  CHECK(replace(TensorField::swizzleAtomicity, 0, 1) != "");
  CHECK(replace(TensorField::fill, 0, 2) != "");
  bytes[0] ^= std::byte(1);
  CHECK(replace(TensorField::rank, 0, 1).find("they do not begin with its mark") != std::string::npos);
}

TEST_CASE("garbage is no tensor map") {
  const auto encoded = encodeTensorMap(example());
  for (size_t byte = 0; byte < encoded.size(); ++byte)
    for (unsigned bit = 0; bit < 8; ++bit) {
      auto damaged = encoded;
      damaged[byte] ^= std::byte(1u << bit);
      const auto decoded = decodeTensorMap(damaged);
      if (decoded)
        FAIL("byte " << byte << ", bit " << bit);
      CHECK(decoded.error().kind == ErrorKind::execution);
    }
  const std::array<std::byte, 128> zero = {};
  CHECK(decodeTensorMap(zero).error().message ==
        "the 128 bytes are no tensor map of this device: they do not begin with its mark");
  auto damaged = encoded;
  damaged[127] = std::byte(1);
  CHECK(decodeTensorMap(damaged).error().message ==
        "the 128 bytes are no tensor map of this device: the checksum does not match");
}

TEST_CASE("the rules of tensor maps are told with names, values and limits") {
  CHECK(messageOf(example()) == "");
  EmulatedTensorMap map = example();
  map.rank = 6;
  CHECK(messageOf(map) == "tensor map: the rank must be 1 to 5, but is 6");
  map = example();
  map.globalAddress = 0x1008;
  CHECK(messageOf(map) == "tensor map: the tensor's address must be a multiple of 16, but is 0x1008");
  map = example();
  map.strides[0] = 24;
  CHECK(messageOf(map) ==
        "tensor map: the stride of dimension 1 (innermost is 0) must be a multiple of 16 bytes "
        "below 2^40, but is 24");
  map.strides[0] = uint64_t(1) << 40;
  CHECK(messageOf(map) != "");
  map = example();
  map.dims[2] = 0;
  CHECK(messageOf(map) == "tensor map: dimension 2 (innermost is 0) must be 1 to 2^32, but is 0");
  map.dims[2] = (uint64_t(1) << 32) + 1;
  CHECK(messageOf(map) == "tensor map: dimension 2 (innermost is 0) must be 1 to 2^32, but is 4294967297");
  map = example();
  map.box[1] = 257;
  CHECK(messageOf(map) ==
        "tensor map: the box must be 1 to 256 along dimension 1 (innermost is 0), but is 257");
  map = example();
  map.box[0] = 65;
  CHECK(messageOf(map) ==
        "tensor map: the inner row of the box must be a multiple of 16 bytes, but 65 elements of "
        "bf16 are 130");
  map.box[0] = 72;
  CHECK(messageOf(map) == "tensor map: the inner row of the box must fit in the swizzle's 128 bytes, but 72 "
                          "elements of bf16 are 144; copy it in several boxes");
  map.swizzle = Swizzle::none;
  CHECK(messageOf(map) == "");
  map = example();
  map.box[0] = 32;
  map.swizzle = Swizzle::bytes32;
  CHECK(messageOf(map) != "");
  map = example();
  map.elementStrides[1] = 9;
  CHECK(messageOf(map) ==
        "tensor map: the element stride of dimension 1 (innermost is 0) must be 1 to 8, but is 9");
  map = example();
  map.element = TensorElement::u16;
  CHECK(messageOf(map) ==
        "tensor map: only floating-point elements can be filled with NaN, but the element is u16");
}

TEST_CASE("artifact elements have their tensor-map elements") {
  for (ElementType type : {ElementType::i8, ElementType::i32, ElementType::i64, ElementType::f16,
                           ElementType::bf16, ElementType::f32, ElementType::f64}) {
    static const std::map<ElementType, std::pair<TensorElement, unsigned>> expected = {
        {ElementType::i8, {TensorElement::u8, 1}},     {ElementType::i32, {TensorElement::s32, 4}},
        {ElementType::i64, {TensorElement::s64, 8}},   {ElementType::f16, {TensorElement::f16, 2}},
        {ElementType::bf16, {TensorElement::bf16, 2}}, {ElementType::f32, {TensorElement::f32, 4}},
        {ElementType::f64, {TensorElement::f64, 8}}};
    CHECK(tensorElement(type) == expected.at(type).first);
    CHECK(sizeInBytes(tensorElement(type)) == expected.at(type).second);
  }
}

TEST_CASE("a planned tensor map is taken innermost first") {
  alignas(16) static std::byte memory[16];
  TensorMapValues values{
      .address = memory, .element = ElementType::bf16, .swizzle = Swizzle::bytes64, .rank = 3};
  values.shape = {2, 300, 64};
  values.strideBytes = {38400, 128, 2};
  values.box = {1, 128, 32};
  EmulatedTensorMap expected{.globalAddress = uint64_t(memory), .element = TensorElement::bf16, .rank = 3};
  expected.dims = {64, 300, 2};
  expected.strides = {128, 38400};
  expected.box = {32, 128, 1};
  expected.swizzle = Swizzle::bytes64;
  CHECK(tensorMapOf(values) == expected);
  CHECK(checkTensorMap(expected));
}
