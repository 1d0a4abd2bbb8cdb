// SPDX-License-Identifier: Apache-2.0
/// \file
/// The question "which layout does every fragment get?" as plain data.
///
/// Variables are the tile values of one role; constraints say which layouts the
/// operations want and how the layouts of two values belong together. A constraint
/// that does not hold can be bought off with a conversion (shuffles or a round trip
/// through shared memory) if it permits one, at the price of its weight.
///
/// An IR pass fills the problem in program order, `solveLayouts` (LayoutSolver.h)
/// answers it, `verify` checks the answer, and the pass writes it back. Nothing here
/// knows the IR: an anchor is an opaque number with which the pass finds its way back
/// to the operation and its source line.
#pragma once

#include "dialects/layout/LayoutRule.h"
#include "dialects/layout/Relayout.h"
#include "dialects/layout/Reshape.h"

#include <string>

namespace tlc {

/// Who asks. `operation` is the caller's business; `reason` names the asker in
/// messages, e.g. "operand A of the product".
struct Anchor {
  int64_t operation = -1;
  std::string reason;
};

using VariableId = int;
using ConstraintId = int;

struct LayoutVariable {
  Shape shape;
  int elementBits = 32;
  int64_t numWarps = 4;
  std::string name; ///< the user's name for it, for messages
};

const char *toString(ConstraintKind kind);

/// A rule for the layouts of these variables.
struct LayoutConstraint : LayoutRule {
  VariableId result = -1;
  VariableId source = -1; ///< all but `fixed`
  /// How often a conversion here would run (10 per loop around it, say): conversions
  /// go where this is small.
  int64_t weight = 1;
  Anchor anchor;
};

class LayoutProblem {
public:
  VariableId addVariable(LayoutVariable variable);
  ConstraintId addConstraint(LayoutConstraint constraint);

  /// Shorthands; the constraint is returned for further settings until the next add.
  LayoutConstraint &fixed(VariableId variable, FragmentLayout layout, Strength strength, Anchor anchor);
  LayoutConstraint &equal(VariableId result, VariableId source, Anchor anchor);
  LayoutConstraint &reduceOf(VariableId result, VariableId source, int axis, Anchor anchor);
  LayoutConstraint &broadcastOf(VariableId result, VariableId source, int axis, Anchor anchor);
  LayoutConstraint &transposeOf(VariableId result, VariableId source, std::vector<int> permutation,
                                Anchor anchor);
  LayoutConstraint &reshapeOf(VariableId result, VariableId source, Anchor anchor);

  const std::vector<LayoutVariable> &variables() const { return vars; }
  const std::vector<LayoutConstraint> &constraints() const { return cons; }
  RowMajorTile tile(VariableId variable) const;

  /// Whether the problem is well formed: ids in range, ranks, shapes and numbers of
  /// warps fit. The solver may be run only on a problem that passes.
  Result<void> check() const;

private:
  LayoutConstraint &relate(ConstraintKind kind, VariableId result, VariableId source, Anchor anchor);

  std::vector<LayoutVariable> vars;
  std::vector<LayoutConstraint> cons;
};

/// A conversion on one constraint: the value arrives in `from` and leaves in `to`.
/// On `fixed` it stands between the value's layout `from` and the operation's `to`
/// (the pass turns it round where the operation produces the value). On the others it
/// follows the source: `from` is what the relation makes of the source's layout (for
/// `broadcastOf` and `reshapeOf`: the source's own), `to` what the result needs.
struct LayoutConversion {
  ConstraintId constraint = -1;
  FragmentLayout from, to;
  RelayoutKind kind = RelayoutKind::identity;
  /// The `fixed` constraints whose layouts meet here; -1 for the default layout.
  ConstraintId fromOrigin = -1, toOrigin = -1;
  std::string remark; ///< one sentence with both origins
};

struct LayoutSolution {
  std::vector<FragmentLayout> layouts;        ///< by variable
  std::vector<ConstraintId> origins;          ///< by variable: the `fixed` it comes from, or -1
  std::vector<LayoutConversion> conversions;  ///< by increasing constraint
  std::vector<ConstraintId> unmetPreferences; ///< increasing
};

/// The layouts that meet on a constraint, given those of its variables: the
/// constraint holds if they are equal, and a conversion goes from `from` to `to`.
struct MeetingLayouts {
  FragmentLayout from, to;
};
/// Expects the result of `reshapeOf` to have a layout that can be reshaped (`canMeet`).
MeetingLayouts meetingLayouts(const LayoutProblem &problem, const LayoutConstraint &constraint,
                              const std::vector<FragmentLayout> &layouts);
/// Whether the constraint's result may have the layout, whatever the source has: false where `reshapeOf`
/// cannot follow it back.
bool canMeet(const LayoutProblem &problem, const LayoutConstraint &constraint, const FragmentLayout &result);
/// The variable whose tile meets there: what a conversion would move.
VariableId meetingVariable(const LayoutConstraint &constraint);

/// Whether the solution answers the problem: a layout of the right rank, coverage and
/// number of warps for each variable, and each constraint either holds or is
/// bought off by exactly one permitted conversion between the right layouts, or is a
/// preference that is listed as unmet.
Result<void> verify(const LayoutProblem &problem, const LayoutSolution &solution);

} // namespace tlc
