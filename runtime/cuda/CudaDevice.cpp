// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/CudaDevice.h"

#include "runtime/artifact/Verify.h"
#include "runtime/cuda/CudaDeviceOnContext.h"
#include "runtime/cuda/CudaLaunch.h"
#include "runtime/cuda/CudaStreams.h"
#include "runtime/device/DeliverReports.h"
#include "runtime/device/StreamChecks.h"
#include "runtime/target/Target.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <mutex>

using namespace tlc;

namespace {

CUdeviceptr asDevicePointer(const void *address) { return reinterpret_cast<CUdeviceptr>(address); }

class CudaDeviceImpl final : public Device {
public:
  CudaDeviceImpl(std::shared_ptr<const CudaContext> context, DeviceProperties properties,
                 const Target &target, CudaDeviceOptions options)
      : cuda(std::move(context)), description(std::move(properties)), target(target), launches(cuda),
        options(std::move(options)) {
    launches.waitsForLaunches = this->options.waitsForLaunches;
  }
  ~CudaDeviceImpl() override {
    CurrentContext scope(*cuda);
    if (launches.emptyTensors)
      cuda->driver.cuMemFree(launches.emptyTensors);
  }

  /// Provides the memory that tensor maps of empty tensors point to.
  Result<void> create() {
    const std::array<std::byte, 2 * LaunchResources::emptyTensorBytes> zeros = {};
    Result<void *> memory = allocate(zeros.size(), {});
    if (!memory)
      return memory.error();
    launches.emptyTensors = asDevicePointer(*memory);
    return copyToDevice(*memory, zeros.data(), zeros.size(), {});
  }

  const DeviceProperties &properties() const override { return description; }

  Result<void *> allocate(size_t bytes, std::optional<Stream> on) override;
  Result<void> free(void *address, std::optional<Stream> on) override;
  Result<void *> allocateHost(size_t bytes) override;
  Result<void> freeHost(void *address) override;
  Result<void> copyToDevice(void *device, const void *host, size_t bytes, std::optional<Stream> on) override;
  Result<void> copyToHost(void *host, const void *device, size_t bytes, std::optional<Stream> on) override;
  Result<std::shared_ptr<const LoadedProgram>> load(Artifact artifact) override;
  Result<std::unique_ptr<PreparedLaunch>> prepare(const LoadedProgram &loaded,
                                                  const LaunchArguments &arguments) override;
  Result<void> launch(const LoadedProgram &loaded, const LaunchArguments &arguments, Stream stream) override;
  Result<void> synchronize(Stream stream) override;
  Result<void> clear(void *address, size_t bytes, Stream stream) override;
  Result<std::unique_ptr<OwnedStream>> createStream() override {
    if (Result<void> allowed = checkNoCapture("create a stream"); !allowed)
      return allowed.error();
    return createCudaStream(cuda);
  }
  Result<std::unique_ptr<const Event>> record(Stream stream, EventTime time) override {
    return recordCudaEvent(cuda, stream, time);
  }
  Result<double> elapsed(const Event &from, const Event &to) override {
    if (Result<void> allowed = checkNoCapture("measure a time"); !allowed)
      return allowed.error();
    return elapsedOnGpu(*cuda, from, to);
  }
  Result<void> wait(const Event &event, Stream stream) override { return waitOnGpu(*cuda, event, stream); }
  Result<std::unique_ptr<Graph>> capture(Stream stream,
                                         const std::function<Result<void>()> &enqueue) override {
    return launches.captures.capture(asStream(stream), enqueue);
  }
  Result<bool> isCaptured(Stream stream) override { return cuda->isCaptured(asStream(stream)); }
  Result<void> enablePeerAccess(Device &peer) override;
  Result<void> copyFromPeer(void *destination, Device &source, const void *address, size_t bytes) override;

private:
  /// An error while this thread captures a stream, which an attempt on no stream, or on one that is captured,
  /// would end.
  Result<void> checkNoCapture(std::string_view attempt, std::optional<Stream> on = {});
  /// `start() -> CUresult` copies "to" or "from" this device, on the stream or to the end.
  template <class Start>
  Result<void> copy(size_t bytes, std::string_view direction, std::optional<Stream> on, const Start &start);
  /// Gives this GPU access to what is allocated on streams of the other one.
  CUresult accessPoolOf(const CudaContext &other) const;
  /// A program that is loaded here.
  Result<const CudaProgram *> ownProgram(const LoadedProgram &loaded) const;
  /// Another GPU.
  Result<const CudaContext *> peerContext(const Device &device) const;

  std::shared_ptr<const CudaContext> cuda;
  DeviceProperties description;
  const Target &target;
  LaunchResources launches;
  CudaDeviceOptions options;
};

Result<void> CudaDeviceImpl::checkNoCapture(std::string_view attempt, std::optional<Stream> on) {
  if (!on)
    return CaptureRegistry::ofProcess().isOfThisThread() ? errorInCapture(attempt) : Result<void>();
  Result<CudaCapture *> capture = launches.captures.find(asStream(*on));
  if (!capture)
    return capture.error();
  return *capture ? errorInCapture(attempt) : Result<void>();
}

Result<void *> CudaDeviceImpl::allocate(size_t bytes, std::optional<Stream> on) {
  if (bytes == 0)
    return nullptr;
  if (Result<void> allowed = checkNoCapture("allocate memory", on); !allowed)
    return allowed.error();
  CurrentContext scope(*cuda);
  CUdeviceptr address = 0;
  const CUresult status = on ? cuda->driver.cuMemAllocAsync(&address, bytes, asStream(*on))
                             : cuda->driver.cuMemAlloc(&address, bytes);
  if (status != CUDA_SUCCESS)
    return cuda->error(status, fmt::format("cannot allocate {} bytes on {}", bytes, description.name));
  return reinterpret_cast<void *>(address);
}

Result<void> CudaDeviceImpl::free(void *address, std::optional<Stream> on) {
  if (!address)
    return {};
  if (Result<void> allowed = checkNoCapture("free memory", on); !allowed)
    return allowed;
  CurrentContext scope(*cuda);
  const CUresult status = on ? cuda->driver.cuMemFreeAsync(asDevicePointer(address), asStream(*on))
                             : cuda->driver.cuMemFree(asDevicePointer(address));
  if (status != CUDA_SUCCESS)
    return cuda->error(status, fmt::format("cannot free address {}", fmt::ptr(address)),
                       ErrorKind::invalidArgument);
  return {};
}

Result<void *> CudaDeviceImpl::allocateHost(size_t bytes) {
  if (bytes == 0)
    return nullptr;
  if (Result<void> allowed = checkNoCapture("allocate pinned memory"); !allowed)
    return allowed.error();
  CurrentContext scope(*cuda);
  void *address = nullptr;
  if (CUresult status = cuda->driver.cuMemHostAlloc(&address, bytes, CU_MEMHOSTALLOC_PORTABLE);
      status != CUDA_SUCCESS)
    return cuda->error(status, fmt::format("cannot allocate {} bytes of pinned memory", bytes));
  return address;
}

Result<void> CudaDeviceImpl::freeHost(void *address) {
  if (!address)
    return {};
  if (Result<void> allowed = checkNoCapture("free pinned memory"); !allowed)
    return allowed;
  CurrentContext scope(*cuda);
  if (CUresult status = cuda->driver.cuMemFreeHost(address); status != CUDA_SUCCESS)
    return cuda->error(status, fmt::format("cannot free pinned memory at {}", fmt::ptr(address)),
                       ErrorKind::invalidArgument);
  return {};
}

template <class Start>
Result<void> CudaDeviceImpl::copy(size_t bytes, std::string_view direction, std::optional<Stream> on,
                                  const Start &start) {
  if (bytes == 0)
    return {};
  if (!on)
    if (Result<void> allowed = checkNoCapture("copy without a stream"); !allowed)
      return allowed;
  CurrentContext scope(*cuda);
  if (CUresult status = start(); status != CUDA_SUCCESS)
    return cuda->error(status, fmt::format("cannot copy {} bytes {} {}", bytes, direction, description.name),
                       ErrorKind::execution);
  if (!on)
    cuda->log.endStream({});
  return {};
}

Result<void> CudaDeviceImpl::copyToDevice(void *device, const void *host, size_t bytes,
                                          std::optional<Stream> on) {
  return copy(bytes, "to", on, [&] {
    if (on)
      return cuda->driver.cuMemcpyHtoDAsync(asDevicePointer(device), host, bytes, asStream(*on));
    const CUresult status = cuda->driver.cuMemcpyHtoD(asDevicePointer(device), host, bytes);
    // The driver may return once the bytes are staged; a kernel on a stream that
    // does not wait for the default one could then read too early.
    return status == CUDA_SUCCESS ? cuda->driver.cuStreamSynchronize(nullptr) : status;
  });
}

Result<void> CudaDeviceImpl::copyToHost(void *host, const void *device, size_t bytes,
                                        std::optional<Stream> on) {
  return copy(bytes, "from", on, [&] {
    return on ? cuda->driver.cuMemcpyDtoHAsync(host, asDevicePointer(device), bytes, asStream(*on))
              : cuda->driver.cuMemcpyDtoH(host, asDevicePointer(device), bytes);
  });
}

Result<std::shared_ptr<const LoadedProgram>> CudaDeviceImpl::load(Artifact artifact) {
  if (CaptureRegistry::ofProcess().isOfThisThread())
    return errorOfLoadInCapture(artifact.name);
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
  if (major != wanted.computeMajor) // of later devices machine code runs on those of the same major version
    for (Variant &variant : artifact.variants) {
      if (variant.ptx.empty() && !variant.launches.empty())
        return Error{ErrorKind::environment,
                     fmt::format("'{}' has machine code for {} alone, but {} has compute capability {}.{}",
                                 artifact.name, wanted.name, description.name, major, minor)};
      variant.cubin.clear();
    }
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

CUresult CudaDeviceImpl::accessPoolOf(const CudaContext &other) const {
  CUmemoryPool pool = nullptr;
  CUresult status = cuda->driver.cuDeviceGetMemPool(&pool, other.device);
  if (status == CUDA_ERROR_NOT_SUPPORTED) // then nothing is allocated on streams
    return CUDA_SUCCESS;
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = cuda->device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return status == CUDA_SUCCESS ? cuda->driver.cuMemPoolSetAccess(pool, &access, 1) : status;
}

Result<void> CudaDeviceImpl::enablePeerAccess(Device &peer) {
  Result<const CudaContext *> other = peerContext(peer);
  if (!other)
    return other.error();
  if (Result<void> allowed = checkNoCapture("enable peer access"); !allowed)
    return allowed;
  CurrentContext scope(*cuda);
  int possible = 0;
  CUresult status = cuda->driver.cuDeviceCanAccessPeer(&possible, cuda->device, (*other)->device);
  if (status == CUDA_SUCCESS && !possible)
    return Error{ErrorKind::environment,
                 fmt::format("GPU {} cannot reach the memory of GPU {} on this machine", cuda->ordinal,
                             (*other)->ordinal)};
  if (status == CUDA_SUCCESS)
    status = cuda->driver.cuCtxEnablePeerAccess((*other)->context, 0);
  if (status == CUDA_SUCCESS || status == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
    status = accessPoolOf(**other);
  if (status != CUDA_SUCCESS)
    return cuda->error(
        status, fmt::format("cannot let GPU {} access memory of GPU {}", cuda->ordinal, (*other)->ordinal));
  launches.memory.addPeer((*other)->ordinal);
  return {};
}

Result<void> CudaDeviceImpl::copyFromPeer(void *destination, Device &source, const void *address,
                                          size_t bytes) {
  Result<const CudaContext *> other = peerContext(source);
  if (!other)
    return other.error();
  if (bytes == 0)
    return {};
  if (Result<void> allowed = checkNoCapture("copy from a peer"); !allowed)
    return allowed;
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
  cuda->log.endStream({});
  return {};
}

Result<const CudaProgram *> CudaDeviceImpl::ownProgram(const LoadedProgram &loaded) const {
  auto *program = dynamic_cast<const CudaProgram *>(&loaded);
  if (!program || program->context().context != cuda->context)
    return Error{.message = fmt::format("'{}' was loaded by another device than {}", loaded.artifact().name,
                                        description.name)};
  return program;
}

Result<std::unique_ptr<PreparedLaunch>> CudaDeviceImpl::prepare(const LoadedProgram &loaded,
                                                                const LaunchArguments &arguments) {
  Result<const CudaProgram *> program = ownProgram(loaded);
  if (!program)
    return program.error();
  return CudaLaunch::create(launches, **program, arguments, description);
}

Result<void> CudaDeviceImpl::launch(const LoadedProgram &loaded, const LaunchArguments &arguments,
                                    Stream stream) {
  Result<const CudaProgram *> program = ownProgram(loaded);
  if (!program)
    return program.error();
  return CudaLaunch::launch(launches, **program, arguments, description, stream);
}

Result<void> CudaDeviceImpl::synchronize(Stream stream) {
  if (Result<void> allowed = checkNoCapture("synchronize"); !allowed)
    return allowed;
  CurrentContext scope(*cuda);
  if (CUresult status = cuda->driver.cuStreamSynchronize(static_cast<CUstream>(stream.handle));
      status != CUDA_SUCCESS)
    return cuda->error(status, "work on the GPU failed", ErrorKind::execution);
  Reports reports;
  Result<void> taken = launches.reporting.take(reports);
  cuda->log.endStream(stream);
  return deliver(reports, options.print, std::move(taken));
}

Result<void> CudaDeviceImpl::clear(void *address, size_t bytes, Stream stream) {
  if (bytes == 0)
    return {};
  CurrentContext scope(*cuda);
  return enqueueZeros(*cuda, {.address = address, .rowBytes = bytes}, static_cast<CUstream>(stream.handle));
}

} // namespace

Result<std::unique_ptr<Device>> tlc::createCudaDevice(int ordinal, CudaDeviceOptions options) {
  Result<std::shared_ptr<const CudaContext>> context = CudaContext::create(ordinal);
  if (!context)
    return context.error();
  return createCudaDevice(*context, std::move(options));
}

Result<std::unique_ptr<Device>> tlc::createCudaDevice(std::shared_ptr<const CudaContext> context,
                                                      CudaDeviceOptions options) {
  const CudaContext &cuda = *context;
  std::array<char, 256> name = {};
  if (CUresult status = cuda.driver.cuDeviceGetName(name.data(), name.size(), cuda.device);
      status != CUDA_SUCCESS)
    return cuda.error(status, fmt::format("cannot identify GPU {}", cuda.ordinal));
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
                                 .ordinal = cuda.ordinal,
                                 .code = ProgramCode::cubin};
  auto device = std::make_unique<CudaDeviceImpl>(std::move(context), std::move(properties), *target,
                                                 std::move(options));
  if (Result<void> created = device->create(); !created)
    return created.error();
  return std::unique_ptr<Device>(std::move(device));
}

/// Opens the driver at the first call that succeeds.
static Result<const Driver *> openedDriver() {
  static std::mutex mutex;
  static std::optional<const Driver> opened;
  const std::lock_guard lock(mutex);
  if (!opened) {
    Result<Driver> driver = Driver::open();
    if (!driver)
      return driver.error();
    opened.emplace(*driver);
  }
  return &*opened;
}

Result<int> tlc::currentCudaOrdinal() {
  Result<const Driver *> found = openedDriver();
  if (!found)
    return found.error();
  const Driver *driver = *found;
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
