// SPDX-License-Identifier: Apache-2.0
/// \file
/// The product of two matrices as a call on tensors of a device.
#pragma once

#include "kernels/gemm/Gemm.h"
#include "kernels/library/call/Programs.h"

namespace tlc::gemm {

using kernels::GemmLayout;
using kernels::Programs;
using kernels::Workspace;

/// Rows have any stride. `c` must not overlap `a` or `b`.
struct GemmTensors {
  TensorView a; ///< m x k, of f16 or bf16 like `b`
  TensorView b; ///< n x k, or k x n
  TensorView c; ///< m x n, of f16, bf16 or f32
};

struct GemmOptions {
  GemmLayout layout = GemmLayout::tn; ///< of `b`
};

/// Bytes of workspace that `multiply` needs. Loads the program for these sizes.
Result<size_t> workspaceSize(Programs &programs, const GemmTensors &tensors, const GemmOptions &options = {});
/// Enqueues c = a b. If the program is loaded, it allocates nothing and does not wait.
Result<void> multiply(Programs &programs, Stream stream, const GemmTensors &tensors, Workspace workspace,
                      const GemmOptions &options = {});

} // namespace tlc::gemm
