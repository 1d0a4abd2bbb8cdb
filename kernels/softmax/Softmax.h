// SPDX-License-Identifier: Apache-2.0
/// \file
/// Y = softmax of X along rows, of any number and length. A row that is -inf
/// everywhere gives zeros (see kernels/reference).
#pragma once

#include "compiler/dsl/dsl.h"
#include "runtime/target/Target.h"

namespace tlc::kernels {

struct SoftmaxConfig {
  ElementType dtype = ElementType::bf16; ///< of X and Y
  int64_t rows = 1;                      ///< of a block
  int64_t columns = 4096;                ///< that a block holds in registers at once
  int64_t cluster = 1;                   ///< blocks that share a row
  int64_t warps = 4;
};

dsl::Program softmaxProgram(const SoftmaxConfig &config, const dsl::TraceOptions &options = {});

struct SoftmaxProblem {
  int64_t rows, columns;
  ElementType dtype;
};

/// A good configuration for a problem.
SoftmaxConfig chooseSoftmaxConfig(const SoftmaxProblem &problem, const Target &target);

/// Sets the columns of a tile by the other members: all of a short row, otherwise as many as registers hold.
void fitColumns(SoftmaxConfig &config, int64_t columns);

} // namespace tlc::kernels
