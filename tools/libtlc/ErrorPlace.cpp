// SPDX-License-Identifier: Apache-2.0
#include "tools/libtlc/ErrorPlace.h"

#include <algorithm>
#include <charconv>

using namespace tlc;

namespace {

/// Takes ":12" from the begin of the text; 0 if it does not begin like that.
int32_t takeNumber(std::string_view &text) {
  int32_t number = 0;
  if (!text.starts_with(':'))
    return 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  if (error != std::errc() || number < 1)
    return 0;
  text.remove_prefix(size_t(end - text.data()));
  return number;
}

std::optional<ErrorPlace> placeOfLine(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  // A name may have colons of its own.
  for (size_t at = line.find(':'); at != line.npos; at = line.find(':', at + 1)) {
    std::string_view rest = line.substr(at);
    ErrorPlace place{line.substr(0, at)};
    if ((place.line = takeNumber(rest)) && (place.column = takeNumber(rest)) && rest.starts_with(": "))
      return place.file.empty() ? std::nullopt : std::optional(place);
    if (rest.starts_with(": ")) // no place: a sentence with a colon
      return std::nullopt;
  }
  return std::nullopt;
}

} // namespace

std::optional<ErrorPlace> tlc::placeOf(std::string_view text) {
  while (!text.empty()) {
    const size_t size = std::min(text.find('\n'), text.size());
    if (std::optional<ErrorPlace> place = placeOfLine(text.substr(0, size)))
      return place;
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  return std::nullopt;
}
