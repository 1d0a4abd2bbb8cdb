// SPDX-License-Identifier: Apache-2.0
#include "dialects/support/TextLimits.h"

#include <algorithm>
#include <charconv>

using namespace tlc;

namespace {

/// Of brackets of all kinds inside each other.
constexpr int mostBrackets = 256;
/// Of an affine expression: MLIR folds its terms one inside the other.
constexpr int mostTerms = 4096;
/// Of an operation.
constexpr unsigned mostResults = 1 << 16;

bool isOpening(char c) { return c == '(' || c == '[' || c == '{' || c == '<'; }
bool isClosing(char c) { return c == ')' || c == ']' || c == '}' || c == '>'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isName(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '.' ||
         c == '-';
}

bool isOperator(std::string_view text, size_t i) {
  for (std::string_view word : {"+", "-", "*", "mod ", "floordiv ", "ceildiv "})
    if (text.substr(i, word.size()) == word)
      return true;
  return false;
}

/// The end of the string that begins at `begin`. It ends with its line at the latest.
size_t endOfString(std::string_view text, size_t begin) {
  size_t end = begin + 1;
  while (end < text.size() && text[end] != '"' && text[end] != '\n')
    end += text[end] == '\\' ? 2 : 1;
  return end + 1;
}

/// The end of the value's name, `%name` or `%name#2`, that begins at `begin`.
size_t endOfValue(std::string_view text, size_t begin) {
  size_t end = begin + 1;
  while (end < text.size() && isName(text[end]))
    ++end;
  return end;
}

} // namespace

std::optional<TextProblem> tlc::findExcess(std::string_view text) {
  int depth = 0;
  int terms = 1; // of one expression: it has neither commas nor names of values
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '"') {
      i = endOfString(text, i);
    } else if (text.substr(i, 2) == "->" || text.substr(i, 2) == ">=" || text.substr(i, 2) == "<=") {
      i += 2; // no brackets
    } else if (c == '%') {
      terms = 1;
      const size_t number = endOfValue(text, i) + 1;
      size_t end = number;
      while (number <= text.size() && text[number - 1] == '#' && end < text.size() && isDigit(text[end]))
        ++end;
      unsigned result = 0;
      if (end > number &&
          (std::from_chars(text.data() + number, text.data() + end, result).ec != std::errc() ||
           result >= mostResults))
        return TextProblem{i, "expected the number of one of at most " + std::to_string(mostResults) +
                                  " results, but got a larger one"};
      i = number - 1;
    } else {
      if (isOpening(c) && ++depth > mostBrackets)
        return TextProblem{i, "expected brackets to be nested at most " + std::to_string(mostBrackets) +
                                  " deep, but here are more"};
      if (isClosing(c) && depth > 0)
        --depth;
      if (c == ',')
        terms = 1;
      if (isOperator(text, i) && ++terms > mostTerms)
        return TextProblem{i, "expected expressions of at most " + std::to_string(mostTerms) +
                                  " terms, but here are more"};
      ++i;
    }
  }
  return std::nullopt;
}
