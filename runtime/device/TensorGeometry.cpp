// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/TensorGeometry.h"

#include <algorithm>

using namespace tlc;

namespace {

/// What TMA asks of strides, and the widest vector access.
constexpr int64_t strideAlignmentBytes = 16;

} // namespace

bool tlc::isEmpty(const TensorView &tensor) {
  return std::ranges::find(tensor.shape, 0) != tensor.shape.end();
}

std::optional<int64_t> tlc::spanBytes(const TensorView &tensor) {
  if (isEmpty(tensor))
    return 0;
  int64_t elements = 1;
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    if (tensor.shape[axis] <= 1)
      continue;
    int64_t reach = 0;
    if (__builtin_mul_overflow(tensor.shape[axis] - 1, tensor.strides[axis], &reach) ||
        __builtin_add_overflow(elements, reach, &elements))
      return std::nullopt;
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, int64_t(sizeInBytes(tensor.element)), &bytes))
    return std::nullopt;
  return bytes;
}

int64_t tlc::effectiveStride(const TensorView &tensor, size_t axis) {
  if (axis + 1 == tensor.shape.size())
    return 1;
  if (tensor.shape[axis] > 1 && !isEmpty(tensor))
    return tensor.strides[axis];
  return strideAlignmentBytes / sizeInBytes(tensor.element);
}

bool tlc::isAligned(const TensorView &tensor, int64_t bytes) {
  if (isEmpty(tensor))
    return true;
  if (reinterpret_cast<uintptr_t>(tensor.data) % bytes != 0)
    return false;
  for (size_t axis = 0; axis + 1 < tensor.shape.size(); ++axis) {
    if (tensor.shape[axis] > 1 && tensor.strides[axis] * int64_t(sizeInBytes(tensor.element)) % bytes != 0)
      return false;
  }
  return true;
}

void tlc::appendZeroFills(const TensorView &tensor, std::vector<ZeroFill> &fills) {
  if (isEmpty(tensor))
    return;
  const int64_t elementBytes = sizeInBytes(tensor.element);
  const std::vector<int64_t> &shape = tensor.shape, &strides = tensor.strides;

  // From the innermost axis outwards: axes that continue the row, then axes
  // that continue the sequence of rows; `outer` axes remain.
  size_t outer = shape.size();
  int64_t rowElements = 1, rows = 1, pitch = 0;
  for (; outer > 0; --outer) {
    int64_t extent = shape[outer - 1], stride = strides[outer - 1];
    if (extent == 1)
      continue;
    if (rows == 1 && stride == rowElements) {
      rowElements *= extent;
    } else if (rows == 1) {
      rows = extent;
      pitch = stride;
    } else if (stride == rows * pitch) {
      rows *= extent;
    } else {
      break;
    }
  }

  std::vector<int64_t> index(outer, 0);
  while (true) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < outer; ++axis)
      offset += index[axis] * (shape[axis] > 1 ? strides[axis] : 0);
    fills.push_back({static_cast<std::byte *>(tensor.data) + offset * elementBytes,
                     size_t(rowElements * elementBytes), size_t(rows), size_t(pitch * elementBytes)});
    size_t axis = outer;
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1])
      index[--axis] = 0;
    if (axis == 0)
      return;
  }
}
