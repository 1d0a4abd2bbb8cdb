// SPDX-License-Identifier: Apache-2.0
/// \file
/// Names for global memory, so that messages speak of elements, and addresses that tell tensors apart.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tlc::emulator {

/// Kernels get the tensors of a launch by addresses of their own, far apart and where the host has no memory.
/// An address that a kernel computes from one so tells which tensor it means, whatever is next to that in
/// memory. Alignments up to 1 MiB are those of the memory.
inline constexpr unsigned tensorWindowShift = 40;
inline constexpr uint64_t tensorWindows = uint64_t(1) << 55;
inline constexpr uint64_t mostTensorAddresses = tensorWindows >> tensorWindowShift;
inline constexpr uint64_t tensorAddress(uint64_t number, uint64_t memory) {
  return tensorWindows + (number << tensorWindowShift) + (uint64_t(1) << (tensorWindowShift - 1)) +
         (memory & ((uint64_t(1) << 20) - 1));
}

/// A tensor of a launch. Several may share an allocation, and their bytes may interleave.
struct NamedTensor {
  std::string name;
  uint64_t address = 0;
  unsigned elementBytes = 1;
  std::vector<int64_t> shape = {};   ///< outermost first; empty: one element, or memory of any elements
  std::vector<int64_t> strides = {}; ///< in elements, not negative
  unsigned elementsPerUnit = 1;      ///< that share `elementBytes` bytes
  uint64_t toKernels = 0;            ///< its `tensorAddress`; 0: its memory's
};

/// Where the elements of a tensor are that has gaps between them.
class ElementRuns {
public:
  /// Nothing where there are no gaps, or where runs of elements interleave.
  static std::optional<ElementRuns> of(const NamedTensor &tensor);
  /// The number of bytes from an offset on that are elements, up to the next gap.
  uint64_t bytesFrom(uint64_t offset) const;

private:
  struct Axis {
    uint64_t extent = 0, strideBytes = 0;
  };
  std::vector<Axis> axes; ///< outermost first
  uint64_t runBytes = 0;
};

/// "tensor 'X' at element [3, 17] (byte offset 816)", or "tensor 'X' between its elements (byte offset ...)";
/// without the element where it has no axes; nothing where no tensor reaches over the address.
std::optional<std::string> describeElement(std::span<const NamedTensor> tensors, uint64_t address);

/// For an address outside of all tensors the one that it probably should have been in, among those that begin
/// in the memory [begin, end): "where tensor 'X' of shape [4, 8] would have element [4, 1]", "8 bytes before
/// tensor 'X'".
std::optional<std::string> describeMissed(std::span<const NamedTensor> tensors, uint64_t begin, uint64_t end,
                                          uint64_t address);

/// The tensor whose `tensorAddress` an address was computed from, or null.
const NamedTensor *tensorOf(std::span<const NamedTensor> tensors, uint64_t address);
/// For an address outside of its tensor: "element [4, 1] of tensor 'X' of shape [4, 8]"; where the last axis
/// has a stride perhaps "the gap 1 elements after element [3] of ...".
std::string describeOutside(const NamedTensor &tensor, uint64_t address);

} // namespace tlc::emulator
