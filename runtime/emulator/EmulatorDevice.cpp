// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/EmulatorDevice.h"

#include "runtime/artifact/Verify.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/device/TensorGeometry.h"
#include "runtime/emulator/exec/Grid.h"
#include "runtime/emulator/exec/TensorMap.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <thread>

namespace tlc {

namespace {

constexpr std::string_view defaultTarget = "sm_90a";
constexpr size_t allocationAlignment = 256;

class EmulatedProgram : public LoadedProgram {
public:
  EmulatedProgram(Artifact artifact, std::vector<std::shared_ptr<const emulator::Program>> programs)
      : programs(std::move(programs)), source(std::move(artifact)) {}
  const Artifact &artifact() const override { return source; }

  const std::vector<std::shared_ptr<const emulator::Program>> programs; ///< one per variant

private:
  Artifact source;
};

Error invalid(std::string message) { return Error{ErrorKind::invalidArgument, std::move(message)}; }

Result<void> placeTensorMap(const PlannedTensorMap &planned, std::vector<std::byte> &parameters) {
  const emulator::EmulatedTensorMap map = emulator::tensorMapOf(planned.values);
  if (auto ok = emulator::checkTensorMap(map); !ok)
    return ok;
  const auto bytes = emulator::encodeTensorMap(map);
  std::copy(bytes.begin(), bytes.end(), parameters.begin() + ptrdiff_t(planned.offset));
  return {};
}

class EmulatorDevice : public Device {
public:
  explicit EmulatorDevice(EmulatorOptions options) {
    machine.target = options.target ? options.target : findTarget(defaultTarget);
    machine.multiprocessors = std::max(1, options.multiprocessors);
    machine.hostThreads =
        options.hostThreads != 0 ? options.hostThreads : std::max(1u, std::thread::hardware_concurrency());
    machine.maximumSteps = options.maximumSteps;
    machine.raceCheck = options.raceCheck;
    if (options.scheduleSeed) {
      machine.hostThreads = 1;
      machine.makeSchedule = [seed = *options.scheduleSeed](emulator::Cluster &cluster) {
        return emulator::createSeeded(seed, cluster);
      };
    }
    onFindings = std::move(options.onFindings);
    const std::string_view name = machine.target->name;
    deviceProperties = {fmt::format("emulator ({})", name), std::string(name), machine.multiprocessors};
  }

  const DeviceProperties &properties() const override { return deviceProperties; }

  Result<void *> allocate(size_t bytes) override {
    if (bytes > SIZE_MAX / 2)
      return invalid(fmt::format("cannot allocate {} bytes", bytes));
    const size_t rounded = std::max(bytes, size_t(1)) + allocationAlignment - 1;
    std::unique_ptr<void, decltype(&std::free)> memory(
        std::aligned_alloc(allocationAlignment, rounded / allocationAlignment * allocationAlignment),
        std::free);
    if (!memory)
      return Error{ErrorKind::environment, fmt::format("the host has no {} bytes of memory left", bytes)};
    void *address = memory.get();
    const std::lock_guard lock(mutex);
    allocations.emplace(reinterpret_cast<uint64_t>(address), Allocation{std::move(memory), bytes});
    return address;
  }

  Result<void> free(void *address) override {
    if (!address)
      return {};
    const std::lock_guard lock(mutex);
    if (allocations.erase(reinterpret_cast<uint64_t>(address)) == 0)
      return invalid(fmt::format("{} is not an allocation of this device", address));
    return {};
  }

  Result<void> copyToDevice(void *device, const void *host, size_t bytes) override {
    if (auto ok = checkRange(device, bytes); !ok)
      return ok;
    if (bytes != 0)
      std::memcpy(device, host, bytes);
    return {};
  }

  Result<void> copyToHost(void *host, const void *device, size_t bytes) override {
    if (auto ok = checkRange(device, bytes); !ok)
      return ok;
    if (bytes != 0)
      std::memcpy(host, device, bytes);
    return {};
  }

  Result<std::shared_ptr<const LoadedProgram>> load(Artifact artifact) override {
    if (Result<void> valid = verify(artifact); !valid)
      return valid.error();
    if (!findTarget(artifact.target)->runsOn(machine.target->computeMajor, machine.target->computeMinor))
      return invalid(fmt::format("'{}' is compiled for {}, which the emulator of {} does not run",
                                 artifact.name, artifact.target, machine.target->name));
    std::vector<std::shared_ptr<const emulator::Program>> programs;
    for (const Variant &variant : artifact.variants) {
      auto program = emulator::loadProgram(variant.ptx);
      if (!program)
        return program.error();
      if (auto ok = emulator::checkTarget(**program, *machine.target); !ok)
        return ok.error();
      programs.push_back(std::move(*program));
    }
    return std::shared_ptr<const LoadedProgram>(
        std::make_shared<EmulatedProgram>(std::move(artifact), std::move(programs)));
  }

  Result<void> launch(const LoadedProgram &loaded, const LaunchArguments &arguments, Stream) override {
    const auto *program = dynamic_cast<const EmulatedProgram *>(&loaded);
    if (!program)
      return invalid("the program was loaded by another kind of device");
    auto plan = planLaunch(program->artifact(), arguments, deviceProperties);
    if (!plan)
      return plan.error();
    for (size_t i = 0; i < arguments.tensors.size(); ++i)
      if (const TensorView &tensor = arguments.tensors[i]; !isEmpty(tensor) && !checkRange(tensor.data, 1))
        return invalid(fmt::format("argument '{}': expected memory of the emulator, but {} is not",
                                   program->artifact().tensors[i].name, tensor.data));
    const emulator::Program &code = *program->programs[plan->variantIndex];
    const emulator::MemoryMap memory = memoryFor(code);
    for (const ZeroFill &fill : plan->zeroFills)
      for (size_t row = 0; row < fill.rows; ++row) {
        std::byte *at = static_cast<std::byte *>(fill.address) + row * fill.pitchBytes;
        if (auto ok = checkRange(at, fill.rowBytes); !ok)
          return ok;
        if (fill.rowBytes != 0)
          std::memset(at, 0, fill.rowBytes);
      }
    for (PlannedLaunch &planned : plan->launches) {
      for (const PlannedTensorMap &map : planned.tensorMaps)
        if (auto placed = placeTensorMap(map, planned.parameters); !placed)
          return placed;
      emulator::LaunchConfiguration configuration;
      configuration.entry = planned.launch->entry;
      configuration.grid = planned.grid;
      configuration.block = {planned.launch->threads, 1, 1};
      std::copy(planned.launch->cluster.begin(), planned.launch->cluster.end(),
                configuration.cluster.begin());
      configuration.dynamicSharedBytes = planned.launch->sharedBytes;
      configuration.parameters = planned.parameters;
      configuration.names = &planned.launch->names;
      Findings findings;
      emulator::Machine machineOfLaunch = machine;
      machineOfLaunch.findings = &findings;
      const auto done = emulator::runGrid(code, configuration, memory, machineOfLaunch);
      if (onFindings && !findings.empty())
        onFindings(findings);
      if (!done)
        return done.error();
      const std::lock_guard lock(mutex);
      executed.warpInstructions += done->warpInstructions;
      executed.threadInstructions += done->threadInstructions;
    }
    return {};
  }

  Result<void> synchronize(Stream) override { return {}; }

  EmulatorStatistics statistics() const {
    const std::lock_guard lock(mutex);
    return executed;
  }

private:
  struct Allocation {
    std::unique_ptr<void, decltype(&std::free)> memory;
    size_t bytes = 0;
  };

  Result<void> checkRange(const void *address, size_t bytes) {
    const uint64_t first = reinterpret_cast<uint64_t>(address);
    const std::lock_guard lock(mutex);
    auto after = allocations.upper_bound(first);
    if (after == allocations.begin())
      return bytes == 0 ? Result<void>() : invalid(fmt::format("{} is not memory of this device", address));
    const auto &[base, allocation] = *--after;
    if (first - base > allocation.bytes || allocation.bytes - (first - base) < bytes)
      return bytes == 0 ? Result<void>()
                        : invalid(fmt::format("{} bytes at {} are not inside one allocation of this device",
                                              bytes, address));
    return {};
  }

  emulator::MemoryMap memoryFor(const emulator::Program &program) {
    std::vector<emulator::MemoryRange> ranges = program.ranges;
    const std::lock_guard lock(mutex);
    for (const auto &[base, allocation] : allocations)
      ranges.push_back({base, allocation.bytes});
    return emulator::MemoryMap(std::move(ranges));
  }

  emulator::Machine machine;
  std::function<void(const Findings &)> onFindings;
  DeviceProperties deviceProperties;
  mutable std::mutex mutex;
  std::map<uint64_t, Allocation> allocations;
  EmulatorStatistics executed;
};

} // namespace

std::unique_ptr<Device> createEmulatorDevice(EmulatorOptions options) {
  return std::make_unique<EmulatorDevice>(std::move(options));
}

std::optional<EmulatorStatistics> emulatorStatisticsOf(const Device &device) {
  if (const auto *emulated = dynamic_cast<const EmulatorDevice *>(&device))
    return emulated->statistics();
  return std::nullopt;
}

} // namespace tlc
