// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensor maps: their rules and their 128-byte form.
#include "runtime/emulator/math/TensorMap.h"

#include "runtime/target/Target.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <utility>

namespace tlc::emulator {
namespace {

constexpr TmaFacts tma;
constexpr uint64_t addressMultiple = tma.globalAlignment, strideLimit = tma.maxStride,
                   dimLimit = tma.maxExtent;
constexpr uint32_t boxLimit = tma.maxBoxExtent, elementStrideLimit = tma.maxElementStride;

/// The parameter's bytes; what follows is zero.
struct Encoded {
  uint64_t magic = 0x70614D726F736E54; ///< "TnsorMap"
  uint64_t check = 0;                  ///< checksum of the 128 bytes with this field zero
  uint64_t globalAddress = 0;
  uint64_t strides[4] = {};
  uint32_t lastIndex[5] = {}; ///< dims less 1, so that 2^32 fits
  uint16_t box[5] = {};
  uint8_t elementStrides[5] = {};
  uint8_t element = 0, rank = 0, swizzle = 0, fill = 0, isEmpty = 0, padding[2] = {};
  // Of a map in im2col mode; others have no pixels.
  int16_t lower[3] = {}, upper[3] = {};
  uint16_t pixels = 0;
};
static_assert(sizeof(Encoded) == 112 && sizeof(Encoded) <= EmulatedTensorMap::encodedBytes);

using Bytes = std::array<std::byte, EmulatedTensorMap::encodedBytes>;

/// FNV-1a.
uint64_t checksum(const Bytes &bytes) {
  uint64_t hash = 0xCBF29CE484222325;
  for (std::byte byte : bytes)
    hash = (hash ^ uint64_t(byte)) * 0x100000001B3;
  return hash;
}

Bytes toBytes(const Encoded &encoded) {
  Bytes bytes = {};
  std::memcpy(bytes.data(), &encoded, sizeof(encoded));
  return bytes;
}

bool isFloatingPoint(TensorElement element) {
  return element == TensorElement::f16 || element == TensorElement::f32 || element == TensorElement::f64 ||
         element == TensorElement::bf16;
}

template <class... Arguments>
Error invalid(fmt::format_string<Arguments...> format, Arguments &&...arguments) {
  return {ErrorKind::invalidArgument,
          "tensor map: " + fmt::format(format, std::forward<Arguments>(arguments)...)};
}

Result<void> checkInnerRow(const EmulatedTensorMap &map) {
  const uint64_t bytes = uint64_t(map.box[0]) * sizeInBytes(map.element);
  const unsigned span = swizzleSpanBytes(map.swizzle);
  if (bytes % 16 != 0)
    return invalid("the inner row of the box must be a multiple of 16 bytes, but {} elements of {} are {}",
                   map.box[0], toString(map.element), bytes);
  if (span != 0 && bytes > span)
    return invalid(
        "the inner row of the box must fit in the swizzle's {} bytes, but {} elements of {} are {}; "
        "copy it in several boxes",
        span, map.box[0], toString(map.element), bytes);
  return {};
}

Result<void> checkIm2col(const EmulatedTensorMap &map, const Im2colBox &im2col) {
  if (map.rank < tma.minIm2colRank)
    return invalid("the rank must be {} to {} in im2col mode, but is {}", tma.minIm2colRank, tma.maxRank,
                   map.rank);
  if (im2col.pixels < 1 || im2col.pixels > tma.maxPixels)
    return invalid("the box must have 1 to {} pixels, but has {}", tma.maxPixels, im2col.pixels);
  const int64_t reach = TmaFacts::im2colReach(map.rank);
  for (unsigned i = 1; i < map.rank; ++i) {
    if (map.box[i] != 1)
      return invalid("in im2col mode the box must be 1 along dimension {} (innermost is 0), but is {}", i,
                     map.box[i]);
    if (i + 1 == map.rank)
      break;
    const int64_t lower = im2col.lower[i - 1], upper = im2col.upper[i - 1];
    if (lower < -reach || lower >= reach || upper < -reach || upper >= reach)
      return invalid(
          "the corners of the bounding box must be {} to {} along dimension {} (innermost is 0), but "
          "are {} and {}",
          -reach, reach - 1, i, lower, upper);
    if (lower >= int64_t(map.dims[i]) + upper)
      return invalid(
          "the bounding box must have pixels, but along dimension {} (innermost is 0) it is from {} "
          "to {}",
          i, lower, int64_t(map.dims[i]) + upper - 1);
  }
  return {};
}

} // namespace

unsigned sizeInBytes(TensorElement element) {
  switch (element) {
  case TensorElement::u8:
    return 1;
  case TensorElement::u16:
  case TensorElement::f16:
  case TensorElement::bf16:
    return 2;
  case TensorElement::u32:
  case TensorElement::s32:
  case TensorElement::f32:
    return 4;
  case TensorElement::u64:
  case TensorElement::s64:
  case TensorElement::f64:
    break;
  }
  return 8;
}

std::string_view toString(TensorElement element) {
  constexpr std::string_view names[] = {"u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16"};
  return names[unsigned(element)];
}

TensorElement tensorElement(ElementType type) {
  constexpr TensorElement elements[] = {
#define TLC_ELEMENT_TYPE(name, C, bits, number, exponent, fraction, bias, specials, use, mlir, ptx, ...)     \
  TensorElement::ptx,
#include "runtime/support/ElementTypes.def"
  };
  return elements[size_t(type)];
}

unsigned swizzleSpanBytes(Swizzle swizzle) { return swizzle == Swizzle::none ? 0 : 16u << unsigned(swizzle); }

EmulatedTensorMap tensorMapOf(const TensorMapValues &values) {
  EmulatedTensorMap map{.globalAddress = uint64_t(uintptr_t(values.address)),
                        .element = tensorElement(values.element),
                        .rank = values.rank,
                        .swizzle = values.swizzle,
                        .isEmpty = !values.address};
  for (unsigned i = 0; i < map.rank; ++i) {
    const unsigned axis = map.rank - 1 - i;
    map.dims[i] = uint64_t(values.shape[axis]);
    map.box[i] = uint32_t(values.box[axis]);
    if (i > 0)
      map.strides[i - 1] = uint64_t(values.strideBytes[axis]);
  }
  if (values.im2col) {
    Im2colBox &im2col = map.im2col.emplace();
    im2col.pixels = std::exchange(map.box[map.rank - 1], 1);
    for (unsigned i = 1; i + 1 < map.rank; ++i) {
      const unsigned axis = map.rank - 2 - i;
      im2col.lower[i - 1] = int32_t(values.im2col->lower[axis]);
      im2col.upper[i - 1] = int32_t(values.im2col->upper[axis]);
      map.elementStrides[i] = uint32_t(values.im2col->stride[axis]);
    }
  }
  return map;
}

Result<void> checkTensorMap(const EmulatedTensorMap &map) {
  if (map.rank < 1 || map.rank > EmulatedTensorMap::maxRank)
    return invalid("the rank must be 1 to {}, but is {}", EmulatedTensorMap::maxRank, map.rank);
  if (map.globalAddress % addressMultiple != 0)
    return invalid("the tensor's address must be a multiple of {}, but is {:#x}", addressMultiple,
                   map.globalAddress);
  for (unsigned i = 0; i < map.rank; ++i) {
    if (map.dims[i] < 1 || map.dims[i] > dimLimit)
      return invalid("dimension {} (innermost is 0) must be 1 to 2^32, but is {}", i, map.dims[i]);
    if (map.box[i] < 1 || map.box[i] > boxLimit)
      return invalid("the box must be 1 to {} along dimension {} (innermost is 0), but is {}", boxLimit, i,
                     map.box[i]);
    if (map.elementStrides[i] < 1 || map.elementStrides[i] > elementStrideLimit)
      return invalid("the element stride of dimension {} (innermost is 0) must be 1 to {}, but is {}", i,
                     elementStrideLimit, map.elementStrides[i]);
  }
  for (unsigned i = 0; i + 1 < map.rank; ++i)
    if (map.strides[i] % addressMultiple != 0 || map.strides[i] >= strideLimit)
      return invalid(
          "the stride of dimension {} (innermost is 0) must be a multiple of {} bytes below 2^40, but "
          "is {}",
          i + 1, addressMultiple, map.strides[i]);
  if (map.fill == OutOfBoundsFill::nan && !isFloatingPoint(map.element))
    return invalid("only floating-point elements can be filled with NaN, but the element is {}",
                   toString(map.element));
  if (map.im2col)
    if (Result<void> valid = checkIm2col(map, *map.im2col); !valid)
      return valid;
  return checkInnerRow(map);
}

Bytes encodeTensorMap(const EmulatedTensorMap &map) {
  assert(checkTensorMap(map) && "an invalid map has no encoding");
  Encoded encoded;
  encoded.globalAddress = map.globalAddress;
  for (unsigned i = 0; i < map.rank; ++i) {
    if (i > 0)
      encoded.strides[i - 1] = map.strides[i - 1];
    encoded.lastIndex[i] = uint32_t(map.dims[i] - 1);
    encoded.box[i] = uint16_t(map.box[i]);
    encoded.elementStrides[i] = uint8_t(map.elementStrides[i]);
  }
  encoded.element = uint8_t(map.element);
  encoded.rank = uint8_t(map.rank);
  encoded.swizzle = uint8_t(map.swizzle);
  encoded.fill = uint8_t(map.fill);
  encoded.isEmpty = uint8_t(map.isEmpty);
  if (map.im2col) {
    encoded.pixels = uint16_t(map.im2col->pixels);
    std::ranges::copy(map.im2col->lower, encoded.lower);
    std::ranges::copy(map.im2col->upper, encoded.upper);
  }
  encoded.check = checksum(toBytes(encoded));
  return toBytes(encoded);
}

static Result<Encoded> readEncoded(std::span<const std::byte, EmulatedTensorMap::encodedBytes> bytes) {
  const auto garbage = [](std::string_view why) {
    return Error{ErrorKind::execution,
                 fmt::format("the 128 bytes are no tensor map of this device: {}", why)};
  };
  Encoded encoded;
  std::memcpy(&encoded, bytes.data(), sizeof(encoded));
  if (encoded.magic != Encoded().magic)
    return garbage("they do not begin with its mark");
  Bytes copy;
  std::memcpy(copy.data(), bytes.data(), copy.size());
  std::memset(copy.data() + offsetof(Encoded, check), 0, sizeof(encoded.check));
  if (encoded.check != checksum(copy))
    return garbage("the checksum does not match");
  return encoded;
}

Result<void> replaceField(std::span<std::byte, EmulatedTensorMap::encodedBytes> map, TensorField field,
                          unsigned axis, uint64_t value) {
  auto read = readEncoded(map);
  if (!read)
    return read.error();
  const auto refuse = [&](std::string_view what) {
    return Error{ErrorKind::execution,
                 fmt::format("tensor map: {} {} does not exist or is not emulated", what, value)};
  };
  Encoded encoded = *read;
  switch (field) {
  case TensorField::globalAddress:
    encoded.globalAddress = value;
    break;
  case TensorField::rank:
    if (value >= EmulatedTensorMap::maxRank)
      return refuse("rank less one");
    encoded.rank = uint8_t(value + 1);
    break;
  case TensorField::box:
    encoded.box[axis] = uint16_t(std::min<uint64_t>(value, UINT16_MAX));
    break;
  case TensorField::dims:
    encoded.lastIndex[axis] = uint32_t(value - 1);
    break;
  case TensorField::strides:
    encoded.strides[axis] = value;
    break;
  case TensorField::elementStrides:
    encoded.elementStrides[axis] = uint8_t(std::min<uint64_t>(value, UINT8_MAX));
    break;
  case TensorField::element: {
    // The instruction's numbers; some elements have two, one of them flushing.
    using enum TensorElement;
    constexpr std::optional<TensorElement> elements[] = {u8,  u16, u32,          s32, u64, s64,
                                                         f16, f32, std::nullopt, f64, bf16};
    if (value >= std::size(elements) || !elements[value])
      return refuse("element type");
    encoded.element = uint8_t(*elements[value]);
    break;
  }
  case TensorField::interleave:
    if (value != 0)
      return refuse("interleave layout");
    break;
  case TensorField::swizzle:
    if (value > uint8_t(Swizzle::bytes128))
      return refuse("swizzle mode");
    encoded.swizzle = uint8_t(value);
    break;
  case TensorField::swizzleAtomicity:
    if (value != 0)
      return refuse("swizzle atomicity");
    break;
  case TensorField::fill:
    if (value > uint8_t(OutOfBoundsFill::nan))
      return refuse("fill mode");
    encoded.fill = uint8_t(value);
    break;
  }
  encoded.check = 0;
  encoded.check = checksum(toBytes(encoded));
  const Bytes bytes = toBytes(encoded);
  std::copy(bytes.begin(), bytes.end(), map.begin());
  return {};
}

Result<EmulatedTensorMap> decodeTensorMap(std::span<const std::byte, EmulatedTensorMap::encodedBytes> bytes) {
  const auto garbage = [](std::string_view why) {
    return Error{ErrorKind::execution,
                 fmt::format("the 128 bytes are no tensor map of this device: {}", why)};
  };
  auto read = readEncoded(bytes);
  if (!read)
    return read.error();
  const Encoded &encoded = *read;
  if (encoded.element > uint8_t(TensorElement::bf16) || encoded.swizzle > uint8_t(Swizzle::bytes128) ||
      encoded.fill > uint8_t(OutOfBoundsFill::nan) || encoded.isEmpty > 1 ||
      encoded.rank > EmulatedTensorMap::maxRank)
    return garbage("a field has a value that does not exist");

  EmulatedTensorMap map;
  map.globalAddress = encoded.globalAddress;
  map.element = TensorElement(encoded.element);
  map.rank = encoded.rank;
  map.swizzle = Swizzle(encoded.swizzle);
  map.fill = OutOfBoundsFill(encoded.fill);
  map.isEmpty = encoded.isEmpty != 0;
  for (unsigned i = 0; i < map.rank; ++i) {
    if (i > 0)
      map.strides[i - 1] = encoded.strides[i - 1];
    map.dims[i] = uint64_t(encoded.lastIndex[i]) + 1;
    map.box[i] = encoded.box[i];
    map.elementStrides[i] = encoded.elementStrides[i];
  }
  if (encoded.pixels != 0) {
    Im2colBox &im2col = map.im2col.emplace();
    im2col.pixels = encoded.pixels;
    std::ranges::copy(encoded.lower, im2col.lower.begin());
    std::ranges::copy(encoded.upper, im2col.upper.begin());
  }
  if (Result<void> valid = checkTensorMap(map); !valid)
    return garbage(valid.error().message);
  return map;
}

} // namespace tlc::emulator
