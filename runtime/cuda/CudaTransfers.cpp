// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/CudaTransfers.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

using namespace tlc;

TransferStreams::~TransferStreams() {
  CurrentContext scope(*cuda);
  for (const auto &[stream, beside] : streams)
    cuda->driver.cuStreamDestroy(beside);
}

Result<CUstream> TransferStreams::beside(CUstream stream) {
  const std::lock_guard lock(mutex);
  auto [known, isNew] = streams.try_emplace(stream);
  if (!isNew)
    return known->second;
  // Also while a stream is captured.
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  cuda->driver.cuThreadExchangeStreamCaptureMode(&mode);
  CUresult status = cuda->driver.cuStreamCreate(&known->second, CU_STREAM_NON_BLOCKING);
  cuda->driver.cuThreadExchangeStreamCaptureMode(&mode);
  if (status != CUDA_SUCCESS) {
    streams.erase(known);
    return cuda->error(status, fmt::format("cannot make a stream for transfers on GPU {}", cuda->ordinal));
  }
  return known->second;
}

namespace {
/// The transfers of one launch of a program.
class TransferQueue {
public:
  TransferQueue(TransferStreams &streams, CUstream stream, bool isCaptured)
      : streams(streams), cuda(streams.context()), stream(stream), isCaptured(isCaptured) {}

  /// After all that is on the stream; beside what comes later if launches run beside it and the stream is not
  /// captured.
  Result<void> enqueue(const PlannedTransfer &transfer);
  /// What comes later on the stream begins after all transfers.
  Result<void> join();
  /// Whether launch number `launch` begins after a transfer that is under way.
  bool isDue(size_t launch) const { return side && launch >= until; }

private:
  Result<void> enqueue(const PlannedRound &round, std::string_view name, CUstream on) const;
  /// On the stream for transfers, which begins after what is on the other one if `isForked` is false yet.
  Result<void> enqueueBeside(const PlannedRound &round, const PlannedTransfer &transfer, bool &isForked);
  /// What is enqueued on `later` from now on begins after what is on `earlier`.
  Result<void> order(CUstream earlier, CUstream later) const;

  TransferStreams &streams;
  const CudaContext &cuda;
  CUstream stream;
  const bool isCaptured;
  CUstream side = nullptr; ///< with transfers under way, or null
  size_t until = 0;        ///< the first launch that they come before
};

Result<void> TransferQueue::order(CUstream earlier, CUstream later) const {
  CUevent event = nullptr;
  CUresult status = cuda.driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
  if (status != CUDA_SUCCESS)
    return cuda.error(status, "cannot create an event");
  status = cuda.driver.cuEventRecord(event, earlier);
  if (status == CUDA_SUCCESS)
    status = cuda.driver.cuStreamWaitEvent(later, event, 0);
  cuda.driver.cuEventDestroy(event); // the driver frees it when no stream waits for it any more
  if (status != CUDA_SUCCESS)
    return cuda.error(status, "cannot order transfers and launches by an event", ErrorKind::execution);
  return {};
}

/// The driver finds out which GPU memory belongs to: this one, or a peer.
CUresult copyAsync(const Driver &driver, const PlannedCopy &copy, CUstream on) {
  const auto from = reinterpret_cast<CUdeviceptr>(copy.from), to = reinterpret_cast<CUdeviceptr>(copy.to);
  if (copy.rows * copy.slices == 1)
    return driver.cuMemcpyAsync(to, from, copy.bytes, on);
  CUDA_MEMCPY3D parameters;
  std::memset(&parameters, 0, sizeof(parameters));
  parameters.srcMemoryType = parameters.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  parameters.srcDevice = from, parameters.dstDevice = to;
  parameters.srcPitch = copy.fromPitch, parameters.dstPitch = copy.toPitch;
  parameters.srcHeight = std::max(copy.fromRows, copy.rows);
  parameters.dstHeight = std::max(copy.toRows, copy.rows);
  parameters.WidthInBytes = copy.bytes;
  parameters.Height = copy.rows;
  parameters.Depth = copy.slices;
  return driver.cuMemcpy3DAsync(&parameters, on);
}

Result<void> TransferQueue::enqueue(const PlannedRound &round, std::string_view name, CUstream on) const {
  for (const PlannedCopy &copy : round.copies)
    if (CUresult status = copyAsync(cuda.driver, copy, on); status != CUDA_SUCCESS)
      return cuda.error(status,
                        fmt::format("cannot copy {} x {} rows of {} bytes for transfer '{}' by GPU {}",
                                    copy.slices, copy.rows, copy.bytes, name, cuda.ordinal),
                        ErrorKind::execution);
  if (!round.count)
    return {};
  CUstreamBatchMemOpParams write;
  std::memset(&write, 0, sizeof(write));
  write.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  write.writeValue.address = reinterpret_cast<CUdeviceptr>(round.count);
  write.writeValue.value = uint32_t(round.value);
  write.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT; // after a fence
  CUresult status = cuda.driver.cuStreamBatchMemOp(on, 1, &write, 0);
  if (status == CUDA_ERROR_NOT_SUPPORTED)
    return cuda.error(status,
                      fmt::format("expected streams of GPU {} to have memory operations, by which transfer "
                                  "'{}' tells that it has ended",
                                  cuda.ordinal, name));
  if (status != CUDA_SUCCESS)
    return cuda.error(status,
                      fmt::format("cannot set a count for transfer '{}' on GPU {}", name, cuda.ordinal),
                      ErrorKind::execution);
  return {};
}

Result<void> TransferQueue::enqueue(const PlannedTransfer &transfer) {
  const bool isBeside = transfer.until > transfer.after;
  auto isOrdered = [&](const PlannedRound &round) { return !isBeside || round.isInOrder; };
  if (!isBeside)
    if (Result<void> joined = join(); !joined)
      return joined;
  // On the default stream of one device copies from and to another one wait for all that both are to do, and
  // so might wait for a launch that waits for them: they are on the stream beside it in any case.
  bool isForked = false;
  for (const PlannedRound &round : transfer.rounds)
    if (isOrdered(round))
      if (Result<void> done = round.reachesOthers ? enqueueBeside(round, transfer, isForked)
                                                  : enqueue(round, transfer.transfer->name, stream);
          !done)
        return done;
  if (isForked)
    if (Result<void> joined = join(); !joined)
      return joined;
  isForked = false;
  for (const PlannedRound &round : transfer.rounds)
    if (!isOrdered(round))
      if (Result<void> done = enqueueBeside(round, transfer, isForked); !done)
        return done;
  // Branches of a graph need not run at the same time: a launch that began first could wait for ever.
  return isCaptured ? join() : Result<void>();
}

Result<void> TransferQueue::enqueueBeside(const PlannedRound &round, const PlannedTransfer &transfer,
                                          bool &isForked) {
  Result<CUstream> beside = streams.beside(stream);
  if (!beside)
    return beside.error();
  if (!isForked)
    if (Result<void> ordered = order(stream, *beside); !ordered)
      return ordered;
  isForked = true;
  until = side ? std::min(until, transfer.until) : transfer.until;
  side = *beside;
  return enqueue(round, transfer.transfer->name, *beside);
}

Result<void> TransferQueue::join() {
  if (!side)
    return {};
  return order(std::exchange(side, nullptr), stream);
}

Result<void> enqueueAll(TransferQueue &queue, const LaunchPlan &plan,
                        const std::function<Result<void>(size_t number, bool isNext)> &launch) {
  auto transfer = plan.transfers.begin();
  for (size_t number = 0;; ++number) {
    bool isNext = true;
    if (queue.isDue(number)) {
      if (Result<void> joined = queue.join(); !joined)
        return joined;
      isNext = false;
    }
    // Before the launches that wait for them: so streams that are executed in the order of what is enqueued
    // come to an end.
    for (; transfer != plan.transfers.end() && transfer->after == number; ++transfer) {
      if (Result<void> done = queue.enqueue(*transfer); !done)
        return done;
      isNext = false;
    }
    if (number == plan.launches.size())
      return queue.join();
    if (Result<void> done = launch(number, isNext); !done)
      return done;
  }
}
} // namespace

Result<void>
tlc::enqueueWithTransfers(TransferStreams &streams, const LaunchPlan &plan, CUstream stream,
                          const std::function<Result<void>(size_t number, bool isNext)> &launch) {
  bool isCaptured = false;
  if (!plan.transfers.empty()) {
    Result<bool> captured = streams.context().isCaptured(stream);
    if (!captured)
      return captured.error();
    isCaptured = *captured;
  }
  TransferQueue queue(streams, stream, isCaptured);
  Result<void> enqueued = enqueueAll(queue, plan, launch);
  if (!enqueued)
    (void)queue.join(); // who synchronizes the stream may free what copies under way use
  return enqueued;
}
