// SPDX-License-Identifier: Apache-2.0
/// \file
/// Answers a LayoutProblem: deterministic, a sort's time in the number of constraints,
/// and total: it fails only where two layouts disagree and no conversion is permitted
/// between them.
///
/// Layouts spread from where they are fixed; a variable keeps the first that reaches
/// it. In this order:
///   1. required layouts that forbid a conversion, and at once along the constraints
///      that forbid one,
///   2. the other required layouts, and from all these along the other constraints,
///      dearest conversion first,
///   3. the dearest preferred layout whose variable is still open, and from it
///      likewise, until none is,
///   4. the default layout (StockLayouts.h) of the first variable still open, and from
///      it, until none is.
/// The price of a conversion is the constraint's weight times the tile's bits, so
/// conversions end up where they are cheapest between two layouts that disagree:
/// outside the loop rather than in it, after the rounding to 16 bits rather than before.
///
/// `reduceOf` from result to source and `broadcastOf` from source to result have many
/// answers. Such steps come after the definite ones of their kind, and take a layout
/// that the variable itself is fixed to if that fits, or else the expanded one.
///
/// The result of `reshapeOf` takes only layouts that can be reshaped to the source's extents, so that
/// conversions stand before it, of the source, or between it and who wants another layout. If no such
/// layout reaches it and the default one is none, either, it takes one that is made for it.
#pragma once

#include "compiler/solvers/LayoutProblem.h"

#include <variant>

namespace tlc {

/// Two layouts that cannot meet, as nothing is permitted between them.
struct LayoutConflict {
  VariableId variable = -1;     ///< where they meet
  ConstraintId constraint = -1; ///< what does not hold and permits no conversion
  /// The `fixed` constraints that the two layouts come from; -1 for the default layout.
  ConstraintId fromOrigin = -1, toOrigin = -1;
  FragmentLayout from, to;
  std::string message; ///< a diagnostic at `constraint`, with notes at the origins
};

using LayoutOutcome = std::variant<LayoutSolution, LayoutConflict>;

/// Expects `problem.check()` to have succeeded.
LayoutOutcome solveLayouts(const LayoutProblem &problem);

} // namespace tlc
