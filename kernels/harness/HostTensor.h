// SPDX-License-Identifier: Apache-2.0
/// \file
/// A tensor in ordinary memory, as checks need it: random inputs, poisoned
/// outputs, room around and between its rows that nobody may write.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/support/ElementType.h"
#include "runtime/support/Hash.h"
#include "runtime/support/Result.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace tlc::kernels {

/// How a tensor lies in memory.
struct Placement {
  int64_t rowPadding = 0; ///< elements between the end of a row and the next
  int64_t offset = 0;     ///< elements from an aligned address to the first
  int64_t lastStride = 1; ///< elements from one of a row to the next
};

/// `Placement::lastStride` of some tensors, by name.
using LastStrides = std::map<std::string, int64_t>;

using Random = std::mt19937_64;

/// Bytes of this machine's memory that a command takes for a tensor, all copies of it included.
struct MemoryNeed {
  int64_t ofByte = 1;          ///< for each byte of the tensor
  int64_t ofElement = 0;       ///< for each element
  int64_t ofOutputElement = 0; ///< for each element that a launch writes, beside that
  int64_t always = 0;          ///< beside all tensors
};
/// A launch that is compared with a reference: the bytes before it, on an emulated device and after it,
/// doubles for the reference, numbers of the elements that are compared, and the race checker's memory, which
/// is bounded.
inline constexpr MemoryNeed needOfRun = {
    .ofByte = 3, .ofElement = 8, .ofOutputElement = 8, .always = int64_t(400) << 20};

/// Whether tensors fit into this machine's memory, before any is made.
class MemoryCheck {
public:
  explicit MemoryCheck(MemoryNeed need) : need(need), needed(need.always) {}
  /// One more tensor. An error if it does not fit beside those before it.
  Result<void> add(std::string_view name, ElementType element, std::span<const int64_t> shape,
                   Placement placement = {}, Access access = Access::input);

private:
  MemoryNeed need;
  int64_t needed;            ///< bytes
  double ofElement = 0x1p-3; ///< bytes, the most among the tensors
};

class HostTensor {
public:
  /// Poisoned: every byte is 0xFF, which is NaN in each floating-point type that has it.
  /// An error if it does not fit into this machine's memory.
  static Result<HostTensor> create(std::string name, ElementType element, std::vector<int64_t> shape,
                                   Placement placement = {});

  const std::string &name() const { return tensorName; }
  ElementType element() const { return type; }
  const std::vector<int64_t> &shape() const { return extents; }
  /// In elements, outermost first.
  const std::vector<int64_t> &strides() const { return pitches; }
  int64_t elementCount() const { return count; }

  /// The bytes that are copied to and from a device, room included.
  std::span<std::byte> bytes() { return storage; }
  std::span<const std::byte> bytes() const { return storage; }
  /// The tensor in device memory that holds a copy of `bytes()` at `base`.
  TensorView view(void *base) const;

  /// Whether an element, by its row-major number, is padding.
  using Padding = std::function<bool(int64_t)>;

  /// These values, one per element.
  void fill(std::span<const double> values);
  /// The poison where the condition holds for an element's row-major number.
  void poisonWhere(const Padding &isPadding);
  /// Uniform values in [low, high).
  void fillRandom(Random &random, double low, double high);
  void poison();

  /// The element of that number in row-major order.
  double at(int64_t number) const;
  /// All elements in row-major order.
  std::vector<double> values() const;
  /// "[3, 17]" for the element of that number.
  std::string indexText(int64_t number) const;

  /// Elements that hold the poison, the first ones in row-major order, and none that are padding. Where the
  /// poison is a number of the type, they may have been written nevertheless.
  std::vector<int64_t> findPoison(size_t most, const Padding &isPadding = {}) const;
  /// What is wrong with the poison: an element that still has it, if it is no number of the type, or a place
  /// outside that lost it; elements that are padding, if there are any, count as outside. Nothing if all is
  /// well.
  std::optional<std::string> findUnwritten(const Padding &isPadding = {}) const;
  std::optional<std::string> findStrayWrite(const Padding &isPadding = {}) const;

private:
  HostTensor() = default;
  /// Of the element of that number, in elements from the first byte on.
  int64_t positionOf(int64_t number) const;
  bool isPoison(int64_t position) const;
  int64_t lastStride() const { return pitches.empty() ? 1 : pitches.back(); }
  int64_t rowLength() const { return extents.empty() ? 1 : extents.back(); }

  std::string tensorName;
  ElementType type = ElementType::f32;
  std::vector<int64_t> extents, pitches;
  int64_t first = 0; ///< position of the first element
  int64_t count = 0;
  std::vector<std::byte> storage;
};

/// Of all bytes of the tensors, room included.
Hash128 digestOf(std::span<const HostTensor> tensors);

/// "[4096, 64]"
std::string shapeText(std::span<const int64_t> shape);
/// "[3, 17]" for the element of that number in row-major order.
std::string indexText(std::span<const int64_t> shape, int64_t number);

} // namespace tlc::kernels
