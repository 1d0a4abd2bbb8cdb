// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks in processes of their own, of one host or of several, that NCCL connects.
#pragma once

#include "runtime/nccl/Nccl.h"
#include "runtime/support/Result.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tlc {

/// This process's rank of several. All ranks make the same calls in the same order, one thread at a time.
/// After an error of NCCL, or a limit, all calls are refused with it.
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
  /// Of NCCL, "2.19.3".
  virtual const std::string &version() const = 0;

  /// The bytes of all ranks, one after the other, of which each gives the same number. Waits for them, but
  /// not for other streams of the GPU.
  virtual Result<std::vector<std::byte>> exchange(std::span<const std::byte> own) = 0;

  /// Streams may wait for ever from now on. So the destructor frees nothing for which the driver would wait.
  virtual void abandon() = 0;
};

/// Connects with the ranks that have the same id, on that GPU. Each waits for all others, for so long at most
/// here and in each of its calls.
Result<std::unique_ptr<Communicator>>
createCommunicator(const Nccl &nccl, int ordinal, int64_t rank, int64_t ranks, const NcclUniqueId &id,
                   Communicator::Limit limit = Communicator::usualLimit);

} // namespace tlc
