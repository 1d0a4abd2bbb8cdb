// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/LoadAndRun.h"

#include "runtime/emulator/check/ObserveRaces.h"
#include "runtime/emulator/exec/launch/Grid.h"
#include "runtime/emulator/math/TensorMap.h"
#include "runtime/target/CodeTarget.h"

#include <cstring>

namespace tlc::emulator::fuzz {

namespace {

/// More of an entry takes its time without being another case.
constexpr uint32_t mostRegisterBytes = 1 << 20, mostLocalBytes = 1 << 16, mostThreads = 256;
constexpr uint64_t mostSteps = 2000;

struct alignas(256) Buffer {
  std::byte bytes[8192];
};

/// Addresses, tensor maps or small numbers, by the size of the parameter.
std::vector<std::byte> parametersFor(const Kernel &kernel, const Buffer &buffer) {
  std::vector<std::byte> parameters(kernel.parameterBytes);
  const uint64_t address = reinterpret_cast<uint64_t>(&buffer);
  EmulatedTensorMap map;
  map.globalAddress = address;
  map.element = TensorElement::bf16;
  map.rank = 2;
  map.dims = {64, 64};
  map.strides = {128};
  map.box = {64, 16};
  map.swizzle = Swizzle::bytes128;
  for (size_t i = 0; i < kernel.parameterOffsets.size(); ++i) {
    std::byte *at = parameters.data() + kernel.parameterOffsets[i];
    const uint64_t bytes = kernel.function->parameters[i].bytes;
    if (bytes == EmulatedTensorMap::encodedBytes)
      std::memcpy(at, encodeTensorMap(map).data(), bytes);
    else if (bytes == sizeof(address))
      std::memcpy(at, &address, bytes);
    else if (bytes != 0)
      *at = std::byte(5);
  }
  return parameters;
}

void launch(const Program &program, const Kernel &kernel, const Target &target) {
  const Function &function = *kernel.function;
  LaunchConfiguration configuration;
  configuration.entry = kernel.name;
  configuration.block = function.requiredThreads.value_or(std::array{64u, 1u, 1u});
  configuration.grid = function.requiredCluster.value_or(std::array{2u, 1u, 1u});
  configuration.dynamicSharedBytes = 4096;
  if (kernel.registerBytes > mostRegisterBytes || kernel.localBytes > mostLocalBytes)
    return;
  for (const auto &extents : {configuration.block, configuration.grid})
    if (extents[0] > mostThreads || uint64_t(extents[0]) * extents[1] * extents[2] > mostThreads)
      return;
  const auto buffer = std::make_unique<Buffer>();
  std::vector<MemoryRange> ranges = program.ranges;
  ranges.push_back({reinterpret_cast<uint64_t>(buffer.get()), sizeof(Buffer)});
  const std::vector<std::byte> parameters = parametersFor(kernel, *buffer);
  configuration.parameters = parameters;
  Machine machine;
  machine.target = &target;
  machine.multiprocessors = 1;
  machine.maximumSteps = mostSteps;
  machine.makeObserver = observeRaces(RaceCheck::on);
  static_cast<void>(runGrid(program, configuration, MemoryMap(std::move(ranges)), machine));
}

} // namespace

Result<void> loadAndRun(std::string_view text) {
  const auto program = loadProgram(text);
  if (!program)
    return program.error();
  const auto code = parseCodeTarget((*program)->module.target);
  std::vector<const Target *> devices;
  for (const Target &target : allTargets())
    if (code && code->runsOn(target.computeMajor, target.computeMinor))
      devices.push_back(&target);
  if (devices.size() > 2) // the oldest and the newest
    devices = {devices.front(), devices.back()};
  for (const Target *device : devices)
    for (const auto &[name, kernel] : (*program)->kernels)
      launch(**program, *kernel, *device);
  return {};
}

} // namespace tlc::emulator::fuzz
