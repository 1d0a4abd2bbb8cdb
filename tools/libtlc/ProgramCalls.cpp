// SPDX-License-Identifier: Apache-2.0
/// \file
/// The part of the C interface that tells of programs' arguments.
#include "runtime/artifact/LinearExtent.h"
#include "runtime/device/LaunchPlan.h"
#include "tools/libtlc/Calls.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <span>
#include <string>
#include <vector>

using namespace tlc;

namespace {

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

std::span<const TensorArgument> inputsAndOutputs(const Artifact &artifact) {
  return std::span(artifact.tensors).first(firstWorkspaceOf(artifact));
}

Error noProgram() { return invalid("expected a program, but got a null pointer"); }

// The numbers of both are one.
static_assert(TLC_ACCESS_INPUT == int(Access::input) && TLC_ACCESS_OUTPUT == int(Access::output) &&
              TLC_ACCESS_INOUT == int(Access::inout));

} // namespace

Result<int> calls::countArguments(const tlc_program *program) {
  if (!program)
    return noProgram();
  const Artifact &artifact = program->loaded->artifact();
  return int(inputsAndOutputs(artifact).size() + artifact.scalars.size());
}

Result<void> calls::describe(const tlc_program *program, int argument, tlc_argument_info *info) {
  Result<int> count = countArguments(program);
  if (!count)
    return count.error();
  if (Result<void> valid = calls::checkNumber("an argument", argument, size_t(*count)); !valid)
    return valid;
  if (Result<void> valid = calls::checkRoom(info); !valid)
    return valid;
  const Artifact &artifact = program->loaded->artifact();
  const std::span<const TensorArgument> tensors = inputsAndOutputs(artifact);
  const auto number = size_t(argument);
  if (number >= tensors.size()) {
    const ScalarArgument &scalar = artifact.scalars[number - tensors.size()];
    *info = {sizeof(*info), scalar.name.c_str(), int32_t(scalar.element), TLC_ACCESS_INPUT, -1, 0};
    return {};
  }
  const TensorArgument &tensor = tensors[number];
  *info = {sizeof(*info),          tensor.name.c_str(),          int32_t(tensor.element),
           int32_t(tensor.access), int32_t(tensor.shape.size()), tensor.symmetric};
  return {};
}

Result<void> calls::describe(const tlc_program *program, int argument, int axis, tlc_extent_info *info) {
  if (!program)
    return noProgram();
  const Artifact &artifact = program->loaded->artifact();
  const std::span<const TensorArgument> tensors = inputsAndOutputs(artifact);
  if (Result<void> valid = calls::checkNumber("a tensor", argument, tensors.size()); !valid)
    return valid;
  const std::vector<Extent> &shape = tensors[size_t(argument)].shape;
  if (Result<void> valid = calls::checkNumber("an axis", axis, shape.size()); !valid)
    return valid;
  if (Result<void> valid = calls::checkRoom(info); !valid)
    return valid;
  const Extent &extent = shape[size_t(axis)];
  if (extent.dimension < 0) {
    *info = {sizeof(*info), nullptr, extent.constant, extent.constant, 1};
    return {};
  }
  const Dimension &dimension = artifact.dimensions[size_t(extent.dimension)];
  *info = {sizeof(*info), dimension.name.c_str(), dimension.fixed.value_or(dimension.least),
           dimension.fixed.value_or(dimension.most), dimension.multipleOf};
  return {};
}

namespace {

/// Values of all dimensions of which names are given or that are computed from those; none for the others.
Result<std::vector<std::optional<int64_t>>>
valuesOf(const Artifact &artifact, std::span<const char *const> names, std::span<const int64_t> given) {
  const auto givenOf = [&](const Dimension &dimension) {
    const auto at = std::ranges::find(names, dimension.name);
    return at == names.end() ? std::nullopt : std::optional(given[size_t(at - names.begin())]);
  };
  // Those that follow from a given extent, such as n from that of n + 1.
  std::vector<std::optional<int64_t>> solved(artifact.dimensions.size());
  for (const Dimension &dimension : artifact.dimensions)
    if (const std::optional<int64_t> extent = givenOf(dimension); extent && dimension.computed)
      if (const std::optional<LinearExtent> linear = linearExtentOf(*dimension.computed))
        solved[size_t(linear->dimension)] = linear->solve(*extent);
  std::vector<std::optional<int64_t>> found;
  std::vector<int64_t> values; // 0 for those that have none
  for (const Dimension &dimension : artifact.dimensions) {
    std::optional<int64_t> value = givenOf(dimension);
    if (!value)
      value = dimension.fixed ? dimension.fixed : solved[found.size()];
    const auto isKnown = [&](const HostExpr::Step &step) {
      return step.op != HostExpr::Op::dimension || found[size_t(step.operand)].has_value();
    };
    if (dimension.computed && std::ranges::all_of(dimension.computed->steps, isKnown)) {
      Result<int64_t> computed = evaluateExtent(*dimension.computed, values, 0);
      if (!computed)
        return Error{computed.error().kind,
                     placeOfComputed(dimension.name) + ": " + computed.error().message};
      value = *computed;
    }
    found.push_back(value);
    values.push_back(value.value_or(0));
  }
  return found;
}

} // namespace

Result<int> calls::shapeOf(const tlc_program *program, int argument, const char *const *names,
                           const int64_t *values, int count, int64_t *shape, int capacity) {
  if (!program)
    return noProgram();
  const Artifact &artifact = program->loaded->artifact();
  const std::span<const TensorArgument> tensors = inputsAndOutputs(artifact);
  if (Result<void> valid = calls::checkNumber("a tensor", argument, tensors.size()); !valid)
    return valid.error();
  if (count < 0 || (count > 0 && (!names || !values)) || capacity < 0 || (capacity > 0 && !shape))
    return invalid(
        "expected names, values and room for extents, but got a null pointer or a negative number");
  const std::span<const char *const> given(names, size_t(count));
  for (const char *name : given)
    if (!name)
      return invalid("expected names of dimensions, but got a null pointer among them");
  Result<std::vector<std::optional<int64_t>>> found =
      valuesOf(artifact, given, std::span(values, size_t(count)));
  if (!found)
    return found.error();
  const TensorArgument &tensor = tensors[size_t(argument)];
  for (size_t axis = 0; axis != tensor.shape.size() && axis != size_t(capacity); ++axis) {
    const Extent &extent = tensor.shape[axis];
    const std::optional<int64_t> value =
        extent.dimension < 0 ? extent.constant : (*found)[size_t(extent.dimension)];
    if (!value)
      return invalid(fmt::format("argument '{}' axis {}: expected a value of dimension '{}', but got none",
                                 tensor.name, axis, artifact.dimensions[size_t(extent.dimension)].name));
    shape[axis] = *value;
  }
  return int(tensor.shape.size());
}
