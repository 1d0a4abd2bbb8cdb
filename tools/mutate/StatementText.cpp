// SPDX-License-Identifier: Apache-2.0
/// \file
/// Instructions as text.
#include "tools/mutate/StatementText.h"

#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace tlc;
using namespace tlc::mutate;

namespace {

constexpr std::string_view blanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(blanks);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

/// Where ".modifier" stands in the opcode, as a whole word.
size_t find(std::string_view opcode, std::string_view modifier) {
  for (size_t at = opcode.find('.'); at != std::string_view::npos; at = opcode.find('.', at + 1)) {
    const std::string_view rest = opcode.substr(at + 1);
    if (rest.starts_with(modifier) && (rest.size() == modifier.size() || rest[modifier.size()] == '.'))
      return at;
  }
  return std::string_view::npos;
}

} // namespace

StatementText StatementText::of(std::string_view ptx, const emulator::Statement &statement) {
  std::string_view rest = ptx.substr(statement.begin, statement.end - statement.begin - 1);
  StatementText text;
  if (rest.starts_with('@')) {
    const size_t end = rest.find_first_of(blanks, rest.find_first_not_of(blanks, 1));
    text.guard = std::string(rest.substr(0, end)) + " ";
    rest = trimmed(rest.substr(end));
  }
  const size_t end = std::min(rest.find_first_of(blanks), rest.size());
  text.opcode = rest.substr(0, end);
  rest = trimmed(rest.substr(end));
  int depth = 0;
  for (size_t i = 0, from = 0; i <= rest.size(); ++i) {
    if (i == rest.size() || (rest[i] == ',' && depth == 0)) {
      if (std::string_view operand = trimmed(rest.substr(from, i - from)); !operand.empty())
        text.operands.emplace_back(operand);
      from = i + 1;
      continue;
    }
    depth += rest[i] == '[' || rest[i] == '{' || rest[i] == '(';
    depth -= rest[i] == ']' || rest[i] == '}' || rest[i] == ')';
  }
  return text;
}

std::string StatementText::text() const {
  return fmt::format("{}{} {};", guard, opcode, fmt::join(operands, ", "));
}

bool StatementText::has(std::string_view modifier) const {
  return find(opcode, modifier) != std::string::npos;
}

void StatementText::replace(std::string_view modifier, std::string_view by) {
  if (const size_t at = find(opcode, modifier); at != std::string::npos)
    opcode.replace(at, modifier.size() + 1, by.empty() ? "" : "." + std::string(by));
}

void StatementText::insertAfter(std::string_view modifier, std::string_view other) {
  if (const size_t at = find(opcode, modifier); at != std::string::npos)
    opcode.insert(at + 1 + modifier.size(), "." + std::string(other));
}

std::string StatementText::withSum(size_t operand, int addend) const {
  const std::string &old = operands[operand];
  int64_t number = 0;
  if (std::from_chars(old.data(), old.data() + old.size(), number).ptr != old.data() + old.size())
    return withOperation("add.s32", operand, addend);
  StatementText changed = *this;
  changed.operands[operand] = std::to_string(number + addend);
  return changed.text();
}

std::string StatementText::withOperation(std::string_view operation, size_t operand, int value) const {
  constexpr std::string_view scratch = "%mutant";
  StatementText changed = *this;
  changed.operands[operand] = scratch;
  return fmt::format("{{ .reg .b32 {0}; {1} {0}, {2}, {3}; {4} }}", scratch, operation, operands[operand],
                     value, changed.text());
}

std::string StatementText::electAll() const {
  const size_t bar = operands[0].find('|');
  const std::string leader(trimmed(std::string_view(operands[0]).substr(0, bar)));
  const std::string elected(trimmed(std::string_view(operands[0]).substr(bar + 1)));
  return fmt::format("{}setp.eq.u32 {}, 0, 0;{}", guard, elected,
                     leader == "_" ? "" : fmt::format(" {}mov.b32 {}, 0;", guard, leader));
}
