// SPDX-License-Identifier: Apache-2.0
#include "tools/aot/ArgumentText.h"

#include "runtime/device/LaunchPlan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

using namespace tlc;

std::string aot::shapeOf(const Artifact &artifact, const TensorArgument &tensor) {
  std::vector<std::string> extents;
  for (const Extent &extent : tensor.shape)
    extents.push_back(extent.dimension < 0 ? std::to_string(extent.constant)
                                           : artifact.dimensions[size_t(extent.dimension)].name);
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

std::span<const TensorArgument> aot::tensorsOf(const Artifact &artifact) {
  return std::span(artifact.tensors).first(firstWorkspaceOf(artifact));
}
