// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the runtime keeps of a kernel in an archive of `tlc build`: its programs, each loaded on a device by
/// the first call that needs it there. Lives until the process ends, as its code does.
#pragma once

#include "runtime/aot/Arguments.h"
#include "runtime/aot/Image.h"
#include "runtime/aot/Kernel.h"
#include "runtime/device/Device.h"
#include "runtime/device/RecentlyUsed.h"
#include "runtime/support/Guarded.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace tlc::aot {

/// A program on one device. Safe to use from several threads.
class LoadedKernel {
public:
  LoadedKernel(std::shared_ptr<Device> device, std::shared_ptr<const LoadedProgram> program)
      : device(std::move(device)), program(std::move(program)), layout(this->program->artifact()) {}

  /// Of the memory for all workspaces.
  Result<size_t> workspaceBytes(const void *arguments) const;
  /// That is given with the arguments.
  Workspace workspaceOf(const void *arguments) const { return layout.workspace(arguments); }
  /// Checked.
  Result<LaunchArguments> argumentsOf(const void *given, Workspace workspace) const;
  /// Keeps the arguments of the last launches, as the device keeps the launches themselves.
  Result<void> launch(const void *arguments, Workspace workspace, void *stream);

  const Artifact &artifact() const { return program->artifact(); }
  /// Once, with such arguments.
  Result<void> launchOnce(const LaunchArguments &checked) const { return device->launch(*program, checked); }
  Device &home() const { return *device; }

private:
  /// Moves the tensors of kept arguments that the given ones fit; false if one that is written would overlap
  /// another.
  bool move(LaunchArguments &kept, const void *given, Workspace workspace) const;

  std::shared_ptr<Device> device; // outlives the program
  std::shared_ptr<const LoadedProgram> program;
  ArgumentLayout layout;
  RecentlyUsed<LaunchArguments> arguments;
};

/// Loads one of the programs on a device.
using Load = std::function<Result<std::unique_ptr<LoadedKernel>>(const KernelView &)>;

class KernelState {
public:
  /// That of the kernel, which the first call makes.
  static Result<KernelState *> of(tlc_aot_kernel *kernel);

  /// On GPU number `device`, or on the emulator. Concurrent first calls load once; one that fails is made
  /// again by the next call.
  Result<LoadedKernel *> on(int device, const Load &load);
  static constexpr int emulator = -1;

private:
  explicit KernelState(KernelView image) : image(std::move(image)) {}

  /// Devices from the emulator on whose programs are found without a lock.
  static constexpr size_t fast = 65;
  KernelView image;
  std::mutex mutex;
  std::map<int, std::unique_ptr<LoadedKernel>> loaded;
  std::array<std::atomic<LoadedKernel *>, fast> found = {};
};

/// The error has the kernel's name in front.
Error ofKernel(std::string_view function, Error error);

Error nullPointer(const tlc_aot_kernel *kernel, std::string_view expected);

/// The status of `body() -> Result<void>`; `tlc_aot_last_error` has the reason of a failure.
int callOf(const std::function<Result<void>()> &body);

} // namespace tlc::aot
