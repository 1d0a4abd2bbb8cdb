// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks in processes of their own, of one host or of several, that a library of collectives connects.
#pragma once

#include "runtime/device/Device.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tlc {

/// This process's rank of several. All ranks make the same calls in the same order, one thread at a time.
/// After an error of the library, or a limit, all calls are refused with it.
class Communicator {
public:
  using Limit = std::chrono::duration<double>;
  static constexpr Limit usualLimit = std::chrono::seconds(60);
  /// That a rank gives to an exchange.
  static constexpr size_t mostBytes = 512;

  virtual ~Communicator() = default;

  virtual int ordinal() const = 0; ///< of the GPU
  virtual int64_t rank() const = 0;
  virtual int64_t ranks() const = 0;
  /// Of the library, "NCCL 2.19.3".
  virtual const std::string &version() const = 0;

  /// The bytes of all ranks, one after the other, of which each gives the same number. Waits for them, but
  /// not for other streams of the GPU.
  virtual Result<std::vector<std::byte>> exchange(std::span<const std::byte> own) = 0;

  // Collectives on memory of the GPU, enqueued on its stream, which is not captured. The host waits until all
  // ranks have come to the first one. Counts are the same on all ranks, which nobody checks.

  /// `receive` gets the bytes of all ranks, one after the other.
  virtual Result<void> allGather(const void *send, void *receive, size_t bytes, Stream stream) = 0;
  /// `send` has as many elements for each rank, one after the other. `receive` gets the sums of this rank's.
  virtual Result<void> reduceScatter(const void *send, void *receive, size_t count, ElementType element,
                                     Stream stream) = 0;
  /// `receive`, which may be `send`, gets the sums.
  virtual Result<void> allReduce(const void *send, void *receive, size_t count, ElementType element,
                                 Stream stream) = 0;

  /// Waits for the stream, which is not captured, so long at most as for ranks. After that the library ends
  /// what it does there, and the destructor frees nothing, as after `abandon`.
  virtual Result<void> synchronize(Stream stream) = 0;

  /// Streams may wait for ever from now on. So the destructor frees nothing for which the driver would wait.
  virtual void abandon() = 0;
};

} // namespace tlc
