// SPDX-License-Identifier: Apache-2.0
/// \file
/// The two halves of asynchronous copies: per lane (AsyncCopy.cpp) and bulk
/// (BulkCopy.cpp).
#pragma once

#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/memory/AtomicOps.h"

namespace tlc::emulator {

/// What follows cp.async.bulk; cp.reduce.async.bulk has an operation.
void decodeBulk(Decoder &decoder, std::optional<AtomicOp> reduction);
/// cp.reduce.async.bulk
void decodeBulkReduction(Decoder &decoder);

void emitBulkCommit(Decoder &decoder);
void emitBulkWait(Decoder &decoder);

} // namespace tlc::emulator
