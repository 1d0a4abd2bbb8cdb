// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/CudaLaunch.h"

#include "runtime/cuda/NvtxRange.h"
#include "runtime/device/StreamChecks.h"
#include "runtime/support/Math.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

using namespace tlc;

namespace {
class Prepared final : public PreparedLaunch {
public:
  explicit Prepared(std::shared_ptr<CudaLaunch> launch) : launch(std::move(launch)) {}
  Result<void> enqueue(Stream stream) override { return launch->enqueue(stream); }
  Result<void> setAddresses(size_t first, std::span<void *const> addresses) override {
    return launch->setAddresses(first, addresses);
  }

private:
  std::shared_ptr<CudaLaunch> launch;
};
} // namespace

Result<void> tlc::enqueueZeros(const CudaContext &cuda, const ZeroFill &fill, CUstream stream) {
  const auto address = reinterpret_cast<CUdeviceptr>(fill.address);
  CUresult status = fill.rows == 1 ? cuda.driver.cuMemsetD8Async(address, 0, fill.rowBytes, stream)
                                   : cuda.driver.cuMemsetD2D8Async(address, fill.pitchBytes, 0, fill.rowBytes,
                                                                   fill.rows, stream);
  if (status != CUDA_SUCCESS)
    return cuda.error(
        status, fmt::format("cannot clear {} rows of {} bytes at {:#x}", fill.rows, fill.rowBytes, address),
        ErrorKind::execution);
  return {};
}

Result<std::unique_ptr<PreparedLaunch>> CudaLaunch::create(LaunchResources &resources,
                                                           const CudaProgram &program,
                                                           const LaunchArguments &arguments,
                                                           const DeviceProperties &device) {
  CurrentContext scope(*resources.cuda);
  std::shared_ptr<CudaLaunch> launch(new CudaLaunch(resources, program, device));
  if (Result<void> made = launch->make(arguments); !made)
    return made.error();
  return std::unique_ptr<PreparedLaunch>(std::make_unique<Prepared>(std::move(launch)));
}

Result<void> CudaLaunch::launch(LaunchResources &resources, const CudaProgram &program,
                                const LaunchArguments &arguments, const DeviceProperties &device,
                                Stream stream) {
  CurrentContext scope(*resources.cuda);
  std::unique_ptr<CudaLaunch> launch =
      program.kept().take([&](const CudaLaunch &kept) { return kept.fits(resources, arguments); });
  Result<void> ready;
  if (launch) {
    std::ranges::transform(arguments.tensors, launch->addresses.begin(), &TensorView::data);
    ready = launch->move(0, launch->addresses, Checked::all);
  } else {
    launch.reset(new CudaLaunch(resources, program, device));
    ready = launch->make(arguments);
  }
  if (!ready)
    return ready;
  Result<void> launched = launch->noteAndEnqueue(stream);
  program.kept().keep(std::move(launch));
  return launched;
}

Result<void> CudaLaunch::make(const LaunchArguments &of) {
  const Artifact &artifact = program.artifact();
  Result<LaunchPlan> planned = planLaunch(artifact, of, device);
  if (!planned)
    return planned.error();
  plan = std::move(*planned);
  waits = resources.waitsForLaunches && of.ranks == 1; // of several, who enqueues the others may come later
  for (size_t i = 0; i < artifact.tensors.size(); ++i)
    if (Result<void> valid = resources.memory.check(artifact.tensors[i], of.tensors[i]); !valid)
      return valid;
  arguments = of;
  addresses.resize(of.tensors.size());
  return makeKernels();
}

bool CudaLaunch::fits(const LaunchResources &of, const LaunchArguments &wanted) const {
  auto isMoved = [](const TensorView &one, const TensorView &other) {
    return one.element == other.element && one.shape == other.shape && one.strides == other.strides &&
           one.ofRanks == other.ofRanks && one.ofAll == other.ofAll &&
           (one.ofRanks.empty() || one.data == other.data);
  };
  return cuda == of.cuda && arguments.rank == wanted.rank && arguments.ranks == wanted.ranks &&
         arguments.scalars == wanted.scalars &&
         std::ranges::equal(arguments.tensors, wanted.tensors, isMoved);
}

Result<void> CudaLaunch::makeKernels() {
  kernels.assign(plan.launches.size(), {});
  for (size_t number = 0; number < kernels.size(); ++number) {
    PlannedLaunch &planned = plan.launches[number];
    for (const PlannedTensorMap &map : planned.tensorMaps) {
      if (Result<void> encoded = encode(planned, map); !encoded)
        return encoded;
      kernels[number].storesToEmptyTensor |=
          !map.values.address && program.artifact().tensors[map.tensor].access != Access::input;
    }
    makeKernel(kernels[number], planned);
  }
  return {};
}

void CudaLaunch::makeKernel(Kernel &kernel, PlannedLaunch &planned) const {
  const Launch &launch = *planned.launch;
  kernel.function = program.function(plan.variantIndex, planned.index);
  CUlaunchConfig &config = kernel.config;
  config.gridDimX = planned.grid[0];
  config.gridDimY = planned.grid[1];
  config.gridDimZ = planned.grid[2];
  const std::array<unsigned, 3> block = launch.block();
  config.blockDimX = block[0];
  config.blockDimY = block[1];
  config.blockDimZ = block[2];
  config.sharedMemBytes = launch.sharedBytes;
  config.attrs = kernel.attributes.data();
  if (launch.cluster != std::array<unsigned, 3>{1, 1, 1}) {
    CUlaunchAttribute &attribute = kernel.attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {launch.cluster[0], launch.cluster[1], launch.cluster[2]};
  }
  if (launch.ordered) { // last: directly after another launch alone
    CUlaunchAttribute &attribute = kernel.attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
  }

  // One address per parameter, not one buffer of all: the driver aligns parameters in a
  // bank that does not begin at a multiple of 64, so tensor maps after others are at other places there.
  size_t offset = 0;
  for (const KernelParameter &parameter : launch.parameters) {
    offset = alignTo(offset, parameterAlignment(program.artifact(), parameter));
    kernel.parameters.push_back(&planned.parameters[offset]);
    offset += parameterBytes(program.artifact(), parameter);
  }
}

Result<void> CudaLaunch::encode(PlannedLaunch &planned, const PlannedTensorMap &map) {
  const Access access = program.artifact().tensors[map.tensor].access;
  void *const address = map.values.address ? map.values.address : resources.emptyTensor(access);
  return checkMap(
      encodeTensorMap(resources.cuda->driver, map.values, address, &planned.parameters[map.offset]), map);
}

Result<void> CudaLaunch::checkMap(CUresult status, const PlannedTensorMap &map) const {
  if (status != CUDA_SUCCESS)
    return resources.cuda->error(status, fmt::format("argument '{}': the driver refuses its tensor map",
                                                     program.artifact().tensors[map.tensor].name));
  return {};
}

Result<void> CudaLaunch::setAddresses(size_t first, std::span<void *const> to) {
  if (Result<void> valid = checkTensors(program.artifact(), first, to.size()); !valid)
    return valid;
  if (std::ranges::equal(to, std::span(arguments.tensors).subspan(first, to.size()), {}, {},
                         &TensorView::data))
    return {};
  CurrentContext scope(*resources.cuda);
  const std::span<void *> room = std::span(addresses).subspan(first, to.size());
  std::ranges::copy(to, room.begin());
  return move(first, room, Checked::moved);
}

Result<void> CudaLaunch::move(size_t first, std::span<void *> to, Checked checked) {
  const Artifact &artifact = program.artifact();
  auto exchange = [&] { return moveTensors(plan, artifact, arguments, device, first, to); };
  const Result<PlanChange> change = exchange();
  if (!change)
    return change.error();
  Result<void> moved;
  for (size_t i = first; moved && i < first + to.size(); ++i)
    if (checked == Checked::all || arguments.tensors[i].data != to[i - first])
      moved = resources.memory.check(artifact.tensors[i], arguments.tensors[i]);
  if (moved)
    moved = changeKernels(first, to, *change);
  if (moved) {
    moves += *change != PlanChange::nothing;
    return {};
  }
  const Result<PlanChange> back = exchange();
  if (!back)
    return back.error();
  if (Result<void> changed = changeKernels(first, to, *back); !changed)
    return changed;
  return moved;
}

Result<void> CudaLaunch::changeKernels(size_t first, std::span<void *const> former, PlanChange change) {
  if (change == PlanChange::nothing)
    return {};
  if (change == PlanChange::all)
    return makeKernels();
  auto hasMoved = [&](size_t tensor) {
    return tensor >= first && tensor < first + former.size() &&
           arguments.tensors[tensor].data != former[tensor - first];
  };
  for (PlannedLaunch &planned : plan.launches)
    for (const PlannedTensorMap &map : planned.tensorMaps)
      if (hasMoved(map.tensor) && map.values.address)
        if (Result<void> valid = checkMap(
                moveTensorMap(resources.cuda->driver, map.values.address, &planned.parameters[map.offset]),
                map);
            !valid)
          return valid;
  return {};
}

Result<void> CudaLaunch::enqueue(Stream stream) {
  CurrentContext scope(*resources.cuda);
  return noteAndEnqueue(stream);
}

Result<void> CudaLaunch::noteAndEnqueue(Stream stream) {
  const NvtxRange range(program.artifact().name.c_str());
  auto *const on = static_cast<CUstream>(stream.handle);
  Result<std::unique_lock<std::mutex>> noted = resources.reporting.note(program, on);
  if (!noted)
    return noted.error();
  LaunchRecord record(program.label(), plan, stream);
  Result<CudaCapture *> capture = resources.captures.find(on);
  if (!capture)
    return capture.error();
  if (!*capture) {
    if (!waits)
      resources.cuda->log.add(record);
    Result<void> enqueued = enqueueAll(on);
    return enqueued && waits ? wait(record, on) : enqueued;
  }
  if (program.hasReports())
    (*capture)->reporting.insert(&resources.reporting);
  (*capture)->noted.push_back({.cuda = resources.cuda, .record = std::move(record)});
  if (std::shared_ptr<const CudaLaunch> self = weak_from_this().lock())
    captured = &(*capture)->launches.emplace_back(
        CapturedLaunch{.launch = std::move(self), .variant = plan.variantIndex});
  Result<void> enqueued = enqueueAll(on);
  captured = nullptr;
  return enqueued;
}

Result<void> CudaLaunch::wait(const LaunchRecord &record, CUstream stream) const {
  const CudaContext &cuda = *resources.cuda;
  Result<bool> isCaptured = cuda.isCaptured(stream);
  if (!isCaptured || *isCaptured)
    return isCaptured ? Result<void>() : isCaptured.error();
  if (CUresult status = cuda.driver.cuStreamSynchronize(stream); status != CUDA_SUCCESS)
    return cuda.error(status, fmt::format("{} failed", record.text()), ErrorKind::execution);
  cuda.log.endStream({stream});
  return {};
}

Result<void> CudaLaunch::enqueueAll(CUstream on) {
  for (const ZeroFill &fill : plan.zeroFills) {
    if (Result<void> done = enqueueZeros(*resources.cuda, fill, on); !done)
      return done;
    if (Result<void> noted = noteNode(&CapturedLaunch::fills, on); !noted)
      return noted;
  }
  // Two pointers, for which std::function allocates nothing.
  return enqueueWithTransfers(resources.transferStreams, plan, on,
                              [this, on](size_t number, bool isNext) { return enqueue(number, isNext, on); });
}

Result<void> CudaLaunch::noteNode(std::vector<CUgraphNode> CapturedLaunch::*nodes, CUstream stream) const {
  if (!captured)
    return {};
  Result<CUgraphNode> node = resources.captures.lastNode(stream);
  if (!node)
    return node.error();
  (captured->*nodes).push_back(*node);
  return {};
}

Result<void> CudaLaunch::moveIn(CUgraphExec graph, CapturedLaunch &inGraph) const {
  if (inGraph.moves == moves)
    return {};
  if (Result<void> movable = checkMovedInGraph(program.artifact().name, plan, inGraph.variant); !movable)
    return movable;
  for (size_t i = 0; i < inGraph.fills.size(); ++i)
    if (Result<void> moved = moveFill(graph, inGraph.fills[i], plan.zeroFills[i]); !moved)
      return moved;
  for (size_t i = 0; i < inGraph.kernels.size(); ++i)
    if (Result<void> moved = moveKernel(graph, inGraph.kernels[i], kernels[i]); !moved)
      return moved;
  inGraph.moves = moves;
  return {};
}

Result<void> CudaLaunch::moveFill(CUgraphExec graph, CUgraphNode node, const ZeroFill &fill) const {
  const CudaContext &cuda = *resources.cuda;
  CUDA_MEMSET_NODE_PARAMS parameters;
  CUresult status = cuda.driver.cuGraphMemsetNodeGetParams(node, &parameters);
  parameters.dst = reinterpret_cast<CUdeviceptr>(fill.address);
  if (status == CUDA_SUCCESS)
    status = cuda.driver.cuGraphExecMemsetNodeSetParams(graph, node, &parameters, cuda.context);
  if (status != CUDA_SUCCESS)
    return cuda.error(status,
                      fmt::format("cannot clear argument '{}' of '{}' at another address in a graph; capture "
                                  "it again",
                                  program.artifact().tensors[fill.tensor].name, program.artifact().name),
                      ErrorKind::execution);
  return {};
}

Result<void> CudaLaunch::moveKernel(CUgraphExec graph, CUgraphNode node, const Kernel &kernel) const {
  const CudaContext &cuda = *resources.cuda;
  CUDA_KERNEL_NODE_PARAMS parameters;
  std::memset(&parameters, 0, sizeof(parameters));
  parameters.func = kernel.function;
  parameters.gridDimX = kernel.config.gridDimX;
  parameters.gridDimY = kernel.config.gridDimY;
  parameters.gridDimZ = kernel.config.gridDimZ;
  parameters.blockDimX = kernel.config.blockDimX;
  parameters.blockDimY = kernel.config.blockDimY;
  parameters.blockDimZ = kernel.config.blockDimZ;
  parameters.sharedMemBytes = kernel.config.sharedMemBytes;
  parameters.kernelParams = const_cast<void **>(kernel.parameters.data()); // the driver only reads
  if (CUresult status = cuda.driver.cuGraphExecKernelNodeSetParams(graph, node, &parameters);
      status != CUDA_SUCCESS)
    return cuda.error(status,
                      fmt::format("cannot launch '{}' with other addresses in a graph; capture it again",
                                  program.artifact().name),
                      ErrorKind::execution);
  return {};
}

Result<void> CudaLaunch::enqueue(size_t number, bool isNext, CUstream stream) {
  Kernel &kernel = kernels[number];
  const Launch &launch = *plan.launches[number].launch;
  // What an earlier launch stored to it is not read.
  if (kernel.storesToEmptyTensor)
    if (Result<void> cleared = enqueueZeros(
            *resources.cuda,
            {.address = resources.emptyTensor(Access::output), .rowBytes = LaunchResources::emptyTensorBytes},
            stream);
        !cleared)
      return cleared;
  CUlaunchConfig config = kernel.config;
  config.hStream = stream;
  if (launch.ordered && !isNext)
    --config.numAttrs;
  if (CUresult status = resources.cuda->driver.cuLaunchKernelEx(&config, kernel.function,
                                                                kernel.parameters.data(), nullptr);
      status != CUDA_SUCCESS)
    return resources.cuda->error(status,
                                 fmt::format("cannot launch '{}' with {} x {} x {} blocks of {} threads",
                                             launch.entry, config.gridDimX, config.gridDimY, config.gridDimZ,
                                             launch.threads),
                                 ErrorKind::execution);
  return noteNode(&CapturedLaunch::kernels, stream);
}
