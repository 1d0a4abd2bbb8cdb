// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/report/SymbolName.h"

#include "runtime/support/FreeDeleter.h"

#include <cxxabi.h>
#include <memory>

namespace tlc::emulator {

namespace {

/// Longer names lose their template arguments.
constexpr size_t longestName = 60;

int depthChange(char c) { return c == '<' || c == '(' ? 1 : c == '>' || c == ')' ? -1 : 0; }

/// Without the text inside of angle brackets.
std::string withoutArguments(std::string_view name) {
  std::string result;
  int depth = 0;
  for (const char c : name) {
    if (c == '<' && depth++ == 0)
      result += "<...>";
    if (depth == 0)
      result += c;
    if (c == '>')
      --depth;
  }
  return result;
}

/// The names in front of the arguments, of symbols that the C++ library does not know how to read, as some of
/// nvcc's.
std::string namesOf(std::string_view symbol) {
  std::string result;
  size_t at = symbol.starts_with("_ZN") ? 3 : 2;
  const auto isDigit = [&] { return at < symbol.size() && symbol[at] >= '0' && symbol[at] <= '9'; };
  while (isDigit()) {
    size_t length = 0;
    while (isDigit() && length < symbol.size())
      length = 10 * length + size_t(symbol[at++] - '0');
    if (length > symbol.size() - at)
      return std::string(symbol);
    result += (result.empty() ? "" : "::") + std::string(symbol.substr(at, length));
    at += length;
  }
  if (result.empty())
    return std::string(symbol);
  return at < symbol.size() && symbol[at] == 'I' ? result + "<...>" : result;
}

} // namespace

std::string readableName(std::string_view symbol) {
  if (!symbol.starts_with("_Z"))
    return std::string(symbol);
  int status = 0;
  const std::unique_ptr<char, FreeDeleter> text(
      abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr, &status));
  if (status != 0)
    return namesOf(symbol);
  // The parameters are the last parentheses, the result of a template comes before the last blank outside of
  // brackets.
  std::string_view name = text.get();
  if (name.ends_with(')')) {
    int depth = 0;
    size_t at = name.size();
    do
      depth += depthChange(name[--at]);
    while (at > 0 && depth != 0);
    name = name.substr(0, at);
  }
  if (name.find("operator") == std::string_view::npos) {
    int depth = 0;
    for (size_t at = name.size(); at > 0; --at) {
      depth += depthChange(name[at - 1]);
      if (depth == 0 && name[at - 1] == ' ') {
        name = name.substr(at);
        break;
      }
    }
  }
  if (name.empty())
    return std::string(symbol);
  return name.size() > longestName ? withoutArguments(name) : std::string(name);
}

} // namespace tlc::emulator
