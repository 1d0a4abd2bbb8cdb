// SPDX-License-Identifier: Apache-2.0
/// \file
/// Communicators of NCCL.
#pragma once

#include "runtime/device/Communicator.h"
#include "runtime/nccl/Nccl.h"

#include <memory>

namespace tlc {

/// Connects with the ranks that have the same id, on that GPU. Each waits for all others, for so long at most
/// here and in each of its calls.
Result<std::unique_ptr<Communicator>>
createCommunicator(const Nccl &nccl, int ordinal, int64_t rank, int64_t ranks, const NcclUniqueId &id,
                   Communicator::Limit limit = Communicator::usualLimit);

} // namespace tlc
