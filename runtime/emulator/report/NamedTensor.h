// SPDX-License-Identifier: Apache-2.0
/// \file
/// Names for global memory, so that messages speak of elements.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tlc::emulator {

/// A tensor of a launch. Several may share an allocation, and their bytes may interleave.
struct NamedTensor {
  std::string name;
  uint64_t address = 0;
  unsigned elementBytes = 1;
  std::vector<int64_t> shape = {};   ///< outermost first; empty: one element, or memory of any elements
  std::vector<int64_t> strides = {}; ///< in elements, not negative
  unsigned elementsPerUnit = 1;      ///< that share `elementBytes` bytes
};

/// "tensor 'X' at element [3, 17] (byte offset 816)", or "tensor 'X' between its elements (byte offset ...)";
/// without the element where it has no axes; nothing where no tensor reaches over the address.
std::optional<std::string> describeElement(std::span<const NamedTensor> tensors, uint64_t address);

/// For an address outside of all tensors the one that it probably should have been in, among those that begin
/// in the memory [begin, end): "where tensor 'X' of shape [4, 8] would have element [4, 1]", "8 bytes before
/// tensor 'X'".
std::optional<std::string> describeMissed(std::span<const NamedTensor> tensors, uint64_t begin, uint64_t end,
                                          uint64_t address);

} // namespace tlc::emulator
