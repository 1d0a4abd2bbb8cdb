// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/Runner.h"

#include "runtime/cuda/CudaDevice.h"
#include "runtime/emulator/EmulatorDevice.h"

#include <cstring>

namespace tlc::conformance {
namespace {

/// Memory of the device for as long as one program runs.
class Buffer {
public:
  explicit Buffer(Device &device) : device(device) {}
  Buffer(const Buffer &) = delete;
  ~Buffer() { (void)device.free(data); }
  Result<void> fill(const std::vector<std::byte> &bytes) {
    Result<void *> memory = device.allocate(std::max<size_t>(bytes.size(), 1));
    if (!memory)
      return memory.error();
    data = *memory;
    return device.copyToDevice(data, bytes.data(), bytes.size());
  }
  void *data = nullptr;

private:
  Device &device;
};

Artifact artifactOf(const Program &program) {
  using Kind = KernelParameter::Kind;
  Artifact artifact = {.name = program.name, .target = "sm_90a"};
  for (const char *name : {"out", "in", "maps"}) {
    artifact.dimensions.push_back({.name = std::string(name) + "Bytes"});
    artifact.tensors.push_back({.name = name,
                                .element = ElementType::i8,
                                .access = Access::inout,
                                .shape = {{.dimension = int64_t(artifact.tensors.size())}}});
  }
  Launch launch = {.entry = "k", .threads = program.threads, .sharedBytes = program.sharedBytes};
  launch.grid = {HostExpr::constant(program.blocks), HostExpr::constant(1), HostExpr::constant(1)};
  launch.cluster = {program.cluster, 1, 1};
  for (int64_t i = 0; i < 3; ++i)
    launch.parameters.push_back({.kind = Kind::tensorPointer, .index = i});
  artifact.variants.push_back({.name = "only", .launches = {launch}, .ptx = program.ptx});
  return artifact;
}

} // namespace

Result<TensorMapBytes> encodeForEmulator(const emulator::EmulatedTensorMap &map) {
  if (Result<void> valid = emulator::checkTensorMap(map); !valid)
    return valid.error();
  return emulator::encodeTensorMap(map);
}

Machine emulatorMachine(std::optional<uint64_t> scheduleSeed) {
  return {createEmulatorDevice({.scheduleSeed = scheduleSeed}), encodeForEmulator};
}

Result<Machine> cudaMachine(int ordinal) {
  Result<std::unique_ptr<Device>> device = createCudaDevice(ordinal);
  if (!device)
    return device.error();
  return Machine{std::move(*device), encodeForCuda};
}

Result<std::vector<std::byte>> runProgram(Machine &machine, const Program &program) {
  Device &device = *machine.device;
  auto loaded = device.load(artifactOf(program));
  if (!loaded)
    return loaded.error();
  Buffer out(device), in(device), maps(device);
  if (Result<void> done = out.fill(program.output); !done)
    return done.error();
  if (Result<void> done = in.fill(program.input); !done)
    return done.error();
  std::vector<std::byte> mapBytes;
  for (emulator::EmulatedTensorMap map : program.maps) {
    map.globalAddress += uint64_t(uintptr_t(out.data));
    Result<TensorMapBytes> encoded = machine.encode(map);
    if (!encoded)
      return encoded.error();
    mapBytes.insert(mapBytes.end(), encoded->begin(), encoded->end());
  }
  if (Result<void> done = maps.fill(mapBytes); !done)
    return done.error();

  const auto view = [](const Buffer &buffer, size_t bytes) {
    return TensorView{buffer.data, ElementType::i8, {int64_t(bytes)}, {1}};
  };
  const LaunchArguments arguments = {.tensors = {view(out, program.output.size()),
                                                 view(in, program.input.size()),
                                                 view(maps, mapBytes.size())}};
  if (Result<void> done = device.launch(**loaded, arguments); !done)
    return done.error();
  if (Result<void> done = device.synchronize(); !done)
    return done.error();
  std::vector<std::byte> result(program.output.size());
  if (Result<void> done = device.copyToHost(result.data(), out.data, result.size()); !done)
    return done.error();
  return result;
}

} // namespace tlc::conformance
