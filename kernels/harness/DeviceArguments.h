// SPDX-License-Identifier: Apache-2.0
/// \file
/// The arguments of one launch, in ordinary memory and on a device: inputs with
/// fresh random values, outputs and workspaces poisoned.
#pragma once

#include "kernels/Registry.h"
#include "kernels/harness/HostTensor.h"
#include "runtime/device/Device.h"

#include <memory>
#include <vector>

namespace tlc::kernels {

/// Contents of inputs that follow from others, such as the O and LSE that attention backward reads.
enum class DerivedInputs : uint8_t {
  computed,
  random, ///< as others are: results mean nothing then, but nothing is computed in double precision
};

/// Fills the last one of `tensors` as it is before a launch: contents that suit it where it is read, poison
/// where it is not. The ones before it are filled.
Result<void> fillLast(const TensorSpec &spec, std::span<HostTensor> tensors, Random &random,
                      DerivedInputs derived = DerivedInputs::computed);

/// Memory of a device, freed with the object.
class DeviceMemory {
public:
  static Result<DeviceMemory> allocate(Device &device, size_t bytes);
  DeviceMemory(DeviceMemory &&other) noexcept
      : device(other.device), memory(std::exchange(other.memory, nullptr)) {}
  DeviceMemory &operator=(DeviceMemory &&) = delete;
  ~DeviceMemory();

  void *address() const { return memory; }

private:
  DeviceMemory(Device &device, void *memory) : device(device), memory(memory) {}
  Device &device;
  void *memory;
};

class DeviceArguments {
public:
  /// `specs` are the artifact's tensors without workspaces. Allocates; the contents come with `fill`.
  static Result<DeviceArguments> create(Device &device, const Artifact &artifact,
                                        std::vector<TensorSpec> specs, Placement placement);
  DeviceArguments(DeviceArguments &&) = default;

  /// New inputs, poison everywhere else.
  Result<void> fill(Random &random, DerivedInputs derived);
  /// Poisons outputs and workspaces again; what is read keeps its values.
  Result<void> reset();
  /// Reads the outputs back.
  Result<void> fetch();

  /// Inputs and outputs, in the artifact's order; outputs hold what was fetched last.
  const std::vector<HostTensor> &tensors() const { return host; }
  /// What a tensor that is read held before the launch.
  const HostTensor &initial(size_t tensor) const { return before[tensor] ? *before[tensor] : host[tensor]; }
  const LaunchArguments &launchArguments() const { return launch; }

private:
  DeviceArguments(Device &device, std::vector<TensorSpec> specs) : device(&device), specs(std::move(specs)) {}
  Result<void> upload(size_t tensor);
  Result<void> poison(const DeviceMemory &memory, size_t bytes);

  Device *device;
  std::vector<TensorSpec> specs;
  std::vector<HostTensor> host;
  std::vector<std::optional<HostTensor>> before; ///< of tensors that are both read and written
  std::vector<DeviceMemory> memory;              ///< of all tensors, workspaces included
  std::vector<size_t> workspaceBytes;
  LaunchArguments launch;
};

} // namespace tlc::kernels
