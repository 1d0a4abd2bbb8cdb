// SPDX-License-Identifier: Apache-2.0
/// \file
/// What prints and checks on the device show.
#pragma once

#include "compiler/dsl/Handles.h"

namespace tlc::dsl::inline v1 {

/// A value in the text of `Scope::print` or `Scope::check`: a number, position, fragment or shared tile.
class ReportValue {
public:
  ReportValue(const Index &position) : value(position) {}
  ReportValue(const Shared &tile) : value(tile) {}
  template <std::convertible_to<Operand> T> ReportValue(const T &number) : value(Operand(number)) {}

  /// Calls it with an Index, an Operand or a Shared.
  decltype(auto) visit(auto &&visitor) const { return std::visit(visitor, value); }

private:
  std::variant<Index, Operand, Shared> value;
};

namespace detail {
template <class... Values> constexpr void requireReportValues() {
  static_assert((std::convertible_to<Values, ReportValue> && ...),
                "k.print and k.check show numbers, positions, fragments and shared tiles");
}
} // namespace detail

} // namespace tlc::dsl::inline v1
