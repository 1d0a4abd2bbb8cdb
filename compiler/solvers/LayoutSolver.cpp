// SPDX-License-Identifier: Apache-2.0
/// \file
/// One priority queue of steps, each of which brings a layout to a variable. What a
/// step is worth is decided when it is queued; the first to arrive wins.
#include "compiler/solvers/LayoutSolver.h"

#include "dialects/layout/LayoutText.h"
#include "dialects/layout/StockLayouts.h"

#include <algorithm>
#include <fmt/format.h>
#include <queue>

using namespace tlc;

namespace {

/// The order of the header, most urgent first. Indefinite steps follow the definite
/// ones of their origin.
enum class Urgency {
  bindingDefinite, ///< along a constraint that forbids a conversion
  bindingSeed,     ///< required, conversion forbidden
  bindingIndefinite,
  required, // seeds and definite steps alike: the dearest conversion is saved first
  requiredIndefinite,
  preferredDefinite, // before the next seed: two preferences are not worth a conversion between them
  preferredIndefinite,
  preferredSeed,
  defaultDefinite,
  defaultIndefinite,
  defaultSeed,
};

/// Where a variable's layout comes from; decides how urgently it spreads.
enum class Origin { required, preferred, byDefault };

Urgency stepUrgency(Origin origin, bool definite) {
  switch (origin) {
  case Origin::required:
    return definite ? Urgency::required : Urgency::requiredIndefinite;
  case Origin::preferred:
    return definite ? Urgency::preferredDefinite : Urgency::preferredIndefinite;
  case Origin::byDefault:
    return definite ? Urgency::defaultDefinite : Urgency::defaultIndefinite;
  }
  return Urgency::defaultIndefinite;
}

/// A layout on its way to `target`: from constraint `constraint`, or the default (-1).
struct Step {
  Urgency urgency = Urgency::defaultSeed;
  int64_t price = 0; ///< of the conversion that taking this step saves
  int64_t sequence = 0;
  ConstraintId constraint = -1;
  VariableId target = -1;

  bool operator<(const Step &other) const { // std::priority_queue pops the largest
    if (urgency != other.urgency)
      return urgency > other.urgency;
    return price != other.price ? price < other.price : sequence > other.sequence;
  }
};

class Solver {
public:
  explicit Solver(const LayoutProblem &problem)
      : problem(problem), layouts(problem.variables().size()), origins(layouts.size(), -1),
        relationsOf(layouts.size()), fixedOf(layouts.size()) {}

  LayoutOutcome solve();

private:
  const LayoutConstraint &constraintAt(ConstraintId id) const { return problem.constraints()[size_t(id)]; }
  const LayoutVariable &variableAt(VariableId id) const { return problem.variables()[size_t(id)]; }

  void queueSeeds();
  void queueSteps(VariableId from);
  void queue(Urgency urgency, int64_t price, ConstraintId constraint, VariableId target);
  int64_t priceOf(const LayoutConstraint &constraint) const;
  Origin originOf(VariableId id) const;
  void take(const Step &step);
  std::optional<FragmentLayout> layoutFor(const Step &step) const;
  FragmentLayout defaultFor(VariableId id) const;
  bool mayHave(VariableId id, const FragmentLayout &layout) const;
  std::optional<FragmentLayout> related(const LayoutConstraint &constraint, VariableId target) const;
  FragmentLayout widened(const LayoutConstraint &constraint, const FragmentLayout &narrow,
                         VariableId target) const;
  LayoutOutcome outcome() const;
  std::string reason(ConstraintId origin) const;
  LayoutConversion conversionAt(ConstraintId id, const MeetingLayouts &meeting) const;
  LayoutConflict conflictAt(ConstraintId id, const MeetingLayouts &meeting) const;
  std::pair<ConstraintId, ConstraintId> originsAt(ConstraintId id) const;

  const LayoutProblem &problem;
  std::vector<std::optional<FragmentLayout>> layouts;
  std::vector<ConstraintId> origins;
  std::vector<std::vector<ConstraintId>> relationsOf, fixedOf; ///< by variable, in program order
  std::priority_queue<Step> steps;
  int64_t nextSequence = 0;
};

/// Whether the relation gives the target one answer, going this way.
bool isDefinite(const LayoutConstraint &constraint, VariableId target) {
  return !(constraint.kind == ConstraintKind::reduceOf && target == constraint.source) &&
         !(constraint.kind == ConstraintKind::broadcastOf && target == constraint.result);
}

std::vector<int> inverse(const std::vector<int> &permutation) {
  std::vector<int> result(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i)
    result[size_t(permutation[i])] = int(i);
  return result;
}

void Solver::queue(Urgency urgency, int64_t price, ConstraintId constraint, VariableId target) {
  steps.push({urgency, price, nextSequence++, constraint, target});
}

int64_t Solver::priceOf(const LayoutConstraint &constraint) const {
  const LayoutVariable &moved = variableAt(meetingVariable(constraint));
  int64_t bits = moved.elementBits;
  for (int64_t extent : moved.shape)
    bits *= extent;
  return constraint.weight * bits;
}

Origin Solver::originOf(VariableId id) const {
  ConstraintId origin = origins[size_t(id)];
  if (origin < 0)
    return Origin::byDefault;
  return constraintAt(origin).strength == Strength::required ? Origin::required : Origin::preferred;
}

void Solver::queueSeeds() {
  for (ConstraintId id = 0; size_t(id) < problem.constraints().size(); ++id) {
    const LayoutConstraint &constraint = constraintAt(id);
    if (constraint.kind != ConstraintKind::fixed) {
      relationsOf[size_t(constraint.result)].push_back(id);
      if (constraint.source != constraint.result)
        relationsOf[size_t(constraint.source)].push_back(id);
      continue;
    }
    fixedOf[size_t(constraint.result)].push_back(id);
    Urgency urgency = constraint.strength == Strength::preferred             ? Urgency::preferredSeed
                      : constraint.conversion == ConversionPolicy::forbidden ? Urgency::bindingSeed
                                                                             : Urgency::required;
    queue(urgency, priceOf(constraint), id, constraint.result);
  }
  for (VariableId id = 0; size_t(id) < layouts.size(); ++id)
    queue(Urgency::defaultSeed, 0, -1, id);
}

void Solver::queueSteps(VariableId from) {
  for (ConstraintId id : relationsOf[size_t(from)]) {
    const LayoutConstraint &constraint = constraintAt(id);
    VariableId target = constraint.result == from ? constraint.source : constraint.result;
    if (layouts[size_t(target)])
      continue;
    bool definite = isDefinite(constraint, target);
    Urgency urgency = stepUrgency(originOf(from), definite);
    if (constraint.conversion == ConversionPolicy::forbidden)
      urgency = definite ? Urgency::bindingDefinite : Urgency::bindingIndefinite;
    queue(urgency, priceOf(constraint), id, target);
  }
}

std::optional<FragmentLayout> Solver::layoutFor(const Step &step) const {
  if (step.constraint < 0)
    return defaultFor(step.target);
  const LayoutConstraint &constraint = constraintAt(step.constraint);
  return constraint.kind == ConstraintKind::fixed ? *constraint.layout : related(constraint, step.target);
}

/// What a variable gets that nothing constrains: one that reshapes can follow where there is one.
FragmentLayout Solver::defaultFor(VariableId id) const {
  const LayoutVariable &variable = variableAt(id);
  FragmentLayout layout = defaultLayout(variable.shape, variable.elementBits, variable.numWarps);
  for (ConstraintId at : relationsOf[size_t(id)]) {
    const LayoutConstraint &constraint = constraintAt(at);
    if (constraint.kind != ConstraintKind::reshapeOf)
      continue;
    RowMajorTile own = problem.tile(id),
                 other = problem.tile(constraint.result == id ? constraint.source : constraint.result);
    if (reshaped(layout, own, other))
      continue;
    FragmentLayout reshapable = reshapableLayout(own, other, variable.numWarps);
    if (mayHave(id, reshapable))
      layout = std::move(reshapable);
  }
  return layout;
}

/// Whether the operation that makes the value can make it in that layout.
bool Solver::mayHave(VariableId id, const FragmentLayout &layout) const {
  return std::ranges::all_of(relationsOf[size_t(id)], [&](ConstraintId at) {
    const LayoutConstraint &constraint = constraintAt(at);
    return constraint.result != id || canMeet(problem, constraint, layout);
  });
}

/// What the relation makes of the layout at its other end; nothing where it makes none of it.
std::optional<FragmentLayout> Solver::related(const LayoutConstraint &constraint, VariableId target) const {
  bool toResult = target == constraint.result;
  const FragmentLayout &from = *layouts[size_t(toResult ? constraint.source : constraint.result)];
  switch (constraint.kind) {
  case ConstraintKind::fixed:
  case ConstraintKind::equal:
    return from;
  case ConstraintKind::reduceOf:
    return toResult ? from.reduced(constraint.axis) : widened(constraint, from, target);
  case ConstraintKind::broadcastOf:
    return toResult ? widened(constraint, from, target) : from.reduced(constraint.axis);
  case ConstraintKind::transposeOf:
    return from.transposed(toResult ? constraint.permutation : inverse(constraint.permutation));
  case ConstraintKind::reshapeOf:
    return reshaped(from, problem.tile(toResult ? constraint.source : constraint.result),
                    problem.tile(target));
  }
  return from;
}

/// A layout of the target whose reduction is `narrow`: one it is fixed to, or a new one.
FragmentLayout Solver::widened(const LayoutConstraint &constraint, const FragmentLayout &narrow,
                               VariableId target) const {
  for (ConstraintId candidate : fixedOf[size_t(target)])
    if (constraintAt(candidate).layout->reduced(constraint.axis) == narrow)
      return *constraintAt(candidate).layout;
  return narrow.reduced(constraint.axis)
      .expanded(constraint.axis, variableAt(target).shape[size_t(constraint.axis)]);
}

void Solver::take(const Step &step) {
  if (layouts[size_t(step.target)])
    return;
  std::optional<FragmentLayout> layout = layoutFor(step);
  if (!layout || !mayHave(step.target, *layout))
    return;
  layouts[size_t(step.target)] = std::move(layout);
  if (step.constraint >= 0) {
    const LayoutConstraint &constraint = constraintAt(step.constraint);
    VariableId from = constraint.result == step.target ? constraint.source : constraint.result;
    origins[size_t(step.target)] =
        constraint.kind == ConstraintKind::fixed ? step.constraint : origins[size_t(from)];
  }
  queueSteps(step.target);
}

std::string Solver::reason(ConstraintId origin) const {
  return origin < 0 ? "the default layout" : constraintAt(origin).anchor.reason;
}

/// The `fixed` constraints that the two meeting layouts come from.
std::pair<ConstraintId, ConstraintId> Solver::originsAt(ConstraintId id) const {
  const LayoutConstraint &constraint = constraintAt(id);
  if (constraint.kind == ConstraintKind::fixed)
    return {origins[size_t(constraint.result)], id};
  return {origins[size_t(constraint.source)], origins[size_t(constraint.result)]};
}

LayoutConversion Solver::conversionAt(ConstraintId id, const MeetingLayouts &meeting) const {
  const LayoutVariable &moved = variableAt(meetingVariable(constraintAt(id)));
  auto [fromOrigin, toOrigin] = originsAt(id);
  RelayoutKind kind = planRelayout(meeting.from, meeting.to, moved.shape).kind;
  std::string remark = fmt::format(
      "'{}' ({}, {} bits) is converted at {}, which takes {}: it comes in the layout of {}, but the "
      "layout of {} is needed",
      moved.name, printShape(moved.shape), moved.elementBits, constraintAt(id).anchor.reason, toString(kind),
      reason(fromOrigin), reason(toOrigin));
  return {id, meeting.from, meeting.to, kind, fromOrigin, toOrigin, std::move(remark)};
}

LayoutConflict Solver::conflictAt(ConstraintId id, const MeetingLayouts &meeting) const {
  VariableId variable = meetingVariable(constraintAt(id));
  auto [first, second] = originsAt(id);
  std::string message = fmt::format(
      "expected one layout for '{}' because {} permits no conversion, but {} gives '{}' and {} needs '{}'",
      variableAt(variable).name, constraintAt(id).anchor.reason, reason(first), printLayout(meeting.from),
      reason(second), printLayout(meeting.to));
  return {variable, id, first, second, meeting.from, meeting.to, std::move(message)};
}

LayoutOutcome Solver::outcome() const {
  LayoutSolution solution;
  for (const std::optional<FragmentLayout> &layout : layouts)
    solution.layouts.push_back(*layout);
  solution.origins = origins;
  for (ConstraintId id = 0; size_t(id) < problem.constraints().size(); ++id) {
    const LayoutConstraint &constraint = constraintAt(id);
    MeetingLayouts meeting = meetingLayouts(problem, constraint, solution.layouts);
    if (meeting.from == meeting.to)
      continue;
    if (constraint.kind == ConstraintKind::fixed && constraint.strength == Strength::preferred)
      solution.unmetPreferences.push_back(id);
    else if (constraint.conversion == ConversionPolicy::forbidden)
      return conflictAt(id, meeting);
    else
      solution.conversions.push_back(conversionAt(id, meeting));
  }
  return solution;
}

LayoutOutcome Solver::solve() {
  queueSeeds();
  while (!steps.empty()) {
    Step step = steps.top();
    steps.pop();
    take(step);
  }
  return outcome();
}

} // namespace

LayoutOutcome tlc::solveLayouts(const LayoutProblem &problem) { return Solver(problem).solve(); }
