// SPDX-License-Identifier: Apache-2.0
#include "dialects/support/TextLimits.h"

#include <algorithm>
#include <charconv>
#include <map>

using namespace tlc;

namespace {

/// Of brackets of all kinds inside each other, those of aliases included.
constexpr int64_t mostBrackets = 256;
/// Of names of aliases in the text of one, with those that they stand for: what prints it repeats them.
constexpr int64_t mostNames = 1 << 16;
/// Of an affine expression: MLIR folds its terms one inside the other.
constexpr int mostTerms = 4096;
/// Of an operation.
constexpr unsigned mostResults = 1 << 16;
/// The exact value of every f64 has fewer.
constexpr size_t mostDigits = 1200;
/// Bytes, of a resource.
constexpr uint32_t mostAlignment = 4096;

bool isOpening(char c) { return c == '(' || c == '[' || c == '{' || c == '<'; }
bool isClosing(char c) { return c == ')' || c == ']' || c == '}' || c == '>'; }
bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isWord(char c) { return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isName(char c) { return isWord(c) || c == '$' || c == '.' || c == '-'; }

/// Scans the text of a module once.
class Scanner {
public:
  explicit Scanner(std::string_view text) : text(text) {}

  std::optional<TextProblem> run() {
    while (at < text.size() && !problem)
      step();
    return problem;
  }

private:
  /// An attribute or type that has a name: how deep its brackets are, and how many names it stands for.
  struct Alias {
    int64_t depth = 0, names = 1;
  };

  bool starts(std::string_view token) const { return text.substr(at, token.size()) == token; }
  void fail(size_t offset, std::string message) { problem = TextProblem{offset, std::move(message)}; }

  void step() {
    const char c = text[at];
    if (isSpace(c)) {
      isNewLine |= c == '\n';
      ++at;
      return;
    }
    if (starts("//")) {
      at = std::min(text.find('\n', at), text.size());
      return;
    }
    if (depth == 0 && isNewLine && !continues && (isWord(c) || c == '"' || c == '%'))
      defined = nullptr; // an operation
    isNewLine = false;
    continues = c == '=' || c == ':' || c == ',' || starts("->");
    if (c == '"')
      skipString();
    else if (starts("->") || starts(">=") || starts("<="))
      at += 2; // no brackets
    else if (c == '%')
      skipValue();
    else if ((c == '#' || c == '!') && at + 1 < text.size() && isName(text[at + 1]))
      readName();
    else if (isWord(c))
      readWord();
    else
      readSign(c);
  }

  /// A string ends with its line at the latest.
  void skipString() {
    const size_t begin = at++;
    while (at < text.size() && text[at] != '"' && text[at] != '\n')
      at += text[at] == '\\' ? 2 : 1;
    at = std::min(at, text.size());
    if (isMetadata)
      checkResource(begin, text.substr(begin + 1, at - begin - 1));
    ++at;
  }

  /// The first four bytes of a resource are its alignment. MLIR allocates with any.
  void checkResource(size_t offset, std::string_view content) {
    if (content.size() < 10 || content.substr(0, 2) != "0x")
      return;
    uint32_t alignment = 0;
    for (size_t byte = 0; byte != 4; ++byte) {
      uint32_t value = 0;
      const char *digits = content.data() + 2 + 2 * byte;
      if (std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2)
        return; // no number
      alignment |= value << 8 * byte;
    }
    if (alignment == 0 || alignment > mostAlignment || (alignment & (alignment - 1)) != 0)
      fail(offset, "expected a resource to begin with its alignment, a power of two from 1 to " +
                       std::to_string(mostAlignment) + " in four bytes, but got " +
                       std::to_string(alignment));
  }

  /// `%name` or `%name#2`.
  void skipValue() {
    const size_t begin = at++;
    terms = 1;
    while (at < text.size() && isName(text[at]))
      ++at;
    if (at >= text.size() || text[at] != '#')
      return;
    const size_t number = ++at;
    while (at < text.size() && isDigit(text[at]))
      ++at;
    unsigned result = 0;
    if (at > number && (std::from_chars(text.data() + number, text.data() + at, result).ec != std::errc() ||
                        result >= mostResults))
      fail(begin, "expected the number of one of at most " + std::to_string(mostResults) +
                      " results, but got a larger one");
  }

  /// Of an alias, which begins to be defined or is in the place of its text, or of a dialect's attribute.
  void readName() {
    const size_t begin = at++;
    while (at < text.size() && isName(text[at]))
      ++at;
    const std::string_view name = text.substr(begin, at - begin);
    size_t next = at;
    while (next < text.size() && isSpace(text[next]))
      ++next;
    if (depth == 0 && next < text.size() && text[next] == '=') {
      defined = &aliases[name];
      return;
    }
    auto used = aliases.find(name);
    if (used == aliases.end() || &used->second == defined)
      return;
    const Alias &alias = used->second;
    if (depth + alias.depth > mostBrackets)
      return fail(begin, "expected brackets to be nested at most " + std::to_string(mostBrackets) +
                             " deep, but here are more with those of '" + std::string(name) + "'");
    if (!defined)
      return;
    defined->depth = std::max(defined->depth, depth + alias.depth);
    defined->names += alias.names;
    if (defined->names > mostNames)
      fail(begin, "expected an alias to stand for at most " + std::to_string(mostNames) +
                      " names of aliases, but here are more with those of '" + std::string(name) + "'");
  }

  void readWord() {
    const size_t begin = at;
    while (at < text.size() && (isWord(text[at]) || text[at] == '.'))
      ++at;
    const std::string_view word = text.substr(begin, at - begin);
    if (isDigit(word.front()) && word.size() > mostDigits)
      return fail(begin, "expected a number of at most " + std::to_string(mostDigits) +
                             " digits, but here are more");
    if (word == "mod" || word == "floordiv" || word == "ceildiv")
      countTerm(begin);
  }

  void readSign(char c) {
    const size_t begin = at++;
    if (isOpening(c) && ++depth > mostBrackets)
      return fail(begin, "expected brackets to be nested at most " + std::to_string(mostBrackets) +
                             " deep, but here are more");
    if (c == '{' && text.substr(at, 2) == "-#")
      isMetadata = true;
    if (defined)
      defined->depth = std::max(defined->depth, depth);
    if (isClosing(c) && depth > 0)
      --depth;
    if (c == ',')
      terms = 1;
    if (c == '+' || c == '-' || c == '*')
      countTerm(begin);
  }

  void countTerm(size_t offset) {
    if (++terms > mostTerms)
      fail(offset,
           "expected expressions of at most " + std::to_string(mostTerms) + " terms, but here are more");
  }

  std::string_view text;
  size_t at = 0;
  std::optional<TextProblem> problem;
  int64_t depth = 0;
  int terms = 1; ///< of one expression: it has neither commas nor names of values
  std::map<std::string_view, Alias> aliases;
  Alias *defined = nullptr;                 ///< whose text this is
  bool isNewLine = true, continues = false; ///< the text of an alias ends with a line, if it is complete
  bool isMetadata = false;                  ///< after `{-#`, which is at the end
};

} // namespace

std::optional<TextProblem> tlc::findExcess(std::string_view text) { return Scanner(text).run(); }
