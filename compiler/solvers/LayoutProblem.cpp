// SPDX-License-Identifier: Apache-2.0
/// \file
/// The layout problem's well-formedness, and the check of its answers.
#include "compiler/solvers/LayoutProblem.h"

#include "dialects/layout/LayoutText.h"
#include "runtime/support/Math.h"

#include <algorithm>
#include <fmt/format.h>

using namespace tlc;

namespace {

// Bounds that keep prices (weight * bits) exact in 64 bits.
constexpr int64_t maxElements = int64_t(1) << 30, maxElementBits = 128, maxWeight = int64_t(1) << 20;

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

Result<void> checkVariable(const LayoutVariable &variable) {
  int64_t elements = 1;
  for (int64_t extent : variable.shape) {
    if (extent < 1 || extent > maxElements / elements)
      return invalid(
          fmt::format("expected positive extents of at most 2^30 elements in all for '{}', but got {}",
                      variable.name, printShape(variable.shape)));
    elements *= extent;
  }
  if (variable.elementBits < 1 || variable.elementBits > maxElementBits || !isPowerOf2(variable.elementBits))
    return invalid(fmt::format("expected element bits that are a power of two up to 128 for '{}', but got {}",
                               variable.name, variable.elementBits));
  if (variable.numWarps < 1 || variable.numWarps > maxLayoutWarps)
    return invalid(fmt::format("expected 1 to {} warps for '{}', but got {}", maxLayoutWarps, variable.name,
                               variable.numWarps));
  return {};
}

Result<void> checkLayoutOf(const LayoutVariable &variable, const FragmentLayout &layout) {
  if (layout.rank() != int(variable.shape.size()))
    return invalid(fmt::format("expected a layout of rank {} for '{}', but got rank {}",
                               variable.shape.size(), variable.name, layout.rank()));
  if (!layout.covers(variable.shape))
    return invalid(fmt::format("expected a layout that covers {} for '{}', but it covers {}",
                               printShape(variable.shape), variable.name, printShape(layout.coveredShape())));
  if (layout.numWarps() != variable.numWarps)
    return invalid(fmt::format("expected a layout over {} warps for '{}', but got {}", variable.numWarps,
                               variable.name, layout.numWarps()));
  return {};
}

bool isPermutation(std::vector<int> permutation, size_t rank) {
  std::sort(permutation.begin(), permutation.end());
  for (size_t i = 0; i < permutation.size(); ++i)
    if (permutation[i] != int(i))
      return false;
  return permutation.size() == rank;
}

int64_t bitsOf(const LayoutVariable &variable) {
  int64_t bits = variable.elementBits;
  for (int64_t extent : variable.shape)
    bits *= extent;
  return bits;
}

/// The shape that the relation gives the result; nothing if it does not apply.
std::optional<Shape> relatedShape(const LayoutConstraint &constraint, const LayoutVariable &sourceVariable,
                                  const LayoutVariable &resultVariable) {
  const Shape &source = sourceVariable.shape, &result = resultVariable.shape;
  Shape shape = source;
  size_t axis = size_t(constraint.axis);
  switch (constraint.kind) {
  case ConstraintKind::fixed:
  case ConstraintKind::equal:
    return shape;
  case ConstraintKind::reduceOf:
    if (constraint.axis < 0 || axis >= source.size())
      return std::nullopt;
    shape[axis] = 1;
    return shape;
  case ConstraintKind::broadcastOf:
    if (constraint.axis < 0 || axis >= source.size() || source.size() != result.size() || source[axis] != 1)
      return std::nullopt;
    shape[axis] = result[axis];
    return shape;
  case ConstraintKind::transposeOf:
    if (!isPermutation(constraint.permutation, source.size()))
      return std::nullopt;
    for (size_t i = 0; i < source.size(); ++i)
      shape[i] = source[size_t(constraint.permutation[i])];
    return shape;
  case ConstraintKind::reshapeOf:
    return bitsOf(sourceVariable) == bitsOf(resultVariable) ? std::optional(result) : std::nullopt;
  }
  return std::nullopt;
}

Result<void> checkConstraint(const LayoutProblem &problem, const LayoutConstraint &constraint) {
  const std::vector<LayoutVariable> &vars = problem.variables();
  auto inRange = [&](VariableId id) { return id >= 0 && size_t(id) < vars.size(); };
  if (!inRange(constraint.result) ||
      (constraint.kind != ConstraintKind::fixed && !inRange(constraint.source)))
    return invalid(fmt::format("expected variables below {}, but got result {} and source {}", vars.size(),
                               constraint.result, constraint.source));
  if (constraint.weight < 1 || constraint.weight > maxWeight)
    return invalid(fmt::format("expected a weight of 1 to 2^20, but got {}", constraint.weight));
  const LayoutVariable &result = vars[size_t(constraint.result)];
  if (constraint.kind == ConstraintKind::fixed) {
    if (!constraint.layout)
      return invalid(fmt::format("expected a layout for '{}', but got none", result.name));
    return checkLayoutOf(result, *constraint.layout);
  }
  const LayoutVariable &source = vars[size_t(constraint.source)];
  if (source.numWarps != result.numWarps)
    return invalid(fmt::format("expected '{}' and '{}' in the same warps, but got {} and {}", source.name,
                               result.name, source.numWarps, result.numWarps));
  if (relatedShape(constraint, source, result) != result.shape)
    return invalid(fmt::format("expected the shape of '{}' to follow from {} of '{}', but got {} from {}",
                               result.name, printShape(source.shape), source.name, printShape(result.shape),
                               toString(constraint.kind)));
  return {};
}

/// A failure with the constraint that it is about.
Error about(size_t id, const LayoutConstraint &constraint, const Error &error) {
  return {error.kind, fmt::format("constraint {} ({}): {}", id, constraint.anchor.reason, error.message)};
}

Result<void> verifyConversion(const LayoutConstraint &constraint, const MeetingLayouts &meeting,
                              const Shape &shape, const LayoutConversion &conversion) {
  if (constraint.conversion == ConversionPolicy::forbidden)
    return invalid("expected no conversion because it is forbidden here, but got one");
  if (constraint.kind == ConstraintKind::fixed && constraint.strength == Strength::preferred)
    return invalid("expected no conversion for a preference, but got one");
  if (meeting.from == meeting.to)
    return invalid("expected no conversion because the constraint holds, but got one");
  if (conversion.from != meeting.from || conversion.to != meeting.to)
    return invalid(fmt::format("expected a conversion from '{}' to '{}', but got one from '{}' to '{}'",
                               printLayout(meeting.from), printLayout(meeting.to),
                               printLayout(conversion.from), printLayout(conversion.to)));
  RelayoutKind kind = planRelayout(meeting.from, meeting.to, shape).kind;
  if (conversion.kind != kind)
    return invalid(
        fmt::format("expected a conversion by {}, but got {}", toString(kind), toString(conversion.kind)));
  return {};
}

} // namespace

const char *tlc::toString(ConstraintKind kind) {
  switch (kind) {
  case ConstraintKind::fixed:
    return "a fixed layout";
  case ConstraintKind::equal:
    return "equality";
  case ConstraintKind::reduceOf:
    return "a reduction";
  case ConstraintKind::broadcastOf:
    return "a broadcast";
  case ConstraintKind::transposeOf:
    return "a transposition";
  case ConstraintKind::reshapeOf:
    return "a reshape";
  }
  return "";
}

VariableId LayoutProblem::addVariable(LayoutVariable variable) {
  vars.push_back(std::move(variable));
  return VariableId(vars.size() - 1);
}

ConstraintId LayoutProblem::addConstraint(LayoutConstraint constraint) {
  cons.push_back(std::move(constraint));
  return ConstraintId(cons.size() - 1);
}

LayoutConstraint &LayoutProblem::relate(ConstraintKind kind, VariableId result, VariableId source,
                                        Anchor anchor) {
  LayoutConstraint constraint;
  constraint.kind = kind;
  constraint.result = result;
  constraint.source = source;
  constraint.anchor = std::move(anchor);
  addConstraint(std::move(constraint));
  return cons.back();
}

LayoutConstraint &LayoutProblem::fixed(VariableId variable, FragmentLayout layout, Strength strength,
                                       Anchor anchor) {
  LayoutConstraint &constraint = relate(ConstraintKind::fixed, variable, -1, std::move(anchor));
  constraint.layout = std::move(layout);
  constraint.strength = strength;
  return constraint;
}

LayoutConstraint &LayoutProblem::equal(VariableId result, VariableId source, Anchor anchor) {
  return relate(ConstraintKind::equal, result, source, std::move(anchor));
}

LayoutConstraint &LayoutProblem::reduceOf(VariableId result, VariableId source, int axis, Anchor anchor) {
  LayoutConstraint &constraint = relate(ConstraintKind::reduceOf, result, source, std::move(anchor));
  constraint.axis = axis;
  return constraint;
}

LayoutConstraint &LayoutProblem::broadcastOf(VariableId result, VariableId source, int axis, Anchor anchor) {
  LayoutConstraint &constraint = relate(ConstraintKind::broadcastOf, result, source, std::move(anchor));
  constraint.axis = axis;
  return constraint;
}

LayoutConstraint &LayoutProblem::transposeOf(VariableId result, VariableId source,
                                             std::vector<int> permutation, Anchor anchor) {
  LayoutConstraint &constraint = relate(ConstraintKind::transposeOf, result, source, std::move(anchor));
  constraint.permutation = std::move(permutation);
  return constraint;
}

LayoutConstraint &LayoutProblem::reshapeOf(VariableId result, VariableId source, Anchor anchor) {
  return relate(ConstraintKind::reshapeOf, result, source, std::move(anchor));
}

RowMajorTile LayoutProblem::tile(VariableId variable) const {
  return {vars[size_t(variable)].shape, vars[size_t(variable)].elementBits};
}

Result<void> LayoutProblem::check() const {
  for (const LayoutVariable &variable : vars)
    if (Result<void> ok = checkVariable(variable); !ok)
      return ok;
  std::vector<bool> isReshaped(vars.size(), false);
  for (size_t id = 0; id < cons.size(); ++id) {
    if (Result<void> ok = checkConstraint(*this, cons[id]); !ok)
      return about(id, cons[id], ok.error());
    if (cons[id].kind != ConstraintKind::reshapeOf)
      continue;
    if (isReshaped[size_t(cons[id].result)])
      return about(id, cons[id],
                   invalid(fmt::format("expected '{}' to be the result of one reshape, but it is of several",
                                       vars[size_t(cons[id].result)].name)));
    isReshaped[size_t(cons[id].result)] = true;
  }
  return {};
}

namespace {
/// What the source of `reshapeOf` has if nothing moves.
std::optional<FragmentLayout> reshapedBack(const LayoutProblem &problem, const LayoutConstraint &constraint,
                                           const FragmentLayout &result) {
  return reshaped(result, problem.tile(constraint.result), problem.tile(constraint.source));
}
} // namespace

bool tlc::canMeet(const LayoutProblem &problem, const LayoutConstraint &constraint,
                  const FragmentLayout &result) {
  return constraint.kind != ConstraintKind::reshapeOf || reshapedBack(problem, constraint, result);
}

MeetingLayouts tlc::meetingLayouts(const LayoutProblem &problem, const LayoutConstraint &constraint,
                                   const std::vector<FragmentLayout> &layouts) {
  const FragmentLayout &result = layouts[size_t(constraint.result)];
  if (constraint.kind == ConstraintKind::fixed)
    return {result, *constraint.layout};
  const FragmentLayout &source = layouts[size_t(constraint.source)];
  switch (constraint.kind) {
  case ConstraintKind::fixed:
  case ConstraintKind::equal:
    break;
  case ConstraintKind::reduceOf:
    return {source.reduced(constraint.axis), result};
  case ConstraintKind::broadcastOf:
    return {source, result.reduced(constraint.axis)};
  case ConstraintKind::transposeOf:
    return {source.transposed(constraint.permutation), result};
  case ConstraintKind::reshapeOf:
    return {source, *reshapedBack(problem, constraint, result)};
  }
  return {source, result};
}

VariableId tlc::meetingVariable(const LayoutConstraint &constraint) {
  bool atSource = constraint.kind == ConstraintKind::broadcastOf ||
                  constraint.kind == ConstraintKind::reshapeOf || constraint.kind == ConstraintKind::equal;
  return atSource ? constraint.source : constraint.result;
}

Result<void> tlc::verify(const LayoutProblem &problem, const LayoutSolution &solution) {
  const std::vector<LayoutVariable> &vars = problem.variables();
  const std::vector<LayoutConstraint> &cons = problem.constraints();
  if (solution.layouts.size() != vars.size() || solution.origins.size() != vars.size())
    return invalid(fmt::format("expected a layout and an origin for each of {} variables, but got {} and {}",
                               vars.size(), solution.layouts.size(), solution.origins.size()));
  for (size_t i = 0; i < vars.size(); ++i)
    if (Result<void> ok = checkLayoutOf(vars[i], solution.layouts[i]); !ok)
      return ok;

  auto conversion = solution.conversions.begin();
  auto unmet = solution.unmetPreferences.begin();
  for (size_t id = 0; id < cons.size(); ++id) {
    const LayoutConstraint &constraint = cons[id];
    const FragmentLayout &result = solution.layouts[size_t(constraint.result)];
    if (!canMeet(problem, constraint, result))
      return about(
          id, constraint,
          invalid(fmt::format("expected a layout of '{}' that can be reshaped to {}, but got '{}'",
                              vars[size_t(constraint.result)].name,
                              printShape(vars[size_t(constraint.source)].shape), printLayout(result))));
    MeetingLayouts meeting = meetingLayouts(problem, constraint, solution.layouts);
    bool isPreference =
        constraint.kind == ConstraintKind::fixed && constraint.strength == Strength::preferred;
    bool listedUnmet = unmet != solution.unmetPreferences.end() && size_t(*unmet) == id;
    if (listedUnmet)
      ++unmet;
    if (listedUnmet != (isPreference && meeting.from != meeting.to))
      return about(id, constraint,
                   invalid("expected exactly the preferences that do not hold in the list of unmet ones"));
    if (conversion != solution.conversions.end() && size_t(conversion->constraint) == id) {
      const Shape &shape = vars[size_t(meetingVariable(constraint))].shape;
      if (Result<void> ok = verifyConversion(constraint, meeting, shape, *conversion); !ok)
        return about(id, constraint, ok.error());
      ++conversion;
    } else if (!isPreference && meeting.from != meeting.to) {
      return about(
          id, constraint,
          invalid(fmt::format("expected '{}' and '{}' to be equal or converted, but they are neither",
                              printLayout(meeting.from), printLayout(meeting.to))));
    }
  }
  if (conversion != solution.conversions.end() || unmet != solution.unmetPreferences.end())
    return invalid(
        "expected conversions and unmet preferences by increasing constraint, but some are left over");
  return {};
}
