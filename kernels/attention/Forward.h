// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward: O = softmax(scale Q Kᵀ, masked) V, and LSE, the logarithm of
/// each row's sum of exponentials. Q and O are b x sq x h x d, K and V b x sk x hkv x d,
/// with any outer strides; query head n reads the keys of head n / (h / hkv).
#pragma once

#include "compiler/dsl/dsl.h"
#include "kernels/reference/Reference.h"

namespace tlc::kernels {

enum class ForwardForm : uint8_t {
  explicitRoles, ///< roles, rings and asynchronous products written by hand; tensors aligned to 16 bytes
  plain,         ///< one pipelined loop for a tile of O; the compiler makes of it what the target has
};

/// What runs under a tile's last product with V.
enum class TileOverlap : uint8_t {
  none,     ///< nothing: one tile of Q is in shared memory at a time
  nextTile, ///< the next tile's first scores and their softmax: two tiles of Q
};

struct ForwardConfig {
  ElementType dtype = ElementType::bf16; ///< of Q, K, V, O: f16 or bf16
  int64_t d = 128;                       ///< length of a row of Q and K
  int64_t dv = 128;                      ///< of V and O
  CausalAlignment causal = CausalAlignment::none;
  int64_t bq = 128, bk = 128; ///< the tile of scores that a block computes at once
  int64_t stages = 2;         ///< tiles of K and of V whose copies are in flight
  ForwardForm form = ForwardForm::explicitRoles;
  TileOverlap overlap = TileOverlap::nextTile;
};

/// A good configuration for rows of these lengths and so many keys.
ForwardConfig chooseForwardConfig(ElementType dtype, int64_t d, int64_t dv, CausalAlignment causal,
                                  int64_t keys);

/// The same in the plain form, with a tile that suits it.
void makePlain(ForwardConfig &config);

dsl::Program forwardProgram(const ForwardConfig &config, const dsl::TraceOptions &options = {});

} // namespace tlc::kernels
