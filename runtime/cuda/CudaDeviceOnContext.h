// SPDX-License-Identifier: Apache-2.0
/// \file
/// A GPU whose context is open, by any driver.
#pragma once

#include "runtime/cuda/CudaContext.h"
#include "runtime/cuda/CudaDevice.h"

#include <memory>

namespace tlc {

/// `createCudaDevice` for the GPU of the context, which belongs to the device alone.
Result<std::unique_ptr<Device>> createCudaDevice(std::shared_ptr<const CudaContext> context,
                                                 CudaDeviceOptions options = {});

} // namespace tlc
