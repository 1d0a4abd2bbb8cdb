// SPDX-License-Identifier: Apache-2.0
/// \file
/// A user's text in messages, whatever its length.
#pragma once

#include <fmt/format.h>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tlc {

/// The most bytes of a user's text that a message repeats.
inline constexpr size_t mostQuoted = 200;

/// The text, or its beginning and how long it is. Cut between characters of UTF-8.
std::string excerpt(std::string_view text);

/// `fmt::format` of a message: of each text among the values, what `excerpt` gives.
template <class... Values>
std::string formatMessage(fmt::format_string<Values...> format, Values &&...values) {
  const auto shortened = [](const auto &value) {
    if constexpr (std::is_convertible_v<decltype(value), std::string_view>)
      return excerpt(value);
    else
      return value;
  };
  const auto formatAll = [&](const auto &...all) {
    return fmt::vformat(fmt::string_view(format), fmt::make_format_args(all...));
  };
  return formatAll(shortened(values)...);
}

} // namespace tlc
