// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/Epilogue.h"

#include <numbers>

namespace tlc::kernels {

using namespace dsl;

Slice Matrices::tile(const Index &image, const Index &row, const Index &column, const Shape &extents,
                     Loc loc) const {
  if (!isBatched)
    return tensor.tile({row, column}, extents, loc);
  return tensor.tile({image, row, column}, {1, extents[0], extents[1]}, loc);
}

std::vector<Index> shapeOfMatrices(const std::optional<Index> &batch, const Index &rows,
                                   const Index &columns) {
  if (!batch)
    return {rows, columns};
  return {*batch, rows, columns};
}

namespace {

Global declareC(Scope &k, const GemmConfig &config, const std::vector<Index> &shape, TensorFacts facts) {
  return config.residual == GemmResidual::inPlace ? k.inout("C", config.out, shape, facts)
                                                  : k.output("C", config.out, shape, facts);
}

FragmentValue activated(GemmActivation activation, const FragmentValue &x) {
  switch (activation) {
  case GemmActivation::none:
    return x;
  case GemmActivation::relu:
    return maxOrNaN(x, 0);
  case GemmActivation::gelu:
    return x * 0.5 * (1 + erf(x * (1 / std::numbers::sqrt2)));
  case GemmActivation::silu:
    return x / (1 + exp(-x));
  }
  return x;
}

} // namespace

Epilogue::Epilogue(Scope &k, const GemmConfig &config, const std::optional<Index> &batch, const Index &m,
                   const Index &n, TensorFacts factsOfC)
    : k(k), config(config), scaleA(config.scales == GemmScales::none
                                       ? std::nullopt
                                       : std::optional(k.input("ScaleA", f32, shapeOfScales(batch, m)))),
      scaleB(config.scales == GemmScales::none
                 ? std::nullopt
                 : std::optional(k.input("ScaleB", f32, shapeOfScales(batch, n)))),
      bias(config.bias == GemmBias::none ? std::nullopt : std::optional(k.input("Bias", f32, {n}))),
      residual(
          config.residual == GemmResidual::tensor
              ? std::optional(Matrices(
                    k.input("Residual", config.out, shapeOfMatrices(batch, m, n), factsOfC), bool(batch)))
              : std::nullopt),
      C(declareC(k, config, shapeOfMatrices(batch, m, n), factsOfC), bool(batch)) {}

std::vector<Index> Epilogue::shapeOfScales(const std::optional<Index> &batch, const Index &rows) const {
  if (config.scales == GemmScales::tensor)
    return {1};
  if (!batch)
    return {rows};
  return {*batch, rows};
}

Slice Epilogue::scalesOf(const Global &scales, const Index &image, const Index &first, int64_t count) const {
  if (config.scales == GemmScales::tensor)
    return scales.tile({0}, {1});
  if (!config.isBatched)
    return scales.tile({first}, {count});
  return scales.tile({image, first}, {1, count});
}

void Epilogue::store(const FragmentValue &sums, const Index &image, const Index &row, const Index &column,
                     const Shape &extents) const {
  if (config.out == config.sumType() && !config.hasEpilogue())
    return copy(sums, tileOfC(image, row, column, extents));
  FragmentValue c = config.sumType() == f32 ? sums : sums.to(f32);
  // Of rows first, so that scales of columns need no registers before.
  if (config.scales != GemmScales::none) {
    bool isOne = config.scales == GemmScales::tensor;
    Fragment ofRows = k.fragment(f32, {isOne ? 1 : extents[0], 1}),
             ofColumns = k.fragment(f32, {1, isOne ? 1 : extents[1]});
    copy(scalesOf(*scaleA, image, row, extents[0]), ofRows);
    c = c * ofRows;
    copy(scalesOf(*scaleB, image, column, extents[1]), ofColumns);
    c = c * ofColumns;
  }
  if (bias) {
    Fragment ofColumns = k.fragment(f32, {1, extents[1]});
    copy(bias->tile({column}, {extents[1]}), ofColumns);
    c = c + ofColumns;
  }
  c = activated(config.activation, c);
  if (config.residual != GemmResidual::none) {
    Fragment added = k.fragment(config.out, extents);
    copy((residual ? *residual : C).tile(image, row, column, extents), added);
    c = config.out == f32 ? c + added : c + added.to(f32);
  }
  copy(config.out == f32 ? c : c.to(config.out), tileOfC(image, row, column, extents));
}

} // namespace tlc::kernels
