// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/TensorGeometry.h"

#include "runtime/support/Excerpt.h"
#include "runtime/support/Math.h"
#include "runtime/target/Target.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <numeric>
#include <ranges>
#include <span>

using namespace tlc;

namespace {

/// What TMA asks of strides, and the widest vector access.
constexpr int64_t strideAlignmentBytes = TmaFacts().globalAlignment;

template <class... Values> Error mistake(fmt::format_string<Values...> text, Values &&...values) {
  return {.message = formatMessage(text, std::forward<Values>(values)...)};
}

/// Elements that the axes varying faster than `axis` reach: the least stride
/// with which `axis` does not overlap them.
int64_t innerReach(const TensorView &tensor, size_t axis) {
  int64_t reach = 1;
  for (size_t other = 0; other < tensor.shape.size(); ++other) {
    bool faster = tensor.strides[other] < tensor.strides[axis] ||
                  (tensor.strides[other] == tensor.strides[axis] && other > axis);
    if (faster && tensor.shape[other] > 1)
      reach += (tensor.shape[other] - 1) * tensor.strides[other];
  }
  return reach;
}

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
  return checkedBytesOf(tensor.element, elements);
}

int64_t tlc::effectiveStride(const TensorView &tensor, size_t axis) {
  if (tensor.shape[axis] > 1 && !isEmpty(tensor))
    return tensor.strides[axis];
  if (axis + 1 == tensor.shape.size())
    return 1;
  return elementsOf(tensor.element, strideAlignmentBytes);
}

bool tlc::isAligned(const TensorView &tensor, int64_t bytes) {
  if (isEmpty(tensor))
    return true;
  if (reinterpret_cast<uintptr_t>(tensor.data) % bytes != 0)
    return false;
  for (size_t axis = 0; axis + 1 < tensor.shape.size(); ++axis) {
    if (tensor.shape[axis] > 1 && bytesOf(tensor.element, tensor.strides[axis]) % bytes != 0)
      return false;
  }
  return true;
}

namespace {
/// Multiples of so many bytes, from 0 to `most`.
struct Steps {
  int64_t bytes;
  int64_t most;
};

/// How many sums are looked at before tensors count as overlapping.
constexpr int mostTrials = 2000;

/// Whether some sum, one multiple of each of these, lies from `first` to `last`. The steps ascend.
bool reaches(std::span<const Steps> steps, int64_t first, int64_t last, int &trials) {
  int64_t reach = 0;
  for (Steps step : steps)
    reach += step.bytes * step.most;
  if (last < 0 || reach < first)
    return false;
  if (steps.empty() || --trials < 0)
    return true;
  // With any multiples of the larger steps' common divisor in place of these steps.
  int64_t divisor = 0, below = reach;
  for (Steps step : std::views::reverse(steps)) {
    divisor = std::gcd(divisor, step.bytes);
    below -= step.bytes * step.most;
    if (last / divisor * divisor < first - below)
      return false;
  }
  // Multiples of the largest step that the others can bring there.
  Steps largest = steps.back();
  below = reach - largest.bytes * largest.most;
  for (int64_t i = ceilDiv(std::max<int64_t>(first - below, 0), largest.bytes);
       i <= std::min(largest.most, last / largest.bytes); ++i)
    if (reaches(steps.first(steps.size() - 1), first - i * largest.bytes, last - i * largest.bytes, trials))
      return true;
  return false;
}

/// The axes of a tensor, and the bytes that it has at one position of all of them: a row, if adjacent
/// elements make one, or an element.
struct Axes {
  std::vector<Steps> steps;
  int64_t bytes, reach = 0;

  explicit Axes(const TensorView &tensor) : bytes(bytesOf(tensor.element, 1)) {
    for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      int64_t extent = tensor.shape[axis], stride = tensor.strides[axis];
      if (extent == 1 || stride == 0)
        continue;
      if (axis + 1 == tensor.shape.size() && stride == 1)
        bytes = bytesOf(tensor.element, extent);
      else
        steps.push_back({bytesOf(tensor.element, stride), extent - 1});
    }
    for (Steps step : steps)
      reach += step.bytes * step.most;
  }
};
} // namespace

namespace {
/// The addresses from the first to the end of the last element, none of an empty tensor.
struct AddressRange {
  uintptr_t begin = 0, bytes = 0;

  AddressRange() = default;
  explicit AddressRange(const TensorView &tensor)
      : begin(reinterpret_cast<uintptr_t>(tensor.data)), bytes(uintptr_t(*spanBytes(tensor))) {}
  bool meets(const AddressRange &other) const {
    return bytes > 0 && other.bytes > 0 && begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
};

/// Of tensors whose ranges meet.
bool haveCommonBytes(const TensorView &one, const TensorView &other) {
  if (int64_t sum = 0; __builtin_add_overflow(*spanBytes(one), *spanBytes(other), &sum))
    return true;
  // A byte of one is a byte of the other where the multiples of the one's strides less those of the other's
  // are the distance of their addresses, but for a place in a row. Counted from the other's end, the latter
  // are added; then axes of the same stride are one.
  Axes axes(one), others(other);
  std::vector<Steps> steps;
  axes.steps.insert(axes.steps.end(), others.steps.begin(), others.steps.end());
  std::ranges::sort(axes.steps, {}, &Steps::bytes);
  for (Steps step : axes.steps)
    if (!steps.empty() && steps.back().bytes == step.bytes)
      steps.back().most += step.most;
    else
      steps.push_back(step);
  int64_t distance =
      int64_t(reinterpret_cast<uintptr_t>(other.data) - reinterpret_cast<uintptr_t>(one.data)) + others.reach;
  int trials = mostTrials;
  return reaches(steps, distance - (axes.bytes - 1), distance + (others.bytes - 1), trials);
}
} // namespace

bool tlc::mayOverlap(const TensorView &one, const TensorView &other) {
  return AddressRange(one).meets(AddressRange(other)) && haveCommonBytes(one, other);
}

static Result<void> checkContiguous(const TensorArgument &argument, const TensorView &tensor) {
  int64_t expected = 1;
  for (size_t axis = tensor.shape.size(); axis-- > 0;) {
    if (tensor.shape[axis] > 1 && tensor.strides[axis] != expected)
      return mistake(
          "argument '{}' axis {}: expected stride {} because the kernel gets no strides, but got {}; "
          "copy the tensor to one without gaps",
          argument.name, axis, expected, tensor.strides[axis]);
    if (__builtin_mul_overflow(expected, tensor.shape[axis], &expected))
      return mistake("argument '{}': its extents span more than 2^63 elements", argument.name);
  }
  return {};
}

Result<void> tlc::checkStrides(const TensorArgument &argument, const TensorView &tensor) {
  const size_t rank = tensor.shape.size();
  if (tensor.strides.size() != rank)
    return mistake("argument '{}': expected {} strides, but got {}", argument.name, rank,
                   tensor.strides.size());
  if (isEmpty(tensor))
    return {};
  const int64_t unit = elementsPerUnit(tensor.element);
  if (rank > 0 && tensor.shape.back() % unit != 0)
    return mistake(
        "argument '{}': expected a last extent that is a multiple of {} because as many elements of {} "
        "share a byte, but got {}; pad its rows",
        argument.name, unit, toString(tensor.element), tensor.shape.back());
  for (size_t axis = 0; axis < rank; ++axis) {
    if (tensor.shape[axis] <= 1)
      continue;
    int64_t stride = tensor.strides[axis];
    if (axis + 1 != rank && stride % unit != 0)
      return mistake(
          "argument '{}' axis {}: expected a stride that is a multiple of {} because as many elements "
          "of {} share a byte, but got {}",
          argument.name, axis, unit, toString(tensor.element), stride);
    if (stride < 0)
      return mistake("argument '{}' axis {}: expected a stride of at least 0, but got {}", argument.name,
                     axis, stride);
    if (axis + 1 == rank && stride != 1 && !argument.strided)
      return mistake("argument '{}' axis {}: expected stride 1 because the innermost axis is contiguous, but "
                     "got {}",
                     argument.name, axis, stride);
  }
  if (argument.contiguous)
    if (Result<void> valid = checkContiguous(argument, tensor); !valid)
      return valid;
  if (!spanBytes(tensor))
    return mistake("argument '{}': its extents and strides span more than 2^63 bytes", argument.name);
  if (argument.access == Access::input)
    return {};
  for (size_t axis = 0; axis < rank; ++axis) {
    if (tensor.shape[axis] <= 1)
      continue;
    if (int64_t least = innerReach(tensor, axis); tensor.strides[axis] < least)
      return mistake("argument '{}' axis {}: expected a stride of at least {} because elements that are "
                     "written must not overlap, but got {}",
                     argument.name, axis, least, tensor.strides[axis]);
  }
  return {};
}

std::span<void *const> tlc::addressesOf(const TensorView &tensor) {
  if (tensor.ofRanks.empty())
    return {&tensor.data, 1};
  return tensor.ofRanks;
}

Result<void> tlc::checkMemory(const TensorArgument &argument, const TensorView &tensor) {
  Result<void> valid = checkStrides(argument, tensor);
  return valid ? checkAddress(argument, tensor) : valid;
}

Result<void> tlc::checkAddress(const TensorArgument &argument, const TensorView &tensor) {
  const int64_t bytes = *spanBytes(tensor);
  if (bytes == 0)
    return {};
  auto address = reinterpret_cast<uintptr_t>(tensor.data);
  if (address == 0)
    return mistake("argument '{}': expected the address of {} bytes, but got null", argument.name, bytes);
  if (address % bytesOf(tensor.element, 1) != 0)
    return mistake("argument '{}': expected an address that is a multiple of {} because its elements are {}, "
                   "but got {:#x}",
                   argument.name, bytesOf(tensor.element, 1), toString(tensor.element), address);
  if (!isAligned(tensor, argument.alignment))
    return mistake(
        "argument '{}': expected an address and outer strides that are multiples of {} bytes because the "
        "program declares it, but got {:#x} and strides [{}] of {}",
        argument.name, argument.alignment, address, fmt::join(tensor.strides, ", "),
        toString(tensor.element));
  if (uint64_t(bytes) > UINTPTR_MAX - address)
    return mistake("argument '{}': {} bytes from address {:#x} exceed the address space", argument.name,
                   bytes, address);
  return {};
}

Result<void> tlc::checkWrittenApart(const Artifact &artifact, std::span<const TensorView> tensors,
                                    std::string_view writer) {
  // Of the first ones, once; more tensors are rare.
  std::array<AddressRange, 32> ranges;
  const size_t count = std::min(tensors.size(), ranges.size());
  std::ranges::transform(tensors.first(count), ranges.begin(),
                         [](const TensorView &tensor) { return AddressRange(tensor); });
  auto rangeOf = [&](size_t i) { return i < count ? ranges[i] : AddressRange(tensors[i]); };
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (artifact.tensors[i].access == Access::input)
      continue;
    const AddressRange written = rangeOf(i);
    for (size_t other = 0; other < tensors.size(); ++other)
      if (other != i && written.meets(rangeOf(other)) && haveCommonBytes(tensors[i], tensors[other]))
        return mistake("argument '{}': expected memory of its own because {} writes it, but it overlaps "
                       "argument '{}'",
                       artifact.tensors[i].name, writer, artifact.tensors[other].name);
  }
  return {};
}

int64_t tlc::appendZeroFills(const TensorView &tensor, std::vector<ZeroFill> &fills) {
  if (isEmpty(tensor))
    return 0;
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

  auto bytes = [&](int64_t elements) { return bytesOf(tensor.element, elements); };
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0, remaining = i;
    for (auto axis = rest; axis != axes.end(); ++axis) {
      offset += remaining % axis->extent * axis->stride;
      remaining /= axis->extent;
    }
    fills.push_back({static_cast<std::byte *>(tensor.data) + bytes(offset), size_t(bytes(rowElements)),
                     size_t(rows), size_t(bytes(pitch))});
  }
  return count;
}
