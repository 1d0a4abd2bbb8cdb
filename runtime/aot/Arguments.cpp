// SPDX-License-Identifier: Apache-2.0
#include "runtime/aot/Arguments.h"

#include "runtime/support/Math.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::aot;

namespace {

template <class T> T valueAt(const void *given, size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const std::byte *>(given) + offset, sizeof(value));
  return value;
}

ScalarValue scalarAt(const void *given, size_t offset, ElementType element) {
  ScalarValue value = {element, 0};
  std::memcpy(&value.bits, static_cast<const std::byte *>(given) + offset, size_t(bytesOf(element, 1)));
  return value;
}

const int64_t *extentsAt(const void *given, size_t offset) {
  return reinterpret_cast<const int64_t *>(static_cast<const std::byte *>(given) + offset);
}

/// Strides that are given, or those of a contiguous tensor.
bool hasStrides(std::span<const int64_t> strides) {
  return std::ranges::any_of(strides, [](int64_t stride) { return stride != 0; });
}

bool isContiguous(std::span<const int64_t> strides, std::span<const int64_t> shape) {
  int64_t expected = 1;
  for (size_t axis = strides.size(); axis-- > 0;) {
    if (strides[axis] != expected)
      return false;
    if (__builtin_mul_overflow(expected, std::max<int64_t>(shape[axis], 1), &expected))
      return false;
  }
  return true;
}

} // namespace

ArgumentLayout::ArgumentLayout(const Artifact &artifact) {
  size_t offset = 0;
  for (const TensorArgument &tensor : std::span(artifact.tensors).first(firstWorkspaceOf(artifact))) {
    tensorOffsets.push_back(offset);
    offset += sizeof(void *) + 2 * sizeof(int64_t) * tensor.shape.size();
  }
  for (const ScalarArgument &scalar : artifact.scalars) {
    const auto bytes = size_t(bytesOf(scalar.element, 1));
    offset = alignTo(offset, bytes);
    scalarOffsets.push_back(offset);
    offset += bytes;
  }
  if (tensorOffsets.size() != artifact.tensors.size())
    workspaceOffset = alignTo(offset, sizeof(void *));
}

void *ArgumentLayout::address(const void *given, size_t tensor) const {
  return valueAt<void *>(given, tensorOffsets[tensor]);
}
Workspace ArgumentLayout::workspace(const void *given) const {
  if (!workspaceOffset)
    return {};
  return {valueAt<void *>(given, *workspaceOffset),
          valueAt<size_t>(given, *workspaceOffset + sizeof(void *))};
}

TensorView ArgumentLayout::tensor(const TensorArgument &argument, size_t index, const void *given) const {
  const size_t rank = argument.shape.size();
  const int64_t *extents = extentsAt(given, tensorOffsets[index] + sizeof(void *));
  const std::span shape(extents, rank), strides(extents + rank, rank);
  TensorView view = contiguousView(address(given, index), argument.element, {shape.begin(), shape.end()});
  if (hasStrides(strides))
    view.strides.assign(strides.begin(), strides.end());
  return view;
}

LaunchArguments ArgumentLayout::read(const Artifact &artifact, const void *given) const {
  LaunchArguments arguments;
  for (size_t i = 0; i != tensorOffsets.size(); ++i)
    arguments.tensors.push_back(tensor(artifact.tensors[i], i, given));
  for (size_t i = 0; i != scalarOffsets.size(); ++i)
    arguments.scalars.push_back(scalarAt(given, scalarOffsets[i], artifact.scalars[i].element));
  return arguments;
}

bool ArgumentLayout::fits(const LaunchArguments &kept, const void *given) const {
  for (size_t i = 0; i != tensorOffsets.size(); ++i) {
    const TensorView &tensor = kept.tensors[i];
    const size_t rank = tensor.shape.size();
    const int64_t *extents = extentsAt(given, tensorOffsets[i] + sizeof(void *));
    const std::span shape(extents, rank), strides(extents + rank, rank);
    if (!std::ranges::equal(tensor.shape, shape) ||
        !(hasStrides(strides) ? std::ranges::equal(tensor.strides, strides)
                              : isContiguous(tensor.strides, shape)))
      return false;
  }
  for (size_t i = 0; i != scalarOffsets.size(); ++i)
    if (scalarAt(given, scalarOffsets[i], kept.scalars[i].element) != kept.scalars[i])
      return false;
  return true;
}

Result<WorkspaceBlock> WorkspaceBlock::of(std::span<const WorkspaceRequest> requests) {
  WorkspaceBlock block;
  for (const WorkspaceRequest &request : requests) {
    block.offsets.push_back(block.bytes);
    if (request.bytes > mostBytes - block.bytes)
      return Error{.message = fmt::format("workspace '{}': expected workspaces of at most {} bytes together, "
                                          "but it takes {} after {}; use smaller extents",
                                          request.name, mostBytes, request.bytes, block.bytes)};
    block.bytes = alignTo(block.bytes + request.bytes, workspaceAlignment);
  }
  return block;
}
