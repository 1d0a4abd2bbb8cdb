// SPDX-License-Identifier: Apache-2.0
/// \file
/// The functions of NVIDIA's driver library, found at run time: the program
/// starts without a driver and can say what is missing.
#pragma once

#include "runtime/support/Result.h"

#include <cuda.h>
#include <cudaTypedefs.h>

namespace tlc {

/// Pointers to the functions of Driver.def. Copies share the library, which stays open.
struct Driver {
#define TLC_DRIVER_FUNCTION(name, version) PFN_##name##_v##version name = nullptr;
#include "runtime/cuda/Driver.def"
#undef TLC_DRIVER_FUNCTION

  /// As cuDriverGetVersion counts: 12080 is 12.8.
  int version = 0;

  /// Opens the library, finds the functions and initialises the driver.
  static Result<Driver> open();

  /// "CUDA_ERROR_INVALID_VALUE (invalid argument)".
  std::string describe(CUresult status) const;
};

/// "12.8" for 12080.
std::string formatDriverVersion(int version);

} // namespace tlc
