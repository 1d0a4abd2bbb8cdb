// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where in the user's source a call stands, without macros. Functions take a
/// `Loc` as last default argument; operators, which cannot, take `At<T>`, whose
/// converting constructor captures it.
#pragma once

#include <concepts>
#include <source_location>
#include <utility>

namespace tlc::dsl::inline v1 {

using Loc = std::source_location;

/// A `T` and the place where it was passed.
template <class T> struct At {
  T value;
  Loc loc;

  template <class U>
    requires std::convertible_to<U, T>
  At(U &&value, Loc loc = Loc::current()) : value(std::forward<U>(value)), loc(loc) {}
};

} // namespace tlc::dsl::inline v1
