// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention backward as a call on tensors of a device.
#pragma once

#include "kernels/attention/backward/Backward.h"
#include "kernels/library/Attention.h"

namespace tlc::attention {

using kernels::KeySum;
using kernels::QuerySum;

/// What a call reads and writes. Strides are free as forward's. Results must not overlap any other tensor.
struct BackwardTensors {
  TensorView q, k, v; ///< as forward has read them, of f16 or bf16
  TensorView o, lse;  ///< as forward has written them, with the same options
  /// The gradient of O, of its shape and type. Its rows may have any element stride, also 0, as an expanded
  /// tensor has; unless that is 1, the first launch copies dO to the workspace.
  TensorView dO;
  TensorView dq, dk, dv; ///< of the shapes of q, k and v; all of their type, or of f32

  std::optional<TensorView> sink = {};  ///< as forward has read it
  std::optional<TensorView> dSink = {}; ///< its gradient: h, of f32; there is one if there is a sink
  std::optional<TensorView> queryLengths = {}, keyLengths = {}; ///< as forward has read them
};

/// What is computed: forward's options with the same meaning. If mask, scale, cap or base of logarithms
/// differ from forward's, the gradients are those of another function.
struct BackwardOptions {
  MaskConfig mask = {};
  Lengths lengths = Lengths::uniform;
  std::optional<double> scale = {};
  double softCap = 0;
  LogBase logBase = LogBase::e; ///< of `lse`
  /// How dq is summed. Left out: the fastest way, with `isDeterministic` the fastest one that gives the same
  /// bits in every run.
  std::optional<QuerySum> dq = {};
  /// Likewise dk and dv, over the heads of Q that share them.
  std::optional<KeySum> dkv = {};
  bool isDeterministic = false;
  /// As forward's.
  std::optional<AttentionForm> form = {};
};

/// The program of a configuration.
kernels::CallProgram backwardCall(const kernels::BackwardConfig &config);

/// Bytes of workspace that `backward` needs for these tensors. Their memory need not exist yet: a null
/// address counts as aligned. Compiles and loads the program on its first use.
Result<size_t> workspaceSize(Programs &programs, const BackwardTensors &tensors,
                             const BackwardOptions &options = {});

/// Enqueues dq, dk, dv and dSink. Queries that see no key and keys that no query sees get zeros; rows of
/// padding are neither read nor written. If the program is loaded, it allocates nothing on the device, does
/// not wait, and can be captured in a CUDA graph.
Result<void> backward(Programs &programs, Stream stream, const BackwardTensors &tensors, Workspace workspace,
                      const BackwardOptions &options = {});

} // namespace tlc::attention
