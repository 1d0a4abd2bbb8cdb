// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a registered kernel can be asked for by name, and the checked values.
#pragma once

#include "runtime/support/ElementType.h"
#include "runtime/support/Result.h"

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

  bool isDimension() const { return kind == Kind::size || kind == Kind::count; }
  /// "f16 | bf16", "8 to 256 in steps of 8, or auto".
  std::string allowed() const;
  /// Whether it may have that value; an error says what is allowed.
  Result<void> check(std::string_view kernel, std::string_view text) const;
};

/// Values for all parameters of one kernel, checked.
class Parameters {
public:
  /// Defaults for what is not given, those of `defaults` before a parameter's own; an error names the
  /// parameter and what is allowed.
  static Result<Parameters> parse(std::string_view kernel, std::span<const Parameter> parameters,
                                  const Definitions &given, const Definitions &defaults = {});

  int64_t size(std::string_view name) const;
  int64_t constant(std::string_view name) const;
  /// Nothing if it is left to the heuristic.
  std::optional<int64_t> integer(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;
  /// Nothing for `none`.
  std::optional<std::vector<int64_t>> list(std::string_view name) const;
  std::string_view choice(std::string_view name) const;
  bool isDefault(std::string_view name) const { return !changed.contains(name); }
  ElementType element(std::string_view name) const;
  /// The text of a parameter that the kernel has.
  std::optional<std::string_view> find(std::string_view name) const;

  /// All values as text, in the order of declaration.
  const std::vector<std::pair<std::string, std::string>> &values() const { return texts; }

private:
  std::string_view text(std::string_view name) const;
  std::vector<std::pair<std::string, std::string>> texts;
  std::set<std::string, std::less<>> changed; ///< names of values that are not the default
};

} // namespace tlc::kernels
