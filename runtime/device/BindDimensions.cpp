// SPDX-License-Identifier: Apache-2.0
/// \file
/// The values of a program's dimensions from the shapes of its arguments.
#include "runtime/artifact/LinearExtent.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/support/Math.h"

#include <algorithm>
#include <fmt/format.h>

using namespace tlc;

namespace {

constexpr int64_t unbound = -1;

/// "A, B, C" for the error about a wrong number of arguments.
std::string namesOf(std::span<const TensorArgument> arguments) {
  std::string names;
  for (const TensorArgument &argument : arguments)
    names += fmt::format("{}{}{}", names.empty() ? "" : ", ",
                         argument.access == Access::workspace ? "workspace " : "", argument.name);
  return names;
}

/// The first argument and axis that gave a dimension its value.
std::string originOf(const Artifact &artifact, int64_t dimension) {
  for (const TensorArgument &argument : artifact.tensors) {
    for (size_t axis = 0; axis < argument.shape.size(); ++axis) {
      if (argument.shape[axis].dimension == dimension)
        return fmt::format("argument '{}' axis {}", argument.name, axis);
    }
  }
  return "the program";
}

/// "an extent of at most 256"
std::string limitsOf(const Dimension &dimension) {
  if (dimension.most == maxExtent)
    return fmt::format("an extent of at least {}", dimension.least);
  if (dimension.least == 0)
    return fmt::format("an extent of at most {}", dimension.most);
  return fmt::format("an extent from {} to {}", dimension.least, dimension.most);
}

/// "a multiple of 8 from 16 to 256".
std::string factsOf(const Dimension &dimension) {
  return fmt::format("a multiple of {} from {} to {}", dimension.multipleOf, dimension.least, dimension.most);
}

Result<void> bindExtent(const Artifact &artifact, const TensorArgument &argument, size_t axis, int64_t actual,
                        std::vector<int64_t> &values) {
  auto fail = [&](std::string text) -> Result<void> {
    return Error{.message = fmt::format("argument '{}' axis {}: {}", argument.name, axis, text)};
  };
  if (actual < 0 || actual > maxExtent)
    return fail(fmt::format("expected an extent from 0 to {}, but got {}", maxExtent, actual));
  const Extent &extent = argument.shape[axis];
  if (extent.dimension < 0) {
    if (actual != extent.constant)
      return fail(fmt::format("expected extent {}, but got {}", extent.constant, actual));
    return {};
  }
  const Dimension &dimension = artifact.dimensions[extent.dimension];
  if (dimension.computed)
    return {}; // compared when the others are known
  int64_t &value = values[extent.dimension];
  if (dimension.fixed && actual != *dimension.fixed)
    return fail(fmt::format("expected extent {} because the program is specialised for '{}' = {}, but got {}",
                            *dimension.fixed, dimension.name, *dimension.fixed, actual));
  if (value != unbound && value != actual)
    return fail(fmt::format("expected extent {} because dimension '{}' is {} in {}, but got {}", value,
                            dimension.name, value, originOf(artifact, extent.dimension), actual));
  if (actual % dimension.multipleOf != 0)
    return fail(fmt::format("expected a multiple of {} because the program relies on it for dimension '{}', "
                            "but got {}",
                            dimension.multipleOf, dimension.name, actual));
  if (actual < dimension.least || actual > dimension.most)
    return fail(fmt::format("expected {} because the program relies on it for dimension '{}', but got {}",
                            limitsOf(dimension), dimension.name, actual));
  value = actual;
  return {};
}

/// The values of dimensions that no tensor has as an extent, from extents that are linear in them.
Result<void> solveDimensions(const Artifact &artifact, std::span<const TensorView> tensors,
                             std::vector<int64_t> &values) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorArgument &argument = artifact.tensors[i];
    for (size_t axis = 0; axis < argument.shape.size(); ++axis) {
      const int64_t number = argument.shape[axis].dimension;
      const std::optional<HostExpr> *computed =
          number < 0 ? nullptr : &artifact.dimensions[size_t(number)].computed;
      const std::optional<LinearExtent> linear =
          computed && *computed ? linearExtentOf(**computed) : std::nullopt;
      if (!linear || values[size_t(linear->dimension)] != unbound)
        continue;
      const Dimension &dimension = artifact.dimensions[size_t(linear->dimension)];
      if (dimension.fixed)
        continue; // compared with what follows from it
      const auto fail = [&](const std::string &text) {
        return Error{.message = fmt::format("argument '{}' axis {}: {}", argument.name, axis, text)};
      };
      const int64_t actual = tensors[i].shape[axis];
      const std::optional<int64_t> value = linear->solve(actual);
      if (!value)
        return fail(
            fmt::format("expected an extent {0} because dimension '{1}', from 0 to {2}, follows from it, "
                        "but got {3}",
                        linear->text(dimension.name), dimension.name, maxExtent, actual));
      if (*value % dimension.multipleOf != 0 || *value < dimension.least || *value > dimension.most)
        return fail(
            fmt::format("expected an extent {} that gives dimension '{}' {} because the program relies on "
                        "it, but got {}",
                        linear->text(dimension.name), dimension.name, factsOf(dimension), actual));
      values[size_t(linear->dimension)] = *value;
    }
  }
  return {};
}

/// The extents that follow from others, which all tensors have to have.
Result<void> computeDimensions(const Artifact &artifact, std::span<const TensorView> tensors,
                               std::vector<int64_t> &values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const Dimension &dimension = artifact.dimensions[i];
    if (!dimension.computed)
      continue;
    Result<int64_t> value = evaluateExtent(*dimension.computed, values, 0);
    if (!value)
      return Error{.message = placeOfComputed(dimension.name) + ": " + value.error().message};
    values[i] = *value;
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorArgument &argument = artifact.tensors[i];
    for (size_t axis = 0; axis < argument.shape.size(); ++axis) {
      int64_t dimension = argument.shape[axis].dimension;
      if (dimension >= 0 && artifact.dimensions[size_t(dimension)].computed &&
          tensors[i].shape[axis] != values[size_t(dimension)])
        return Error{.message =
                         fmt::format("argument '{}' axis {}: expected extent {} because the program "
                                     "computes it from the other sizes, but got {}",
                                     argument.name, axis, values[size_t(dimension)], tensors[i].shape[axis])};
    }
  }
  return {};
}

} // namespace

std::string tlc::placeOfComputed(std::string_view dimension) {
  size_t dot = dimension.rfind('.');
  return fmt::format("'{}' axis {}", dimension.substr(0, dot), dimension.substr(dot + 1));
}

Result<int64_t> tlc::evaluateExtent(const HostExpr &extent, const std::vector<int64_t> &dimensions,
                                    int64_t multiprocessors) {
  std::optional<int64_t> value = extent.evaluate(dimensions, multiprocessors);
  if (!value)
    return Error{.message =
                     "expected sizes from which the extent can be computed, but an intermediate number has "
                     "more than 32 bits, or a divisor is 0"};
  if (*value < 0 || *value > maxExtent)
    return Error{
        .message = fmt::format("these sizes need an extent of {}, but expected 0 to {}", *value, maxExtent)};
  return *value;
}

Result<std::vector<int64_t>> tlc::bindDimensions(const Artifact &artifact,
                                                 std::span<const TensorView> tensors, int64_t rank,
                                                 int64_t ranks) {
  size_t arguments = std::ranges::count_if(
      artifact.tensors, [](const TensorArgument &tensor) { return tensor.access != Access::workspace; });
  if (tensors.size() != artifact.tensors.size() && tensors.size() != arguments)
    return Error{.message = fmt::format("'{}' expects {} tensors ({}), but got {}", artifact.name,
                                        artifact.tensors.size(), namesOf(artifact.tensors), tensors.size())};

  std::vector<int64_t> values(artifact.dimensions.size(), unbound);
  for (size_t i = 0; i < values.size(); ++i)
    if (const Dimension &dimension = artifact.dimensions[i]; dimension.source != DimensionSource::shapes) {
      values[i] = dimension.source == DimensionSource::rank ? rank : ranks;
      if (dimension.fixed && values[i] != *dimension.fixed)
        return Error{.message = fmt::format("'{}': expected {} ranks because the program is specialised for "
                                            "so many, but got {}",
                                            artifact.name, *dimension.fixed, values[i])};
    }
  for (size_t i = 0; i < arguments; ++i) {
    const TensorArgument &argument = artifact.tensors[i];
    const TensorView &tensor = tensors[i];
    if (tensor.element != argument.element)
      return Error{.message =
                       fmt::format("argument '{}': expected element type {}, but got {}", argument.name,
                                   toString(argument.element), toString(tensor.element))};
    if (tensor.shape.size() != argument.shape.size())
      return Error{.message = fmt::format("argument '{}': expected rank {}, but got {}", argument.name,
                                          argument.shape.size(), tensor.shape.size())};
    for (size_t axis = 0; axis < argument.shape.size(); ++axis) {
      if (Result<void> bound = bindExtent(artifact, argument, axis, tensor.shape[axis], values); !bound)
        return bound.error();
    }
  }
  if (Result<void> solved = solveDimensions(artifact, tensors.first(arguments), values); !solved)
    return solved.error();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == unbound)
      values[i] = artifact.dimensions[i].fixed.value_or(0);
  }
  if (Result<void> computed = computeDimensions(artifact, tensors.first(arguments), values); !computed)
    return computed.error();
  return values;
}

Result<std::vector<WorkspaceRequest>> tlc::workspaceRequests(const Artifact &artifact,
                                                             const std::vector<int64_t> &dimensions,
                                                             const DeviceProperties &device) {
  std::vector<WorkspaceRequest> requests;
  for (const TensorArgument &tensor : artifact.tensors) {
    if (tensor.access != Access::workspace)
      continue;
    WorkspaceRequest request = {.name = tensor.name, .element = tensor.element, .zeroFill = tensor.zeroFill};
    int64_t elements = 1;
    std::optional<int64_t> bytes;
    std::vector<int64_t> rooms;
    for (size_t axis = 0; axis < tensor.workspaceShape.size(); ++axis) {
      Result<int64_t> extent =
          evaluateExtent(tensor.workspaceShape[axis], dimensions, device.multiprocessors);
      if (!extent)
        return Error{
            .message = fmt::format("workspace '{}' axis {}: {}", tensor.name, axis, extent.error().message)};
      int64_t room = *extent;
      if (axis + 1 == tensor.workspaceShape.size() && tensor.alignment > 1) // where the next row begins
        room = elementsOf(tensor.element, alignTo(bytesOf(tensor.element, room), tensor.alignment));
      bytes = __builtin_mul_overflow(elements, room, &elements) ? std::nullopt
                                                                : checkedBytesOf(tensor.element, elements);
      if (!bytes)
        return Error{.message =
                         fmt::format("workspace '{}': these sizes need more than 2^63 bytes", tensor.name)};
      request.shape.push_back(*extent);
      rooms.push_back(room);
    }
    request.strides = contiguousView(nullptr, tensor.element, std::move(rooms)).strides;
    request.bytes = bytes.value_or(bytesOf(tensor.element, 1));
    requests.push_back(std::move(request));
  }
  return requests;
}

TensorView tlc::contiguousView(void *data, ElementType element, std::vector<int64_t> shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    // A stride that does not fit belongs to an empty tensor or is refused at launch.
    if (__builtin_mul_overflow(stride, std::max<int64_t>(shape[axis], 1), &stride))
      stride = INT64_MAX;
  }
  return {data, element, std::move(shape), std::move(strides)};
}

Result<std::vector<WorkspaceRequest>> tlc::workspacesOf(const Artifact &artifact,
                                                        std::span<const TensorView> tensors,
                                                        const DeviceProperties &device, int64_t rank,
                                                        int64_t ranks) {
  Result<std::vector<int64_t>> dimensions = bindDimensions(artifact, tensors, rank, ranks);
  if (!dimensions)
    return dimensions.error();
  return workspaceRequests(artifact, *dimensions, device);
}
