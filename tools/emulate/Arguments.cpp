// SPDX-License-Identifier: Apache-2.0
#include "tools/emulate/Arguments.h"

#include "runtime/emulator/math/Float.h"
#include "runtime/support/Excerpt.h"
#include "runtime/support/Math.h"
#include "runtime/support/Npy.h"
#include "runtime/target/Hardware.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace tlc::emulate {

namespace {

using emulator::FloatFormat;
using emulator::isFloat;
using emulator::isSigned;
using emulator::sizeInBytes;
using emulator::TensorElement;

/// As of cudaMalloc.
constexpr size_t allocationAlignment = 256;

template <class... A> Error invalid(fmt::format_string<A...> format, A &&...arguments) {
  return {ErrorKind::invalidArgument, formatMessage(format, std::forward<A>(arguments)...)};
}

/// numpy knows neither bf16 nor the 8-bit formats: their bits are integers there.
NpyType npyTypeOf(Type type) {
  const bool isKnown = type == Type::f16 || type == Type::f32 || type == Type::f64;
  return {isKnown ? 'f' : isSigned(type) ? 'i' : 'u', sizeInBytes(type)};
}

std::optional<Type> typeOf(NpyType type) {
  constexpr Type integers[2][4] = {{Type::u8, Type::u16, Type::u32, Type::u64},
                                   {Type::s8, Type::s16, Type::s32, Type::s64}};
  constexpr Type bits[] = {Type::b8, Type::b16, Type::b32, Type::b64};
  if (type.bytes > 8 || !std::has_single_bit(type.bytes))
    return std::nullopt;
  const int size = std::countr_zero(type.bytes);
  switch (type.kind) {
  case 'f':
    return type.bytes == 2   ? Type::f16
           : type.bytes == 4 ? Type::f32
           : type.bytes == 8 ? std::optional(Type::f64)
                             : std::nullopt;
  case 'i':
  case 'u':
    return integers[type.kind == 'i'][size];
  default:
    return bits[size];
  }
}

std::optional<FloatFormat> formatOf(Type type) {
  switch (type) {
  case Type::f16:
    return FloatFormat::f16;
  case Type::bf16:
    return FloatFormat::bf16;
  case Type::e4m3:
    return FloatFormat::e4m3;
  case Type::e5m2:
    return FloatFormat::e5m2;
  case Type::f32:
    return FloatFormat::f32;
  default:
    return std::nullopt;
  }
}

std::optional<TensorElement> tensorElementOf(Type type) {
  switch (type) {
  case Type::f16:
    return TensorElement::f16;
  case Type::bf16:
    return TensorElement::bf16;
  case Type::f32:
    return TensorElement::f32;
  case Type::f64:
    return TensorElement::f64;
  case Type::s32:
    return TensorElement::s32;
  case Type::s64:
    return TensorElement::s64;
  default:
    break;
  }
  constexpr TensorElement bits[] = {TensorElement::u8, TensorElement::u16, TensorElement::u32,
                                    TensorElement::u64};
  return bits[std::countr_zero(sizeInBytes(type))];
}

Result<void> allocate(Array &array, const ArraySpec &spec) {
  uint64_t bytes = sizeInBytes(array.type);
  bool fits = true;
  for (int64_t extent : array.shape)
    fits &= !__builtin_mul_overflow(bytes, uint64_t(extent), &bytes);
  const uint64_t present = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  if (std::find(array.shape.begin(), array.shape.end(), 0) != array.shape.end())
    bytes = 0;
  else if (!fits || bytes > present / 2)
    return Error{ErrorKind::environment,
                 formatMessage("expected arrays that fit into this machine's memory ({} MiB), but got '{}'",
                               present >> 20, spec.text)};
  array.bytes = bytes;
  // An array without elements has an address too.
  array.memory.reset(static_cast<std::byte *>(
      std::aligned_alloc(allocationAlignment, (bytes / allocationAlignment + 1) * allocationAlignment)));
  if (!array.memory)
    return Error{ErrorKind::environment, formatMessage("no memory is left for '{}'", spec.text)};
  return {};
}

/// Elements of [low, high), or integers of any value.
Result<void> fillRandom(Array &array, const ArraySpec &spec, std::mt19937_64 &random) {
  const size_t size = sizeInBytes(array.type);
  if (!isFloat(array.type) && spec.range) {
    const unsigned bits = unsigned(8 * size);
    const double least = isSigned(array.type) ? -std::ldexp(1, int(bits) - 1) : 0,
                 most = std::ldexp(1, int(bits) - isSigned(array.type));
    if (spec.range->first < least || spec.range->second > most)
      return invalid("expected a range within {} to {} in '{}'", least, most, spec.text);
  }
  const auto [low, high] = spec.range.value_or(std::pair(-1.0, 1.0));
  for (size_t i = 0; i < array.count(); ++i) {
    uint64_t bits = random();
    if (isFloat(array.type) || spec.range) {
      const double value = low + (high - low) * (double(bits >> 11) * 0x1p-53);
      if (const auto format = formatOf(array.type))
        bits = emulator::fromDouble(*format, value);
      else if (array.type == Type::f64)
        bits = std::bit_cast<uint64_t>(value);
      else
        bits = isSigned(array.type) ? uint64_t(int64_t(std::floor(value))) : uint64_t(std::floor(value));
    }
    std::memcpy(array.memory.get() + i * size, &bits, size);
  }
  return {};
}

Result<void> read(Array &array, const ArraySpec &spec) {
  auto file = readNpy(spec.readFrom);
  if (!file)
    return file.error();
  const auto type = spec.type ? spec.type : typeOf(file->type);
  if (!type)
    return invalid("'{}' has elements of type '{}', which no type here has", spec.readFrom,
                   toString(file->type));
  if (sizeInBytes(*type) != file->type.bytes)
    return invalid("expected elements of {} bytes in '{}', but those of '{}' are of type '{}'",
                   sizeInBytes(*type), spec.text, spec.readFrom, toString(file->type));
  array.type = *type;
  array.shape = std::move(file->shape);
  if (auto done = allocate(array, spec); !done)
    return done;
  std::copy(file->bytes.begin(), file->bytes.end(), array.memory.get());
  return {};
}

std::string typeText(const emulator::Variable &parameter) {
  const unsigned size = sizeInBytes(parameter.type);
  return parameter.bytes == size ? fmt::format(".{}", emulator::toString(parameter.type))
                                 : fmt::format("{} bytes", parameter.bytes);
}

} // namespace

std::string Array::elementText(size_t i) const {
  const size_t size = sizeInBytes(type);
  uint64_t bits = 0;
  std::memcpy(&bits, memory.get() + i * size, size);
  if (isFloat(type)) {
    const auto format = formatOf(type);
    const double value = format ? emulator::toDouble(*format, uint32_t(bits)) : std::bit_cast<double>(bits);
    return std::isnan(value) ? "nan" : format ? fmt::format("{}", float(value)) : fmt::format("{}", value);
  }
  const unsigned shift = unsigned(64 - 8 * size);
  if (isSigned(type))
    return fmt::format("{}", int64_t(bits << shift) >> shift);
  return type <= Type::b64 ? fmt::format("{:#x}", bits) : fmt::format("{}", bits);
}

std::string parameterText(const emulator::Function &function) {
  std::vector<std::string> parts;
  for (const emulator::Variable &parameter : function.parameters)
    parts.push_back(fmt::format("{}: {}", parameter.name, typeText(parameter)));
  return fmt::format("({})", fmt::join(parts, ", "));
}

Result<Arguments> Arguments::create(const LaunchSpec &launch, uint64_t seed) {
  Arguments result;
  result.specs = launch.arguments;
  std::mt19937_64 common(seed);
  for (const ArraySpec &spec : launch.arrays) {
    Array array;
    array.name = spec.name;
    array.number = result.all.size();
    array.writeTo = spec.writeTo;
    array.isOutput = spec.source == Source::poison;
    Result<void> done;
    if (spec.source == Source::file) {
      done = read(array, spec);
    } else {
      array.type = *spec.type;
      array.shape = spec.shape;
      done = allocate(array, spec);
    }
    if (!done)
      return done.error();
    if (spec.source == Source::random) {
      std::mt19937_64 own(spec.seed.value_or(0));
      if (auto filled = fillRandom(array, spec, spec.seed ? own : common); !filled)
        return filled.error();
    } else if (spec.source != Source::file) {
      std::memset(array.memory.get(), spec.source == Source::zero ? 0 : 0xFF, array.bytes);
    }
    result.all.push_back(std::move(array));
  }
  return result;
}

const Array &Arguments::find(std::string_view name) const {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Array &array) { return array.name == name; });
  assert(found != all.end() && "names were checked when they were read");
  return *found;
}

Result<Arguments::Value> Arguments::pointer(const PointerSpec &spec, std::string_view text) const {
  const Array &array = find(spec.array);
  if (spec.offset > array.bytes)
    return invalid("expected an offset of at most {} bytes, the size of '{}', in '{}'", array.bytes,
                   spec.array, text);
  const uint64_t address = array.address() + spec.offset;
  Value value;
  value.bytes.resize(sizeof(address));
  std::memcpy(value.bytes.data(), &address, sizeof(address));
  value.alignment = sizeof(address);
  return value;
}

Result<Arguments::Value> Arguments::multicast(const MulticastSpec &spec, std::string_view text) const {
  const Array &first = find(spec.arrays.front());
  for (const std::string &name : spec.arrays)
    if (const Array &array = find(name); array.bytes != first.bytes)
      return invalid("expected arrays of as many bytes in '{}', but '{}' has {} and '{}' has {}", text,
                     first.name, first.bytes, name, array.bytes);
  const uint64_t address = emulator::multicastAddress(spec.number);
  Value value;
  value.bytes.resize(sizeof(address));
  std::memcpy(value.bytes.data(), &address, sizeof(address));
  value.alignment = sizeof(address);
  return value;
}

std::vector<emulator::MulticastRange> Arguments::multicastRanges() const {
  std::vector<emulator::MulticastRange> ranges;
  auto add = [&](const ValueSpec &spec) {
    const auto *given = std::get_if<MulticastSpec>(&spec.value);
    if (!given)
      return;
    emulator::MulticastRange &range = ranges.emplace_back();
    range.address = emulator::multicastAddress(given->number);
    range.bytes = find(given->arrays.front()).bytes;
    for (const std::string &name : given->arrays)
      range.members.push_back(find(name).address());
  };
  for (const ValueSpec &spec : specs) {
    add(spec);
    if (const auto *structure = std::get_if<StructSpec>(&spec.value))
      std::ranges::for_each(structure->fields, add);
  }
  return ranges;
}

Result<Arguments::Value> Arguments::tensorMap(const TensorMapSpec &spec, std::string_view text) const {
  const Array &array = find(spec.array);
  const std::vector<int64_t> &shape = spec.shape.empty() ? array.shape : spec.shape;
  const size_t rank = shape.size();
  emulator::EmulatedTensorMap map;
  if (rank < 1 || rank > map.maxRank)
    return invalid("expected 1 to {} axes in '{}', but the shape is {}", map.maxRank, text, shapeText(shape));
  if (spec.box.size() != rank || (!spec.elementStrides.empty() && spec.elementStrides.size() != rank))
    return invalid("expected box and step of {} axes like the shape {} in '{}'", rank, shapeText(shape),
                   text);
  if (!spec.strideBytes.empty() && spec.strideBytes.size() != rank - 1)
    return invalid("expected strides of {} axes, all but the innermost, in '{}'", rank - 1, text);
  map.globalAddress = array.address() + spec.offset;
  map.element = *tensorElementOf(array.type);
  map.rank = unsigned(rank);
  map.swizzle = spec.swizzle;
  map.fill = spec.fill;
  uint64_t dense = sizeInBytes(array.type), reach = dense;
  bool fits = true;
  for (size_t i = 0; i < rank; ++i) {
    const size_t axis = rank - 1 - i;
    const uint64_t extent = uint64_t(shape[axis]);
    const uint64_t stride = i == 0 || spec.strideBytes.empty() ? dense : uint64_t(spec.strideBytes[axis]);
    uint64_t last = 0;
    fits &= !__builtin_mul_overflow(stride, extent == 0 ? 0 : extent - 1, &last);
    fits &= !__builtin_add_overflow(reach, last, &reach);
    fits &= !__builtin_mul_overflow(dense, extent, &dense);
    map.dims[i] = extent;
    map.box[i] = uint32_t(std::min<int64_t>(spec.box[axis], UINT32_MAX));
    if (i > 0)
      map.strides[i - 1] = stride;
    if (!spec.elementStrides.empty())
      map.elementStrides[i] = uint32_t(std::min<int64_t>(spec.elementStrides[axis], UINT32_MAX));
  }
  if (auto valid = emulator::checkTensorMap(map); !valid)
    return invalid("{}, in '{}'", valid.error().message, text);
  if (!fits || spec.offset > array.bytes || reach > array.bytes - spec.offset)
    return invalid("expected a tensor inside the {} bytes of '{}', but '{}' reaches beyond", array.bytes,
                   spec.array, text);
  const auto bytes = emulator::encodeTensorMap(map);
  return Value{{bytes.begin(), bytes.end()}, tensorMapAlignment};
}

Result<Arguments::Value> Arguments::valueOf(const ValueSpec &spec) const {
  if (const auto *target = std::get_if<PointerSpec>(&spec.value))
    return pointer(*target, spec.text);
  if (const auto *map = std::get_if<TensorMapSpec>(&spec.value))
    return tensorMap(*map, spec.text);
  if (const auto *all = std::get_if<MulticastSpec>(&spec.value))
    return multicast(*all, spec.text);
  if (const auto *bytes = std::get_if<BytesSpec>(&spec.value))
    return Value{bytes->bytes, 1};
  Value value;
  if (const auto *number = std::get_if<NumberSpec>(&spec.value)) {
    value.bytes.resize(sizeInBytes(number->type));
    value.alignment = value.bytes.size();
    std::memcpy(value.bytes.data(), &number->bits, value.bytes.size());
    return value;
  }
  for (const ValueSpec &field : std::get<StructSpec>(spec.value).fields) {
    auto part = valueOf(field);
    if (!part)
      return part;
    value.alignment = std::max(value.alignment, part->alignment);
    value.bytes.resize(alignTo(value.bytes.size(), part->alignment));
    value.bytes.insert(value.bytes.end(), part->bytes.begin(), part->bytes.end());
  }
  value.bytes.resize(alignTo(value.bytes.size(), value.alignment));
  return value;
}

Result<std::vector<std::byte>> Arguments::parametersOf(const emulator::Kernel &kernel) const {
  const emulator::Function &function = *kernel.function;
  if (specs.size() != function.parameters.size())
    return invalid("'{}' takes {} arguments {}, but got {}", kernel.name, function.parameters.size(),
                   parameterText(function), specs.size());
  std::vector<std::byte> bytes(kernel.parameterBytes);
  for (size_t i = 0; i < specs.size(); ++i) {
    const emulator::Variable &parameter = function.parameters[i];
    const ValueSpec &spec = specs[i];
    auto value = valueOf(spec);
    if (!value)
      return value.error();
    const auto refuse = [&](const std::string &why) {
      return invalid("'{}' does not fit parameter '{}: {}' of '{}': {}", spec.text, parameter.name,
                     typeText(parameter), kernel.name, why);
    };
    if (value->bytes.size() != parameter.bytes)
      return refuse(fmt::format("it has {} bytes", value->bytes.size()));
    if (const auto *number = std::get_if<NumberSpec>(&spec.value)) {
      const bool isBits = number->type <= Type::b64 || parameter.type <= Type::b64;
      if (!isBits && isFloat(number->type) != isFloat(parameter.type))
        return refuse(fmt::format("one is a floating-point number, the other is not; b{}:0x... passes bits",
                                  8 * parameter.bytes));
    }
    if (std::holds_alternative<TensorMapSpec>(spec.value) && parameter.alignment < tensorMapAlignment)
      return refuse(fmt::format("a tensor map needs .align {}, but the parameter has {}", tensorMapAlignment,
                                parameter.alignment));
    std::copy(value->bytes.begin(), value->bytes.end(),
              bytes.begin() + ptrdiff_t(kernel.parameterOffsets[i]));
  }
  return bytes;
}

std::optional<std::string> findDifference(const Arguments &first, const Arguments &second) {
  for (size_t i = 0; i < first.arrays().size(); ++i) {
    const Array &a = first.arrays()[i], &b = second.arrays()[i];
    const size_t size = sizeInBytes(a.type);
    const std::byte *end = a.memory.get() + a.bytes;
    const auto [at, other] =
        std::mismatch(static_cast<const std::byte *>(a.memory.get()), end, b.memory.get());
    if (at == end)
      continue;
    const size_t element = size_t(at - a.memory.get()) / size;
    return fmt::format(
        "element {} of '{}' is {} after the first launch, but {} after another order of warps and "
        "completions",
        element, a.name, a.elementText(element), b.elementText(element));
  }
  return std::nullopt;
}

std::vector<emulator::MemoryRange> Arguments::ranges() const {
  std::vector<emulator::MemoryRange> ranges;
  for (const Array &array : all)
    ranges.push_back(
        {.address = array.address(), .bytes = array.bytes, .toMemory = array.inMemory() - array.address()});
  return ranges;
}

std::vector<emulator::NamedTensor> Arguments::tensors() const {
  std::vector<emulator::NamedTensor> tensors;
  for (const Array &array : all) {
    std::vector<int64_t> strides(array.shape.size(), 1);
    for (size_t axis = strides.size(); axis-- > 1;)
      strides[axis - 1] = strides[axis] * array.shape[axis];
    tensors.push_back({.name = array.name,
                       .address = array.inMemory(),
                       .elementBytes = emulator::sizeInBytes(array.type),
                       .shape = array.shape,
                       .strides = strides,
                       .toKernels = array.address()});
  }
  return tensors;
}

Result<void> Arguments::save() const {
  for (const Array &array : all)
    if (!array.writeTo.empty())
      if (auto done =
              writeNpy(array.writeTo, npyTypeOf(array.type), array.shape, {array.memory.get(), array.bytes});
          !done)
        return done;
  return {};
}

} // namespace tlc::emulate
