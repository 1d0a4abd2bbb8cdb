// SPDX-License-Identifier: Apache-2.0
/// \file
/// What happens to the sums of a GEMM on their way to C.
#pragma once

#include "kernels/gemm/Gemm.h"

#include <optional>

namespace tlc::kernels {

/// A matrix, or one for each image of a batch.
class Matrices {
public:
  Matrices(dsl::Global tensor, bool isBatched) : tensor(std::move(tensor)), isBatched(isBatched) {}
  dsl::Slice tile(const dsl::Index &image, const dsl::Index &row, const dsl::Index &column,
                  const dsl::Shape &extents, dsl::Loc loc = dsl::Loc::current()) const;

private:
  dsl::Global tensor;
  bool isBatched;
};

/// The shape of matrices: with an axis for images where there are some.
std::vector<dsl::Index> shapeOfMatrices(const std::optional<dsl::Index> &batch, const dsl::Index &rows,
                                        const dsl::Index &columns);

/// Declares the arguments after A and B: ScaleA, ScaleB, Bias, Residual, C, those that the configuration has.
class Epilogue {
public:
  Epilogue(dsl::Scope &k, const GemmConfig &config, const std::optional<dsl::Index> &batch,
           const dsl::Index &m, const dsl::Index &n, dsl::TensorFacts factsOfC);

  /// A tile of C from its sums; `row` and `column` are those of its first element.
  void store(const dsl::FragmentValue &sums, const dsl::Index &image, const dsl::Index &row,
             const dsl::Index &column, const dsl::Shape &extents) const;
  dsl::Slice tileOfC(const dsl::Index &image, const dsl::Index &row, const dsl::Index &column,
                     const dsl::Shape &extents, dsl::Loc loc = dsl::Loc::current()) const {
    return C.tile(image, row, column, extents, loc);
  }

private:
  std::vector<dsl::Index> shapeOfScales(const std::optional<dsl::Index> &batch, const dsl::Index &rows) const;
  dsl::Slice scalesOf(const dsl::Global &scales, const dsl::Index &image, const dsl::Index &first,
                      int64_t count) const;

  dsl::Scope &k;
  const GemmConfig &config;
  std::optional<dsl::Global> scaleA, scaleB, bias;
  std::optional<Matrices> residual;
  Matrices C;
};

} // namespace tlc::kernels
