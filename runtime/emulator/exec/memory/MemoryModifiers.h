// SPDX-License-Identifier: Apache-2.0
/// \file
/// Modifiers that all memory instructions share.
#pragma once

#include "runtime/emulator/exec/core/Memory.h"
#include "runtime/emulator/exec/decode/Decoder.h"

namespace tlc::emulator {

struct MemoryOrder {
  AccessOrdering ordering = AccessOrdering::weak;
  Scope scope = Scope::gpu;
  bool isStrong() const { return ordering != AccessOrdering::weak; }
};
/// Takes semantics and scope.
MemoryOrder takeOrdering(Decoder &decoder);
/// Takes cache operators and eviction hints, which change nothing here.
void takeCacheHints(Decoder &decoder);

/// tensormap.replace and tensormap.cp_fenceproxy (TensorReplace.cpp).
void decodeTensormap(Decoder &decoder);
/// st.async and red.async (StoreAsync.cpp).
void decodeStoreAsync(Decoder &decoder);
void decodeReduceAsync(Decoder &decoder);

} // namespace tlc::emulator
