// SPDX-License-Identifier: Apache-2.0
/// \file
/// Streams and events of a GPU.
#pragma once

#include "runtime/cuda/CudaContext.h"
#include "runtime/device/Device.h"

#include <memory>

namespace tlc {

inline CUstream asStream(Stream stream) { return static_cast<CUstream>(stream.handle); }

Result<std::unique_ptr<OwnedStream>> createCudaStream(std::shared_ptr<const CudaContext> context);

/// `Device::record`, `wait` and `elapsed`.
Result<std::unique_ptr<const Event>> recordCudaEvent(std::shared_ptr<const CudaContext> context,
                                                     Stream stream, EventTime time);
Result<void> waitOnGpu(const CudaContext &cuda, const Event &event, Stream stream);
Result<double> elapsedOnGpu(const CudaContext &cuda, const Event &from, const Event &to);

} // namespace tlc
