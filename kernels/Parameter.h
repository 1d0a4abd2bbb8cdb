// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a kernel can be asked for by name. Files of kernels include this: it is plain data.
#pragma once

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
  };
  std::string name;
  std::string description;
  Kind kind = Kind::size;
  std::string fallback = {}; ///< the default, as text
  int64_t least = 0, most = 0, multipleOf = 1;
  std::vector<std::string> choices = {};
  bool mayBeAuto = true; ///< of integers and numbers

  bool isDimension() const { return kind == Kind::size || kind == Kind::count; }
  /// "f16 | bf16", "8 to 256 in steps of 8, or auto".
  std::string allowed() const;
  /// Whether it may have that value; an error says what is allowed.
  Result<void> check(std::string_view kernel, std::string_view text) const;
};

} // namespace tlc::kernels
