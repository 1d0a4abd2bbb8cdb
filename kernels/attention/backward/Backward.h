// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention backward: dQ, dK and dV, the gradients of Q, K and V, from these, O, LSE and dO, the gradient of
/// O. Tensors have the shapes of attention forward's, gradients those of what they belong to; O and LSE are
/// what forward gives for the same options. Rows of padding are neither read nor written.
#pragma once

#include "compiler/dsl/dsl.h"
#include "kernels/attention/mask/Mask.h"
#include "kernels/attention/problem/Options.h"
#include "runtime/target/Target.h"

#include <string>

namespace tlc::kernels {

/// The type of gradients.
enum class GradientType : uint8_t {
  same, ///< that of Q, K and V
  f32,
};

/// How the gradients of queries are summed up over keys.
enum class QuerySum : uint8_t {
  atomic,    ///< blocks that have tiles of keys add to a workspace in f32, in no fixed order
  ownLaunch, ///< a launch over tiles of queries computes scores again: the same bits in every run
};

struct BackwardConfig {
  AttentionProblem problem = {}; ///< what is computed, on f16 or bf16
  GradientType gradients = GradientType::same;

  // How.
  QuerySum dq = QuerySum::atomic;
  int64_t bq = 64, bk = 128; ///< queries and keys of the tile of scores that a block computes at once
  int64_t stages = 2;        ///< tiles whose copies are in flight
  AttentionForm form = AttentionForm::plain;

  ElementType gradientType() const {
    return gradients == GradientType::f32 ? ElementType::f32 : problem.dtype;
  }
};

/// Elements of a row in shared memory and in registers, zeros after the tensor's: so many that two warpgroups
/// can share the columns of a gradient.
int64_t paddedRow(int64_t length);

/// Elements of a row of Q and K, and of V and O, at most: gradients of a tile are in registers.
inline constexpr int64_t longestGradientRow = 256;

/// Chooses the tiles for what is to be computed.
void chooseTiles(BackwardConfig &config, const Target &target);

dsl::Program backwardProgram(const BackwardConfig &config, const dsl::TraceOptions &options = {});
/// With a mask of one's own instead of the problem's.
dsl::Program backwardProgram(const BackwardConfig &config, const Mask &mask,
                             const dsl::TraceOptions &options = {});
/// With a mask that reads tensors of its own.
dsl::Program backwardProgram(const BackwardConfig &config, const MaskMaker &makeMask,
                             const dsl::TraceOptions &options = {});

} // namespace tlc::kernels
