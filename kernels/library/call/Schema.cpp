// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks of tensors against their descriptions.
#include "kernels/library/call/Schema.h"

#include "kernels/library/call/Mistake.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/device/TensorGeometry.h"

#include <algorithm>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::kernels;

void Schema::add(std::string_view name, ElementType element, Access access,
                 const std::vector<std::string_view> &axes, const TensorView &view) {
  TensorArgument argument{.name = std::string(name), .element = element, .access = access};
  for (std::string_view axis : axes) {
    if (axis == unit) {
      argument.shape.push_back({.constant = 1});
      continue;
    }
    if (find(axis) < 0)
      artifact.dimensions.push_back({.name = std::string(axis)});
    argument.shape.push_back({.dimension = find(axis)});
  }
  artifact.tensors.push_back(std::move(argument));
  tensors.push_back(view);
}

Result<void> Schema::check() {
  Result<std::vector<int64_t>> bound = bindDimensions(artifact, tensors);
  if (!bound)
    return mistake("{}; expected {}", bound.error().message, text());
  extents = std::move(*bound);
  for (size_t i = 0; i < tensors.size(); ++i)
    if (Result<void> valid = checkStrides(artifact.tensors[i], tensors[i]); !valid)
      return valid;
  return {};
}

Result<void> Schema::checkMemory() const {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (Result<void> valid = tlc::checkMemory(artifact.tensors[i], tensors[i]); !valid)
      return valid;
  return {};
}

Result<void> Schema::checkApart() const { return checkWrittenApart(artifact, tensors, call()); }

std::string Schema::unaligned(std::initializer_list<std::string_view> arguments, int64_t bytes) const {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (const TensorView &view = tensors[i];
        std::ranges::find(arguments, artifact.tensors[i].name) != arguments.end() && !isAligned(view, bytes))
      return fmt::format(
          "the address {} and outer strides [{}] of argument '{}', of {}, are not all multiples of {} bytes",
          view.data, fmt::join(view.strides, ", "), artifact.tensors[i].name, toString(view.element), bytes);
  return {};
}

int64_t Schema::find(std::string_view name) const {
  auto found = std::ranges::find(artifact.dimensions, name, &Dimension::name);
  return found == artifact.dimensions.end() ? -1 : found - artifact.dimensions.begin();
}

std::string Schema::text() const {
  std::string list;
  for (const TensorArgument &argument : artifact.tensors) {
    std::string axes;
    for (const Extent &extent : argument.shape)
      axes += (axes.empty() ? "" : ", ") +
              (extent.dimension < 0 ? std::string(unit) : artifact.dimensions[size_t(extent.dimension)].name);
    list += fmt::format("{}{}[{}] of {}", list.empty() ? "" : ", ", argument.name, axes,
                        toString(argument.element));
  }
  return list;
}
