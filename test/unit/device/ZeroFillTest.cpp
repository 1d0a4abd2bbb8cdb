// SPDX-License-Identifier: Apache-2.0
/// \file
/// Zero fills cover exactly the elements of a tensor, whatever its strides.
#include "runtime/device/TensorGeometry.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <random>

using namespace tlc;

namespace {

/// Applies the fills to memory full of ones and returns which elements are clear.
std::vector<bool> clearedBy(const TensorView &tensor, std::vector<std::byte> &memory) {
  std::vector<ZeroFill> fills;
  appendZeroFills(tensor, fills);
  for (const ZeroFill &fill : fills) {
    for (size_t row = 0; row < fill.rows; ++row)
      std::memset(static_cast<std::byte *>(fill.address) + row * fill.pitchBytes, 0, fill.rowBytes);
  }
  const size_t elementBytes = sizeInBytes(tensor.element);
  std::vector<bool> cleared;
  for (size_t i = 0; i < memory.size(); i += elementBytes)
    cleared.push_back(memory[i] == std::byte(0));
  return cleared;
}

std::vector<bool> elementsOf(const TensorView &tensor, size_t count) {
  std::vector<bool> elements(count, false);
  std::vector<int64_t> index(tensor.shape.size(), 0);
  if (isEmpty(tensor))
    return elements;
  while (true) {
    elements[std::inner_product(index.begin(), index.end(), tensor.strides.begin(), int64_t(0))] = true;
    size_t axis = index.size();
    while (axis > 0 && ++index[axis - 1] == tensor.shape[axis - 1])
      index[--axis] = 0;
    if (axis == 0)
      return elements;
  }
}

} // namespace

TEST_CASE("zero fills clear the elements of strided tensors and nothing between", "[device][zerofill]") {
  std::mt19937_64 random(Catch::rngSeed());
  for (int i = 0; i < 300; ++i) {
    size_t rank = random() % 5;
    std::vector<int64_t> shape(rank), strides(rank);
    for (int64_t &extent : shape)
      extent = random() % 12 == 0 ? 0 : random() % 4 + 1;
    // Outer axes in random order, each with random padding.
    std::vector<size_t> order(rank);
    std::iota(order.rbegin(), order.rend(), size_t(0));
    if (rank > 1)
      std::shuffle(order.begin() + 1, order.end(), random);
    int64_t reach = 1;
    for (size_t axis : order) {
      strides[axis] = axis + 1 == rank ? 1 : reach + (random() % 2 ? random() % 5 : 0);
      reach = strides[axis] * std::max<int64_t>(shape[axis], 1);
    }
    std::vector<std::byte> memory((reach + 8) * 2, std::byte(0xff));
    TensorView tensor = {memory.data(), ElementType::f16, shape, strides};
    CHECK(clearedBy(tensor, memory) == elementsOf(tensor, reach + 8));
  }
}

TEST_CASE("contiguous and row-strided tensors take a single fill", "[device][zerofill]") {
  auto fillsOf = [](std::vector<int64_t> shape, std::vector<int64_t> strides) {
    std::vector<ZeroFill> fills;
    appendZeroFills({reinterpret_cast<void *>(4096), ElementType::f32, shape, strides}, fills);
    return fills;
  };
  auto contiguous = fillsOf({3, 4, 5}, {20, 5, 1});
  REQUIRE(contiguous.size() == 1);
  CHECK(contiguous[0].rowBytes == 240);
  CHECK(contiguous[0].rows == 1);
  auto rows = fillsOf({3, 4, 5}, {32, 8, 1});
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].rowBytes == 20);
  CHECK(rows[0].rows == 12);
  CHECK(rows[0].pitchBytes == 32);
  auto permuted = fillsOf({3, 1000, 5}, {5, 15, 1});
  REQUIRE(permuted.size() == 1);
  CHECK(permuted[0].rowBytes == 60000);
  CHECK(fillsOf({3, 0}, {8, 1}).empty());
}

TEST_CASE("a tensor in too many pieces takes no fills but says so", "[device][zerofill]") {
  std::vector<ZeroFill> fills;
  TensorView tensor = {reinterpret_cast<void *>(4096), ElementType::f32, {1025, 2, 4}, {32, 10, 1}};
  CHECK(appendZeroFills(tensor, fills) > maxZeroFills);
  CHECK(fills.empty());
  tensor.shape[0] = 1024;
  CHECK(appendZeroFills(tensor, fills) == 1024);
  CHECK(fills.size() == 1024);
}
