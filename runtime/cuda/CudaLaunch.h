// SPDX-License-Identifier: Apache-2.0
/// \file
/// Launches of a GPU, prepared and made once.
#pragma once

#include "runtime/cuda/CudaCapture.h"
#include "runtime/cuda/CudaProgram.h"
#include "runtime/cuda/CudaTransfers.h"
#include "runtime/cuda/MemoryCheck.h"
#include "runtime/cuda/ReportingPrograms.h"
#include "runtime/cuda/TensorMap.h"
#include "runtime/device/LaunchPlan.h"

#include <array>
#include <memory>
#include <vector>

namespace tlc {

/// What the launches of one device share.
struct LaunchResources {
  /// Of each half of `emptyTensors`.
  static constexpr size_t emptyTensorBytes = 128;

  explicit LaunchResources(const std::shared_ptr<const CudaContext> &context)
      : cuda(context), memory(context), transferStreams(context), reporting(context), captures(context) {}

  /// The maps of empty tensors have an element all the same. That of inputs is 0 for ever; others may be
  /// stored to.
  void *emptyTensor(Access access) const {
    return reinterpret_cast<void *>(emptyTensors + (access == Access::input ? 0 : emptyTensorBytes));
  }

  std::shared_ptr<const CudaContext> cuda;
  CUdeviceptr emptyTensors = 0; ///< one for inputs, one for others
  MemoryCheck memory;
  TransferStreams transferStreams;
  ReportingPrograms reporting;
  CudaCaptures captures;
  bool waitsForLaunches = false; ///< `CudaDeviceOptions`
};

/// Enqueues zeros; the context is current.
Result<void> enqueueZeros(const CudaContext &cuda, const ZeroFill &fill, CUstream stream);

/// Belongs to its `PreparedLaunch` and to the graphs that have captured it, or is kept by the program.
class CudaLaunch : public std::enable_shared_from_this<CudaLaunch> {
public:
  /// `program` belongs to the context of `resources`, both of which outlive the launch.
  static Result<std::unique_ptr<PreparedLaunch>> create(LaunchResources &resources,
                                                        const CudaProgram &program,
                                                        const LaunchArguments &arguments,
                                                        const DeviceProperties &device);
  /// `Device::launch`, by a launch that the program has kept or keeps from then on. A graph does not know it,
  /// so its tensors do not move.
  static Result<void> launch(LaunchResources &resources, const CudaProgram &program,
                             const LaunchArguments &arguments, const DeviceProperties &device, Stream stream);
  CudaLaunch(const CudaLaunch &) = delete; // kernels point into it
  Result<void> enqueue(Stream stream);
  Result<void> setAddresses(size_t first, std::span<void *const> addresses);

  /// How often a tensor has moved.
  uint64_t moveCount() const { return moves; }
  /// Moves tensors in a graph to where they are here, if the graph does not know. The context is current.
  Result<void> moveIn(CUgraphExec graph, CapturedLaunch &captured) const;

private:
  // The context is current where these are called.
  CudaLaunch(LaunchResources &resources, const CudaProgram &program, const DeviceProperties &device)
      : resources(resources), program(program), device(device), cuda(resources.cuda) {}

  /// A planned launch as the driver takes it; points into the plan.
  struct Kernel {
    CUfunction function = nullptr;
    CUlaunchConfig config = {};
    std::array<CUlaunchAttribute, 2> attributes = {};
    std::vector<void *> parameters = {};
    bool storesToEmptyTensor = false;
  };
  Result<void> make(const LaunchArguments &of);
  /// The launch becomes one of the arguments on that device where tensors move.
  bool fits(const LaunchResources &of, const LaunchArguments &wanted) const;
  /// Tensors of which the driver is asked.
  enum class Checked : uint8_t { moved, all };
  /// Moves the tensors from number `first` on to the addresses, which are the former ones then, and checks
  /// memory. On an error all is as before.
  Result<void> move(size_t first, std::span<void *> addresses, Checked checked);
  /// Changes the tensor maps and kernels as the change asks for; the tensors had those addresses.
  Result<void> changeKernels(size_t first, std::span<void *const> former, PlanChange change);
  /// Encodes all tensor maps, and makes `kernels` of the plan.
  Result<void> makeKernels();
  void makeKernel(Kernel &kernel, PlannedLaunch &planned) const;
  Result<void> encode(PlannedLaunch &planned, const PlannedTensorMap &map);
  Result<void> checkMap(CUresult status, const PlannedTensorMap &map) const;
  Result<void> moveFill(CUgraphExec graph, CUgraphNode node, const ZeroFill &fill) const;
  Result<void> moveKernel(CUgraphExec graph, CUgraphNode node, const Kernel &kernel) const;
  /// Enqueues the launch, and notes it for errors that come later.
  Result<void> noteAndEnqueue(Stream stream);
  Result<void> enqueueAll(CUstream stream);
  /// Waits for the stream, unless another library captures it.
  Result<void> wait(const LaunchRecord &record, CUstream stream) const;
  /// Adds the node of what was enqueued last to `captured`, if there is one.
  Result<void> noteNode(std::vector<CUgraphNode> CapturedLaunch::*nodes, CUstream stream) const;
  /// `isNext`: directly after the launch before it.
  Result<void> enqueue(size_t number, bool isNext, CUstream stream);

  LaunchResources &resources;
  const CudaProgram &program;
  const DeviceProperties &device;
  std::shared_ptr<const CudaContext> cuda; ///< of `resources` alone, which may end before a kept launch
  LaunchArguments arguments;               ///< whose addresses change
  std::vector<void *> addresses;           ///< room for one of each tensor
  LaunchPlan plan;
  std::vector<Kernel> kernels; ///< one per planned launch
  bool waits = false;          ///< after each `enqueue`
  uint64_t moves = 0;
  CapturedLaunch *captured = nullptr; ///< what `enqueue` is becoming in a graph; null: no part of one
};

} // namespace tlc
