// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs traced programs on the device of the executable.
#include "test/programs/ProgramRun.h"

#include "kernels/harness/DeviceArguments.h"
#include "kernels/harness/ElementBits.h"
#include "kernels/library/Compile.h"
#include "runtime/device/LaunchPlan.h"
#include "test/Expect.h"
#include "test/programs/FormsRecord.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
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

Memory Memory::table(std::vector<Memory *> members) {
  const auto count = int64_t(members.size());
  return {ElementType::i64, {count}, {1}, {}, std::move(members)};
}

double &Memory::at(std::span<const int64_t> position) {
  return values[size_t(std::inner_product(position.begin(), position.end(), strides.begin(), int64_t(0)))];
}

Artifact test::compiled(dsl::Program program, const CompileOptions &options) {
  static kernels::ArtifactCache programs;
  return *expectValue(compile(std::move(program), options, programs));
}

namespace {
/// Tensors in the memory of a device, each once.
class Places {
public:
  explicit Places(Device &device) : device(device) {}

  TensorView of(Memory &tensor) {
    if (!tensor.members.empty())
      return tableOf(tensor);
    return {placeOf(tensor), tensor.element, tensor.shape, tensor.strides};
  }

  void copyBack() {
    for (const auto &[tensor, place] : places) {
      std::vector<std::byte> bytes(bytesIn(*tensor));
      expectSuccess(device.copyToHost(bytes.data(), place.address(), bytes.size()));
      for (size_t i = 0; i < tensor->values.size(); ++i)
        tensor->values[i] = kernels::loadElement(tensor->element, bytes.data(), int64_t(i));
    }
  }

  void *holding(std::span<const std::byte> bytes) {
    others.push_back(expectValue(kernels::DeviceMemory::allocate(device, bytes.size())));
    expectSuccess(device.copyToDevice(others.back().address(), bytes.data(), bytes.size()));
    return others.back().address();
  }

private:
  static size_t bytesIn(const Memory &tensor) {
    return size_t(bytesOf(tensor.element, int64_t(tensor.values.size())));
  }

  TensorView tableOf(const Memory &table) {
    std::vector<void *> addresses;
    for (Memory *member : table.members)
      addresses.push_back(member ? placeOf(*member) : nullptr);
    return {holding(std::as_bytes(std::span(addresses))), table.element, table.shape, table.strides};
  }

  void *placeOf(Memory &tensor) {
    if (auto known = places.find(&tensor); known != places.end())
      return known->second.address();
    std::vector<std::byte> bytes(bytesIn(tensor));
    for (size_t i = 0; i < tensor.values.size(); ++i)
      kernels::storeElement(tensor.element, bytes.data(), tensor.values[i], int64_t(i));
    kernels::DeviceMemory place = expectValue(kernels::DeviceMemory::allocate(device, bytes.size()));
    expectSuccess(device.copyToDevice(place.address(), bytes.data(), bytes.size()));
    return places.emplace(&tensor, std::move(place)).first->second.address();
  }

  Device &device;
  std::map<Memory *, kernels::DeviceMemory> places;
  std::vector<kernels::DeviceMemory> others;
};
} // namespace

Result<void> test::tryRun(const Artifact &artifact, const std::vector<Memory *> &tensors,
                          int multiprocessors) {
  std::unique_ptr<Device> device = openDevice(artifact.target, multiprocessors);
  std::shared_ptr<const LoadedProgram> program = expectValue(device->load(artifact));
  Places places(*device);
  LaunchArguments arguments;
  for (Memory *tensor : tensors)
    arguments.tensors.push_back(places.of(*tensor));
  auto isWorkspace = [](const TensorArgument &tensor) { return tensor.access == Access::workspace; };
  if (tensors.size() ==
      size_t(std::ranges::find_if(artifact.tensors, isWorkspace) - artifact.tensors.begin()))
    for (const WorkspaceRequest &request : expectValue(workspaceRequests(
             artifact, expectValue(bindDimensions(artifact, arguments.tensors)), device->properties())))
      arguments.tensors.push_back(
          request.view(places.holding(std::vector<std::byte>(request.bytes, std::byte(0xFF)))));
  for (size_t i = 0; i < arguments.tensors.size(); ++i)
    if (artifact.tensors[i].symmetric) // of one rank
      arguments.tensors[i].ofRanks = {arguments.tensors[i].data};
  if (Result<void> done = device->launch(*program, arguments); !done)
    return done;
  places.copyBack();
  noteForms(*device, artifact.variants[chooseVariant(artifact, arguments.tensors)].ptx);
  return {};
}

void test::run(const Artifact &artifact, const std::vector<Memory *> &tensors, int multiprocessors) {
  expectSuccess(tryRun(artifact, tensors, multiprocessors));
}

bool test::hasLimitedMap(const Artifact &artifact) {
  return std::ranges::any_of(artifact.variants.front().launches, [](const Launch &launch) {
    return std::ranges::any_of(launch.tensorMaps,
                               [](const TensorMapRecipe &map) { return map.limitedAxis >= 0; });
  });
}
