// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/CudaTimer.h"

using namespace tlc;

namespace {

class CudaTimerImpl final : public CudaTimer {
public:
  explicit CudaTimerImpl(std::shared_ptr<const CudaContext> context) : cuda(std::move(context)) {}
  ~CudaTimerImpl() override {
    CurrentContext scope(*cuda);
    for (CUevent event : {begin, end}) {
      if (event)
        cuda->driver.cuEventDestroy(event);
    }
  }
  Result<void> create() {
    CurrentContext scope(*cuda);
    for (CUevent *event : {&begin, &end}) {
      if (CUresult status = cuda->driver.cuEventCreate(event, CU_EVENT_DEFAULT); status != CUDA_SUCCESS)
        return cuda->error(status, "cannot create an event");
    }
    return {};
  }
  Result<void> start(Stream stream) override { return record(begin, stream); }
  Result<void> stop(Stream stream) override { return record(end, stream); }
  Result<double> milliseconds() override {
    CurrentContext scope(*cuda);
    float elapsed = 0;
    CUresult status = cuda->driver.cuEventSynchronize(end);
    if (status == CUDA_SUCCESS)
      status = cuda->driver.cuEventElapsedTime(&elapsed, begin, end);
    if (status != CUDA_SUCCESS)
      return cuda->error(status, "cannot measure the time", ErrorKind::execution);
    return double(elapsed);
  }

private:
  Result<void> record(CUevent event, Stream stream) {
    CurrentContext scope(*cuda);
    if (CUresult status = cuda->driver.cuEventRecord(event, static_cast<CUstream>(stream.handle));
        status != CUDA_SUCCESS)
      return cuda->error(status, "cannot record an event", ErrorKind::execution);
    return {};
  }

  std::shared_ptr<const CudaContext> cuda;
  CUevent begin = nullptr, end = nullptr;
};

} // namespace

Result<std::unique_ptr<CudaTimer>> tlc::createCudaTimer(std::shared_ptr<const CudaContext> context) {
  auto timer = std::make_unique<CudaTimerImpl>(std::move(context));
  if (Result<void> created = timer->create(); !created)
    return created.error();
  return std::unique_ptr<CudaTimer>(std::move(timer));
}
