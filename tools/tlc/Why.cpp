// SPDX-License-Identifier: Apache-2.0
#include "tools/tlc/Why.h"

#include "kernels/harness/ElementBits.h"
#include "kernels/harness/KernelRun.h"
#include "runtime/emulator/origin/OriginSearch.h"
#include "runtime/emulator/trace/TraceRequest.h"
#include "runtime/support/Excerpt.h"
#include "tools/tlc/EvaluatedTensors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;
using emulator::OriginStep;

namespace {

constexpr size_t mostSteps = 24;

tlc::Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

std::string textOf(double value) { return fmt::format("{:.9g}", value); }

/// What is known of the kernel's tensors besides the emulator.
class Truth {
public:
  /// `failure` is why there are no evaluated tensors.
  Truth(const kernels::InitialTensors &initial, std::vector<evaluator::Tensor> evaluated)
      : initial(initial), evaluated(std::move(evaluated)) {}

  /// The tensor and the element that has these bytes; nothing where a byte has several.
  std::optional<AskedElement> elementAt(const emulator::TensorBytes &bytes) const {
    for (const auto &[i, spec, host] : enumerate(initial.specs, initial.tensors)) {
      if (spec.name != bytes.tensor || spec.isTable)
        continue;
      if (bitsOf(spec.element) < 8)
        return std::nullopt;
      int64_t left = int64_t(bytes.offset) * 8 / int64_t(bitsOf(spec.element)), number = 0;
      for (const auto &[extent, stride] : zip(host.shape(), host.strides())) {
        const int64_t at = stride == 0 ? 0 : left / stride;
        left -= at * stride;
        if (at >= extent)
          return std::nullopt;
        number = number * extent + at;
      }
      return left == 0 ? std::optional(AskedElement{i, number}) : std::nullopt;
    }
    return std::nullopt;
  }

  std::string nameOf(const AskedElement &element) const {
    return initial.specs[element.tensor].name +
           kernels::indexText(initial.specs[element.tensor].shape, element.number);
  }

  const kernels::TensorSpec &specOf(const AskedElement &element) const {
    return initial.specs[element.tensor];
  }

  /// When a value is compared: inputs hold the same all the time.
  enum class When : uint8_t { during, after };
  /// What the element should hold; nothing where nothing is known of it.
  std::optional<evaluator::Element> expected(const AskedElement &element, When when) const {
    const kernels::TensorSpec &spec = specOf(element);
    if (spec.access == Access::input)
      return evaluator::elementOf(spec.element, initial.tensors[element.tensor].at(element.number));
    if (when == When::during || evaluated.empty())
      return std::nullopt;
    const evaluator::Element &known = evaluated[element.tensor].elements[size_t(element.number)];
    return known.defined ? std::optional(known) : std::nullopt;
  }

private:
  const kernels::InitialTensors &initial;
  std::vector<evaluator::Tensor> evaluated;
};

/// A step as it is compared with the truth.
struct Judged {
  std::string text;              ///< " = 3 (evaluator: 4): NOT confirmed"
  std::optional<bool> confirmed; ///< nothing: not compared
};

/// "X[3, 17] = 3 (the input: 3)", and whether it is that.
Judged judge(const AskedElement &element, std::optional<uint64_t> bits, const Truth &truth,
             Truth::When when) {
  Judged judged{truth.nameOf(element), std::nullopt};
  const ElementType type = truth.specOf(element).element;
  std::optional<evaluator::Element> actual;
  if (bits) {
    const unsigned width = unsigned(bitsOf(type));
    const uint64_t code = width >= 64 ? *bits : *bits & ((uint64_t(1) << width) - 1);
    const double value = kernels::decodeElement(type, code);
    actual = evaluator::elementOf(type, value);
    judged.text += " = " + textOf(value);
  }
  const std::optional<evaluator::Element> expected = truth.expected(element, when);
  if (!expected)
    return judged;
  const bool isInput = truth.specOf(element).access == Access::input;
  judged.text +=
      formatv(" ({0}: {1}", isInput ? "the input" : "the evaluator", textOf(valueOf(type, *expected)));
  if (!isInput && expected->bound > 0)
    judged.text += formatv(" within {0:e2}", expected->bound);
  judged.text += ")";
  if (actual)
    judged.confirmed = evaluator::agrees(type, *expected, *actual);
  return judged;
}

/// All elements that the step reads or writes at once.
Judged judge(const OriginStep &step, const Truth &truth, Truth::When when) {
  if (!step.element)
    return {};
  Judged all;
  for (emulator::TensorBytes at = *step.element; at.offset < step.element->offset + step.element->bytes;) {
    const std::optional<AskedElement> element = truth.elementAt(at);
    if (!element)
      break;
    const uint64_t before = at.offset - step.element->offset;
    const Judged one =
        judge(*element, step.bits ? std::optional(*step.bits >> 8 * before) : std::nullopt, truth, when);
    all.text += (all.text.empty() ? " " : ", ") + one.text;
    if (one.confirmed)
      all.confirmed = all.confirmed.value_or(true) && *one.confirmed;
    at.offset += std::max<uint64_t>(1, bitsOf(truth.specOf(*element).element) / 8);
  }
  if (all.text.empty())
    return {formatv(" '{0}' at byte {1}", step.element->tensor, step.element->offset).str(), std::nullopt};
  if (all.confirmed)
    all.text += *all.confirmed ? ", confirmed" : ", NOT confirmed";
  return all;
}

void printStep(size_t number, const OriginStep &step, const Judged &judged) {
  outs() << formatv("{0,3}", number + 1);
  if (number != 0)
    outs() << formatv(" for {0}", step.reader + 1);
  outs() << ": ";
  if (!step.site.instruction.empty())
    outs() << step.site.location() << ": ";
  outs() << step.text << judged.text;
  if (!step.site.instruction.empty())
    outs() << " ('" << step.site.instruction << "', " << step.site.place() << ')';
  outs() << '\n';
}

} // namespace

Result<AskedElement> driver::parseElement(StringRef text, const kernels::InitialTensors &tensors) {
  auto [name, rest] = text.split('[');
  const auto *found = find_if(tensors.specs, [&](const kernels::TensorSpec &spec) {
                        return spec.name == name && spec.access != Access::input && !spec.isTable;
                      }).base();
  std::vector<int64_t> position;
  SmallVector<StringRef> parts;
  if (rest.consume_back("]"))
    rest.split(parts, ',', -1, /*KeepEmpty=*/true);
  bool isWhole = !parts.empty() || rest.empty();
  for (StringRef part : parts)
    if (int64_t at = 0; part.trim().getAsInteger(10, at))
      isWhole = false;
    else
      position.push_back(at);
  if (found == tensors.specs.data() + tensors.specs.size() || !isWhole) {
    std::vector<std::string> names;
    for (const kernels::TensorSpec &spec : tensors.specs)
      if (spec.access != Access::input && !spec.isTable)
        names.push_back(spec.name);
    return invalid("expected --why of an element of an output, such as " +
                   (names.empty() ? "Y" : names.front()) + "[3,17], of one of " + join(names, ", ") +
                   ", but got '" + excerpt(text) + "'");
  }
  AskedElement element{size_t(found - tensors.specs.data()), 0};
  bool isInside = position.size() == found->shape.size();
  for (size_t i = 0; isInside && i != position.size(); ++i) {
    isInside = position[i] >= 0 && position[i] < found->shape[i];
    element.number = element.number * found->shape[i] + position[i];
  }
  if (!isInside)
    return invalid("expected --why of an element of '" + found->name + "', whose extents are " +
                   kernels::shapeText(found->shape) + ", but got '" + excerpt(text) + "'");
  return element;
}

std::optional<AskedElement> driver::firstWrong(const kernels::Verdict &verdict,
                                               const kernels::InitialTensors &tensors) {
  for (const kernels::OutputVerdict &output : verdict.each)
    if (output.firstWrong)
      for (const auto &[i, spec] : enumerate(tensors.specs))
        if (spec.name == output.name && spec.access != Access::input)
          return AskedElement{i, *output.firstWrong};
  return std::nullopt;
}

Result<void> driver::explain(const RunPlan &plan, const std::shared_ptr<const kernels::Problem> &problem,
                             const std::shared_ptr<const Artifact> &artifact, const EmulatorOptions &options,
                             AskedElement element) {
  const kernels::InitialTensors &initial = problem->initial();
  const kernels::Request &request = plan.choice.request;
  if (problem->ranks() != 1)
    return invalid("expected --why of a kernel of one rank, but this one runs on " +
                   std::to_string(problem->ranks()));
  if (const kernels::TensorSpec &asked = initial.specs[element.tensor];
      asked.isTable || bitsOf(asked.element) < 8)
    return invalid(
        "expected --why of an element that has its own bytes and a tensor argument, but '" + asked.name +
        "' is " +
        (asked.isTable ? "given by a table of addresses" : "of " + std::string(toString(asked.element))));
  // What the evaluator makes of it; without that, origins are shown but not judged.
  kernels::CompileLog log;
  Result<dsl::ProgramModule> program = kernels::trace(request, *findTarget(plan.choice.options.target), log);
  if (!program)
    return program.error();
  Result<std::vector<evaluator::Element>> scalars = evaluatedScalars(*program->module, request.values);
  if (!scalars)
    return scalars.error();
  std::vector<evaluator::Tensor> evaluated;
  for (const auto &[spec, host] : zip(initial.specs, initial.tensors))
    evaluated.push_back(evaluatedTensor(spec, host));
  if (Result<evaluator::Report> report =
          evaluateRanks(*program->module, initial.specs, *scalars, 1, evaluated,
                        {.multiprocessors = options.multiprocessors});
      !report) {
    errs() << "tlc: the evaluator cannot run the program: " << report.error().message << '\n';
    evaluated.clear();
  }
  const Truth truth(initial, std::move(evaluated));

  const kernels::TensorSpec &spec = truth.specOf(element);
  const kernels::HostTensor &host = initial.tensors[element.tensor];
  int64_t offset = 0, left = element.number;
  for (size_t axis = spec.shape.size(); axis-- > 0;) {
    offset += left % spec.shape[axis] * host.strides()[axis];
    left /= spec.shape[axis];
  }
  emulator::OriginSearch search({.tensor = spec.name,
                                 .offset = uint64_t(offset) * bitsOf(spec.element) / 8,
                                 .bytes = std::max(1u, unsigned(bitsOf(spec.element) / 8))},
                                mostSteps);
  size_t runs = 0;
  std::optional<uint64_t> actual; // what the element holds after the first run
  while (search.needsRun()) {
    TraceRequest trace;
    trace.origins = &search;
    EmulatorOptions own = options;
    own.trace = &trace;
    own.hostThreads = 1; // the same moments in each run
    own.raceCheck = RaceCheck::off;
    own.onFindings = [](const Findings &) {};
    own.print = [](std::string_view) {};
    const std::unique_ptr<Device> device = createEmulatorDevice(std::move(own));
    auto run = kernels::KernelRun::create(*device, problem, artifact, plan.choice.alignment);
    if (!run)
      return run.error();
    search.beginRun();
    if (Result<void> done = run->execute(); !done)
      return done;
    search.endRun();
    ++runs;
    if (!actual) {
      Result<std::vector<kernels::HostTensor>> outputs = run->outputs();
      if (!outputs)
        return outputs.error();
      const auto isIt = [&](const kernels::HostTensor &tensor) { return tensor.name() == spec.name; };
      actual = kernels::encodeElement(spec.element, find_if(*outputs, isIt)->at(element.number));
    }
  }
  outs() << formatv("{0}, in {1} run{2} on the emulator:\n", truth.nameOf(element), runs,
                    runs == 1 ? "" : "s");
  std::optional<size_t> first; // of what is not confirmed, the nearest to the inputs
  size_t confirmed = 0;
  bool isConfirmed = false; // the element itself
  for (auto [i, step] : enumerate(std::vector(search.steps().begin(), search.steps().end()))) {
    if (i == 0)
      step.bits = actual;
    const Judged judged = judge(step, truth, i == 0 ? Truth::When::after : Truth::When::during);
    printStep(i, step, judged);
    confirmed += judged.confirmed.value_or(false);
    isConfirmed |= i == 0 && judged.confirmed.value_or(false);
    if (judged.confirmed == false)
      first = i;
  }
  if (first)
    outs() << formatv("step {0} is the first whose value is not confirmed; {1} before it {2}\n", *first + 1,
                      confirmed, confirmed == 1 ? "is" : "are");
  else if (isConfirmed)
    outs() << "all values that are compared are confirmed: the program computes this\n";
  else if (confirmed > 0)
    outs() << "all values that are compared are confirmed, but the element itself is not compared\n";
  else
    outs() << "no value could be compared\n";
  return {};
}
