// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `evaluate`.
#include "tools/tlc/Evaluate.h"

#include "compiler/pipeline/Compiler.h"
#include "dialects/tile/Tile.h"
#include "kernels/file/ProgramTensors.h"
#include "kernels/harness/DeviceArguments.h"
#include "kernels/harness/ElementBits.h"
#include "kernels/harness/Verdict.h"
#include "runtime/device/DeliverReports.h"
#include "runtime/support/Npy.h"
#include "tools/tlc/EvaluatedTensors.h"
#include "tools/tlc/Heartbeat.h"
#include "tools/tlc/Messages.h"
#include "tools/tlc/Output.h"
#include "tools/tlc/Verdicts.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <numeric>
#include <random>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

/// Elements that are printed of a tensor.
constexpr size_t shownElements = 8;

tlc::Error invalid(const Twine &message) { return {ErrorKind::invalidArgument, message.str()}; }

std::vector<double> valuesOf(const evaluator::Tensor &tensor) {
  std::vector<double> values;
  for (const evaluator::Element &element : tensor.elements)
    values.push_back(valueOf(tensor.type, element));
  return values;
}

/// "NAME=FILE" of one of the tensors, which get the files.
Result<std::vector<std::string>> filesFor(StringRef flag, ArrayRef<kernels::TensorSpec> specs,
                                          const cl::list<std::string> &given) {
  std::vector<std::string> files(specs.size());
  for (StringRef text : given) {
    auto [name, file] = text.split('=');
    const auto *found = find_if(specs, [&](const kernels::TensorSpec &spec) { return spec.name == name; });
    if (file.empty() || found == specs.end()) {
      llvm::SetVector<StringRef> names; // each once, though every rank has it
      for (const kernels::TensorSpec &spec : specs)
        names.insert(spec.name);
      return invalid("expected --" + flag + " NAME=FILE.npy with one of " + joinNames(names.getArrayRef()) +
                     ", but got '" + text + "'");
    }
    if (count_if(specs, [&](const kernels::TensorSpec &spec) { return spec.name == name; }) > 1)
      return invalid("expected no --" + flag + " of '" + name +
                     "' because each rank has a tensor of that name, but got '" + text +
                     "'; -D ranks=1 leaves one");
    files[found - specs.begin()] = file.str();
  }
  return files;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// Of an element: `evaluator::Element`, two of `evaluator::Touch`, and doubles before and after.
constexpr kernels::MemoryNeed needOfEvaluation = {.ofByte = 1,
                                                  .ofElement = sizeof(evaluator::Element) + 32 + 16};

/// The tensors before the program runs: random, where a file says nothing.
Result<std::vector<evaluator::Tensor>> draw(ArrayRef<kernels::TensorSpec> specs, kernels::Random &random) {
  auto drawn = kernels::InitialTensors::create(specs, {}, random, kernels::DerivedInputs::computed, {},
                                               needOfEvaluation);
  if (!drawn)
    return drawn.error();
  std::vector<evaluator::Tensor> tensors;
  for (auto [spec, host] : zip(specs, drawn->tensors))
    tensors.push_back(evaluatedTensor(spec, host));
  return tensors;
}

std::optional<ElementType> typeOf(NpyType type) {
  for (const ElementFacts &facts : elementTable)
    if (facts.numpy == type.kind && facts.bits == 8 * type.bytes)
      return facts.type;
  return std::nullopt;
}

/// Contents of a file, for a tensor of that shape.
Result<std::vector<double>> readContents(const std::string &file, const kernels::TensorSpec &spec) {
  Result<NpyArray> array = readNpy(file);
  if (!array)
    return array.error();
  auto type = typeOf(array->type);
  if (!type || array->shape != spec.shape)
    return invalid("expected numbers of shape " + kernels::shapeText(spec.shape) + " for '" + spec.name +
                   "' in '" + file + "', but got " + toString(array->type) + " " +
                   kernels::shapeText(array->shape));
  std::vector<double> contents;
  for (size_t at = 0; at < array->bytes.size(); at += sizeInBytes(*type))
    contents.push_back(kernels::loadElement(*type, &array->bytes[at]));
  return contents;
}

/// As f64 or i64, which hold the numbers of every type.
Result<void> save(const std::string &file, const evaluator::Tensor &tensor) {
  std::vector<std::byte> bytes(tensor.elements.size() * sizeof(double));
  for (auto [i, element] : enumerate(tensor.elements)) {
    if (isInteger(tensor.type))
      std::memcpy(&bytes[i * sizeof(double)], &element.integer, sizeof(int64_t));
    else
      std::memcpy(&bytes[i * sizeof(double)], &element.value, sizeof(double));
  }
  return writeNpy(file, {isInteger(tensor.type) ? 'i' : 'f', sizeof(double)}, tensor.extents, bytes);
}

struct Exactness {
  size_t exact = 0; ///< elements
  double largestBound = 0;
};

Exactness exactnessOf(const evaluator::Tensor &tensor) {
  Exactness exactness;
  for (const evaluator::Element &element : tensor.elements) {
    exactness.exact += element.defined && element.bound == 0;
    exactness.largestBound = std::max(exactness.largestBound, element.bound);
  }
  return exactness;
}

/// Of several ranks, whose tensor number `i` of `count` is.
std::string onRank(size_t i, size_t count, size_t ranks) {
  return ranks == 1 ? "" : (" on rank " + Twine(i / (count / ranks))).str();
}

void print(StringRef name, const evaluator::Tensor &tensor) {
  const auto [exact, largest] = exactnessOf(tensor);
  outs() << name << ": " << toString(tensor.type) << ' ' << kernels::shapeText(tensor.extents)
         << formatv(", {0} of {1} elements exact, largest bound {2:e2}:", exact, tensor.elements.size(),
                    largest);
  for (const evaluator::Element &element : ArrayRef(tensor.elements).take_front(shownElements))
    element.defined ? outs() << format(" %.6g", valueOf(tensor.type, element)) : outs() << " unwritten";
  outs() << (tensor.elements.size() > shownElements ? " ...\n" : "\n");
}

/// What the command prints.
struct Evaluation {
  StringRef title;
  uint64_t seed;
  const evaluator::Report &report;
  ArrayRef<std::string> printed; ///< by the program
  ArrayRef<kernels::TensorSpec> specs;
  ArrayRef<evaluator::Tensor> tensors;
  const std::optional<kernels::Verdict> &verdict;
  size_t ranks = 1;

  template <class F> void forEachOutput(F &&f) const {
    for (auto [i, spec, tensor] : enumerate(specs, tensors))
      if (spec.access != Access::input)
        f(StringRef(spec.name + onRank(i, specs.size(), ranks)), tensor);
  }
};

void printText(const Evaluation &evaluation) {
  outs() << formatv("{0}\nin {1} operations, seed {2}\n", evaluation.title, evaluation.report.steps,
                    evaluation.seed);
  for (const std::string &ambiguity : evaluation.report.ambiguities)
    outs() << ambiguity << '\n';
  for (const std::string &line : evaluation.printed)
    outs() << line;
  evaluation.forEachOutput([](StringRef name, const evaluator::Tensor &tensor) { ::print(name, tensor); });
  if (const std::optional<kernels::Verdict> &verdict = evaluation.verdict)
    printVerdict(outs(), *verdict);
}

void printJson(const Evaluation &evaluation) {
  json::OStream os(outs());
  const auto list = [&](StringRef name, ArrayRef<std::string> lines) {
    os.attributeArray(name, [&] {
      for (const std::string &line : lines)
        os.value(json::fixUTF8(StringRef(line).rtrim('\n')));
    });
  };
  os.object([&] {
    os.attribute("program", json::fixUTF8(evaluation.title));
    os.attribute("seed", evaluation.seed);
    os.attribute("operations", uint64_t(evaluation.report.steps));
    list("ambiguities", evaluation.report.ambiguities);
    list("printed", evaluation.printed);
    os.attributeArray("outputs", [&] {
      evaluation.forEachOutput([&](StringRef name, const evaluator::Tensor &tensor) {
        const auto [exact, largest] = exactnessOf(tensor);
        os.object([&] {
          os.attribute("name", name);
          os.attribute("type", StringRef(toString(tensor.type)));
          os.attributeArray("shape", [&] {
            for (int64_t extent : tensor.extents)
              os.value(extent);
          });
          os.attribute("exact", uint64_t(exact));
          os.attribute("largest_bound", largest);
        });
      });
    });
    if (const std::optional<kernels::Verdict> &verdict = evaluation.verdict)
      os.attributeObject("comparison", [&] { writeVerdict(os, *verdict); });
  });
  outs() << '\n';
}

/// All outputs with the kernel's reference. `inputs` is what the tensors that it reads held before.
Result<kernels::Verdict> compare(const kernels::Request &request,
                                 const std::vector<std::vector<double>> &inputs,
                                 const evaluator::Arguments &evaluated) {
  std::vector<kernels::TensorSpec> specs = request.kernel->tensors(request.values);
  const kernels::Reference reference = request.kernel->reference(request.values, inputs);
  kernels::Verdict verdict;
  size_t output = 0;
  const auto ranks = size_t(request.kernel->ranks(request.values));
  for (auto [i, spec, tensor] : enumerate(specs, evaluated.tensors)) {
    if (spec.access == Access::input)
      continue;
    std::vector<int64_t> numbers(tensor.elements.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    Result<std::vector<double>> expected = reference(output, numbers);
    if (!expected)
      return expected.error();
    const kernels::Tolerance tolerance = request.kernel->tolerance(request.values, output++);
    kernels::Comparison comparison(tolerance);
    kernels::OutputVerdict found = {.name = spec.name, .limit = tolerance.limit};
    const auto textOf = [&](int64_t number) { return kernels::indexText(tensor.extents, number); };
    for (auto [number, element] : enumerate(tensor.elements)) {
      if (element.defined)
        comparison.check(int64_t(number), valueOf(spec.element, element), (*expected)[number]);
      else if (spec.isPadding && spec.isPadding(int64_t(number)))
        continue;
      else if (found.complaint.empty())
        found.complaint =
            formatv("element {0} of '{1}' is not written", textOf(int64_t(number)), spec.name).str();
      ++found.elements;
    }
    found.largestError = comparison.largestError();
    found.compared = comparison.compared();
    if (found.complaint.empty())
      found.complaint = comparison.complaint(spec.name, textOf);
    if (!found.correct())
      found.complaint += onRank(i, specs.size(), ranks);
    verdict.add(std::move(found));
  }
  return verdict;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// A program and what it is to be evaluated on.
struct Problem {
  std::string title;
  dsl::ProgramModule program;
  std::vector<kernels::TensorSpec> specs; ///< in the order of its arguments, without workspaces, rank by rank
  std::vector<evaluator::Element> scalars;
  size_t ranks = 1;
};

Result<Problem> problemOf(const kernels::Request &request) {
  kernels::CompileLog log;
  auto program = kernels::trace(request, *findTarget(CompileOptions().target), log);
  driver::print(log.diagnostics, Remarks::hide);
  if (!program)
    return program.error();
  std::string title(request.kernel->name());
  for (const auto &[name, value] : request.values.values())
    title += " " + name + "=" + value;
  Result<std::vector<evaluator::Element>> scalars = evaluatedScalars(*program->module, request.values);
  if (!scalars)
    return scalars.error();
  return Problem{title, std::move(*program), request.kernel->tensors(request.values), std::move(*scalars),
                 size_t(request.kernel->ranks(request.values))};
}

Result<Problem> problemOfFile(const std::string &file, const kernels::Definitions &definitions) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFileOrSTDIN(file, /*IsText=*/true);
  if (!buffer)
    return invalid("cannot read '" + file + "': " + buffer.getError().message());
  Problem problem{file, {createContext(), {}}, {}, {}};
  Compiler compiler({});
  problem.program.module =
      compiler.parse((*buffer)->getBuffer(), (*buffer)->getBufferIdentifier(), problem.program.context.get());
  driver::print(compiler.diagnostics(), Remarks::hide);
  if (!problem.program.module || problem.program.module->getOps<tile::KernelOp>().empty())
    return invalid("expected a program of phase input in '" + file + "'");

  size_t used = 0;
  const auto valueOf = [&](StringRef name) -> Result<double> {
    auto found = definitions.find(name.str());
    double value = 0;
    if (found == definitions.end() || StringRef(found->second).getAsDouble(value))
      return invalid("expected -D " + name + "=NUMBER because the program has that argument");
    ++used;
    return value;
  };
  auto tensors = kernels::tensorsOf(
      *problem.program.module, {},
      [&](StringRef name) -> Result<int64_t> {
        Result<double> value = valueOf(name);
        return value ? Result<int64_t>(static_cast<int64_t>(*value)) : value.error();
      },
      [](StringRef table, int64_t) -> Result<std::vector<int64_t>> {
        return invalid("expected a program whose tensors have extents here, but the addresses in '" + table +
                       "' are of tensors of any; evaluate the kernel of a file with .members");
      });
  if (!tensors)
    return tensors.error();
  problem.specs = std::move(*tensors);
  for (const auto &[name, type] : kernels::scalarsOf(*problem.program.module)) {
    Result<double> value = valueOf(name);
    if (!value)
      return value.error();
    problem.scalars.push_back(evaluator::elementOf(type, *value));
  }
  if (used != definitions.size())
    return invalid("expected -D for the program's dimensions and numbers only, but got others, too");
  return problem;
}

} // namespace

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

EvaluateCommand::EvaluateCommand()
    : command("evaluate", "Say what a kernel or an .mlir file of phase input computes, without compiling it"),
      source(cl::sub(command), cl::Positional, cl::value_desc("kernel"),
             cl::desc("<kernel | file.cpp | file.mlir | ->")),
      kernelNames(command), verify("verify", cl::sub(command),
                                   cl::desc("Compare with the kernel's reference; status 1 if it differs")),
      json("json", cl::sub(command), cl::desc("Report as one JSON object")),
      seed("seed", cl::sub(command), cl::value_desc("number"),
           cl::desc("Seed of the inputs instead of a fresh one; 'run' draws the same ones")),
      readFrom("in", cl::sub(command), cl::value_desc("name=file.npy"),
               cl::desc("Contents of a tensor instead of random ones")),
      writeTo("out", cl::sub(command), cl::value_desc("name=file.npy"), cl::desc("Write a tensor to a file")),
      multiprocessors("multiprocessors", cl::sub(command), cl::value_desc("number"),
                      cl::init(evaluator::Options().multiprocessors), cl::desc("Of the device to stand for")),
      maximumSteps("max-steps", cl::sub(command), cl::value_desc("number"),
                   cl::init(evaluator::Options().maximumSteps),
                   cl::desc("Operations before the program counts as endless")),
      parameters(command) {}

ExitCode EvaluateCommand::execute() const {
  if (source.empty())
    return failUsage("expected a kernel or an .mlir file, but got none; 'tlc evaluate --help' shows how");
  if (multiprocessors < 1)
    return failUsage(
        formatv("expected --multiprocessors from 1 on, but got {0}", multiprocessors.getValue()).str());
  auto definitions = parameters.definitions();
  if (!definitions)
    return failUsage(definitions.error().message);
  std::optional<kernels::Request> request;
  if (source != "-" && !StringRef(source).ends_with(".mlir")) {
    Result<const kernels::Kernel *> kernel = kernelNames.find(source);
    if (!kernel)
      return failBy(kernel.error());
    auto parsed = kernels::Request::parseLaunch(**kernel, *definitions, {}, kernels::DefaultSizes::emulator);
    if (!parsed)
      return failUsage(parsed.error().message);
    printEmulatorSizes(*parsed);
    request.emplace(std::move(*parsed));
  } else if (verify) {
    return failUsage("expected a kernel with --verify because a file has no reference");
  }
  Result<Problem> problem = request ? problemOf(*request) : problemOfFile(source, *definitions);
  if (!problem)
    return failBy(problem.error());
  auto inputs = filesFor("in", problem->specs, readFrom);
  auto outputs = filesFor("out", problem->specs, writeTo);
  if (!inputs || !outputs)
    return failUsage((inputs ? outputs.error() : inputs.error()).message);

  uint64_t used = seed.getNumOccurrences() ? seed : std::random_device()();
  kernels::Random random(used);
  evaluator::Arguments arguments{{}, problem->scalars};
  for (auto [spec, file] : zip(problem->specs, *inputs)) {
    if (file.empty())
      continue;
    auto contents = readContents(file, spec);
    if (!contents)
      return failBy(contents.error());
    spec.contents = *contents;
    spec.derived = {};
  }
  Result<std::vector<evaluator::Tensor>> drawn = draw(problem->specs, random);
  if (!drawn)
    return failBy(drawn.error());
  arguments.tensors = std::move(*drawn);
  std::vector<std::vector<double>> initial; // what the reference reads
  for (auto [spec, tensor] : zip(problem->specs, arguments.tensors))
    if (verify && spec.access != Access::output)
      initial.push_back(valuesOf(tensor));
  const Heartbeat heartbeat([&] { return "evaluating " + source; });
  auto report =
      evaluateRanks(*problem->program.module, problem->specs, problem->scalars, problem->ranks,
                    arguments.tensors, {.multiprocessors = multiprocessors, .maximumSteps = maximumSteps});
  if (!report)
    return failBy(report.error());
  std::vector<std::string> printed;
  const Result<void> checked = deliver({.prints = report->prints, .failures = report->failures},
                                       [&](std::string_view line) { printed.emplace_back(line); });
  std::optional<kernels::Verdict> verdict;
  std::optional<tlc::Error> incomparable;
  if (verify && checked) {
    Result<kernels::Verdict> compared = compare(*request, initial, arguments);
    if (compared)
      verdict = std::move(*compared);
    else
      incomparable = compared.error();
  }
  const Evaluation evaluation{problem->title,    used,    *report,       printed, problem->specs,
                              arguments.tensors, verdict, problem->ranks};
  json ? printJson(evaluation) : printText(evaluation);
  for (auto [file, tensor] : zip(*outputs, arguments.tensors))
    if (Result<void> saved = file.empty() ? Result<void>() : save(file, tensor); !saved)
      return fail(saved.error().message);
  if (!checked)
    return fail(checked.error().message);
  if (incomparable)
    return failBy(*incomparable);
  return !verdict || verdict->correct() ? ExitCode::success : fail("wrong result: " + verdict->complaint);
}
