// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels of archives on the GPU whose context is current.
#include "runtime/aot/KernelState.h"
#include "runtime/artifact/Serialize.h"
#include "runtime/cuda/CudaDevice.h"

#include <fmt/format.h>

using namespace tlc;
using namespace tlc::aot;

namespace {

/// The GPUs that kernels were called on. They are never closed: the order in which a process and the driver
/// end is not ours.
class Gpus {
public:
  static Gpus &ofProcess() {
    static auto *gpus = new Gpus;
    return *gpus;
  }
  Result<std::shared_ptr<Device>> find(int ordinal) {
    const std::lock_guard lock(mutex);
    std::shared_ptr<Device> &device = devices[ordinal];
    if (!device) {
      Result<std::unique_ptr<Device>> opened = createCudaDevice(ordinal);
      if (!opened)
        return opened.error();
      device = std::move(*opened);
    }
    return device;
  }

private:
  std::mutex mutex;
  std::map<int, std::shared_ptr<Device>> devices;
};

Result<std::unique_ptr<LoadedKernel>> loadOnGpu(const KernelView &image, int ordinal) {
  Result<std::shared_ptr<Device>> device = Gpus::ofProcess().find(ordinal);
  if (!device)
    return device.error();
  Result<const ProgramView *> chosen = chooseProgram(image, (*device)->properties());
  if (!chosen)
    return chosen.error();
  Result<std::vector<std::byte>> bytes = artifactOf(**chosen);
  if (!bytes)
    return bytes.error();
  Result<Artifact> artifact = deserialize(*bytes);
  if (!artifact)
    return artifact.error();
  Result<std::shared_ptr<const LoadedProgram>> program = (*device)->load(std::move(*artifact));
  if (!program)
    return program.error();
  return std::make_unique<LoadedKernel>(std::move(*device), std::move(*program));
}

Result<LoadedKernel *> find(tlc_aot_kernel *kernel) {
  Result<KernelState *> state = KernelState::of(kernel);
  if (!state)
    return state.error();
  Result<int> ordinal = currentCudaOrdinal();
  if (!ordinal)
    return ofKernel(kernel->function, ordinal.error());
  return (*state)->on(*ordinal, [&](const KernelView &image) { return loadOnGpu(image, *ordinal); });
}

} // namespace

int tlc_aot_launch(const void *arguments, void *stream, tlc_aot_kernel *kernel) {
  return callOf([&]() -> Result<void> {
    if (!arguments)
      return nullPointer(kernel, "arguments");
    Result<LoadedKernel *> found = find(kernel);
    if (!found)
      return found.error();
    Result<void> launched = (*found)->launch(arguments, (*found)->workspaceOf(arguments), stream);
    return launched ? launched : ofKernel(kernel->function, launched.error());
  });
}

int tlc_aot_workspace(const void *arguments, size_t *bytes, tlc_aot_kernel *kernel) {
  return callOf([&]() -> Result<void> {
    if (!arguments || !bytes)
      return nullPointer(kernel, arguments ? "room for the number of bytes" : "arguments");
    Result<LoadedKernel *> found = find(kernel);
    if (!found)
      return found.error();
    Result<size_t> needed = (*found)->workspaceBytes(arguments);
    if (!needed)
      return ofKernel(kernel->function, needed.error());
    *bytes = *needed;
    return {};
  });
}

int tlc_aot_load(tlc_aot_kernel *kernel) {
  return callOf([&]() -> Result<void> {
    Result<LoadedKernel *> found = find(kernel);
    return found ? Result<void>() : found.error();
  });
}

int tlc_aot_synchronize(void *stream) {
  return callOf([&]() -> Result<void> {
    Result<int> ordinal = currentCudaOrdinal();
    if (!ordinal)
      return ordinal.error();
    Result<std::shared_ptr<Device>> device = Gpus::ofProcess().find(*ordinal);
    return device ? (*device)->synchronize({stream}) : device.error();
  });
}
