// SPDX-License-Identifier: Apache-2.0
/// \file
/// Words, numbers and signs of a line of a description.
#pragma once

#include "runtime/support/Excerpt.h"
#include "tools/wrap/Description.h"

#include <algorithm>
#include <optional>

namespace tlc::wrap {

struct Token {
  enum class Kind : uint8_t { word, number, sign, end };
  Kind kind = Kind::end;
  std::string_view text = {};
  unsigned column = 1;
};

/// The tokens up to a '#' or the end of the line, and the end.
std::vector<Token> tokensOf(std::string_view line);

/// Takes the tokens of a line apart. Keeps the first mistake; after it, all that is taken is empty.
class Line {
public:
  Line(std::string_view text, unsigned number) : tokens(tokensOf(text)), number(number) {}

  bool isEmpty() const { return tokens.size() == 1; }
  bool atEnd() const { return peek().kind == Token::Kind::end; }
  const Token &peek(size_t ahead = 0) const { return tokens[std::min(position + ahead, tokens.size() - 1)]; }
  Place place() const { return {number, peek().column}; }
  bool has(std::string_view text) const { return peek().kind != Token::Kind::end && peek().text == text; }

  Token take() { return position + 1 < tokens.size() ? tokens[position++] : tokens.back(); }
  bool takeIf(std::string_view text) {
    const bool taken = !failure && has(text);
    position += taken;
    return taken;
  }
  void expect(std::string_view text) {
    if (!takeIf(text))
      fail(formatMessage("expected '{}', but got {}", text, described()));
  }
  /// A word; `what` it should be, for the message.
  std::string_view word(std::string_view what) {
    if (peek().kind == Token::Kind::word && !failure)
      return take().text;
    fail(formatMessage("expected {}, but got {}", what, described()));
    return {};
  }
  int64_t integer(int64_t least, int64_t most);

  void fail(std::string message) { failAt(place(), std::move(message)); }
  void failAt(Place at, std::string message) {
    if (!failure)
      failure = {at, std::move(message)};
  }
  /// "'text'", or "the end of the line"
  std::string described() const {
    return atEnd() ? "the end of the line" : formatMessage("'{}'", peek().text);
  }

  struct Failure {
    Place place;
    std::string message;
  };
  std::optional<Failure> failure;

private:
  std::vector<Token> tokens;
  unsigned number;
  size_t position = 0;
};

} // namespace tlc::wrap
