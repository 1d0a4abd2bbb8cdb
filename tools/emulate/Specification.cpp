// SPDX-License-Identifier: Apache-2.0
#include "tools/emulate/Specification.h"

#include "runtime/emulator/math/Float.h"
#include "runtime/support/Excerpt.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tlc::emulate {

namespace {

using emulator::isFloat;
using emulator::isSigned;
using emulator::sizeInBytes;

constexpr std::string_view forms =
    "in:FILE, random:TYPE:SHAPE, zero:TYPE:SHAPE, out:TYPE:SHAPE, @NAME, TYPE:NUMBER, bytes:HEX, "
    "struct:FIELD,FIELD, tensormap:NAME:box=SHAPE or multicast:NAME:NAME";

template <class... A> Error invalid(fmt::format_string<A...> format, A &&...arguments) {
  return {ErrorKind::invalidArgument, formatMessage(format, std::forward<A>(arguments)...)};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos)
      return parts;
    begin = end + 1;
  }
}

/// All of `text` as a number; integers also as 0x...
template <class T> std::optional<T> parse(std::string_view text) {
  T value{};
  const char *end = text.data() + text.size();
  std::from_chars_result result{};
  if constexpr (std::is_integral_v<T>) {
    const bool hexadecimal = text.starts_with("0x");
    result = std::from_chars(text.data() + (hexadecimal ? 2 : 0), end, value, hexadecimal ? 16 : 10);
  } else {
    result = std::from_chars(text.data(), end, value);
  }
  if (result.ec != std::errc() || result.ptr != end)
    return std::nullopt;
  return value;
}

std::optional<std::vector<int64_t>> parseShape(std::string_view text) {
  std::vector<int64_t> shape;
  for (std::string_view part : split(text, 'x')) {
    const auto extent = parse<int64_t>(part);
    if (!extent || *extent < 0)
      return std::nullopt;
    shape.push_back(*extent);
  }
  return shape;
}

bool isName(std::string_view text) {
  return !text.empty() && !std::isdigit(uint8_t(text[0])) &&
         std::all_of(text.begin(), text.end(), [](char c) { return std::isalnum(uint8_t(c)) || c == '_'; });
}

/// "key=value" at the head of options.
std::optional<std::string_view> valueOf(std::string_view option, std::string_view key) {
  if (option.starts_with(key) && option.substr(key.size()).starts_with('='))
    return option.substr(key.size() + 1);
  return std::nullopt;
}

std::optional<emulator::FloatFormat> narrowFormat(Type type) {
  switch (type) {
  case Type::f16:
    return emulator::FloatFormat::f16;
  case Type::bf16:
    return emulator::FloatFormat::bf16;
  case Type::e4m3:
    return emulator::FloatFormat::e4m3;
  case Type::e5m2:
    return emulator::FloatFormat::e5m2;
  default:
    return std::nullopt;
  }
}

std::optional<uint64_t> parseNumber(Type type, std::string_view text) {
  if (isFloat(type)) {
    const auto value = parse<double>(text);
    if (!value)
      return std::nullopt;
    if (auto format = narrowFormat(type))
      return emulator::fromDouble(*format, *value);
    return type == Type::f32 ? std::bit_cast<uint32_t>(float(*value)) : std::bit_cast<uint64_t>(*value);
  }
  const unsigned bits = 8 * sizeInBytes(type);
  const uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  if (text.starts_with('-')) {
    const auto value = parse<int64_t>(text);
    if (!isSigned(type) || !value || *value < -int64_t(mask / 2) - 1)
      return std::nullopt;
    return uint64_t(*value) & mask;
  }
  const auto value = parse<uint64_t>(text);
  // Hexadecimal digits are bits, whatever the sign.
  if (!value || *value > (isSigned(type) && !text.starts_with("0x") ? mask / 2 : mask))
    return std::nullopt;
  return value;
}

class LaunchParser {
public:
  Result<void> array(std::string_view text) {
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos || !isName(text.substr(0, equals)))
      return invalid("expected --array NAME=ARRAY, but got '{}'", text);
    return addArray(text, std::string(text.substr(0, equals)), text.substr(equals + 1));
  }

  Result<void> argument(std::string_view text) {
    auto parsed = value(text, 0);
    if (!parsed)
      return parsed.error();
    launch.arguments.push_back(std::move(*parsed));
    return {};
  }

  /// Names may be used before the array is described.
  Result<LaunchSpec> finish() {
    for (const ValueSpec &argument : launch.arguments)
      if (auto done = checkNames(argument); !done)
        return done.error();
    return std::move(launch);
  }

private:
  static bool isArray(std::string_view kind) {
    return kind == "in" || kind == "random" || kind == "zero" || kind == "out";
  }

  Result<void> addArray(std::string_view text, std::string name, std::string_view description) {
    const std::vector<std::string_view> parts = split(description, ':');
    if (!isArray(parts[0]))
      return invalid("expected an array (in:FILE, random:TYPE:SHAPE, zero:TYPE:SHAPE or out:TYPE:SHAPE) in "
                     "'{}'",
                     text);
    ArraySpec spec;
    spec.name = std::move(name);
    spec.text = text;
    size_t options = 2;
    if (parts[0] == "in") {
      spec.source = Source::file;
      if (parts.size() < 2 || parts[1].empty())
        return invalid("expected in:FILE, but got '{}'", text);
      spec.readFrom = parts[1];
    } else {
      spec.source = parts[0] == "random" ? Source::random
                    : parts[0] == "zero" ? Source::zero
                                         : Source::poison;
      const auto type = parts.size() < 3 ? std::nullopt : parseNumberType(parts[1]);
      const auto shape = parts.size() < 3 ? std::nullopt : parseShape(parts[2]);
      if (!type || !shape)
        return invalid("expected {}:TYPE:SHAPE, for example {}:f32:128x64, but got '{}'", parts[0], parts[0],
                       text);
      spec.type = type;
      spec.shape = *shape;
      options = 3;
    }
    for (size_t i = options; i < parts.size(); ++i)
      if (auto done = arrayOption(spec, parts[i]); !done)
        return done.error();
    for (const ArraySpec &other : launch.arrays)
      if (other.name == spec.name)
        return invalid("expected each name once, but '{}' and '{}' have the same", other.text, text);
    launch.arrays.push_back(std::move(spec));
    return {};
  }

  Result<void> arrayOption(ArraySpec &spec, std::string_view option) {
    if (spec.source == Source::file && !spec.type) {
      spec.type = parseNumberType(option);
      if (spec.type)
        return {};
    }
    if (option.ends_with(".npy") && spec.writeTo.empty()) {
      spec.writeTo = option;
      return {};
    }
    if (auto seed = valueOf(option, "seed"); seed && spec.source == Source::random) {
      spec.seed = parse<uint64_t>(*seed);
      if (!spec.seed)
        return invalid("expected seed=NUMBER in '{}', but got '{}'", spec.text, option);
      return {};
    }
    if (auto range = valueOf(option, "range"); range && spec.source == Source::random) {
      const size_t dots = range->find("..");
      const auto low = parse<double>(range->substr(0, dots));
      const auto high =
          dots == std::string_view::npos ? std::nullopt : parse<double>(range->substr(dots + 2));
      // An infinite width would make every element infinite.
      if (!low || !high || !(*low < *high) || !(*high - *low <= 1e300))
        return invalid("expected range=LOW..HIGH in '{}', but got '{}'", spec.text, option);
      spec.range = {*low, *high};
      return {};
    }
    return invalid("expected {}a file to write that ends in .npy in '{}', but got '{}'",
                   spec.source == Source::random ? "seed=NUMBER, range=LOW..HIGH or "
                   : spec.source == Source::file ? "a type or "
                                                 : "",
                   spec.text, option);
  }

  Result<ValueSpec> value(std::string_view text, unsigned depth) {
    ValueSpec result;
    result.text = text;
    if (text.starts_with('@')) {
      const size_t plus = text.find('+');
      PointerSpec pointer;
      if (auto offset = plus == std::string_view::npos ? 0 : parse<uint64_t>(text.substr(plus + 1)))
        pointer.offset = *offset;
      else
        return invalid("expected @NAME or @NAME+BYTES, but got '{}'", text);
      pointer.array = text.substr(1, plus == std::string_view::npos ? plus : plus - 1);
      result.value = pointer;
      return result;
    }
    // A name in front of an array, then the kind of value.
    std::string_view name, rest = text;
    if (const size_t equals = text.find('=');
        equals != std::string_view::npos && isName(text.substr(0, equals)))
      name = text.substr(0, equals), rest = text.substr(equals + 1);
    const std::string_view kind = rest.substr(0, rest.find(':'));
    const std::string_view body = rest.substr(std::min(rest.size(), kind.size() + 1));
    if (isArray(kind) || !name.empty()) {
      PointerSpec pointer;
      pointer.array = name.empty() ? fmt::format("#{}", launch.arrays.size()) : std::string(name);
      if (auto added = addArray(text, pointer.array, rest); !added)
        return added.error();
      result.value = std::move(pointer);
      return result;
    }
    if (auto type = parseNumberType(kind)) {
      const auto bits = parseNumber(*type, body);
      if (!bits)
        return invalid("expected a number of type {} in '{}'", kind, text);
      result.value = NumberSpec{*type, *bits};
      return result;
    }
    Result<void> done;
    if (kind == "bytes")
      done = bytes(result, body);
    else if (kind == "struct")
      done = structure(result, body, depth);
    else if (kind == "tensormap")
      done = tensorMap(result, body);
    else if (kind == "multicast")
      done = multicast(result, body);
    else
      done = invalid("expected an argument of the form {}, but got '{}'", forms, text);
    if (!done)
      return done.error();
    return result;
  }

  Result<void> bytes(ValueSpec &result, std::string_view digits) {
    BytesSpec spec;
    for (size_t i = 0; i + 1 < digits.size(); i += 2) {
      unsigned value = 0;
      const auto [rest, error] = std::from_chars(digits.data() + i, digits.data() + i + 2, value, 16);
      if (error != std::errc() || rest != digits.data() + i + 2)
        return invalid("expected hexadecimal digits in '{}'", result.text);
      spec.bytes.push_back(std::byte(value));
    }
    if (digits.empty() || digits.size() % 2 != 0)
      return invalid("expected two hexadecimal digits for each byte in '{}'", result.text);
    result.value = std::move(spec);
    return {};
  }

  Result<void> structure(ValueSpec &result, std::string_view fields, unsigned depth) {
    if (depth != 0)
      return invalid("expected no struct inside a struct, but got '{}'; list the fields of both",
                     result.text);
    StructSpec spec;
    for (std::string_view field : split(fields, ',')) {
      auto parsed = value(field, depth + 1);
      if (!parsed)
        return parsed.error();
      spec.fields.push_back(std::move(*parsed));
    }
    result.value = std::move(spec);
    return {};
  }

  Result<void> tensorMap(ValueSpec &result, std::string_view body) {
    const std::vector<std::string_view> parts = split(body, ':');
    TensorMapSpec spec;
    spec.array = parts[0];
    for (size_t i = 1; i < parts.size(); ++i)
      if (auto done = tensorMapOption(spec, parts[i], result.text); !done)
        return done;
    if (spec.box.empty())
      return invalid("expected tensormap:NAME:box=SHAPE, but '{}' has no box", result.text);
    result.value = std::move(spec);
    return {};
  }

  Result<void> multicast(ValueSpec &result, std::string_view body) {
    MulticastSpec spec;
    spec.number = multicasts++;
    for (std::string_view name : split(body, ':')) {
      if (std::ranges::find(spec.arrays, name) != spec.arrays.end())
        return invalid("expected each array once in '{}', but got '{}' twice", result.text, name);
      spec.arrays.emplace_back(name);
    }
    result.value = std::move(spec);
    return {};
  }

  Result<void> tensorMapOption(TensorMapSpec &spec, std::string_view option, std::string_view text) {
    const std::pair<std::string_view, std::vector<int64_t> *> shapes[] = {{"box", &spec.box},
                                                                          {"shape", &spec.shape},
                                                                          {"strides", &spec.strideBytes},
                                                                          {"step", &spec.elementStrides}};
    for (const auto &[key, target] : shapes)
      if (const auto value = valueOf(option, key)) {
        if (!target->empty())
          return invalid("expected {} once in '{}', but got '{}', too", key, text, option);
        auto shape = parseShape(*value);
        if (!shape)
          return invalid("expected {}=NUMBERxNUMBER... in '{}', but got '{}'", key, text, option);
        *target = std::move(*shape);
        return {};
      }
    if (const auto value = valueOf(option, "offset")) {
      const auto offset = parse<uint64_t>(*value);
      if (!offset)
        return invalid("expected offset=BYTES in '{}', but got '{}'", text, option);
      spec.offset = *offset;
      return {};
    }
    if (const auto value = valueOf(option, "swizzle")) {
      constexpr std::pair<std::string_view, Swizzle> names[] = {{"none", Swizzle::none},
                                                                {"32B", Swizzle::bytes32},
                                                                {"64B", Swizzle::bytes64},
                                                                {"128B", Swizzle::bytes128}};
      for (const auto &[name, swizzle] : names)
        if (*value == name) {
          spec.swizzle = swizzle;
          return {};
        }
      return invalid("expected swizzle=none, 32B, 64B or 128B in '{}', but got '{}'", text, option);
    }
    if (option == "fill=zero" || option == "fill=nan") {
      spec.fill = option == "fill=nan" ? emulator::OutOfBoundsFill::nan : emulator::OutOfBoundsFill::zero;
      return {};
    }
    return invalid(
        "expected box, shape, strides, step, offset, swizzle or fill=zero|nan in '{}', but got '{}'", text,
        option);
  }

  Result<void> checkName(const std::string &name, std::string_view text) const {
    std::vector<std::string_view> names;
    for (const ArraySpec &spec : launch.arrays) {
      if (!isName(spec.name))
        continue;
      if (spec.name == name)
        return {};
      names.push_back(spec.name);
    }
    return invalid("expected the name of an array ({}) in '{}', but got '{}'; --array NAME=... names one",
                   names.empty() ? "there is none" : fmt::format("{}", fmt::join(names, ", ")), text, name);
  }

  Result<void> checkNames(const ValueSpec &spec) const {
    if (const auto *pointer = std::get_if<PointerSpec>(&spec.value); pointer && spec.text.starts_with('@'))
      return checkName(pointer->array, spec.text);
    if (const auto *map = std::get_if<TensorMapSpec>(&spec.value))
      return checkName(map->array, spec.text);
    if (const auto *multicast = std::get_if<MulticastSpec>(&spec.value))
      for (const std::string &name : multicast->arrays)
        if (auto done = checkName(name, spec.text); !done)
          return done;
    if (const auto *structure = std::get_if<StructSpec>(&spec.value))
      for (const ValueSpec &field : structure->fields)
        if (auto done = checkNames(field); !done)
          return done;
    return {};
  }

  LaunchSpec launch;
  uint64_t multicasts = 0;
};

} // namespace

std::optional<Type> parseNumberType(std::string_view word) {
  const auto type = word.starts_with('i') ? emulator::parseType(fmt::format("s{}", word.substr(1)))
                                          : emulator::parseType(word);
  if (!type || (!emulator::isInteger(*type) && *type != Type::f16 && *type != Type::bf16 &&
                *type != Type::f32 && *type != Type::f64 && *type != Type::e4m3 && *type != Type::e5m2))
    return std::nullopt;
  return type;
}

Result<LaunchSpec> parseLaunch(const std::vector<std::string> &arrays,
                               const std::vector<std::string> &arguments) {
  LaunchParser parser;
  for (const std::string &text : arrays)
    if (auto done = parser.array(text); !done)
      return done.error();
  for (const std::string &text : arguments)
    if (auto done = parser.argument(text); !done)
      return done.error();
  return parser.finish();
}

std::string shapeText(const std::vector<int64_t> &shape) { return fmt::format("{}", fmt::join(shape, "x")); }

} // namespace tlc::emulate
