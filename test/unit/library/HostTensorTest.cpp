// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensors that notice what was written and what was not.
#include "kernels/harness/HostTensor.h"

#include "kernels/harness/ElementBits.h"

#include <catch2/catch.hpp>
#include <random>

using namespace tlc;
using namespace tlc::kernels;

namespace {

HostTensor makeTensor(std::vector<int64_t> shape, Placement placement = {}) {
  Result<HostTensor> tensor = HostTensor::create("C", ElementType::f32, std::move(shape), placement);
  REQUIRE(tensor);
  return std::move(*tensor);
}

} // namespace

TEST_CASE("a view has the strides and the offset of its placement", "[library][tensor]") {
  HostTensor tensor = makeTensor({4, 6}, {.rowPadding = 2, .offset = 3});
  std::byte memory[1];
  TensorView view = tensor.view(memory);
  CHECK(view.data == memory + 3 * sizeof(float));
  CHECK(view.strides == std::vector<int64_t>{8, 1});
  CHECK(view.shape == std::vector<int64_t>{4, 6});
}

TEST_CASE("elements of a row may lie apart", "[library][tensor]") {
  HostTensor tensor = makeTensor({4, 6}, {.rowPadding = 1, .offset = 2, .lastStride = 3});
  CHECK(tensor.strides() == std::vector<int64_t>{19, 3});
  Random random(Catch::rngSeed());
  tensor.fillRandom(random, 1, 2);
  CHECK_FALSE(tensor.findUnwritten());
  CHECK_FALSE(tensor.findStrayWrite());
  CHECK(tensor.values()[7] == loadElement(ElementType::f32, tensor.bytes().data(), 2 + 19 + 3));
  storeElement(ElementType::f32, tensor.bytes().data(), 1.0, 2 + 19 + 4);
  CHECK(tensor.findStrayWrite().value() ==
        "'C' of shape [4, 6] and strides [19, 3] was written outside, 23 elements from its first one");
}

TEST_CASE("random values fill the elements, within bounds, and nothing else", "[library][tensor]") {
  HostTensor tensor = makeTensor({16, 5}, {.rowPadding = 3, .offset = 1});
  Random random(Catch::rngSeed());
  tensor.fillRandom(random, -2, 3);
  double lowest = 3, highest = -2;
  for (double value : tensor.values()) {
    CHECK(value >= -2);
    CHECK(value <= 3);
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
  }
  CHECK(lowest < 0);
  CHECK(highest > 1);
  CHECK_FALSE(tensor.findStrayWrite());
  CHECK_FALSE(tensor.findUnwritten());
}

TEST_CASE("an element that was not written is found", "[library][tensor]") {
  HostTensor tensor = makeTensor({3, 4}, {.rowPadding = 1});
  for (int64_t row = 0; row != 3; ++row)
    for (int64_t column = 0; column != 4; ++column)
      if (row != 2 || column != 1)
        storeElement(ElementType::f32, &tensor.bytes()[(row * 5 + column) * 4], 1.0);
  CHECK(tensor.findUnwritten().value() == "element [2, 1] of 'C' was never written (1 of 12 elements)");
}

TEST_CASE("where the poison is a number, it may have been written", "[library][tensor]") {
  for (ElementType type : {ElementType::i32, ElementType::e2m1}) {
    Result<HostTensor> tensor = HostTensor::create("C", type, {2, 4}, {});
    REQUIRE(tensor);
    CHECK_FALSE(tensor->findUnwritten());
    CHECK(tensor->findPoison(6, [](int64_t number) { return number == 1; }) ==
          std::vector<int64_t>{0, 2, 3, 4, 5, 6});
  }
}

TEST_CASE("a write between rows or beyond the last one is found", "[library][tensor]") {
  HostTensor between = makeTensor({3, 4}, {.rowPadding = 1});
  between.bytes()[4 * 4] = std::byte{0};
  CHECK(between.findStrayWrite().value() ==
        "'C' of shape [3, 4] and strides [5, 1] was written outside, 4 elements from its first one");
  HostTensor beyond = makeTensor({2, 2});
  beyond.bytes()[4 * 4] = std::byte{0};
  CHECK(beyond.findStrayWrite().value() ==
        "'C' of shape [2, 2] and strides [2, 1] was written outside, 4 elements from its first one");
}

TEST_CASE("elements that share a byte begin with one", "[library][tensor]") {
  CHECK(HostTensor::create("C", ElementType::i4, {2, 4}, {.offset = 2}));
  Result<HostTensor> tensor = HostTensor::create("C", ElementType::i4, {2, 4}, {.offset = 1});
  REQUIRE(!tensor);
  CHECK(tensor.error().message ==
        "expected an offset that is a multiple of 2 because 'C' has that many i4 in a byte, but got 1");
}

TEST_CASE("a tensor without elements is fine", "[library][tensor]") {
  HostTensor tensor = makeTensor({0, 7});
  CHECK(tensor.elementCount() == 0);
  CHECK(tensor.values().empty());
  CHECK_FALSE(tensor.findUnwritten());
  CHECK_FALSE(tensor.findStrayWrite());
  CHECK(MemoryCheck({}).add("A", ElementType::bf16, std::vector<int64_t>{2147483647, 0}));
}

TEST_CASE("tensors that are larger than memory together are an error", "[library][tensor]") {
  const std::vector<int64_t> shape = {1 << 20, 8};
  MemoryCheck memory({.ofByte = 1, .ofElement = int64_t(1) << 25}); // 256 TiB each
  Result<void> one = memory.add("A", ElementType::bf16, shape);
  REQUIRE_FALSE(one);
  CHECK_THAT(one.error().message,
             Catch::Contains("but 'A' has the shape [1048576, 8] of bf16; choose sizes with at most "));
  MemoryCheck few({.ofByte = 1 << 10, .ofElement = 0}); // 16 GiB each
  Result<void> last;
  for (int tensor = 0; tensor != 1 << 20 && last; ++tensor)
    last = few.add("B", ElementType::bf16, shape);
  REQUIRE_FALSE(last);
  CHECK(last.error().kind == ErrorKind::environment);
}

TEST_CASE("the elements that fit into memory follow from what each needs", "[library][tensor]") {
  const std::vector<int64_t> tooMany = {int64_t(1) << 50};
  const auto most = [&](ElementType element, MemoryNeed need) {
    Result<void> checked = MemoryCheck(need).add("A", element, tooMany);
    REQUIRE_FALSE(checked);
    const std::string text = checked.error().message;
    const size_t begin = text.find("at most ") + 8;
    return std::stoll(text.substr(begin));
  };
  const int64_t elements = most(ElementType::f32, {.ofByte = 1, .ofElement = 0});
  CHECK(most(ElementType::bf16, {.ofByte = 1, .ofElement = 0}) == 2 * elements);
  CHECK(most(ElementType::f32, {.ofByte = 2, .ofElement = 8}) == elements / 4);
  CHECK(MemoryCheck({}).add("A", ElementType::i8, std::vector<int64_t>{elements}));
  const int64_t few = most(ElementType::i8, {.ofByte = 1, .always = int64_t(64) << 20});
  CHECK(most(ElementType::i8, {.ofByte = 1}) - few == int64_t(64) << 20);
  Result<void> output =
      MemoryCheck({.ofByte = 1, .ofOutputElement = 3}).add("A", ElementType::i8, tooMany, {}, Access::output);
  REQUIRE_FALSE(output);
  CHECK_THAT(output.error().message,
             Catch::Contains("at most " + std::to_string(most(ElementType::i8, {.ofByte = 1}) / 4)));
}

TEST_CASE("a tensor that is larger than memory is an error", "[library][tensor]") {
  Result<HostTensor> tensor = HostTensor::create("A", ElementType::bf16, {2147483647, 2147483647});
  REQUIRE_FALSE(tensor);
  CHECK(tensor.error().kind == ErrorKind::environment);
  CHECK_THAT(tensor.error().message,
             Catch::Contains("expected tensors that fit into this machine's memory") &&
                 Catch::Contains("'A' has the shape [2147483647, 2147483647] of bf16"));
}
