// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/CudaContext.h"

#include <fmt/format.h>

using namespace tlc;

Result<std::shared_ptr<const CudaContext>> CudaContext::create(int ordinal) {
  Result<Driver> driver = Driver::open();
  if (!driver)
    return driver.error();
  auto fail = [&](std::string_view attempt, CUresult status) {
    return Error{ErrorKind::environment, fmt::format("cannot {}: {}", attempt, driver->describe(status))};
  };
  int count = 0;
  if (CUresult status = driver->cuDeviceGetCount(&count); status != CUDA_SUCCESS)
    return fail("count the GPUs", status);
  if (ordinal < 0 || ordinal >= count)
    return Error{
        ErrorKind::environment,
        fmt::format("expected a GPU with ordinal {}, but the driver shows {} of them", ordinal, count)};
  CUdevice device = 0;
  if (CUresult status = driver->cuDeviceGet(&device, ordinal); status != CUDA_SUCCESS)
    return fail(fmt::format("open GPU {}", ordinal), status);
  CUcontext context = nullptr;
  if (CUresult status = driver->cuDevicePrimaryCtxRetain(&context, device); status != CUDA_SUCCESS)
    return fail(fmt::format("create a context on GPU {}", ordinal), status);
  return std::shared_ptr<const CudaContext>(new CudaContext(*driver, ordinal, count, device, context));
}

/// Whether the status is that of a kernel which has failed, after which the context is of no use.
static bool isFault(CUresult status) {
  switch (status) {
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_NVLINK_UNCORRECTABLE:
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_LAUNCH_FAILED:
  case CUDA_ERROR_UNKNOWN:
    return true;
  default:
    return false;
  }
}

Error CudaContext::error(CUresult status, std::string_view attempt, ErrorKind kind) const {
  std::string message = fmt::format("{}: {}", attempt, driver.describe(status));
  if (!isFault(status))
    return {kind, std::move(message)};
  return log.attribute({ErrorKind::execution, std::move(message)});
}

int CudaContext::attribute(CUdevice_attribute attribute) const {
  int value = 0;
  return driver.cuDeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS ? value : 0;
}

Result<bool> CudaContext::isCaptured(CUstream stream) const {
  CurrentContext scope(*this);
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  CUresult status = driver.cuStreamIsCapturing(stream, &capture);
  if (status == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
    return Error{ErrorKind::invalidArgument,
                 fmt::format("expected a stream of its own because another one is captured, but got the "
                             "default stream of GPU {}",
                             ordinal)};
  if (status != CUDA_SUCCESS)
    return error(status, "cannot query the capture of a stream", ErrorKind::execution);
  if (capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
    return Error{ErrorKind::invalidArgument,
                 "expected a stream that runs or is captured, but an earlier error has ended its capture; "
                 "end the capture and begin it again"};
  return capture == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}
