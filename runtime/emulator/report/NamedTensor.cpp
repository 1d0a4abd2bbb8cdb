// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/report/NamedTensor.h"

#include "runtime/support/Math.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <numeric>

namespace tlc::emulator {

namespace {

/// Elements from the first to the last; 0 where there are none.
uint64_t reachOf(const NamedTensor &tensor) {
  uint64_t reach = 1;
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    if (tensor.shape[axis] <= 0)
      return 0;
    reach += uint64_t(tensor.shape[axis] - 1) * uint64_t(tensor.strides[axis]);
  }
  return reach;
}

/// The first element of those whose bytes are so far from the first one's, by its number.
uint64_t elementAt(const NamedTensor &tensor, uint64_t offset) {
  return offset / tensor.elementBytes * tensor.elementsPerUnit;
}

/// The position of the element that lies so many elements after the first; nothing in the gaps that strides
/// leave.
std::optional<std::vector<int64_t>> positionOf(const NamedTensor &tensor, uint64_t element) {
  std::vector<size_t> axes(tensor.shape.size());
  std::iota(axes.begin(), axes.end(), size_t(0));
  std::ranges::sort(axes, std::ranges::greater(), [&](size_t axis) { return tensor.strides[axis]; });
  std::vector<int64_t> position(axes.size(), 0);
  for (const size_t axis : axes) {
    if (tensor.strides[axis] == 0 || tensor.shape[axis] == 1)
      continue;
    const uint64_t stride = uint64_t(tensor.strides[axis]);
    position[axis] = int64_t(std::min(element / stride, uint64_t(tensor.shape[axis] - 1)));
    element -= uint64_t(position[axis]) * stride;
  }
  return element == 0 ? std::optional(std::move(position)) : std::nullopt;
}

/// Axes along which there may be elements, the shortest stride first. The stride of a single element counts
/// where it reaches over the axes inside of it.
std::vector<size_t> axesInwards(const NamedTensor &tensor) {
  std::vector<size_t> axes(tensor.shape.size()), used;
  std::iota(axes.begin(), axes.end(), size_t(0));
  std::ranges::sort(axes, {},
                    [&](size_t axis) { return std::pair(tensor.strides[axis], axes.size() - axis); });
  int64_t reach = 1;
  for (const size_t axis : axes) {
    if (tensor.strides[axis] <= 0 || (tensor.shape[axis] == 1 && tensor.strides[axis] < reach))
      continue;
    used.push_back(axis);
    reach = std::max(reach, tensor.strides[axis] * std::max<int64_t>(tensor.shape[axis], 1));
  }
  return used;
}

} // namespace

std::optional<std::string> describeElement(std::span<const NamedTensor> tensors, uint64_t address) {
  std::optional<std::string> between;
  for (const NamedTensor &tensor : tensors) {
    const uint64_t offset = address - tensor.address;
    if (address < tensor.address || elementAt(tensor, offset) >= reachOf(tensor))
      continue;
    if (tensor.shape.empty())
      return fmt::format("tensor '{}' (byte offset {})", tensor.name, offset);
    if (const auto position = positionOf(tensor, elementAt(tensor, offset)))
      return fmt::format("tensor '{}' at element [{}] (byte offset {})", tensor.name,
                         fmt::join(*position, ", "), offset);
    if (!between)
      between = fmt::format("tensor '{}' between its elements (byte offset {})", tensor.name, offset);
  }
  return between;
}

std::optional<std::string> describeMissed(std::span<const NamedTensor> tensors, uint64_t begin, uint64_t end,
                                          uint64_t address) {
  // The last one that begins before the address, else the first.
  const NamedTensor *missed = nullptr;
  for (const NamedTensor &tensor : tensors) {
    if (tensor.address < begin || tensor.address >= end)
      continue;
    const bool isBefore = tensor.address <= address;
    if (!missed || (isBefore && (missed->address > address || tensor.address > missed->address)) ||
        (!isBefore && missed->address > tensor.address))
      missed = &tensor;
  }
  if (!missed)
    return std::nullopt;
  if (address < missed->address)
    return fmt::format("{} bytes before tensor '{}'", missed->address - address, missed->name);
  if (missed->shape.empty())
    return fmt::format("where tensor '{}' has ended", missed->name);
  // Along the axis with the longest stride there may be any number of elements.
  NamedTensor longer = *missed;
  const auto outermost = std::ranges::max_element(longer.strides);
  if (outermost != longer.strides.end() && *outermost > 0)
    longer.shape[size_t(outermost - longer.strides.begin())] = std::numeric_limits<int64_t>::max();
  const auto position = positionOf(longer, elementAt(*missed, address - missed->address));
  const std::string tensor =
      fmt::format("where tensor '{}' of shape [{}]", missed->name, fmt::join(missed->shape, ", "));
  return position ? fmt::format("{} would have element [{}]", tensor, fmt::join(*position, ", "))
                  : fmt::format("{} has ended", tensor);
}

std::optional<ElementRuns> ElementRuns::of(const NamedTensor &tensor) {
  ElementRuns runs;
  runs.runBytes = tensor.elementBytes;
  uint64_t reach = tensor.elementBytes; // to the end of the last element of the axes until here
  for (const size_t axis : axesInwards(tensor)) {
    const uint64_t extent = uint64_t(std::max<int64_t>(tensor.shape[axis], 0));
    if (extent <= 1)
      continue;
    const uint64_t elements = uint64_t(tensor.strides[axis]) * tensor.elementBytes;
    const uint64_t stride = elements / tensor.elementsPerUnit;
    if (tensor.strides[axis] == 1) {
      runs.runBytes = reach = ceilDiv(extent, uint64_t(tensor.elementsPerUnit)) * tensor.elementBytes;
      continue;
    }
    if (elements % tensor.elementsPerUnit != 0 || stride < reach)
      return std::nullopt;
    reach += (extent - 1) * stride;
    if (runs.axes.empty() && stride == runs.runBytes)
      runs.runBytes = reach;
    else
      runs.axes.insert(runs.axes.begin(), Axis{extent, stride});
  }
  return runs.axes.empty() ? std::nullopt : std::optional(std::move(runs));
}

uint64_t ElementRuns::bytesFrom(uint64_t offset) const {
  for (const Axis &axis : axes)
    offset -= std::min(offset / axis.strideBytes, axis.extent - 1) * axis.strideBytes;
  return offset < runBytes ? runBytes - offset : 0;
}

const NamedTensor *tensorOf(std::span<const NamedTensor> tensors, uint64_t address) {
  const auto isMeant = [&](const NamedTensor &tensor) {
    return tensor.toKernels != 0 && tensor.toKernels >> tensorWindowShift == address >> tensorWindowShift;
  };
  const auto found = std::ranges::find_if(tensors, isMeant);
  return found == tensors.end() ? nullptr : &*found;
}

std::string describeOutside(const NamedTensor &tensor, uint64_t address) {
  // Before the first element the outermost axis has negative positions.
  int64_t unit = int64_t(address - tensor.toKernels);
  unit = unit / tensor.elementBytes - (unit % tensor.elementBytes < 0);
  int64_t rest = unit * tensor.elementsPerUnit;
  std::vector<int64_t> position(tensor.shape.size(), 0);
  const std::vector<size_t> axes = axesInwards(tensor);
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const int64_t stride = tensor.strides[*axis];
    position[*axis] = rest / stride - (rest % stride < 0);
    rest -= position[*axis] * stride;
  }
  const std::string gap = rest == 0 ? "" : fmt::format("the gap {} elements after ", rest);
  return fmt::format("{}element [{}] of tensor '{}' of shape [{}]", gap, fmt::join(position, ", "),
                     tensor.name, fmt::join(tensor.shape, ", "));
}

} // namespace tlc::emulator
