// SPDX-License-Identifier: Apache-2.0
/// \file
/// Compiles a traced program and launches it on the emulator.
#include "test/docs/Run.h"

#include "kernels/harness/HostTensor.h"
#include "kernels/library/Compile.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/target/Target.h"
#include "test/Expect.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

using namespace tlc;
using namespace tlc::docs;
using kernels::HostTensor;
using test::expectSuccess;
using test::expectValue;

namespace {

/// Memory of the device for as long as a launch takes.
class Memory {
public:
  Memory(Device &device, size_t bytes) : device(device), start(expectValue(device.allocate(bytes))) {}
  Memory(const Memory &) = delete;
  ~Memory() { (void)device.free(start); }
  void *address() const { return start; }

private:
  Device &device;
  void *start;
};

} // namespace

Run::Run(dsl::Program traced, const Values &dimensions, std::vector<ScalarValue> scalars,
         const Indices &indices, const CompileOptions &options, const Tables &tables) {
  expectSuccess(execute(std::move(traced), dimensions, std::move(scalars), indices, options, tables));
}

Result<void> Run::execute(dsl::Program traced, const Values &dimensions, std::vector<ScalarValue> scalars,
                          const Indices &indices, const CompileOptions &options, const Tables &tables) {
  Artifact artifact = expectValue(compile(std::move(traced), options));

  std::unique_ptr<Device> device =
      createEmulatorDevice({.target = findTarget(artifact.target),
                            .multiprocessors = 3,
                            .raceCheck = RaceCheck::strict,
                            .print = [this](std::string_view text) { printed += text; }});
  program = expectValue(device->load(artifact));
  kernels::Random random(uint64_t(GENERATE(take(1, Catch::Generators::random(0, 1 << 30)))));
  std::vector<int64_t> values;
  for (const Dimension &dimension : artifact.dimensions)
    values.push_back(dimension.computed ? expectValue(evaluateExtent(*dimension.computed, values, 0))
                                        : dimensions.find(dimension.name)->second);
  std::vector<HostTensor> tensors;
  std::vector<std::unique_ptr<Memory>> memory;
  LaunchArguments launch{.scalars = std::move(scalars)};
  auto place = [&](const std::string &name, ElementType element, Access access,
                   const std::vector<int64_t> &shape, kernels::Placement placement) {
    tensors.push_back(expectValue(HostTensor::create(name, element, shape, placement)));
    HostTensor &tensor = tensors.back();
    if (access != Access::output)
      tensor.fillRandom(random, -1, 1);
    if (auto given = indices.find(name); given != indices.end())
      tensor.fill(std::vector<double>(given->second.begin(), given->second.end()));
    first[name] = {shape, tensor.values()};
    memory.push_back(std::make_unique<Memory>(*device, tensor.bytes().size()));
    expectSuccess(
        device->copyToDevice(memory.back()->address(), tensor.bytes().data(), tensor.bytes().size()));
    return tensor.view(memory.back()->address());
  };
  for (const TensorArgument &argument : artifact.tensors) {
    if (argument.access == Access::workspace)
      break;
    std::vector<int64_t> shape;
    for (const Extent &extent : argument.shape)
      shape.push_back(extent.dimension < 0 ? extent.constant : values[size_t(extent.dimension)]);
    std::vector<const void *> addresses;
    if (auto table = tables.find(argument.name); table != tables.end())
      for (const std::vector<int64_t> &ofMember : table->second.shapes)
        addresses.push_back(place(argument.name + ".of(" + std::to_string(addresses.size()) + ")",
                                  table->second.element, table->second.access, ofMember, {})
                                .data);
    launch.tensors.push_back(place(argument.name, argument.element, argument.access, shape,
                                   {.rowPadding = 8, .lastStride = argument.strided ? 3 : 1}));
    if (!addresses.empty())
      expectSuccess(device->copyToDevice(launch.tensors.back().data, addresses.data(),
                                         addresses.size() * sizeof(void *)));
  }
  for (const WorkspaceRequest &request :
       expectValue(workspaceRequests(artifact, values, device->properties()))) {
    memory.push_back(std::make_unique<Memory>(*device, request.bytes));
    std::vector<std::byte> poison(request.bytes, std::byte(0xFF));
    expectSuccess(device->copyToDevice(memory.back()->address(), poison.data(), poison.size()));
    std::vector<int64_t> strides(request.shape.size(), 1);
    for (size_t axis = strides.size() - 1; axis-- > 0;)
      strides[axis] = strides[axis + 1] * request.shape[axis + 1];
    launch.tensors.push_back({memory.back()->address(), request.element, request.shape, strides});
  }

  if (Result<void> done = device->launch(*program, launch); !done)
    return done;
  for (size_t i = 0; i < tensors.size(); ++i) {
    HostTensor &tensor = tensors[i];
    expectSuccess(device->copyToHost(tensor.bytes().data(), memory[i]->address(), tensor.bytes().size()));
    CHECK(!tensor.findStrayWrite());
    last[tensor.name()] = {tensor.shape(), tensor.values()};
  }
  return {};
}

std::string docs::compileErrors(dsl::Program program) {
  Result<Artifact> artifact = compile(std::move(program));
  return artifact ? "" : artifact.error().message;
}

std::string docs::launchErrors(dsl::Program program, const Values &dimensions) {
  Run run;
  Result<void> done = run.execute(std::move(program), dimensions, {});
  return run.printed + (done ? "" : done.error().message + "\n");
}

std::string docs::argumentErrors(dsl::Program program, const LaunchArguments &arguments) {
  Artifact artifact = expectValue(compile(std::move(program)));
  Result<LaunchPlan> plan = planLaunch(artifact, arguments, createEmulatorDevice()->properties());
  return plan ? "" : plan.error().message + "\n";
}

ScalarValue docs::number(float value) { return {ElementType::f32, std::bit_cast<uint32_t>(value)}; }

void docs::checkMatrix(const Array &actual, double relative,
                       const std::function<double(int64_t, int64_t)> &expected) {
  for (int64_t i = 0; i < actual.shape[0]; ++i)
    for (int64_t j = 0; j < actual.shape[1]; ++j) {
      double wanted = expected(i, j);
      if (actual(i, j) != wanted && !(std::abs(actual(i, j) - wanted) <= relative * (1 + std::abs(wanted))))
        FAIL("[" << i << ", " << j << "]: expected " << wanted << ", but got " << actual(i, j));
    }
}

void docs::checkVector(const Array &actual, double relative, const std::function<double(int64_t)> &expected) {
  Array matrix{{1, actual.shape[0]}, actual.values};
  checkMatrix(matrix, relative, [&](int64_t, int64_t j) { return expected(j); });
}
