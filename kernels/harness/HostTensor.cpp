// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensors in ordinary memory.
#include "kernels/harness/HostTensor.h"

#include "kernels/harness/ElementBits.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <unistd.h>

using namespace tlc;
using namespace tlc::kernels;

namespace {

constexpr std::byte poisonByte{0xFF};
/// Elements after the last one that nobody may write.
constexpr int64_t guardElements = 64;

/// Of this machine's memory, what tensors and the checker may take: the rest is for the system and code.
int64_t usableMemoryBytes() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) / 4 * 3 * static_cast<int64_t>(sysconf(_SC_PAGESIZE));
}

} // namespace

Hash128 kernels::digestOf(std::span<const HostTensor> tensors) {
  Hash128 digest;
  for (const HostTensor &tensor : tensors)
    digest.update(tensor.bytes());
  return digest;
}

std::string kernels::shapeText(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string kernels::indexText(std::span<const int64_t> shape, int64_t number) {
  std::vector<int64_t> index(shape.size());
  for (size_t axis = shape.size(); axis-- != 0;) {
    index[axis] = number % shape[axis];
    number /= shape[axis];
  }
  return shapeText(index);
}

namespace {
/// Where elements lie, first to last.
struct Layout {
  int64_t count = 1, bytes = 0; ///< elements; bytes with all room
  std::vector<int64_t> pitches; ///< in elements
};

/// Nothing if numbers of bytes do not fit into 64 bits.
std::optional<Layout> layOut(ElementType element, std::span<const int64_t> shape, Placement placement) {
  Layout layout;
  layout.pitches.resize(shape.size());
  int64_t pitch = placement.lastStride, elements = placement.offset + guardElements;
  for (size_t axis = shape.size(); axis-- != 0;) {
    layout.pitches[axis] = pitch;
    int64_t reach = 0;
    if (__builtin_mul_overflow(layout.count, shape[axis], &layout.count) ||
        __builtin_mul_overflow(pitch, shape[axis], &reach) ||
        __builtin_add_overflow(elements, reach, &elements))
      return std::nullopt;
    pitch = std::max<int64_t>(reach, 1);
    if (axis + 1 == shape.size())
      pitch += placement.rowPadding;
  }
  if (layout.count == 0)
    elements = placement.offset + guardElements;
  std::optional<int64_t> bytes = checkedBytesOf(element, elements);
  if (!bytes)
    return std::nullopt;
  layout.bytes = *bytes;
  return layout;
}
} // namespace

Result<void> MemoryCheck::add(std::string_view name, ElementType element, std::span<const int64_t> shape,
                              Placement placement, Access access) {
  const int64_t memory = usableMemoryBytes();
  const int64_t each = need.ofElement + (access == Access::input ? 0 : need.ofOutputElement);
  ofElement =
      std::max(ofElement, static_cast<double>(need.ofByte) * bitsOf(element) / 8 + static_cast<double>(each));
  std::optional<Layout> layout = layOut(element, shape, placement);
  int64_t ofBytes = 0, ofElements = 0;
  if (layout && !__builtin_mul_overflow(layout->bytes, need.ofByte, &ofBytes) &&
      !__builtin_mul_overflow(layout->count, each, &ofElements) &&
      !__builtin_add_overflow(needed, ofBytes, &needed) &&
      !__builtin_add_overflow(needed, ofElements, &needed) && needed <= memory)
    return {};
  return Error{
      ErrorKind::environment,
      fmt::format("expected tensors that fit into this machine's memory ({} MiB for them), but '{}' "
                  "has the shape {} of {}; choose sizes with at most {:.0f} elements in all",
                  memory >> 20, name, shapeText(shape), toString(element),
                  std::floor(static_cast<double>(std::max<int64_t>(memory - need.always, 0)) / ofElement))};
}

Result<HostTensor> HostTensor::create(std::string name, ElementType element, std::vector<int64_t> shape,
                                      Placement placement) {
  if (placement.offset % elementsPerUnit(element) != 0)
    return Error{ErrorKind::invalidArgument,
                 fmt::format("expected an offset that is a multiple of {} because '{}' has that many {} in a "
                             "byte, but got {}",
                             elementsPerUnit(element), name, toString(element), placement.offset)};
  if (Result<void> fits = MemoryCheck({}).add(name, element, shape, placement); !fits)
    return fits.error();
  Layout layout = *layOut(element, shape, placement);
  HostTensor tensor;
  tensor.tensorName = std::move(name);
  tensor.type = element;
  tensor.extents = std::move(shape);
  tensor.first = placement.offset;
  tensor.count = layout.count;
  tensor.pitches = std::move(layout.pitches);
  tensor.storage.assign(size_t(layout.bytes), poisonByte);
  return tensor;
}

TensorView HostTensor::view(void *base) const {
  return {static_cast<std::byte *>(base) + tlc::bytesOf(type, first), type, extents, pitches};
}

void HostTensor::fill(std::span<const double> values) {
  assert(int64_t(values.size()) == count);
  for (int64_t number = 0; number != count; ++number)
    storeElement(type, storage.data(), values[size_t(number)], positionOf(number));
}

void HostTensor::poisonWhere(const Padding &isPadding) {
  for (int64_t number = 0; number != count; ++number)
    if (isPadding(number))
      storeCode(type, storage.data(), ~uint64_t(0), positionOf(number));
}

namespace {
void copyElement(ElementType type, std::byte *to, int64_t toNumber, const std::byte *from,
                 int64_t fromNumber) {
  if (isPacked(type))
    return storeElement(type, to, loadElement(type, from, fromNumber), toNumber);
  const size_t size = sizeInBytes(type);
  std::memcpy(to + size_t(toNumber) * size, from + size_t(fromNumber) * size, size);
}
} // namespace

void HostTensor::fillRandom(Random &random, double low, double high) {
  // Elements are drawn from a table of fresh values, so that converting them takes no time.
  constexpr int64_t tableSize = 1 << 16;
  std::vector<std::byte> table(size_t(tlc::bytesOf(type, tableSize)));
  for (int64_t i = 0; i != tableSize; ++i) {
    double value = low + (high - low) * (static_cast<double>(random() >> 11) * 0x1p-53);
    storeElement(type, table.data(), isInteger(type) ? std::floor(value) : value, i);
  }
  for (int64_t row = 0; row < count; row += rowLength()) {
    const int64_t begin = positionOf(row);
    uint64_t bits = 0;
    for (int64_t column = 0; column != rowLength(); ++column, bits >>= 16) {
      if (column % 4 == 0)
        bits = random();
      copyElement(type, storage.data(), begin + column * lastStride(), table.data(), int64_t(bits & 0xFFFF));
    }
  }
}

void HostTensor::poison() { std::ranges::fill(storage, poisonByte); }

double HostTensor::at(int64_t number) const { return loadElement(type, storage.data(), positionOf(number)); }

std::vector<double> HostTensor::values() const {
  std::vector<double> result;
  result.reserve(static_cast<size_t>(count));
  for (int64_t row = 0; row < count; row += rowLength()) {
    const int64_t begin = positionOf(row);
    for (int64_t column = 0; column != rowLength(); ++column)
      result.push_back(loadElement(type, storage.data(), begin + column * lastStride()));
  }
  return result;
}

std::string HostTensor::indexText(int64_t number) const { return kernels::indexText(extents, number); }

int64_t HostTensor::positionOf(int64_t number) const {
  int64_t position = first;
  for (size_t axis = extents.size(); axis-- != 0;) {
    position += number % extents[axis] * pitches[axis];
    number /= extents[axis];
  }
  return position;
}

bool HostTensor::isPoison(int64_t position) const {
  return loadCode(type, storage.data(), position) == ~uint64_t(0) >> (64 - bitsOf(type));
}

std::vector<int64_t> HostTensor::findPoison(size_t most, const Padding &isPadding) const {
  std::vector<int64_t> found;
  for (int64_t row = 0; row < count; row += rowLength()) {
    const int64_t begin = positionOf(row);
    for (int64_t column = 0; column != rowLength() && found.size() != most; ++column)
      if (isPoison(begin + column * lastStride()) && !(isPadding && isPadding(row + column)))
        found.push_back(row + column);
  }
  return found;
}

std::optional<std::string> HostTensor::findUnwritten(const Padding &isPadding) const {
  std::vector<int64_t> found = findPoison(1, isPadding);
  if (found.empty() || !std::isnan(at(found.front())))
    return std::nullopt;
  const size_t all = findPoison(size_t(count), isPadding).size();
  return fmt::format("element {} of '{}' was never written ({} of {} elements)", indexText(found.front()),
                     tensorName, all, count);
}

std::optional<std::string> HostTensor::findStrayWrite(const Padding &isPadding) const {
  for (int64_t number = 0; isPadding && number < count; ++number)
    if (isPadding(number) && !isPoison(positionOf(number)))
      return fmt::format("element {} of '{}' was written, but is padding", indexText(number), tensorName);
  size_t from = 0; // everything before is looked at
  auto check = [&](size_t to) -> std::optional<std::string> {
    auto begin = storage.begin() + static_cast<int64_t>(from),
         end = storage.begin() + static_cast<int64_t>(to);
    auto found = std::find_if(begin, end, [](std::byte byte) { return byte != poisonByte; });
    if (found == end)
      return std::nullopt;
    return fmt::format("'{}' of shape {} and strides {} was written outside, {} elements from its first one",
                       tensorName, shapeText(extents), shapeText(pitches),
                       elementsOf(type, found - storage.begin()) - first);
  };
  const int64_t adjacent = lastStride() == 1 ? rowLength() : 1;
  for (int64_t number = 0; number < count; number += adjacent) {
    const int64_t begin = positionOf(number);
    if (auto stray = check(static_cast<size_t>(begin * int64_t(bitsOf(type)) / 8)))
      return stray;
    from = static_cast<size_t>(tlc::bytesOf(type, begin + adjacent));
  }
  return check(storage.size());
}
