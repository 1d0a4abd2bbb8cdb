// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels from what is said of them and what their functions answer.
#include "kernels/file/DescribedKernel.h"

#include "compiler/dsl/Module.h"
#include "kernels/file/Pack.h"
#include "kernels/file/ProgramTensors.h"
#include "kernels/file/Transport.h"
#include "kernels/library/call/Scalars.h"
#include "runtime/support/Excerpt.h"
#include "runtime/support/Hash.h"
#include "runtime/support/NearestName.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <mutex>
#include <numeric>

using namespace tlc;
using namespace tlc::kernels;

namespace {

/// The file's own words for the place of a registration.
dsl::Position parsePosition(std::string_view text) {
  const auto numberAfter = [&](size_t colon) {
    unsigned number = 0;
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), number);
    return number;
  };
  const size_t column = text.rfind(':'), line = text.rfind(':', column - 1);
  return {std::string(text.substr(0, line)), numberAfter(line), numberAfter(column)};
}

class DescribedKernel final : public Kernel {
public:
  DescribedKernel(const KernelSource &source, size_t number,
                  std::shared_ptr<const KernelDescription> description)
      : Kernel(description->name, description->summary, description->parameters), source(source),
        number(number), description(std::move(description)) {}

  std::string code() const override { return source.code(); }
  std::string file() const override { return source.file(); }

  dsl::Program build(const Parameters &values, const Target &,
                     const dsl::TraceOptions &options) const override {
    const Traced &traced = trace(values, options);
    return unpackProgram(name(), traced.program);
  }

  int64_t ranks(const Parameters &values) const override {
    return description->hasRanks ? values.constant("ranks") : 1;
  }

  std::vector<TensorSpec> tensors(const Parameters &values) const override {
    std::vector<TensorSpec> all;
    const std::vector<std::vector<TensorSpec>> &ofRanks = trace(values, {}).ofRanks;
    for (size_t rank = 0; rank != ofRanks.size(); ++rank) {
      std::vector<TensorSpec> tensors = ofRanks[rank];
      addContents(values, {int64_t(rank), int64_t(ofRanks.size())}, tensors);
      all.insert(all.end(), tensors.begin(), tensors.end());
    }
    return all;
  }

  Reference reference(const Parameters &values, std::span<const std::vector<double>> inputs) const override {
    return [=, this](size_t output, std::span<const int64_t> elements) -> Result<std::vector<double>> {
      const auto [spec, rank] = outputOf(values, output);
      if (!description->references.contains(spec.name))
        return Error{
            ErrorKind::invalidArgument,
            fmt::format("expected a reference of '{0}' in kernel '{1}' because there is nothing else to "
                        "compare with, but got none; call .reference(\"{0}\", ...)",
                        spec.name, name())};
      return numbers(values, trace(values, {}).ofRanks, spec, rank, inputs, true, elements);
    };
  }

  Tolerance tolerance(const Parameters &values, size_t output) const override {
    const TensorSpec spec = outputOf(values, output).first;
    if (auto found = description->tolerances.find(spec.name); found != description->tolerances.end())
      return found->second;
    // Approximate functions and sums of some hundred terms, in f32.
    return {.limit = isInteger(spec.element) ? 0 : 2 * roundingError(spec.element) + 1e-4, .floor = 1};
  }

  double flops(const Parameters &values) const override { return trace(values, {}).operations; }
  Definitions emulatorSizes() const override { return description->emulatorSizes; }
  std::vector<Definitions> suite() const override {
    return description->suite.empty() ? std::vector<Definitions>(1) : description->suite;
  }

private:
  /// What the source has said of the program for some values.
  struct Traced {
    std::string program; ///< `unpackProgram`
    std::vector<std::vector<TensorSpec>> ofRanks = {};
    double operations = 0;
  };

  const Traced &trace(const Parameters &values, const dsl::TraceOptions &options) const {
    Packer key;
    for (const auto &[name, value] : values.programValues())
      key.add(name).add(value);
    for (const auto &[name, value] : options.fixedDimensions)
      key.add(name).add(value);
    std::lock_guard lock(mutex);
    auto [entry, isNew] = traces.try_emplace(key.take());
    if (isNew)
      entry->second = traceAnew(values, options);
    return entry->second;
  }

  Traced traceAnew(const Parameters &values, const dsl::TraceOptions &options) const {
    Result<std::string> answer = source.trace(number, values.programValues(), options);
    if (!answer)
      return mistake(registration(), answer.error().message);
    std::optional<EntryTrace> entry = unpackTrace(*answer);
    if (!entry)
      return mistake(registration(),
                     "expected an answer from the process that traces it, but got other bytes");
    Traced traced{std::move(entry->program), {}, entry->operations};
    dsl::Program program = unpackProgram(name(), traced.program);
    if (!program.ok())
      return traced;
    const dsl::ProgramModule module = dsl::ProgramModule::take(std::move(program));
    const auto positionOfArgument = [&](llvm::StringRef name) {
      return positionOf(*module.module, name).value_or(registration());
    };
    for (const auto &[name, type] : scalarsOf(*module.module))
      if (std::string wrong = mistakeOfScalar(name, type); !wrong.empty())
        return mistake(positionOfArgument(name), wrong);
    for (const Parameter &parameter : parameters())
      if (std::string wrong = otherArgument(*module.module, parameter); !wrong.empty())
        return mistake(positionOfArgument(parameter.name), wrong);
    if (!description->hasRanks && isOfRanks(*module.module))
      return mistake(registration(),
                     "expected a kernel of several ranks because its program has symmetric tensors or asks "
                     "for its rank; call .ranks()");
    const int64_t count = ranks(values);
    std::optional<dsl::Position> wrongArgument; // the first
    for (int64_t rank = 0; rank < count; ++rank) {
      Result<std::vector<TensorSpec>> tensors = tensorsOf(
          *module.module, {rank, count},
          [&](llvm::StringRef dimension) {
            Result<int64_t> size = sizeOf(values, std::string_view(dimension));
            if (!size && !wrongArgument)
              wrongArgument = positionOfArgument(dimension);
            return size;
          },
          [&](llvm::StringRef table, int64_t axes) {
            Result<std::vector<int64_t>> extents = membersOf(values, table.str(), axes);
            if (!extents && !wrongArgument)
              wrongArgument = positionOfArgument(table);
            return extents;
          });
      if (!tensors)
        return mistake(wrongArgument.value_or(registration()), tensors.error().message);
      if (std::optional<WrongCall> wrong = complete(*tensors))
        return mistake(positionOfCall(wrong->call, wrong->name), wrong->message);
      for (const auto &[table, members] : entry->extentsOfMembers) {
        TensorSpec &spec = *std::ranges::find(*tensors, table, &TensorSpec::name);
        if (std::string wrong = mistakeOf(members, spec); !wrong.empty())
          return mistake(positionOfCall("members", table), wrong);
        spec.isPadding = paddingOf(members, spec.shape);
      }
      traced.ofRanks.push_back(std::move(*tensors));
    }
    return traced;
  }

  /// What is wrong with a call of the kernel's description.
  struct WrongCall {
    std::string call, name, message;
  };

  Traced mistake(dsl::Position where, const std::string &message) const {
    return {packMistakes({{std::move(where), fmt::format("kernel '{}': {}", name(), message)}})};
  }
  dsl::Position registration() const { return parsePosition(description->position); }
  dsl::Position positionOfCall(const std::string &call, const std::string &of) const {
    auto found = description->positions.find({call, of});
    return found == description->positions.end() ? registration() : parsePosition(found->second);
  }

  /// What is wrong with a scalar of the program; empty if the description has it.
  std::string mistakeOfScalar(const std::string &name, ElementType type) const {
    const auto found = std::ranges::find(parameters(), name, &Parameter::name);
    if (found == parameters().end())
      return fmt::format(
          "expected .scalar(\"{0}\", {1}) of the kernel because its program has that scalar, but got "
          "none; call .scalar(\"{0}\", {1}, ...), or .number for a number that the program is made for",
          name, toString(type));
    if (!found->isScalar())
      return fmt::format(
          "expected each name to be one parameter, but '{0}' is a scalar of the program and another "
          "parameter of the kernel; call .scalar(\"{0}\", {1}, ...) instead of that, or rename one",
          name, toString(type));
    if (found->element != type)
      return fmt::format(
          "expected scalar '{0}' to be of {1} because .scalar(\"{0}\", {1}) declares it, but got {2}; "
          "make both the same",
          name, toString(found->element), toString(type));
    return {};
  }

  /// What is wrong with an argument of the program that has the name of a scalar and is none; empty if it has
  /// no such argument.
  static std::string otherArgument(mlir::ModuleOp program, const Parameter &parameter) {
    const bool isOther = parameter.isScalar() && positionOf(program, parameter.name) &&
                         std::ranges::none_of(scalarsOf(program),
                                              [&](const auto &each) { return each.first == parameter.name; });
    return isOther
               ? fmt::format(
                     "expected '{0}' to be a scalar of the program because .scalar(\"{0}\", {1}) declares "
                     "it, but it is a dimension or a tensor; use k.scalar(\"{0}\", {1}), or rename one",
                     parameter.name, toString(parameter.element))
               : std::string();
  }

  /// The values as contents and references get them: scalars as the program does, rounded to their types.
  ParameterTexts valuesOfHost(const Parameters &values) const {
    ParameterTexts texts = values.values();
    for (size_t i = 0; i != texts.size(); ++i)
      if (const Parameter &parameter = parameters()[i]; parameter.isScalar())
        texts[i].second = roundedText(parameter.element, texts[i].second);
    return texts;
  }

  Result<int64_t> sizeOf(const Parameters &values, std::string_view dimension) const {
    for (const Parameter &parameter : parameters())
      if (parameter.name == dimension && parameter.isDimension())
        return values.size(dimension);
    if (description->hasRanks && dimension == "ranks")
      return Error{
          ErrorKind::invalidArgument,
          "expected a size for each dimension of the program, but 'ranks' is the number of devices; use "
          "k.ranks()"};
    return Error{
        ErrorKind::invalidArgument,
        fmt::format("expected a size for each dimension of the program, but there is none for '{0}'; call "
                    ".size(\"{0}\", ...)",
                    dimension)};
  }

  Result<std::vector<int64_t>> membersOf(const Parameters &values, const std::string &table,
                                         int64_t axes) const {
    auto found = description->tables.find(table);
    if (found == description->tables.end() || int64_t(found->second.size()) != axes)
      return Error{
          ErrorKind::invalidArgument,
          fmt::format("expected {0} size{1} of the members of '{2}', which have so many axes, but got "
                      "{3}; call .members(\"{2}\", {{...}})",
                      axes, axes == 1 ? "" : "s", table,
                      found == description->tables.end() ? "none" : std::to_string(found->second.size()))};
    std::vector<int64_t> extents;
    for (const std::string &name : found->second) {
      Result<int64_t> extent = sizeOf(values, name);
      if (!extent)
        return extent.error();
      extents.push_back(*extent);
    }
    return extents;
  }

  /// What is wrong with the extents of a table's members; empty if nothing is.
  static std::string mistakeOf(const std::vector<std::vector<int64_t>> &members, const TensorSpec &spec) {
    if (int64_t(members.size()) != spec.shape[0])
      return fmt::format("expected extents of {} members of '{}' because it holds so many addresses, but got "
                         "those of {}",
                         spec.shape[0], spec.name, members.size());
    const std::span<const int64_t> most = std::span(spec.shape).subspan(1);
    const auto isWithin = [](int64_t extent, int64_t limit) { return extent >= 0 && extent <= limit; };
    for (size_t number = 0; number != members.size(); ++number)
      if (members[number].size() != most.size() || !std::ranges::equal(members[number], most, isWithin))
        return fmt::format("expected extents from 0 to [{}] of member {} of '{}', but got [{}]",
                           fmt::join(most, ", "), number, spec.name, fmt::join(members[number], ", "));
    return {};
  }

  /// Of one tensor, whose first axis counts the members: the elements beyond their extents.
  static std::function<bool(int64_t)> paddingOf(const std::vector<std::vector<int64_t>> &members,
                                                const std::vector<int64_t> &shape) {
    int64_t memberSize = 1;
    for (size_t axis = 1; axis != shape.size(); ++axis)
      memberSize *= shape[axis];
    return [=](int64_t number) {
      auto member = size_t(number / memberSize);
      for (size_t axis = shape.size(); --axis > 0; number /= shape[axis])
        if (number % shape[axis] >= members[member][axis - 1])
          return true;
      return false;
    };
  }

  /// Adds ranges to the tensors; returns what is wrong.
  std::optional<WrongCall> complete(std::vector<TensorSpec> &tensors) const {
    const auto find = [&](const std::string &name) {
      return std::ranges::find(tensors, name, &TensorSpec::name);
    };
    std::optional<WrongCall> wrong;
    const auto check = [&](const char *call, const std::string &name, bool isOutput) {
      auto found = find(name);
      if (found != tensors.end() &&
          (isOutput ? found->access != Access::input : found->access != Access::output))
        return;
      std::vector<std::string> known;
      for (const TensorSpec &tensor : tensors)
        if (isOutput ? tensor.access != Access::input : tensor.access != Access::output)
          known.push_back(tensor.name);
      if (!wrong)
        wrong = {call, name,
                 fmt::format("expected .{} of one of {}, but got '{}'{}", call, fmt::join(known, ", "),
                             excerpt(name), nearestText(name, known))};
    };
    for (const std::string &name : description->references)
      check("reference", name, true);
    for (const auto &[name, tolerance] : description->tolerances)
      check("tolerance", name, true);
    for (const std::string &name : description->contents)
      check("contents", name, false);
    for (const auto &[name, range] : description->ranges)
      check("random", name, false);
    for (const auto &[name, sizes] : description->tables)
      if (auto found = find(name); !wrong && (found == tensors.end() || !found->isTable))
        wrong = {"members", name,
                 fmt::format("expected .members of a table of addresses, but got '{}'", excerpt(name))};
    if (wrong)
      return wrong;
    for (const auto &[name, range] : description->ranges)
      std::tie(find(name)->low, find(name)->high) = range;
    return std::nullopt;
  }

  /// Their contents for these values, scalars among them, for which traces are not kept.
  void addContents(const Parameters &values, RankOf of, std::vector<TensorSpec> &tensors) const {
    for (size_t i = 0; i != tensors.size(); ++i)
      if (description->contents.contains(tensors[i].name))
        tensors[i].derived =
            [this, values, of, before = std::vector(tensors.begin(), tensors.begin() + long(i)),
             all = tensors.size(), spec = tensors[i]](std::span<const std::vector<double>> contents) {
              int64_t count = 1;
              for (int64_t extent : spec.shape)
                count *= extent;
              std::vector<int64_t> elements(static_cast<size_t>(count));
              std::iota(elements.begin(), elements.end(), 0);
              // Of this rank, and of no other one.
              std::vector<std::vector<TensorSpec>> known(size_t(of.ranks));
              known[size_t(of.rank)] = before;
              std::vector<std::vector<double>> inputs;
              for (size_t i = 0; i != before.size(); ++i)
                if (before[i].access != Access::output)
                  inputs.push_back(contents[size_t(of.rank) * all + i]);
              return numbers(values, known, spec, of.rank, inputs, false, elements);
            };
  }

  /// And whose it is.
  std::pair<TensorSpec, int64_t> outputOf(const Parameters &values, size_t output) const {
    int64_t rank = 0;
    for (const std::vector<TensorSpec> &ofRank : trace(values, {}).ofRanks) {
      for (const TensorSpec &spec : ofRank)
        if (spec.access != Access::input && output-- == 0)
          return {spec, rank};
      ++rank;
    }
    return {};
  }

  /// `inputs` are the contents of those tensors of all ranks that are read.
  Result<std::vector<double>> numbers(const Parameters &values,
                                      std::span<const std::vector<TensorSpec>> ofRanks, const TensorSpec &of,
                                      int64_t whose, std::span<const std::vector<double>> inputs,
                                      bool isOutput, std::span<const int64_t> elements) const {
    NumbersQuestion question{of.name, isOutput, of.shape, {}, elements, whose, int64_t(ofRanks.size())};
    for (int64_t rank = 0; rank != question.ranks; ++rank)
      for (const TensorSpec &tensor : ofRanks[size_t(rank)])
        if (tensor.access != Access::output)
          question.inputs.push_back({tensor.name, tensor.shape, inputs[question.inputs.size()], rank});
    // The same numbers are asked for again and again where changed programs are compared, by several threads.
    Hash128 key = keyOf(values, question);
    std::lock_guard lock(mutex);
    if (auto found = answers.find({key.high, key.low}); found != answers.end())
      return found->second;
    Result<std::string> answer = source.numbers(number, valuesOfHost(values), question);
    if (!answer)
      return Error{answer.error().kind,
                   fmt::format("{}: kernel '{}': {}", description->position, name(), answer.error().message)};
    std::vector<double> result(elements.size());
    if (answer->size() != result.size() * sizeof(double))
      return Error{ErrorKind::execution,
                   fmt::format("{}: kernel '{}': expected {} numbers of {}, but got {} bytes",
                               description->position, name(), result.size(), question.what(),
                               answer->size())};
    std::memcpy(result.data(), answer->data(), answer->size());
    constexpr size_t mostAnswers = 16;
    if (answers.size() == mostAnswers)
      answers.clear();
    return answers[{key.high, key.low}] = std::move(result);
  }

  static Hash128 keyOf(const Parameters &values, const NumbersQuestion &question) {
    Packer text;
    for (const auto &[name, value] : values.values())
      text.add(name).add(value);
    text.add(question.tensor).add(question.isOutput).add(question.rank);
    const std::string bytes = text.take();
    Hash128 hash;
    hash.update(std::as_bytes(std::span(bytes)));
    for (const NamedNumbers &input : question.inputs)
      hash.update(std::as_bytes(input.numbers));
    hash.update(std::as_bytes(question.elements));
    return hash;
  }

  const KernelSource &source;
  size_t number;
  std::shared_ptr<const KernelDescription> description;
  mutable std::mutex mutex;
  mutable std::map<std::string, Traced> traces;
  mutable std::map<std::pair<uint64_t, uint64_t>, std::vector<double>> answers; ///< by `keyOf`
};

} // namespace

std::vector<std::unique_ptr<const Kernel>> kernels::kernelsOf(const KernelSource &source,
                                                              std::vector<KernelDescription> descriptions) {
  std::vector<std::unique_ptr<const Kernel>> kernels;
  for (KernelDescription &each : descriptions) {
    auto description = std::make_shared<const KernelDescription>(std::move(each));
    kernels.push_back(std::make_unique<DescribedKernel>(source, kernels.size(), std::move(description)));
  }
  return kernels;
}
