// SPDX-License-Identifier: Apache-2.0
/// \file
/// Streams and events, with a driver that only notes what it is asked for.
#include "runtime/cuda/CudaStreams.h"

#include "test/Expect.h"
#include "test/unit/device/InertDriver.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace tlc;
using namespace tlc::test;

namespace {

const auto streamHandle = reinterpret_cast<CUstream>(uintptr_t(0x1234));

struct Noted {
  std::vector<unsigned> streamFlags, eventFlags;
  int destroyedStreams = 0, events = 0;
  CUresult synchronized = CUDA_SUCCESS;
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
