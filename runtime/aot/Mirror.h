// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensors of the host in memory of an emulated device.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/device/Device.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tlc::aot {

/// Memory of the emulator with the elements of tensors in memory of the host. Tensors whose spans have bytes
/// in common are in one piece. Bytes between elements are neither read nor written: they may be another
/// thread's.
class Mirror {
public:
  explicit Mirror(Device &device) : device(device) {}
  Mirror(const Mirror &) = delete;
  ~Mirror();

  /// Moves the tensors, the first ones of the artifact, there.
  Result<void> copyIn(const Artifact &artifact, std::span<TensorView> tensors);
  /// The other way, of those that are written.
  Result<void> copyOut();
  /// More memory, without content.
  Result<void *> allocate(size_t bytes);

private:
  struct Written {
    TensorView onHost;
    std::byte *inMemory;
  };
  Device &device;
  std::vector<void *> memory;
  std::vector<Written> written;
};

} // namespace tlc::aot
