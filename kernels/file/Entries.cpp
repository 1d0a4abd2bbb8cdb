// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks entries and calls their functions.
#define TLC_READS_KERNEL_FILES
#include "kernels/file/Entries.h"

#include "kernels/file/Pack.h"
#include "kernels/file/Transport.h"
#include "kernels/file/kernel.h"
#include "runtime/support/Excerpt.h"

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

constexpr int64_t maxExtent = std::numeric_limits<int32_t>::max(); ///< of a tensor

/// The first mistake in what a kernel says of itself; empty if there is none.
std::string mistakeOf(const KernelEntry &kernel) {
  if (kernel.name.empty())
    return "expected a name for each kernel, but got none";
  if (!kernel.body)
    return fmt::format(
        "expected kernel '{}' to have a program because nothing else says what it does, but got "
        "none; call .program(...)",
        kernel.name);
  std::set<std::string> names;
  for (const Parameter &parameter : kernel.parameters) {
    if (parameter.name.empty() || !names.insert(parameter.name).second)
      return fmt::format("expected each parameter of kernel '{}' to have a name of its own, but got '{}'{}",
                         kernel.name, parameter.name, parameter.name.empty() ? "" : " twice");
    if (parameter.name == "ranks" && !kernel.hasRanks)
      return fmt::format("expected parameter 'ranks' of kernel '{}' to be that of .ranks() because it says "
                         "how many devices run the program, but it is declared otherwise",
                         kernel.name);
    if (parameter.multipleOf < 1 || parameter.least > parameter.most)
      return fmt::format(
          "expected limits of parameter '{}' of kernel '{}' that a number meets, but got {} to {} "
          "in steps of {}",
          parameter.name, kernel.name, parameter.least, parameter.most, parameter.multipleOf);
    if (parameter.kind == Parameter::Kind::size && (parameter.least < 0 || parameter.most > maxExtent))
      return fmt::format(
          "expected limits of size '{}' of kernel '{}' from 0 to {} because it is an extent, but "
          "got {} to {}",
          parameter.name, kernel.name, maxExtent, parameter.least, parameter.most);
    if (Result<void> valid = parameter.check(kernel.name, parameter.fallback); !valid)
      return valid.error().message;
  }
  std::vector<Definitions> given = kernel.suite;
  given.push_back(kernel.emulatorSizes);
  for (const Definitions &definitions : given)
    for (const auto &[name, value] : definitions) {
      auto parameter = std::ranges::find(kernel.parameters, name, &Parameter::name);
      if (parameter == kernel.parameters.end())
        return fmt::format("expected .bench of kernel '{}' to set parameters of it ({}), but got '{}'",
                           kernel.name, fmt::join(names, ", "), excerpt(name));
      if (Result<void> valid = parameter->check(kernel.name, value); !valid)
        return valid.error().message;
    }
  for (const auto &[tensor, range] : kernel.ranges)
    if (!std::isfinite(range.first) || !std::isfinite(range.second) || range.first >= range.second)
      return fmt::format("expected a range of random numbers for '{}' of kernel '{}' that ends above its "
                         "beginning, but got [{}, {})",
                         tensor, kernel.name, range.first, range.second);
  for (const auto &[tensor, tolerance] : kernel.tolerances)
    if (!(tolerance.limit >= 0) || !(tolerance.floor >= 0))
      return fmt::format(
          "expected a tolerance for '{}' of kernel '{}' of numbers from 0 on, but got limit {} and "
          "floor {}",
          tensor, kernel.name, tolerance.limit, tolerance.floor);
  return {};
}

template <class Function> std::set<std::string> namesOf(const std::map<std::string, Function> &functions) {
  std::set<std::string> names;
  for (const auto &[name, function] : functions)
    names.insert(name);
  return names;
}

} // namespace

Result<void> kernels::guarded(Guard guard, std::string_view what, const std::function<void()> &body) {
  std::string thrown;
  if (guard(body, thrown))
    return {};
  return wrong(fmt::format("{} has thrown: {}", what, thrown));
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
    std::string mistake = mistakeOf(*kernel);
    auto [other, isNew] = places.try_emplace(kernel->name, kernel->where);
    if (mistake.empty() && !isNew)
      mistake =
          fmt::format("expected each kernel to have a name of its own, but '{}' is registered twice, first "
                      "at {}",
                      kernel->name, textOf(other->second));
    if (!mistake.empty())
      return wrong(fmt::format("{}: {}", textOf(kernel->where), mistake));
    descriptions.push_back({kernel->name, kernel->summary, textOf(kernel->where), kernel->parameters,
                            kernel->emulatorSizes, kernel->suite, kernel->ranges, namesOf(kernel->inputs),
                            namesOf(kernel->outputs), kernel->tolerances, kernel->tables, kernel->hasRanks});
  }
  return descriptions;
}

Result<std::string> kernels::traceEntry(KernelEntry &kernel, Guard guard, const ParameterTexts &texts,
                                        const dsl::TraceOptions &options) {
  const Values values(texts);
  double operations = 0;
  std::string program;
  Result<void> done = guarded(guard, "tracing it", [&] {
    program = packProgram(dsl::Program::trace(
        kernel.name, options, [&](dsl::Scope &k) { kernel.body(k, values); }, kernel.where));
  });
  if (done && kernel.operations)
    done = guarded(guard, "its function of operations", [&] { operations = kernel.operations(values); });
  std::map<std::string, MemberExtents> extents;
  for (const auto &[table, function] : kernel.extentsOfMembers)
    if (done)
      done = guarded(guard, fmt::format("its function of the extents of '{}'", table),
                     [&] { extents[table] = function(values); });
  if (!done)
    return done.error();
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
