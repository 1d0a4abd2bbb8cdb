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
// Hints for caches, which change nothing here (CacheHints.cpp).
/// Takes cache operators and eviction hints. With .L2::cache_hint the last operand must be a cache policy,
/// which is checked before the access: the access is to be emitted after this.
void takeCacheHints(Decoder &decoder);
/// prefetch, discard, applypriority.
void decodeHint(Decoder &decoder);
void decodeCreatePolicy(Decoder &decoder);

/// tensormap.replace and tensormap.cp_fenceproxy (TensorReplace.cpp).
void decodeTensormap(Decoder &decoder);
/// st.async and red.async (StoreAsync.cpp).
void decodeStoreAsync(Decoder &decoder);
void decodeReduceAsync(Decoder &decoder);

} // namespace tlc::emulator
