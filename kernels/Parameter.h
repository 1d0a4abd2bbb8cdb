// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a kernel can be asked for by name. Files of kernels include this: it is plain data.
#pragma once

#include "runtime/support/ElementType.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tlc {
template <class T> class Result;
} // namespace tlc

namespace tlc::kernels {

/// Names and values as a user gives them.
using Definitions = std::map<std::string, std::string, std::less<>>;

struct Parameter {
  enum class Kind : uint8_t {
    size,     ///< an extent of the tensors; also the name of a dimension of the program
    count,    ///< an extent that repeats the work, such as batches or heads; otherwise a size
    constant, ///< an integer that the program is made for, such as the length of a row
    integer,  ///< a tuning parameter; `auto` leaves it to the heuristic
    number,   ///< a real number; `auto` leaves it to the kernel
    list,     ///< integers with commas between them, or none
    choice,   ///< one of `choices`
    scalar,   ///< a number of `element` that each launch gets; the program is the same for all
  };
  std::string name;
  std::string description;
  Kind kind = Kind::size;
  std::string fallback = {}; ///< the default, as text; of a scalar empty where a launch must be given one
  int64_t least = 0, most = 0, multipleOf = 1;
  std::vector<std::string> choices = {};
  bool mayBeAuto = true;                  ///< of integers and numbers
  ElementType element = ElementType::f32; ///< of scalars
  std::string position = {};              ///< file:line:column of a scalar's declaration in a file of kernels

  /// Values that a tuner tries where none is given (docs/tuning.md); such a parameter is open. Empty: it is
  /// not.
  std::vector<std::string> candidates = {};

  bool isOpen() const { return !candidates.empty(); }
  bool isDimension() const { return kind == Kind::size || kind == Kind::count; }
  bool isScalar() const { return kind == Kind::scalar; }
  /// "softcap.cpp:12:8: ", or nothing where no position is known.
  std::string place() const;
  /// "f16 | bf16", "8 to 256 in steps of 8, or auto".
  std::string allowed() const;
  /// Whether it may have that value; an error says what is allowed.
  Result<void> check(std::string_view kernel, std::string_view text) const;
};

} // namespace tlc::kernels
