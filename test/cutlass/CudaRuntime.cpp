// SPDX-License-Identifier: Apache-2.0
#include "test/cutlass/CudaRuntime.h"

#include "runtime/emulator/check/ObserveRaces.h"
#include "runtime/emulator/exec/launch/Grid.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tlc::test {
namespace {

constexpr int device = 0;

template <class T> T read(const std::byte *at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

/// The text that `nvcc --no-compress` embeds: a header of 16 bytes with the size of what
/// follows, which is parts with headers of their own.
Result<std::string_view> ptxOf(const void *fatBinary) {
  constexpr uint16_t isPtx = 1;
  const auto *at = static_cast<const std::byte *>(fatBinary);
  const std::byte *const end = at + read<uint16_t>(at + 6) + read<uint64_t>(at + 8);
  at += read<uint16_t>(at + 6);
  while (at < end) {
    const auto headerBytes = read<uint32_t>(at + 4);
    const auto bytes = read<uint64_t>(at + 8);
    if (read<uint16_t>(at) == isPtx) {
      std::string_view text(reinterpret_cast<const char *>(at + headerBytes), bytes);
      return text.substr(0, text.find('\0'));
    }
    at += headerBytes + bytes;
  }
  return Error{ErrorKind::invalidArgument, "the program was compiled without PTX"};
}

std::string without(std::string_view instruction, std::string ptx) {
  if (!instruction.empty())
    for (size_t at = 0; (at = ptx.find(instruction, at)) != std::string::npos;)
      ptx.erase(at, ptx.find(';', at) + 1 - at);
  return ptx;
}

} // namespace

CudaRuntime &CudaRuntime::instance() {
  static CudaRuntime runtime;
  return runtime;
}

void *CudaRuntime::allocate(emulator::NamedTensor tensor) {
  size_t bytes = tensor.elementBytes;
  for (int64_t extent : tensor.shape)
    bytes *= size_t(extent);
  auto address = memory.allocate(device, bytes, RaceCheck::on);
  if (!address) {
    error = address.error().message;
    return nullptr;
  }
  tensor.address = reinterpret_cast<uint64_t>(*address);
  tensors.push_back(std::move(tensor));
  return *address;
}

void CudaRuntime::copyToDevice(void *to, std::span<const std::byte> host) {
  std::ranges::copy(host, static_cast<std::byte *>(to));
  memory.markWritten(to, host.size());
}

void CudaRuntime::fill(void *to, int value, size_t bytes) {
  std::memset(to, value, bytes);
  memory.markWritten(to, bytes);
}

void CudaRuntime::freeAll() {
  memory.freeAll(device);
  tensors.clear();
}

void CudaRuntime::addKernel(const void *hostFunction, const void *fatBinary, std::string name) {
  kernels[hostFunction] = {fatBinary, std::move(name), nullptr};
}

void CudaRuntime::leaveOut(std::string instruction) {
  leftOut = std::move(instruction);
  for (auto &[function, kernel] : kernels)
    kernel.program = nullptr;
}

Result<void> CudaRuntime::launch(const void *hostFunction, const LaunchShape &shape, void *const *arguments) {
  const auto kernel = kernels.find(hostFunction);
  Result<void> done = kernel == kernels.end()
                          ? Error{ErrorKind::invalidArgument, "nvcc registered no such kernel"}
                          : run(kernel->second, shape, arguments);
  if (!done)
    error = done.error().message;
  return done;
}

Result<void> CudaRuntime::run(Kernel &kernel, const LaunchShape &shape, void *const *arguments) {
  if (!kernel.program) {
    auto ptx = ptxOf(kernel.fatBinary);
    if (!ptx)
      return ptx.error();
    auto program = emulator::loadProgram(without(leftOut, std::string(*ptx)));
    if (!program)
      return program.error();
    kernel.program = *program;
  }
  const emulator::Kernel &code = *kernel.program->kernels.at(kernel.name);
  std::vector<std::byte> parameters(code.parameterBytes);
  for (size_t i = 0; i < code.parameterOffsets.size(); ++i)
    std::memcpy(&parameters[code.parameterOffsets[i]], arguments[i], code.function->parameters[i].bytes);

  std::vector<emulator::MemoryRange> ranges = memory.viewOf(device, {}).ranges;
  ranges.insert(ranges.end(), kernel.program->ranges.begin(), kernel.program->ranges.end());
  emulator::LaunchConfiguration launch;
  launch.entry = kernel.name;
  launch.grid = shape.grid;
  launch.block = shape.block;
  launch.cluster = shape.cluster;
  launch.dynamicSharedBytes = uint32_t(shape.sharedBytes);
  launch.parameters = parameters;
  launch.tensors = tensors;
  emulator::Machine machine;
  machine.target = findTarget("sm_90a");
  machine.hostThreads = std::max(1u, std::thread::hardware_concurrency());
  machine.makeObserver = emulator::observeRaces(raceCheck);
  machine.scheduleSeed = scheduleSeed;
  auto done = emulator::runGrid(*kernel.program, launch, emulator::MemoryMap(std::move(ranges)), machine);
  if (!done)
    return done.error();
  return {};
}

} // namespace tlc::test
