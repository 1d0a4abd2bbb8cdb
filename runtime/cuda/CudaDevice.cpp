// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/CudaDevice.h"

#include "runtime/artifact/Verify.h"
#include "runtime/cuda/CudaProgram.h"
#include "runtime/cuda/CudaTimer.h"
#include "runtime/cuda/CudaTransfers.h"
#include "runtime/cuda/MemoryCheck.h"
#include "runtime/cuda/TensorMap.h"
#include "runtime/device/DeliverReports.h"
#include "runtime/support/Math.h"
#include "runtime/target/Target.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <mutex>
#include <set>

using namespace tlc;

namespace {

CUdeviceptr asDevicePointer(const void *address) { return reinterpret_cast<CUdeviceptr>(address); }

class CudaEvent final : public Event {
public:
  CudaEvent(std::shared_ptr<const CudaContext> context, CUevent event)
      : event(event), cuda(std::move(context)) {}
  ~CudaEvent() override {
    CurrentContext scope(*cuda);
    cuda->driver.cuEventDestroy(event); // the driver frees it when no stream waits for it any more
  }

  const CUevent event;

private:
  std::shared_ptr<const CudaContext> cuda;
};

class CudaDeviceImpl final : public Device {
public:
  CudaDeviceImpl(std::shared_ptr<const CudaContext> context, DeviceProperties properties,
                 const Target &target, CudaDeviceOptions options)
      : cuda(std::move(context)), description(std::move(properties)), target(target), memory(cuda),
        transferStreams(cuda), options(std::move(options)) {}
  ~CudaDeviceImpl() override {
    CurrentContext scope(*cuda);
    if (emptyTensors)
      cuda->driver.cuMemFree(emptyTensors);
  }

  /// Provides the memory that tensor maps of empty tensors point to.
  Result<void> create() {
    const std::array<std::byte, 2 * emptyTensorBytes> zeros = {};
    Result<void *> memory = allocate(zeros.size());
    if (!memory)
      return memory.error();
    emptyTensors = asDevicePointer(*memory);
    return copyToDevice(*memory, zeros.data(), zeros.size());
  }

  const DeviceProperties &properties() const override { return description; }
  const std::shared_ptr<const CudaContext> &context() const { return cuda; }

  Result<void *> allocate(size_t bytes) override;
  Result<void> free(void *address) override;
  Result<void> copyToDevice(void *device, const void *host, size_t bytes) override;
  Result<void> copyToHost(void *host, const void *device, size_t bytes) override;
  Result<std::shared_ptr<const LoadedProgram>> load(Artifact artifact) override;
  Result<std::unique_ptr<PreparedLaunch>> prepare(const LoadedProgram &loaded,
                                                  const LaunchArguments &arguments) override;
  Result<void> synchronize(Stream stream) override;
  Result<void> clear(void *address, size_t bytes, Stream stream) override;
  Result<std::unique_ptr<const Event>> record(Stream stream) override;
  Result<void> wait(const Event &event, Stream stream) override;
  Result<void> enablePeerAccess(Device &peer) override;
  Result<void> copyFromPeer(void *destination, Device &source, const void *address, size_t bytes) override;

private:
  /// The maps of empty tensors have an element all the same. That of inputs is 0 for ever; others may be
  /// stored to.
  static constexpr size_t emptyTensorBytes = 128;
  void *emptyTensor(Access access) const {
    return reinterpret_cast<void *>(emptyTensors + (access == Access::input ? 0 : emptyTensorBytes));
  }

  struct Prepared final : PreparedLaunch {
    Prepared(CudaDeviceImpl &device, const CudaProgram &program, LaunchPlan plan)
        : device(device), program(program), plan(std::move(plan)) {}
    Result<void> enqueue(Stream stream) override {
      return device.enqueue(program, plan, static_cast<CUstream>(stream.handle));
    }
    CudaDeviceImpl &device;
    const CudaProgram &program;
    LaunchPlan plan;
  };
  Result<void> enqueue(const CudaProgram &program, LaunchPlan &plan, CUstream stream);
  /// Remembers that a program that reports is launched, or captured.
  Result<void> noteLaunch(const CudaProgram &program, CUstream stream);
  /// What programs have reported since the last call. Waits for all streams, which may run them.
  Result<void> takeReports(Reports &reports);
  /// Another GPU.
  Result<const CudaContext *> peerContext(const Device &device) const;
  Result<void> enqueue(const ZeroFill &fill, CUstream stream) const;
  /// `isNext`: directly after the launch before it.
  Result<void> enqueue(const CudaProgram &program, size_t variant, PlannedLaunch &planned, bool isNext,
                       CUstream stream);

  std::shared_ptr<const CudaContext> cuda;
  DeviceProperties description;
  const Target &target;
  CUdeviceptr emptyTensors = 0; ///< one for inputs, one for others
  TensorMapEncoder tensorMaps;
  MemoryCheck memory;
  TransferStreams transferStreams;
  CudaDeviceOptions options;
  /// Programs that report. None is launched while they are read.
  std::mutex reporting;
  /// Since their reports were read, in the order of the first launches; kept until then.
  std::vector<std::shared_ptr<const CudaProgram>> launched;
  /// In graphs, which may run at any time.
  std::set<std::weak_ptr<const CudaProgram>, std::owner_less<>> captured;
};

Result<void *> CudaDeviceImpl::allocate(size_t bytes) {
  if (bytes == 0)
    return nullptr;
  CurrentContext scope(*cuda);
  CUdeviceptr address = 0;
  if (CUresult status = cuda->driver.cuMemAlloc(&address, bytes); status != CUDA_SUCCESS)
    return cuda->error(status, fmt::format("cannot allocate {} bytes on {}", bytes, description.name));
  return reinterpret_cast<void *>(address);
}

Result<void> CudaDeviceImpl::free(void *address) {
  if (!address)
    return {};
  CurrentContext scope(*cuda);
  if (CUresult status = cuda->driver.cuMemFree(asDevicePointer(address)); status != CUDA_SUCCESS)
    return cuda->error(status, fmt::format("cannot free address {}", fmt::ptr(address)),
                       ErrorKind::invalidArgument);
  return {};
}

Result<void> CudaDeviceImpl::copyToDevice(void *device, const void *host, size_t bytes) {
  if (bytes == 0)
    return {};
  CurrentContext scope(*cuda);
  CUresult status = cuda->driver.cuMemcpyHtoD(asDevicePointer(device), host, bytes);
  // The driver may return once the bytes are staged; a kernel on a stream that
  // does not wait for the default one could then read too early.
  if (status == CUDA_SUCCESS)
    status = cuda->driver.cuStreamSynchronize(nullptr);
  if (status != CUDA_SUCCESS)
    return cuda->error(status, fmt::format("cannot copy {} bytes to {}", bytes, description.name),
                       ErrorKind::execution);
  return {};
}

Result<void> CudaDeviceImpl::copyToHost(void *host, const void *device, size_t bytes) {
  if (bytes == 0)
    return {};
  CurrentContext scope(*cuda);
  if (CUresult status = cuda->driver.cuMemcpyDtoH(host, asDevicePointer(device), bytes);
      status != CUDA_SUCCESS)
    return cuda->error(status, fmt::format("cannot copy {} bytes from {}", bytes, description.name),
                       ErrorKind::execution);
  return {};
}

Result<std::shared_ptr<const LoadedProgram>> CudaDeviceImpl::load(Artifact artifact) {
  if (Result<void> valid = verify(artifact); !valid)
    return valid.error();
  const Target &wanted = *findTarget(artifact.target);
  int major = cuda->attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  int minor = cuda->attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  if (!wanted.runsOn(major, minor))
    return Error{.message =
                     fmt::format("'{}' is compiled for {}, but {} has compute capability {}.{}; "
                                 "compile it for {}",
                                 artifact.name, wanted.name, description.name, major, minor, target.name)};
  Result<std::shared_ptr<const CudaProgram>> program = CudaProgram::load(cuda, std::move(artifact));
  if (!program)
    return program.error();
  return std::shared_ptr<const LoadedProgram>(std::move(*program));
}

Result<const CudaContext *> CudaDeviceImpl::peerContext(const Device &device) const {
  auto *other = dynamic_cast<const CudaDeviceImpl *>(&device);
  if (!other)
    return Error{.message = fmt::format("expected a GPU beside {}, but got {}", description.name,
                                        device.properties().name)};
  if (other->cuda->ordinal == cuda->ordinal)
    return Error{.message = fmt::format("GPU {} is its own peer", cuda->ordinal)};
  return other->cuda.get();
}

Result<void> CudaDeviceImpl::enablePeerAccess(Device &peer) {
  Result<const CudaContext *> other = peerContext(peer);
  if (!other)
    return other.error();
  CurrentContext scope(*cuda);
  int possible = 0;
  CUresult status = cuda->driver.cuDeviceCanAccessPeer(&possible, cuda->device, (*other)->device);
  if (status == CUDA_SUCCESS && !possible)
    return Error{ErrorKind::environment,
                 fmt::format("GPU {} cannot reach the memory of GPU {} on this machine", cuda->ordinal,
                             (*other)->ordinal)};
  if (status == CUDA_SUCCESS)
    status = cuda->driver.cuCtxEnablePeerAccess((*other)->context, 0);
  if (status != CUDA_SUCCESS && status != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
    return cuda->error(
        status, fmt::format("cannot let GPU {} access memory of GPU {}", cuda->ordinal, (*other)->ordinal));
  memory.addPeer((*other)->ordinal);
  return {};
}

Result<void> CudaDeviceImpl::copyFromPeer(void *destination, Device &source, const void *address,
                                          size_t bytes) {
  Result<const CudaContext *> other = peerContext(source);
  if (!other)
    return other.error();
  if (bytes == 0)
    return {};
  CurrentContext scope(*cuda);
  CUresult status = cuda->driver.cuMemcpyPeer(asDevicePointer(destination), cuda->context,
                                              asDevicePointer(address), (*other)->context, bytes);
  if (status == CUDA_SUCCESS)
    status = cuda->driver.cuStreamSynchronize(nullptr);
  if (status != CUDA_SUCCESS)
    return cuda->error(
        status,
        fmt::format("cannot copy {} bytes from GPU {} to GPU {}", bytes, (*other)->ordinal, cuda->ordinal),
        ErrorKind::execution);
  return {};
}

Result<void> CudaDeviceImpl::enqueue(const ZeroFill &fill, CUstream stream) const {
  const Driver &driver = cuda->driver;
  const CUdeviceptr address = asDevicePointer(fill.address);
  CUresult status = fill.rows == 1 ? driver.cuMemsetD8Async(address, 0, fill.rowBytes, stream)
                                   : driver.cuMemsetD2D8Async(address, fill.pitchBytes, 0, fill.rowBytes,
                                                              fill.rows, stream);
  if (status != CUDA_SUCCESS)
    return cuda->error(
        status, fmt::format("cannot clear {} rows of {} bytes at {:#x}", fill.rows, fill.rowBytes, address),
        ErrorKind::execution);
  return {};
}

Result<void> CudaDeviceImpl::enqueue(const CudaProgram &program, size_t variant, PlannedLaunch &planned,
                                     bool isNext, CUstream stream) {
  const Launch &launch = *planned.launch;
  for (const PlannedTensorMap &map : planned.tensorMaps) {
    const TensorArgument &argument = program.artifact().tensors[map.tensor];
    TensorMapValues values = map.values;
    if (!values.address) {
      values.address = emptyTensor(argument.access);
      // What an earlier launch stored to it is not read.
      if (argument.access != Access::input)
        if (Result<void> cleared = enqueue(ZeroFill{values.address, emptyTensorBytes}, stream); !cleared)
          return cleared;
    }
    if (CUresult status = tensorMaps.encode(cuda->driver, values, &planned.parameters[map.offset]);
        status != CUDA_SUCCESS)
      return cuda->error(status,
                         fmt::format("argument '{}': the driver refuses its tensor map", argument.name));
  }

  std::array<CUlaunchAttribute, 2> attributes = {};
  unsigned count = 0;
  if (launch.cluster != std::array<unsigned, 3>{1, 1, 1}) {
    attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[count++].value.clusterDim = {launch.cluster[0], launch.cluster[1], launch.cluster[2]};
  }
  if (launch.ordered && isNext) {
    attributes[count].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attributes[count++].value.programmaticStreamSerializationAllowed = 1;
  }
  CUlaunchConfig config = {};
  config.gridDimX = planned.grid[0];
  config.gridDimY = planned.grid[1];
  config.gridDimZ = planned.grid[2];
  config.blockDimX = launch.threads;
  config.blockDimY = 1;
  config.blockDimZ = 1;
  config.sharedMemBytes = launch.sharedBytes;
  config.hStream = stream;
  config.attrs = attributes.data();
  config.numAttrs = count;

  // One address per parameter, not one buffer of all: the driver aligns parameters in a
  // bank that does not begin at a multiple of 64, so tensor maps after others are at other places there.
  std::vector<void *> parameters;
  size_t offset = 0;
  for (const KernelParameter &parameter : launch.parameters) {
    const size_t alignment = parameterAlignment(program.artifact(), parameter);
    offset = alignTo(offset, alignment);
    parameters.push_back(&planned.parameters[offset]);
    offset += parameterBytes(program.artifact(), parameter);
  }
  if (CUresult status = cuda->driver.cuLaunchKernelEx(&config, program.function(variant, planned.index),
                                                      parameters.data(), nullptr);
      status != CUDA_SUCCESS)
    return cuda->error(status,
                       fmt::format("cannot launch '{}' with {} x {} x {} blocks of {} threads", launch.entry,
                                   planned.grid[0], planned.grid[1], planned.grid[2], launch.threads),
                       ErrorKind::execution);
  return {};
}

Result<std::unique_ptr<PreparedLaunch>> CudaDeviceImpl::prepare(const LoadedProgram &loaded,
                                                                const LaunchArguments &arguments) {
  auto *program = dynamic_cast<const CudaProgram *>(&loaded);
  if (!program || program->context().context != cuda->context)
    return Error{.message = fmt::format("'{}' was loaded by another device than {}", loaded.artifact().name,
                                        description.name)};
  const Artifact &artifact = program->artifact();
  Result<LaunchPlan> plan = planLaunch(artifact, arguments, description);
  if (!plan)
    return plan.error();
  CurrentContext scope(*cuda);
  for (size_t i = 0; i < artifact.tensors.size(); ++i) {
    if (Result<void> valid = memory.check(artifact.tensors[i], arguments.tensors[i]); !valid)
      return valid.error();
  }
  return std::unique_ptr<PreparedLaunch>(std::make_unique<Prepared>(*this, *program, std::move(*plan)));
}

Result<void> CudaDeviceImpl::enqueue(const CudaProgram &program, LaunchPlan &plan, CUstream stream) {
  CurrentContext scope(*cuda);
  std::unique_lock<std::mutex> notRead(reporting, std::defer_lock);
  if (program.hasReports()) {
    notRead.lock();
    if (Result<void> noted = noteLaunch(program, stream); !noted)
      return noted;
  }
  for (const ZeroFill &fill : plan.zeroFills) {
    if (Result<void> done = enqueue(fill, stream); !done)
      return done;
  }
  return enqueueWithTransfers(transferStreams, plan, stream, [&](size_t number, bool isNext) {
    return enqueue(program, plan.variantIndex, plan.launches[number], isNext, stream);
  });
}

Result<void> CudaDeviceImpl::synchronize(Stream stream) {
  CurrentContext scope(*cuda);
  if (CUresult status = cuda->driver.cuStreamSynchronize(static_cast<CUstream>(stream.handle));
      status != CUDA_SUCCESS)
    return cuda->error(status, "work on the GPU failed", ErrorKind::execution);
  Reports reports;
  Result<void> taken = takeReports(reports);
  return deliver(reports, options.print, std::move(taken));
}

Result<void> CudaDeviceImpl::clear(void *address, size_t bytes, Stream stream) {
  if (bytes == 0)
    return {};
  CurrentContext scope(*cuda);
  return enqueue(ZeroFill{address, bytes}, static_cast<CUstream>(stream.handle));
}

Result<std::unique_ptr<const Event>> CudaDeviceImpl::record(Stream stream) {
  CurrentContext scope(*cuda);
  CUevent event = nullptr;
  if (CUresult status = cuda->driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING); status != CUDA_SUCCESS)
    return cuda->error(status, "cannot create an event");
  auto recorded = std::make_unique<const CudaEvent>(cuda, event);
  if (CUresult status = cuda->driver.cuEventRecord(event, static_cast<CUstream>(stream.handle));
      status != CUDA_SUCCESS)
    return cuda->error(status, "cannot record an event", ErrorKind::execution);
  return std::unique_ptr<const Event>(std::move(recorded));
}

Result<void> CudaDeviceImpl::wait(const Event &event, Stream stream) {
  auto *recorded = dynamic_cast<const CudaEvent *>(&event);
  if (!recorded)
    return Error{.message = fmt::format("expected an event of a GPU for {} to wait for, but got one of an "
                                        "emulated device",
                                        description.name)};
  CurrentContext scope(*cuda);
  if (CUresult status =
          cuda->driver.cuStreamWaitEvent(static_cast<CUstream>(stream.handle), recorded->event, 0);
      status != CUDA_SUCCESS)
    return cuda->error(status, "cannot wait for an event", ErrorKind::execution);
  return {};
}

Result<void> CudaDeviceImpl::noteLaunch(const CudaProgram &program, CUstream stream) {
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  if (CUresult status = cuda->driver.cuStreamIsCapturing(stream, &capture); status != CUDA_SUCCESS)
    return cuda->error(status, "cannot tell whether the stream is captured", ErrorKind::execution);
  if (capture != CU_STREAM_CAPTURE_STATUS_NONE)
    captured.insert(program.weak_from_this());
  else if (std::ranges::none_of(launched, [&](const auto &known) { return known.get() == &program; }))
    launched.push_back(program.shared_from_this());
  return {};
}

Result<void> CudaDeviceImpl::takeReports(Reports &reports) {
  const std::lock_guard lock(reporting);
  std::erase_if(captured, [](const auto &known) { return known.expired(); });
  if (launched.empty() && captured.empty())
    return {};
  if (CUresult status = cuda->driver.cuCtxSynchronize(); status != CUDA_SUCCESS)
    return cuda->error(status, "work on the GPU failed", ErrorKind::execution);
  for (; !launched.empty(); launched.erase(launched.begin()))
    if (Result<void> taken = launched.front()->takeReports(reports); !taken)
      return taken;
  for (const std::weak_ptr<const CudaProgram> &known : captured)
    if (std::shared_ptr<const CudaProgram> program = known.lock())
      if (Result<void> taken = program->takeReports(reports); !taken)
        return taken;
  return {};
}

} // namespace

Result<std::unique_ptr<Device>> tlc::createCudaDevice(int ordinal, CudaDeviceOptions options) {
  Result<std::shared_ptr<const CudaContext>> context = CudaContext::create(ordinal);
  if (!context)
    return context.error();
  const CudaContext &cuda = **context;
  std::array<char, 256> name = {};
  if (CUresult status = cuda.driver.cuDeviceGetName(name.data(), name.size(), cuda.device);
      status != CUDA_SUCCESS)
    return cuda.error(status, fmt::format("cannot identify GPU {}", ordinal));
  int major = cuda.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  int minor = cuda.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  const Target *target = findTargetForDevice(major, minor);
  if (!target)
    return Error{ErrorKind::environment,
                 fmt::format("expected a GPU of compute capability 8.0 or later, but {} has {}.{}",
                             name.data(), major, minor)};
  const int all = cuda.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
            multiprocessors = options.multiprocessors.value_or(all);
  if (multiprocessors < 1 || multiprocessors > all)
    return Error{ErrorKind::invalidArgument,
                 fmt::format("expected 1 to {} multiprocessors because {} has {}, "
                             "but got {}",
                             all, name.data(), all, multiprocessors)};
  DeviceProperties properties = {.name = name.data(),
                                 .target = std::string(target->name),
                                 .multiprocessors = multiprocessors,
                                 .ordinal = ordinal};
  auto device =
      std::make_unique<CudaDeviceImpl>(*context, std::move(properties), *target, std::move(options));
  if (Result<void> created = device->create(); !created)
    return created.error();
  return std::unique_ptr<Device>(std::move(device));
}

Result<int> tlc::currentCudaOrdinal() {
  Result<Driver> driver = Driver::open();
  if (!driver)
    return driver.error();
  CUcontext current = nullptr;
  CUdevice device = 0;
  if (driver->cuCtxGetCurrent(&current) != CUDA_SUCCESS || !current)
    return 0;
  if (CUresult status = driver->cuCtxGetDevice(&device); status != CUDA_SUCCESS)
    return Error{ErrorKind::environment,
                 fmt::format("cannot tell the GPU of the current context: {}", driver->describe(status))};
  return static_cast<int>(device); // a device's handle is its ordinal
}

const CudaCompilation *tlc::cudaCompilationOf(const LoadedProgram &program) {
  auto *cuda = dynamic_cast<const CudaProgram *>(&program);
  return cuda ? &cuda->compilation() : nullptr;
}

Result<std::unique_ptr<CudaTimer>> tlc::createCudaTimer(const Device &device) {
  auto *cuda = dynamic_cast<const CudaDeviceImpl *>(&device);
  if (!cuda)
    return Error{.message =
                     fmt::format("expected a GPU to measure time on, but got {}", device.properties().name)};
  return createCudaTimer(cuda->context());
}
