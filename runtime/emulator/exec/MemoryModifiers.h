// SPDX-License-Identifier: Apache-2.0
/// \file
/// Modifiers that all memory instructions share.
#pragma once

#include "runtime/emulator/exec/Decoder.h"

namespace tlc::emulator {

/// Takes semantics and scope; true when the access is ordered with other threads.
bool takeOrdering(Decoder &decoder);
/// Takes cache operators and eviction hints, which change nothing here.
void takeCacheHints(Decoder &decoder);

/// st.async and red.async (AsyncCopy.cpp).
void decodeStoreAsync(Decoder &decoder);
void decodeReduceAsync(Decoder &decoder);

} // namespace tlc::emulator
