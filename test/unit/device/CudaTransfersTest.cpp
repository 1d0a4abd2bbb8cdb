// SPDX-License-Identifier: Apache-2.0
/// \file
/// What transfers enqueue, and in which order, with a driver that only notes it.
#include "runtime/cuda/CudaTransfers.h"

#include "test/Expect.h"
#include "test/unit/device/InertDriver.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::test;

namespace {

std::vector<std::string> steps;
uintptr_t nextHandle = 0;

/// "main" is the stream 1, streams that are made are "side".
std::string_view nameOf(CUstream stream) {
  return reinterpret_cast<uintptr_t>(stream) == 1 ? "main" : "side";
}
template <class Handle> Handle newHandle() { return reinterpret_cast<Handle>(++nextHandle); }

CUresult copyIs = CUDA_SUCCESS, setIs = CUDA_SUCCESS, captureIs = CUDA_SUCCESS;
bool isCaptured = false;

std::shared_ptr<const CudaContext> notingContext() {
  steps.clear();
  nextHandle = 1;
  copyIs = setIs = captureIs = CUDA_SUCCESS;
  isCaptured = false;
  Driver driver = inertDriver();
  driver.cuStreamCreate = [](CUstream *stream, unsigned) {
    steps.emplace_back("create side");
    *stream = newHandle<CUstream>();
    return CUDA_SUCCESS;
  };
  driver.cuThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode *) { return CUDA_SUCCESS; };
  driver.cuStreamIsCapturing = [](CUstream, CUstreamCaptureStatus *status) {
    *status = isCaptured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return captureIs;
  };
  driver.cuStreamDestroy = [](CUstream) { return CUDA_SUCCESS; };
  driver.cuEventCreate = [](CUevent *event, unsigned) {
    *event = newHandle<CUevent>();
    return CUDA_SUCCESS;
  };
  driver.cuEventDestroy = [](CUevent) { return CUDA_SUCCESS; };
  driver.cuEventRecord = [](CUevent, CUstream stream) {
    steps.push_back(fmt::format("record {}", nameOf(stream)));
    return CUDA_SUCCESS;
  };
  driver.cuStreamWaitEvent = [](CUstream stream, CUevent, unsigned) {
    steps.push_back(fmt::format("{} waits", nameOf(stream)));
    return CUDA_SUCCESS;
  };
  driver.cuMemcpyAsync = [](CUdeviceptr, CUdeviceptr, size_t bytes, CUstream stream) {
    steps.push_back(fmt::format("{} copies {}", nameOf(stream), bytes));
    return copyIs;
  };
  driver.cuMemcpy3DAsync = [](const CUDA_MEMCPY3D *copy, CUstream stream) {
    steps.push_back(fmt::format("{} copies {} x {} x {}, {} x {} to {} x {}", nameOf(stream), copy->Depth,
                                copy->Height, copy->WidthInBytes, copy->srcHeight, copy->srcPitch,
                                copy->dstHeight, copy->dstPitch));
    return copyIs;
  };
  driver.cuStreamBatchMemOp = [](CUstream stream, unsigned count, CUstreamBatchMemOpParams *operations,
                                 unsigned) {
    steps.push_back(fmt::format(
        "{} sets {:#x} to {}{}", nameOf(stream), operations->writeValue.address, operations->writeValue.value,
        count == 1 && operations->writeValue.flags == CU_STREAM_WRITE_VALUE_DEFAULT ? ""
                                                                                    : " without a fence"));
    return setIs;
  };
  return std::make_shared<const CudaContext>(driver, 0, 1, 0, newHandle<CUcontext>());
}

PlannedRound round(bool isInOrder, int32_t value) {
  return {.copies = {{.bytes = 16}},
          .count = value ? reinterpret_cast<int32_t *>(0x100) : nullptr,
          .value = value,
          .isInOrder = isInOrder,
          .reachesOthers = !isInOrder};
}

std::string enqueue(TransferStreams &streams, const LaunchPlan &plan) {
  auto *main = reinterpret_cast<CUstream>(uintptr_t(1));
  Result<void> done = enqueueWithTransfers(streams, plan, main, [](size_t number, bool isNext) {
    steps.push_back(fmt::format("launch {}{}", number, isNext ? "" : " after a transfer"));
    return Result<void>();
  });
  return done ? "" : done.error().message;
}

const Transfer gather = {.name = "gather"};
using Steps = std::vector<std::string>;

} // namespace

TEST_CASE("transfers are enqueued before the launches that wait for them, on another stream",
          "[device][transfers]") {
  TransferStreams streams(notingContext());
  LaunchPlan plan;
  plan.launches.resize(3);
  plan.transfers = {{&gather, 1, 2, {round(true, 1), round(false, 2), round(false, 3)}}};
  CHECK(enqueue(streams, plan) == "");
  const Steps expected = {"launch 0",
                          "main copies 16",
                          "main sets 0x100 to 1",
                          "create side",
                          "record main",
                          "side waits",
                          "side copies 16",
                          "side sets 0x100 to 2",
                          "side copies 16",
                          "side sets 0x100 to 3",
                          "launch 1 after a transfer",
                          "record side",
                          "main waits",
                          "launch 2 after a transfer"};
  CHECK(steps == expected);
  steps.clear(); // the stream is there now
  CHECK(enqueue(streams, plan) == "");
  CHECK(steps.size() == expected.size() - 1);
}

TEST_CASE("transfers end before the launches that wait for them where the stream is captured",
          "[device][transfers]") {
  TransferStreams streams(notingContext());
  isCaptured = true;
  LaunchPlan plan;
  plan.launches.resize(3);
  plan.transfers = {{&gather, 0, 2, {round(false, 1)}}, {&gather, 1, 3, {round(false, 2)}}};
  CHECK(enqueue(streams, plan) == "");
  CHECK(steps == Steps{"create side", "record main", "side waits", "side copies 16", "side sets 0x100 to 1",
                       "record side", "main waits", "launch 0 after a transfer", "record main", "side waits",
                       "side copies 16", "side sets 0x100 to 2", "record side", "main waits",
                       "launch 1 after a transfer", "launch 2"});
}

TEST_CASE("transfers on a stream of which the driver does not tell whether it is captured are refused",
          "[device][transfers]") {
  TransferStreams streams(notingContext());
  captureIs = CUDA_ERROR_INVALID_VALUE;
  LaunchPlan plan;
  plan.transfers = {{&gather, 0, 0, {round(true, 0)}}};
  CHECK_THAT(enqueue(streams, plan), Catch::Matchers::StartsWith("cannot query the capture of a stream"));
  CHECK(steps.empty());
}

TEST_CASE("transfers inside of a device that nothing runs beside are on the stream of the launches",
          "[device][transfers]") {
  TransferStreams streams(notingContext());
  LaunchPlan plan;
  plan.launches.resize(1);
  plan.transfers = {{&gather, 0, 0, {round(true, 0)}}, {&gather, 1, 1, {round(true, 0)}}};
  CHECK(enqueue(streams, plan) == "");
  CHECK(steps == Steps{"main copies 16", "launch 0 after a transfer", "main copies 16"});
}

// On the default stream they would wait for what the other device is to do.
TEST_CASE("copies of another device's memory are never on the stream of the launches",
          "[device][transfers]") {
  TransferStreams streams(notingContext());
  LaunchPlan plan;
  plan.launches.resize(1);
  PlannedRound ofBoth = round(true, 0);
  ofBoth.reachesOthers = true;
  plan.transfers = {{&gather, 0, 0, {round(false, 0)}}, {&gather, 1, 1, {ofBoth, round(true, 0)}}};
  CHECK(enqueue(streams, plan) == "");
  CHECK(steps == Steps{"create side", "record main", "side waits", "side copies 16", "record side",
                       "main waits", "launch 0 after a transfer", "record main", "side waits",
                       "side copies 16", "main copies 16", "record side", "main waits"});
}

TEST_CASE("rounds with a copy inside of a device end before a launch beside the transfer",
          "[device][transfers]") {
  TransferStreams streams(notingContext());
  LaunchPlan plan;
  plan.launches.resize(1);
  PlannedRound ofBoth = round(true, 1);
  ofBoth.reachesOthers = true;
  plan.transfers = {{&gather, 0, 1, {round(false, 2), ofBoth}}};
  CHECK(enqueue(streams, plan) == "");
  CHECK(steps == Steps{"create side", "record main", "side waits", "side copies 16", "side sets 0x100 to 1",
                       "record side", "main waits", "record main", "side waits", "side copies 16",
                       "side sets 0x100 to 2", "launch 0 after a transfer", "record side", "main waits"});
}

TEST_CASE("what is beside the last launch ends with the program", "[device][transfers]") {
  TransferStreams streams(notingContext());
  LaunchPlan plan;
  plan.launches.resize(1);
  plan.transfers = {{&gather, 0, 1, {round(false, 1)}}};
  plan.transfers[0].rounds[0].copies = {
      {.bytes = 24, .rows = 5, .fromPitch = 32, .toPitch = 64, .slices = 3, .fromRows = 7, .toRows = 5},
      {.bytes = 8}};
  CHECK(enqueue(streams, plan) == "");
  CHECK(steps == Steps{"create side", "record main", "side waits", "side copies 3 x 5 x 24, 7 x 32 to 5 x 64",
                       "side copies 8", "side sets 0x100 to 1", "launch 0 after a transfer", "record side",
                       "main waits"});
}

TEST_CASE("what is under way when a launch is refused ends before the stream does", "[device][transfers]") {
  TransferStreams streams(notingContext());
  LaunchPlan plan;
  plan.launches.resize(1);
  plan.transfers = {{&gather, 0, 1, {round(false, 1)}}};
  auto *main = reinterpret_cast<CUstream>(uintptr_t(1));
  auto refuse = [](size_t, bool) -> Result<void> { return Error{.message = "refused"}; };
  CHECK(enqueueWithTransfers(streams, plan, main, refuse).error().message == "refused");
  CHECK(steps == Steps{"create side", "record main", "side waits", "side copies 16", "side sets 0x100 to 1",
                       "record side", "main waits"});
}

TEST_CASE("what the driver refuses of a transfer is told with its name", "[device][transfers]") {
  TransferStreams streams(notingContext());
  LaunchPlan plan;
  plan.transfers = {{&gather, 0, 0, {round(false, 1)}}};
  setIs = CUDA_ERROR_NOT_SUPPORTED;
  CHECK_THAT(
      enqueue(streams, plan),
      Catch::Matchers::Contains("expected streams of GPU 0 to have memory operations, by which transfer "
                                "'gather' tells that it has ended"));
  copyIs = CUDA_ERROR_INVALID_VALUE;
  CHECK_THAT(enqueue(streams, plan),
             Catch::Matchers::Contains("cannot copy 1 x 1 rows of 16 bytes for transfer 'gather' by GPU 0"));
}
