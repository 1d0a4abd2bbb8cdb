// SPDX-License-Identifier: Apache-2.0
/// \file
/// Streams and events, with a driver that only notes what it is asked for.
#include "runtime/cuda/CudaStreams.h"

#include "runtime/cuda/CudaDeviceOnContext.h"
#include "test/Expect.h"
#include "test/unit/device/InertDriver.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

using namespace tlc;
using namespace tlc::test;

namespace {

const auto streamHandle = reinterpret_cast<CUstream>(uintptr_t(0x1234));

struct Noted {
  std::vector<unsigned> streamFlags, eventFlags;
  int destroyedStreams = 0, events = 0;
  std::vector<std::pair<int, int>> poolAccesses = {}; ///< of pools of a GPU, by another
  CUresult synchronized = CUDA_SUCCESS;
  CUresult any = CUDA_SUCCESS; ///< of all calls of a device
} noted;

std::shared_ptr<const CudaContext> context() {
  noted = {};
  Driver driver = inertDriver();
  driver.cuStreamCreate = [](CUstream *stream, unsigned flags) {
    noted.streamFlags.push_back(flags);
    *stream = streamHandle;
    return CUDA_SUCCESS;
  };
  driver.cuStreamDestroy = [](CUstream stream) {
    noted.destroyedStreams += stream == streamHandle;
    return CUDA_SUCCESS;
  };
  driver.cuEventCreate = [](CUevent *, unsigned flags) {
    noted.eventFlags.push_back(flags);
    ++noted.events;
    return CUDA_SUCCESS;
  };
  driver.cuEventDestroy = [](CUevent) {
    --noted.events;
    return CUDA_SUCCESS;
  };
  driver.cuEventRecord = [](CUevent, CUstream stream) {
    return stream == streamHandle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  };
  driver.cuEventSynchronize = [](CUevent) { return noted.synchronized; };
  driver.cuEventElapsedTime = [](float *milliseconds, CUevent, CUevent) {
    *milliseconds = 1.5f;
    return CUDA_SUCCESS;
  };
  return std::make_shared<const CudaContext>(driver, 0, 1, 0, nullptr);
}

/// A device whose calls of the driver return `noted.any`, after one launch on each of two streams.
struct OnDevice {
  OnDevice() {
    context();
    Driver driver = inertDriver();
    driver.cuDeviceGetName = [](char *name, int, CUdevice) {
      *name = 0;
      return CUDA_SUCCESS;
    };
    driver.cuDeviceGetAttribute = [](int *value, CUdevice_attribute attribute, CUdevice) {
      *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? 9
               : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 0
                                                                           : 132;
      return CUDA_SUCCESS;
    };
    driver.cuMemAlloc = [](CUdeviceptr *address, size_t) {
      *address = 0x1000;
      return noted.any;
    };
    driver.cuMemFree = [](CUdeviceptr) { return noted.any; };
    driver.cuDeviceCanAccessPeer = [](int *possible, CUdevice, CUdevice) {
      *possible = 1;
      return CUDA_SUCCESS;
    };
    driver.cuCtxEnablePeerAccess = [](CUcontext, unsigned) { return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED; };
    driver.cuDeviceGetMemPool = [](CUmemoryPool *pool, CUdevice device) {
      *pool = reinterpret_cast<CUmemoryPool>(uintptr_t(device));
      return CUDA_SUCCESS;
    };
    driver.cuMemPoolSetAccess = [](CUmemoryPool pool, const CUmemAccessDesc *access, size_t) {
      noted.poolAccesses.emplace_back(int(reinterpret_cast<uintptr_t>(pool)), access->location.id);
      return noted.any;
    };
    driver.cuMemcpyHtoD = [](CUdeviceptr, const void *, size_t) { return noted.any; };
    driver.cuMemcpyDtoH = [](void *, CUdeviceptr, size_t) { return noted.any; };
    driver.cuMemcpyPeer = [](CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t) { return noted.any; };
    driver.cuStreamSynchronize = [](CUstream) { return noted.any; };
    driver.cuEventCreate = [](CUevent *, unsigned) { return CUDA_SUCCESS; };
    driver.cuEventDestroy = [](CUevent) { return CUDA_SUCCESS; };
    driver.cuEventRecord = [](CUevent, CUstream) { return noted.any; };
    driver.cuStreamWaitEvent = [](CUstream, CUevent, unsigned) { return noted.any; };
    driver.cuMemsetD8Async = [](CUdeviceptr, unsigned char, size_t, CUstream) { return noted.any; };
    driver.cuStreamBeginCapture = [](CUstream, CUstreamCaptureMode) { return CUDA_SUCCESS; };
    driver.cuStreamEndCapture = [](CUstream, CUgraph *) { return CUDA_SUCCESS; };
    driver.cuStreamGetCaptureInfo = [](CUstream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *,
                                       const CUgraphNode **, size_t *count) {
      *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
      *id = 7, *count = 0;
      return CUDA_SUCCESS;
    };
    driver.cuGraphInstantiateWithFlags = [](CUgraphExec *, CUgraph, unsigned long long) {
      return CUDA_SUCCESS;
    };
    driver.cuGraphExecDestroy = [](CUgraphExec) { return CUDA_SUCCESS; };
    driver.cuGraphDestroy = [](CUgraph) { return CUDA_SUCCESS; };
    cuda = std::make_shared<const CudaContext>(driver, 0, 2, 0, nullptr);
    device = expectValue(createCudaDevice(cuda));
    peer = expectValue(createCudaDevice(std::make_shared<const CudaContext>(driver, 1, 2, 1, nullptr)));
    const auto label = std::make_shared<const LaunchLabel>(Artifact{.name = "k", .target = "sm_90a"});
    for (Stream stream : {Stream{}, Stream{streamHandle}})
      cuda->log.add({label, LaunchPlan{}, stream});
  }
  std::string launches() const { return cuda->log.attribute({}).message; }

  std::shared_ptr<const CudaContext> cuda;
  std::unique_ptr<Device> device, peer;
};

constexpr std::string_view suspects =
    ": CUDA_ERROR (refused); launched since the last synchronisation: 'k' on "
    "the default stream, 'k' on stream 0x1234; a device";

} // namespace

TEST_CASE("a stream is not ordered with the default one, and ends with its object", "[device][streams]") {
  auto cuda = context();
  {
    const std::unique_ptr<OwnedStream> stream = expectValue(createCudaStream(cuda));
    CHECK(Stream(*stream).handle == streamHandle);
    CHECK(noted.streamFlags == std::vector<unsigned>{CU_STREAM_NON_BLOCKING});
    CHECK(noted.destroyedStreams == 0);
  }
  CHECK(noted.destroyedStreams == 1);
}

TEST_CASE("only events that are asked for it have times", "[device][streams]") {
  auto cuda = context();
  const Stream stream = {streamHandle};
  {
    const auto ordering = expectValue(recordCudaEvent(cuda, stream, EventTime::ignored)),
               begin = expectValue(recordCudaEvent(cuda, stream, EventTime::measured)),
               end = expectValue(recordCudaEvent(cuda, stream, EventTime::measured));
    CHECK(noted.eventFlags ==
          std::vector<unsigned>{CU_EVENT_DISABLE_TIMING, CU_EVENT_DEFAULT, CU_EVENT_DEFAULT});
    CHECK(expectValue(elapsedOnGpu(*cuda, *begin, *end)) == 1.5);
    CHECK_FALSE(elapsedOnGpu(*cuda, *ordering, *end));
  }
  CHECK(noted.events == 0);
}

TEST_CASE("work that failed before an event is an error of its time", "[device][streams]") {
  auto cuda = context();
  const auto event = expectValue(recordCudaEvent(cuda, {streamHandle}, EventTime::measured));
  noted.synchronized = CUDA_ERROR_LAUNCH_FAILED;
  const Result<double> elapsed = elapsedOnGpu(*cuda, *event, *event);
  REQUIRE_FALSE(elapsed);
  CHECK(elapsed.error().kind == ErrorKind::execution);
  CHECK(elapsed.error().message == "cannot measure the time: CUDA_ERROR (refused)");
}

TEST_CASE("an event that is not recorded is destroyed", "[device][streams]") {
  auto cuda = context();
  CHECK_FALSE(recordCudaEvent(cuda, {}, EventTime::ignored));
  CHECK(noted.events == 0);
}

TEST_CASE("after a fault any call is an error of execution with the launches", "[device][log]") {
  OnDevice on;
  Device &device = *on.device;
  const std::unique_ptr<const Event> event = expectValue(device.record());
  float value = 0;
  auto errorOf = [](auto result) { return result ? Error{} : result.error(); };
  void *const address = &value; // that nothing reads
  const std::vector<std::pair<std::string, std::function<Error()>>> calls = {
      {"cannot allocate 4 bytes", [&] { return errorOf(device.allocate(4)); }},
      {"cannot free address", [&] { return errorOf(device.free(address)); }},
      {"cannot copy 4 bytes to", [&] { return errorOf(device.copyToDevice(address, &value, 4)); }},
      {"cannot copy 4 bytes from", [&] { return errorOf(device.copyToHost(&value, address, 4)); }},
      {"cannot copy 4 bytes from GPU 1",
       [&] { return errorOf(device.copyFromPeer(address, *on.peer, address, 4)); }},
      {"cannot record an event", [&] { return errorOf(device.record()); }},
      {"cannot wait for an event", [&] { return errorOf(device.wait(*event)); }},
      {"cannot clear", [&] { return errorOf(device.clear(address, 4)); }},
      {"work on the GPU failed", [&] { return errorOf(device.synchronize()); }}};
  for (const auto &[attempt, call] : calls) {
    CAPTURE(attempt);
    noted.any = CUDA_ERROR_ILLEGAL_ADDRESS;
    const Error fault = call();
    CHECK(fault.kind == ErrorKind::execution);
    CHECK_THAT(fault.message, Catch::Matchers::StartsWith(attempt));
    CHECK_THAT(fault.message, Catch::Matchers::Contains(std::string(suspects)));
    noted.any = CUDA_ERROR_INVALID_VALUE; // of this call alone
    CHECK_THAT(call().message, Catch::Matchers::EndsWith("CUDA_ERROR (refused)"));
  }
  noted.any = CUDA_ERROR_OUT_OF_MEMORY;
  CHECK(errorOf(device.allocate(4)).kind == ErrorKind::environment);
  noted.any = CUDA_SUCCESS;
}

TEST_CASE("peer access is to memory that is allocated on streams, too", "[device][streams]") {
  OnDevice on;
  expectSuccess(on.device->enablePeerAccess(*on.peer));
  CHECK(noted.poolAccesses == std::vector<std::pair<int, int>>{{1, 0}});
  noted.any = CUDA_ERROR_INVALID_VALUE;
  const Result<void> refused = on.device->enablePeerAccess(*on.peer);
  noted.any = CUDA_SUCCESS;
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "cannot let GPU 0 access memory of GPU 1: CUDA_ERROR (refused)");
}

TEST_CASE("a copy without a stream ends the launches of the default one", "[device][log]") {
  float value = 0;
  const std::vector<std::function<Result<void>(OnDevice &)>> copies = {
      [&](OnDevice &on) { return on.device->copyToDevice(&value, &value, 4); },
      [&](OnDevice &on) { return on.device->copyToHost(&value, &value, 4); },
      [&](OnDevice &on) { return on.device->copyFromPeer(&value, *on.peer, &value, 4); },
      [&](OnDevice &on) { return on.device->synchronize(); }};
  for (const auto &copy : copies) {
    OnDevice on;
    expectSuccess(copy(on));
    CHECK(on.launches() == "; launched since the last synchronisation: 'k' on stream 0x1234");
  }
}

TEST_CASE("a thread that captures asks no device for what ends the capture", "[device][graph]") {
  OnDevice on;
  float value = 0;
  const auto event = expectValue(on.device->record({streamHandle}, EventTime::measured));
  const auto graph = on.device->capture({streamHandle}, [&]() -> Result<void> {
    for (Device *device : {on.device.get(), on.peer.get()}) {
      Device &other = device == on.peer.get() ? *on.device : *on.peer;
      auto errorOf = [](auto result) { return result ? "" : result.error().message; };
      const std::vector<std::pair<std::string, std::string>> refused = {
          {"create a stream", errorOf(device->createStream())},
          {"measure a time", errorOf(device->elapsed(*event, *event))},
          {"allocate memory", errorOf(device->allocate(4))},
          {"allocate pinned memory", errorOf(device->allocateHost(4))},
          {"free pinned memory", errorOf(device->freeHost(&value))},
          {"enable peer access", errorOf(device->enablePeerAccess(other))},
          {"copy from a peer", errorOf(device->copyFromPeer(&value, other, &value, 4))},
          {"synchronize", errorOf(device->synchronize())}};
      for (const auto &[attempt, message] : refused)
        CHECK(message ==
              "cannot " + attempt + " while this thread captures a stream; do it before the capture");
      CHECK_THAT(errorOf(device->load({.name = "k", .target = "sm_90a"})),
                 Catch::Matchers::StartsWith("cannot load 'k' while a stream is captured"));
    }
    return {};
  });
  CHECK(graph);
}
