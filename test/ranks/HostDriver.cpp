// SPDX-License-Identifier: Apache-2.0
/// \file
/// A libcuda.so.1 without a GPU, for ranks that are processes: the memory of its GPUs is the host's, a stream
/// is a thread, and every kernel is one of `passOn` (RankRing.h) or that of flags. What ranks do to reach and
/// to meet each other runs as it does on GPUs.
#include "runtime/device/FlagKernel.h"
#include "test/ranks/RingShape.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <deque>
#include <fcntl.h>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

constexpr int gpus = 2;
constexpr size_t tileBytes = size_t(tlc::test::ringRows * tlc::test::ringColumns) * sizeof(float);

using Task = std::function<void()>;

/// Until the condition holds, or for ever.
template <class Condition> void poll(Condition condition) {
  while (!condition())
    std::this_thread::sleep_for(std::chrono::microseconds(5));
}

std::atomic_ref<uint32_t> wordAt(CUdeviceptr address) {
  return std::atomic_ref(*reinterpret_cast<uint32_t *>(address));
}

} // namespace

/// A GPU, whose number is the place in this array.
struct CUctx_st {};
static std::array<CUctx_st, gpus> contexts;
static thread_local std::vector<CUcontext> current;

/// Tasks of a graph, in an order that its branches may have, and the streams that it is captured from.
struct CUgraph_st {
  std::vector<Task> tasks;
  std::vector<CUstream> streams;
};

/// A place on a stream, or in a graph.
struct CUevent_st {
  std::shared_ptr<std::atomic<bool>> isReached = std::make_shared<std::atomic<bool>>(true);
  CUgraph graph = nullptr;
};

/// Does its tasks one after the other, on a thread that lives as long as the process.
struct CUstream_st {
  CUstream_st() { std::thread(&CUstream_st::work, this).detach(); }
  void push(Task task) {
    const std::lock_guard lock(mutex);
    if (captured)
      return captured->tasks.push_back(std::move(task));
    tasks.push_back(std::move(task));
    ++unfinished;
    changed.notify_all();
  }
  bool isDone() {
    const std::lock_guard lock(mutex);
    return tasks.empty();
  }
  void synchronize() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return tasks.empty(); });
  }
  CUgraph captured = nullptr;
  static inline std::atomic<int> unfinished = 0; ///< tasks of all streams

private:
  void work() {
    for (std::unique_lock lock(mutex);;) {
      changed.wait(lock, [&] { return !tasks.empty(); });
      lock.unlock();
      tasks.front()();
      lock.lock();
      tasks.pop_front();
      --unfinished;
      changed.notify_all();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> tasks; ///< the first one is being done
};

namespace {

CUstream_st &streamOf(CUstream stream) {
  static CUstream usual = new CUstream_st; // its thread may not end before it
  return stream ? *stream : *usual;
}

int currentGpu() { return current.empty() ? 0 : int(current.back() - contexts.data()); }

struct Allocation {
  size_t bytes = 0;
  int gpu = 0, file = -1; ///< without a file it is another process's
  int importer = -1;      ///< the GPU whose context it is then in
};

/// What a CUipcMemHandle has in it.
struct Handle {
  int gpu, process, file;
  size_t bytes;
};
static_assert(sizeof(Handle) <= sizeof(CUipcMemHandle));

std::array<std::atomic<int>, gpus> retained; ///< primary contexts

std::mutex memoryMutex;
std::map<CUdeviceptr, Allocation> allocations;

/// The allocation that an address is in, or the end.
std::map<CUdeviceptr, Allocation>::iterator allocationOf(CUdeviceptr address) {
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin() || address >= std::prev(next)->first + std::prev(next)->second.bytes)
    return allocations.end();
  return std::prev(next);
}

CUresult map(CUdeviceptr *address, const Allocation &allocation, int file) {
  void *memory = ::mmap(nullptr, allocation.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED)
    return CUDA_ERROR_MAP_FAILED;
  *address = reinterpret_cast<CUdeviceptr>(memory);
  const std::lock_guard lock(memoryMutex);
  allocations[*address] = allocation;
  return CUDA_SUCCESS;
}

/// Parameters of a kernel of `passOn`, in the order of its entry, which has those that it uses.
struct PassParameters {
  PassParameters(void **values, bool passes) : passes(passes) {
    auto take = [&](auto &field, bool hasStride) {
      std::memcpy(&field, *values, sizeof(field));
      values += hasStride ? 2 : 1;
    };
    take(rank, false);
    if (passes) {
      take(ranks, false);
      take(x, true);
    }
    take(y, true);
    take(passed, true);
    take(arrived, false);
  }
  void run() const {
    if (passes) {
      const uint32_t next = (rank + 1) % ranks;
      std::memcpy(passed[next], x, tileBytes);
      ++wordAt(arrived[next]);
    }
    poll([&] { return wordAt(arrived[rank]).load() >= 1; });
    std::memcpy(y, passed[rank], tileBytes);
  }

  bool passes = true; ///< else a transfer does
  uint32_t rank = 0, ranks = 0;
  void *x = nullptr, *y = nullptr;
  std::array<void *, 8> passed = {};
  std::array<CUdeviceptr, 8> arrived = {};
};

/// Of functions that ranks do not need.
CUresult unsupported() { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult unneeded() { return CUDA_SUCCESS; }

} // namespace

CUresult cuDriverGetVersion(int *version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult status, const char **name) {
  *name = status == CUDA_ERROR_NOT_FOUND ? "CUDA_ERROR_NOT_FOUND" : "CUDA_ERROR";
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult, const char **text) {
  *text = "of the driver without a GPU";
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  *count = gpus;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice) {
  std::snprintf(name, size_t(length), "host");
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR            ? 9
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR          ? 0
           : attribute == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN ? 1 << 17
                                                                                : 4;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *name, int length, CUdevice device) {
  std::snprintf(name, size_t(length), "0000:0%d:00.0", device + 1);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *name) {
  return std::sscanf(name, "0000:%d:00.0", device) == 1 && --*device < gpus ? CUDA_SUCCESS
                                                                            : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  *context = &contexts[size_t(device)];
  ++retained[size_t(device)];
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  if (--retained[size_t(device)] > 0)
    return CUDA_SUCCESS;
  const std::lock_guard lock(memoryMutex);
  std::erase_if(allocations, [&](const auto &known) {
    const bool ends = known.second.importer == device;
    if (ends)
      ::munmap(reinterpret_cast<void *>(known.first), known.second.bytes);
    return ends;
  });
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  *context = current.empty() ? nullptr : current.back();
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context) {
  current.push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *context) {
  *context = current.back();
  current.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int *possible, CUdevice device, CUdevice) {
  const char *lonely = std::getenv("HOST_DRIVER_LONELY_GPU"); // which reaches no other one
  *possible = !lonely || device != std::atoi(lonely);
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes) {
  const int file = ::memfd_create("gpu", 0);
  if (file < 0 || ::ftruncate(file, off_t(bytes)) != 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  return map(address, {bytes, currentGpu(), file}, file);
}

CUresult cuMemFree(CUdeviceptr address) {
  const std::lock_guard lock(memoryMutex);
  auto found = allocations.find(address);
  if (found == allocations.end())
    return CUDA_ERROR_INVALID_VALUE;
  ::munmap(reinterpret_cast<void *>(address), found->second.bytes);
  ::close(found->second.file);
  allocations.erase(found);
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange(CUdeviceptr *base, size_t *bytes, CUdeviceptr address) {
  const std::lock_guard lock(memoryMutex);
  auto found = allocationOf(address);
  if (found == allocations.end())
    return CUDA_ERROR_NOT_FOUND;
  *base = found->first;
  *bytes = found->second.bytes;
  return CUDA_SUCCESS;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address) {
  const std::lock_guard lock(memoryMutex);
  auto found = allocations.find(address);
  if (found == allocations.end() || found->second.file < 0)
    return CUDA_ERROR_INVALID_VALUE;
  const Handle values = {found->second.gpu, ::getpid(), found->second.file, found->second.bytes};
  std::memcpy(handle, &values, sizeof(values));
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *address, CUipcMemHandle handle, unsigned) {
  Handle values;
  std::memcpy(&values, &handle, sizeof(values));
  const std::string path = "/proc/" + std::to_string(values.process) + "/fd/" + std::to_string(values.file);
  const int file = ::open(path.c_str(), O_RDWR);
  if (file < 0)
    return CUDA_ERROR_MAP_FAILED;
  const CUresult status = map(address, {values.bytes, values.gpu, -1, currentGpu()}, file);
  ::close(file);
  return status;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  const std::lock_guard lock(memoryMutex);
  auto found = allocations.find(address);
  if (found == allocations.end() || found->second.file >= 0)
    return CUDA_ERROR_INVALID_VALUE;
  ::munmap(reinterpret_cast<void *>(address), found->second.bytes);
  allocations.erase(found);
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address) {
  const std::lock_guard lock(memoryMutex);
  auto found = allocationOf(address);
  if (found == allocations.end())
    return CUDA_ERROR_INVALID_VALUE;
  const Allocation &allocation = found->second;
  if (attribute == CU_POINTER_ATTRIBUTE_CONTEXT) {
    const CUcontext context = &contexts[size_t(allocation.file < 0 ? allocation.importer : allocation.gpu)];
    std::memcpy(value, &context, sizeof(context));
    return CUDA_SUCCESS;
  }
  const int number = attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE      ? int(CU_MEMORYTYPE_DEVICE)
                     : attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ? allocation.gpu
                     : attribute == CU_POINTER_ATTRIBUTE_ACCESS_FLAGS // GPUs say so of each other's memory
                         ? int(CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE)
                         : 0;
  std::memcpy(value, &number, sizeof(number));
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **values,
                                CUdeviceptr address) {
  for (unsigned i = 0; i < count; ++i)
    if (cuPointerGetAttribute(values[i], attributes[i], address) != CUDA_SUCCESS)
      std::memset(values[i], 0, sizeof(int));
  return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned) {
  *address = new std::byte[bytes];
  return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *address) {
  poll([] { return CUstream_st::unfinished == 0; });
  delete[] static_cast<std::byte *>(address);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD(CUdeviceptr device, const void *host, size_t bytes) {
  streamOf(nullptr).synchronize();
  std::memcpy(reinterpret_cast<void *>(device), host, bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoH(void *host, CUdeviceptr device, size_t bytes) {
  streamOf(nullptr).synchronize();
  std::memcpy(host, reinterpret_cast<void *>(device), bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr device, const void *host, size_t bytes, CUstream stream) {
  streamOf(stream).push([=] { std::memcpy(reinterpret_cast<void *>(device), host, bytes); });
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoHAsync(void *host, CUdeviceptr device, size_t bytes, CUstream stream) {
  streamOf(stream).push([=] { std::memcpy(host, reinterpret_cast<void *>(device), bytes); });
  return CUDA_SUCCESS;
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  streamOf(stream).push(
      [=] { std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes); });
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned) {
  *event = new CUevent_st;
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event) {
  delete event;
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  event->graph = streamOf(stream).captured;
  event->isReached = std::make_shared<std::atomic<bool>>(false);
  streamOf(stream).push([isReached = event->isReached] { isReached->store(true); });
  return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  if (event->graph && !streamOf(stream).captured) {
    streamOf(stream).captured = event->graph;
    event->graph->streams.push_back(stream);
  }
  streamOf(stream).push([isReached = event->isReached] { poll([&] { return isReached->load(); }); });
  return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr device, unsigned char value, size_t bytes, CUstream stream) {
  streamOf(stream).push([=] { std::memset(reinterpret_cast<void *>(device), value, bytes); });
  return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal(CUdeviceptr *, size_t *, CUmodule, const char *) { return CUDA_ERROR_NOT_FOUND; }

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction) {
  *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
  return CUDA_SUCCESS;
}

/// What a kernel does.
struct CUfunc_st {
  enum class Kind { passes, takes, flags, nothing };
  Kind kind;
};

CUresult cuModuleGetFunction(CUfunction *function, CUmodule, const char *name) {
  static CUfunc_st passing{CUfunc_st::Kind::passes}, taking{CUfunc_st::Kind::takes},
      flags{CUfunc_st::Kind::flags}, idle{CUfunc_st::Kind::nothing};
  const std::string_view asked = name;
  *function = asked == tlc::flagKernelName   ? &flags
              : asked.starts_with("take")    ? &taking
              : asked.starts_with("softmax") ? &idle // of programs that only start
                                             : &passing;
  return CUDA_SUCCESS;
}

/// Its steps one after the other, and the operations of a step one after the other.
static void performFlags(const tlc::FlagBatch &batch) {
  for (uint32_t i = 0; i < batch.count; ++i) {
    const tlc::FlagBatch::Operation &given = batch.operations[i];
    std::atomic_ref<uint32_t> word(*given.address);
    if (given.waits)
      poll([&] { return word.load() == given.value; });
    else
      word.store(given.value);
  }
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **) {
  if (function->kind == CUfunc_st::Kind::nothing)
    return CUDA_SUCCESS;
  if (function->kind == CUfunc_st::Kind::flags) {
    streamOf(config->hStream).push([batch = *static_cast<const tlc::FlagBatch *>(parameters[0])] {
      performFlags(batch);
    });
    return CUDA_SUCCESS;
  }
  const bool passes = function->kind == CUfunc_st::Kind::passes;
  streamOf(config->hStream).push([given = PassParameters(parameters, passes)] { given.run(); });
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned) {
  *stream = new CUstream_st;
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream) {
  streamOf(stream).synchronize();
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  *status = streamOf(stream).captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream stream) {
  if (streamOf(stream).captured)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return streamOf(stream).isDone() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams *operations, unsigned) {
  for (unsigned i = 0; i < count; ++i) {
    const CUstreamBatchMemOpParams &given = operations[i];
    if (given.operation != CU_STREAM_MEM_OP_WRITE_VALUE_32)
      return CUDA_ERROR_INVALID_VALUE;
    streamOf(stream).push(
        [to = wordAt(given.writeValue.address), value = given.writeValue.value] { to.store(value); });
  }
  return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  stream->captured = new CUgraph_st;
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  *graph = std::exchange(stream->captured, nullptr);
  for (CUstream joined : (*graph)->streams)
    joined->captured = nullptr;
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph, unsigned long long) {
  *executable = reinterpret_cast<CUgraphExec>(graph);
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  for (const Task &task : reinterpret_cast<CUgraph>(executable)->tasks)
    streamOf(stream).push(task);
  return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *name, void **address, int, cuuint64_t,
                          CUdriverProcAddressQueryResult *) {
#define TLC_PROVIDED(function)                                                                               \
  {                                                                                                          \
    #function, reinterpret_cast<void *>(&function)                                                           \
  }
  static const std::map<std::string_view, void *> provided = {TLC_PROVIDED(cuDriverGetVersion),
                                                              TLC_PROVIDED(cuGetErrorName),
                                                              TLC_PROVIDED(cuGetErrorString),
                                                              TLC_PROVIDED(cuDeviceGetCount),
                                                              TLC_PROVIDED(cuDeviceGet),
                                                              TLC_PROVIDED(cuDeviceGetName),
                                                              TLC_PROVIDED(cuDeviceGetAttribute),
                                                              TLC_PROVIDED(cuDeviceGetPCIBusId),
                                                              TLC_PROVIDED(cuDeviceGetByPCIBusId),
                                                              TLC_PROVIDED(cuDevicePrimaryCtxRetain),
                                                              TLC_PROVIDED(cuDevicePrimaryCtxRelease),
                                                              TLC_PROVIDED(cuCtxGetCurrent),
                                                              TLC_PROVIDED(cuCtxPushCurrent),
                                                              TLC_PROVIDED(cuCtxPopCurrent),
                                                              TLC_PROVIDED(cuDeviceCanAccessPeer),
                                                              TLC_PROVIDED(cuMemAlloc),
                                                              TLC_PROVIDED(cuMemFree),
                                                              TLC_PROVIDED(cuMemGetAddressRange),
                                                              TLC_PROVIDED(cuIpcGetMemHandle),
                                                              TLC_PROVIDED(cuIpcOpenMemHandle),
                                                              TLC_PROVIDED(cuIpcCloseMemHandle),
                                                              TLC_PROVIDED(cuPointerGetAttribute),
                                                              TLC_PROVIDED(cuPointerGetAttributes),
                                                              TLC_PROVIDED(cuMemHostAlloc),
                                                              TLC_PROVIDED(cuMemFreeHost),
                                                              TLC_PROVIDED(cuMemcpyHtoD),
                                                              TLC_PROVIDED(cuMemcpyDtoH),
                                                              TLC_PROVIDED(cuMemcpyHtoDAsync),
                                                              TLC_PROVIDED(cuMemcpyDtoHAsync),
                                                              TLC_PROVIDED(cuMemcpyAsync),
                                                              TLC_PROVIDED(cuEventCreate),
                                                              TLC_PROVIDED(cuEventDestroy),
                                                              TLC_PROVIDED(cuEventRecord),
                                                              TLC_PROVIDED(cuStreamWaitEvent),
                                                              TLC_PROVIDED(cuMemsetD8Async),
                                                              TLC_PROVIDED(cuModuleGetGlobal),
                                                              TLC_PROVIDED(cuFuncGetAttribute),
                                                              TLC_PROVIDED(cuModuleGetFunction),
                                                              TLC_PROVIDED(cuLaunchKernelEx),
                                                              TLC_PROVIDED(cuStreamCreate),
                                                              TLC_PROVIDED(cuStreamSynchronize),
                                                              TLC_PROVIDED(cuStreamIsCapturing),
                                                              TLC_PROVIDED(cuStreamQuery),
                                                              TLC_PROVIDED(cuStreamBatchMemOp),
                                                              TLC_PROVIDED(cuStreamBeginCapture),
                                                              TLC_PROVIDED(cuStreamEndCapture),
                                                              TLC_PROVIDED(cuGraphInstantiateWithFlags),
                                                              TLC_PROVIDED(cuGraphLaunch)};
#undef TLC_PROVIDED
  constexpr std::array<std::string_view, 7> withoutEffect = {"cuInit",
                                                             "cuCtxEnablePeerAccess",
                                                             "cuModuleLoadDataEx",
                                                             "cuModuleUnload",
                                                             "cuFuncSetAttribute",
                                                             "cuStreamDestroy",
                                                             "cuThreadExchangeStreamCaptureMode"};
  const auto found = provided.find(name);
  const bool isUnneeded = std::ranges::find(withoutEffect, name) != withoutEffect.end();
  *address = found != provided.end() ? found->second
                                     : reinterpret_cast<void *>(isUnneeded ? &unneeded : &unsupported);
  return CUDA_SUCCESS;
}
