// SPDX-License-Identifier: Apache-2.0
/// \file
/// A GPU's primary context and the scope in which it is current.
#pragma once

#include "runtime/cuda/Driver.h"
#include "runtime/device/LaunchLog.h"

#include <memory>
#include <string_view>

namespace tlc {

/// Retains the primary context of a GPU: the one that the CUDA runtime and
/// with it other libraries use, so that addresses and streams are common.
class CudaContext {
public:
  static Result<std::shared_ptr<const CudaContext>> create(int ordinal);
  /// Takes over a primary context that has been retained.
  CudaContext(const Driver &driver, int ordinal, int deviceCount, CUdevice device, CUcontext context)
      : driver(driver), ordinal(ordinal), deviceCount(deviceCount), device(device), context(context) {}
  CudaContext(const CudaContext &) = delete;
  ~CudaContext() { driver.cuDevicePrimaryCtxRelease(device); }

  /// An error that says what was attempted, e.g. "cannot copy 4 bytes". Any call of the driver after a kernel
  /// that failed returns that failure: then it is of kind `execution`, and names the launches of `log`.
  Error error(CUresult status, std::string_view attempt, ErrorKind kind = ErrorKind::environment) const;
  /// Whether the stream is captured: then what is enqueued becomes part of a graph.
  Result<bool> isCaptured(CUstream stream) const;
  /// A device attribute, 0 if the driver does not know it.
  int attribute(CUdevice_attribute attribute) const;

  const Driver driver;
  const int ordinal;
  const int deviceCount;
  const CUdevice device;
  const CUcontext context;
  mutable LaunchLog log; ///< of the device that this belongs to
};

/// Makes the context current for its lifetime and then restores the previous
/// one. Costs next to nothing where it is current already.
class CurrentContext {
public:
  explicit CurrentContext(const CudaContext &context) : driver(context.driver) {
    CUcontext current = nullptr;
    if (driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context.context)
      return;
    pushed = driver.cuCtxPushCurrent(context.context) == CUDA_SUCCESS;
  }
  CurrentContext(const CurrentContext &) = delete;
  ~CurrentContext() {
    CUcontext previous = nullptr;
    if (pushed)
      driver.cuCtxPopCurrent(&previous);
  }

private:
  const Driver &driver;
  bool pushed = false;
};

} // namespace tlc
