// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward: O = softmax(scale Q Kᵀ, masked) V, and LSE, the logarithm of
/// each row's sum of exponentials. Q and O are b x sq x h x d, K and V b x sk x hkv x d,
/// with any outer strides; query head n reads the keys of head n / (h / hkv).
#pragma once

#include "compiler/dsl/dsl.h"
#include "kernels/reference/Reference.h"

namespace tlc::kernels {

struct ForwardConfig {
  ElementType dtype = ElementType::bf16; ///< of Q, K, V, O: f16 or bf16
  int64_t d = 128;                       ///< length of a row of Q and K
  int64_t dv = 128;                      ///< of V and O
  CausalAlignment causal = CausalAlignment::none;
  int64_t bq = 128, bk = 128; ///< the tile of scores that a block computes at once
  int64_t stages = 2;         ///< tiles of K and of V whose copies are in flight
  int64_t headGroup = 16;     ///< heads that are walked together, so that their K and V stay in L2
};

dsl::Program forwardProgram(const ForwardConfig &config, const dsl::TraceOptions &options = {});

} // namespace tlc::kernels
