// SPDX-License-Identifier: Apache-2.0
/// \file
/// Questions about the memory that a tensor argument occupies.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/device/LaunchPlan.h"

#include <span>
#include <string_view>

namespace tlc {

/// Some extent is 0, so no memory is accessed.
bool isEmpty(const TensorView &tensor);

/// Bytes from the first to the end of the last element; 0 if empty, nothing on
/// overflow. Strides are not negative.
std::optional<int64_t> spanBytes(const TensorView &tensor);

/// The stride of an axis in elements where it matters. Where it does not (at
/// most one element along the axis, or an empty tensor), one that keeps every
/// address aligned to 16 bytes.
int64_t effectiveStride(const TensorView &tensor, size_t axis);

/// Base address and all strides that matter, but the innermost, are multiples of `bytes`.
bool isAligned(const TensorView &tensor, int64_t bytes);

/// Where the tensor is: of a symmetric one on each rank.
std::span<void *const> addressesOf(const TensorView &tensor);

/// Whether two tensors have bytes in common; tensors whose rows lie between each other's, such as Q, K and V
/// in one tensor, have none. Exact, except where that takes thousands of comparisons, as of many rows with
/// unlike strides; then true.
bool mayOverlap(const TensorView &one, const TensorView &other);

/// What is wrong with the strides of an argument whose element type and shape are those of the schema: their
/// number, an inner one that is not 1, elements that are written and overlap.
Result<void> checkStrides(const TensorArgument &argument, const TensorView &tensor);
/// What is wrong with the address of an argument that passed `checkStrides`: null, not aligned as the schema
/// says, without room after it.
Result<void> checkAddress(const TensorArgument &argument, const TensorView &tensor);
/// Both.
Result<void> checkMemory(const TensorArgument &argument, const TensorView &tensor);

/// An error if a tensor that is written has bytes in common with another one. `writer` writes it. The tensors
/// are the first ones of the artifact, and passed `checkMemory`.
Result<void> checkWrittenApart(const Artifact &artifact, std::span<const TensorView> tensors,
                               std::string_view writer);

/// The most fills that one tensor may take.
inline constexpr int64_t maxZeroFills = 1024;

/// Appends fills that together cover exactly the tensor's elements, which do
/// not overlap. Returns how many it takes; appends none if that exceeds `maxZeroFills`.
int64_t appendZeroFills(const TensorView &tensor, std::vector<ZeroFill> &fills);

} // namespace tlc
