// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks entries and calls their functions.
#define TLC_READS_KERNEL_FILES
#include "kernels/file/Entries.h"

#include "kernels/file/Pack.h"
#include "kernels/file/Transport.h"
#include "kernels/file/kernel.h"
#include "runtime/support/Excerpt.h"
#include "runtime/support/NearestName.h"
#include "runtime/support/Printable.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

using namespace tlc;
using namespace tlc::kernels;

namespace {

Error wrong(std::string message) { return {ErrorKind::execution, std::move(message)}; }

std::string textOf(dsl::Loc place) {
  return fmt::format("{}:{}:{}", place.file_name(), place.line(), place.column());
}

/// What a function of the file has thrown, with the line if it is known.
std::string textOf(std::string_view what, const Thrown &thrown) {
  constexpr size_t most = 2000; // characters
  return fmt::format("{} has thrown: {}{}", what, printable(thrown.message, most),
                     thrown.where ? fmt::format(" ({})", textOf(*thrown.where)) : "");
}

constexpr int64_t maxExtent = std::numeric_limits<int32_t>::max(); ///< of a tensor

/// An error in the description of a kernel, and its line.
struct Mistake {
  dsl::Loc where;
  std::string message;
};

/// For messages that begin with a position.
Parameter withoutPosition(Parameter parameter) {
  parameter.position.clear();
  return parameter;
}

/// The first one, if any.
std::optional<Mistake> mistakeOf(const KernelEntry &kernel) {
  const auto at = [&](const char *call, const std::string &name, std::string message) {
    auto found = kernel.places.find({call, name});
    return Mistake{found == kernel.places.end() ? kernel.where : found->second, std::move(message)};
  };
  if (kernel.name.empty())
    return Mistake{kernel.where, "expected a name for each kernel, but got none"};
  if (!kernel.body)
    return Mistake{kernel.where,
                   fmt::format("expected kernel '{}' to have a program because nothing else says what it "
                               "does, but got none; call .program(...)",
                               kernel.name)};
  std::set<std::string> names;
  for (const Parameter &each : kernel.parameters) {
    const Parameter parameter = withoutPosition(each);
    if (parameter.name.empty() || !names.insert(parameter.name).second)
      return at(
          "parameter", parameter.name,
          fmt::format("expected each parameter of kernel '{}' to have a name of its own, but got '{}'{}",
                      kernel.name, parameter.name, parameter.name.empty() ? "" : " twice"));
    if (parameter.name == "ranks" && !kernel.hasRanks)
      return at(
          "parameter", parameter.name,
          fmt::format("expected parameter 'ranks' of kernel '{}' to be that of .ranks() because it says "
                      "how many devices run the program, but it is declared otherwise",
                      kernel.name));
    if (parameter.kind == Parameter::Kind::choice && parameter.choices.empty())
      return at("parameter", parameter.name,
                fmt::format("expected parameter '{}' of kernel '{}' to have a value to choose, but got none",
                            parameter.name, kernel.name));
    if (std::set<std::string> different(parameter.candidates.begin(), parameter.candidates.end());
        different.size() != parameter.candidates.size())
      return at("parameter", parameter.name,
                fmt::format("expected each value of parameter '{}' of kernel '{}' once because a tuner tries "
                            "them all, but got {}",
                            parameter.name, kernel.name, fmt::join(parameter.candidates, ", ")));
    if (std::ranges::find(parameter.candidates, "auto") != parameter.candidates.end())
      return at("parameter", parameter.name,
                fmt::format("expected another value of parameter '{}' of kernel '{}' than auto because "
                            "-D {}=auto leaves the choice to tuning",
                            parameter.name, kernel.name, parameter.name));
    if (parameter.multipleOf < 1 || parameter.least > parameter.most)
      return at("parameter", parameter.name,
                fmt::format("expected limits of parameter '{}' of kernel '{}' that a number meets, but got "
                            "{} to {} in steps of {}",
                            parameter.name, kernel.name, parameter.least, parameter.most,
                            parameter.multipleOf));
    if (parameter.kind == Parameter::Kind::size && (parameter.least < 0 || parameter.most > maxExtent))
      return at(
          "parameter", parameter.name,
          fmt::format("expected limits of size '{}' of kernel '{}' from 0 to {} because it is an extent, "
                      "but got {} to {}",
                      parameter.name, kernel.name, maxExtent, parameter.least, parameter.most));
    if (parameter.isScalar() && !isComputed(parameter.element))
      return at("parameter", parameter.name,
                fmt::format(
                    "expected scalar '{}' of kernel '{}' to be a number that the machine computes with, but "
                    "got {}; pass it as {}",
                    parameter.name, kernel.name, toString(parameter.element),
                    toString(computedType(parameter.element))));
    if (parameter.isScalar() && parameter.fallback.empty())
      continue;
    if (Result<void> valid = parameter.check(kernel.name, parameter.fallback); !valid)
      return at("parameter", parameter.name, valid.error().message);
  }
  std::vector<Definitions> given = kernel.suite;
  given.push_back(kernel.emulatorSizes);
  for (size_t number = 0; number != given.size(); ++number)
    for (const auto &[name, value] : given[number]) {
      const auto inSuite = [&](std::string message) {
        return at("bench", std::to_string(number), std::move(message));
      };
      auto parameter = std::ranges::find(kernel.parameters, name, &Parameter::name);
      if (parameter == kernel.parameters.end())
        return inSuite(
            fmt::format("expected .bench of kernel '{}' to set parameters of it ({}), but got '{}'{}",
                        kernel.name, fmt::join(names, ", "), excerpt(name), nearestText(name, names)));
      if (Result<void> valid = withoutPosition(*parameter).check(kernel.name, value); !valid)
        return inSuite(valid.error().message);
    }
  for (const auto &[tensor, range] : kernel.ranges)
    if (!std::isfinite(range.first) || !std::isfinite(range.second) || range.first >= range.second)
      return at("random", tensor,
                fmt::format("expected a range of random numbers for '{}' of kernel '{}' that ends above its "
                            "beginning, but got [{}, {})",
                            tensor, kernel.name, range.first, range.second));
  for (const auto &[tensor, tolerance] : kernel.tolerances)
    if (!(tolerance.limit >= 0) || !(tolerance.floor >= 0))
      return at(
          "tolerance", tensor,
          fmt::format("expected a tolerance for '{}' of kernel '{}' of numbers from 0 on, but got limit "
                      "{} and floor {}",
                      tensor, kernel.name, tolerance.limit, tolerance.floor));
  return std::nullopt;
}

template <class Function> std::set<std::string> namesOf(const std::map<std::string, Function> &functions) {
  std::set<std::string> names;
  for (const auto &[name, function] : functions)
    names.insert(name);
  return names;
}

} // namespace

Result<void> kernels::guarded(Guard guard, std::string_view what, const std::function<void()> &body) {
  Thrown thrown;
  if (guard(body, thrown))
    return {};
  return wrong(textOf(what, thrown));
}

Result<std::vector<KernelDescription>> kernels::describeEntries(const KernelFile &file,
                                                                std::string_view source) {
  if (file.entries.empty())
    return wrong(fmt::format("{}: expected registerKernels to register a kernel, but it registers none; call "
                             "file.kernel(...)",
                             source));
  std::map<std::string, dsl::Loc> places;
  std::vector<KernelDescription> descriptions;
  for (const std::unique_ptr<KernelEntry> &kernel : file.entries) {
    std::optional<Mistake> mistake = mistakeOf(*kernel);
    auto [other, isNew] = places.try_emplace(kernel->name, kernel->where);
    if (!mistake && !isNew)
      mistake = {kernel->where,
                 fmt::format("expected each kernel to have a name of its own, but '{}' is registered twice, "
                             "first at {}",
                             kernel->name, textOf(other->second))};
    if (mistake)
      return wrong(fmt::format("{}: {}", textOf(mistake->where), mistake->message));
    std::map<std::pair<std::string, std::string>, std::string> positions;
    for (const auto &[call, where] : kernel->places)
      positions[call] = textOf(where);
    descriptions.push_back({kernel->name, kernel->summary, textOf(kernel->where), kernel->parameters,
                            kernel->emulatorSizes, kernel->suite, kernel->ranges, namesOf(kernel->inputs),
                            namesOf(kernel->outputs), kernel->tolerances, kernel->tables, kernel->hasRanks,
                            std::move(positions)});
  }
  return descriptions;
}

Result<std::string> kernels::traceEntry(KernelEntry &kernel, Guard guard, const ParameterTexts &texts,
                                        const dsl::TraceOptions &options) {
  std::vector<std::string> scalars;
  for (const Parameter &parameter : kernel.parameters)
    if (parameter.isScalar())
      scalars.push_back(parameter.name);
  const Values values(texts, std::move(scalars));
  double operations = 0;
  std::string program;
  std::map<std::string, MemberExtents> extents;
  std::optional<dsl::Diagnostic> mistake;
  const auto call = [&](const std::string &what, const std::function<void()> &body) {
    Thrown thrown;
    if (mistake || guard(body, thrown))
      return;
    const dsl::Loc where = thrown.where.value_or(kernel.where);
    mistake = {
        {where.file_name(), where.line(), where.column()},
        fmt::format("kernel '{}': {}", kernel.name, thrown.where ? thrown.message : textOf(what, thrown))};
  };
  call("tracing it", [&] {
    program = packProgram(dsl::Program::trace(
        kernel.name, options, [&](dsl::Scope &k) { kernel.body(k, values); }, kernel.where));
  });
  if (kernel.operations)
    call("its function of operations", [&] { operations = kernel.operations(values); });
  for (const auto &[table, function] : kernel.extentsOfMembers)
    call(fmt::format("its function of the extents of '{}'", table),
         [&] { extents[table] = function(values); });
  if (mistake)
    program = packMistakes({*mistake});
  return packTrace({operations, std::move(program), std::move(extents)});
}

Result<std::string> kernels::numbersOfEntry(KernelEntry &kernel, Guard guard, const ParameterTexts &texts,
                                            const NumbersQuestion &question) {
  const Values values(texts);
  HostInputs inputs{.values = values, .tensors = {}, .rank = question.rank, .ranks = question.ranks};
  inputs.ofRanks.resize(size_t(question.ranks));
  for (const NamedNumbers &input : question.inputs)
    inputs.ofRanks[size_t(input.rank)].try_emplace(input.name, input.name, input.shape, input.numbers);
  inputs.tensors = inputs.ofRanks[size_t(question.rank)];
  const HostFunction &function =
      (question.isOutput ? kernel.outputs : kernel.inputs).find(question.tensor)->second;
  std::string bytes(question.elements.size() * sizeof(double), '\0');
  Result<void> done = guarded(guard, question.what(), [&] {
    const HostElement numberAt = function(inputs);
    std::vector<int64_t> at(question.shape.size());
    for (size_t i = 0; i != question.elements.size(); ++i) {
      int64_t rest = question.elements[i];
      for (size_t axis = at.size(); axis-- > 0; rest /= question.shape[axis])
        at[axis] = rest % question.shape[axis];
      const double value = numberAt(at);
      std::memcpy(&bytes[i * sizeof(double)], &value, sizeof(value));
    }
  });
  if (!done)
    return done.error();
  return bytes;
}
