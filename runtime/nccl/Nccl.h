// SPDX-License-Identifier: Apache-2.0
/// \file
/// NVIDIA's library of collectives (NCCL), which is opened when it is needed. What it declares is repeated
/// here, so that no header of it is.
#pragma once

#include "runtime/support/ElementType.h"
#include "runtime/support/Result.h"

#include <array>
#include <climits>
#include <cstddef>
#include <optional>
#include <string>

namespace tlc {

/// One rank makes it and gives it to all others, which begin a communicator by it (ncclUniqueId).
struct NcclUniqueId {
  std::array<char, 128> bytes = {};
};

/// A rank's end of a communicator (ncclComm).
struct NcclComm;

/// ncclConfig_t of 2.19, which later versions take, too.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef, version = 21900;
  int blocking = INT_MIN; ///< of this and what follows: NCCL chooses
  int clusterSize = INT_MIN, leastBlocks = INT_MIN, mostBlocks = INT_MIN;
  const char *network = nullptr;
  int splitShare = INT_MIN;
};

/// Pointers to the functions of Nccl.def. Copies share the library, which stays open.
struct Nccl {
#define TLC_NCCL_FUNCTION(name, result, parameters) result(*name) parameters = nullptr;
#include "runtime/nccl/Nccl.def"
#undef TLC_NCCL_FUNCTION

  /// ncclResult_t, of which these are no errors, and ncclDataType_t.
  static constexpr int success = 0, inProgress = 7, int8 = 0;
  static constexpr int sum = 0; ///< ncclRedOp_t
  /// The ncclDataType_t by which elements are summed; nothing if NCCL does not.
  static std::optional<int> typeOf(ElementType element);

  int versionCode = 0; ///< as ncclGetVersion counts: 21903 is 2.19.3
  std::string version; ///< "2.19.3"

  /// Opens the library at that path, or the one that the loader finds where it is empty: that of PyTorch, if
  /// it is loaded. An error says what is missing, or which version is too old.
  static Result<Nccl> open(const std::string &path = "");

  Result<NcclUniqueId> createUniqueId() const;

  /// "unhandled system error", and what NCCL says beyond that.
  std::string describe(int status, NcclComm *comm = nullptr) const;
};

} // namespace tlc
