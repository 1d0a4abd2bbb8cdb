// SPDX-License-Identifier: Apache-2.0
/// \file
/// An NVIDIA GPU through its driver, which is opened at run time and never
/// linked. Uses the device's primary context, so that pointers and streams of
/// other libraries in the process work.
#pragma once

#include "runtime/device/Device.h"

namespace tlc {

/// The GPU of that ordinal. An `environment` error says what is missing: the
/// driver's library, a recent driver, a device, or CUDA's headers at build time.
Result<std::unique_ptr<Device>> createCudaDevice(int ordinal);

} // namespace tlc
