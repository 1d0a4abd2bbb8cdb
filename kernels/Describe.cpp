// SPDX-License-Identifier: Apache-2.0
/// \file
/// Values of options as text and back.
#include "kernels/Describe.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <fmt/format.h>

namespace tlc::kernels {

std::string textOf(const Parameter &, int64_t value) { return std::to_string(value); }
std::string textOf(const Parameter &, double value) { return fmt::format("{}", value); }
std::string textOf(const Parameter &, ElementType value) { return std::string(toString(value)); }

namespace {
template <class T> void assignNumber(std::string_view text, T &value) {
  if (text != "auto")
    std::from_chars(text.data(), text.data() + text.size(), value);
}
} // namespace

void assign(const Parameter &, std::string_view text, int64_t &value) { assignNumber(text, value); }
void assign(const Parameter &, std::string_view text, double &value) { assignNumber(text, value); }
void assign(const Parameter &, std::string_view text, ElementType &value) { value = *parseElementType(text); }

size_t choiceNumber(const Parameter &parameter, std::string_view text) {
  auto found = std::ranges::find(parameter.choices, text);
  assert(found != parameter.choices.end() && "not a choice");
  return size_t(found - parameter.choices.begin());
}

Parameter &parameterNamed(std::vector<Parameter> &parameters, std::string_view name) {
  auto found = std::ranges::find(parameters, name, &Parameter::name);
  assert(found != parameters.end() && "no such parameter");
  return *found;
}

std::vector<Parameter> without(std::vector<Parameter> parameters, std::string_view name) {
  std::erase_if(parameters, [&](const Parameter &parameter) { return parameter.name == name; });
  return parameters;
}

} // namespace tlc::kernels
