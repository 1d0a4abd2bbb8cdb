// SPDX-License-Identifier: Apache-2.0
/// \file
/// Windows that move over a tensor, as the filter of a convolution moves over images.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tlc {

/// How a window moves over the axes of a tensor between the first, of images, and the last, of channels: one
/// number for each of these axes. At position p of an axis its tap t is at p * stride + t * dilation -
/// before; it moves as long as its last tap is at most `after` beyond the last element.
struct TensorWindow {
  std::vector<int64_t> taps = {}, strides = {}, dilations = {}, before = {}, after = {};

  /// Elements from the first tap to the last, both included.
  int64_t span(size_t axis) const { return (taps[axis] - 1) * dilations[axis] + 1; }
  /// What is added to an extent for the number of positions along it; see `count`.
  int64_t slack(size_t axis) const { return before[axis] + after[axis] - span(axis) + strides[axis]; }
  /// How many positions it has along an axis of that extent.
  int64_t count(size_t axis, int64_t extent) const {
    return std::max<int64_t>(extent + slack(axis), 0) / strides[axis];
  }
  // The bounding box of the first taps, as a tensor map in im2col mode has it: how far its first corner is
  // from the first element, and its last corner from the last one.
  int64_t lowerCorner(size_t axis) const { return -before[axis]; }
  int64_t upperCorner(size_t axis) const { return after[axis] - span(axis) + 1; }

  bool operator==(const TensorWindow &) const = default;
};

/// The largest span, stride and distance beyond an axis of a window: sums of them and an extent have 32 bits.
inline constexpr int64_t maxWindowReach = int64_t(1) << 24;

} // namespace tlc
