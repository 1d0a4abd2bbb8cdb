// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensors of the host on an emulated device: their elements alone are copied.
#include "runtime/aot/Mirror.h"

#include "runtime/device/LaunchPlan.h"
#include "runtime/emulator/EmulatorDevice.h"

#include <array>
#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::aot;

namespace {

const Artifact artifact = {.name = "k",
                           .target = "sm_90a",
                           .tensors = {{.name = "X", .element = ElementType::i32, .access = Access::inout}}};

/// Writes `value` where the emulator has element `index`.
void write(Device &device, const TensorView &tensor, size_t index, int value) {
  CHECK(device.copyToDevice(static_cast<int *>(tensor.data) + index, &value, sizeof(value)));
}

} // namespace

TEST_CASE("calls on the halves of a matrix leave each other's alone", "[aot][unit]") {
  const std::shared_ptr<Device> device = createEmulatorDevice(EmulatorOptions());
  std::array<int, 8> matrix = {1, 2, 3, 4, 5, 6, 7, 8}; // 2 x 4
  TensorView left = {matrix.data(), ElementType::i32, {2, 2}, {4, 1}};
  TensorView right = {matrix.data() + 2, ElementType::i32, {2, 2}, {4, 1}};
  Mirror one(*device), other(*device);
  REQUIRE(one.copyIn(artifact, {&left, 1}));
  REQUIRE(other.copyIn(artifact, {&right, 1}));
  write(*device, left, 1, 20);
  write(*device, left, 4, 50);
  write(*device, right, 0, 30);
  write(*device, right, 5, 80);
  REQUIRE(one.copyOut());
  CHECK(matrix == std::array{1, 20, 3, 4, 50, 6, 7, 8});
  REQUIRE(other.copyOut());
  CHECK(matrix == std::array{1, 20, 30, 4, 50, 6, 7, 80});
}

TEST_CASE("elements with strides on every axis are copied", "[aot][unit]") {
  const std::shared_ptr<Device> device = createEmulatorDevice(EmulatorOptions());
  std::array<int, 12> memory = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  TensorView tensor = {memory.data(), ElementType::i32, {2, 1, 3}, {6, 0, 2}};
  Mirror mirror(*device);
  REQUIRE(mirror.copyIn(artifact, {&tensor, 1}));
  for (size_t index : {0, 2, 4, 6, 8, 10}) {
    int value = -1;
    REQUIRE(device->copyToHost(&value, static_cast<int *>(tensor.data) + index, sizeof(value)));
    CHECK(value == int(index));
    write(*device, tensor, index, int(100 + index));
  }
  memory[1] = -1;
  REQUIRE(mirror.copyOut());
  CHECK(memory == std::array{100, -1, 102, 3, 104, 5, 106, 7, 108, 9, 110, 11});
}
