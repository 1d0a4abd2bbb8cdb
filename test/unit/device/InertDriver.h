// SPDX-License-Identifier: Apache-2.0
/// \file
/// A driver without a GPU, to which tests add the functions that they note.
#pragma once

#include "runtime/cuda/Driver.h"

namespace tlc::test {

/// Contexts are pushed and popped without effect, and errors are "CUDA_ERROR (refused)".
inline Driver inertDriver() {
  Driver driver;
  driver.cuDevicePrimaryCtxRelease = [](CUdevice) { return CUDA_SUCCESS; };
  driver.cuCtxGetCurrent = [](CUcontext *context) {
    *context = nullptr;
    return CUDA_SUCCESS;
  };
  driver.cuCtxPushCurrent = [](CUcontext) { return CUDA_SUCCESS; };
  driver.cuCtxPopCurrent = [](CUcontext *) { return CUDA_SUCCESS; };
  driver.cuGetErrorName = [](CUresult, const char **name) {
    *name = "CUDA_ERROR";
    return CUDA_SUCCESS;
  };
  driver.cuGetErrorString = [](CUresult, const char **text) {
    *text = "refused";
    return CUDA_SUCCESS;
  };
  return driver;
}

} // namespace tlc::test
