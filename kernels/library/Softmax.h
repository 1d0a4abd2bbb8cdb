// SPDX-License-Identifier: Apache-2.0
/// \file
/// The softmax along rows as a call on tensors of a device.
#pragma once

#include "kernels/library/call/Programs.h"

namespace tlc::softmax {

using kernels::Programs;

/// Which rows one program is for.
enum class RowLengths : uint8_t {
  any,
  one, ///< where rows are unaligned, those of one length, which is faster; each length is compiled once
};

/// Enqueues y = softmax of x along rows, of f16, bf16 or f32, with rows of any stride. y may be x itself, of
/// the same address and strides; a y that otherwise overlaps x is an error. If the program is loaded, it
/// allocates nothing and does not wait.
Result<void> normalize(Programs &programs, Stream stream, const TensorView &x, const TensorView &y,
                       RowLengths lengths = RowLengths::any);

} // namespace tlc::softmax
