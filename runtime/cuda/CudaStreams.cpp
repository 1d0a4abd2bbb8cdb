// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/CudaStreams.h"

#include "runtime/device/StreamChecks.h"

#include <fmt/format.h>

using namespace tlc;

namespace {

class CudaStream final : public OwnedStream {
public:
  CudaStream(std::shared_ptr<const CudaContext> context, CUstream stream)
      : OwnedStream({.handle = stream}), cuda(std::move(context)) {}
  ~CudaStream() override {
    CurrentContext scope(*cuda);
    cuda->driver.cuStreamDestroy(asStream(stream)); // the driver ends it when its work has
  }

private:
  std::shared_ptr<const CudaContext> cuda;
};

class CudaEvent final : public Event {
public:
  CudaEvent(std::shared_ptr<const CudaContext> context, CUevent event, EventTime time)
      : Event(time), event(event), cuda(std::move(context)) {}
  ~CudaEvent() override {
    CurrentContext scope(*cuda);
    cuda->driver.cuEventDestroy(event); // the driver frees it when no stream waits for it any more
  }
  bool isOf(const CudaContext &context) const { return cuda->context == context.context; }

  const CUevent event;

private:
  std::shared_ptr<const CudaContext> cuda;
};

} // namespace

Result<std::unique_ptr<OwnedStream>> tlc::createCudaStream(std::shared_ptr<const CudaContext> context) {
  CurrentContext scope(*context);
  CUstream stream = nullptr;
  if (CUresult status = context->driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
      status != CUDA_SUCCESS)
    return context->error(status, fmt::format("cannot create a stream on GPU {}", context->ordinal));
  return std::unique_ptr<OwnedStream>(std::make_unique<CudaStream>(std::move(context), stream));
}

Result<std::unique_ptr<const Event>> tlc::recordCudaEvent(std::shared_ptr<const CudaContext> context,
                                                          Stream stream, EventTime time) {
  const CudaContext &cuda = *context;
  CurrentContext scope(cuda);
  CUevent event = nullptr;
  const unsigned flags = time == EventTime::measured ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING;
  if (CUresult status = cuda.driver.cuEventCreate(&event, flags); status != CUDA_SUCCESS)
    return cuda.error(status, "cannot create an event");
  auto recorded = std::make_unique<const CudaEvent>(std::move(context), event, time);
  if (CUresult status = cuda.driver.cuEventRecord(event, asStream(stream)); status != CUDA_SUCCESS)
    return cuda.error(status, "cannot record an event", ErrorKind::execution);
  return std::unique_ptr<const Event>(std::move(recorded));
}

Result<void> tlc::waitOnGpu(const CudaContext &cuda, const Event &event, Stream stream) {
  auto *recorded = dynamic_cast<const CudaEvent *>(&event);
  if (!recorded)
    return Error{.message = fmt::format("expected an event of a GPU for GPU {} to wait for, but got one of "
                                        "an emulated device",
                                        cuda.ordinal)};
  CurrentContext scope(cuda);
  if (CUresult status = cuda.driver.cuStreamWaitEvent(asStream(stream), recorded->event, 0);
      status != CUDA_SUCCESS)
    return cuda.error(status, "cannot wait for an event", ErrorKind::execution);
  return {};
}

Result<double> tlc::elapsedOnGpu(const CudaContext &cuda, const Event &from, const Event &to) {
  auto *begin = dynamic_cast<const CudaEvent *>(&from), *end = dynamic_cast<const CudaEvent *>(&to);
  const bool areOwn = begin && end && begin->isOf(cuda) && end->isOf(cuda);
  if (Result<void> valid = checkTimed(from, to, areOwn, fmt::format("GPU {}", cuda.ordinal)); !valid)
    return valid.error();
  CurrentContext scope(cuda);
  CUresult status = CUDA_SUCCESS;
  for (CUevent event : {begin->event, end->event})
    if (status == CUDA_SUCCESS)
      status = cuda.driver.cuEventSynchronize(event);
  float milliseconds = 0;
  if (status == CUDA_SUCCESS)
    status = cuda.driver.cuEventElapsedTime(&milliseconds, begin->event, end->event);
  if (status != CUDA_SUCCESS)
    return cuda.error(status, "cannot measure the time", ErrorKind::execution);
  return double(milliseconds);
}
