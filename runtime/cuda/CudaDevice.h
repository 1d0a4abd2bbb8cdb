// SPDX-License-Identifier: Apache-2.0
/// \file
/// An NVIDIA GPU through its driver, which is opened at run time and never
/// linked. Uses the device's primary context, so that pointers and streams of
/// other libraries in the process work.
#pragma once

#include "runtime/device/Device.h"

#include <functional>
#include <optional>
#include <string_view>

namespace tlc {

struct CudaDeviceOptions {
  /// Multiprocessors that grids are computed for, from 1 to the GPU's; left out: all of them. Persistent
  /// grids then leave the others to other work. Which ones run a block is the driver's choice.
  std::optional<int> multiprocessors = {};
  /// Called with what kernels print, a line each, when the device synchronises; empty: it goes to stderr.
  std::function<void(std::string_view)> print = {};
  /// For debugging: each launch that is neither captured nor one of several ranks waits for its stream, and
  /// an error is that of the launch that failed. Launches of several ranks wait for each other, so the thread
  /// that enqueues them all does not wait for one.
  bool waitsForLaunches = false;
};

/// The GPU of that ordinal. An `environment` error says what is missing: the
/// driver's library, a recent driver, a device, or CUDA's headers at build time;
/// an `invalidArgument` error that the GPU has not so many multiprocessors.
Result<std::unique_ptr<Device>> createCudaDevice(int ordinal, CudaDeviceOptions options = {});

/// The ordinal of the GPU whose context is current on the calling thread, 0 where none is.
Result<int> currentCudaOrdinal();

/// What the driver made of a kernel.
struct CudaKernel {
  std::string entry = {};
  int registers = 0;  ///< per thread
  int spillBytes = 0; ///< local memory per thread: spills and arrays that are not in registers
};
struct CudaCompilation {
  std::vector<CudaKernel> kernels = {}; ///< in the order of variants and launches
  std::string log = {};                 ///< the assembler's messages
};
/// For a program that a CUDA device has loaded; null for any other.
const CudaCompilation *cudaCompilationOf(const LoadedProgram &program);

} // namespace tlc
