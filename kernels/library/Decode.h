// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention of a few queries per sequence with a cache of keys, as a call on tensors of a device.
#pragma once

#include "kernels/attention/decode/Decode.h"
#include "kernels/library/call/Programs.h"

#include <optional>

namespace tlc::attention {

/// All strides but the innermost are free. Strides and addresses are multiples of 16 bytes. `o` and `lse`
/// must not overlap any other tensor.
struct DecodeTensors {
  TensorView q; ///< b x queries x hkv x group x d, of f16 or bf16 like `k`, `v` and `o`
  TensorView k; ///< b x sk x hkv x d, or pages x keys of a page x hkv x d
  /// b x sk x hkv x dv, or in pages. Left out: rows of V are the first elements of rows of K.
  std::optional<TensorView> v = {};
  TensorView o;          ///< b x queries x hkv x group x dv
  TensorView lse;        ///< b x hkv x group x queries, of f32
  TensorView keyLengths; ///< of each sequence: b, of i32
  /// The page table: b x pages of a sequence, of i32. Left out: keys are contiguous.
  std::optional<TensorView> table = {};
  std::optional<TensorView> sink = {}; ///< an additional score of each head: hkv x group, of f32
};

struct DecodeOptions {
  kernels::MaskConfig mask = {};    ///< not block-causal
  std::optional<double> scale = {}; ///< of scores, above 0; 1 / sqrt(d) if it is not given
  double softCap = 0;               ///< scores become cap tanh(score / cap); 0: they stay
  kernels::LogBase logBase = kernels::LogBase::e;
};

/// Bytes of workspace that `decode` needs. Loads the program for this number of sequences and keys.
Result<size_t> workspaceSize(kernels::Programs &programs, const DecodeTensors &tensors,
                             const DecodeOptions &options = {});
/// Enqueues o and lse. If the program is loaded, it allocates nothing and does not wait.
Result<void> decode(kernels::Programs &programs, Stream stream, const DecodeTensors &tensors,
                    kernels::Workspace workspace, const DecodeOptions &options = {});

} // namespace tlc::attention
