// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/CudaPeers.h"

#include "runtime/cuda/CudaContext.h"
#include "runtime/device/FlagKernel.h"

#include <cstring>
#include <fmt/format.h>
#include <thread>

using namespace tlc;

static_assert(sizeof(CUipcMemHandle) == sizeof(MemoryHandle::allocation));

namespace {

CUdeviceptr asDevicePointer(const void *address) { return reinterpret_cast<CUdeviceptr>(address); }

class CudaFlags final : public StreamFlags {
public:
  explicit CudaFlags(std::shared_ptr<const CudaContext> context) : cuda(std::move(context)) {}
  ~CudaFlags() override {
    if (isAbandoned)
      return; // freeing memory would wait for the GPU
    CurrentContext scope(*cuda);
    if (own)
      cuda->driver.cuStreamDestroy(own);
    if (words)
      cuda->driver.cuMemFreeHost(words);
    if (module)
      cuda->driver.cuModuleUnload(module);
  }

  Result<void> create() {
    CurrentContext scope(*cuda);
    CUresult status = cuda->driver.cuStreamCreate(&own, CU_STREAM_NON_BLOCKING);
    if (status == CUDA_SUCCESS)
      status = cuda->driver.cuMemHostAlloc(&words, RankGroup::flagBytes, 0);
    if (status != CUDA_SUCCESS)
      return cuda->error(
          status, fmt::format("cannot make a stream and memory for flags of ranks on GPU {}", cuda->ordinal));
    status = cuda->driver.cuModuleLoadDataEx(&module, flagKernelText, 0, nullptr, nullptr);
    if (status == CUDA_SUCCESS)
      status = cuda->driver.cuModuleGetFunction(&kernel, module, flagKernelName);
    // A driver that loads lazily does it here, not at a launch, when streams may wait for each other.
    int registers = 0;
    if (status == CUDA_SUCCESS)
      status = cuda->driver.cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel);
    if (status != CUDA_SUCCESS)
      return cuda->error(status, fmt::format("cannot load the kernel of flags on GPU {}", cuda->ordinal));
    return {};
  }

  int ordinal() const override { return cuda->ordinal; }

  Result<void> enqueue(std::span<const FlagOperation> operations, Stream stream) override {
    CurrentContext scope(*cuda);
    for (FlagBatch &batch : batchesOf(operations)) {
      CUlaunchConfig config = {};
      config.gridDimX = config.gridDimY = config.gridDimZ = 1;
      config.blockDimX = FlagBatch::capacity;
      config.blockDimY = config.blockDimZ = 1;
      config.hStream = static_cast<CUstream>(stream.handle);
      void *parameter = &batch;
      if (CUresult status = cuda->driver.cuLaunchKernelEx(&config, kernel, &parameter, nullptr);
          status != CUDA_SUCCESS)
        return cuda->error(status,
                           fmt::format("cannot launch operations on flags of ranks on GPU {}", cuda->ordinal),
                           ErrorKind::execution);
    }
    return {};
  }

  Result<void> write(uint32_t value, std::span<uint32_t *const> places) override {
    CurrentContext scope(*cuda);
    std::memcpy(words, &value, sizeof(value));
    for (uint32_t *place : places)
      if (CUresult status = cuda->driver.cuMemcpyHtoDAsync(asDevicePointer(place), words, sizeof(value), own);
          status != CUDA_SUCCESS)
        return cuda->error(status,
                           fmt::format("cannot write flags of ranks from GPU {}, which has to reach the "
                                       "memory of all of them",
                                       cuda->ordinal),
                           ErrorKind::execution);
    return finish();
  }

  Result<bool> isCaptured(Stream stream) override {
    return cuda->isCaptured(static_cast<CUstream>(stream.handle));
  }

  Result<bool> isDone(Stream stream) override { return isDone(static_cast<CUstream>(stream.handle)); }

  Result<std::vector<uint32_t>> read(const uint32_t *address, size_t count) override {
    assert(count * sizeof(uint32_t) <= RankGroup::flagBytes);
    CurrentContext scope(*cuda);
    // Neither the stream that waits nor its kernels keep a copy by another stream between GPU and pinned
    // memory.
    if (CUresult status =
            cuda->driver.cuMemcpyDtoHAsync(words, asDevicePointer(address), count * sizeof(uint32_t), own);
        status != CUDA_SUCCESS)
      return cuda->error(status, "cannot copy the flags of this rank", ErrorKind::execution);
    if (Result<void> finished = finish(); !finished)
      return finished.error();
    std::vector<uint32_t> copied(count);
    std::memcpy(copied.data(), words, count * sizeof(uint32_t));
    return copied;
  }

  void abandon() override { isAbandoned = true; }

private:
  Result<bool> isDone(CUstream stream) {
    CurrentContext scope(*cuda);
    CUresult status = cuda->driver.cuStreamQuery(stream);
    if (status == CUDA_SUCCESS || status == CUDA_ERROR_NOT_READY)
      return status == CUDA_SUCCESS;
    return cuda->error(status, "work on the GPU failed", ErrorKind::execution);
  }

  /// Waits for the own stream, but not for ever.
  Result<void> finish() {
    using namespace std::chrono;
    constexpr seconds limit(2);
    for (const auto begin = steady_clock::now();; std::this_thread::sleep_for(microseconds(20))) {
      Result<bool> done = isDone(own);
      if (!done)
        return done.error();
      if (*done)
        return {};
      if (steady_clock::now() - begin <= limit)
        continue;
      abandon();
      return Error{ErrorKind::execution, fmt::format("GPU {} has not accessed flags of ranks within {} s",
                                                     cuda->ordinal, limit.count())};
    }
  }

  std::shared_ptr<const CudaContext> cuda;
  CUstream own = nullptr;
  void *words = nullptr; ///< pinned, of the host, for `read` and `write`
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  bool isAbandoned = false;
};

} // namespace

Result<MemoryHandle> tlc::exportMemory(int ordinal, const void *address, size_t bytes) {
  Result<std::shared_ptr<const CudaContext>> cuda = CudaContext::create(ordinal);
  if (!cuda)
    return cuda.error();
  const Driver &driver = (*cuda)->driver;
  CurrentContext scope(**cuda);
  CUdeviceptr base = 0;
  size_t allocated = 0;
  CUipcMemHandle allocation = {};
  CUresult status = driver.cuMemGetAddressRange(&base, &allocated, asDevicePointer(address));
  if (status == CUDA_SUCCESS)
    status = driver.cuIpcGetMemHandle(&allocation, base);
  if (status != CUDA_SUCCESS)
    return (*cuda)->error(
        status,
        fmt::format("expected memory of GPU {} that cuMemAlloc or cudaMalloc has allocated, "
                    "because no other has a handle, but got {}",
                    ordinal, fmt::ptr(address)),
        ErrorKind::invalidArgument);
  const size_t most = base + allocated - asDevicePointer(address);
  if (bytes > most)
    return Error{.message = fmt::format("expected at most {} bytes of memory of GPU {} from {} on, where its "
                                        "allocation ends, but got {}",
                                        most, ordinal, fmt::ptr(address), bytes)};
  MemoryHandle handle;
  std::memcpy(handle.allocation.data(), &allocation, sizeof(allocation));
  handle.offset = asDevicePointer(address) - base;
  return handle;
}

Result<void *> tlc::importMemory(int ordinal, const MemoryHandle &handle) {
  Result<std::shared_ptr<const CudaContext>> cuda = CudaContext::create(ordinal);
  if (!cuda)
    return cuda.error();
  CurrentContext scope(**cuda);
  CUipcMemHandle allocation = {};
  std::memcpy(&allocation, handle.allocation.data(), sizeof(allocation));
  CUdeviceptr base = 0;
  if (CUresult status =
          (*cuda)->driver.cuIpcOpenMemHandle(&base, allocation, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
      status != CUDA_SUCCESS)
    return (*cuda)->error(status,
                          fmt::format("cannot reach another process's memory from GPU {}; the other "
                                      "process must be of this machine and run, and its GPU visible here",
                                      ordinal));
  // The mapping is part of the context, which nothing else in the process may hold.
  CUcontext held = nullptr;
  (*cuda)->driver.cuDevicePrimaryCtxRetain(&held, (*cuda)->device);
  return reinterpret_cast<void *>(base + handle.offset);
}

Result<void> tlc::closeMemory(int ordinal, const MemoryHandle &handle, void *address) {
  Result<std::shared_ptr<const CudaContext>> cuda = CudaContext::create(ordinal);
  if (!cuda)
    return cuda.error();
  CurrentContext scope(**cuda);
  if (CUresult status = (*cuda)->driver.cuIpcCloseMemHandle(asDevicePointer(address) - handle.offset);
      status != CUDA_SUCCESS)
    return (*cuda)->error(
        status,
        fmt::format("expected the address of another process's memory, but got {}", fmt::ptr(address)),
        ErrorKind::invalidArgument);
  (*cuda)->driver.cuDevicePrimaryCtxRelease((*cuda)->device);
  return {};
}

Result<std::string> tlc::busIdOf(int ordinal) {
  Result<std::shared_ptr<const CudaContext>> cuda = CudaContext::create(ordinal);
  if (!cuda)
    return cuda.error();
  std::array<char, 24> busId = {};
  if (CUresult status = (*cuda)->driver.cuDeviceGetPCIBusId(busId.data(), int(busId.size()), (*cuda)->device);
      status != CUDA_SUCCESS)
    return (*cuda)->error(status, fmt::format("cannot tell the PCI bus of GPU {}", ordinal));
  return std::string(busId.data());
}

Result<void> tlc::checkReach(int ordinal, const std::string &busId) {
  Result<std::shared_ptr<const CudaContext>> cuda = CudaContext::create(ordinal);
  if (!cuda)
    return cuda.error();
  const Driver &driver = (*cuda)->driver;
  CUdevice other = 0;
  if (driver.cuDeviceGetByPCIBusId(&other, busId.c_str()) != CUDA_SUCCESS)
    return Error{ErrorKind::environment,
                 fmt::format("this process does not see GPU {}; CUDA_VISIBLE_DEVICES must show the GPUs of "
                             "all ranks",
                             busId)};
  int possible = 0;
  if (other != (*cuda)->device &&
      driver.cuDeviceCanAccessPeer(&possible, (*cuda)->device, other) == CUDA_SUCCESS && !possible)
    return Error{ErrorKind::environment, fmt::format("GPU {} has no peer access to GPU {}", ordinal, busId)};
  return {};
}

Result<void *> tlc::createFlagMemory(int ordinal) {
  Result<std::shared_ptr<const CudaContext>> cuda = CudaContext::create(ordinal);
  if (!cuda)
    return cuda.error();
  const Driver &driver = (*cuda)->driver;
  CurrentContext scope(**cuda);
  constexpr std::array<std::byte, RankGroup::flagBytes> zeros = {};
  CUdeviceptr memory = 0;
  CUresult status = driver.cuMemAlloc(&memory, zeros.size());
  if (status == CUDA_SUCCESS)
    status = driver.cuMemcpyHtoD(memory, zeros.data(), zeros.size());
  if (status == CUDA_SUCCESS)
    status = driver.cuStreamSynchronize(nullptr);
  if (status != CUDA_SUCCESS)
    return (*cuda)->error(status, fmt::format("cannot make memory for flags of ranks on GPU {}", ordinal));
  // The memory is part of the context, which nothing else in the process may hold.
  CUcontext held = nullptr;
  driver.cuDevicePrimaryCtxRetain(&held, (*cuda)->device);
  return reinterpret_cast<void *>(memory);
}

Result<std::unique_ptr<StreamFlags>> tlc::createCudaFlags(int ordinal) {
  Result<std::shared_ptr<const CudaContext>> cuda = CudaContext::create(ordinal);
  if (!cuda)
    return cuda.error();
  auto flags = std::make_unique<CudaFlags>(*cuda);
  if (Result<void> created = flags->create(); !created)
    return created.error();
  return std::unique_ptr<StreamFlags>(std::move(flags));
}
