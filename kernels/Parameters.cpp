// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks of parameters given as text.
#include "kernels/Parameters.h"

#include "runtime/support/Excerpt.h"
#include "runtime/support/NearestName.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace tlc::kernels {

namespace {
constexpr std::string_view automatic = "auto", none = "none";

template <class T> std::optional<T> parseAs(std::string_view text) {
  T value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<std::vector<int64_t>> toList(std::string_view text) {
  std::vector<int64_t> list;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    std::optional<int64_t> value = parseAs<int64_t>(text.substr(begin, end - begin));
    if (!value)
      return std::nullopt;
    list.push_back(*value);
    begin = end + 1;
  }
  return list;
}

/// Limits of floats that the author does not give.
constexpr int64_t unlimitedLeast = std::numeric_limits<int64_t>::min(),
                  unlimitedMost = std::numeric_limits<int64_t>::max();

/// True if the author limits it more than its type does.
bool isLimited(const Parameter &scalar) {
  return scalar.least != unlimitedLeast || scalar.most != unlimitedMost;
}

/// Whether the type of the scalar has the number, which floats round to.
bool isInType(const Parameter &scalar, double number) {
  return !std::isfinite(number) || std::abs(number) <= factsOf(scalar.element).format.largest();
}

bool isAllowedScalar(const Parameter &scalar, std::string_view text) {
  if (isFloat(scalar.element)) {
    std::optional<double> value = parseAs<double>(text);
    return value && std::isfinite(*value) && isInType(scalar, *value) &&
           (scalar.least == unlimitedLeast || *value >= double(scalar.least)) &&
           (scalar.most == unlimitedMost || *value <= double(scalar.most));
  }
  std::optional<int64_t> value = parseAs<int64_t>(text);
  return value && *value >= scalar.least && *value <= scalar.most && *value % scalar.multipleOf == 0;
}

bool isAllowed(const Parameter &parameter, std::string_view text) {
  using Kind = Parameter::Kind;
  if (parameter.kind == Kind::scalar)
    return isAllowedScalar(parameter, text);
  if (parameter.kind == Kind::choice)
    return std::ranges::find(parameter.choices, text) != parameter.choices.end();
  if ((parameter.kind == Kind::integer || parameter.kind == Kind::number) && text == automatic)
    return parameter.mayBeAuto;
  if (parameter.kind == Kind::number) {
    std::optional<double> value = parseAs<double>(text);
    return value && *value >= double(parameter.least) && *value <= double(parameter.most);
  }
  if (parameter.kind == Kind::list) {
    std::optional<std::vector<int64_t>> list = toList(text);
    auto isInRange = [&](int64_t value) { return value >= parameter.least && value <= parameter.most; };
    return text == none || (list && std::ranges::all_of(*list, isInRange));
  }
  std::optional<int64_t> value = parseAs<int64_t>(text);
  return value && *value >= parameter.least && *value <= parameter.most && *value % parameter.multipleOf == 0;
}
/// True if the scalar's type, of integers, has no such number.
bool isBeyondInteger(const Parameter &scalar, int64_t value) {
  const int64_t most = isInteger(scalar.element) ? int64_t(~uint64_t(0) >> (65 - bitsOf(scalar.element)))
                                                 : std::numeric_limits<int64_t>::max();
  return value > most || value < -most - 1;
}

/// What to do about a text that is no value of the scalar.
std::string remedyOf(const Parameter &scalar, std::string_view text) {
  std::optional<double> number = parseAs<double>(text);
  if (number && isFloat(scalar.element) && !isInType(scalar, *number))
    return fmt::format("its largest number is {:g}", factsOf(scalar.element).format.largest());
  if (std::optional<int64_t> value = parseAs<int64_t>(text); value && isBeyondInteger(scalar, *value))
    return fmt::format("declare it as .scalar(\"{}\", i64) in the file and the program if it needs more",
                       scalar.name);
  return fmt::format("give one with -D {}={}", scalar.name, isFloat(scalar.element) ? "NUMBER" : "INTEGER");
}
} // namespace

std::string Parameter::place() const { return position.empty() ? "" : position + ": "; }

std::string Parameter::allowed() const {
  if (kind == Kind::choice)
    return fmt::format("{}", fmt::join(choices, " | "));
  std::string text = fmt::format("{} to {}", least, most);
  if (kind == Kind::scalar && isFloat(element))
    return fmt::format("a number of {}{}", toString(element), isLimited(*this) ? " from " + text : "");
  if (multipleOf != 1)
    text += fmt::format(" in steps of {}", multipleOf);
  if (kind == Kind::list)
    return "integers from " + text + " with commas between them, or none";
  if (kind == Kind::scalar)
    text = fmt::format("an integer of {} from {}", toString(element), text);
  if (kind == Kind::number)
    text = "a number from " + text;
  return mayBeAuto && (kind == Kind::integer || kind == Kind::number) ? text + ", or auto" : text;
}

Result<void> Parameter::check(std::string_view kernel, std::string_view text) const {
  if (isAllowed(*this, text))
    return {};
  if (isScalar())
    return Error{.message =
                     fmt::format("{}expected scalar '{}' of kernel '{}' to be {}, but got '{}'; {}", place(),
                                 name, kernel, allowed(), excerpt(text), remedyOf(*this, text))};
  return Error{.message = fmt::format("expected parameter '{}' of kernel '{}' to be {}, but got '{}'", name,
                                      kernel, allowed(), excerpt(text))};
}

Result<Parameters> Parameters::parse(std::string_view kernel, std::span<const Parameter> parameters,
                                     const Definitions &given, const Definitions &defaults) {
  for (const auto &[name, value] : given) {
    if (std::ranges::find(parameters, name, &Parameter::name) != parameters.end())
      continue;
    std::vector<std::string> names;
    for (const Parameter &parameter : parameters)
      names.push_back(parameter.name);
    return Error{.message = fmt::format("expected a parameter of kernel '{}' ({}), but got '{}'{}", kernel,
                                        fmt::join(names, ", "), excerpt(name), nearestText(name, names))};
  }
  Parameters result;
  for (const Parameter &parameter : parameters) {
    auto found = given.find(parameter.name), other = defaults.find(parameter.name);
    const std::string &fallback = other == defaults.end() ? parameter.fallback : other->second;
    const std::string &text = found == given.end() ? fallback : found->second;
    if (text != fallback)
      result.changed.insert(parameter.name);
    if (parameter.isScalar())
      result.ofLaunch.insert(parameter.name);
    const bool isMissing = parameter.isScalar() && found == given.end() && text.empty();
    if (Result<void> valid = isMissing ? Result<void>() : parameter.check(kernel, text); !valid)
      return valid.error();
    result.texts.emplace_back(parameter.name, text);
  }
  return result;
}

Result<void> Parameters::checkScalars(std::string_view kernel, std::span<const Parameter> parameters) const {
  for (const Parameter &parameter : parameters)
    if (parameter.isScalar() && text(parameter.name).empty())
      return Error{.message =
                       fmt::format("{0}expected a value of scalar '{1}' of kernel '{2}' because it has no "
                                   "default, but got none; give one with -D {1}=NUMBER",
                                   parameter.place(), parameter.name, kernel)};
  return {};
}

std::vector<std::pair<std::string, std::string>> Parameters::programValues() const {
  std::vector<std::pair<std::string, std::string>> values;
  for (const auto &entry : texts)
    if (!ofLaunch.contains(entry.first))
      values.push_back(entry);
  return values;
}

std::optional<std::string_view> Parameters::find(std::string_view name) const {
  auto found =
      std::ranges::find(texts, name, [](const auto &entry) -> std::string_view { return entry.first; });
  return found == texts.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

std::string_view Parameters::text(std::string_view name) const {
  std::optional<std::string_view> found = find(name);
  assert(found && "no such parameter");
  return *found;
}

int64_t Parameters::size(std::string_view name) const { return *parseAs<int64_t>(text(name)); }
int64_t Parameters::constant(std::string_view name) const { return *parseAs<int64_t>(text(name)); }
std::optional<int64_t> Parameters::integer(std::string_view name) const {
  return parseAs<int64_t>(text(name));
}
std::optional<std::vector<int64_t>> Parameters::list(std::string_view name) const {
  return toList(text(name));
}
std::optional<double> Parameters::number(std::string_view name) const { return parseAs<double>(text(name)); }
std::string_view Parameters::choice(std::string_view name) const { return text(name); }
ElementType Parameters::element(std::string_view name) const { return *parseElementType(text(name)); }

} // namespace tlc::kernels
