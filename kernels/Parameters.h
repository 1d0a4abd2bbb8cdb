// SPDX-License-Identifier: Apache-2.0
/// \file
/// The checked values of a registered kernel's parameters.
#pragma once

#include "kernels/Parameter.h"
#include "runtime/support/ElementType.h"
#include "runtime/support/Result.h"

#include <optional>
#include <set>
#include <span>

namespace tlc::kernels {

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

  /// An error if a scalar has no value, which a launch needs; compiling needs none.
  Result<void> checkScalars(std::string_view kernel, std::span<const Parameter> parameters) const;
  /// All values as text, in the order of declaration. That of a scalar without a value is empty.
  const std::vector<std::pair<std::string, std::string>> &values() const { return texts; }
  /// Those that decide the program: all but scalars.
  std::vector<std::pair<std::string, std::string>> programValues() const;

private:
  std::string_view text(std::string_view name) const;
  std::vector<std::pair<std::string, std::string>> texts;
  std::set<std::string, std::less<>> changed;  ///< names of values that are not the default
  std::set<std::string, std::less<>> ofLaunch; ///< names of scalars
};

} // namespace tlc::kernels
