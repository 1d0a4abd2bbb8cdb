// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward as a call on tensors of a device.
#pragma once

#include "kernels/attention/forward/Forward.h"
#include "kernels/library/call/Programs.h"
#include "runtime/device/Device.h"

#include <cstddef>
#include <optional>
#include <string>

namespace tlc::attention {

using kernels::ArtifactCache;
using kernels::AttentionForm;
using kernels::CausalAlignment;
using kernels::Lengths;
using kernels::LogBase;
using kernels::MaskConfig;
using kernels::Programs;
using kernels::Workspace;

/// What a call reads and writes. All strides but the innermost are free, so that b x s x h x d, b x h x s x
/// d, and slices of one tensor with Q, K and V in it need no copies. `o` and `lse` overlap nothing.
struct ForwardTensors {
  TensorView q;   ///< b x sq x h x d, of f16 or bf16 like `k`, `v` and `o`; packed: sq x h x d, and so on; or
                  ///< of e4m3 like `k` and `v`, and `o` of f16 or bf16
  TensorView k;   ///< b x sk x hkv x d; query head n reads head n / (h / hkv)
  TensorView v;   ///< b x sk x hkv x dv
  TensorView o;   ///< b x sq x h x dv
  TensorView lse; ///< b x h x sq, of f32; packed: h x sq

  /// What elements of e4m3 are multiplied by: b x h, b x hkv and b x hkv, of f32; one for each sequence and
  /// head. There are all three, or none of other types.
  std::optional<TensorView> scaleQ = {}, scaleK = {}, scaleV = {};
  /// A further score of each head, whose key has the value 0: h, of f32.
  std::optional<TensorView> sink = {};
  /// Padded: how many rows of Q and of K each sequence has, b of i32. Packed: cumulative, from 0, b + 1 of
  /// i32. They are the device's, so that nobody checks their values: from 0 to sq and sk, and growing if
  /// packed.
  std::optional<TensorView> queryLengths = {}, keyLengths = {};
};

/// What is computed of them. Each combination is a program of its own, compiled when it is needed first, that
/// takes any extents and strides. Of rows of up to 64 there are two where sequences are not packed and the
/// mask is none or causal alone: one for less than 512 queries, causal 1536, and one for more.
struct ForwardOptions {
  MaskConfig mask = {};
  Lengths lengths = Lengths::uniform;
  std::optional<double> scale = {}; ///< of scores, above 0; 1 / sqrt(d) if it is not given
  double softCap = 0;               ///< scores become cap tanh(score / cap); 0: they stay
  LogBase logBase = LogBase::e;     ///< of `lse`
  /// Where weighted rows of V of e4m3 are added up.
  kernels::OutputSum sum = kernels::OutputSum::perTile;
  /// How: the explicit form wherever the tensors and the device allow it, else the plain one. A form that is
  /// given is insisted on: a call that cannot have it is an error that says why.
  std::optional<AttentionForm> form = {};
};

/// The program of a configuration.
kernels::CallProgram forwardCall(const kernels::ForwardConfig &config);

/// The form that a call takes.
struct ForwardChoice {
  AttentionForm form = AttentionForm::explicitRoles;
  std::string whyPlain = {}; ///< what keeps it from the explicit form; empty if nothing does
};
Result<ForwardChoice> chooseForm(const Programs &programs, const ForwardTensors &tensors,
                                 const ForwardOptions &options = {});

/// Bytes of workspace that `forward` needs for these tensors, whose memory need not be there yet; where an
/// address is null, one that is aligned is supposed. Compiles and loads the program if it is the first of its
/// kind, so that `forward` does not.
Result<size_t> workspaceSize(Programs &programs, const ForwardTensors &tensors,
                             const ForwardOptions &options = {});

/// Enqueues o = softmax(scale q kᵀ, masked) v and lse. Checks everything before the first launch, and says
/// what is wrong by name. With a program that is loaded already it allocates nothing on the device and does
/// not wait, and can be captured in a CUDA graph.
Result<void> forward(Programs &programs, Stream stream, const ForwardTensors &tensors, Workspace workspace,
                     const ForwardOptions &options = {});

} // namespace tlc::attention
