// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs traced programs on the device of the executable.
#include "test/programs/ProgramRun.h"

#include "kernels/harness/DeviceArguments.h"
#include "kernels/harness/ElementBits.h"
#include "kernels/library/Compile.h"
#include "runtime/device/LaunchPlan.h"
#include "test/Expect.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

using namespace tlc;
using namespace tlc::test;

Memory Memory::filled(ElementType element, std::vector<int64_t> shape, double value, int64_t padding) {
  Memory memory{element, std::move(shape), {}, {}};
  int64_t stride = 1;
  for (size_t axis = memory.shape.size(); axis-- > 0;) {
    memory.strides.insert(memory.strides.begin(), stride);
    stride *= memory.shape[axis];
    if (axis + 1 == memory.shape.size())
      stride += padding;
  }
  memory.values.assign(size_t(stride), value);
  return memory;
}

double &Memory::at(std::span<const int64_t> position) {
  return values[size_t(std::inner_product(position.begin(), position.end(), strides.begin(), int64_t(0)))];
}

Artifact test::compiled(dsl::Program program, const CompileOptions &options) {
  static kernels::ArtifactCache programs;
  return *expectValue(compile(std::move(program), options, programs));
}

void test::run(const Artifact &artifact, const std::vector<Memory *> &tensors, int multiprocessors) {
  std::unique_ptr<Device> device = openDevice(artifact.target, multiprocessors);
  std::shared_ptr<const LoadedProgram> program = expectValue(device->load(artifact));
  std::vector<kernels::DeviceMemory> places;
  LaunchArguments arguments;
  for (const Memory *tensor : tensors) {
    std::vector<std::byte> bytes(size_t(bytesOf(tensor->element, int64_t(tensor->values.size()))));
    for (size_t i = 0; i < tensor->values.size(); ++i)
      kernels::storeElement(tensor->element, bytes.data(), tensor->values[i], int64_t(i));
    places.push_back(expectValue(kernels::DeviceMemory::allocate(*device, bytes.size())));
    expectSuccess(device->copyToDevice(places.back().address(), bytes.data(), bytes.size()));
    arguments.tensors.push_back({places.back().address(), tensor->element, tensor->shape, tensor->strides});
  }
  auto isWorkspace = [](const TensorArgument &tensor) { return tensor.access == Access::workspace; };
  if (tensors.size() ==
      size_t(std::ranges::find_if(artifact.tensors, isWorkspace) - artifact.tensors.begin()))
    for (const WorkspaceRequest &request : expectValue(workspaceRequests(
             artifact, expectValue(bindDimensions(artifact, arguments.tensors)), device->properties()))) {
      const std::vector<std::byte> poison(request.bytes, std::byte(0xFF));
      places.push_back(expectValue(kernels::DeviceMemory::allocate(*device, poison.size())));
      expectSuccess(device->copyToDevice(places.back().address(), poison.data(), poison.size()));
      arguments.tensors.push_back(request.view(places.back().address()));
    }
  expectSuccess(device->launch(*program, arguments));
  for (size_t number = 0; number < tensors.size(); ++number) {
    Memory &tensor = *tensors[number];
    std::vector<std::byte> bytes(size_t(bytesOf(tensor.element, int64_t(tensor.values.size()))));
    expectSuccess(device->copyToHost(bytes.data(), places[number].address(), bytes.size()));
    for (size_t i = 0; i < tensor.values.size(); ++i)
      tensor.values[i] = kernels::loadElement(tensor.element, bytes.data(), int64_t(i));
  }
}

bool test::hasLimitedMap(const Artifact &artifact) {
  return std::ranges::any_of(artifact.variants.front().launches, [](const Launch &launch) {
    return std::ranges::any_of(launch.tensorMaps,
                               [](const TensorMapRecipe &map) { return map.limitedAxis >= 0; });
  });
}
