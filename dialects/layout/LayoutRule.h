// SPDX-License-Identifier: Apache-2.0
/// \file
/// What an operation may ask of the layouts of its fragments, as plain data. Whose layouts, and what to do
/// where rules disagree, is up to the solver (compiler/solvers/LayoutProblem.h).
#pragma once

#include "dialects/layout/Layout.h"

namespace tlc {

enum class ConstraintKind {
  fixed,       ///< `result` has layout `layout`
  equal,       ///< layout(result) = layout(source)
  reduceOf,    ///< layout(result) = layout(source) reduced along `axis`
  broadcastOf, ///< layout(source) = layout(result) reduced along `axis`
  transposeOf, ///< layout(result) = layout(source) transposed by `permutation`
  reshapeOf,   ///< layout(source) = layout(result) reshaped (Reshape.h) to the source's extents and width
};

enum class Strength {
  required,  ///< an instruction wants it
  preferred, ///< it is only faster, e.g. coalesced; no conversion is made for it
};

enum class ConversionPolicy { permitted, forbidden };

struct LayoutRule {
  ConstraintKind kind = ConstraintKind::equal;
  std::optional<FragmentLayout> layout = {}; ///< `fixed`
  Strength strength = Strength::required;    ///< `fixed`
  int axis = 0;                              ///< `reduceOf`, `broadcastOf`
  std::vector<int> permutation = {};         ///< `transposeOf`
  ConversionPolicy conversion = ConversionPolicy::permitted;
};

} // namespace tlc
