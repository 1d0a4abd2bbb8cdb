// SPDX-License-Identifier: Apache-2.0
/// \file
/// The product of two matrices, or of each pair in a batch, as a call on tensors of a device.
#pragma once

#include "kernels/gemm/Gemm.h"
#include "kernels/library/call/Programs.h"

#include <optional>

namespace tlc::gemm {

using kernels::GemmActivation;
using kernels::GemmLayout;
using kernels::Programs;
using kernels::Workspace;

/// Rows have any stride. A batch is a first axis of `a`, `b`, `c` and `residual`, of any stride: 0 where all
/// products share a factor. `c` must not overlap the others.
struct GemmTensors {
  TensorView a; ///< m x k, or k x m as the layout says; of f16, bf16, f32 (read as tf32), e4m3, e5m2 or i8
  TensorView b; ///< n x k, or k x n; of the same type, or e4m3 or e5m2 where a is the other
  TensorView c; ///< m x n, of f16, bf16, f32, e4m3, or i32 of products of i8
  /// Of f32: one number each, or, with `scalesAreOfRows`, m and n of them, in a batch for each product.
  std::optional<TensorView> scaleA = {}, scaleB = {};
  std::optional<TensorView> bias = {};     ///< n, of f32: added to each row of c
  std::optional<TensorView> residual = {}; ///< like c: added at last
};

/// c = activation(scaleA scaleB a b + bias) + residual.
struct GemmOptions {
  GemmLayout layout = GemmLayout::tn; ///< only tn with elements of 8 and of 32 bits
  bool scalesAreOfRows = false;
  GemmActivation activation = GemmActivation::none;
  bool addsToC = false; ///< what c was is the residual
};

/// Bytes of workspace that `multiply` needs. Loads the program for these sizes.
Result<size_t> workspaceSize(Programs &programs, const GemmTensors &tensors, const GemmOptions &options = {});
/// Enqueues the product. If the program is loaded, it allocates nothing and does not wait.
Result<void> multiply(Programs &programs, Stream stream, const GemmTensors &tensors, Workspace workspace,
                      const GemmOptions &options = {});

} // namespace tlc::gemm
