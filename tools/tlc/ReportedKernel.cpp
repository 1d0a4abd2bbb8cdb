// SPDX-License-Identifier: Apache-2.0
#include "tools/tlc/ReportedKernel.h"

#include "kernels/cookbook/Cookbook.h"
#include "kernels/harness/ElementBits.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "runtime/support/Excerpt.h"
#include "runtime/target/Target.h"
#include "tools/tlc/CompileFlags.h"
#include "tools/tlc/EvaluatedTensors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

std::vector<kernels::Parameter> parametersOf(const report::Report &report) {
  std::vector<kernels::Parameter> parameters;
  for (const auto &[name, value] : report.parameters) {
    if (const auto scalar = report.scalars.find(name); scalar != report.scalars.end()) {
      parameters.push_back(scalarParameter(name, scalar->second, value));
      continue;
    }
    parameters.push_back({.name = name,
                          .description = "as reported",
                          .kind = kernels::Parameter::Kind::choice,
                          .fallback = value,
                          .choices = {value}});
  }
  return parameters;
}

/// The tensors of a report as the harness draws them.
std::vector<kernels::TensorSpec> specsOf(const report::Report &report) {
  std::vector<kernels::TensorSpec> specs;
  for (const report::Tensor &tensor : report.tensors) {
    kernels::TensorSpec spec = {.name = tensor.name,
                                .element = tensor.element,
                                .access = tensor.access,
                                .shape = tensor.shape,
                                .low = tensor.low,
                                .high = tensor.high,
                                .isTable = tensor.isTable};
    if (tensor.hasContents && tensor.elements() == 0) // drawn ones would change those after them
      spec.derived = [](std::span<const std::vector<double>>) { return std::vector<double>(); };
    else if (tensor.hasContents)
      for (int64_t i = 0, count = tensor.elements(); i != count; ++i)
        spec.contents.push_back(kernels::loadElement(
            tensor.element, reinterpret_cast<const std::byte *>(tensor.contents.data()), i));
    if (!tensor.padding.empty())
      spec.isPadding = [runs = tensor.padding](int64_t element) {
        const auto after =
            upper_bound(runs, element, [](int64_t at, const auto &run) { return at < run.first; });
        return after != runs.begin() && element < std::prev(after)->second;
      };
    specs.push_back(std::move(spec));
  }
  return specs;
}

/// The kernel of this tlc that the report names, with the report's values; none if its tensors are others.
std::optional<kernels::Request> shippedRequest(const report::Report &report) {
  if (!report.isShipped)
    return std::nullopt;
  Result<const kernels::Kernel *> found = kernels::findShippedKernel(report.kernel);
  if (!found)
    return std::nullopt;
  Result<kernels::Request> request = kernels::Request::parse(**found, report.parameters);
  if (!request)
    return std::nullopt;
  const std::vector<kernels::TensorSpec> specs = (*found)->tensors(request->values);
  const bool isSame =
      (*found)->ranks(request->values) == report.ranks && specs.size() == report.tensors.size() &&
      all_of(zip(specs, report.tensors), [](const auto &both) {
        const auto &[spec, tensor] = both;
        return spec.name == tensor.name && spec.element == tensor.element && spec.access == tensor.access &&
               spec.shape == tensor.shape && spec.isTable == tensor.isTable;
      });
  return isSame ? std::optional(std::move(*request)) : std::nullopt;
}

class Reported final : public kernels::Kernel {
public:
  explicit Reported(const std::shared_ptr<const report::Report> &report)
      : Kernel(report->kernel, report->summary, parametersOf(*report)), report(report),
        specs(specsOf(*report)), shipped(shippedRequest(*report)) {
    Hash128 hash;
    hash.update(std::as_bytes(std::span(report->module)));
    codeName = formatv("report {0:x-16}{1:x-16}", hash.high, hash.low).str();
  }

  std::string code() const override { return codeName; }

  dsl::Program build(const kernels::Parameters &, const Target &, const dsl::TraceOptions &) const override {
    std::vector<tlc::Diagnostic> diagnostics;
    dsl::ProgramModule program = parse(diagnostics);
    if (program.module)
      return dsl::ProgramModule::give(name(), std::move(program));
    std::vector<dsl::Diagnostic> mistakes;
    for (const tlc::Diagnostic &each : diagnostics)
      mistakes.push_back(
          {{std::string(name()) + " of the report", 1, 1},
           "expected a program of this version of tlc, but its module does not parse: " + toString(each)});
    return dsl::ProgramModule::mistaken(name(), std::move(mistakes));
  }

  int64_t ranks(const kernels::Parameters &) const override { return report->ranks; }
  std::vector<kernels::TensorSpec> tensors(const kernels::Parameters &) const override { return specs; }
  kernels::Tolerance tolerance(const kernels::Parameters &, size_t output) const override {
    return report->tolerances[output];
  }
  double flops(const kernels::Parameters &) const override { return report->flops; }
  kernels::Definitions emulatorSizes() const override { return {}; }
  std::vector<kernels::Definitions> suite() const override { return {}; }

  kernels::Reference reference(const kernels::Parameters &,
                               std::span<const std::vector<double>> inputs) const override {
    if (shipped)
      return shipped->kernel->reference(shipped->values, inputs);
    return [this, inputs, evaluated = std::make_shared<std::optional<Result<Tensors>>>()](
               size_t output, std::span<const int64_t> elements) -> Result<std::vector<double>> {
      if (!*evaluated)
        *evaluated = evaluate(inputs);
      if (!**evaluated)
        return (*evaluated)->error();
      size_t number = 0;
      const auto isIt = [&](const kernels::TensorSpec &spec) {
        return spec.access != Access::input && number++ == output;
      };
      const evaluator::Tensor &tensor = (**evaluated)->at(size_t(find_if(specs, isIt) - specs.begin()));
      std::vector<double> values;
      for (int64_t element : elements)
        values.push_back(valueOf(tensor.type, tensor.elements[size_t(element)]));
      return values;
    };
  }

  bool isEvaluated() const { return !shipped; }

private:
  using Tensors = std::vector<evaluator::Tensor>;

  dsl::ProgramModule parse(std::vector<tlc::Diagnostic> &diagnostics) const {
    dsl::ProgramModule program{createContext(), {}};
    Compiler compiler({});
    program.module = compiler.parse(report->module, report->kernel, program.context.get());
    diagnostics = compiler.diagnostics();
    return program;
  }

  /// The program on what is read, as the evaluator computes it.
  Result<Tensors> evaluate(std::span<const std::vector<double>> inputs) const {
    std::vector<tlc::Diagnostic> diagnostics;
    const dsl::ProgramModule program = parse(diagnostics);
    if (!program.module)
      return tlc::Error{ErrorKind::invalidArgument, "the module of the report does not parse"};
    Tensors tensors;
    size_t read = 0;
    for (const kernels::TensorSpec &spec : specs) {
      evaluator::Tensor tensor{spec.element, spec.shape, {}, {}};
      if (spec.access == Access::output) {
        int64_t count = 1;
        for (int64_t extent : spec.shape)
          count *= extent;
        tensor.elements.resize(size_t(count));
      } else {
        for (double value : inputs[read++])
          tensor.elements.push_back(evaluator::elementOf(spec.element, value));
      }
      tensors.push_back(std::move(tensor));
    }
    Result<kernels::Request> own = kernels::Request::parse(*this, {});
    if (!own)
      return own.error();
    Result<std::vector<evaluator::Element>> scalars = evaluatedScalars(*program.module, own->values);
    if (!scalars)
      return scalars.error();
    Result<evaluator::Report> evaluated =
        evaluateRanks(*program.module, specs, *scalars, size_t(report->ranks), tensors,
                      {.multiprocessors = report->multiprocessors});
    if (!evaluated)
      return evaluated.error();
    return tensors;
  }

  std::shared_ptr<const report::Report> report;
  std::vector<kernels::TensorSpec> specs;
  std::optional<kernels::Request> shipped;
  std::string codeName;
};

} // namespace

ReportedKernel::ReportedKernel(report::Report report)
    : file(std::make_shared<const report::Report>(std::move(report))),
      itsKernel(std::make_shared<const Reported>(file)) {}

Result<ReportedKernel> ReportedKernel::create(report::Report report) {
  ReportedKernel reported(std::move(report));
  if (Result<kernels::Request> valid = kernels::Request::parse(*reported.itsKernel, {}); !valid)
    return valid.error();
  return reported;
}

Result<ReportedKernel> ReportedKernel::open(const std::string &path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return tlc::Error{ErrorKind::invalidArgument,
                      "cannot read '" + excerpt(path) + "': " + buffer.getError().message()};
  Result<report::Report> read = report::read((*buffer)->getBuffer(), path);
  if (!read)
    return read.error();
  Result<ReportedKernel> reported = create(std::move(*read));
  if (!reported)
    return tlc::Error{ErrorKind::invalidArgument, "'" + excerpt(path) + "': " + reported.error().message};
  return reported;
}

kernels::Request ReportedKernel::request() const {
  return std::move(*kernels::Request::parse(*itsKernel, {}));
}

Result<CompileOptions> ReportedKernel::options() const {
  CompileOptions options;
  if (!findTarget(file->target))
    return unknownTarget("the report's target", file->target);
  options.target = file->target;
  for (const std::string &name : file->disabled) {
    const auto found =
        find_if(optimizationSwitches(), [&](const OptimizationSwitch &each) { return each.name == name; });
    if (found == optimizationSwitches().end())
      return tlc::Error{ErrorKind::invalidArgument,
                        "expected a report for optimisations of this version of tlc, "
                        "but it is without '" +
                            excerpt(name) + "', which is none"};
    options.optimizations.*found->member = false;
  }
  if (!file->strategy.empty() && !is_contained(strategyNames(), file->strategy))
    return tlc::Error{ErrorKind::invalidArgument,
                      "expected a report for a strategy of this version of tlc, but "
                      "got '" +
                          excerpt(file->strategy) + "'"};
  options.optimizations.strategy = file->strategy;
  options.waitLimit = std::chrono::nanoseconds(file->waitLimit);
  options.multicast = file->multicast;
  return options;
}

std::optional<Alignment> ReportedKernel::alignment() const {
  if (file->variant.empty())
    return std::nullopt;
  return file->variant == "aligned" ? Alignment::aligned : Alignment::general;
}

kernels::ProblemOptions ReportedKernel::problem() const {
  return {
      .placement = {file->rowPadding, file->offset}, .lastStrides = file->lastStrides, .seed = file->seed};
}

bool ReportedKernel::isEvaluated() const { return static_cast<const Reported &>(*itsKernel).isEvaluated(); }

bool driver::namesReport(StringRef kernel) { return kernel.ends_with(".tlc"); }

std::string driver::textWithoutPaths(mlir::ModuleOp module) {
  mlir::OwningOpRef<mlir::ModuleOp> own = module.clone();
  mlir::AttrTypeReplacer replacer;
  replacer.addReplacement([](mlir::FileLineColRange place) -> std::optional<mlir::Attribute> {
    mlir::MLIRContext *context = place.getContext();
    return mlir::FileLineColRange::get(
        mlir::StringAttr::get(context, sys::path::filename(place.getFilename().getValue())),
        place.getStartLine(), place.getStartColumn(), place.getEndLine(), place.getEndColumn());
  });
  replacer.recursivelyReplaceElementsIn(*own, /*replaceAttrs=*/true, /*replaceLocs=*/true);
  std::string text;
  raw_string_ostream os(text);
  own->print(os, mlir::OpPrintingFlags().enableDebugInfo());
  return text;
}

std::vector<report::Tensor> driver::reportedTensors(const kernels::InitialTensors &initial) {
  std::vector<report::Tensor> tensors;
  for (const auto &[spec, host] : zip(initial.specs, initial.tensors)) {
    report::Tensor tensor = {.name = spec.name,
                             .element = spec.element,
                             .access = spec.access,
                             .shape = spec.shape,
                             .low = spec.low,
                             .high = spec.high,
                             .isTable = spec.isTable};
    const int64_t count = host.elementCount();
    if (spec.access != Access::output && (spec.derived || !spec.contents.empty())) {
      tensor.hasContents = true;
      tensor.contents.resize(size_t(bytesOf(spec.element, count)));
      for (int64_t i = 0; i != count; ++i)
        kernels::storeElement(spec.element, reinterpret_cast<std::byte *>(tensor.contents.data()), host.at(i),
                              i);
    }
    for (int64_t i = 0; spec.isPadding && i != count; ++i) {
      if (!spec.isPadding(i))
        continue;
      if (!tensor.padding.empty() && tensor.padding.back().second == i)
        ++tensor.padding.back().second;
      else
        tensor.padding.emplace_back(i, i + 1);
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}
