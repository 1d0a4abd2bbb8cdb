// SPDX-License-Identifier: Apache-2.0
/// \file
/// The list's text.
#include "tools/mutate/Equivalents.h"

#include "runtime/support/Excerpt.h"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

using namespace tlc;
using namespace tlc::mutate;

namespace {

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos
             ? std::string()
             : std::string(text.substr(first, text.find_last_not_of(' ') + 1 - first));
}

/// The parts between separators, without the space around them.
std::vector<std::string> split(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  for (size_t at = text.find(separator); at != std::string_view::npos; at = text.find(separator)) {
    parts.push_back(trimmed(text.substr(0, at)));
    text.remove_prefix(at + separator.size());
  }
  parts.push_back(trimmed(text));
  return parts;
}

} // namespace

std::string Origin::text() const {
  std::string text = kernel;
  for (const std::string &word : words)
    text += " " + word;
  return text;
}

bool Equivalent::isOf(const Origin &origin) const {
  const auto holds = [&](std::string_view word) {
    const bool wanted = !word.starts_with('!');
    return (std::ranges::find(origin.words, word.substr(wanted ? 0 : 1)) != origin.words.end()) == wanted;
  };
  const bool isOfKernel = of.kernel.ends_with('*')
                              ? origin.kernel.starts_with(of.kernel.substr(0, of.kernel.size() - 1))
                              : of.kernel == origin.kernel;
  return isOfKernel && std::ranges::all_of(of.words, holds);
}

bool Equivalent::covers(const Origin &origin, const Mutant &mutant) const {
  return isOf(origin) && (place == mutant.where() || place == mutant.everywhere()) &&
         std::ranges::find(changes, toString(mutant.change)) != changes.end();
}

Result<std::vector<Equivalent>> mutate::parseEquivalents(std::string_view text) {
  std::vector<Equivalent> list;
  std::istringstream lines{std::string(text)};
  unsigned number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line.starts_with('#'))
      continue;
    const std::vector<std::string> fields = split(line, " | ");
    if (fields.size() != 4 || std::ranges::find(fields, "") != fields.end())
      return Error{ErrorKind::invalidArgument,
                   fmt::format("line {}: expected 'kernel words | place | changes | reason', but got '{}'",
                               number, excerpt(line))};
    Equivalent next;
    std::vector<std::string> words = split(fields[0], " ");
    std::erase(words, "");
    next.of = {words[0], {words.begin() + 1, words.end()}};
    next.place = fields[1];
    next.changes = split(fields[2], ",");
    next.reason = fields[3];
    next.line = number;
    list.push_back(std::move(next));
  }
  return list;
}
