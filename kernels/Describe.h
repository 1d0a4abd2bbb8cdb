// SPDX-License-Identifier: Apache-2.0
/// \file
/// One description of a configuration, from which parameters, help, validation and cache keys follow.
///
///     template <class Visitor> void describe(Visitor &visit, Of<Visitor, MyConfig> &config) {
///       auto &[columns, causal, tile, order] = config; // all members, so that a new one cannot be forgotten
///       visit.option([&]() -> Parameter { return {.name = "columns", ..., .most = 256}; }, columns);
///       visit.option([&]() -> Parameter { return {..., .choices = {"none", "left"}}; }, causal);
///       visit.open([] { return describedInteger("tile", ...); }, {32, 64, 128}, tile);
///       visit.hidden(order); // no parameter; for keys
///     }
#pragma once

#include "kernels/Parameters.h"

#include <bit>
#include <initializer_list>
#include <type_traits>

namespace tlc::kernels {

/// The configuration as a visitor gets it: only those that read change it.
template <class Visitor, class Config> using Of = std::conditional_t<Visitor::writes, Config, const Config>;

//===----------------------------------------------------------------------===//
// Values as text
//===----------------------------------------------------------------------===//

std::string textOf(const Parameter &parameter, int64_t value);
std::string textOf(const Parameter &parameter, double value);
std::string textOf(const Parameter &parameter, ElementType value);
template <class T>
  requires std::is_enum_v<T>
std::string textOf(const Parameter &parameter, T value) {
  return parameter.choices.at(size_t(value));
}
/// Without a value: `auto`.
template <class T> std::string textOf(const Parameter &parameter, const std::optional<T> &value) {
  return value ? textOf(parameter, *value) : "auto";
}

/// Sets the value; `auto` leaves it as it is. The text is one that the parameter allows.
void assign(const Parameter &parameter, std::string_view text, int64_t &value);
void assign(const Parameter &parameter, std::string_view text, double &value);
void assign(const Parameter &parameter, std::string_view text, ElementType &value);
size_t choiceNumber(const Parameter &parameter, std::string_view text);
template <class T>
  requires std::is_enum_v<T>
void assign(const Parameter &parameter, std::string_view text, T &value) {
  value = T(choiceNumber(parameter, text));
}
template <class T> void assign(const Parameter &parameter, std::string_view text, std::optional<T> &value) {
  value.reset();
  if (text != "auto")
    assign(parameter, text, value.emplace());
}

//===----------------------------------------------------------------------===//
// Parameters; a description adds their defaults
//===----------------------------------------------------------------------===//

inline Parameter describedChoice(std::string name, std::string description,
                                 std::vector<std::string> choices) {
  return {.name = std::move(name),
          .description = std::move(description),
          .kind = Parameter::Kind::choice,
          .choices = std::move(choices)};
}
inline Parameter describedInteger(std::string name, std::string description, int64_t least, int64_t most,
                                  int64_t multipleOf = 1) {
  return {.name = std::move(name),
          .description = std::move(description),
          .kind = Parameter::Kind::integer,
          .least = least,
          .most = most,
          .multipleOf = multipleOf};
}

//===----------------------------------------------------------------------===//
// Visitors
//===----------------------------------------------------------------------===//

// What a description says of a member:
//   option    it is a parameter; its default is the configuration's
//   open      it is a parameter that `auto` leaves to a heuristic, or to a tuner, which tries these values;
//   those
//             that the parameter does not allow are left out, and without any only the heuristic fills it
//   orElse    it is a parameter that `auto` makes equal to another value
//   switched  it has a value where a further parameter says so by its second choice
//   hidden    it is no parameter

// A parameter is given as a function: to write a key none is made.

/// What a tuner tries.
using Candidates = std::initializer_list<int64_t>;

/// Lists the parameters.
class ParameterLister {
public:
  static constexpr bool writes = false;
  template <class T> void option(const auto &parameter, const T &value) {
    Parameter made = parameter();
    add(made, textOf(made, value));
  }
  template <class T> void open(const auto &parameter, Candidates candidates, const T &) {
    Parameter made = parameter();
    for (int64_t candidate : candidates)
      if (std::string text = std::to_string(candidate); made.check("", text))
        made.candidates.push_back(std::move(text));
    add(std::move(made), "auto");
  }
  template <class T> void orElse(const auto &parameter, const T &, const T &) { add(parameter(), "auto"); }
  void switched(const auto &choice, const auto &number, const std::optional<int64_t> &, int64_t usual) {
    Parameter made = choice();
    add(made, made.choices.front());
    add(number(), std::to_string(usual));
  }
  template <class T> void hidden(const T &) {}

  std::vector<Parameter> list;

private:
  void add(Parameter parameter, std::string fallback) {
    parameter.fallback = std::move(fallback);
    list.push_back(std::move(parameter));
  }
};

/// Sets members to checked values; those that the values have not stay.
class ParameterReader {
public:
  static constexpr bool writes = true;
  explicit ParameterReader(const Parameters &values) : values(values) {}

  template <class T> void option(const auto &parameter, T &value) {
    Parameter made = parameter();
    if (std::optional<std::string_view> text = values.find(made.name))
      assign(made, *text, value);
  }
  template <class T> void open(const auto &parameter, Candidates, T &value) { option(parameter, value); }
  template <class T> void orElse(const auto &parameter, T &value, const T &otherwise) {
    if (values.find(parameter().name))
      value = otherwise;
    option(parameter, value);
  }
  void switched(const auto &choice, const auto &number, std::optional<int64_t> &value, int64_t) {
    Parameter made = choice();
    std::optional<std::string_view> text = values.find(made.name);
    if (!text)
      return;
    value.reset();
    if (*text == made.choices.at(1))
      option(number, value);
  }
  template <class T> void hidden(T &) {}

private:
  const Parameters &values;
};

/// Finds the first member with a value that its parameter does not allow: the answer is a parameter's.
class OptionChecker {
public:
  static constexpr bool writes = false;
  explicit OptionChecker(std::string_view kernel) : kernel(kernel) {}

  template <class T> void option(const auto &parameter, const T &value) {
    if (!valid)
      return;
    Parameter made = parameter();
    valid = made.check(kernel, textOf(made, value));
  }
  template <class T> void open(const auto &parameter, Candidates, const T &value) {
    option(parameter, value);
  }
  template <class T> void orElse(const auto &parameter, const T &value, const T &) {
    option(parameter, value);
  }
  void switched(const auto &, const auto &number, const std::optional<int64_t> &value, int64_t) {
    if (value)
      option(number, *value);
  }
  template <class T> void hidden(const T &) {}

  Result<void> valid = {};

private:
  std::string_view kernel;
};

/// The values of all members, hidden ones, too: equal numbers, equal configurations.
class ConfigNumbers {
public:
  static constexpr bool writes = false;
  template <class T> void option(const auto &, const T &value) { add(value); }
  template <class T> void open(const auto &, Candidates, const T &value) { add(value); }
  template <class T> void orElse(const auto &, const T &value, const T &) { add(value); }
  void switched(const auto &, const auto &, const std::optional<int64_t> &value, int64_t) { add(value); }
  template <class T> void hidden(const T &value) { add(value); }

  std::vector<int64_t> numbers;

private:
  template <class T> void add(const T &value) { numbers.push_back(int64_t(value)); }
  void add(double value) { numbers.push_back(std::bit_cast<int64_t>(value)); }
  template <class T> void add(const std::optional<T> &value) {
    numbers.push_back(value.has_value());
    add(value.value_or(T()));
  }
};

template <class Config> std::vector<Parameter> parametersOf(const Config &defaults = {}) {
  ParameterLister lister;
  describe(lister, defaults);
  return std::move(lister.list);
}
template <class Config> void read(const Parameters &values, Config &config) {
  ParameterReader reader(values);
  describe(reader, config);
}
/// Limits of single options; `kernel` is whose they are.
template <class Config> Result<void> checkOptions(std::string_view kernel, const Config &config) {
  OptionChecker checker(kernel);
  describe(checker, config);
  return checker.valid;
}
template <class Config> std::vector<int64_t> numbersOf(const Config &config) {
  ConfigNumbers writer;
  describe(writer, config);
  return std::move(writer.numbers);
}

/// The parameter of that name.
Parameter &parameterNamed(std::vector<Parameter> &parameters, std::string_view name);
/// Those without this one.
std::vector<Parameter> without(std::vector<Parameter> parameters, std::string_view name);

} // namespace tlc::kernels
