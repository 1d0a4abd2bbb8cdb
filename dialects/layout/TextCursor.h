// SPDX-License-Identifier: Apache-2.0
/// \file
/// The lexical part that the layouts' text parsers share: optional spaces between
/// tokens, decimal numbers, and messages that name the column.
#pragma once

#include "runtime/support/Result.h"

#include <cctype>
#include <cstdint>
#include <fmt/format.h>
#include <string_view>

namespace tlc {

class TextCursor {
public:
  explicit TextCursor(std::string_view text) : text(text) {}

  bool take(char c) {
    skipSpace();
    if (position >= text.size() || text[position] != c)
      return false;
    ++position;
    return true;
  }

  /// Takes the word if it stands here and does not go on.
  bool word(std::string_view expected) {
    skipSpace();
    if (text.substr(position, expected.size()) != expected)
      return false;
    size_t end = position + expected.size();
    if (end < text.size() && std::isalnum((unsigned char)(text[end])))
      return false;
    position = end;
    return true;
  }

  /// Takes an unsigned number of at most 12 digits; leaves `value` alone otherwise.
  bool number(int64_t &value) {
    skipSpace();
    size_t end = position;
    int64_t result = 0;
    while (end < text.size() && std::isdigit((unsigned char)(text[end])) && end - position <= 12)
      result = result * 10 + (text[end++] - '0');
    if (end == position || end - position > 12)
      return false;
    position = end;
    value = result;
    return true;
  }

  /// Takes letters and digits up to the next other character; may be empty.
  std::string_view identifier() {
    skipSpace();
    size_t begin = position;
    while (position < text.size() && std::isalnum((unsigned char)(text[position])))
      ++position;
    return text.substr(begin, position - begin);
  }

  bool atEnd() {
    skipSpace();
    return position == text.size();
  }

  Error expected(std::string_view what) const {
    std::string got = position < text.size() ? fmt::format("'{}'", text.substr(position, 8)) : "the end";
    return {ErrorKind::invalidArgument,
            fmt::format("expected {} at column {} of the layout, but got {}", what, position + 1, got)};
  }

private:
  void skipSpace() {
    while (position < text.size() && text[position] == ' ')
      ++position;
  }

  std::string_view text;
  size_t position = 0;
};

} // namespace tlc
