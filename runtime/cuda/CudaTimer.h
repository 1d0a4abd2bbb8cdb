// SPDX-License-Identifier: Apache-2.0
/// \file
/// A timer of a GPU whose context is known.
#pragma once

#include "runtime/cuda/CudaContext.h"
#include "runtime/cuda/CudaDevice.h"

namespace tlc {

Result<std::unique_ptr<CudaTimer>> createCudaTimer(std::shared_ptr<const CudaContext> context);

} // namespace tlc
