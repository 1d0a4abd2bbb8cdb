// SPDX-License-Identifier: Apache-2.0
/// \file
/// Boxes in im2col mode against a model that divides: random ranks, corners, strides and offsets.
#include "runtime/emulator/math/TensorMap.h"
#include "test/unit/emulator_math/Support.h"

#include <fmt/format.h>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;

namespace {

/// A random map over random memory, and one box in it.
struct Box {
  EmulatedTensorMap map;
  std::vector<std::byte> storage;
  std::array<int32_t, 8> coordinates = {};
  std::array<int64_t, 5> counts = {1, 1, 1, 1, 1}; ///< of positions along each dimension
  int64_t first = 0;                               ///< the number of the first position

  Box(Random &random, Swizzle swizzle) {
    map.element = TensorElement::bf16;
    map.swizzle = swizzle;
    map.rank = unsigned(random.integer(3, 5));
    Im2colBox &im2col = map.im2col.emplace();
    im2col.pixels = uint32_t(random.integer(1, 70));
    const int64_t units = swizzle == Swizzle::none ? 4 : int64_t(1) << unsigned(swizzle);
    map.box[0] = uint32_t(8 * random.integer(1, units));
    map.dims[0] = uint64_t(8 * random.integer(1, 12));
    uint64_t stride = map.dims[0] * 2;
    for (unsigned i = 1; i < map.rank; ++i) {
      map.box[i] = 1;
      map.strides[i - 1] = stride;
      map.dims[i] = uint64_t(random.integer(1, 6));
      stride *= map.dims[i];
    }
    coordinates[0] = int32_t(8 * random.integer(-1, 12));
    coordinates[map.rank - 1] = int32_t(random.integer(-1, int64_t(map.dims[map.rank - 1])));
    first = coordinates[map.rank - 1];
    for (unsigned i = map.rank - 2; i >= 1; --i) {
      int64_t lower = random.integer(-3, 2), upper = random.integer(-2, 3);
      if (lower >= int64_t(map.dims[i]) + upper)
        lower = 0, upper = 0;
      im2col.lower[i - 1] = int32_t(lower), im2col.upper[i - 1] = int32_t(upper);
      map.elementStrides[i] = uint32_t(random.integer(1, 3));
      counts[i] = (int64_t(map.dims[i]) + upper - lower - 1) / map.elementStrides[i] + 1;
      const int64_t at = random.integer(0, counts[i] - 1);
      coordinates[i] = int32_t(lower + at * map.elementStrides[i]);
      coordinates[map.rank + i - 1] = int32_t(random.integer(0, 4));
      first = first * counts[i] + at;
    }
    storage.resize(stride + 16);
    for (std::byte &byte : storage)
      byte = std::byte(random.bits());
    map.globalAddress = uint64_t(storage.data()) + (16 - uint64_t(storage.data()) % 16) % 16;
    REQUIRE(checkTensorMap(map));
    const auto decoded = decodeTensorMap(encodeTensorMap(map));
    REQUIRE(decoded);
    CHECK(*decoded == map);
  }

  /// The element of a pixel of the box, 0 outside.
  uint16_t at(int64_t pixel, int64_t channel) const {
    int64_t rest = first + pixel, channelAt = coordinates[0] + channel;
    uint64_t address = map.globalAddress + uint64_t(channelAt) * 2;
    bool inside = channelAt >= 0 && channelAt < int64_t(map.dims[0]);
    for (unsigned i = 1; i + 1 < map.rank; ++i) {
      const int64_t along = ((rest % counts[i]) + counts[i]) % counts[i];
      rest = (rest - along) / counts[i];
      const int64_t place =
          map.im2col->lower[i - 1] + along * map.elementStrides[i] + coordinates[map.rank + i - 1];
      inside = inside && place >= 0 && place < int64_t(map.dims[i]);
      address += uint64_t(place) * map.strides[i - 1];
    }
    inside = inside && rest >= 0 && rest < int64_t(map.dims[map.rank - 1]);
    address += uint64_t(rest) * map.strides[map.rank - 2];
    uint16_t element = 0;
    if (inside)
      std::memcpy(&element, reinterpret_cast<const void *>(address), 2);
    return element;
  }
};

/// Two images of 5 x 4 pixels.
EmulatedTensorMap example() {
  EmulatedTensorMap map{.globalAddress = 4096, .element = TensorElement::bf16, .rank = 4};
  map.dims = {64, 4, 5, 2};
  map.strides = {128, 512, 2560};
  map.box = {64, 1, 1, 1};
  map.swizzle = Swizzle::bytes128;
  map.im2col = Im2colBox{.lower = {-1, -1}, .upper = {-1, -1}, .pixels = 128};
  return map;
}

std::string messageOf(const EmulatedTensorMap &map) {
  const Result<void> result = checkTensorMap(map);
  return result ? std::string() : result.error().message;
}

} // namespace

TEST_CASE("a box in im2col mode has the pixels of the bounding box, row by row and image by image") {
  Random random(7);
  for (int round = 0; round < 400; ++round) {
    const Box box(random, Swizzle(round % 4));
    const EmulatedTensorMap &map = box.map;
    CHECK(boxBytes(map) == map.im2col->pixels * map.box[0] * 2);
    std::vector<std::byte> shared(40000, std::byte(0xEE));
    constexpr uint32_t address = 1024;
    REQUIRE(checkCoordinates(map, box.coordinates, BoxUse::load));
    REQUIRE(loadBox(map, box.coordinates, shared, address));
    const uint32_t pitch = std::max<uint32_t>(map.box[0] * 2, swizzleSpanBytes(map.swizzle));
    std::vector<ByteRange> ranges;
    boxGlobalRanges(map, box.coordinates, BoxUse::load, ranges);
    uint64_t inside = 0;
    for (uint32_t pixel = 0; pixel < map.im2col->pixels; ++pixel)
      for (uint32_t channel = 0; channel < map.box[0]; ++channel) {
        uint16_t element = 0;
        std::memcpy(&element, &shared[swizzleAddress(map.swizzle, address + pixel * pitch + channel * 2)], 2);
        if (element != box.at(pixel, channel))
          FAIL("round " << round << ", pixel " << pixel << ", channel " << channel);
      }
    for (const ByteRange &range : ranges) {
      inside += range.bytes;
      CHECK(range.address >= map.globalAddress);
      CHECK(range.address + range.bytes <= uint64_t(box.storage.data()) + box.storage.size());
    }
    CHECK(inside <= boxBytes(map));
  }
}

TEST_CASE("the rules of tensor maps in im2col mode are told with names, values and limits") {
  CHECK(messageOf(example()) == "");
  EmulatedTensorMap map = example();
  map.rank = 2;
  CHECK(messageOf(map) == "tensor map: the rank must be 3 to 5 in im2col mode, but is 2");
  map = example();
  map.im2col->pixels = 1025;
  CHECK(messageOf(map) == "tensor map: the box must have 1 to 1024 pixels, but has 1025");
  map = example();
  map.box[2] = 3;
  CHECK(messageOf(map) ==
        "tensor map: in im2col mode the box must be 1 along dimension 2 (innermost is 0), but is 3");
  map = example();
  map.im2col->lower[1] = -129;
  CHECK(messageOf(map) == "tensor map: the corners of the bounding box must be -128 to 127 along dimension 2 "
                          "(innermost is 0), but are -129 and -1");
  map = example();
  map.im2col->upper[0] = -5;
  CHECK(messageOf(map) ==
        "tensor map: the bounding box must have pixels, but along dimension 1 (innermost is "
        "0) it is from -1 to -2");
}

TEST_CASE("the first tap is in the bounding box, and offsets have few bits") {
  const auto messageAt = [](std::array<int32_t, 6> at) {
    const Result<void> result = checkCoordinates(example(), at, BoxUse::load);
    return result ? std::string() : result.error().message;
  };
  CHECK(messageAt({0, -1, 3, 9, 2, 255}) == "");
  CHECK(messageAt({0, -2, 0, 0, 0, 0}) ==
        "tensor copy: the first tap must be in the bounding box, which is from -1 to 2 along dimension 1 "
        "(innermost is 0), but is at -2");
  CHECK(messageAt({0, 0, 4, 0, 0, 0}) ==
        "tensor copy: the first tap must be in the bounding box, which is from -1 to 3 along dimension 2 "
        "(innermost is 0), but is at 4");
  EmulatedTensorMap empty = example();
  empty.isEmpty = true;
  CHECK_FALSE(checkCoordinates(empty, std::array<int32_t, 6>{0, -2, 0, 0, 0, 0}, BoxUse::load));
  CHECK(messageAt({0, 0, 0, 0, 0, 256}) == "tensor copy: the offset of dimension 2 (innermost is 0) must be "
                                           "0 to 255 of a tensor of rank 4, but is "
                                           "256");
}

TEST_CASE("a planned tensor map in im2col mode is taken innermost first") {
  alignas(16) static std::byte memory[16];
  TensorMapValues values{
      .address = memory, .element = ElementType::bf16, .swizzle = Swizzle::bytes128, .rank = 4};
  values.shape = {2, 5, 4, 64};
  values.strideBytes = {2560, 512, 128, 2};
  values.box = {128, 1, 1, 64};
  values.im2col = TensorMapValues::Im2col{.lower = {-1, -2}, .upper = {-3, -4}, .stride = {1, 2}};
  EmulatedTensorMap expected = example();
  expected.globalAddress = uint64_t(memory);
  expected.im2col = Im2colBox{.lower = {-2, -1}, .upper = {-4, -3}, .pixels = 128};
  expected.elementStrides = {1, 2, 1, 1, 1};
  CHECK(tensorMapOf(values) == expected);
}
