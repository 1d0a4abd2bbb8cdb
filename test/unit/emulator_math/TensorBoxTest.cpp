// SPDX-License-Identifier: Apache-2.0
/// \file
/// Box copies against an element-by-element model: random ranks, boxes and
/// coordinates (negative and beyond the end), every swizzle and element size.
#include "runtime/emulator/math/TensorMap.h"
#include "test/unit/emulator_math/Support.h"

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;

namespace {

/// A random map over its own memory, and one box in it. Global memory is
/// random, so that an element taken from a wrong place shows.
struct Box {
  EmulatedTensorMap map;
  std::vector<std::byte> storage;
  std::byte *global = nullptr;
  size_t globalBytes = 0;
  std::array<int32_t, 5> coordinates = {};
  uint32_t address = 0;

  Box(Random &random, Swizzle swizzle, TensorElement element) {
    const unsigned size = sizeInBytes(element);
    map.element = element;
    map.swizzle = swizzle;
    map.rank = unsigned(random.integer(1, 5));
    uint64_t stride = 0;
    for (unsigned i = 0; i < map.rank; ++i) {
      map.dims[i] = uint64_t(random.integer(1, i == 0 ? 80 : 6));
      map.box[i] = uint32_t(random.integer(1, 5));
      if (i > 0) {
        map.strides[i - 1] = stride;
        map.elementStrides[i] = uint32_t(random.integer(1, 3));
        stride *= map.dims[i];
      } else {
        stride = (map.dims[0] * size + 15) / 16 * 16 + 16 * uint64_t(random.integer(0, 1));
      }
    }
    const uint32_t units = swizzle == Swizzle::none ? 16 : 1u << unsigned(swizzle);
    map.box[0] = 16 / size * uint32_t(random.integer(1, units));
    for (unsigned i = 0; i < map.rank; ++i)
      coordinates[i] = int32_t(random.integer(-int64_t(map.box[i]) - 1, int64_t(map.dims[i]) + 1));
    coordinates[0] = coordinates[0] / int32_t(16 / size) * int32_t(16 / size);
    globalBytes = stride;
    storage.resize(globalBytes + 16);
    for (std::byte &byte : storage)
      byte = std::byte(random.bits());
    global = storage.data() + (16 - uint64_t(storage.data()) % 16) % 16;
    map.globalAddress = uint64_t(global);
    address = 128 * uint32_t(random.integer(0, 16));
    REQUIRE(checkTensorMap(map));
  }

  /// visit(shared byte address, global byte offset or -1) for each element.
  template <class Visit> void visit(BoxUse use, Visit visit) const {
    const unsigned size = sizeInBytes(map.element);
    std::array<uint64_t, 5> dims = map.dims;
    if (use == BoxUse::store) // whole units of 16 bytes
      dims[0] = (dims[0] * size + 15) / 16 * 16 / size;
    const unsigned pitch = map.swizzle == Swizzle::none ? map.box[0] * size : 16u << unsigned(map.swizzle);
    std::array<uint32_t, 5> count = {1, 1, 1, 1, 1};
    for (unsigned i = 0; i < map.rank; ++i)
      for (count[i] = 0; (i == 0 ? count[i] : count[i] * map.elementStrides[i]) < map.box[i];)
        ++count[i];
    std::array<uint32_t, 5> at;
    uint32_t row = 0;
    for (at[4] = 0; at[4] < count[4]; ++at[4])
      for (at[3] = 0; at[3] < count[3]; ++at[3])
        for (at[2] = 0; at[2] < count[2]; ++at[2])
          for (at[1] = 0; at[1] < count[1]; ++at[1], ++row)
            for (at[0] = 0; at[0] < count[0]; ++at[0]) {
              int64_t offset = 0;
              for (unsigned i = 0; i < map.rank; ++i) {
                const int64_t c = coordinates[i] + int64_t(at[i]) * (i == 0 ? 1 : map.elementStrides[i]);
                if (c < 0 || c >= int64_t(dims[i]) || offset < 0)
                  offset = -1;
                else
                  offset += c * int64_t(i == 0 ? size : map.strides[i - 1]);
              }
              visit(swizzledByTable(map.swizzle, address + row * pitch + at[0] * size), offset);
            }
  }
};

constexpr size_t sharedBytes = 256 * 1024;

/// Runs `check` on many random boxes of every swizzle and element.
template <class Check> void forRandomBoxes(Check check) {
  Random random;
  INFO("seed " << random.seed);
  for (Swizzle swizzle : {Swizzle::none, Swizzle::bytes32, Swizzle::bytes64, Swizzle::bytes128})
    for (TensorElement element :
         {TensorElement::u8, TensorElement::bf16, TensorElement::f32, TensorElement::s64})
      for (int i = 0; i < 40; ++i) {
        const Box box(random, swizzle, element);
        INFO("swizzle " << int(swizzle) << ", " << toString(element) << ", rank " << box.map.rank);
        check(box, random);
      }
}

} // namespace

TEST_CASE("a box is loaded with zeros outside, swizzled, and nothing else is written") {
  unsigned inside = 0, outside = 0;
  forRandomBoxes([&](const Box &box, Random &) {
    const unsigned size = sizeInBytes(box.map.element);
    std::vector<std::byte> shared(sharedBytes, std::byte(0xCD)), expected = shared;
    std::set<uint64_t> written, read;
    uint64_t bytes = 0;
    box.visit(BoxUse::load, [&](uint32_t to, int64_t from) {
      for (unsigned i = 0; i < size; ++i) {
        expected[to + i] = from < 0 ? std::byte(0) : box.global[from + i];
        written.insert(to + i);
        if (from >= 0)
          read.insert(uint64_t(box.global) + uint64_t(from) + i);
      }
      bytes += size;
      ++(from < 0 ? outside : inside);
    });
    REQUIRE(loadBox(box.map, box.coordinates, shared, box.address));
    CHECK((shared == expected));
    CHECK(boxBytes(box.map) == bytes);
    std::vector<ByteRange> ranges;
    boxSharedRanges(box.map, box.address, ranges);
    CHECK((bytesIn(ranges) == written));
    ranges.clear();
    boxGlobalRanges(box.map, box.coordinates, BoxUse::load, ranges);
    CHECK((bytesIn(ranges) == read));
  });
  CHECK(inside > 1000);
  CHECK(outside > 1000);
}

TEST_CASE("a box is stored where it lies inside the tensor and nowhere else") {
  forRandomBoxes([&](const Box &box, Random &random) {
    const unsigned size = sizeInBytes(box.map.element);
    std::vector<std::byte> shared(sharedBytes);
    for (std::byte &byte : shared)
      byte = std::byte(random.bits());
    std::vector<std::byte> expected(box.global, box.global + box.globalBytes);
    box.visit(BoxUse::store, [&](uint32_t from, int64_t to) {
      if (to >= 0)
        std::memcpy(&expected[size_t(to)], &shared[from], size);
    });
    REQUIRE(storeBox(box.map, box.coordinates, shared, box.address));
    CHECK(std::equal(expected.begin(), expected.end(), box.global));
  });
}

TEST_CASE("a box is added to the part of the tensor it covers") {
  Random random;
  INFO("seed " << random.seed);
  for (Swizzle swizzle : {Swizzle::none, Swizzle::bytes32, Swizzle::bytes64, Swizzle::bytes128})
    for (int i = 0; i < 40; ++i) {
      const Box box(random, swizzle, TensorElement::s32);
      std::vector<std::byte> shared(sharedBytes);
      for (std::byte &byte : shared)
        byte = std::byte(random.bits());
      std::vector<std::byte> expected(box.global, box.global + box.globalBytes);
      box.visit(BoxUse::store, [&](uint32_t from, int64_t to) {
        if (to < 0)
          return;
        uint32_t a, b;
        std::memcpy(&a, &expected[size_t(to)], 4);
        std::memcpy(&b, &shared[from], 4);
        a += b;
        std::memcpy(&expected[size_t(to)], &a, 4);
      });
      REQUIRE(reduceBox(box.map, Reduction::add, box.coordinates, shared, box.address));
      CHECK(std::equal(expected.begin(), expected.end(), box.global));
    }
}

TEST_CASE("NaN fill writes the hardware's NaN") {
  alignas(16) const uint16_t global[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  EmulatedTensorMap map{.globalAddress = uint64_t(global), .element = TensorElement::f16, .rank = 1};
  map.dims = {5};
  map.box = {16};
  map.fill = OutOfBoundsFill::nan;
  std::vector<std::byte> shared(128);
  const int32_t coordinates[] = {-8};
  REQUIRE(loadBox(map, coordinates, shared, 0));
  const uint16_t nan = 0x7FF7,
                 expected[16] = {nan, nan, nan, nan, nan, nan, nan, nan, 1, 2, 3, 4, 5, nan, nan, nan};
  CHECK(std::memcmp(shared.data(), expected, 32) == 0);
}

TEST_CASE("coordinates that the hardware refuses are named") {
  EmulatedTensorMap map{.element = TensorElement::f16, .rank = 2};
  const auto failure = [&](std::array<int32_t, 2> coordinates, BoxUse use) {
    Result<void> valid = checkCoordinates(map, coordinates, use);
    return valid ? "" : valid.error().message;
  };
  CHECK(failure({-8, -3}, BoxUse::load) == "");
  CHECK(failure({8, 3}, BoxUse::store) == "");
  CHECK(failure({5, 0}, BoxUse::load) ==
        "tensor copy: the innermost coordinate must stand for a multiple of 16 "
        "bytes, but 5 elements of f16 are 10");
  CHECK(failure({0, -3}, BoxUse::store) ==
        "tensor copy: the coordinates of a store must not be negative, but that "
        "of dimension 1 (innermost is 0) is -3");
}

TEST_CASE("a 128-byte swizzle follows the shared address, not the box") {
  alignas(16) uint8_t global[256];
  for (unsigned i = 0; i < 256; ++i)
    global[i] = uint8_t(i);
  EmulatedTensorMap map{.globalAddress = uint64_t(global), .element = TensorElement::u8, .rank = 2};
  map.dims = {128, 2};
  map.strides = {128};
  map.box = {128, 2};
  map.swizzle = Swizzle::bytes128;
  std::vector<std::byte> shared(2048, std::byte(0xCD));
  const int32_t origin[] = {0, 0};
  REQUIRE(loadBox(map, origin, shared, 3 * 128)); // lines 3 and 4 of the pattern
  CHECK(shared[3 * 128] == std::byte(0x30));
  CHECK(shared[3 * 128 + 0x30] == std::byte(0));
  CHECK(shared[4 * 128] == std::byte(128 + 0x40));
}

TEST_CASE("a box that does not fit in shared memory is refused untouched") {
  Random random;
  Box box(random, Swizzle::none, TensorElement::u8);
  box.map.rank = 1;
  box.map.box[0] = 64;
  std::vector<std::byte> shared(256, std::byte(0xCD)), before = shared;
  Result<void> result = loadBox(box.map, box.coordinates, shared, 64);
  REQUIRE_FALSE(result);
  CHECK(result.error().message == "tensor copy: the shared address must be a multiple of 128, but is 0x40");
  result = loadBox(box.map, box.coordinates, shared, 256);
  REQUIRE_FALSE(result);
  CHECK(result.error().message ==
        "tensor copy: the box of 64 bytes at shared address 0x100 ends beyond the block's "
        "256 bytes of shared memory");
  CHECK((shared == before));
  CHECK_FALSE(storeBox(box.map, box.coordinates, shared, 256));
  CHECK_FALSE(reduceBox(box.map, Reduction::add, box.coordinates, shared, 0)); // u8
}
