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

int64_t tlc::appendZeroFills(const TensorView &tensor, std::vector<ZeroFill> &fills) {
  if (isEmpty(tensor))
    return 0;
  const int64_t elementBytes = sizeInBytes(tensor.element);
  struct Axis {
    int64_t extent;
    int64_t stride;
  };
  std::vector<Axis> axes;
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    if (tensor.shape[axis] > 1)
      axes.push_back({tensor.shape[axis], tensor.strides[axis]});
  }
  std::ranges::sort(axes, {}, &Axis::stride);

  // From the densest axis outwards: axes that continue the row, then axes that
  // continue the sequence of rows. One fill for each index of those that remain.
  auto rest = axes.begin();
  int64_t rowElements = 1, rows = 1, pitch = 0;
  for (; rest != axes.end() && rest->stride == rowElements; ++rest)
    rowElements *= rest->extent;
  for (; rest != axes.end() && (rows == 1 || rest->stride == rows * pitch); ++rest) {
    pitch = rows == 1 ? rest->stride : pitch;
    rows *= rest->extent;
  }
  int64_t count = 1;
  for (auto axis = rest; axis != axes.end(); ++axis)
    count = std::min(count * axis->extent, maxZeroFills + 1);
  if (count > maxZeroFills)
    return count;

  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0, remaining = i;
    for (auto axis = rest; axis != axes.end(); ++axis) {
      offset += remaining % axis->extent * axis->stride;
      remaining /= axis->extent;
    }
    fills.push_back({static_cast<std::byte *>(tensor.data) + offset * elementBytes,
                     size_t(rowElements * elementBytes), size_t(rows), size_t(pitch * elementBytes)});
  }
  return count;
}
