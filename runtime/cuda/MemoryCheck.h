// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether the memory of a launch is where kernels of a GPU reach it.
#pragma once

#include "runtime/cuda/CudaContext.h"
#include "runtime/device/Device.h"

#include <mutex>
#include <set>

namespace tlc {

/// Catches the usual mistakes, an address of the host or of another GPU.
class MemoryCheck {
public:
  explicit MemoryCheck(std::shared_ptr<const CudaContext> context) : cuda(std::move(context)) {}

  /// Kernels reach all memory of that GPU from now on.
  void addPeer(int ordinal);
  /// Asks the driver for each address, once of this GPU's memory and up to three times of other memory, and
  /// remembers nothing: memory may be freed and mapped again. Takes a fraction of a microsecond for each. The
  /// GPU's context is current.
  Result<void> check(const TensorArgument &argument, const TensorView &tensor) const;

private:
  Result<void> check(const TensorArgument &argument, CUdeviceptr address) const;
  bool reaches(int ordinal) const;
  bool isAccessible(CUdeviceptr address) const;

  std::shared_ptr<const CudaContext> cuda;
  mutable std::mutex mutex;
  std::set<int> peers;
};

} // namespace tlc
