// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward as a call on tensors of a device.
#pragma once

#include "kernels/attention/dispatch/ForwardChoice.h"
#include "kernels/library/call/Programs.h"
#include "runtime/device/Device.h"

#include <cstddef>
#include <optional>
#include <string>

namespace tlc::attention {

using kernels::ArtifactCache;
using kernels::AttentionForm;
using kernels::CausalAlignment;
using kernels::ForwardChoice;
using kernels::Lengths;
using kernels::LogBase;
using kernels::MaskConfig;
using kernels::Programs;
using kernels::Workspace;

/// What a call reads and writes. All strides but the innermost are free, so that b x s x h x d, b x h x s x
/// d, and slices of one tensor that holds Q, K and V need no copies. `o` and `lse` must not overlap any other
/// tensor.
struct ForwardTensors {
  TensorView q;   ///< b x sq x h x d; packed: sq x h x d, likewise the others. f16 or bf16 like `k`, `v` and
                  ///< `o`, or e4m3 like `k` and `v` with `o` in f16 or bf16
  TensorView k;   ///< b x sk x hkv x d; query head n reads head n / (h / hkv)
  TensorView v;   ///< b x sk x hkv x dv
  TensorView o;   ///< b x sq x h x dv
  TensorView lse; ///< b x h x sq, of f32; packed: h x sq

  /// Factors of e4m3 elements, in f32, one for each sequence and head: b x h, b x hkv and b x hkv. With e4m3
  /// all three are required, with other types none is allowed.
  std::optional<TensorView> scaleQ = {}, scaleK = {}, scaleV = {};
  /// An additional score of each head, for a key whose value is 0: h, of f32.
  std::optional<TensorView> sink = {};
  /// Padded: the number of rows of Q and of K of each sequence, b of i32. Packed: cumulative numbers that
  /// begin with 0, b + 1 of i32. They are in device memory, so their values are not checked: they must be
  /// from 0 to sq and sk, and must not decrease if packed.
  std::optional<TensorView> queryLengths = {}, keyLengths = {};
};

/// What is computed from them. Each combination is a program of its own for any extents and strides, compiled
/// on its first use. There are two programs if d and dv are at most 64, sequences are not packed and the mask
/// is none or only causal: one for less than 512 queries (causal: 1536), and one for more. Programs with
/// split keys are chosen by extents, too.
struct ForwardOptions {
  MaskConfig mask = {};
  Lengths lengths = Lengths::uniform;
  std::optional<double> scale = {}; ///< of scores, above 0; 1 / sqrt(d) if it is not given
  double softCap = 0;               ///< scores become cap tanh(score / cap); 0: they stay
  LogBase logBase = LogBase::e;     ///< of `lse`
  /// With e4m3: where the weighted rows of V are summed.
  kernels::OutputSum sum = kernels::OutputSum::perTile;
  /// Left out: the explicit form if the tensors and the device allow it, else the plain one; split keys where
  /// up to 16 queries of a sequence meet so many keys that it is faster. If the given form is impossible, the
  /// call is an error that says why.
  std::optional<AttentionForm> form = {};
};

/// The program of a configuration.
kernels::CallProgram forwardCall(const kernels::ForwardConfig &config);

/// The form that a call takes.
Result<ForwardChoice> chooseForm(const Programs &programs, const ForwardTensors &tensors,
                                 const ForwardOptions &options = {});

/// Bytes of workspace that `forward` needs for these tensors. Their memory need not exist yet: a null address
/// counts as aligned. Compiles and loads the program on its first use, so that `forward` need not.
Result<size_t> workspaceSize(Programs &programs, const ForwardTensors &tensors,
                             const ForwardOptions &options = {});

/// Enqueues o = softmax(scale q kᵀ, masked) v and lse. Checks all arguments before the first launch, and
/// names the wrong one. If the program is loaded, it allocates nothing on the device, does not wait, and can
/// be captured in a CUDA graph.
Result<void> forward(Programs &programs, Stream stream, const ForwardTensors &tensors, Workspace workspace,
                     const ForwardOptions &options = {});

} // namespace tlc::attention
