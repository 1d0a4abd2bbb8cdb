// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks of parameters given as text.
#include "kernels/Parameters.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <fmt/format.h>

namespace tlc::kernels {

namespace {
constexpr std::string_view automatic = "auto";

std::optional<int64_t> toInteger(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

bool isAllowed(const Parameter &parameter, std::string_view text) {
  if (parameter.kind == Parameter::Kind::choice)
    return std::ranges::find(parameter.choices, text) != parameter.choices.end();
  if (parameter.kind == Parameter::Kind::integer && text == automatic)
    return true;
  std::optional<int64_t> value = toInteger(text);
  return value && *value >= parameter.least && *value <= parameter.most && *value % parameter.multipleOf == 0;
}
} // namespace

std::string Parameter::allowed() const {
  if (kind == Kind::choice)
    return fmt::format("{}", fmt::join(choices, " | "));
  std::string text = fmt::format("{} to {}", least, most);
  if (multipleOf != 1)
    text += fmt::format(" in steps of {}", multipleOf);
  return kind == Kind::integer ? text + ", or auto" : text;
}

Result<Parameters> Parameters::parse(std::string_view kernel, std::span<const Parameter> parameters,
                                     const Definitions &given) {
  for (const auto &[name, value] : given) {
    if (std::ranges::find(parameters, name, &Parameter::name) != parameters.end())
      continue;
    std::vector<std::string> names;
    for (const Parameter &parameter : parameters)
      names.push_back(parameter.name);
    return Error{.message = fmt::format("expected a parameter of kernel '{}' ({}), but got '{}'", kernel,
                                        fmt::join(names, ", "), name)};
  }
  Parameters result;
  for (const Parameter &parameter : parameters) {
    auto found = given.find(parameter.name);
    const std::string &text = found == given.end() ? parameter.fallback : found->second;
    if (!isAllowed(parameter, text))
      return Error{.message = fmt::format("expected parameter '{}' of kernel '{}' to be {}, but got '{}'",
                                          parameter.name, kernel, parameter.allowed(), text)};
    result.texts.emplace_back(parameter.name, text);
  }
  return result;
}

std::string_view Parameters::text(std::string_view name) const {
  auto found =
      std::ranges::find(texts, name, [](const auto &entry) -> std::string_view { return entry.first; });
  assert(found != texts.end() && "no such parameter");
  return found->second;
}

int64_t Parameters::size(std::string_view name) const { return *toInteger(text(name)); }
std::optional<int64_t> Parameters::integer(std::string_view name) const { return toInteger(text(name)); }
std::string_view Parameters::choice(std::string_view name) const { return text(name); }
ElementType Parameters::element(std::string_view name) const { return *parseElementType(text(name)); }

} // namespace tlc::kernels
