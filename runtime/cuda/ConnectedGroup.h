// SPDX-License-Identifier: Apache-2.0
/// \file
/// A `RankGroup` whose ranks exchange handles of memory by a communicator.
#pragma once

#include "runtime/cuda/CudaPeers.h"
#include "runtime/device/Communicator.h"

#include <map>
#include <optional>

namespace tlc {

/// Whether all ranks are processes of one host, and the GPU of each reaches the memory of all others. If not,
/// all ranks get the same error of kind `environment`, which says which of them does not. All ranks call it.
Result<void> checkPeers(Communicator &communicator);

/// Functions that all ranks call fail on all of them with the same error, which names a rank; but a group
/// that an error has ended refuses them at once.
class ConnectedGroup {
public:
  /// Of ranks that pass `checkPeers`. All call it.
  static Result<std::unique_ptr<ConnectedGroup>> create(std::shared_ptr<Communicator> communicator);
  ~ConnectedGroup();

  RankGroup &group() { return *ranks; }

  /// From now on symmetric tensors may be in these bytes of this rank, and in as many of the others, which
  /// all call it. The memory is of one allocation by `cuMemAlloc` or `cudaMalloc`.
  Result<void> share(void *address, size_t bytes);
  /// After that all ranks, which all call it with what they shared together, may free it. Launches with it
  /// have finished on all of them.
  Result<void> unshare(void *address);

private:
  struct Offer;
  /// Memory of another rank.
  struct Mapping {
    MemoryHandle handle;
    void *address = nullptr;
  };
  struct Shared {
    SymmetricMemory memory;
    std::vector<Mapping> mappings = {}; ///< of the other ranks
    uint64_t number = 0;                ///< in the order of `share`, the same on all ranks
  };

  explicit ConnectedGroup(std::shared_ptr<Communicator> communicator)
      : communicator(std::move(communicator)) {}
  Result<Shared> map(void *address, size_t bytes);
  Result<void> mapOthers(std::span<const Offer> offers, void *own, Shared &shared);
  void close(const Shared &shared);

  const std::shared_ptr<Communicator> communicator;
  Shared flags;
  std::map<void *, Shared> all; ///< by this rank's address
  uint64_t shares = 0;
  std::unique_ptr<RankGroup> ranks;
};

} // namespace tlc
