// SPDX-License-Identifier: Apache-2.0
/// \file
/// Y = softmax of X along rows, of any number and length. A row that is -inf
/// everywhere gives zeros (see kernels/reference).
#pragma once

#include "compiler/dsl/dsl.h"
#include "runtime/target/Target.h"

#include <optional>

namespace tlc::kernels {

struct SoftmaxConfig {
  ElementType dtype = ElementType::bf16; ///< of X and Y
  int64_t rows = 1;                      ///< of a block
  int64_t columns = 4096;                ///< that a block holds in registers at once
  int64_t cluster = 1;                   ///< blocks that share a row
  int64_t warps = 4;
  int64_t piece = 4096;               ///< columns that are loaded at once, of those that a block holds
  std::optional<int64_t> length = {}; ///< of rows, where the program is made for one
  int64_t alignment = 1;              ///< of X and Y, as of `TensorFacts`
};

dsl::Program softmaxProgram(const SoftmaxConfig &config, const dsl::TraceOptions &options = {});

struct SoftmaxProblem {
  int64_t rows, columns;
  ElementType dtype;
  int64_t alignment;                    ///< bytes of which addresses and strides are multiples
  std::optional<bool> isForLength = {}; ///< whether the program is for this length; by alignment if not said
};

/// A good configuration for a problem.
SoftmaxConfig chooseSoftmaxConfig(const SoftmaxProblem &problem, const Target &target);

/// How small pieces of a tile may be: a program of more of them takes long to compile.
struct PiecesOfTile {
  int64_t columns; ///< of the tile, at most
  int64_t most;    ///< pieces
  int64_t least;   ///< columns of one
};
/// Of rows of so many columns, where blocks have so many warps, or any number of them.
PiecesOfTile piecesOfTile(int64_t columns, std::optional<int64_t> warps);

/// Sets the tile by the other members: all of a short row, otherwise as many columns as registers hold. A
/// piece of 0 columns is set, too.
void fitTile(SoftmaxConfig &config, int64_t columns);

} // namespace tlc::kernels
