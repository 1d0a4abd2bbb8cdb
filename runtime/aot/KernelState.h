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
#include <map>
#include <memory>
#include <mutex>

namespace tlc::aot {

/// An error if that memory is too small or not aligned for workspaces of `needed` bytes, or if they would
/// overlap a tensor.
Result<void> checkWorkspace(const Artifact &artifact, std::span<const TensorView> tensors,
                            Workspace workspace, size_t needed);

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

/// The program for the best target whose code runs on the device; an error where none does.
Result<const ProgramView *> chooseProgram(const KernelView &image, const DeviceProperties &device);

/// The error has the kernel's name in front.
Error ofKernel(std::string_view function, Error error);

class KernelState {
public:
  /// That of the kernel, which the first call makes.
  static Result<KernelState *> of(tlc_aot_kernel *kernel);

  /// On GPU number `device`, or on the emulator, where `load(image)` loads one of the programs. Concurrent
  /// first calls load once; one that fails is made again by the next call.
  template <class Load> Result<LoadedKernel *> on(int device, Load &&load);
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

Error nullPointer(const tlc_aot_kernel *kernel, std::string_view expected);

/// What `tlc_aot_last_error` gives the calling thread.
void rememberError(const char *reason) noexcept;

/// The status of `body() -> Result<void>`; `tlc_aot_last_error` has the reason of a failure.
template <class Body> int callOf(Body &&body) { return int(guardedCall(body, rememberError)); }

template <class Load> Result<LoadedKernel *> KernelState::on(int device, Load &&load) {
  const auto index = size_t(device + 1);
  if (index < fast)
    if (LoadedKernel *kernel = found[index].load(std::memory_order_acquire))
      return kernel;
  const std::lock_guard lock(mutex);
  std::unique_ptr<LoadedKernel> &kernel = loaded[device];
  if (!kernel) {
    Result<std::unique_ptr<LoadedKernel>> made = load(image);
    if (!made)
      return ofKernel(image.function, made.error());
    kernel = std::move(*made);
    if (index < fast)
      found[index].store(kernel.get(), std::memory_order_release);
  }
  return kernel.get();
}

} // namespace tlc::aot
