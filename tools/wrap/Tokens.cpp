// SPDX-License-Identifier: Apache-2.0
#include "tools/wrap/Tokens.h"

#include <charconv>

using namespace tlc;
using namespace tlc::wrap;

static bool isDigit(char letter) { return letter >= '0' && letter <= '9'; }
static bool isLetter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_' ||
         letter == '$';
}

std::vector<Token> wrap::tokensOf(std::string_view line) {
  std::vector<Token> tokens;
  size_t at = 0;
  while (at != line.size() && line[at] != '#') {
    const char letter = line[at];
    if (letter == ' ' || letter == '\t' || letter == '\r') {
      ++at;
      continue;
    }
    size_t end = at + 1;
    Token::Kind kind = Token::Kind::sign;
    if (isLetter(letter) || isDigit(letter)) {
      kind = isDigit(letter) ? Token::Kind::number : Token::Kind::word;
      while (end != line.size() && (isLetter(line[end]) || isDigit(line[end])))
        ++end;
    }
    tokens.push_back({kind, line.substr(at, end - at), unsigned(at + 1)});
    at = end;
  }
  tokens.push_back({Token::Kind::end, {}, unsigned(at + 1)});
  return tokens;
}

int64_t Line::integer(int64_t least, int64_t most) {
  const std::string_view text = peek().text;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (peek().kind != Token::Kind::number || error != std::errc() || end != text.data() + text.size() ||
      value < least || value > most) {
    fail(formatMessage("expected a number from {} to {}, but got {}", least, most, described()));
    return least;
  }
  take();
  return value;
}
