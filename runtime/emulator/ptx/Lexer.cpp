// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/ptx/Lexer.h"

#include "runtime/support/Excerpt.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <fmt/format.h>

namespace tlc::emulator {

namespace {

bool isWordStart(char c) { return std::isalpha(uint8_t(c)) || c == '_' || c == '$' || c == '%' || c == '.'; }
bool isWordPart(char c) { return std::isalnum(uint8_t(c)) || c == '_' || c == '$' || c == '.' || c == '%'; }

/// Operators of constant expressions that have two characters.
constexpr std::string_view longOperators[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}

  Result<std::vector<Token>> run() {
    // About five characters to a token.
    tokens.reserve(text.size() / 5);
    while (true) {
      if (!skipBlank())
        return failure("unterminated comment");
      if (position == text.size())
        break;
      if (auto done = next(); !done)
        return done.error();
    }
    tokens.push_back({Token::Kind::end, "", line});
    return std::move(tokens);
  }

private:
  char at(size_t i) const { return i < text.size() ? text[i] : '\0'; }
  Error failure(std::string what) const {
    return Error{ErrorKind::invalidArgument, fmt::format("PTX line {}: {}", line, what)};
  }

  bool skipBlank() {
    while (position < text.size()) {
      const char c = text[position];
      if (c == '\n') {
        ++line, ++position;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\0') {
        ++position;
      } else if (c == '/' && at(position + 1) == '/') {
        while (position < text.size() && text[position] != '\n')
          ++position;
      } else if (c == '/' && at(position + 1) == '*') {
        const size_t close = text.find("*/", position + 2);
        if (close == std::string_view::npos)
          return false;
        for (; position < close + 2; ++position)
          line += text[position] == '\n';
      } else {
        break;
      }
    }
    return true;
  }

  Result<void> next() {
    const size_t start = position;
    const char c = text[position];
    if (std::isdigit(uint8_t(c)))
      return number();
    if (c == '"') {
      const size_t close = text.find('"', start + 1);
      if (close == std::string_view::npos)
        return failure("unterminated string");
      tokens.push_back({Token::Kind::string, text.substr(start + 1, close - start - 1), line});
      position = close + 1;
      return {};
    }
    if (isWordStart(c)) {
      // `::` belongs to words such as shared::cluster, a single colon does not.
      // Directives may follow each other without blanks: `.reg.b16`.
      while ((isWordPart(at(position)) && (c != '.' || at(position) != '.' || position == start)) ||
             (at(position) == ':' && at(position + 1) == ':'))
        position += at(position) == ':' ? 2 : 1;
      tokens.push_back({Token::Kind::word, text.substr(start, position - start), line});
      return {};
    }
    if (std::ispunct(uint8_t(c))) {
      const std::string_view two = text.substr(start, 2);
      const bool isOperator =
          std::find(std::begin(longOperators), std::end(longOperators), two) != std::end(longOperators);
      position += isOperator ? 2 : 1;
      tokens.push_back({Token::Kind::symbol, text.substr(start, position - start), line});
      return {};
    }
    return failure(fmt::format("unexpected character with code {}", unsigned(uint8_t(c))));
  }

  Result<void> number() {
    const size_t start = position;
    if (at(start) == '0' && (std::tolower(at(start + 1)) == 'f' || std::tolower(at(start + 1)) == 'd')) {
      const size_t digits = std::tolower(at(start + 1)) == 'f' ? 8 : 16;
      uint64_t bits = 0;
      const char *begin = text.data() + start + 2,
                 *end = text.data() + std::min(text.size(), start + 2 + digits);
      auto [rest, error] = std::from_chars(begin, end, bits, 16);
      if (error != std::errc() || rest != begin + digits)
        return failure(fmt::format("a floating-point constant in bits needs {} hexadecimal digits", digits));
      position = start + 2 + digits;
      const double value = digits == 8 ? std::bit_cast<float>(uint32_t(bits)) : std::bit_cast<double>(bits);
      tokens.push_back({Token::Kind::floatBits, text.substr(start, position - start), line, bits, value});
      tokens.back().isSingle = digits == 8;
      return {};
    }
    int base = 10;
    size_t digits = start;
    if (at(start) == '0' && std::tolower(at(start + 1)) == 'x')
      base = 16, digits = start + 2;
    else if (at(start) == '0' && std::tolower(at(start + 1)) == 'b')
      base = 2, digits = start + 2;
    else if (at(start) == '0' && std::isdigit(uint8_t(at(start + 1))))
      base = 8, digits = start + 1;
    uint64_t bits = 0;
    const char *end = text.data() + text.size();
    auto [rest, error] = std::from_chars(text.data() + digits, end, bits, base);
    if (base == 10 && rest != end && (*rest == '.' || *rest == 'e' || *rest == 'E')) {
      double value = 0;
      auto [afterReal, realError] = std::from_chars(text.data() + start, end, value);
      if (realError != std::errc())
        return failure("malformed floating-point constant");
      position = afterReal - text.data();
      tokens.push_back({Token::Kind::real, text.substr(start, position - start), line, 0, value});
      return {};
    }
    if (error != std::errc())
      return failure("malformed or too large integer constant");
    position = rest - text.data();
    const std::string_view spelled = text.substr(start, position - start);
    const bool isUnsigned = at(position) == 'U';
    position += isUnsigned;
    if (isWordPart(at(position)) && at(position) != '.')
      return failure(formatMessage("malformed integer constant '{}{}'", spelled, at(position)));
    tokens.push_back({Token::Kind::integer, spelled, line, bits});
    tokens.back().isUnsigned = isUnsigned;
    return {};
  }

  std::string_view text;
  size_t position = 0;
  unsigned line = 1;
  std::vector<Token> tokens;
};

} // namespace

Result<std::vector<Token>> tokenize(std::string_view text) { return Lexer(text).run(); }

} // namespace tlc::emulator
