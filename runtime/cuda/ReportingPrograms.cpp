// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/ReportingPrograms.h"

#include <algorithm>

using namespace tlc;

Result<std::unique_lock<std::mutex>> ReportingPrograms::note(const CudaProgram &program, CUstream stream) {
  if (!program.hasReports())
    return std::unique_lock<std::mutex>();
  std::unique_lock lock(mutex);
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  if (CUresult status = cuda->driver.cuStreamIsCapturing(stream, &capture); status != CUDA_SUCCESS)
    return cuda->error(status, "cannot query the capture of a stream", ErrorKind::execution);
  if (capture != CU_STREAM_CAPTURE_STATUS_NONE)
    captured.insert(program.weak_from_this());
  else if (std::ranges::none_of(launched, [&](const auto &known) { return known.get() == &program; }))
    launched.push_back(program.shared_from_this());
  return lock;
}

Result<void> ReportingPrograms::take(Reports &reports) {
  const std::lock_guard lock(mutex);
  std::erase_if(captured, [](const auto &known) { return known.expired(); });
  if (launched.empty() && captured.empty())
    return {};
  if (CUresult status = cuda->driver.cuCtxSynchronize(); status != CUDA_SUCCESS)
    return cuda->error(status, "work on the GPU failed", ErrorKind::execution);
  cuda->log.clear();
  for (; !launched.empty(); launched.erase(launched.begin()))
    if (Result<void> taken = launched.front()->takeReports(reports); !taken)
      return taken;
  for (const std::weak_ptr<const CudaProgram> &known : captured)
    if (std::shared_ptr<const CudaProgram> program = known.lock())
      if (Result<void> taken = program->takeReports(reports); !taken)
        return taken;
  return {};
}
