// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward on e4m3: O = softmax(scale Q Kᵀ, masked) V, and LSE, as in Forward.h.
///
/// Each head of Q, K and V has a factor that its elements are multiplied by (a batch's, so that it is
/// b x h or b x hkv), positive and in f32. Scores, their softmax and O are computed in f32.
///
/// The weights, too, are rounded to e4m3 for the product with V. They are at most 1; multiplied by 2^8, which
/// the division by their sum takes back, they use the upper exponents of e4m3 and lose what is below
/// 2^-17 of a row's largest.
///
/// A product of e4m3 adds with 13 bits behind the point of the largest term, sum so far included, and cuts
/// the rest off. Over thousands of keys of one sign most of a sum is lost that way, which is why it is taken
/// out of the product after every tile of keys.
#pragma once

#include "kernels/attention/Forward.h"

namespace tlc::kernels {

/// Where the weighted rows of V are added up.
enum class OutputSum : uint8_t {
  perTile, ///< within a tile of keys by the product, tiles in f32; d up to 128
  inPlace, ///< by the product alone: faster, and too small by 20 % at 16384 keys if V has one sign
};

struct Fp8ForwardConfig {
  /// `dtype` is e4m3, d = dv. In the explicit form, d and bk are multiples of 32 and tensors aligned to 16
  /// bytes.
  ForwardConfig tile{.dtype = ElementType::e4m3};
  ElementType out = ElementType::bf16; ///< of O: f16 or bf16
  OutputSum sum = OutputSum::perTile;
};

/// Weights are multiplied by 2 to this power.
inline constexpr int fp8WeightHeadroom = 8;

Fp8ForwardConfig chooseFp8ForwardConfig(ElementType out, int64_t d, CausalAlignment causal, OutputSum sum,
                                        ForwardForm form);

dsl::Program fp8ForwardProgram(const Fp8ForwardConfig &config, const dsl::TraceOptions &options = {});

} // namespace tlc::kernels
