// SPDX-License-Identifier: Apache-2.0
/// \file
/// The arguments of a kernel as a command line describes them: arrays, and
/// values made of numbers, bytes and addresses of arrays. Syntax only; what
/// they are made of is in Arguments.h.
#pragma once

#include "runtime/emulator/math/TensorMap.h"
#include "runtime/emulator/ptx/Type.h"
#include "runtime/support/Result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tlc::emulate {

using emulator::Type;

/// Types of elements and numbers: PTX's scalar ones. `i32` is `s32`, as numpy says.
std::optional<Type> parseNumberType(std::string_view word);

/// Where an array's elements come from.
enum class Source : uint8_t {
  file,
  random, ///< uniform
  zero,
  poison, ///< all bits set: NaN of every floating-point type
};

struct ArraySpec {
  std::string name; ///< "#0" and so on where the command line gives none
  std::string text; ///< as written
  Source source = Source::poison;
  std::optional<Type> type; ///< of a file: otherwise the file says it
  std::vector<int64_t> shape;
  std::string readFrom;
  std::string writeTo; ///< after the launch; empty: nowhere
  std::optional<uint64_t> seed;
  std::optional<std::pair<double, double>> range; ///< of random elements: the first is in, the second is not
};

/// The address of an array.
struct PointerSpec {
  std::string array; ///< its name
  uint64_t offset = 0;
};

struct NumberSpec {
  Type type = Type::b32;
  uint64_t bits = 0;
};

struct BytesSpec {
  std::vector<std::byte> bytes;
};

/// A TMA descriptor, axes outermost first.
struct TensorMapSpec {
  std::string array;
  uint64_t offset = 0;
  std::vector<int64_t> shape;       ///< empty: the array's
  std::vector<int64_t> strideBytes; ///< of all axes but the innermost; empty: dense
  std::vector<int64_t> box;
  std::vector<int64_t> elementStrides; ///< empty: 1
  Swizzle swizzle = Swizzle::none;
  emulator::OutOfBoundsFill fill = emulator::OutOfBoundsFill::zero;
};

/// The address by which multimem instructions reach the same place in all of these arrays.
struct MulticastSpec {
  std::vector<std::string> arrays;
  uint64_t number = 0; ///< among those of the launch
};

struct ValueSpec;

/// Fields one after the other, each aligned to its size.
struct StructSpec {
  std::vector<ValueSpec> fields;
};

struct ValueSpec {
  std::string text; ///< as written
  std::variant<PointerSpec, NumberSpec, BytesSpec, TensorMapSpec, MulticastSpec, StructSpec> value;
};

struct LaunchSpec {
  std::vector<ArraySpec> arrays;
  std::vector<ValueSpec> arguments; ///< of the entry, in its order
};

/// Takes apart `--array`s, each NAME=ARRAY, and `--arg`s. Errors quote what is wrong.
Result<LaunchSpec> parseLaunch(const std::vector<std::string> &arrays,
                               const std::vector<std::string> &arguments);

/// "128x64"
std::string shapeText(const std::vector<int64_t> &shape);

} // namespace tlc::emulate
