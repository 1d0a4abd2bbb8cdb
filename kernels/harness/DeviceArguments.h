// SPDX-License-Identifier: Apache-2.0
/// \file
/// The arguments of launches: inputs with random values, outputs and workspaces poisoned; in ordinary memory,
/// where several devices share them, and on a device.
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
  random, ///< floats as others are: results mean nothing then, but integers, positions perhaps, are right
};

/// Changes an input that has its contents, before others are derived from it.
using InputChange = std::function<void(HostTensor &)>;

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

/// The tensors of a kernel as they are before a launch, without workspaces.
struct InitialTensors {
  /// New inputs, whose contents suit them, poison everywhere else. All lie as `placement` says, but those
  /// among `lastStrides` and members of tables, of which the program states alignment and strides itself.
  /// An error if they do not fit into memory with all that `need` says.
  static Result<InitialTensors> create(std::vector<TensorSpec> specs, Placement placement, Random &random,
                                       DerivedInputs derived = DerivedInputs::computed,
                                       const LastStrides &lastStrides = {}, MemoryNeed need = needOfRun,
                                       const InputChange &change = {});

  std::vector<TensorSpec> specs; ///< in the order of the artifact's tensors
  std::vector<HostTensor> tensors;
};

/// These tensors on a device.
class DeviceArguments {
public:
  /// Allocates and copies. `initial`, which has the tensors of all `ranks`, outlives the arguments. `scalars`
  /// are those of the artifact.
  static Result<DeviceArguments> create(Device &device, const Artifact &artifact,
                                        const InitialTensors &initial, int64_t rank = 0, int64_t ranks = 1,
                                        std::vector<ScalarValue> scalars = {});
  /// Tells each rank's launch the addresses of all ranks' symmetric tensors.
  static void connect(std::span<DeviceArguments> ranks, const Artifact &artifact);
  DeviceArguments(DeviceArguments &&) = default;

  /// Poisons outputs and workspaces again, and copies what is both read and written again.
  Result<void> reset();
  /// What is in the memory of a tensor of this rank, room included.
  Result<HostTensor> fetch(size_t tensor) const;

  const InitialTensors &initial() const { return before; }
  const LaunchArguments &launchArguments() const { return launch; }

private:
  DeviceArguments(Device &device, const InitialTensors &initial, size_t first, size_t count)
      : device(device), before(initial), first(first), count(count) {}
  Result<void> upload(size_t tensor);
  /// A table of the addresses of the tensor's parts along its first axis.
  Result<TensorView> tableOf(const TensorView &tensor);
  Result<void> poison(const DeviceMemory &memory, size_t bytes);

  Device &device;
  const InitialTensors &before;
  size_t first, count;              ///< the rank's tensors among them
  std::vector<DeviceMemory> memory; ///< of all tensors, workspaces included
  std::vector<DeviceMemory> tables; ///< of addresses
  std::vector<size_t> workspaceBytes;
  LaunchArguments launch;
};

} // namespace tlc::kernels
