// SPDX-License-Identifier: Apache-2.0
/// \file
/// Windows that move over tensors.
#pragma once

#include "compiler/dsl/Handles.h"

namespace tlc::dsl::inline v1 {

/// How a window moves over a tensor, as the filter of a convolution does over images: one number for each
/// axis between the first, of images, and the last, of channels.
struct Window {
  Shape taps;           ///< elements that it sees along each axis
  Shape strides = {};   ///< from one position to the next; none: 1
  Shape dilations = {}; ///< from one tap to the next; none: 1
  /// How far its taps go beyond the first and the last element, as paddings of a convolution; none: 0.
  Shape before = {}, after = {};

  /// How many positions it has along its axis `axis` (0 is the first of its own), if the tensor has that
  /// extent there: the extent of a convolution's result.
  Index count(size_t axis, const Index &extent, Loc loc = Loc::current()) const;
};

} // namespace tlc::dsl::inline v1
