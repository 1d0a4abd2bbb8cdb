// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels of archives on an emulated device, in a file of its own: what does not refer to it is linked
/// without the emulator.
#include "runtime/aot/KernelState.h"
#include "runtime/aot/Mirror.h"
#include "runtime/artifact/Serialize.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/target/Target.h"

#include <span>

using namespace tlc;
using namespace tlc::aot;

/// The first program, on a device of its target.
static Result<std::unique_ptr<LoadedKernel>> loadOnEmulator(const KernelView &image) {
  Result<std::vector<std::byte>> bytes = artifactOf(image.programs.front());
  if (!bytes)
    return bytes.error();
  Result<Artifact> artifact = deserialize(*bytes);
  if (!artifact)
    return artifact.error();
  EmulatorOptions options;
  options.target = findTarget(artifact->target);
  std::shared_ptr<Device> device = createEmulatorDevice(options);
  Result<std::shared_ptr<const LoadedProgram>> program = device->load(std::move(*artifact));
  if (!program)
    return program.error();
  return std::make_unique<LoadedKernel>(std::move(device), std::move(*program));
}

static Result<LoadedKernel *> find(tlc_aot_kernel *kernel) {
  Result<KernelState *> state = KernelState::of(kernel);
  return state ? (*state)->on(KernelState::emulator, loadOnEmulator) : state.error();
}

static Result<void> emulate(const LoadedKernel &kernel, const void *given) {
  Result<size_t> bytes = kernel.workspaceBytes(given);
  if (!bytes)
    return bytes.error();
  Mirror mirror(kernel.home());
  Result<void *> workspace = mirror.allocate(*bytes);
  if (!workspace)
    return workspace.error();
  Result<LaunchArguments> arguments = kernel.argumentsOf(given, {*workspace, *bytes});
  if (!arguments)
    return arguments.error();
  const std::span tensors = std::span(arguments->tensors).first(firstWorkspaceOf(kernel.artifact()));
  if (Result<void> copied = mirror.copyIn(kernel.artifact(), tensors); !copied)
    return copied;
  if (Result<void> launched = kernel.launchOnce(*arguments); !launched)
    return launched;
  return mirror.copyOut();
}

int tlc_aot_emulate(const void *arguments, tlc_aot_kernel *kernel) {
  return callOf([&]() -> Result<void> {
    if (!arguments)
      return nullPointer(kernel, "arguments");
    Result<LoadedKernel *> found = find(kernel);
    if (!found)
      return found.error();
    Result<void> emulated = emulate(**found, arguments);
    return emulated ? emulated : ofKernel(kernel->function, emulated.error());
  });
}
